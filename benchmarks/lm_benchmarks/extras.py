"""Optional packages: an error that says how to install them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from lm_benchmarks.errors import HarnessError

MODELS: Final = frozenset({"torch", "safetensors", "numpy"})  # packages of the extra `models`


@contextmanager
def models_extra() -> Iterator[None]:
    """Name the extra if a package of it is missing.

    Raises:
        HarnessError: A package of the extra `models` is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in MODELS:
            raise
        raise HarnessError(
            f"language models need {error.name}, which is not installed: pip install"
            " 'wikitext-builder[models]'"
        ) from error
