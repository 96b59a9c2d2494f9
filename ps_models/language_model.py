"""Defines language models: they score tokens, and their state holds the past."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar, cast

import torch
from torch import Tensor, nn

from ps_models.errors import ModelError

RNNS = (nn.RNNBase, nn.RNNCellBase)
State = TypeVar("State")
AnyState = Any  # the state of a model whose class is unknown: each class has its own


class LanguageModel(Protocol[State]):
    """Predicts each token from those before it.

    The state holds everything that the model remembers of the past, including the last token. So a text can
    be scored whole or in chunks of any size with the same result, its first token is scored like all others,
    and targets are not shifted. `check_language_model` checks these invariants.

    A state is a tensor or a (named) tuple of states; the first dimension of each tensor is the batch.

    A model may have other methods; `StreamModel` says what they return:

    ==================  =====================================================
    `loss`              training
    `loss_and_penalty`  training with a penalty, such as a norm of activations
    `prepare`           training on spellings or topics, read from the text first
    `next_log_probs`    generation, pages that explain predictions
    `scores_and_hidden` the neural cache
    `locked_masks`      Monte Carlo dropout
    ==================  =====================================================
    """

    def initial_state(self, batch_size: int) -> State:
        """Return the state at the start of `batch_size` texts, after one `<eos>`."""
        ...

    def __call__(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Score the next tokens of each text.

        Args:
            tokens: int64 ids, (batch, time).
            state: The state before them, which does not change.

        Returns:
            Natural log-probabilities, (batch, time), and the state after the last token.
        """
        ...


def generative(model: object) -> Any:  # noqa: ANN401 - a model of any class
    """Return a model that has `next_log_probs`, which predicts all words at once; else raise ModelError."""
    if not hasattr(model, name := "next_log_probs"):
        raise ModelError(
            f"{type(model).__name__} has no {name}, which scores all words; docs/own-model.md shows one"
        )
    return model


def reads_word_by_word(model: object) -> bool:
    """Return True if a model reads one word after the other, as our recurrent models and torch's RNNs do."""
    has_rnn = isinstance(model, nn.Module) and any(isinstance(module, RNNS) for module in model.modules())
    is_recurrent = has_rnn or hasattr(model, "scores_and_hidden")
    return is_recurrent and not getattr(model, "reads_segments_whole", False)


def map_state(function: Callable[[Tensor], Tensor], state: State) -> State:
    """Apply a function to each tensor of a state.

    >>> import torch
    >>> map_state(lambda rows: rows[:1], (torch.tensor([1, 2]), None))
    (tensor([1]), None)
    """
    if isinstance(state, Tensor):
        return cast("State", function(state))
    if isinstance(state, tuple):
        parts = [map_state(function, part) for part in state]
        return cast("State", type(state)(*parts) if hasattr(state, "_fields") else tuple(parts))
    if state is None:
        return state
    msg = f"a state is a tensor, None or a tuple of states, but this one has {type(state).__name__}"
    raise TypeError(msg)


def join_states(states: Sequence[State]) -> State:
    """Join the states of several batches into that of one batch, in order.

    >>> import torch
    >>> join_states([(torch.tensor([1]), None), (torch.tensor([2]), None)])
    (tensor([1, 2]), None)
    """
    first = states[0]
    if isinstance(first, Tensor):
        return cast("State", torch.cat(cast("list[Tensor]", list(states))))
    if isinstance(first, tuple):
        parts = [join_states(part) for part in zip(*cast("Sequence[tuple[Any]]", states), strict=True)]
        return cast("State", type(first)(*parts) if hasattr(first, "_fields") else tuple(parts))
    return first


def tensors_of(state: object) -> list[Tensor]:
    """Return the tensors of a state, in the order of `map_state`."""
    if isinstance(state, tuple):
        return [tensor for part in state for tensor in tensors_of(part)]
    return [state] if isinstance(state, Tensor) else []


def detach(state: State) -> State:
    """Return the state as a constant, without gradients."""
    return map_state(Tensor.detach, state)
