"""Defines language models: they score tokens, and a state holds the past."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

import torch
from torch import Tensor, nn

from ps_models.errors import ModelError
from wikitext_builder.dataset.vocabulary import Vocabulary

RNNS = (nn.RNNBase, nn.RNNCellBase)
State = TypeVar("State")
AnyState = Any  # of a model whose class is unknown: each model has its own state


class LanguageModel(Protocol[State]):
    """Predicts each token from those before it.

    The state holds everything that the model knows about the past, including the last token. So a text can be
    scored whole or in chunks of any size with the same result, its first token is scored like all others, and
    there are no shifted targets. `check_language_model` checks these invariants.

    A state is a tensor or a (named) tuple of states; the first dimension of each tensor is the batch.
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


class Trainable(LanguageModel[State], Protocol[State]):
    """A language model trained by gradient descent."""

    def loss(
        self, tokens: Tensor, state: State, scored: int | None = None, advance: int | None = None
    ) -> tuple[Tensor, State]:
        """Return -log p, in nats, of each of the last `scored` tokens.

        They are not averaged, because rows can differ in length, and processes sum before they divide.

        Truncated back-propagation (Algorithm 1 of the paper: every k1 steps, through the last k2) is a loop
        over this call. An update scores K tokens, each of which looks back on L outputs and sends gradients
        through them. It gets `tokens` of length L - 1 + K: their outputs are recomputed with the current
        weights, the last K tokens are scored (k1 = K, L <= k2 <= L + K - 1), and the state advances by K
        tokens, to the start of the next update. With L = 100, K = 1 is the paper's schedule::

            for end in range(K, length + 1, K):
                begin, next_begin = (max(0, first - (L - 1)) for first in (end - K, end))
                nats, state = model.loss(stream[:, begin:end], state, scored=K, advance=next_begin - begin)
                nats.mean().backward()

        (At the start of the stream the look-back is shorter and the state does not advance: `advance` is 0.)
        Plain segments are `model.loss(segment, state)`: every token is scored, and the state is the one after
        the segment; a pointer's window then reaches into outputs of earlier updates, which are constants.

        Args:
            tokens: int64 ids, (batch, time).
            state: The state before the first of them, which does not change.
            scored: Number of tokens to score, at the end; None: all.
            advance: Return the state after this many tokens; None: after `scored`.

        Returns:
            Nats, (batch, scored), at least in float32, and the detached state: gradients stay within a call.
        """
        ...


class Generative(LanguageModel[State], Protocol[State]):
    """A language model that predicts all words at once."""

    def next_log_probs(self, state: State) -> Tensor:
        """Return natural log-probabilities of every word as the next token: (batch, vocabulary)."""
        ...


def generative(model: object) -> Generative[Any]:
    """A model that predicts all words at once; a ModelError says that it does not."""
    if not hasattr(model, name := "next_log_probs"):
        raise ModelError(f"{type(model).__name__} has no {name}, of all words; docs/own-model.md shows one")
    return cast("Generative[Any]", model)


@runtime_checkable
class Recurrent(LanguageModel[State], Protocol[State]):
    """A language model that also returns its hidden outputs, which a `NeuralCache` needs."""

    def scores_and_hidden(self, tokens: Tensor, state: State) -> tuple[Tensor, Tensor, State]:
        """Return log-probabilities (B, T), the output that predicted each (B, T, hidden), and the state."""
        ...


def reads_word_by_word(model: object) -> bool:
    """Return True if a model reads one word after the other, as most `Recurrent` ones and torch's RNNs do."""
    has_rnn = isinstance(model, nn.Module) and any(isinstance(part, RNNS) for part in model.modules())
    return (has_rnn or isinstance(model, Recurrent)) and not getattr(model, "reads_segments_whole", False)


@runtime_checkable
class Penalised(Protocol[State]):
    """A trainable model whose loss has a penalty, such as a norm of activations."""

    def loss_and_penalty(
        self, tokens: Tensor, state: State, scored: int | None = None, advance: int | None = None
    ) -> tuple[Tensor, Tensor, State]:
        """Return what `loss` does, with a penalty between the nats and the state.

        The penalty, a scalar tensor, is a mean over the tokens: training minimises the mean of the nats plus
        the penalty. It calls this method instead of `loss`, but reports the nats alone.
        """
        ...


@runtime_checkable
class Prepared(Protocol):
    """A model that reads the training text before training, for example for spellings or topics."""

    def prepare(self, stream: Tensor, vocabulary: Vocabulary, seed: int) -> None:
        """Fill the model's buffers, which its checkpoints keep, deterministically.

        Args:
            stream: int64 ids of the training text, (time,).
            vocabulary: The words of the ids.
            seed: For random draws.
        """
        ...


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
