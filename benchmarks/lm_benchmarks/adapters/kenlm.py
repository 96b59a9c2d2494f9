"""N-gram models in KenLM's own binary formats, or ARPA, through its Python package."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from lm_benchmarks.errors import HarnessError


class KenlmFile:
    """The probabilities of a file that KenLM reads."""

    def __init__(self, path: Path) -> None:
        """Load a file.

        Raises:
            HarnessError: The package is not installed, or the file is not in one of its formats.
        """
        try:
            self._kenlm: Any = importlib.import_module("kenlm")
        except ImportError as error:
            raise HarnessError(
                f"{path}: KenLM's files need the package kenlm (pip install kenlm); arpa:FILE reads an ARPA"
                " file without it"
            ) from error
        try:
            self._model: Any = self._kenlm.Model(str(path))
        except (OSError, RuntimeError) as error:
            raise HarnessError(f"{path}: {error}; expected an n-gram model of KenLM or ARPA") from error
        self.order = int(self._model.order)

    def __contains__(self, word: str) -> bool:
        return word == "<unk>" or word in self._model  # KenLM says that <unk> is unknown

    def log10(self, context: tuple[str, ...], word: str) -> float:
        """The base-10 log-probability of a word that the model knows, after the words of the context."""
        state, after = self._kenlm.State(), self._kenlm.State()
        if context[:1] == ("<s>",):
            self._model.BeginSentenceWrite(state)
            context = context[1:]
        else:
            self._model.NullContextWrite(state)
        for before in context:
            self._model.BaseScore(state, before, after)
            state, after = after, state
        return float(self._model.BaseScore(state, word, after))
