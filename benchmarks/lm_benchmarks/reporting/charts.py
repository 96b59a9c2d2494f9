"""Pictures of a contamination by month.

matplotlib is imported where it is used, because its import is slow.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lm_benchmarks.choices import FEWEST
from lm_benchmarks.errors import HarnessError
from wikitext_builder.charts import legend_name
from wikitext_builder.pages.lock import ATTRIBUTION
from wikitext_builder.pictures import COLORS, expect_picture, write_picture
from wikitext_builder.tables import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lm_benchmarks.measuring.articles import Month
    from lm_benchmarks.measuring.chance import Estimate
    from lm_benchmarks.measuring.contamination import Contamination


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
