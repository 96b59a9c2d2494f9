"""Residue: markup and holes left in lines, counted by pattern, with the articles that have them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from wikitext_builder.article import Article
from wikitext_builder.extraction.tags import BLOCKS, INLINE

# What removed templates and unread markup leave in lines, before tokenization.
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


EXAMPLES = 5  # lines kept per pattern


@dataclass(frozen=True, slots=True, kw_only=True)
class Residue:
    """The matches of one pattern in many articles."""

    pattern: str
    count: int
    per_million: float  # tokens
    titles: tuple[str, ...]  # of the articles that have it, in the order of the input
    lines: tuple[str, ...]  # examples


@dataclass(slots=True)
class ResidueCount:
    """Counts residue over articles, one at a time.

    >>> lines = ("It ( ) is ''b.",)
    >>> article = Article(title="A", page_id=1, revision_id=1, timestamp="", lines=lines)
    >>> count = ResidueCount()
    >>> count.add(article, article)
    >>> [(one.pattern, one.count) for one in count.result() if one.count]
    [('( )', 1), ("''", 1)]
    """

    tokens: int = 0
    _counts: Counter[str] = field(default_factory=Counter)
    _titles: dict[str, dict[str, None]] = field(default_factory=dict)
    _lines: dict[str, list[str]] = field(default_factory=dict)

    def add(self, plain: Article, tokenized: Article) -> None:
        """Count in one article, given before and after tokenization."""
        for line, tokens in zip(plain.lines, tokenized.lines, strict=True):
            self.tokens += tokens.count(" ") + 1 if tokens else 0
            for name, found in count_residue(line):
                self._counts[name] += found
                self._titles.setdefault(name, {})[plain.title] = None
                lines = self._lines.setdefault(name, [])
                lines += [line] if len(lines) < EXAMPLES else []

    def result(self) -> tuple[Residue, ...]:
        """Every pattern with its matches, zeros included."""
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


def count_residue(line: str) -> Iterator[tuple[str, int]]:
    """The patterns that match in a line of text, and how often.

    >>> list(count_residue("It ( ) is ''b, ."))
    [('( )', 1), (', .', 1), ("''", 1)]
    """
    for name, pattern in RESIDUE.items():
        if found := len(pattern.findall(line)):
            yield name, found
