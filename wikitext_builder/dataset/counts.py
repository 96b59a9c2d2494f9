"""How much is in each split: the counts, and the figures that `stats` and a dataset's card print of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from wikitext_builder.article import heading_level
from wikitext_builder.dataset.vocabulary import EOS, UNK, read_token_lines


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitCounts:
    """How much is in a split."""

    articles: int
    lines: int  # blank ones included; each has one <eos>
    tokens: int  # with <eos>
    unknown: int  # tokens that are <unk>
    types: int  # of the text, <eos> included; in a manifest, of the raw text without <eos>

    @property
    def oov_rate(self) -> float | None:
        """The share of `<unk>` among the tokens; None for an empty text."""
        return self.unknown / self.tokens if self.tokens else None

    def __add__(self, other: SplitCounts) -> SplitCounts:
        return SplitCounts(**{name: value + getattr(other, name) for name, value in asdict(self).items()})


NOTHING: Final = SplitCounts(articles=0, lines=0, tokens=0, unknown=0, types=0)


def count(path: Path) -> tuple[SplitCounts, Counter[str]]:
    """How much is in a file of tokens, and how often it has each type, `<eos>` included.

    An article begins with a title that has a blank line on both sides: in the official files some paragraphs
    look like a title, but have none.
    """
    counts: Counter[str] = Counter()
    articles = lines = 0
    before_last: list[str] = ["no line yet"]
    last = before_last
    for line in read_token_lines(path):
        counts.update(line)
        lines += 1
        if not line and not before_last and heading_level(" ".join(last)) == 1:
            articles += 1
        before_last, last = last, line
    if lines:
        counts[EOS] += lines
    tokens, unknown = counts.total(), counts[UNK]
    totals = SplitCounts(articles=articles, lines=lines, tokens=tokens, unknown=unknown, types=len(counts))
    return totals, counts


@dataclass(frozen=True, slots=True)
class Statistic:
    """A column of the table; with a label it is a row of the printed table too."""

    of: Callable[[SplitCounts], float | None]
    label: str = ""
    card: str = ""  # its label in a card
    form: str = "{:,}"  # how it is printed
    paper_form: str = "{:,}"  # how the paper's figure is printed
    dtype: str = "Int64"  # of pandas; these allow missing values
    is_of_train: bool = False  # the same for all splits: it is printed once

    def cells(self, values: Iterable[float | None], form: str = "") -> list[str]:
        """Its values as a row of a table, a dash for a missing one."""
        cells = ["-" if value is None else (form or self.form).format(value) for value in values]
        return [*cells[:1], *[""] * len(cells[1:])] if self.is_of_train else cells


# A statistic is one entry: the table, what `stats` and a card print, its JSON and its CSV follow.
STATISTICS: Final[dict[str, Statistic]] = {
    "articles": Statistic(lambda text: text.articles or None, "Articles", "Articles"),
    "lines": Statistic(lambda text: text.lines, card="Lines"),
    "tokens": Statistic(lambda text: text.tokens, "Tokens", "Tokens, with one `<eos>` per line"),
    "types": Statistic(lambda text: text.types, card="Types before rare words became `<unk>`"),
    "vocabulary": Statistic(
        lambda _: None, "Vocab size", "Vocabulary, `<unk>` and `<eos>` included", is_of_train=True
    ),
    "unknown": Statistic(lambda text: text.unknown),
    "oov_rate": Statistic(
        lambda text: text.oov_rate, "OoV rate", "`<unk>` among the tokens", "{:.2%}", "{:.1%}", "Float64"
    ),
}


def figures(text: SplitCounts, vocabulary: int | None) -> dict[str, float | None]:
    """Each statistic of a text; the vocabulary is that of its dataset, None without train."""
    return {key: one.of(text) for key, one in STATISTICS.items()} | {"vocabulary": vocabulary}
