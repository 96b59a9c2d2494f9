"""The picture of perplexity by position.

matplotlib is imported where it is used, because its import is slow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from lm_benchmarks.errors import HarnessError
from wikitext_builder.pictures import COLORS, expect_picture, write_picture
from wikitext_builder.tables import csv_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lm_benchmarks.measuring.windows import Positions


def positions_csv(found: Sequence[Positions]) -> str:
    """The numbers, one row per group of positions."""
    return csv_text([{**asdict(one), "perplexity": one.perplexity} for one in found])


def draw_positions(found: Sequence[Positions], out: str | Path) -> Path:
    """Draw perplexity over the position in the context, a curve per length of windows.

    Args:
        found: What `by_position` returned.
        out: The file to write, ending in .pdf, .svg or .png.

    Returns:
        The file.

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
