"""lost: how many plain words of wikitext do not come out, for pages without any reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from heapq import heappush, heappushpop
from itertools import chain
from typing import Any

from extraction_eval.matching import anchors
from extraction_eval.plain_words import plain_words, words
from wikitext_builder.article import Page
from wikitext_builder.wiki.languages import language_of

LONG = 8  # words in a row that are counted as a run of lost words
KEPT = 100  # pages and runs that are kept to be listed


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class LostOfPage:
    """The lost words of one page."""

    lost: int
    words: int
    title: str


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class LostRun:
    """Plain words in a row that do not come out."""

    size: int
    title: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LostWords:
    """The plain words of many pages, and those that are lost."""

    words: int = 0
    lost: int = 0
    long_runs: int = 0  # runs of 8 words or more
    pages: tuple[LostOfPage, ...] = ()  # those that lose most, at most 100
    runs: tuple[LostRun, ...] = ()  # the longest ones, at most 100

    @property
    def share(self) -> float:
        """The fraction of plain words that are lost."""
        return self.lost / self.words if self.words else 0.0

    def figures(self, count: int) -> dict[str, Any]:
        """The figures as JSON takes them, with this many pages and runs."""
        listed = {name: [asdict(one) for one in getattr(self, name)[:count]] for name in ("pages", "runs")}
        return asdict(self) | {"share": self.share} | listed


@dataclass(slots=True)
class LostCount:
    """Counts lost words over pages, one at a time; it keeps only the worst pages and the longest runs.

    >>> page = Page(title="A", page_id=1, revision_id=1, timestamp="", wikitext="It is very old.")
    >>> count = LostCount()
    >>> count.add(page, ["It is old."], "en")
    >>> found = count.result()
    >>> found.words, found.lost, found.runs[0].text
    (4, 1, 'very')
    """

    words: int = 0
    lost: int = 0
    long_runs: int = 0
    _pages: list[LostOfPage] = field(default_factory=list)
    _runs: list[LostRun] = field(default_factory=list)

    def add(self, page: Page, lines: Sequence[str], language: str) -> None:
        """Count in one page and our lines of it, before tokenization."""
        plain = plain_words(page.wikitext, language_of(language))
        places = lost_places(plain, words("\n".join(lines)))
        self.words += len(plain)
        self.lost += len(places)
        for run in _runs(places):
            text = " ".join(plain[run.start : run.stop])
            self.long_runs += len(run) >= LONG
            _keep(self._runs, LostRun(size=len(run), title=page.title, text=text))
        if places:
            _keep(self._pages, LostOfPage(lost=len(places), words=len(plain), title=page.title))

    def result(self) -> LostWords:
        """What was counted, the worst first."""
        return LostWords(
            words=self.words,
            lost=self.lost,
            long_runs=self.long_runs,
            pages=tuple(sorted(self._pages, key=lambda one: (-one.lost, one.title))),
            runs=tuple(sorted(self._runs, key=lambda one: (-one.size, one.title, one.text))),
        )


def lost_places(plain: Sequence[str], ours: Sequence[str]) -> list[int]:
    """The places of the plain words that ours does not have, in time that is linear but for a logarithm.

    Runs of words that occur once in each align the texts. Between them order does not count: a word is lost
    if ours has fewer of it.

    >>> lost_places("a b c d x e f g h".split(), "a b c d e f g h".split())
    [4]
    """
    found: list[int] = []
    if not Counter(plain) - Counter(ours):  # most pages
        return found
    a = b = 0
    for c, d in chain(anchors(plain, ours), [(len(plain), len(ours))]):
        if plain[a:c] != ours[b:d]:
            left = Counter(ours[b:d])
            for place in range(a, c):
                left[plain[place]] -= 1
                if left[plain[place]] < 0:
                    found.append(place)
        a, b = c, d
    return found


def _runs(places: Sequence[int]) -> Iterator[range]:
    """Neighbouring places as ranges."""
    start = 0
    for index in range(1, len(places) + 1):
        if index == len(places) or places[index] != places[index - 1] + 1:
            yield range(places[start], places[index - 1] + 1)
            start = index


def _keep(kept: list[Any], one: object) -> None:
    (heappush if len(kept) < KEPT else heappushpop)(kept, one)
