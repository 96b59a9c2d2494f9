"""What a language model is for all other code: it scores tokens, and a state holds the past."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

import torch
from torch import Tensor

from wikitext_builder.dataset.vocabulary import Vocabulary

State = TypeVar("State")
AnyState = Any  # the state of a model that is not known by its class: each model has its own


class LanguageModel(Protocol[State]):
    """Gives every token its probability from the tokens before it.

    The state holds all that the model knows about the past, including the last token. So a text can be scored
    whole or in chunks of any size with the same result, its first token is scored like all others, and there
    are no pairs of inputs and shifted targets. `check_language_model` checks these laws.

    A state is a tensor or a (named) tuple of states; the first dimension of each tensor is the batch.
    """

    def initial_state(self, batch_size: int) -> State:
        """The state at the start of `batch_size` texts: only one `<eos>` was read."""
        ...

    def __call__(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Score the next tokens of each text.

        Args:
            tokens: int64 ids, (batch, time).
            state: The state before them; it is not changed.

        Returns:
            Natural log-probabilities, (batch, time), and the state after the last token.
        """
        ...


class Trainable(LanguageModel[State], Protocol[State]):
    """A language model that gradients can train."""

    def loss(
        self, tokens: Tensor, state: State, scored: int | None = None, advance: int | None = None
    ) -> tuple[Tensor, State]:
        """The nats, -log p, of each of the last `scored` tokens; training averages and minimises them.

        They are not averaged here: rows can differ in length, and processes sum over tokens before they
        divide.

        Truncated back-propagation (Algorithm 1 of the paper: every k1 steps, through the last k2) is a loop
        over this one call. An update scores K tokens, each of which looks back on L outputs and sends
        gradients through them. It gets `tokens` of length L - 1 + K: all of their outputs are computed again
        with the current weights, the last K tokens are scored (k1 = K, L <= k2 <= L + K - 1), and the state
        advances by K tokens, to where the next update begins. With L = 100, K = 1 is the paper's schedule::

            for end in range(K, length + 1, K):
                begin, next_begin = (max(0, first - (L - 1)) for first in (end - K, end))
                nats, state = model.loss(stream[:, begin:end], state, scored=K, advance=next_begin - begin)
                nats.mean().backward()

        (At the start of the stream the look-back is shorter and the state does not advance: `advance` is 0.)
        Plain segments are `model.loss(segment, state)`: every token is scored, and the state is the one after
        the segment; a pointer's window then reaches into outputs of earlier updates, which are constants.

        Args:
            tokens: int64 ids, (batch, time).
            state: The state before the first of them; it is not changed.
            scored: How many tokens at the end are scored; None: all.
            advance: Return the state after this many tokens; None: after `scored`.

        Returns:
            Nats, (batch, scored), at least in float32, and the detached state: back-propagation ends at the
            borders of calls.
        """
        ...


class Generative(LanguageModel[State], Protocol[State]):
    """A language model that gives the probabilities of all words at once."""

    def next_log_probs(self, state: State) -> Tensor:
        """Natural log-probabilities of every word as the next token: (batch, vocabulary)."""
        ...


@runtime_checkable
class Distributed(LanguageModel[State], Protocol[State]):
    """A language model that gives the probabilities of all words at each token of a text in one call."""

    def all_log_probs(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Natural log-probabilities of every word in place of each token.

        Args:
            tokens: int64 ids, (batch, time).
            state: The state before them; it is not changed.

        Returns:
            (batch, time, vocabulary), and the state after the last token.
        """
        ...


@runtime_checkable
class Recurrent(LanguageModel[State], Protocol[State]):
    """A language model that also returns its hidden outputs, which a `NeuralCache` needs."""

    def scores_and_hidden(self, tokens: Tensor, state: State) -> tuple[Tensor, Tensor, State]:
        """Log-probabilities (B, T), the output that predicted each (B, T, hidden), and the state."""
        ...


def reads_word_by_word(model: object) -> bool:
    """Whether a model reads a word only after it has read the one before, as most `Recurrent` ones do."""
    return isinstance(model, Recurrent) and not getattr(model, "reads_segments_whole", False)


@runtime_checkable
class Penalised(Protocol[State]):
    """A trainable model that also minimises something other than its nats, such as a norm of activations."""

    def loss_and_penalty(
        self, tokens: Tensor, state: State, scored: int | None = None, advance: int | None = None
    ) -> tuple[Tensor, Tensor, State]:
        """What `loss` returns, with a penalty between the nats and the state.

        The penalty, a tensor without dimensions, is a mean over the tokens: training minimises the mean of
        the nats plus the penalty. Training calls this method in place of `loss`; the loss and the perplexity
        that it reports are those of the nats alone.
        """
        ...


@runtime_checkable
class Prepared(Protocol):
    """A model that reads the training text before it is trained, for example for spellings or topics."""

    def prepare(self, stream: Tensor, vocabulary: Vocabulary, seed: int) -> None:
        """Fill the model's buffers, which its checkpoints keep; the same arguments give the same buffers.

        Args:
            stream: int64 ids of the training text, (time,).
            vocabulary: The words of the ids.
            seed: For random draws.
        """
        ...


def map_state(function: Callable[[Tensor], Tensor], state: State) -> State:
    """The same state with the function applied to each tensor in it.

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
    """The states of several batches as that of one batch, in order.

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
    """The tensors of a state, in the order of `map_state`."""
    if isinstance(state, tuple):
        return [tensor for part in state for tensor in tensors_of(part)]
    return [state] if isinstance(state, Tensor) else []


def detach(state: State) -> State:
    """The same state as a constant: gradients do not flow through it."""
    return map_state(Tensor.detach, state)
