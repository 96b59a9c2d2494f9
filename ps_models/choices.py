"""Names that arguments choose from. Nothing here needs torch: a command line shows its help at once."""

from __future__ import annotations

from typing import Final

CONTEXTS: Final = ("carried", "article")  # before an article: all articles before it, or nothing
OPTIMIZERS: Final = ("sgd", "adamw", "asgd")
PRECISIONS: Final = ("fp32", "tf32", "bf16")  # arithmetic
EQUAL: Final = ("types", "tokens")  # what buckets of words have equal numbers of
