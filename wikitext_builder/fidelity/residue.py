"""Residue: markup and holes left in lines, counted by pattern, with the articles where they stand."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from wikitext_builder.article import Article
from wikitext_builder.extraction.tags import BLOCKS, INLINE

# What dropped templates and forgotten markup leave in lines, before tokenization.
RESIDUE = {
    "( )": re.compile(r"\( ?\)"),
    "( ,": re.compile(r"\( ?,"),
    "( ;": re.compile(r"\( ?;"),
    ", ,": re.compile(r", ?,"),
    ", .": re.compile(r", ?\.(?![\w.]| \.)"),  # neither a decimal nor the dots of an ellipsis
    "|": re.compile(r"\|"),
    "''": re.compile(r"''"),
    "[[": re.compile(r"\[\[|\]\]"),
    "{{": re.compile(r"\{\{|\}\}"),
    "thumb": re.compile(r"\bthumb\b(?=\||$)|\|thumb"),
    "px": re.compile(r"\b\d+px\b"),
    "entity": re.compile(r"&(?:#\d+|#x[\da-fA-F]+|[A-Za-z]\w{1,30});"),
    "tag": re.compile(
        rf"</?(?:{'|'.join(sorted(BLOCKS | INLINE | {'br'}))})(?: [^<>]{{0,200}})?/?>", re.IGNORECASE
    ),
    "list marker": re.compile(r"^[*#:;]"),
    "File:": re.compile(r"\b(?:File|Image):(?=\S)"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Residue:
    """What one pattern finds in many articles."""

    pattern: str
    count: int
    per_million: float  # tokens
    titles: tuple[str, ...]  # of the articles where it stands, in the order in which they came
    lines: tuple[str, ...]  # some of them


@dataclass(slots=True)
class ResidueCount:
    """Counts over articles that come one by one.

    >>> lines = ("It ( ) is ''b.",)
    >>> article = Article(title="A", page_id=1, revision_id=1, timestamp="", lines=lines)
    >>> count = ResidueCount()
    >>> count.add(article, article)
    >>> [(one.pattern, one.count) for one in count.result() if one.count]
    [('( )', 1), ("''", 1)]
    """

    examples: int = 5  # lines kept of each pattern
    tokens: int = 0
    _counts: Counter[str] = field(default_factory=Counter)
    _titles: dict[str, dict[str, None]] = field(default_factory=dict)
    _lines: dict[str, list[str]] = field(default_factory=dict)

    def add(self, plain: Article, tokenized: Article) -> None:
        """Count in one article, given before and after tokenization."""
        for line, tokens in zip(plain.lines, tokenized.lines, strict=True):
            self.tokens += tokens.count(" ") + 1 if tokens else 0
            for name, found in residue_of(line):
                self._counts[name] += found
                self._titles.setdefault(name, {})[plain.title] = None
                lines = self._lines.setdefault(name, [])
                lines += [line] if len(lines) < self.examples else []

    def result(self) -> tuple[Residue, ...]:
        """Every pattern with what it found, zeros included."""
        return tuple(
            Residue(
                pattern=name,
                count=self._counts[name],
                per_million=self._counts[name] / self.tokens * 1e6 if self.tokens else 0.0,
                titles=tuple(self._titles.get(name, ())),
                lines=tuple(self._lines.get(name, ())),
            )
            for name in RESIDUE
        )


def residue_of(line: str) -> Iterator[tuple[str, int]]:
    """The patterns that a line of text holds, and how often.

    >>> list(residue_of("It ( ) is ''b, ."))
    [('( )', 1), (', .', 1), ("''", 1)]
    """
    for name, pattern in RESIDUE.items():
        if found := len(pattern.findall(line)):
            yield name, found
