"""Citations outside references, in the order and punctuation of Citation Style 1 and 2.

Behaviour: `Module:Citation/CS1` of 2015, whose forms the official files show ("Z Papers 1 (3): 45–56.
Archived from the original on October 14, 2007."), since 2017 with points before volumes and publishers
(`pointed`), and that of 2026 for later pages (`today`). A piece begins with the separator that ends the
piece before it: a full stop in Style 1, a comma in Style 2 (`{{citation}}`).
"""

from __future__ import annotations

import re

from wikitext_builder.extraction.macros.call import Call, Macro, changed, macro, series
from wikitext_builder.extraction.macros.citation_fields import IDENTIFIERS, KINDS, TYPES, Arguments, dashed
from wikitext_builder.extraction.macros.dates import order_of_dates, parts_of, written
from wikitext_builder.extraction.macros.languages import LANGUAGE_NAMES
from wikitext_builder.extraction.macros.php import whole_number

PAPERS = {"news", "journal", "magazine"}
QUOTED = PAPERS | {"web", "press release", "podcast", "newsgroup", "mailing list", "arxiv"}
WITHOUT_VOLUME = QUOTED - PAPERS | {"episode", "sign", "speech", "serial"}
WITH_ISSUE = PAPERS | {"citation", "conference", "episode", "map", "podcast"}
WITHOUT_PAGES = {"av media", "episode", "mailing list", "newsgroup", "podcast", "serial", "sign", "speech"}
WITH_AGENCY = {"news", "web", "magazine", "press release"}
STRAIGHT = str.maketrans("‘’“”", "''\"\"")
INITIAL = re.compile(r"(?:\.\s*|\s)[^\W\d_]\.$")  # a title that ends with one keeps its point
NO_CHAPTER = QUOTED - {"mailing list"}
PAGES_AS_BOOK = frozenset(["encyclopedia", "web", "book", "news", "podcast"])
PUBLISHER_AS_BOOK = frozenset(("encyclopedia", "web", "press release", "podcast"))
PDF = re.compile(r"\.pdf(?:[?#]|$)", re.IGNORECASE)
PAGE = re.compile(r"[0-9]+(?:\.[0-9]+)?")
SCRIPT_CODE = re.compile(r"^[a-z]{2}\s*:\s*")


class _Citation:
    """One citation: its fields, and the separator of its style."""

    def __init__(self, kind: str, call: Call) -> None:
        self.call = call
        self.arguments = Arguments(call)
        self.fields = self.arguments.fields
        mode = self["mode"].lower()
        self.comma = mode == "cs2" or (kind == "citation" and mode != "cs1")
        self.separator = "," if self.comma else "."
        self.today, self.pointed = changed(call, "citations"), changed(call, "points in citations")
        self.kind = "journal" if kind == "magazine" and not self.today else kind
        if self.today and kind in {"book", "encyclopedia"} and not call.get("encyclopedia", "encyclopaedia"):
            self.fields["periodical"] = ""  # such as work=, which they do not have
        if self.today:
            self.adapt_today(call.get("df") or order_of_dates(call.page.wikitext) + "-all")
        self.in_journal = kind == "journal" or (kind in {"citation", "map"} and bool(call.get("journal")))
        self.adapt()
        self.in_periodical = bool(self["periodical"]) and not self["encyclopedia"]  # an article of one

    def __getitem__(self, field: str) -> str:
        return self.fields[field]

    def adapt(self) -> None:
        """What is special to some kinds: fields that take the place of others."""
        fields = self.fields
        if fields["page"]:
            fields["pages"] = fields["at"] = ""
        elif fields["pages"]:
            fields["at"] = ""
        fields["publication_place"] = fields["publication_place"] or fields["place"]
        if fields["publication_place"] == fields["place"]:
            fields["place"] = ""
        reference_work = self.kind == "encyclopedia" or (self.kind == "citation" and fields["encyclopedia"])
        if reference_work and fields["periodical"] and not (fields["title"] and fields["chapter"]):
            if fields["title"]:
                fields["chapter"], fields["trans_chapter"] = fields["title"], fields["trans_title"]
                fields["chapter_url"], fields["trans_title"], fields["url"] = fields["url"], "", ""
            fields["title"], fields["periodical"] = fields["periodical"], ""
        if self.kind == "conference" and fields["book"]:
            fields["chapter"], fields["title"] = fields["title"], fields["book"]
            fields["chapter_url"], fields["url"] = fields["url"], ""
        elif self.kind not in {"conference", "speech"}:
            fields["conference"] = ""
        if self.kind == "map":
            fields["chapter"], section = fields["map"], fields["section"]
            fields["at"] = fields["at"] or (f"§ {section}" if section else "")
        if self.kind == "report" and fields["docket"]:
            fields["id"] = fields["docket"]
        if self.kind == "techreport" and not fields["id"]:
            fields["id"], fields["issue"] = fields["issue"], ""
        if self.kind in {"episode", "serial"}:
            self.adapt_broadcast()
        if self.kind == "interview":
            who = f"{fields['type'] or 'Interview'} with {fields['others']}"
            fields["others"], fields["type"] = (
                (who, "") if fields["others"] else ("(Interview)", fields["type"])
            )
            fields["id"] = f"{self.separator} ".join(
                filter(None, map(self.__getitem__, ("id", "program", "callsign", "city")))
            )
        if self.kind == "speech":
            fields["note"] = "(Speech)"
        dated = f"{fields['month']} {fields['year']}".strip() if fields["year"] else fields["published"]
        fields["date"] = fields["date"] or dated
        if fields["published"] == fields["date"]:
            fields["published"] = ""

    def adapt_today(self, order: str) -> None:
        """Dates in the order that the page asks for, straight quotation marks, only fields of the kind."""
        article = self.kind in QUOTED or (self.kind == "citation" and self["periodical"])
        for field in ("title" if article else "chapter", "chapter", "quote"):
            self.fields[field] = self[field].translate(STRAIGHT)
        self.fields["authors"] = self["authors"].replace("((", "").replace("))", "")
        if not (self["url"] or self["chapter_url"]) or not self["archived"]:
            self.fields["archive"] = ""
        if not self["url"]:
            self.fields["format"] = ""
        if self.kind not in WITH_AGENCY:
            self.fields["agency"] = ""
        if self.kind in WITHOUT_PAGES:
            self.fields |= dict.fromkeys(("page", "pages", "at"), "")
        if order[:3] in {"dmy", "mdy"}:
            for field in ("date", "published", *(("accessed", "archived") if order[3:] == "-all" else ())):
                if all(parts := parts_of(self[field])):
                    self.fields[field] = written(*parts, day_comes_first=order[0] == "d") or self[field]

    def adapt_broadcast(self) -> None:
        """An episode is a chapter of its series."""
        fields = self.fields
        fields["id"] = f"{self.separator} ".join(filter(None, (fields["network"], fields["station"])))
        if self.kind == "serial":
            fields["chapter"], fields["issue"] = fields["episode"], ""
            return
        number = "series_number" if not fields["season"] else "none"
        parts = [("Season", "season"), ("Series", number), ("Episode", "issue")]
        shown = [f"{label} {fields[name]}" for label, name in parts if fields.get(name)]
        fields["chapter"], fields["trans_chapter"] = fields["title"], fields["trans_title"]
        fields["chapter_url"], fields["url"] = fields["url"], ""
        fields["trans_title"] = fields["issue"] = ""
        joined = f"{self.separator} ".join(shown)
        fields["title"], fields["series"] = fields["series"], joined.lower() if self.comma else joined

    def word(self, value: str) -> str:
        """A fixed text, in lower case in Style 2."""
        return value.lower() if self.comma else value

    def after(self, value: str) -> str:
        """A value as a piece of its own, after the separator."""
        return f"{self.separator} {value}" if value else ""

    def join(self, *pieces: str) -> str:
        """The pieces in a row; where two separators meet, one stays."""
        joined = ""
        for piece in pieces:
            if joined and piece.startswith(self.separator):
                joined = joined.removesuffix(" ") if joined.endswith(f"{self.separator} ") else joined
                if self.today and self["url"] and joined.endswith(f'{self.separator}"'):  # of a link
                    piece = piece.removeprefix(self.separator)
                italics = "''" if joined.endswith(f"{self.separator}''") else ""
                joined = joined.removesuffix(italics).removesuffix(self.separator) + italics
            joined += piece
        return joined

    def people(self, role: str) -> tuple[str, int]:
        """The names of the authors or editors, and how many are shown."""
        vancouver = self["names"] == "vanc"
        found, more = self.arguments.names(role, vancouver=vancouver)
        limit = self.fields.get(f"display_{role}s", "")
        most = whole_number(limit, digits=3)
        if limit and most is None:
            more = more or limit.lower().replace(" ", "").strip("'.") == "etal"
        elif most is not None and most < len(found):
            found, more = found[:most], True
        shown = ""
        for index, (name, gap) in enumerate(found):
            last = index == len(found) - 1
            if index and last and not more and (self["amp"] or self["names"] in {"amp", "&", "and"}):
                joint = " & " if self["names"] != "and" else " and " if index == 1 else "; and "
                shown = shown.rstrip("; ") + joint
            shown += name + ("" if last else gap if not vancouver else ", ")
        others = (", et al." if vancouver else "; et al.") if self.today else " et al."
        return shown + (others if more and shown else ""), max(len(found), 2) if more else len(found)

    def chapter(self) -> str:
        """The title of a chapter in quotes."""
        if self.kind in NO_CHAPTER or (self.kind == "citation" and self.in_periodical):
            return ""
        shown = f'"{self["chapter"]}"' if self["chapter"] else ""
        shown += f" &#91;{self['trans_chapter']}&#93;" if self["trans_chapter"] else ""
        kind = self.type() if self.kind == "map" else ""
        return f"{shown.strip()}{kind}{self.pdf(self['chapter_url'])}{self.separator} " if shown else ""

    def title(self) -> str:
        """The title, with what stands next to it: in quotes if it is an article."""
        quoted = self.kind in QUOTED or (self.kind in {"citation", "map"} and self.in_periodical)
        shown = self["title"] if self["title"] != "none" or not self["periodical"] else ""
        if self.today and not shown.endswith("...") and not INITIAL.search(shown):
            shown = shown.removesuffix(self.separator)
        shown = f'"{shown}"' if quoted and shown else shown
        shown += f" {SCRIPT_CODE.sub('', self['script_title'])}"
        shown += f" &#91;{self['trans_title']}&#93;" if self["trans_title"] else ""
        shown = shown.strip()
        if not shown or not self["url"]:
            return shown
        return shown + (self.pdf(self["archive"]) if self.archive_first else self.format())

    @property
    def archive_first(self) -> bool:
        """True if the title leads to the archive, and "the original" to the work."""
        return bool(self["archive"]) and self["dead"].lower() not in {"no", "live"}

    def format(self) -> str:
        """The format of the file, ` (PDF)`."""
        shown = self["format"] if self.today and len(self["format"]) > 3 else self["format"].upper()
        return f" ({shown})" if shown else self.pdf(self["url"])

    def archived(self) -> str:
        """`Archived from the original (PDF) on October 14, 2007`."""
        if not self["archive"]:
            return ""
        original = f"the original{self.format()}" if self.archive_first else "the original"
        mark = "" if self.archive_first else self.pdf(self["archive"])
        return f"{self.word('Archived')}{mark} from {original} on {self['archived']}"

    @staticmethod
    def pdf(url: str) -> str:
        """A mark for PDF files."""
        return " (PDF)" if PDF.search(url) else ""

    def type(self) -> str:
        """What kind of work it is, in parentheses."""
        shown = self["type"] or TYPES.get(self.kind, "")
        if self.kind == "thesis" and self["degree"] and shown == "Thesis":
            shown = f"{self['degree']} thesis"
        return f" ({shown})" if shown and shown.lower() != "none" else ""

    def language(self) -> str:
        """` (in French and German)`; nothing for English, as on today's pages."""
        given = "" if self.pointed and self["language"].lower() == "english" else self["language"]
        codes = [code.strip() for code in given.split(",") if code.strip()]
        codes = [code for code in codes if code.lower() != "en" and not code.lower().startswith("en-")]
        names = [LANGUAGE_NAMES.get(code.lower(), code) if len(code) == 2 else code for code in codes]
        names = [name[:1].upper() + name[1:] for name in names]
        return f" (in {series(names, ', and ' if len(names) > 2 else ' and ')})" if names else ""

    def volume(self) -> str:
        """A short volume stands next to the title, a long one alone; today `Vol. 5, no. 2` or `. 5 (2)`."""
        volume = self["volume"]
        if self.today:
            volume = "" if self.kind in WITHOUT_VOLUME else dashed(volume)
            needs_work = self.kind in {"citation", "conference", "map"} and not self["periodical"]
            issue = dashed(self["issue"]) if self.kind in WITH_ISSUE and not needs_work else ""
            if self.in_journal:
                return self.after(volume) + (f" ({issue})" if issue else "")
            number = f"no. {issue}" if volume else f"No. {issue}"
            parts = [f"Vol. {volume}" if volume else "", number if issue else ""]
            shown = ", ".join(filter(None, parts))
            return self.after(self.word(shown[:1]) + shown[1:])
        apart = self.pointed or len(volume) > 4
        return self.after(volume) if apart else f" {volume.replace('-', '–')}" if volume else ""

    def publisher(self) -> str:
        """The place and the publisher: in parentheses after a periodical."""
        shown = ": ".join(filter(None, (self["publication_place"], self["publisher"])))
        if self.kind == "newsgroup" and self["publisher"]:
            shown = f"Newsgroup: {self['publisher']}"
        published = f"published {self['published']}" if self["published"] else ""
        if self["periodical"] and self.kind not in PUBLISHER_AS_BOOK and not self.pointed:
            shown = ", ".join(filter(None, (shown, published if shown else self["published"])))
            return f" ({shown})" if shown else ""
        return self.after(shown) + (f" ({published})" if published else "")

    def place_in_source(self) -> str:
        """Minutes, pages and other places."""
        time = (
            f"{self['time_caption'] or self.word('Event occurs at')} {self['time']}" if self["time"] else ""
        )
        shown = self.after(f"{self['minutes']} minutes in" if self["minutes"] else time)
        pages = self["page"] or self["pages"].replace("-", "–")
        pages = dashed(pages) if self.today else pages
        as_article = self["periodical"] and self.kind not in PAGES_AS_BOOK
        if pages and (self.in_journal if self.pointed else as_article):
            shown += f": {pages}"
        elif pages:
            one = bool(self["page"]) or PAGE.fullmatch(pages) is not None
            shown += self.after(pages if self["no_pp"] else f"{'p.' if one else 'pp.'} {pages}")
        return shown + self.after(self["at"])

    def common(self) -> str:
        """From the title to the publisher."""
        title, note = self.title(), f" {self['note']}" if self.kind == "speech" else self.after(self["note"])
        periodical = self.after(self["periodical"]) if title or note else self["periodical"]
        periodical = "" if self.kind == "arxiv" else periodical
        format_alone = self.format() if not (title and self["url"]) else ""
        series, conference = self.after(self["series"]), self.after(self["conference"])
        issue = f" ({self['issue']})" if self["issue"] and not self.today else ""
        edition = f" ({self['edition']} ed.)" if self["edition"] else ""
        agency, others = self.after(self["agency"]), self.others()
        kind = "" if self.kind == "map" and self["chapter"] else self.type()
        start = (title, note, conference, periodical, format_alone, kind, series, self.language())
        if self.kind in {"journal", "citation"} and self["periodical"] and not changed(self.call, "journals"):
            others = others + f"{self.separator} " if others else ""
            return self.join(others, *start, edition, self.publisher(), agency, self.volume(), issue)
        if self.kind == "episode":
            rest = (series, self.after(self["transcript"]), self.language(), edition, self.publisher())
            return self.join(title, note, self.type(), *rest)
        if self.kind == "map":
            by = f"Cartography by {self['cartography']}" if self["cartography"] else ""
            others = self.after(self["scale"]) + self.after(by) + others
        return self.join(*start, self.volume(), issue, others, edition, self.publisher(), agency)

    def others(self) -> str:
        """Other people, and translators."""
        translators, _ = self.people("translator")
        by = self.word("Translated") if self.today else "Translated"
        translated = self.after(f"{by} by {translators}" if translators else "")
        return self.join(translated, self.after(self["others"]))

    def end(self) -> str:
        """Identifiers, archives, dates of access, and a quotation."""
        given = self.arguments.identifiers
        labels = sorted(IDENTIFIERS, key=str.lower) if self.pointed else IDENTIFIERS
        shown = [f"{label}{given[label]}" for label in labels if label in given]
        identifiers = f"{self.separator} ".join(filter(None, [*shown, self["id"]]))
        linked = self.kind == "journal" and "PMC " in given  # the title is a link to it
        online = bool(self["url"] or self["chapter_url"]) or linked
        accessed = f"{self.word('Retrieved')} {self['accessed']}" if self["accessed"] and online else ""
        docket = f"Docket {self['docket']}" if self["docket"] and self.kind == "thesis" else ""
        paid = not self.today and self["subscription"].lower() in {"yes", "true", "y"}
        pieces = list(map(self.after, (docket, identifiers, self.archived(), accessed)))
        pieces.append(f" – via {self['via']}" if self["via"] else "")
        pieces.append(self.after("(subscription required (help))" if paid else ""))
        quote = self["quote"].strip('"')
        page = f"p. {self['quote_page']}" if self["quote_page"] else f"pp. {self['quote_pages']}"
        quote = f'"{quote}"' if page == "pp. " or not quote else f'{page}: "{quote}"'
        return self.join(*pieces, self.after(quote.removesuffix('""')))

    def text(self) -> str:
        """The whole citation, without the full stop at its end."""
        authors, _ = self.people("author")
        authors = authors or self["authors"]
        if authors and self["coauthors"]:
            authors += f"; {self['coauthors']}"
        editors, number = (self["editors"], 1) if self["editors"] else self.people("editor")
        chapter, common = self.chapter(), self.common()
        place = f" {self.word('Written')} at {self['place']}{self.separator} " if self["place"] else ""
        original = f" &#91;{self['original_year']}&#93;" if self["original_year"] else ""
        date = f" ({self['date']}){original}{self.separator} " if self["date"] else ""
        mark = "ed." if number <= 1 else "eds."
        if authors:
            start = authors + (date or self.gap(authors))
            if editors:
                mark = f" ({mark})" if self.today else f", {mark}" if not chapter else ""
                shown = (f"{self.word('In')} " if chapter else "") + editors + mark
                editors = f" {shown}{self.gap(shown)}"
            start = self.join(start, chapter, place, editors, common)
        elif editors:
            head = f"{editors}, {mark}{date}" if date else f"{editors} ({mark}){self.separator} "
            start = self.join(head, chapter, place, common)
        else:
            alone = self.after(f"{self['date']}{original}" if self["date"] else "")
            start = self.join(chapter, place, common)
            kinds = {"journal", "citation" if self.today else "journal"}
            if self.kind in kinds and self["periodical"]:
                return self.join(start, self.place_in_source(), alone, self.end())
            return self.join(start, alone, self.place_in_source(), self.end())
        return self.join(start, self.place_in_source(), self.end())

    def gap(self, value: str) -> str:
        """What follows names: a separator, unless they end with one."""
        return " " if value.endswith(self.separator) else f"{self.separator} "


def citation(kind: str) -> Macro:
    """A citation of a kind: `Smith, Jane (2001). "Title". Journal 5 (2): 3–4.`."""

    def of_kind(call: Call) -> str | None:
        one = _Citation(kind, call)
        shown = one.text().strip()
        if not shown or one["unknown"]:
            return None
        end = one["postscript"] or ("" if one.comma else ".")
        end = "" if end.lower() == "none" or one["quote"] else end
        return " ".join(one.join(shown, end).split(" "))

    return of_kind


CITATIONS = {"Citation": "citation"} | {
    f"Cite{gap}{shown}": kind
    for kind, names in KINDS.items()
    for name in names
    for gap in (" ", "-", "")
    for shown in (name, name[:1].upper() + name[1:])
}
for _name, _kind in CITATIONS.items():
    macro(_name)(citation(_kind))
