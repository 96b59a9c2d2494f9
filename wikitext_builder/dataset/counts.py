"""Counts articles, lines, tokens and types of splits; defines the statistics that `stats` prints."""

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
    """Counts of a split."""

    articles: int
    lines: int  # including blank lines; each has one <eos>
    tokens: int  # with <eos>
    unknown: int  # <unk> tokens
    types: int  # of the text, with <eos>; in a manifest, of the raw text, without <eos>

    @property
    def oov_rate(self) -> float | None:
        """Share of `<unk>` among the tokens; None for an empty text."""
        return self.unknown / self.tokens if self.tokens else None

    def __add__(self, other: SplitCounts) -> SplitCounts:
        return SplitCounts(**{name: value + getattr(other, name) for name, value in asdict(self).items()})


EMPTY_COUNTS: Final = SplitCounts(articles=0, lines=0, tokens=0, unknown=0, types=0)


def count(path: Path) -> tuple[SplitCounts, Counter[str]]:
    """Count a file of tokens; also return the count of each type, including `<eos>`.

    An article begins with a title between blank lines: in the official files some paragraphs look like a
    title, but have no blank lines around them.
    """
    type_counts: Counter[str] = Counter()
    articles = lines = 0
    line_before_last: list[str] = ["no line yet"]
    last_line = line_before_last
    for line in read_token_lines(path):
        type_counts.update(line)
        lines += 1
        if not line and not line_before_last and heading_level(" ".join(last_line)) == 1:
            articles += 1
        line_before_last, last_line = last_line, line
    if lines:
        type_counts[EOS] += lines
    tokens, unknown, types = type_counts.total(), type_counts[UNK], len(type_counts)
    counts = SplitCounts(articles=articles, lines=lines, tokens=tokens, unknown=unknown, types=types)
    return counts, type_counts


@dataclass(frozen=True, slots=True)
class Statistic:
    """A column of the table of statistics; with a label also a row of the printed table."""

    of: Callable[[SplitCounts], float | None]
    label: str = ""
    card: str = ""  # the label in a card
    form: str = "{:,}"  # format of printed values
    paper_form: str = "{:,}"  # format of the paper's values
    dtype: str = "Int64"  # of pandas; Int64 and Float64 allow missing values
    is_of_train: bool = False  # the same for all splits, and printed once

    def cells(self, values: Iterable[float | None], form: str = "") -> list[str]:
        """Format values as a row of a table; a missing value is a dash."""
        cells = ["-" if value is None else (form or self.form).format(value) for value in values]
        return [*cells[:1], *[""] * len(cells[1:])] if self.is_of_train else cells


# The table, the output of `stats`, its JSON and CSV, and the card follow from these entries.
STATISTICS: Final[dict[str, Statistic]] = {
    "articles": Statistic(lambda counts: counts.articles or None, "Articles", "Articles"),
    "lines": Statistic(lambda counts: counts.lines, card="Lines"),
    "tokens": Statistic(lambda counts: counts.tokens, "Tokens", "Tokens, with one `<eos>` per line"),
    "types": Statistic(lambda counts: counts.types, card="Types before rare words became `<unk>`"),
    "vocabulary": Statistic(
        lambda _: None, "Vocab size", "Vocabulary, `<unk>` and `<eos>` included", is_of_train=True
    ),
    "unknown": Statistic(lambda counts: counts.unknown),
    "oov_rate": Statistic(
        lambda counts: counts.oov_rate, "OoV rate", "`<unk>` among the tokens", "{:.2%}", "{:.1%}", "Float64"
    ),
}


def statistics_of(counts: SplitCounts, vocabulary: int | None) -> dict[str, float | None]:
    """Return each statistic of a split; `vocabulary` is the size of its dataset's, None without train."""
    values = {name: statistic.of(counts) for name, statistic in STATISTICS.items()}
    return values | {"vocabulary": vocabulary}
