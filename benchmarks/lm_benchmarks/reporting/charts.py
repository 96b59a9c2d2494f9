"""The pictures of perplexity by position, and of how two models' distributions differ.

matplotlib is imported where it is used, because its import is slow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lm_benchmarks.errors import HarnessError
from wikitext_builder.charts import legend_name
from wikitext_builder.pictures import COLORS, expect_picture, write_picture
from wikitext_builder.tables import csv_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lm_benchmarks.measuring.distributions import DistributionDifference
    from lm_benchmarks.measuring.windows import Positions


def positions_csv(found: Sequence[Positions]) -> str:
    """The numbers, one row per group of positions."""
    return csv_text([{**asdict(one), "perplexity": one.perplexity} for one in found])


def draw_positions(found: Sequence[Positions], out: str | Path) -> Path:
    """Draw perplexity over the position in the context, a curve per length of windows.

    It is what `by_position` returned; the file ends in .pdf, .svg or .png, and its path is returned.

    Raises:
        HarnessError: The suffix is another, or there is nothing to draw.
    """
    expect_picture(path := Path(out), HarnessError)
    if not found:
        raise HarnessError(f"{path}: nothing to draw; measure at least one length of windows")
    return write_picture(path, lambda: _positions(found))


def _positions(found: Sequence[Positions]) -> Figure:
    from matplotlib.figure import Figure
    from matplotlib.ticker import StrMethodFormatter

    drawing = Figure(figsize=(6.4, 3.8), layout="constrained")
    axes = drawing.subplots()
    for number, length in enumerate(sorted({one.window for one in found})):
        own = [one for one in found if one.window == length]
        axes.plot(
            [(one.first * one.last) ** 0.5 for one in own],
            [one.perplexity for one in own],
            marker="os^Dvx"[number % 6],
            markersize=4,
            linewidth=2,
            color=COLORS[number % len(COLORS)],
            label=f"windows of {length:,} pieces",
        )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axes.yaxis.set_minor_formatter(StrMethodFormatter("{x:,g}"))
    axes.grid(visible=True, which="minor", axis="y")
    axes.set(xlabel="position in the context: pieces before the predicted one", ylabel="perplexity of pieces")
    axes.set_title(found[0].model, loc="left", fontweight="bold")
    axes.legend(frameon=False)
    return drawing


GREY: Final = "#333333"
PANELS: Final = {
    "frequency": "count of the word in train",
    "position": "position in the article: earlier {unit}",
}


def draw_distributions(found: DistributionDifference, path: str | Path) -> Path:
    """Draw the mean divergence of two models, with intervals: a panel by frequency, and one by position.

    It is what `compare_distributions` returned. The file ends in .pdf, .svg or .png; its path is returned.

    Raises:
        HarnessError: The suffix is another, or there are no such groups.
    """
    expect_picture(path := Path(path), HarnessError)
    if not {group.by for group in found.groups} & PANELS.keys():
        raise HarnessError(f"{path}: nothing to draw; the text has no groups by frequency or position")
    return write_picture(path, lambda: _divergences(found), **{"text.parse_math": False})


def _divergences(found: DistributionDifference) -> Figure:
    from matplotlib.figure import Figure

    groups = {by: [one for one in found.groups if one.by == by] for by in PANELS}
    shown = {by: own for by, own in groups.items() if own}
    drawing = Figure(figsize=(4.2 * len(shown), 3.8), layout="constrained")
    panels = drawing.subplots(1, len(shown), sharey=True, squeeze=False)[0]
    names = legend_name(found.first_model), legend_name(found.second_model)
    drawing.suptitle(f"{names[0]} ‖ {names[1]}", x=0.01, ha="left", fontweight="bold")
    for number, (axes, (by, own)) in enumerate(zip(panels, shown.items(), strict=True)):
        axes.bar(range(len(own)), [one.divergence.value for one in own], color=COLORS[number])
        for place, one in enumerate(own):
            if one.divergence.interval is not None:
                half = one.divergence.interval[1] - one.divergence.value
                axes.errorbar(place, one.divergence.value, half, fmt="none", ecolor=GREY, capsize=3)
        axes.axhline(found.whole.divergence.value, color=GREY, linewidth=0.8, linestyle="--")
        axes.set_xticks(range(len(own)), [one.label for one in own], rotation=35, ha="right")
        axes.set_xlabel(PANELS[by].format(unit=found.unit))
        axes.grid(visible=False, axis="x")
    bars = f"bars: {100 * found.level:.4g}% interval"
    panels[0].set_ylabel(f"mean KL divergence, nats\n(dashed: whole text; {bars})")
    panels[0].set_ylim(bottom=0)
    return drawing
