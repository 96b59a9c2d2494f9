"""Pictures: perplexity by position, two models' distributions, and a contamination by month.

matplotlib is imported where it is used, because its import is slow.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lm_benchmarks.choices import FEWEST
from lm_benchmarks.errors import HarnessError
from wikitext_builder.charts import legend_name
from wikitext_builder.pages.lock import ATTRIBUTION
from wikitext_builder.pictures import COLORS, expect_picture, write_picture
from wikitext_builder.tables import csv_text, one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lm_benchmarks.measuring.articles import Month
    from lm_benchmarks.measuring.chance import Estimate
    from lm_benchmarks.measuring.contamination import Contamination
    from lm_benchmarks.measuring.distributions import DistributionDifference
    from lm_benchmarks.measuring.windows import Positions


def positions_csv(found: Sequence[Positions]) -> str:
    """Return the numbers as CSV, one row per group of positions."""
    return csv_text([{**asdict(one), "perplexity": one.perplexity} for one in found])


def draw_positions(found: Sequence[Positions], out: str | Path) -> Path:
    """Draw perplexity against the position in the context, a curve per window length; return its path.

    Args:
        found: What `by_position` returned.
        out: The file to write, ending in .pdf, .svg or .png.

    Raises:
        HarnessError: The suffix is another, or there is nothing to draw.
    """
    expect_picture(path := Path(out), HarnessError)
    finite = [one for one in found if math.isfinite(one.perplexity)]
    if not finite:
        raise HarnessError(f"{path}: nothing to draw; expected a length of windows with a finite perplexity")
    return write_picture(path, lambda: _positions(finite))


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
    """Draw the mean divergence of two models by frequency and position, with intervals; return its path.

    Args:
        found: What `compare_distributions` returned.
        path: The file to write, ending in .pdf, .svg or .png.

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


STEPS: Final = (1, 2, 3, 6, 12, 24, 60, 120, 240)  # months between two labels
MOST_STEPS: Final = 7  # on an axis of months
WIDTH: Final = 7.2  # inches
LINE: Final = 92  # characters of the verdict in a line
LONGEST: Final = 70  # characters of the model's name: of a path, the end says more
GAP: Final = "#f0f0f0"
INK: Final = "#555555"
WIDE: Final = 0.12  # of the axis: a gap that has room for a word
LOOK: Final[dict[str, Any]] = {"text.parse_math": False, "svg.fonttype": "none"}
DATED: Final = {
    "created": "month in which the article was created",
    "promoted": "month in which the article was promoted",
    "revision": "month of the article's revision",
}


def draw_months(found: Contamination, path: str | Path) -> Path:
    """Draw bits per byte and number of articles by month, with intervals and any step; return its path.

    Months without articles stay empty: no line crosses them. With a reference, both models are drawn and, in
    a separate panel, their difference.

    Args:
        found: What `contamination` returned.
        path: The file to write, ending in .pdf, .svg or .png.

    Raises:
        HarnessError: The suffix is another, or no month is known.
    """
    expect_picture(path := Path(path), HarnessError)
    if not found.months:
        raise HarnessError(f"no month is known; expected datasets with {ATTRIBUTION}")
    return write_picture(path, lambda: figure_of(found), **LOOK)


def figure_of(found: Contamination) -> Figure:
    """The picture as a figure of matplotlib."""
    from matplotlib.figure import Figure

    heights = [3.0, *([2.4] if found.reference else []), 1.1]
    step = "no step that is larger than chance makes"
    if found.step:
        step = f"a step of {found.step.rise:+.3f} at {found.step.month}"
    head = [*textwrap.wrap(found.verdict, LINE), f"By month: {step}."]
    size = WIDTH, sum(heights) + 0.2 * len(head) + 0.6
    drawing = Figure(figsize=size, layout="constrained")
    panels = drawing.subplots(len(heights), 1, sharex=True, height_ratios=heights)
    name = found.model if len(found.model) <= LONGEST else f"…{found.model[1 - LONGEST :]}"
    drawing.suptitle(one_line(name), x=0.01, ha="left", fontweight="bold")
    panels[0].set_title("\n".join(head), loc="left", fontsize=9)
    _draw_panels(list(panels), found)
    return drawing


def _draw_panels(panels: list[Axes], found: Contamination) -> None:
    from matplotlib.ticker import MaxNLocator

    levels, counts = panels[0], panels[-1]
    places = [place_of(one.month) for one in found.months]
    for panel in panels:
        _show_gaps(panel, places, named=panel is levels)
    look = {"label": legend_name(found.model)} if found.reference else {}
    _curve(levels, found.months, lambda one: one.model, COLORS[0], **look)
    levels.set_ylabel("bits per byte")
    if found.reference:
        name = legend_name(f"{found.reference} (reference)")
        _curve(levels, found.months, lambda one: one.reference, COLORS[1], marker="s", label=name)
        _curve(panels[1], found.months, lambda one: one.difference, COLORS[2])
        panels[1].axhline(0, color=INK, linewidth=0.8)
        panels[1].set_ylabel("model − reference,\nbits per byte")
    _show_step(panels[1] if found.reference else levels, found, places)
    counts.bar(places, [one.articles for one in found.months], color=INK, width=0.8)
    counts.set_ylabel("articles")
    counts.yaxis.set_major_locator(MaxNLocator(3, integer=True))
    over = f"{100 * found.level:.4g}% interval over the articles of a month, if they are {FEWEST} or more"
    counts.set_xlabel(f"{DATED[found.dated]}\nerror bar: {over}")
    ticks = ticks_of(places[0], places[-1])
    counts.set_xticks(list(ticks), list(ticks.values()))
    counts.set_xlim(places[0] - 0.8, places[-1] + 0.8)
    counts.grid(visible=False, axis="x")
    for panel in panels[:-1]:
        if panel.get_legend_handles_labels()[0]:
            panel.legend(frameon=False, fontsize=9)


def _curve(
    axes: Axes,
    months: Sequence[Month],
    level: Callable[[Month], Estimate | None],
    color: str,
    *,
    marker: str = "o",
    label: str | None = None,
) -> None:
    """Points with error bars; a line joins only months that follow each other."""
    points: list[tuple[float, float, float]] = []
    for one in months:
        if (found := level(one)) is not None:
            place = place_of(one.month)
            if points and place > points[-1][0] + 1:
                points.append((place - 1, math.nan, math.nan))
            half = math.nan if found.interval is None else found.interval[1] - found.value
            points.append((place, found.value, half))
    x, y, error = zip(*points, strict=True)
    axes.errorbar(
        x, y, error, color=color, marker=marker, markersize=4, linewidth=1.2, capsize=2, label=label
    )


def _show_gaps(axes: Axes, places: Sequence[int], *, named: bool) -> None:
    """Months without articles are grey."""
    for last, place in pairwise(places):
        if place > last + 1:
            axes.axvspan(last + 0.5, place - 0.5, color=GAP, linewidth=0, zorder=0)
            if named and place - last > WIDE * (places[-1] - places[0]):
                middle = (last + place) / 2
                axes.text(
                    middle, 0.5, "no articles", transform=axes.get_xaxis_transform(), ha="center", color=INK
                )


def _show_step(axes: Axes, found: Contamination, places: Sequence[int]) -> None:
    """The level of the months before the step, and that of its month and the later ones."""
    if (step := found.step) is None:
        return
    first = place_of(step.month)
    look: dict[str, Any] = {"color": COLORS[3], "linewidth": 2}
    for place in places:  # no line where there are no articles
        axes.plot([place - 0.5, place + 0.5], [step.before if place < first else step.after] * 2, **look)
    label = f"step at {step.month}: {step.rise:+.3f}"
    axes.plot([first - 0.5] * 2, [step.before, step.after], ":", label=label, **look)


def place_of(month: str) -> int:
    """The number of months since year 0.

    >>> place_of("2022-01")
    24264
    """
    return 12 * int(month[:4]) + int(month[5:]) - 1


def ticks_of(first: int, last: int) -> dict[float, str]:
    """Labels of the axis, by the number of months since year 0.

    >>> ticks_of(12 * 2021 + 10, 12 * 2022 + 2)
    {24262: '2021-11', 24263: '2021-12', 24264: '2022-01', 24265: '2022-02', 24266: '2022-03'}
    >>> ticks_of(12 * 2006 + 3, 12 * 2016 + 3)
    {24096: '2008', 24120: '2010', 24144: '2012', 24168: '2014', 24192: '2016'}
    """
    step = next((one for one in STEPS if last - first <= one * MOST_STEPS), STEPS[-1])
    places = range(-(-first // step) * step, last + 1, step)
    return {at: f"{at // 12}" + (f"-{at % 12 + 1:02}" if step < 12 else "") for at in places}
