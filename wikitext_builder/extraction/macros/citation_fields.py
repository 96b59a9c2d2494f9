"""The names and arguments of citation templates, from `Module:Citation/CS1` of 2015."""

from __future__ import annotations

import re
from functools import lru_cache

from wikitext_builder.extraction.listing import listed
from wikitext_builder.extraction.macros.call import Call
from wikitext_builder.extraction.macros.safe_int import whole_number

# The arguments that a citation takes for each of its fields, the first that is not empty.
FIELDS = {
    field: tuple(names.split(","))
    for field, names in (
        pair.split("=")
        for pair in listed(
            """
accessed=access-date,accessdate; agency=agency; airdate=air-date,airdate; archived=archive-date,archivedate;
archive=archive-url,archiveurl; at=at; dead=dead-url,deadurl,url-status; book=book-title,booktitle;
authors=vauthors,authors,people,host,credits; chapter=chapter,contribution,entry,article,section;
coauthors=coauthors,coauthor;
chapter_url=chapter-url,chapterurl,contribution-url,contributionurl,section-url,sectionurl;
conference=conference,event; date=date,air-date,airdate; degree=degree; docket=docket; edition=edition;
display_authors=display-authors,displayauthors; display_editors=display-editors,displayeditors;
editors=veditors,editors; encyclopedia=encyclopedia,encyclopaedia; episode=episode; format=format; id=id,ID;
issue=issue,number; language=language,in; amp=last-author-amp,lastauthoramp; minutes=minutes; mode=mode;
month=month; names=name-list-format,author-format,authorformat; network=network; no_pp=no-pp,nopp;
original_year=orig-year,origyear; others=others,interviewer,interviewers; page=p,page; pages=pp,pages;
periodical=journal,newspaper,magazine,work,website,periodical,encyclopedia,encyclopaedia,dictionary;
place=place,location; postscript=postscript; program=program; published=publicationdate,publication-date;
publication_place=publication-place,publicationplace; publisher=publisher,distributor,institution,newsgroup;
quote=quote,quotation; registration=registration; script_title=script-title; season=season;
series=series,version; series_number=series-number,series-no,seriesnumber,seriesno; station=station;
subscription=subscription; time=time; time_caption=time-caption,timecaption; title=title; note=department;
trans_chapter=trans-chapter,trans_chapter; trans_title=trans-title,trans_title; type=type,medium; url=url,URL;
via=via; volume=volume; year=year; city=city; callsign=call-sign,callsign; cartography=cartography; map=map;
scale=scale; section=section; lay=lay-url,lay-summary,layurl,laysummary; lay_date=lay-date,laydate;
lay_source=lay-source,laysource; transcript=transcript
"""
        )
    )
}
# Identifiers in the order in which they are shown: what stands before each, and the arguments that give it.
IDENTIFIERS = {
    "ASIN ": "asin ASIN", "Bibcode:": "bibcode BIBCODE", "ISBN ": "isbn ISBN isbn13 ISBN13",
    "ISSN ": "issn ISSN", "JFM ": "jfm JFM", "JSTOR ": "jstor JSTOR", "LCCN ": "LCCN lccn", "MR ": "MR mr",
    "OCLC ": "OCLC oclc", "OL ": "ol OL", "OSTI ": "OSTI osti", "PMC ": "PMC pmc", "PMID ": "PMID pmid",
    "RFC ": "RFC rfc", "SSRN ": "SSRN ssrn", "Usenet: ": "message-id", "Zbl ": "ZBL zbl",
    "arXiv:": "arxiv ARXIV eprint", "doi:": "doi DOI", "hdl:": "hdl HDL",
}  # fmt: skip
# For person number #: the arguments that give the last name, the first name and the mask.
PEOPLE = {
    "author": (
        "author#-last author-last# last# surname# Author# author# subject#",
        "author#-first author-first# first# given#",
        "author#-mask author-mask# author#mask authormask#",
    ),
    "editor": (
        "editor#-last editor-last# editor#-surname editor-surname# EditorSurname# Editor# editor#",
        "editor#-first editor-first# editor#-given editor-given# EditorGiven# editorgiven#",
        "editor#-mask editor-mask# editor#mask editormask#",
    ),
    "translator": (
        "translator#-last translator-last# translator#",
        "translator#-first translator-first#",
        "translator#-mask translator-mask#",
    ),
}
# The same by the name of the argument: its fields, or the part of a name, each with its rank.
FIELDS_OF: dict[str, list[tuple[str, int]]] = {}
for _field, _names in FIELDS.items():
    for _rank, _name in enumerate(_names):
        FIELDS_OF.setdefault(_name, []).append((_field, _rank))
LABEL_OF = {name: label for label, names in IDENTIFIERS.items() for name in names.split()}
PART_OF = {
    name: (role, part, rank)
    for role, parts in PEOPLE.items()
    for part, names in enumerate(parts)
    for rank, name in enumerate(names.split())
}
NUMBER = re.compile(r"[0-9]{1,3}")
# Names of templates by kind; a space may be missing, and words may have capitals.
KINDS = {
    "web": "web; url; website", "news": "news; newspaper", "journal": "journal; paper; magazine",
    "book": "book; manual; ebook", "encyclopedia": "encyclopedia; encyclopaedia; dictionary",
    "conference": "conference", "episode": "episode", "interview": "interview", "map": "map",
    "press release": "press release; press; pressrelease", "podcast": "podcast", "report": "report",
    "techreport": "techreport; tech report; technical report", "thesis": "thesis; dissertation",
    "av media notes": "AV media notes; music release notes; album notes", "dvd notes": "DVD notes; DVD-notes",
    "av media": "AV media; video; DVD; film; movie", "video game": "video game", "serial": "serial",
    "sign": "sign", "speech": "speech", "arxiv": "arXiv; arxiv", "newsgroup": "newsgroup",
    "mailing list": "mailing list; mailinglist",
}  # fmt: skip

ET_AL = re.compile(r",? {0,9}'{0,9}et al[.']*$", re.IGNORECASE)


class Arguments:
    """The arguments of one citation, sorted."""

    def __init__(self, call: Call) -> None:
        self.fields = dict.fromkeys(FIELDS, "")
        self.identifiers: dict[str, str] = {}
        # By role and number: the last name, the first name and the mask, each with the rank of its argument.
        self.persons: dict[str, dict[int, list[tuple[int, str]]]] = {role: {} for role in PEOPLE}
        ranks: dict[str, int] = {}
        for name, given in call.arguments.items():
            value = given.strip()
            if not value:
                continue
            for field, rank in FIELDS_OF.get(name, ()):
                if rank < ranks.get(field, 99):
                    self.fields[field], ranks[field] = value, rank
            if name in LABEL_OF:
                self.identifiers.setdefault(LABEL_OF[name], value)
            elif (found := _part_of(name)) is not None:
                role, part, rank, number = found
                parts = self.persons[role].setdefault(number, [(99, "")] * 3)
                parts[part] = min(parts[part], (rank, value))

    def names(self, role: str, *, vancouver: bool) -> tuple[list[tuple[str, str]], bool]:
        """The names with the gap after each, and True if there are more of them."""
        between = " " if vancouver else ", "
        found: list[tuple[str, str]] = []
        more, previous = False, 0
        for number, parts in sorted(self.persons[role].items()):
            if number > previous + 2:  # two names are missing: the list ends
                break
            previous = number
            last, first, mask = (value for _, value in parts)
            if not last:
                continue
            more = more or ET_AL.search(last) is not None or ET_AL.search(first) is not None
            last, first = ET_AL.sub("", last), ET_AL.sub("", first)
            if vancouver:  # initials
                first = "".join(word[0] for word in re.findall(r"\w+", first)[:2])
            dashes = whole_number(mask, digits=2)
            if mask:
                found.append(("—" * dashes, "; ") if dashes is not None else (mask, " "))
            elif last:
                found.append((f"{last}{between}{first}" if first else last, "; "))
        return found, more


@lru_cache(maxsize=2**12)
def _part_of(name: str) -> tuple[str, int, int, int] | None:
    """The role, part, rank and number of an argument of a name: `editor2-first`; `last` is before `last1`."""
    number = NUMBER.search(name)
    form = f"{name}#" if number is None else f"{name[: number.start()]}#{name[number.end() :]}"
    if form not in PART_OF:
        return None
    role, part, rank = PART_OF[form]
    return role, part, 2 * rank + (number is not None), int(number[0]) if number else 1
