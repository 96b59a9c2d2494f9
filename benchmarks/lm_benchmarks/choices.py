"""Argument choices and defaults of measurements, kept free of torch so that `--help` is fast."""

from __future__ import annotations

from typing import Final

from lm_benchmarks.conventions.registry import REGISTRY

PAPER: Final = "paper"
LM_EVAL: Final = "lm-eval"
CONVENTIONS: Final = {name: one.signature for name, one in REGISTRY.items()}
"""Conventions of what is counted: their names, and the names in signatures."""

MUST_AGREE: Final = {
    "data": "different data",
    "split": "a different split of the data",
    "convention": "a different convention of what is counted",
    "passage": "a different unit",
    "text": "a different form of the text",
    "vocabulary": "a different vocabulary: the fewer words it has, the more are <unk> and easy",
    "eos": "a different treatment of line ends",
    "context": "a different context before each article",
}
"""Fields of a signature, and why numbers that differ in one of them measure different things."""

COMPARE_ONLY: Final = {
    "words": "an open and a closed vocabulary: words outside it cost the open one probability",
}
"""Fields that must agree for a difference; a table can show both, and says which vocabulary is open."""

EXACT: Final = ("float32", "float64")
"""Types of weights that add no rounding of their own."""

SIZES: Final = {
    "own": "the published size, by our own training if there is one",
    "full": "the published size, trained as published",
    "small": "a small model, for comparisons of small models",
}
"""Sizes of the rows of a table."""

GROUPINGS: Final = {
    "frequency": "occurrences in train; <unk> and <eos> have their own groups",
    "position": "position in the article: earlier tokens of it",
    "context": "length of the context: tokens that the model has read",
    "line": "position in the line: earlier tokens of it",
    "recency": "tokens since the last occurrence of the word; without <unk> and <eos>",
}
"""Groupings of tokens, and what the groups of each are."""

FORMATS: Final = ("text", "markdown", "csv", "latex", "html", "json")
"""Of the table of conventions."""

DATES: Final = ("created", "promoted", "revision")
"""Of an article, whose months a contamination counts, the best one first."""

CHUNK: Final = 256  # tokens per call of a model; does not change any number
BEGINNING: Final = 320  # tokens of a text that all laws are tried on
CHECKED: Final = 20_000  # tokens that a model reads if only the laws are tried
BATCH: Final = 16  # articles per call where each starts without context; does not change any number
LEVEL: Final = 0.95  # of an interval
RESAMPLES: Final = 10_000  # draws of the bootstrap
FEWEST: Final = 5  # passages: fewer give too few different draws for an interval
TITLE: Final = "Language models measured"  # of a report
