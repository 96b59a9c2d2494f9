"""Templates that give no running text: boxes, navigation, citations, hatnotes, maintenance, marks."""

from __future__ import annotations

import re
from functools import lru_cache

from wikitext_builder.extract.listing import listed

# Families that go by the beginning or the end of their names.
FAMILIES = re.compile(
    r"(?:"
    r"Infobox|Info\s?box|Navbox|Campaignbox|Chembox|Drugbox|Taxobox|Speciesbox|Subspeciesbox|"
    r"Automatic taxobox|"
    r"Geobox|Starbox|Medal(?=[A-Z])|Succession|Campaign|Election box|Goalscorers|Football (?:squad|kit|box)|"
    r"Cite |Cite[A-Z]|Citation|Vcite|Sfn|Efn|Harv(?!txt|col|nb|n$)|Refn?(?:$|begin|end|list|"
    r"\s?improve|-)|R(?:$|p$)|Note ?list|"
    r"Pp(?:$|-)|Pov|Use (?:dmy|mdy|ymd|British|American|Indian|Australian|Canadian|Oxford|Hiberno|New|"
    r"South|[A-Z]\w+ English)|"
    r"Wik[it](?!a?link)|Commons|Sister|Portal|Subject bar|Spoken|Library resources|Authority|"
    r"Pie chart|Bar ?(?:box|chart|Vertical|percent|table)|Graph:|Historical pop|US Census|Weather box|"
    r"Climate|"
    r"IMDb|IBDB|Iobdb|Librivox|Gutenberg|Internet Archive|Find ?a ?[Gg]rave|Discogs|MusicBrainz|"
    r"Allmusic|AllMusic|Allmovie|"
    r"Location map|Superimpose|Image(?: array|frame|map)?$|Multiple images?|Double image|Triple image|"
    r"Wide image|Tall image|"
    r"Auto images|Photomontage|CSS image|Annotated image|Panorama|External media|External video|"
    r"External music|"
    r"Listen|Sound|Multi-listen|Video|Extra ?album|Singles|Album (?:ratings|chart)|Certification|"
    r"Track ?list|Tracklist|Chart|Familytree|Family tree|Clade|Cladogram|Ahnentafel|Tree list|Tree chart|"
    r"Col-|Colbegin|Colend|Div col|Columns|Column|Multicol|Top$|Bottom$|Hidden|Collapsed|Collapsible|"
    r"Main|See|Further|Details|About|For(?:$| )|Redirect|Distinguish|Other |Otheruses|Hatnote|"
    r"Not to be confused|"
    r"Article|Short description|Italic|DISPLAYTITLE|Lowercase|Restrict|Disambig|Dab|Hndis|Geodis|"
    r"Set index|Surname|"
    r"Good article|Featured|GA|FA(?:$| )|Stub|TOC|Toc|Compact|Clear|Refs?|Anchor|Shy|Coord missing|"
    r"Expand|Update|Clean-?up|Multiple issues|Unreferenced|Unref|More |No footnotes|BLP|"
    r"Original research|Primary|Tone|"
    r"Advert|Copy ?edit|Merge|Split|Move|Notab|Orphan|Globalize|Lead |Overly|Very long|Too |Peacock|"
    r"Weasel|Expert|"
    r"Contains|Special ?chars|Inc-|DEFAULTSORT|Default|Persondata|Campaign|Bots|Nobots|Cbignore|Dead|"
    r"Webarchive|Wayback|"
    r"EB1911|DNB|Catholic|1911|Include-|PD-|Source-attribution|CongBio|CongLinks|C-SPAN|Guardian|NYT|"
    r"Dmoz|DMOZ|Curlie|Official|"
    r"Google |YouTube|Twitter|Facebook|Instagram|MySpace|Curlie|OL |Worldcat|Open ?Library|Goodreads|"
    r"ISFDB|Isfdb|"
    r"Year (?:nav|dab|in)|Events by|Calendar|This date|Day$|Months$|Dog nav|S-|End-?box|Start-?box|"
    r"Nat fs|Fs |Fb |"
    r"Location|Coord-|GeoGroup|Kml|Attached|Mapframe|Maplink|OSM|Osm|Rail|BS-|S-line|Routemap|Jct|"
    r"Composition bar|Legend|Color ?box|Quote ?box|Rquote|Side ?box|Party shading|Bulleted|"
    r"Non-free|Editnotice|Talk|User|WikiProject|Template|Documentation|Category"
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
24hLM; APLcode; ATC; Abbreviations; Academic peer reviewed; According to whom; Adjacent
communities; Air forces; Airport codes; Algorithm-end; All plot; Also; Ambiguous; Ambox; Amg
movie; Amg name; As of?; As written?; Asof?; BBC Programmes; Baseball hall of fame list; Better;
Better source; Bibliography; Bibliowiki; Books; Books-inline; Boxquote; Br; Break; Britannica;
Broader; By whom; By whom?; CDD; CIA World Factbook; CIA World Factbook link; CMain; Calendar;
Cascite; Category handler; Charmap; Chemspidercite; Chinese name; ChoralWiki; Chronology citation
needed; Circular reference; Cit; Citation needed; Cite; Cl; Clarify; Clarify timeframe; Clarifyme;
Cleanup; Clear left; Clear right; Closed access; Clr; Cmbox; Cn; Cn-span; Cnote; Cnote2;
Cnotebegin; Cnoteend; Compact periodic table; Compared to?; Confuse; Confusing; Contradict;
Contradict-inline; Contradiction inline; Copyedit; Copypaste; Cref; Cref2; Curlie; Current;
Definition; Dfm; Dictionary; Disputed; Disputed inline; Disputed section; Disputed-inline; Dmbox;
Dn; Do not archive; Documentation; Drugbankcite; Dts-sort; Dubious; Dubious-inline; Dutch name;
Dynamic list; EC number; EMedicine; Eastern Slavic name; Ebicite; Election; Emmy Awards/color; End
div col; EngvarA; EngvarB; EngvarC; Ent; Enzyme; Eqm; Esoteric; Essay-like; Examples; Excerpt;
Excessive citations; Explain; External links; FACR; Fact; Facts; FadedPage; Failed; Failed
verification; Family name hatnote; Fdacite; Fix; Fn; Fnb; Football kit; Footnote; Ford C. Frick
award list; Free access; From whom; Full; Full citation needed; Fv; GR; GeoQuelle; Geographic
location; Geolinks; Globalise; GovPubs; HDS; Harv; Harvid; Harvs; Harvsp; Hid; How; How often;
How?; Hs; Huh; Hungarian name; ICD10; ICD9; IEP; IMSLP; IPA notice; ISE; ISSN link; Icelandic
name; Ill-WD; Image label begin; Image label end; Imbox; Importance section; Improve categories;
In Our Time; In lang; In popular culture; In use; InPho; Inappropriate tone; Incomprehensible
inline; Inconsistent; Inconsistent citations; IndiaCensusPop; Indonesian name; Inflation-fn;
Inflation/year; Intitle; Irrelevant citation; Japanese name; Jargon-inline; Keggcite; Kept; Korean
name; LORD; Lacking overview; Largest cities; Lead rewrite; Left; Life timeline; Like whom; Like
whom?; Link note; Linkfarm; Ln; Lookfrom; Lopsided; Lse; MacTutor; MacTutor Biography; Main other;
Malay name; Manual; Map caption; MathGenealogy; MathWorld; MedalCompetition; Medals; Medical
condition classification and resources; Medical resources; Medref; Medrs; MeshName; Message box;
Metacritic film; Mojo; Mojo name; Mojo title; Moon spacecraft; Mref; Multicol-end; NPOV; NPOV
language; Nature timeline; Nav; Navboxes; Needs IPA; Needs update; Neologism; Neologism inline;
Neutrality; Nobel winners; Non sequitur; Non-primary source needed; Nonspecific; Nospam; Not in
citation given; Not in source; Not verified; Notability; Note; Note label; Note tag; Notelist;
Notes; Nq; Ntsh; Nutritional value; ODNBsub; OED; OEIS link; OEtymD; OMIM; OMIM4; Off topic;
Ombox; One source; Open access; Opinion; Or; Orbitbox; OrbitboxPlanet; Original research inline;
Outlying territories of European countries; Overcite; PASE; POV; POV section; POV-check;
POV-section; POV-statement; Patronymic name; Paywall; Peacock term; Periodic table (micro);
Phanerozoic; PhilPapers; PlanetMath; Plot; Poll; Portuguese name; Post-nominals/IRL; Promotional;
Promotional source; Prone to spam; Prose; Protected; Qn; Qualify evidence; RP; Ratings; Recent;
Recentism; Ref; Ref label; References; Reflist; Refnest; Registration; Registration required;
Related articles; Relevance; Relevance inline; Relevance note; Reliability; Request quotation;
Research help; Retired number list; Retrieved; Rfc; Rotten Tomatoes; Rotten-tomatoes; Rs; SEP;
Sandbox; ScienceWorld; Self-published; Self-published source; Selfref; SfnRef; Sfnb; Sfnref;
Sic-inline; Sidebar; Sidebar periodic table; Sisterlinks; Sort-key; Source; Source?; Sources; Sp?;
Spaceflight crew; Spanish name; Speciesbox; Specify; Speculation; Speculation inline;
Splitsection; Springer; Sprotected; StateDept; Stdinchicite; Story; Subscription; Subscription
required; Summarize; Swiss populations ref; Syn; Sync; Synthesis; Synthesis inline; TED speaker;
Taxonbar; Tcmdb name; Tcmdb title; Technical; Technical statement; Tertiary; Tfm; Time fact; Time
needed; Time-context; Tl; To whom?; Tocleft; Tocright; Too long; Too many sections; Triangulation;
Trivia; US patent; Unbalanced; Unclear; Under construction; Undue; Undue inline; Undue weight;
Unencyclopedic; Unreferenced section; Unreliable; Unreliable medical source; Unreliable source;
Unreliable source?; Unreliable sources; Unsourced; Unverifiable; Unverified; Update after; Update
inline; Vague; Vague-inline; Vandalism; Verification failed; Verify; Verify credibility; Verify
source; Vietnamese name; Vn; Weasel inline; Weasel word; Weasel-inline; Weather; What; When;
When?; Where; Where?; Which; Which?; Who; Who?; Whom; Whose; Whose?; Why; Why?; Wikibooks;
Wikicite; Wikidata property; Winner-table; Z148
"""
    )
)


@lru_cache(maxsize=2**14)
def is_removed(name: str) -> bool:
    """Whether a template of this name is taken out on purpose; one that has a macro is not asked for.

    >>> is_removed("Infobox person"), is_removed("Cite web"), is_removed("Convert")
    (True, True, False)
    """
    return name in NAMES or FAMILIES.fullmatch(name) is not None
