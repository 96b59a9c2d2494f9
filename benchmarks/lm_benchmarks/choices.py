"""Errors, options and argument choices of measurements, kept free of torch so that `--help` is fast."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from wikitext_builder.errors import ToolkitError


class HarnessError(ToolkitError):
    """A measurement, a comparison or a report failed."""


class UnreachableError(HarnessError):
    """A server does not answer at the moment; the same command can resume later."""


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

# Fields of signatures: what a tokenizer does to a text.
CHARACTERS_LOST: Final = "characters_lost"
NORMALIZES: Final = "normalizes"
COMPARE_ONLY: Final = {
    "words": "an open and a closed vocabulary: an open one gives probability to words outside it",
    CHARACTERS_LOST: "a tokenizer that loses characters: its number is that of a poorer, easier text",
}
"""Fields that must agree for a difference; a table can have both values, and says which vocabulary is open.

No characters may be lost: two tokenizers that lose equally many lose different ones.
"""

EXACT_DTYPES: Final = ("float32", "float64")
"""Types of weights that add no rounding of their own."""

SIZES: Final = {
    "own": "the published size, by our own training if there is one",
    "full": "the published size, trained as published",
    "small": "a small model, for comparisons of small models",
}
"""Model sizes for the rows of a published table."""

GROUPINGS: Final = {
    "frequency": "occurrences in train; <unk> and <eos> have their own groups",
    "position": "position in the article: number of tokens before it",
}
"""Groupings of tokens, and what their groups are."""

FILE_ENDINGS: Final = {
    "text": ".txt",
    "markdown": ".md",
    "csv": ".csv",
    "latex": ".tex",
    "html": ".html",
    "json": ".json",
}
FORMATS: Final = tuple(FILE_ENDINGS)
"""Formats of the table of conventions."""

CHUNK_TOKENS: Final = 256  # tokens per call of a model; does not change any number
BEGINNING_TOKENS: Final = 320  # first tokens of a text, on which all invariants are checked
CHECK_TOKENS: Final = 10_000  # tokens that a model reads if only the invariants are checked
BATCH_ARTICLES: Final = 16  # articles per call if each starts without context; does not change any number
CONFIDENCE_LEVEL: Final = 0.95
PERMUTATIONS: Final = 10_000  # of articles between before and after, in a test of contamination
MIN_PASSAGES: Final = 5  # with four, the intervals of some pairs of models in the records cover only 91 %
MAX_PASSAGE_SHARE: Final = 0.9  # of the text: if a passage is longer, the rest cannot show how it would vary
TARGET_POWER: Final = 0.8  # how often a test set should find a difference to be worth the work
MIN_DEGREES: Final = 5.0  # of freedom; with fewer, skewed differences are found less often than stated
REPORT_TITLE: Final = "Language models measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOption:
    """An option that some kinds of models read when they are loaded."""

    help: str
    kind: type = str
    default: Any = None  # None: the model decides
    minimum: int | None = None
    above: float | None = None  # the value must exceed this
    maximum: int = 2**31 - 1  # the largest value that all libraries accept
    choices: tuple[str, ...] = ()
    windows: bool = False  # True: commands that choose the windows themselves have this option too


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
    "longest": ModelOption(kind=int, minimum=2, windows=True, help="gguf, completions: context length."),
    "seed": ModelOption(
        kind=int, default=1, minimum=0, maximum=2**63 - 1, help="Seed for models that draw random numbers."
    ),
    "window": ModelOption(
        kind=int, minimum=1, help="Subword tokens per call (default: 4,096 or fewer); cache: its words."
    ),
    "stride": ModelOption(kind=int, minimum=1, help="Subword models: tokens scored per call."),
    "unknown_word": ModelOption(help="arpa, kenlm: how the file spells <unk>."),
    "patience": ModelOption(
        kind=float, default=60.0, above=0, maximum=10**6, help="command, completions: timeout, in s."
    ),
    "samples": ModelOption(kind=int, default=10, minimum=1, help="mc: number of dropout masks."),
}
DEFAULTS: Final[Mapping[str, Any]] = MappingProxyType(
    {name: option.default for name, option in OPTIONS.items()}
)


def checked(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return all options, with defaults for absent ones; reject unknown names and values out of range."""
    if unknown := options.keys() - OPTIONS.keys():
        raise HarnessError(f"option {min(unknown)!r}; expected {', '.join(OPTIONS)}")
    for name, value in options.items():
        option = OPTIONS[name]
        # Adapters check texts.
        if value is None or isinstance(value, str):
            continue
        if option.minimum is not None and not value >= option.minimum:
            raise HarnessError(f"{name} {value}; expected {option.minimum:g} or more")
        if option.above is not None and not value > option.above:
            raise HarnessError(f"{name} {value}; expected more than {option.above:g}")
        if not value <= option.maximum:
            raise HarnessError(f"{name} {value}; expected {option.maximum} or less")
    return {**DEFAULTS, **options}
