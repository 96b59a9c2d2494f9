"""Errors, options and argument choices of measurements, each said once, free of torch: `--help` is fast."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from wikitext_builder.errors import ToolkitError


class HarnessError(ToolkitError):
    """A measurement, a comparison or a report failed."""


class UnreachableError(HarnessError):
    """A server does not answer now: the same command can resume later."""


PAPER: Final = "paper"
LM_EVAL: Final = "lm-eval"
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

LOST: Final = "characters_lost"  # fields of signatures: what a tokenizer does to a text
NORMALIZES: Final = "normalizes"
COMPARE_ONLY: Final = {
    "words": "an open and a closed vocabulary: words outside it cost the open one probability",
    LOST: "a tokenizer that loses characters: its number is that of a poorer text, which is easier",
}
"""Fields that must agree for a difference; a table can show both, and says which vocabulary is open.

Characters may not be lost at all: two tokenizers that lose as many lose different ones.
"""

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
    "position": "position in the article: number of tokens before it",
}
"""Groupings of tokens, and what the groups of each are."""

ENDING_OF: Final = {
    "text": ".txt",
    "markdown": ".md",
    "csv": ".csv",
    "latex": ".tex",
    "html": ".html",
    "json": ".json",
}
FORMATS: Final = tuple(ENDING_OF)
"""Of the table of conventions; and the endings of their files."""

CHUNK: Final = 256  # tokens per call of a model; does not change any number
BEGINNING: Final = 320  # tokens of a text that all laws are tried on
CHECKED: Final = 10_000  # tokens that a model reads if only the laws are tried
BATCH: Final = 16  # articles per call where each starts without context; does not change any number
LEVEL: Final = 0.95  # of an interval
RESAMPLES: Final = 10_000  # permutations of articles over the sides of a contamination
FEWEST: Final = 5  # passages: of four, some pairs of models in the records have intervals that cover 91 %
NEARLY_ALL: Final = 0.9  # of the text: if one passage has more, the others cannot say how it would vary
ENOUGH: Final = 0.8  # of all test sets: how often one that is worth its work finds a difference
SKEWED: Final = 5.0  # degrees of freedom: with fewer, skewed differences are found less often than others
TITLE: Final = "Language models measured"  # of a report


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOption:
    """An option that some kinds of models read when they are loaded."""

    help: str
    kind: type = str
    default: Any = None  # None: the model decides
    least: int | None = None  # the smallest value
    above: float | None = None  # or what it must exceed
    most: int = 2**31 - 1  # the largest: what all libraries take
    choices: tuple[str, ...] = ()
    windows: bool = False  # commands that choose the windows themselves take it too


OPTIONS: Final[Mapping[str, ModelOption]] = {
    "device": ModelOption(default="auto", windows=True, help="auto, cpu, cuda or cuda:1."),
    "dtype": ModelOption(
        choices=("float32", "bfloat16", "float16"),
        windows=True,
        help="transformers: weight type; gguf: cache type.",
    ),
    "attention": ModelOption(windows=True, help="transformers: eager, sdpa, flash_attention_2, …"),
    "device_map": ModelOption(windows=True, help="transformers: auto, balanced, … for several devices."),
    "tokenizer": ModelOption(windows=True, help="completions: tokenizer of the model, a folder or name."),
    "served_model": ModelOption(windows=True, help="completions: the server's name for the model."),
    "longest": ModelOption(kind=int, least=2, windows=True, help="gguf, completions: context length."),
    "seed": ModelOption(
        kind=int, default=1, least=0, most=2**63 - 1, help="Seed for models that draw random numbers."
    ),
    "window": ModelOption(
        kind=int, least=1, help="Subword tokens per call (default: 4,096 or fewer); cache: its words."
    ),
    "stride": ModelOption(kind=int, least=1, help="Subword models: tokens scored per call."),
    "unknown_word": ModelOption(help="arpa, kenlm: how the file spells <unk>."),
    "patience": ModelOption(
        kind=float, default=60.0, above=0, most=10**6, help="command, completions: timeout, in s."
    ),
    "samples": ModelOption(kind=int, default=10, least=1, help="mc: number of dropout masks."),
}
DEFAULTS: Final[Mapping[str, Any]] = MappingProxyType({name: one.default for name, one in OPTIONS.items()})


def checked(options: Mapping[str, Any]) -> dict[str, Any]:
    """All options, with defaults for absent ones; unknown names and values out of range are refused."""
    if unknown := options.keys() - OPTIONS.keys():
        raise HarnessError(f"option {min(unknown)!r}; expected {', '.join(OPTIONS)}")
    for name, value in options.items():
        one = OPTIONS[name]
        if value is None or isinstance(value, str):  # which texts fit is the adapter's question
            continue
        if one.least is not None and not value >= one.least:
            raise HarnessError(f"{name} {value}; expected {one.least:g} or more")
        if one.above is not None and not value > one.above:
            raise HarnessError(f"{name} {value}; expected more than {one.above:g}")
        if not value <= one.most:
            raise HarnessError(f"{name} {value}; expected {one.most} or less")
    return {**DEFAULTS, **options}
