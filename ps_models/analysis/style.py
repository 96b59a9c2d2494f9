"""What the pictures of predictions have in common: colours, and the style of the project's plots."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from ps_models.errors import ModelError
from wikitext_builder.stats.plots import METADATA
from wikitext_builder.stats.plots import STYLE as PLOTS

STYLE: Final[dict[str, Any]] = {
    **PLOTS,
    "svg.hashsalt": "ps-models",
    "svg.fonttype": "none",
    "font.size": 8.5,
}
FORMATS: Final[dict[str, dict[str, None]]] = {**METADATA, ".pdf": {"CreationDate": None, "ModDate": None}}
VOCABULARY, POINTER, MIXTURE = "#0072B2", "#D55E00", "#555555"
HELP = ("#ffffff", "#d9f0d3", "#a6dba0", "#5aae61")  # by HELP_LEVELS; the same as in explain.css
HARM = ("#ffffff", "#e7d4e8", "#c2a5cf", "#a886bd")


def picture_metadata(path: Path) -> dict[str, None]:
    """What a picture leaves out of its file, so that its bytes are the same each time.

    Raises:
        ModelError: The ending of the path is not one of FORMATS.
    """
    if (ending := path.suffix.lower()) not in FORMATS:
        raise ModelError(f"{path}: expected a name that ends in {', '.join(FORMATS)}")
    return FORMATS[ending]
