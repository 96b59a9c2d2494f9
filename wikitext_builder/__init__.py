"""Regenerates the WikiText datasets from Wikipedia.

The names below are the library; each command of `wikitext-builder` is one call to it. Modules are imported
when first used.

>>> import wikitext_builder as wb
>>> wb.tokenize("It's 1,500 km.")
"It 's 1 @,@ 500 km ."
"""

from typing import TYPE_CHECKING

from wikitext_builder.errors import BuilderError, RejectedError
from wikitext_builder.lazy import lazy_names

if TYPE_CHECKING:
    from wikitext_builder.building.build import build, build_months
    from wikitext_builder.citation import cite
    from wikitext_builder.dataset.diff import diff
    from wikitext_builder.dataset.load import load
    from wikitext_builder.dataset.verify import verify
    from wikitext_builder.extraction.page import extract
    from wikitext_builder.pages.fetch import fetch
    from wikitext_builder.pages.importing import import_dump
    from wikitext_builder.pages.lock import lock
    from wikitext_builder.pages.reading import open_templates, read_page, status, store_language
    from wikitext_builder.stats.describe import describe, plot_statistic
    from wikitext_builder.stats.plots import plot_window, plot_zipf
    from wikitext_builder.stats.statistics import statistics
    from wikitext_builder.text_overlap.overlap import new_lines, overlap
    from wikitext_builder.tokens.detokenizer import detokenize
    from wikitext_builder.tokens.tokenizer import tokenize
else:
    __getattr__, __dir__ = lazy_names(__name__, __file__)

__version__ = "0.1.0"
__all__ = [
    "BuilderError",
    "RejectedError",
    "__version__",
    "build",
    "build_months",
    "cite",
    "describe",
    "detokenize",
    "diff",
    "extract",
    "fetch",
    "import_dump",
    "load",
    "lock",
    "new_lines",
    "open_templates",
    "overlap",
    "plot_statistic",
    "plot_window",
    "plot_zipf",
    "read_page",
    "statistics",
    "status",
    "store_language",
    "tokenize",
    "verify",
]
