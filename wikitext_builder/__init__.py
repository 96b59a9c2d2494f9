"""Regenerates the WikiText datasets from Wikipedia.

The names below are the library's interface; each command of `wikitext-builder` calls one of them. Modules are
imported when first used.

>>> import wikitext_builder as wb
>>> wb.tokenize("It's 1,500 km.")
"It 's 1 @,@ 500 km ."
"""

from typing import TYPE_CHECKING

from wikitext_builder.errors import BuilderError as BuilderError
from wikitext_builder.errors import RejectedError as RejectedError
from wikitext_builder.lazy import lazy_names

__all__: list[str]
if TYPE_CHECKING:
    from wikitext_builder.building.build import build as build
    from wikitext_builder.citation import cite as cite
    from wikitext_builder.dataset.load import load as load
    from wikitext_builder.dataset.verify import verify as verify
    from wikitext_builder.dumps.importing import import_dump as import_dump
    from wikitext_builder.extraction.page import extract as extract
    from wikitext_builder.extraction.rendered import extract_rendered as extract_rendered
    from wikitext_builder.fetching.fetch import fetch as fetch
    from wikitext_builder.stats.describe import describe as describe
    from wikitext_builder.stats.describe import plot_statistic as plot_statistic
    from wikitext_builder.stats.overlap import overlap as overlap
    from wikitext_builder.stats.plots import plot_window as plot_window
    from wikitext_builder.stats.plots import plot_zipf as plot_zipf
    from wikitext_builder.stats.statistics import statistics as statistics
    from wikitext_builder.store.lock import lock as lock
    from wikitext_builder.store.reading import open_templates as open_templates
    from wikitext_builder.store.reading import read_page as read_page
    from wikitext_builder.store.reading import status as status
    from wikitext_builder.store.reading import store_language as store_language
    from wikitext_builder.tokens.detokenizer import detokenize as detokenize
    from wikitext_builder.tokens.tokenizer import tokenize as tokenize
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__, __file__)

__version__ = "0.1.0"
