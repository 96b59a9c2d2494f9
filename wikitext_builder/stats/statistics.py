"""Statistics of a dataset, as in Table 1 of the paper.

Tokens are counted with one `<eos>` per line, blank lines included. The rate of out-of-vocabulary words is the
share of `<unk>` among these tokens: this denominator gives the paper's 2.6 % for WikiText-2 (54,625 of
2,088,628) and 4.8 % for the Penn Treebank (45,020 of 929,589); the words alone would give 2.7 % and 5.1 %.

The paper's three counts of the Penn Treebank are one higher than those of the files: words, plus lines, plus
one. You get the paper's counts if you split a file at its newlines and add `<eos>` to each piece, also to the
empty piece after the last newline. An `<eos>` before the first word would give the same; the files do not
show which it was. The paper's counts of WikiText are those of the files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from wikitext_builder.article import SPLITS, heading_level
from wikitext_builder.dataset.load import load_named
from wikitext_builder.dataset.vocabulary import EOS, UNK, read_token_lines

if TYPE_CHECKING:
    import pandas as pd

INTEGERS: Final = ("articles", "lines", "tokens", "types", "vocabulary", "unknown")
PUBLISHED_INTEGERS: Final = ("paper_articles", "paper_tokens", "paper_vocabulary")
COLUMNS: Final = {  # types of the table's columns; these allow missing values
    **dict.fromkeys((*INTEGERS, *PUBLISHED_INTEGERS), "Int64"),
    **dict.fromkeys(("oov_rate", "paper_oov_rate"), "Float64"),
}
ALL: Final = "all"

ONE_MORE_EOS: Final = "the paper has one <eos> more than the file has lines, as if it ended in an empty line"


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedStatistics:
    """What Table 1 of the paper says of a dataset; None where the table has a dash."""

    articles: Mapping[str, int | None]
    tokens: Mapping[str, int]
    vocabulary: int
    oov_rate: float  # of train, rounded as the paper prints it
    note: str = ""


PUBLISHED: Final[dict[str, PublishedStatistics]] = {  # Merity et al. 2016, Table 1
    "Penn Treebank": PublishedStatistics(
        articles=dict.fromkeys(SPLITS),
        tokens={"train": 929_590, "valid": 73_761, "test": 82_431},
        vocabulary=10_000,
        oov_rate=0.048,
        note=ONE_MORE_EOS,
    ),
    "WikiText-2": PublishedStatistics(
        articles={"train": 600, "valid": 60, "test": 60},
        tokens={"train": 2_088_628, "valid": 217_646, "test": 245_569},
        vocabulary=33_278,
        oov_rate=0.026,
    ),
    "WikiText-103": PublishedStatistics(
        articles={"train": 28_475, "valid": 60, "test": 60},
        tokens={"train": 103_227_021, "valid": 217_646, "test": 245_569},
        vocabulary=267_735,
        oov_rate=0.004,
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitStatistics:
    """Counts of one file of tokens, or of several."""

    articles: int
    lines: int
    counts: Counter[str]  # of the types, <eos> included

    @property
    def tokens(self) -> int:
        """How many: words, and one `<eos>` per line."""
        return self.counts.total()

    @property
    def oov_rate(self) -> float | None:
        """The share of `<unk>` among the tokens; None for an empty file."""
        return self.counts[UNK] / self.tokens if self.tokens else None

    def __add__(self, other: SplitStatistics) -> SplitStatistics:
        return SplitStatistics(
            articles=self.articles + other.articles,
            lines=self.lines + other.lines,
            counts=self.counts + other.counts,
        )


def count(path: Path) -> SplitStatistics:
    """The statistics of a file of tokens, which is read as a stream.

    An article begins with a title that has a blank line on both sides: in the official files some paragraphs
    look like a title, but have none.

    Raises:
        BuilderError: The file cannot be read.
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
    return SplitStatistics(articles=articles, lines=lines, counts=counts)


def statistics(*directories: str | Path, names: Sequence[str] = ()) -> pd.DataFrame:
    """Table 1 of the paper for datasets: per dataset, a row for each split and one for all of them.

    `vocabulary` is the number of types of train, `<unk>` and `<eos>` included, and is missing without train;
    `types` is that of the split itself. `articles` is missing if there are none. For datasets of the
    paper the columns `paper_*` hold its figures, and `note` says why one differs from ours.

    Args:
        directories: Datasets built here, or folders in the layout of WikiText or of the Penn Treebank.
        names: What the table calls them, one per dataset; without names see `load_named`.

    Raises:
        BuilderError: There is no dataset, a file cannot be read, or two datasets have one name.
    """
    import pandas as pd

    datasets = load_named(directories, names)
    tables = [corpus_statistics(name, one.files, title=one.title) for name, one in datasets.items()]
    return pd.concat(tables, ignore_index=True)


def corpus_statistics(name: str, splits: Mapping[str, Path], *, title: str | None = None) -> pd.DataFrame:
    """The rows of `statistics` for one dataset.

    Args:
        name: What the table calls the dataset.
        splits: The file of tokens of each split.
        title: Its own title, such as WikiText-2, which finds published figures; None: `name`.

    Raises:
        BuilderError: A file cannot be read.
    """
    import pandas as pd

    counted = {split: count(path) for split, path in splits.items()}
    vocabulary = len(counted["train"].counts) if "train" in counted else None
    nothing = SplitStatistics(articles=0, lines=0, counts=Counter())
    counted[ALL] = sum(counted.values(), nothing)
    published = PUBLISHED.get(title or name)
    rows = [{"corpus": name, **_row(split, found, vocabulary, published)} for split, found in counted.items()]
    return pd.DataFrame(rows).astype(COLUMNS)


def _row(
    split: str, found: SplitStatistics, vocabulary: int | None, published: PublishedStatistics | None
) -> dict[str, str | int | float | None]:
    tokens = published.tokens.get(split) if published else None
    return {
        "split": split,
        "articles": found.articles or None,
        "lines": found.lines,
        "tokens": found.tokens,
        "types": len(found.counts),
        "vocabulary": vocabulary,
        "unknown": found.counts[UNK],
        "oov_rate": found.oov_rate,
        "paper_articles": published.articles.get(split) if published else None,
        "paper_tokens": tokens,
        "paper_vocabulary": published.vocabulary if published else None,
        "paper_oov_rate": published.oov_rate if published and split == "train" else None,
        "note": published.note if published and tokens == found.tokens + 1 else "",
    }


def to_records(table: pd.DataFrame) -> list[dict[str, str | int | float | None]]:
    """The rows of `statistics` as dicts for JSON, with None for what is missing."""
    whole = table.astype(object)
    return [
        {str(key): value for key, value in record.items()}
        for record in whole.where(whole.notna(), None).to_dict("records")
    ]


def as_text(table: pd.DataFrame) -> str:
    """`statistics` as plain text: Table 1 for each dataset, the paper's figures below ours."""
    blocks = [_corpus_as_text(str(name), rows) for name, rows in table.groupby("corpus", sort=False)]
    notes = table[table["note"] != ""].groupby(["corpus", "note"], sort=False)
    return "\n\n".join([*blocks, *(f"{corpus}: {note}." for (corpus, note), _ in notes)]) + "\n"


def _corpus_as_text(name: str, table: pd.DataFrame) -> str:
    """The table of one dataset, without its notes."""
    rows = [(name, *(split.capitalize() for split in table["split"]))]
    for label, column in (("Articles", "articles"), ("Tokens", "tokens"), ("Vocab size", "vocabulary")):
        for head, values in ((label, table[column]), ("  paper", table[f"paper_{column}"])):
            cells = [_figure(value, "{:,}") for value in values]
            one_for_all = column == "vocabulary"
            rows.append((head, cells[0], *([""] * len(cells[1:]) if one_for_all else cells[1:])))
    rows.append(("OoV rate", *(_figure(value, "{:.2%}") for value in table["oov_rate"])))
    rows.append(("  paper", *(_figure(value, "{:.1%}") for value in table["paper_oov_rate"])))
    rows = [row for row in rows if row[0] != "  paper" or {*row[1:]} - {"-", ""}]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    padded = ([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])] for row in rows)
    lines = ["  ".join(row).rstrip() for row in padded]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def _figure(value: object, form: str) -> str:
    """A number as the table prints it; a dash for a missing one."""
    import pandas as pd

    return "-" if value is pd.NA or value is None else form.format(value)
