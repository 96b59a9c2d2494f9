"""The picture of two models' distributions: their divergence by frequency and by position.

matplotlib is imported where it is used, because its import is slow.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from lm_benchmarks.errors import HarnessError
from wikitext_builder.charts import legend_name
from wikitext_builder.pictures import COLORS, expect_picture, write_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lm_benchmarks.measuring.distributions import DistributionDifference

WIDTH, HEIGHT = 4.2, 3.8  # inches of a panel
INK: Final = "#333333"
PANELS: Final = {
    "frequency": "count of the word in train",
    "position": "position in the article: earlier {unit}",
}


def draw_distributions(found: DistributionDifference, path: str | Path) -> Path:
    """Draw the mean divergence of two models, with intervals: a panel by frequency, and one by position.

    Args:
        found: What `compare_distributions` returned.
        path: The file to write, ending in .pdf, .svg or .png.

    Returns:
        The file.

    Raises:
        HarnessError: The suffix is another, or there are no such groups.
    """
    expect_picture(path := Path(path), HarnessError)
    if not {group.by for group in found.groups} & PANELS.keys():
        raise HarnessError(f"{path}: nothing to draw; the text has no groups by frequency or position")
    return write_picture(path, lambda: _figure(found), **{"text.parse_math": False})


def _figure(found: DistributionDifference) -> Figure:
    from matplotlib.figure import Figure

    groups = {by: [one for one in found.groups if one.by == by] for by in PANELS}
    shown = {by: own for by, own in groups.items() if own}
    drawing = Figure(figsize=(WIDTH * len(shown), HEIGHT), layout="constrained")
    panels = drawing.subplots(1, len(shown), sharey=True, squeeze=False)[0]
    names = legend_name(found.first_model), legend_name(found.second_model)
    drawing.suptitle(f"{names[0]} ‖ {names[1]}", x=0.01, ha="left", fontweight="bold")
    for number, (axes, (by, own)) in enumerate(zip(panels, shown.items(), strict=True)):
        axes.bar(range(len(own)), [one.divergence.value for one in own], color=COLORS[number])
        for place, one in enumerate(own):
            if one.divergence.interval is not None:
                half = one.divergence.interval[1] - one.divergence.value
                axes.errorbar(place, one.divergence.value, half, fmt="none", ecolor=INK, capsize=3)
        axes.axhline(found.whole.divergence.value, color=INK, linewidth=0.8, linestyle="--")
        axes.set_xticks(range(len(own)), [one.label for one in own], rotation=35, ha="right")
        axes.set_xlabel(PANELS[by].format(unit=found.unit))
        axes.grid(visible=False, axis="x")
    bars = f"bars: {100 * found.level:.4g}% interval"
    panels[0].set_ylabel(f"mean KL divergence, nats\n(dashed: whole text; {bars})")
    panels[0].set_ylim(bottom=0)
    return drawing
