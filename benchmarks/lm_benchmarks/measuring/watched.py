"""Models in a run, which keep random samples of it, and models that continue what was read there.

`checks` checks the invariants of `LanguageModel` on both after the run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from lm_benchmarks.adapters.piece_model import PieceModel
from lm_benchmarks.conventions.convention import Tokenizer, Window
from ps_models.language_model import LanguageModel, map_state

PLACES: Final = 20  # articles or windows that are chosen: a break in 14 % of all is found in 95 %
Model = LanguageModel[Any]


class WatchedModel:
    """A model that scores as the one it stands for, and keeps the state before chosen texts of a run."""

    def __init__(self, model: Model, chosen: Mapping[int, int], context: str) -> None:
        """Watch a model; `chosen` are numbers of texts, each with the tokens before it."""
        self.chosen = chosen
        self._model, self._carries = model, context == "carried"
        self._wanted = {depth: number for number, depth in chosen.items()}
        self._states: dict[int, Any] = {}
        self._read = 0  # tokens

    def initial_state(self, batch_size: int) -> Any:  # noqa: ANN401 - each model has its own state
        """The start of `batch_size` texts."""
        return self._model.initial_state(batch_size)

    def __call__(self, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:  # noqa: ANN401
        """Score tokens; see `LanguageModel`."""
        if self._carries and self._read in self._wanted:
            self._states.setdefault(self._wanted[self._read], state)
        self._read += tokens.shape[1]
        return self._model(tokens, state)

    def model_of(self, number: int) -> Model:
        """The model, whose texts begin as a chosen text did in the run."""
        return Continued(self._model, self._states[number]) if number in self._states else self._model


class Continued:
    """A language model whose texts continue one that it has read."""

    def __init__(self, model: Any, state: Any) -> None:  # noqa: ANN401 - of any model
        """Continue a text after a state of one row."""
        self._model, self._state = model, state

    def initial_state(self, batch_size: int) -> Any:  # noqa: ANN401
        """The state after that text, for so many rows."""
        return map_state(lambda tensor: tensor.repeat_interleave(batch_size, 0), self._state)

    def __call__(self, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:  # noqa: ANN401
        """Score tokens; see `LanguageModel`."""
        scores, after = self._model(tokens, state)
        return scores, after

    def next_log_probs(self, state: Any) -> Tensor:  # noqa: ANN401
        """Log-probabilities of all words; an AttributeError if the model does not give them."""
        found: Tensor = self._model.next_log_probs(state)
        return found


class WatchedReader:
    """A reader that scores as the one it stands for, and keeps a random sample of its windows."""

    def __init__(self, reader: PieceModel, *, seed: int) -> None:
        """Watch a reader; `seed` fixes the sample."""
        self.reader, self.longest = reader, reader.longest
        self.pieces = 0  # of all windows
        self.sample: list[tuple[int, Window, float]] = []  # number, window and its nats
        self._generator, self._count = np.random.default_rng(seed), 0

    @property
    def text_pieces(self) -> Tokenizer:
        """How its tokenizer cuts plain texts."""
        return self.reader.text_pieces

    def window_nats(self, windows: Sequence[Window]) -> list[float]:
        """-log p of the targets of each window."""
        found = self.reader.window_nats(windows)
        for window, nats in zip(windows, found, strict=True):
            place = len(self.sample)
            if place == PLACES:  # each window so far has the same chance to be in the sample
                place = int(self._generator.integers(self._count + 1))
            if window.targets and place < PLACES:
                self.sample[place : place + 1] = [(self._count, window, nats)]
            self.pieces += len(window.inputs)
            self._count += 1
        return found


class WindowModel:
    """A model of pieces as a language model that continues a window: the state is what it has read of it."""

    def __init__(self, reader: PieceModel, pieces: Sequence[int], inputs: Sequence[int]) -> None:
        """Continue a window after some inputs; words are numbers of places in `pieces`."""
        self._reader, self._pieces, self._inputs = reader, torch.tensor(pieces), torch.tensor(inputs)

    def initial_state(self, batch_size: int) -> Tensor:
        """The pieces before the texts."""
        return self._inputs.repeat(batch_size, 1)

    def __call__(self, tokens: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Score pieces; see `LanguageModel`."""
        after = torch.cat([state, self._pieces[tokens]], dim=1)
        windows = [Window(row[:-1], row[-tokens.shape[1] :]) for row in after.tolist()]
        return torch.stack(list(self._reader.target_log_probs(windows))), after

    def next_log_probs(self, state: Tensor) -> Tensor:
        """Log-probabilities of all pieces; an AttributeError if the model does not give them."""
        found = [self._reader.next_log_probs_of(row) for row in state.tolist()]
        rows = [row for row in found if row is not None]
        if len(rows) < len(found):
            raise AttributeError("the model gives no log-probabilities of all pieces", name="next_log_probs")
        return torch.stack(rows)
