"""Statistics of a dataset as in Table 1 of the paper.

Tokens are counted with one `<eos>` a line, blank lines included, and the rate of out-of-vocabulary words
is the share of `<unk>` among these tokens: that denominator gives the paper's 2.6 % for WikiText-2 (54,625
of 2,088,628) and 4.8 % for the Penn Treebank (45,020 of 929,589); the words alone would give 2.7 % and 5.1
%.

The paper's three counts of the Penn Treebank are one higher than the files': words, plus lines, plus one.
That is what comes of splitting a file at its newlines and giving each piece its `<eos>`, the empty piece
after the last newline too; the files alone cannot tell whether it was that or an `<eos>` before the first
word. The paper's counts of WikiText are the files' own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from wikitext_builder.article import heading_level
from wikitext_builder.dataset.files import read_manifest
from wikitext_builder.dataset.split import SPLITS
from wikitext_builder.dataset.vocabulary import EOS, UNK, read_token_lines
from wikitext_builder.errors import BuilderError

if TYPE_CHECKING:
    import pandas as pd

INTEGERS: Final = ("articles", "lines", "tokens", "types", "vocabulary", "unknown")
PUBLISHED_INTEGERS: Final = ("paper_articles", "paper_tokens", "paper_vocabulary")
COLUMNS: Final = {  # types of the table's columns, which allow for what is missing
    **dict.fromkeys((*INTEGERS, *PUBLISHED_INTEGERS), "Int64"),
    **dict.fromkeys(("oov_rate", "paper_oov_rate"), "Float64"),
}
LAYOUTS: Final = ("wiki.{}.tokens", "ptb.{}.txt", "{}.txt")  # names of a split's file, the first that fits
ALL: Final = "all"
# Of folders that hold the official files; a dataset built here has a manifest.
OFFICIAL_NAMES: Final = {"wikitext-2": "WikiText-2", "wikitext-103": "WikiText-103", "ptb": "Penn Treebank"}

ONE_MORE_EOS: Final = "the paper has one <eos> more than the file has lines, as if it ended in an empty line"


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedStatistics:
    """What Table 1 of the paper says of a dataset; None where it has a dash."""

    articles: Mapping[str, int | None]
    tokens: Mapping[str, int]
    vocabulary: int
    oov_rate: float  # of train, to the digit that is printed
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
    """What was counted in one file of tokens, or in several."""

    articles: int
    lines: int
    counts: Counter[str]  # of the types, <eos> included

    @property
    def tokens(self) -> int:
        """Words and one `<eos>` a line."""
        return self.counts.total()

    @property
    def oov_rate(self) -> float | None:
        """The share of `<unk>` among the tokens; None of an empty file."""
        return self.counts[UNK] / self.tokens if self.tokens else None

    def __add__(self, other: SplitStatistics) -> SplitStatistics:
        return SplitStatistics(
            articles=self.articles + other.articles,
            lines=self.lines + other.lines,
            counts=self.counts + other.counts,
        )


def find_splits(directory: Path) -> dict[str, Path]:
    """The files of train, valid and test that a directory has, by split.

    Their names are `wiki.train.tokens`, `ptb.train.txt` or `train.txt`: the first of these layouts of which
    there is a file. A split whose file is missing is left out.

    Raises:
        BuilderError: there is no such file.
    """
    for layout in LAYOUTS:
        paths = {split: directory / layout.format(split) for split in SPLITS}
        found = {split: path for split, path in paths.items() if path.is_file()}
        if found:
            return found
    wanted = ", ".join(layout.format("train") for layout in LAYOUTS)
    raise BuilderError(
        f"{directory}: no file of tokens; expected one of {wanted} (or valid, test in place of train):"
        " give the directory that holds them"
    )


def find_split(directory: Path, split: str) -> Path:
    """The file of one split.

    Raises:
        BuilderError: there is none.
    """
    splits = find_splits(directory)
    if split not in splits:
        raise BuilderError(f"{directory}: no file of {split}, only of {', '.join(splits)}")
    return splits[split]


def corpus_name(directory: Path) -> str:
    """What to call the dataset of a directory: the official ones as the paper does, others as their recipe.

    >>> corpus_name(Path("data/wikitext-2")), corpus_name(Path("my/wikitext-de"))
    ('WikiText-2', 'wikitext-de')
    """
    manifest = read_manifest(directory)
    if manifest is not None:
        return manifest.recipe.name
    return OFFICIAL_NAMES.get(directory.resolve().name, directory.resolve().name)


def count(path: Path) -> SplitStatistics:
    """The statistics of a file of tokens, read as a stream.

    An article is a title with a blank line on both sides: the official files hold paragraphs that look like a
    title but for these.

    Raises:
        BuilderError: the file cannot be read.
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


def corpus_statistics(name: str, splits: Mapping[str, Path]) -> pd.DataFrame:
    """Table 1 of the paper for a dataset: one row a split, and one of all of them.

    `vocabulary` is the number of types of train, `<unk>` and `<eos>` included, and is missing without train;
    `types` is that of the split itself. `articles` is missing where there are none. For the names in
    `PUBLISHED` the columns `paper_*` hold the paper's figures, and `note` why one is unlike ours.

    Args:
        name: of the dataset, such as WikiText-2.
        splits: the files of tokens, as `find_splits` gives them.

    Raises:
        BuilderError: a file cannot be read.
    """
    import pandas as pd

    counted = {split: count(path) for split, path in splits.items()}
    vocabulary = len(counted["train"].counts) if "train" in counted else None
    rows = [row(name, split, statistics, vocabulary) for split, statistics in counted.items()]
    nothing = SplitStatistics(articles=0, lines=0, counts=Counter())
    rows.append(row(name, ALL, sum(counted.values(), nothing), vocabulary))
    return pd.DataFrame(rows).astype(COLUMNS)


def row(
    name: str, split: str, statistics: SplitStatistics, vocabulary: int | None
) -> dict[str, str | int | float | None]:
    """A row of `corpus_statistics`."""
    published = PUBLISHED.get(name)
    tokens = published.tokens.get(split) if published else None
    return {
        "corpus": name,
        "split": split,
        "articles": statistics.articles or None,
        "lines": statistics.lines,
        "tokens": statistics.tokens,
        "types": len(statistics.counts),
        "vocabulary": vocabulary,
        "unknown": statistics.counts[UNK],
        "oov_rate": statistics.oov_rate,
        "paper_articles": published.articles.get(split) if published else None,
        "paper_tokens": tokens,
        "paper_vocabulary": published.vocabulary if published else None,
        "paper_oov_rate": published.oov_rate if published and split == "train" else None,
        "note": published.note if published and tokens == statistics.tokens + 1 else "",
    }


def to_records(statistics: pd.DataFrame) -> list[dict[str, str | int | float | None]]:
    """The rows as dicts that `json.dumps` takes, with None for what is missing."""
    whole = statistics.astype(object)
    return [
        {str(key): value for key, value in record.items()}
        for record in whole.where(whole.notna(), None).to_dict("records")
    ]


def render_table(statistics: pd.DataFrame) -> str:
    """The statistics of one dataset or of several as plain text: Table 1, the paper's figures below ours.

    Several datasets are one frame: `pandas.concat([corpus_statistics(...), corpus_statistics(...)])`.
    """
    blocks = [render_corpus(str(name), rows) for name, rows in statistics.groupby("corpus", sort=False)]
    notes = statistics[statistics["note"] != ""].groupby(["corpus", "note"], sort=False)
    return "\n\n".join([*blocks, *(f"{corpus}: {note}." for (corpus, note), _ in notes)]) + "\n"


def render_corpus(name: str, statistics: pd.DataFrame) -> str:
    """The table of one dataset, without its notes."""
    rows = [(name, *(split.capitalize() for split in statistics["split"]))]
    for label, column in (("Articles", "articles"), ("Tokens", "tokens"), ("Vocab size", "vocabulary")):
        for head, values in ((label, statistics[column]), ("  paper", statistics[f"paper_{column}"])):
            cells = [figure(value, "{:,}") for value in values]
            one_for_all = column == "vocabulary"
            rows.append((head, cells[0], *([""] * len(cells[1:]) if one_for_all else cells[1:])))
    rows.append(("OoV rate", *(figure(value, "{:.2%}") for value in statistics["oov_rate"])))
    rows.append(("  paper", *(figure(value, "{:.1%}") for value in statistics["paper_oov_rate"])))
    rows = [row for row in rows if row[0] != "  paper" or {*row[1:]} - {"-", ""}]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    padded = ([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])] for row in rows)
    lines = ["  ".join(row).rstrip() for row in padded]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def figure(value: object, form: str) -> str:
    """A number as the table prints it; a dash for what is missing."""
    import pandas as pd

    return "-" if value is pd.NA or value is None else form.format(value)
