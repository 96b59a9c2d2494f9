"""Files of pictures: which endings they have, and how each is written.

The same data give the same bytes with the same version of matplotlib: no date, a fixed salt for the ids of an
SVG, matplotlib's own default style. matplotlib is imported where it is used, because its import is slow.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from wikitext_builder.errors import ToolkitError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLE: Final = {
    "svg.hashsalt": "wikitext-builder",
    "pdf.fonttype": 42,  # TrueType: publishers refuse matplotlib's own default, Type 3
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e5e5e5",
    "axes.axisbelow": True,
}
COLORS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")  # Okabe and Ito 2008
PICTURES: Final[dict[str, dict[str, None]]] = {  # by ending: what is left out of a file
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
    ".pdf": {"CreationDate": None, "ModDate": None},
}
ENDINGS: Final = " or ".join(", ".join(PICTURES).rsplit(", ", 1))  # for help


def expect_picture(path: Path, error: type[ToolkitError]) -> None:
    """Refuse a file whose ending is of no picture that can be written: before hours of measuring.

    Raises:
        ToolkitError: It is; `error` is its class.
    """
    if path.suffix.lower() not in PICTURES:
        raise error(f"{path}: expected a name that ends in {', '.join(PICTURES)}")


def write_picture(path: Path, draw: Callable[[], Figure], *, dpi: int = 150, **look: object) -> Path:
    """Write a figure that is drawn in our style with a `look` on top of it, after `expect_picture`."""
    from matplotlib import style

    with style.context(["default", {**STYLE, **look}], after_reset=True):
        draw().savefig(path, dpi=dpi, metadata=PICTURES[path.suffix.lower()])
    return path
