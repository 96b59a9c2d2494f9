"""Regenerates the WikiText datasets from Wikipedia.

The names below are the library. Each command of `wikitext-builder` is one call of it, and prints the result.
A module is imported when its name is first used.
"""

from typing import TYPE_CHECKING

from wikitext_builder.errors import BuilderError, RejectedError
from wikitext_builder.lazy import lazy_names

if TYPE_CHECKING:
    from wikitext_builder.dataset.verify import verify
else:
    __getattr__, __dir__ = lazy_names(__name__, {"verify": "wikitext_builder.dataset.verify"})

__version__ = "0.1.0"
__all__ = ["BuilderError", "RejectedError", "__version__", "verify"]
