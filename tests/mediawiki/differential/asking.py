"""What a reader sees of template calls: on a wiki, and as our macros give it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from lxml import html

from tests.conftest import DATA
from tests.mediawiki.asking import ask
from tests.mediawiki.wiki import Wiki, cache, start
from wikitext_builder.article import Page
from wikitext_builder.errors import RejectedError
from wikitext_builder.extraction.page import extract
from wikitext_builder.wiki.client import Wikipedia

OLD, NEW = DATA / "pages" / "templates.xml.bz2", DATA / "pages-more" / "templates-modern.xml.bz2"
# Sets of templates by their year: the exports, each over those before it, and the date of the pages.
SETS = {"2015": ((OLD,), "2015-06-30T00:00:00Z"), "2026": ((OLD, NEW), "2026-08-31T00:00:00Z")}
TITLE = "Tokyo"  # of the page that all calls stand on
PER_REQUEST = 100  # calls; Lua may work for 7 seconds per request
MARK = "%({})%"
UNSEEN = re.compile(r"display:\s*none|visibility:\s*hidden")
# Classes of what a reader does not see, or does not read as text: marks of notes, messages of errors, the
# second form of coordinates, buttons.
UNREAD = {
    "reference", "Inline-Template", "error", "geo-nondefault", "geo-multi-punct", "noexcerpt",
    "citation-comment",
}  # fmt: skip
# A message of an error, a template that the wiki does not have, a parameter without value.
ERROR = re.compile(
    r'<[a-z]+ (?![^>]*display:\s*none)[^>]*class="[^"]*(?<![\w-])(?:scribunto-)?error\b|Help:Convert_messages'
    r'|title="Template:[^"]* \(page does not exist\)|\{\{\{|unsupported input|\(language\?\)'
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the wiki shows for a call."""

    text: str
    failed: bool = False  # it shows a message of an error


@dataclass(slots=True)
class Reader:
    """Asks a wiki what a reader sees."""

    wikipedia: Wikipedia
    templates: str = "2015"  # a key of SETS

    def answers(self, calls: Sequence[str]) -> list[Answer]:
        """The answer to each call."""
        parts = (calls[first : first + PER_REQUEST] for first in range(0, len(calls), PER_REQUEST))
        return [answer for part in parts for answer in self._asked(part)]

    def _asked(self, calls: Sequence[str]) -> list[Answer]:
        text = "".join(f"{MARK.format(number)} a {call} b\n\n" for number, call in enumerate(calls))
        request = {"action": "parse", "prop": "text", "title": TITLE, "text": text + MARK.format("end")}
        options = {"contentmodel": "wikitext", "disablelimitreport": "1", "disableeditsection": "1"}
        answer = self.wikipedia.request(request | options).parse
        assert answer is not None
        pieces = re.split(r"%\((?:\d+|end)\)%", answer.text)
        if len(pieces) == len(calls) + 2:
            return [Answer(visible(piece), ERROR.search(piece) is not None) for piece in pieces[1:-1]]
        if len(calls) == 1:
            return [Answer("", failed=True)]
        middle = len(calls) // 2  # a call swallowed a mark: find it
        return self._asked(calls[:middle]) + self._asked(calls[middle:])


def visible(source: str) -> str:
    """The text of a piece of HTML that a reader sees and that is no mark of a note."""
    pieces: list[str] = []
    _collect(html.fragment_fromstring(source, create_parent=True), pieces)
    return plain("".join(pieces))


def _collect(element: html.HtmlElement, pieces: list[str]) -> None:
    if isinstance(element.tag, str):
        hidden = UNSEEN.search(element.get("style") or "") or UNREAD & {*(element.get("class") or "").split()}
        missing = "mw:File" in (element.get("typeof") or "")  # no file is here: its title is no text
        aside = element.get("id") == "coordinates"  # beside the title
        if not (hidden or missing or aside) and element.tag not in {"style", "script"}:
            pieces.append(('"' if element.tag == "q" else "") + (element.text or ""))
            if element.tag == "br":
                pieces.append(" ")
            for child in element:
                _collect(child, pieces)
            pieces.append('"' if element.tag == "q" else "")
            if element.tag in {"li", "p", "div", "td", "dd", "dt", "tr"}:
                pieces.append(" ")
    pieces.append(element.tail or "")


def plain(text: str) -> str:
    """A text with single spaces."""
    return " ".join(re.sub("[\u200b\u200d\u200e\ufeff]", "", text).split())


def ours(call: str, templates: str = "2015", *, dated: bool = False) -> str | None:
    """What our macros give for a call on a page of the set's date; None if they do not know it.

    If the text depends on the day (`dated`), that is today, as on the wiki.
    """
    when = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if dated else SETS[templates][1]
    page = Page(title=TITLE, page_id=1, revision_id=1, timestamp=when, wikitext=f"a {call} b")
    try:
        article = extract(page)
    except RejectedError as error:
        return f"rejected: {error.reason}"
    return None if article.left_out else plain(" ".join(article.lines[3:]))


@contextmanager
def reader(templates: str = "2015", *, api: str = "") -> Iterator[Reader]:
    """A reader of the wiki of an address, or of one that is started here with the real templates."""
    digest = hashlib.sha256(SETS[templates][0][-1].read_bytes()).hexdigest()[:16]
    home = cache() / f"differential-{digest}"
    wiki: Wiki | None = None if api else start(home, dumps=[*SETS[templates][0]])
    try:
        with ask(api or (wiki.api if wiki else ""), really=True) as wikipedia:
            yield Reader(wikipedia, templates)
    finally:
        if wiki:
            wiki.stop()
