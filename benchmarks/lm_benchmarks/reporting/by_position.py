"""Perplexity by position in the context as a picture and as CSV."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lm_benchmarks.errors import HarnessError
from wikitext_builder.stats.plots import COLORS, METADATA, STYLE
from wikitext_builder.tables import csv_text

if TYPE_CHECKING:
    from lm_benchmarks.measuring.positions import Positions

PICTURES: Final[dict[str, dict[str, None]]] = {**METADATA, ".pdf": {"CreationDate": None, "ModDate": None}}


def positions_csv(found: Sequence[Positions]) -> str:
    """The numbers, one row per group of positions."""
    return csv_text([{**asdict(one), "perplexity": one.perplexity} for one in found])


def expect_picture(path: Path) -> None:
    """Refuse a file whose suffix is of no picture that `draw_positions` can write.

    Raises:
        HarnessError: It is.
    """
    if path.suffix not in PICTURES:
        raise HarnessError(f"{path}: expected a name that ends in {', '.join(sorted(PICTURES))}")


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
    expect_picture(path := Path(out))
    if not found:
        raise HarnessError(f"{path}: nothing to draw; measure at least one length of windows")
    from matplotlib import style
    from matplotlib.figure import Figure
    from matplotlib.ticker import StrMethodFormatter

    lengths = sorted({one.window for one in found})
    with style.context(["default", STYLE], after_reset=True):
        drawing = Figure(figsize=(6.4, 3.8), layout="constrained")
        axes = drawing.subplots()
        for number, length in enumerate(lengths):
            own = [one for one in found if one.window == length]
            places = [(one.first * one.last) ** 0.5 for one in own]
            axes.plot(
                places,
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
        axes.set_xlabel("position in the context: pieces before the predicted one")
        axes.set_ylabel("perplexity of pieces")
        axes.set_title(found[0].model, loc="left", fontweight="bold")
        axes.legend(frameon=False)
        drawing.savefig(path, dpi=150, metadata=PICTURES[path.suffix])
    return path
