"""Plots of a dataset's words: Zipf's curve, and how often a word is among the last L words.

matplotlib is imported where it is used, because its import is slow.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Final

from wikitext_builder.charts import COLORS, expect_picture, write_picture
from wikitext_builder.dataset.counts import count
from wikitext_builder.dataset.load import load_named
from wikitext_builder.dataset.manifest import read_tokens
from wikitext_builder.dataset.vocabulary import EOS, UNK
from wikitext_builder.errors import BuilderError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAPERS_WINDOW: Final = 100  # L of the pointer sentinel mixture model, section 5.2
ZIPF_POINTS: Final = 400  # of a curve, evenly spaced in the logarithm; each is a rank with its own count


def window_coverage(
    tokens: Iterable[str], longest: int = 500, *, without: Collection[str] = ()
) -> list[float]:
    """The share of positions whose word is among the last L words, for each L from 1 to `longest`.

    The paper chose the pointer's window by it (section 2.2): how frequently the word at position t appears
    within the last L words. It reads the text, `<eos>` included, once; memory grows with the number of types.
    Positions of words in `without` do not count; they still take their places in the window.

    >>> window_coverage("a b a b b".split(), longest=2)
    [0.2, 0.6]
    """
    last: dict[str, int] = {}
    at_distance = [0] * (longest + 1)
    asked = 0
    for position, token in enumerate(tokens):
        if token not in without:
            asked += 1
            seen = last.get(token)
            if seen is not None and position - seen <= longest:
                at_distance[position - seen] += 1
        last[token] = position
    return [found / asked if asked else 0.0 for found in accumulate(at_distance[1:])]


def plot_zipf(*directories: str | Path, out: str | Path, names: Sequence[str] = ()) -> Path:
    """Draw word frequency against rank in train, both logarithmic, a panel per dataset; return its path.

    Args:
        directories: Datasets built here, or folders in the layout of WikiText or the Penn Treebank.
        out: The file to write, ending in .png, .svg or .pdf.
        names: Names for the datasets, in order; default: see `load_named`.

    Raises:
        BuilderError: There is no such dataset, no train file, no word, or the suffix is another.
    """
    expect_picture(out := Path(out), BuilderError)
    curves = {}
    for name, dataset in load_named(directories, names).items():
        curves[name] = rank_frequencies(name, count(dataset.file("train"))[1])
    return write_picture(out, lambda: _zipf(curves))


def plot_window(
    *directories: str | Path,
    out: str | Path,
    split: str = "train",
    longest: int = 500,
    names: Sequence[str] = (),
) -> Path:
    """Draw how often a word occurs among the last L words; return its path.

    The paper used this plot to choose its window.

    Args:
        directories: Datasets built here, or folders in the layout of WikiText or the Penn Treebank.
        out: The file to write, ending in .png, .svg or .pdf.
        split: train, valid or test.
        longest: The largest L, in words.
        names: Names for the datasets, in order; default: see `load_named`.

    Raises:
        BuilderError: There is no such dataset, no such split, `longest` is 0, or the suffix is another.
    """
    expect_picture(out := Path(out), BuilderError)
    if longest < 1:
        raise BuilderError(f"--longest: {longest}; expected 1 or more")
    curves = {}
    for name, dataset in load_named(directories, names).items():
        path = dataset.file(split)
        _expect_words(name, any(True for _ in read_tokens(path)))
        curves[name] = (
            window_coverage(read_tokens(path), longest),
            window_coverage(read_tokens(path), longest, without=(UNK, EOS)),
        )
    return write_picture(out, lambda: _window(curves))


def _expect_words(name: str, there: bool) -> None:
    """Refuse a corpus without words."""
    if not there:
        raise BuilderError(f"{name}: no words to plot; give a file that is not empty")


def rank_frequencies(name: str, counts: Mapping[str, int]) -> list[int]:
    """The counts of a corpus, the largest first."""
    _expect_words(name, bool(counts))
    return sorted(counts.values(), reverse=True)


def spaced_ranks(last: int) -> list[int]:
    """Ranks from 1 to `last`, evenly spaced in the logarithm, without repeats."""
    steps = ZIPF_POINTS - 1
    return sorted({round(last ** (step / steps)) for step in range(ZIPF_POINTS)})


def _zipf(curves: Mapping[str, Sequence[int]]) -> Figure:
    """The plot of `plot_zipf`, from the counts of each corpus, the largest first."""
    drawing, panels = panels_of(curves)
    for axes, color, frequencies in zip(panels, COLORS * len(curves), curves.values(), strict=False):
        ranks = spaced_ranks(len(frequencies))
        axes.loglog(ranks, [frequencies[rank - 1] for rank in ranks], color=color, linewidth=2)
        axes.set_xlabel("rank of the word")
        axes.axvline(len(frequencies), color="#777777", linewidth=0.8, linestyle=":")
        axes.annotate(
            f"{len(frequencies):,} types ",
            (len(frequencies), 0.97),
            xycoords=("data", "axes fraction"),
            horizontalalignment="right",
            verticalalignment="top",
            color="#444444",
        )
    panels[0].set_ylabel("occurrences")
    return drawing


def _window(curves: Mapping[str, tuple[Sequence[float], Sequence[float]]]) -> Figure:
    """The plot of `plot_window`, from the curves of each corpus with and without `<unk>` and `<eos>`."""
    drawing, panels = panels_of(curves)
    for axes, color, pair in zip(panels, COLORS * len(curves), curves.values(), strict=False):
        upper, lower = pair if pair[0][-1] >= pair[1][-1] else pair[::-1]
        for curve, rise in ((upper, 6), (lower, -22)):
            all_tokens = curve is pair[0]
            steps = range(1, len(curve) + 1)
            axes.plot(steps, curve, "-" if all_tokens else "--", color=color, linewidth=2)
            label = "all tokens" if all_tokens else "without <unk>, <eos>"
            _label_end(axes, curve, label, color, rise)
        _set_window_axis(axes, len(upper))
        _mark_window(axes, pair)
    panels[0].set_ylim(0, 1)
    panels[0].yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    panels[0].set_ylabel("words among the last L words")
    return drawing


def _set_window_axis(axes: Axes, longest: int) -> None:
    """L from 1: a label of 0 would touch the last label of the panel before."""
    from matplotlib.ticker import MaxNLocator

    axes.set_xlabel("L, words back")
    axes.set_xlim(0, longest)
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True, prune="lower"))


def _label_end(axes: Axes, curve: Sequence[float], label: str, color: str, rise: int) -> None:
    """Write the name of a curve at its end, some points above or below."""
    axes.annotate(
        label,
        (len(curve), curve[-1]),
        xytext=(-4, rise),
        textcoords="offset points",
        horizontalalignment="right",
        verticalalignment="bottom" if rise > 0 else "top",
        color=color,
    )


def _mark_window(axes: Axes, pair: tuple[Sequence[float], Sequence[float]]) -> None:
    """Mark the paper's L, with the values of the two curves there."""
    if len(pair[0]) < PAPERS_WINDOW:
        return
    every, known = (curve[PAPERS_WINDOW - 1] for curve in pair)
    axes.axvline(PAPERS_WINDOW, color="#777777", linewidth=0.8, linestyle=":")
    text = (
        f" L = {PAPERS_WINDOW}, the paper's:\n {every:.1%} of all tokens\n {known:.1%} without <unk>, <eos>"
    )
    axes.annotate(text, (PAPERS_WINDOW, 0.03), color="#444444")


def panels_of(names: Collection[str]) -> tuple[Figure, Sequence[Axes]]:
    """A figure, and its axes for each name, side by side."""
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(max(4.2 * len(names), 6), 3.8), layout="constrained")
    panels = drawing.subplots(1, len(names), sharex=True, sharey=True, squeeze=False)[0]
    for panel, name in zip(panels, names, strict=True):
        # A dollar sign would begin a formula.
        panel.set_title(name.replace("$", r"\$"), loc="left", fontweight="bold")
    return drawing, panels
