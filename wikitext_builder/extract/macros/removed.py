"""Templates that give no running text: boxes, navigation, citations, hatnotes, maintenance, marks of an article."""

from __future__ import annotations

import re

# Families that go by the beginning or the end of their names.
FAMILIES = re.compile(
    r"(?:"
    r"Infobox|Info\s?box|Navbox|Campaignbox|Chembox|Drugbox|Taxobox|Speciesbox|Subspeciesbox|Automatic taxobox|"
    r"Geobox|Starbox|Medal(?=[A-Z])|Succession|Campaign|Election box|Goalscorers|Football (?:squad|kit|box)|"
    r"Cite |Cite[A-Z]|Citation|Vcite|Sfn|Efn|Harv(?!txt|col)|Refn?(?:$|begin|end|list|\s?improve|-)|R(?:$|p$)|Note ?list|"
    r"Pp(?:$|-)|Pov|Use (?:dmy|mdy|ymd|British|American|Indian|Australian|Canadian|Oxford|Hiberno|New|South|[A-Z]\w+ English)|"
    r"Wik[it](?!a?link)|Commons|Sister|Portal|Subject bar|Spoken|Library resources|Authority|"
    r"Pie chart|Bar ?(?:box|chart|Vertical|percent|table)|Graph:|Historical pop|US Census|Weather box|Climate|"
    r"IMDb|IBDB|Iobdb|Librivox|Gutenberg|Internet Archive|Find ?a ?[Gg]rave|Discogs|MusicBrainz|Allmusic|AllMusic|Allmovie|"
    r"Location map|Superimpose|Image(?: array|frame|map)?$|Multiple images?|Double image|Triple image|Wide image|Tall image|"
    r"Auto images|Photomontage|CSS image|Annotated image|Panorama|External media|External video|External music|"
    r"Audio|Listen|Sound|Multi-listen|Video|Extra ?album|Singles|Album (?:ratings|chart)|Certification|"
    r"Track ?list|Tracklist|Chart|Familytree|Family tree|Clade|Cladogram|Ahnentafel|Tree list|Tree chart|"
    r"Col-|Colbegin|Colend|Div col|Columns|Column|Multicol|Top$|Bottom$|Hidden|Collapsed|Collapsible|"
    r"Main|See|Further|Details|About|For(?:$| )|Redirect|Distinguish|Other |Otheruses|Hatnote|Not to be confused|"
    r"Article|Short description|Italic|DISPLAYTITLE|Lowercase|Restrict|Disambig|Dab|Hndis|Geodis|Set index|Surname|"
    r"Good article|Featured|GA|FA(?:$| )|Stub|TOC|Toc|Compact|Clear|Refs?|Anchor|Shy|Coord missing|"
    r"Expand|Update|Clean-?up|Multiple issues|Unreferenced|Unref|More |No footnotes|BLP|Original research|Primary|Tone|"
    r"Advert|Copy ?edit|Merge|Split|Move|Notab|Orphan|Globalize|Lead |Overly|Very long|Too |Peacock|Weasel|Expert|"
    r"Contains|Special ?chars|Inc-|DEFAULTSORT|Default|Persondata|Campaign|Bots|Nobots|Cbignore|Dead|Webarchive|Wayback|"
    r"EB1911|DNB|Catholic|1911|Include-|PD-|Source-attribution|CongBio|CongLinks|C-SPAN|Guardian|NYT|Dmoz|DMOZ|Curlie|Official|"
    r"Google |YouTube|Twitter|Facebook|Instagram|MySpace|Curlie|OL |Worldcat|Open ?Library|Goodreads|ISFDB|Isfdb|"
    r"Year (?:nav|dab|in)|Events by|Calendar|This date|Day$|Months$|Dog nav|S-|End-?box|Start-?box|Nat fs|Fs |Fb |"
    r"Location|Coord-|GeoGroup|Kml|Attached|Mapframe|Maplink|OSM|Osm|Rail|BS-|S-line|Routemap|Jct|"
    r"Composition bar|Legend|Color ?box|Quote ?box|Rquote|Side ?box|Party shading|Bulleted|"
    r"Non-free|Editnotice|Talk|User|WikiProject|Template|Documentation|Category"
    r").*|"
    r".*(?:[ -]stubs?|[ -]stub\d| topics?| sidebar| navbox| series| nav| icon|/meta/color|/meta/shortname| footer|"
    r" TOC|-inline|[a-z] needed(?: .*)?| inline| issues| header|Style| templates?| portal| infobox|\bnavigation)|"
    r"(?:Citation|Page|Verification|Quote|Quotation|Clarification|Attribution|Source|Year|Date|Volume|Full citation) "
    r"needed.*"
)

# What FAMILIES would take although it gives text.
KEPT = frozenset({"Refimprove"} - {"Refimprove"})

NAMES = frozenset(
    """
    In lang; Abbreviations; Academic peer reviewed; Ambiguous; Ambox; As of?; As written?; Asof?; Better; Better source; Boxquote;
    By whom; Br; Break; CDD; CMain; Category handler; Chronology citation needed; Cit; Citation needed; Clarify; Clarify
    timeframe; Clarifyme; Clr; Cn; Cn-span; Compared to?; Confusing; Contradict; Contradict-inline; Contradiction inline;
    Copyedit; Curlie; Definition; Disputed; Disputed inline; Disputed-inline; Dn; Do not archive; Dubious; Dts-sort; Dynamic
    list; EngvarA; EngvarB; EngvarC; Esoteric; Examples; Excerpt; Excessive citations; Explain; FACR; Fact; Facts; Failed
    verification; Fix; From whom; Full; Full citation needed; Fv; H:title-; Harv; Harvnb; Harvsp; Harvid; How; How often;
    How?; Hsp-; Huh; IPA audio link-; IPA notice; ISSN link; Ill-WD; Image label begin; Image label end; Improve categories;
    Inappropriate tone; Incomprehensible inline; Inconsistent; Inconsistent citations; Inflation-fn; Inflation-fn-; Irrelevant
    citation; Jargon-inline; Kept; Lacking overview; Like whom?; Like whom; Lopsided; Lookfrom; Intitle; Main other; Manual;
    Medref; Medrs; Message box; NPOV; NPOV language; Neologism; Neologism inline; Neutrality; Non sequitur; Non-primary source
    needed; Nonspecific; Not in citation given; Not in source; Not verified; Notability; Note; Note label; Notes; Nq; Off topic;
    One source; Opinion; Or; Original research inline; POV; POV-check; POV-section; POV-statement; Peacock term; Prone to spam;
    Promotional; Promotional source; Prose; Ref; Ref label; Relevance; Relevance inline; Relevance note; Reliability;
    Research help; Retrieved; Rs; SCOTUS-; SfnRef; SfnRef-; Sfnref; Sfrac-; Specify; Speculation; Speculation inline; Splitsection;
    Sp?; Subscription; Subscription required; Sync; Synthesis; Synthesis inline; Syn; Technical; Technical statement; Tfm;
    Tertiary; Time fact; Time needed; Time-context; Tl; To whom?; Too many sections; Triangulation; Trivia; Undue; Undue inline;
    Undue weight; Unbalanced; Unclear; Unencyclopedic; Unreliable medical source; Unreliable source; Unreliable source?;
    Unreliable sources; Unverifiable; Unverified; Update after; Update inline; Vague; Vandalism; Verification failed;
    Verify; Verify credibility; Verify source; Vn; Weasel inline; Weasel word; Weasel-inline; What; When; When?; Where; Where?;
    Which; Which?; Who; Who?; Whom; Whose; Whose?; Why; Why?; Z148; ODNBsub; Closed access; Open access; Registration required;
    Registration; Paywall; Free access; Link note; Inflation/year; Thinspace-; Cascite; Fdacite; Chemspidercite; Stdinchicite;
    Keggcite; Drugbankcite; Ebicite; Wikicite; Cref; Cref2; Cnote; Cnote2; Cnotebegin; Cnoteend; Ent; Hid; Fn; Fnb; Mref; GR;
    Ntsh; Sort-key; Hs; Dmbox; Ambox-; Eastern Slavic name; Spanish name; Portuguese name; Chinese name; Korean name; Japanese
    name; Hungarian name; Vietnamese name; Family name hatnote; Icelandic name; Indonesian name; Malay name; Dutch name;
    Patronymic name; Post-nominals/IRL; MathWorld; PlanetMath; PhilPapers; InPho; IEP; SEP; OEIS link; OED; OEtymD; Springer;
    Mojo name; Mojo title; Mojo; Rotten Tomatoes; Rotten-tomatoes; Metacritic film; Amg name; Amg movie; Tcmdb name; Tcmdb title;
    TED speaker; MacTutor Biography; MacTutor; MathGenealogy; ScienceWorld; BBC Programmes; Britannica; Taxonbar; Bibliowiki;
    FadedPage; IMSLP; ChoralWiki; CIA World Factbook; CIA World Factbook link; StateDept; GovPubs; Nobel winners; In Our Time;
    PASE; HDS; ATC; ICD9; ICD10; OMIM; OMIM4; MeshName; EMedicine; Medical resources; Medical condition classification and
    resources; Multicol-end; End div col; Reflist; References; Notelist; Bibliography; Documentation; Calendar; Air forces;
    Navboxes; Nav; Geographic location; Adjacent communities; Geolinks; Election; Compact periodic table; Outlying territories of
    European countries; Map caption; External links; Too long; Linkfarm; Ln; Largest cities; Related articles; Cleanup;
    Sisterlinks; Books-inline; Books; Wikibooks; Football kit; Tocright; Tocleft; Unsourced; Unreferenced section; Nowrap begin-;
    Moon spacecraft; Sandbox; Wikidata property; Circular reference; Clear left; Clear right; Left; Ombox; Cmbox; Imbox; Vague-inline;
    Dfm; Recent; Current; Recentism; In use; Under construction; Protected; Failed; Speciesbox; Rfc; Importance section; Essay-like;
    Story; Plot; All plot; Cite; Source; Sources; Unreliable; Copypaste; Dubious-inline; Sic-inline; Needs update; Lead rewrite;
    Refnest; Note tag; Footnote; Fossil range-; Fossilrange-; Phanerozoic; Emmy Awards/color; MedalCompetition; Medals; Winner-table
    """.replace("\n", " ").split(";")
)
NAMES = frozenset(" ".join(name.split()) for name in NAMES)


def is_removed(name: str) -> bool:
    """Whether a template of this name is taken out on purpose; one that has a macro is not asked for.

    >>> is_removed("Infobox person"), is_removed("Cite web"), is_removed("Convert")
    (True, True, False)
    """
    return name in NAMES or FAMILIES.fullmatch(name) is not None
