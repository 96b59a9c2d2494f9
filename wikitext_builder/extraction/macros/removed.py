"""Templates that give no running text: boxes, navigation, citations, hatnotes, maintenance, marks."""

from __future__ import annotations

import re
from functools import lru_cache

from wikitext_builder.extraction.listing import listed
from wikitext_builder.extraction.names import LONGEST_KEY

# Families of templates, by the beginning or the end of their names.
FAMILIES = re.compile(
    r"(?:"
    r"(?:Main|See|Further|Details|About|Move|Rail|Listen|Sound|Video|Column|Hidden|Location|Chart|"
    r"Split|Tone|Update|Expand|Stub|Talk|User|Template|Article|Featured|GA|Expert|Calendar|Portal|"
    r"Spoken|Clear|Official|Legend|Surname|Primary|Dead|Merge|Columns|Singles|Campaign|Notab|Orphan|"
    r"Advert|Documentation|Panorama|Redirect)(?=$|[ \d/-])|"
    r"Maincat|Userbox|Redirect[s\d]|Notability|Campaignbox|Movereferences|Portalbar|Clearboth|Calendars|"
    r"Deadlink|Updatesection|Mergeto|Mergefrom|"
    r"(?:History|Politics|Books|Culture|Geography|Economy|Religion|Cuisine) of |"
    r".*[ a-z](?:[Ss]eries|cuisine|sidebar|topics|\.svg|weatherbox|elections?, \d{4})$|"
    r"Catecholamine and |Comparison |Largest |"
    r".*\.svg$|User:|Infobox|Info\s?box|Navbox|Campaignbox|Chembox|Drugbox|Taxobox|Speciesbox|Subspeciesbox|"
    r"Automatic taxobox|Footer (?=[A-Z])|"
    r"Geobox|Starbox|Medal(?=[A-Z])|Succession|Election box|Goalscorers|Football (?:squad|kit|box)|"
    r"Cite ?(?:check|quote|sources?|missing|section|me$|plot)|Citekill|Citation(?!$)|"
    r"Sfn|Efn|Harv(?!txt|col|nb|n$)|Refn?(?:$|begin|end|list|"
    r"\s?improve|-)|R(?:$|p$)|Note ?list|"
    r"Pp(?:$|-)|Pov|Use (?:dmy|mdy|ymd|British|American|Indian|Australian|Canadian|Oxford|Hiberno|New|"
    r"South|[A-Z]\w+ English)|"
    r"Wik[it](?!a?link)|Commons|Sister|Subject bar|Library resources|Authority|"
    r"Pie chart|Bar ?(?:box|chart|Vertical|percent|table)|Graph:|Historical pop|US Census|Weather box|"
    r"Climate|"
    r"IMDb|IBDB|Iobdb|Librivox|Gutenberg|Internet Archive|Find ?a ?[Gg]rave|Discogs|MusicBrainz|"
    r"Allmusic|AllMusic|Allmovie|"
    r"Location map|Superimpose|Image(?: array|frame|map)?$|Multiple images?|Double image|Triple image|"
    r"Wide image|Tall image|"
    r"Auto images|Photomontage|CSS image|Annotated image|External media|External video|"
    r"External music|"
    r"Multi-listen|Extra ?album|Album (?:ratings|chart)|Certification|"
    r"Track ?list|Tracklist|Familytree|Family tree|Clade|Cladogram|Ahnentafel|Tree list|Tree chart|"
    r"Col-|Colbegin|Colend|Div col|Multicol|Top$|Bottom$|Collapsed|Collapsible|"
    r"For(?:$| )|Distinguish|Other |Otheruses|Hatnote|"
    r"Not to be confused|"
    r"Short description|Italic|DISPLAYTITLE|Lowercase|Restrict|Disambig|Dab|Hndis|Geodis|"
    r"Set index|"
    r"Good article|FA(?:$| )|TOC|Toc|Compact|Refs?|Anchor|Shy|Coord missing|"
    r"Clean-?up|Multiple issues|Unreferenced|Unref|More |No footnotes|BLP|"
    r"Original research|"
    r"Copy ?edit|Globalize|Lead |Overly|Very long|Too |Peacock|"
    r"Weasel|"
    r"Contains|Special ?chars|Inc-|DEFAULTSORT|Default|Persondata|Bots|Nobots|Cbignore|"
    r"Webarchive|Wayback|"
    r"EB1911|DNB|Catholic|1911|Include-|PD-|Source-attribution|CongBio|CongLinks|C-SPAN|Guardian|NYT|"
    r"Dmoz|DMOZ|Curlie|"
    r"Google |YouTube|Twitter|Facebook|Instagram|MySpace|Curlie|OL |Worldcat|Open ?Library|Goodreads|"
    r"ISFDB|Isfdb|"
    r"Year (?:nav|dab|in)|Events by|This date|Day$|Months$|Dog nav|S-|End-?box|Start-?box|"
    r"Nat fs|Fs |Fb |"
    r"Coord-|GeoGroup|Kml|Attached|Mapframe|Maplink|OSM|Osm|BS-|S-line|Routemap|Jct|"
    r"Composition bar|Quote ?box|Rquote|Side ?box|Party shading|Bulleted|"
    r"Non-free|Editnotice|WikiProject|Category"
    r").*|"
    r".*(?:[ -]stubs?|[ -]stub\d| topics?| sidebar| navbox| series| nav| icon|/meta/color|"
    r"/meta/shortname| footer|"
    r" TOC|-inline|[a-z] needed(?: .*)?| inline| issues| header|Style| templates?| portal| infobox|"
    r"\bnavigation)|"
    r"(?:Citation|Page|Verification|Quote|Quotation|Clarification|Attribution|Source|Year|Date|Volume|"
    r"Full citation) "
    r"needed.*"
)

NAMES = frozenset(
    listed(
        """
APLcode; ATC; ATP; Abbreviations; Academic peer reviewed; According to whom; Acids and bases;
Active editnotice; Adjacent communities; Air forces; Album reviews; Algebraic Notation;
Algebraic notation; Algebraic structures; Algorithm-end; All plot; Also;
Alternative medical systems; Alumni; Ambiguous; Ambox; Amg movie; Amg name; Anglo-Saxon society;
Anthropology of religion; Antimatter; Antisemitism; Armenians; As of?; As written?; Ashes summary;
Ashes timeline; Asof?; Augustine; BBC Programmes; BBC football info; Baseball hall of fame list;
Better; Better source; Bibliography; Bibliowiki; Biographical Directory of Congress;
Bit and byte prefixes; Books; Botanist; Boxquote; Britannica; Broader; Brood parasite;
Burmese characters; By whom; By whom?; CDD; CIA World Factbook; CIA World Factbook link; CMain;
CNone; Capitalism; Cascite; Cassini-Ehess; Charmap; Chemspidercite; Chinese name; ChoralWiki;
Christian mysticism; Christianity; Circular reference; Cit; Cite; Civil procedure (United States);
Clarify; Clarify timeframe; Clarifyme; Classical mechanics; Closed access; Clr; Cmbox; Cn; Cnote;
Cnote2; Cnotebegin; Cnoteend; Compared to?; Confuse; Confused; Confusing; Contradict; Copypaste;
Cosmology; Country geography; Cref; Cref2; Criminal law; Current; DavisCup player; Definition; Dfm;
Dictionary; Disputed; Disputed section; Dmbox; Dn; Do not archive; Drugbankcite; Dts-sort; Dubious;
Duplication; Dutch name; Dynamic list; EMedicine; Eastern Slavic name; Ebicite; Election; Ell;
Emmy Awards/color; Emotion; End div col; EngvarA; EngvarB; EngvarC; Ent; Enzyme; Esoteric;
Essay-like; Examples; Excessive citations; Explain; External links; FACR; Fact; Facts; FadedPage;
Failed; Failed verification; Family name hatnote; Fdacite; Fix; Fn; Fnb; Footnote;
Ford C. Frick award list; Fotbs; Framebox; Free access; Freemasonry; From whom; Full; Fv; GR;
Gallery; General geometry; GeoQuelle; Geographic location; Geolinks; Globalise; Gnosticism;
GovPubs; Greek Alphabet; Greek myth (Hades); Group-like structures; HDS; Hid; Hiero; Histphil;
Homicide; Hounshell1984; How; How often; How?; Hs; Huh; Human timeline; Hungarian name; IEP; IMSLP;
IPA notice; ISSN link; ITF junior profile; ITF male profile; Icelandic name; Image frame;
Image label begin; Image label end; Imbox; Importance section; Improve categories; In Our Time;
In popular culture; In use; InPho; Inappropriate tone; Incomplete; Incomplete short citation;
Inconsistent; Inconsistent citations; IndiaCensusPop; Indonesian name; Inflation-fn; Intitle;
Irrelevant citation; Ismailism; Japanese name; Julio-Claudian dynasty; Keggcite; Kept; Korean name;
Lacking overview; Libertarian socialism; Life timeline; Like whom; Like whom?; Link note; Linkfarm;
List data structure comparison; Literature; Ln; Lookfrom; Lopsided; MEDRS; MacTutor;
MacTutor Biography; Malay name; Manual; Map caption; MathGenealogy; MathWorld; Maurya; Mcn; Medals;
Medical condition classification and resources; Medical resources; Medref; Medrs; MeshName;
Message box; Metacritic film; Missing information; Modern physics; Mojo; Mojo name; Mojo title;
Moon spacecraft; Mref; NPOV; NPOV language; Nature timeline; Nav; Nearest systems; Needs IPA;
Needs update; Neologism; Neutrality; New Democrats; Nobel winners; Non sequitur; Nonspecific;
Not in citation given; Not in source; Not verified; Note; Note label; Note tag; Notes; Npg name;
Ntsh; Nuclear physics; Nutritional value; ODNBsub; OED; OEtymD; OMIM4; Objectivist movement; Ombox;
One source; Open access; OpenCorp; Opinion; Or; Orbitbox; OrbitboxPlanet; Ordination; Otherpeople5;
Outlying territories of European countries; Overcite; PASE; POV; POV section; POV-check;
POV-section; POV-statement; Paleontology; Pashtuns; Patronymic name; Paywall;
Periodic table (alkali metals); Periodic table (micro); Phanerozoic; PhilPapers; PlanetMath; Plot;
Poll; Portuguese name; Post-nominals/IRL; Promotional; Promotional source; Prone to spam; Prose;
Protected; Px2; Qn; Qualify evidence; Quantify; Quantities of bits; RP; Ratings; Recent; Recentism;
Reduced pull quote; Registration; Registration required; Related articles; Relevance;
Relevance note; Reliability; Religious text primary; Request quotation; Research help;
Retired number list; Retrieved; Review; Rfc; Rotten Tomatoes; Rotten-tomatoes; Royal house; SEP;
Sandbox; ScienceWorld; Self-published; Self-published source; Selfref; Semiprotected;
Severan dynasty; Sex and the Law; Sexual orientation; Sf; Sfb; Shaker music; Sidebar;
Sidebar periodic table; Slavic name; Small Egyptian Dynasty List; Social teachings of the popes;
Sort-key; Source; Source?; Sources; Sp?; Spaceflight crew; Spanish name; Specify; Speculation;
Splitsection; Springer; Sprotected; StateDept; Status of religious freedom; Stdinchicite;
Stereo image; Story; Subscription; Subscription required; Summarize; Summary too long;
Swiss populations ref; Syn; Sync; Synthesis; TED speaker; Tanakh; Taxonbar; Tcmdb name;
Tcmdb title; Technical; Technical statement; Tertiary; Textbook; Tfm; Thermodynamics; Time fact;
Time-context; Timeline of Apple II Family; Tl; To whom?; Triangulation; Trivia; Tweet;
UK National Archives ID; UKFormation; US culture; Unbalanced; Unclear; Under construction; Undue;
Undue weight; Unencyclopedic; Unreliable; Unreliable medical source; Unreliable source;
Unreliable source?; Unreliable sources; Unsourced; Unverifiable; Unverified;
Use list-defined references; Vague; Vandalism; Verification failed; Verify; Verify credibility;
Verify source; Vietnamese name; Vn; Weather; What; When; When?; Where; Where?; Which; Which?; Who;
Who?; Whom; Whose; Whose?; Why; Why?; Winner-table; Z148
"""
    )
)

# Removed templates that are marks in a sentence: notes, doubts, anchors. All others are boxes.
MARKS = re.compile(
    r"(?:Sf[nb]|Efn|Harv|Ref|Rp?$|RP$|Notetag|Note|Cref|Fn|Cite|Citation|Vcite|Anchor|Fact|Cn$|Mcn$|Vague|"
    r"Clarif|Dubious|Disputed|By whom|Who|When|Where|Which|Why|How|Failed|Verify|Better|Unreliable|Dead|"
    r"Update|Webarchive|Wayback|Shy).*|"
    r".*(?:-inline| inline| needed|\?|-fn)"
)


def is_removed(name: str) -> bool:
    """True if a template of this name is removed on purpose; look for a macro first.

    >>> is_removed("Infobox person"), is_removed("Reflist"), is_removed("Convert")
    (True, True, False)
    """
    return (_is_removed if len(name) <= LONGEST_KEY else _is_removed.__wrapped__)(name)


@lru_cache(maxsize=2**14)
def _is_removed(name: str) -> bool:
    return name in NAMES or FAMILIES.fullmatch(name) is not None


@lru_cache(maxsize=2**12)
def is_mark(name: str) -> bool:
    """True if a removed template is a mark in a sentence, and not a box between paragraphs.

    >>> is_mark("Citation needed"), is_mark("Quote box")
    (True, False)
    """
    return MARKS.fullmatch(name) is not None
