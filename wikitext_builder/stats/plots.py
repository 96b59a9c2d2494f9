"""Plots the words of datasets: Zipf's curve, and how often a word is among the last L words."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Final

from wikitext_builder.charts import expect_picture, line_chart
from wikitext_builder.dataset.counts import count
from wikitext_builder.dataset.load import load_named
from wikitext_builder.dataset.manifest import read_tokens
from wikitext_builder.dataset.vocabulary import EOS, UNK
from wikitext_builder.errors import BuilderError

ZIPF_POINTS: Final = 400  # ranks of a curve, evenly spaced in the logarithm


def window_coverage(
    tokens: Iterable[str], longest: int = 500, *, without: Collection[str] = ()
) -> list[float]:
    """Return the share of positions whose word is among the last L words, for each L from 1 to `longest`.

    The paper chose the pointer's window by this share (section 2.2): how frequently the word at position t
    appears within the last L words. The text, including `<eos>`, is read once; memory grows with the number
    of types. Positions of words in `without` do not count, but still take places in the window.

    >>> window_coverage("a b a b b".split(), longest=2)
    [0.2, 0.6]
    """
    last_position: dict[str, int] = {}
    at_distance = [0] * (longest + 1)
    positions = 0
    for position, token in enumerate(tokens):
        if token not in without:
            positions += 1
            previous = last_position.get(token)
            if previous is not None and position - previous <= longest:
                at_distance[position - previous] += 1
        last_position[token] = position
    return [covered / positions if positions else 0.0 for covered in accumulate(at_distance[1:])]


def plot_zipf(*directories: str | Path, out: str | Path, names: Sequence[str] = ()) -> Path:
    """Draw word frequency against rank in train, both logarithmic, a curve per dataset; return its path.

    Args:
        directories: Datasets built here, or folders in the layout of WikiText or the Penn Treebank.
        out: The file to write, ending in .png, .svg or .pdf.
        names: Names for the datasets, in order; default: see `load_named`.

    Raises:
        BuilderError: A dataset does not exist, has no train file or no words, or `out` has another ending.
    """
    expect_picture(out := Path(out), BuilderError)
    curves = {}
    for name, dataset in load_named(directories, names).items():
        frequencies = rank_frequencies(name, count(dataset.file("train"))[1])
        curves[name] = [(rank, frequencies[rank - 1]) for rank in spaced_ranks(len(frequencies))]
    title, x_label, y_label = "Occurrences by rank", "rank of the word", "occurrences"
    return line_chart(title, curves, x_label=x_label, y_label=y_label, log_x=True, log_y=True).save(out)


def plot_window(
    *directories: str | Path,
    out: str | Path,
    split: str = "train",
    longest: int = 500,
    names: Sequence[str] = (),
) -> Path:
    """Draw how often a word occurs among the last L words; return its path.

    The paper used this plot to choose its window of 100 words. A second, dashed curve of each dataset leaves
    out `<unk>` and `<eos>`.

    Args:
        directories: Datasets built here, or folders in the layout of WikiText or the Penn Treebank.
        out: The file to write, ending in .png, .svg or .pdf.
        split: train, valid or test.
        longest: The largest L, in words.
        names: Names for the datasets, in order; default: see `load_named`.

    Raises:
        BuilderError: A dataset or split does not exist, `longest` is 0, or `out` has another ending.
    """
    expect_picture(out := Path(out), BuilderError)
    if longest < 1:
        raise BuilderError(f"--longest: {longest}; expected 1 or more")
    curves = {}
    for name, dataset in load_named(directories, names).items():
        path = dataset.file(split)
        _expect_words(name, any(True for _ in read_tokens(path)))
        for label, without in ((name, ()), (f"{name}, without <unk>, <eos>", (UNK, EOS))):
            shares = window_coverage(read_tokens(path), longest, without=without)
            curves[label] = list(enumerate(shares, start=1))
    title, x_label = "Words among the last L words", "L, words back"
    return line_chart(
        title, curves, x_label=x_label, y_label="share of words among the last L", curves_per_color=2
    ).save(out)


def _expect_words(name: str, has_words: bool) -> None:
    """Refuse a corpus without words."""
    if not has_words:
        raise BuilderError(f"{name}: no words to plot; give a file that is not empty")


def rank_frequencies(name: str, counts: Mapping[str, int]) -> list[int]:
    """Return the counts of a corpus in falling order."""
    _expect_words(name, bool(counts))
    return sorted(counts.values(), reverse=True)


def spaced_ranks(last: int) -> list[int]:
    """Return distinct ranks from 1 to `last`, evenly spaced in the logarithm."""
    steps = ZIPF_POINTS - 1
    return sorted({round(last ** (step / steps)) for step in range(ZIPF_POINTS)})
