"""Errors of models."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from wikitext_builder.errors import ToolkitError

EXTRA = "pip install 'wikitext-builder[models]'"


class ModelError(ToolkitError):
    """A model, its training, its checkpoint or its evaluation failed."""


class MissingPackageError(ModelError, ImportError):
    """A package that language models need is not installed; the message says how to install it."""

    def __init__(self, package: str | None) -> None:
        super().__init__(f"language models need {package}, which is not installed: {EXTRA}")


@contextmanager
def needed_packages() -> Iterator[None]:
    """Turn a failed import of what language models need into advice on how to install it.

    Raises:
        MissingPackageError: A package is missing.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in ("torch", "safetensors", "numpy"):
            raise
        raise MissingPackageError(error.name) from error
