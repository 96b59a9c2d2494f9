"""What a language model is, to everything else: scores out of tokens, and a state that holds the past."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar, cast, runtime_checkable

from torch import Tensor

from wikitext_builder.dataset.vocabulary import Vocabulary

State = TypeVar("State")


class LanguageModel(Protocol[State]):
    """Gives every token its probability from the tokens before it.

    The state holds all that the model knows of the past, the last token included. A text can thus be scored
    whole or in chunks of any size with the same result, its first token is scored like any other, and there
    is no pair of inputs and shifted targets. `check_language_model` tests these laws.

    A state is a tensor or a (named) tuple of states; each tensor has the batch as its first dimension.
    """

    def initial_state(self, batch_size: int) -> State:
        """The state at the start of `batch_size` texts: nothing was seen but one `<eos>`."""
        ...

    def __call__(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Score the next tokens of each text.

        Args:
            tokens: int64 ids, (batch, time).
            state: What came before; it is not changed.

        Returns:
            Natural log-probabilities, (batch, time), and the state after the last token.
        """
        ...


class Trainable(LanguageModel[State], Protocol[State]):
    """A language model that gradients can train."""

    def loss(
        self, tokens: Tensor, state: State, scored: int | None = None, advance: int | None = None
    ) -> tuple[Tensor, State]:
        """The nats, -log p, of each of the last `scored` tokens, to be averaged and minimised.

        They are not averaged here: rows may differ in length, and processes sum over tokens before dividing.

        Truncated back-propagation (Algorithm 1 of the paper: every k1 steps, through the last k2) is a loop
        over this one call. An update that scores K tokens, each with L outputs to look back on and to send
        gradients through, is given `tokens` of length L - 1 + K: all of their outputs are computed anew with
        the present weights, the last K are scored (k1 = K, L <= k2 <= L + K - 1), and the state goes on by
        K tokens, to where the next update begins. With L = 100, K = 1 is the paper's schedule::

            for end in range(K, length + 1, K):
                begin, next_begin = (max(0, first - (L - 1)) for first in (end - K, end))
                nats, state = model.loss(stream[:, begin:end], state, scored=K, advance=next_begin - begin)
                nats.mean().backward()

        (At the start of the stream the look-back is shorter and the state waits: `advance` is 0.)
        Plain segments are `model.loss(segment, state)`: all is scored, and the state is that after it; a
        pointer's window then reaches into outputs of earlier updates, which are constants.

        Args:
            tokens: int64 ids, (batch, time).
            state: What came before the first of them; it is not changed.
            scored: How many tokens at the end count, all of them if None.
            advance: Return the state after so many of the tokens; `scored` if None.

        Returns:
            Nats, (batch, scored), in float32 at least, and the state, detached: back-propagation ends at the
            borders of calls.
        """
        ...


class Generative(LanguageModel[State], Protocol[State]):
    """A language model that can say what comes next without being asked about every word."""

    def next_log_probs(self, state: State) -> Tensor:
        """Natural log-probabilities of every word as the next token: (batch, vocabulary)."""
        ...


@runtime_checkable
class Recurrent(LanguageModel[State], Protocol[State]):
    """A language model whose hidden outputs can be had beside its scores; a `NeuralCache` needs them."""

    def scores_and_hidden(self, tokens: Tensor, state: State) -> tuple[Tensor, Tensor, State]:
        """Log-probabilities (B, T), the outputs that predicted each (B, T, hidden), and the state."""
        ...


@runtime_checkable
class Penalised(Protocol[State]):
    """A trainable model that minimises more than its nats, such as a norm of its activations."""

    def loss_and_penalty(
        self, tokens: Tensor, state: State, scored: int | None = None, advance: int | None = None
    ) -> tuple[Tensor, Tensor, State]:
        """What `loss` returns, with a penalty between its nats and the state.

        The penalty, a tensor of no dimension, is a mean over the tokens: what is minimised is the mean of the
        nats plus the penalty. Training takes this method in place of `loss`; the loss and the perplexity that
        it reports are those of the nats alone.
        """
        ...


@runtime_checkable
class Prepared(Protocol):
    """A model that looks at the training text before it is trained: at spellings, at topics."""

    def prepare(self, stream: Tensor, vocabulary: Vocabulary, seed: int) -> None:
        """Fill the model's buffers, which its checkpoints keep; the same for the same arguments.

        Args:
            stream: int64 ids of the training text, (time,).
            vocabulary: Its words by id.
            seed: For what is drawn.
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
    msg = f"a state is a tensor, None or a tuple of states, but this one holds {type(state).__name__}"
    raise TypeError(msg)


def tensors_of(state: object) -> list[Tensor]:
    """The tensors of a state, in the order of `map_state`."""
    if isinstance(state, tuple):
        return [tensor for part in state for tensor in tensors_of(part)]
    return [state] if isinstance(state, Tensor) else []


def detach(state: State) -> State:
    """The same state, a constant to gradients."""
    return map_state(Tensor.detach, state)
