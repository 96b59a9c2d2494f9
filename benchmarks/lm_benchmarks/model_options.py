"""Options for loading models, each said once, for `measure`, the command line and the adapters.

No module of models is imported here: a command line shows its help at once, also where torch is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from lm_benchmarks.errors import HarnessError


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOption:
    """An option that some kinds of models read when they are loaded."""

    help: str
    kind: type = str
    default: Any = None  # None: the model decides
    least: float | None = None  # the smallest value
    above: float | None = None  # or what it must exceed
    choices: tuple[str, ...] = ()
    windows: bool = False  # commands that choose the windows themselves take it too


OPTIONS: Final[Mapping[str, ModelOption]] = {
    "device": ModelOption(default="auto", windows=True, help="auto, cpu, cuda or cuda:1."),
    "dtype": ModelOption(
        choices=("float32", "bfloat16", "float16"),
        windows=True,
        help="transformers: weights; gguf: cache.",
    ),
    "attention": ModelOption(windows=True, help="transformers: eager, sdpa, flash_attention_2, …"),
    "tokenizer": ModelOption(windows=True, help="completions: folder or name of the model's tokenizer."),
    "served_model": ModelOption(windows=True, help="completions: what the server calls the model."),
    "longest": ModelOption(kind=int, least=2, windows=True, help="gguf, completions: pieces at once."),
    "seed": ModelOption(kind=int, default=1, least=0, help="For models that draw random numbers."),
    "window": ModelOption(kind=int, least=1, help="Models of pieces: read per call; cache: its words."),
    "stride": ModelOption(kind=int, least=1, help="Models of pieces: scored per call."),
    "unknown_word": ModelOption(help="arpa, kenlm: how the file spells <unk>."),
    "patience": ModelOption(kind=float, default=60.0, above=0, help="command, completions: seconds to wait."),
    "samples": ModelOption(kind=int, default=10, least=1, help="mc: number of masks."),
}
DEFAULTS: Final[Mapping[str, Any]] = MappingProxyType({name: one.default for name, one in OPTIONS.items()})


def checked(options: Mapping[str, Any]) -> dict[str, Any]:
    """All options, with defaults for those that are absent.

    Raises:
        HarnessError: There is no such option, or its value is out of range.
    """
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
    return {**DEFAULTS, **options}
