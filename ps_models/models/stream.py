"""Defines the base class of trainable models: a softmax scores the outputs of steps over a stream of tokens.

A model defines `initial_state` and `run`. The scores, the loss and the next words follow from them.

A dropout mask is drawn once and passed on, so that a call of a model uses the same mask throughout. It is 0
where a unit is dropped and 1 / (1 - rate) elsewhere, so that evaluation, which keeps all units, needs no
scaling.
"""

# Shapes: B = batch, T = time, H = outputs, V = vocabulary.

from __future__ import annotations

from typing import Any, Generic, NamedTuple

import torch
from torch import Tensor, nn

from ps_models.language_model import State, detach
from ps_models.layers.softmax import widen
from wikitext_builder.dataset.vocabulary import Vocabulary


class Masks(NamedTuple):
    """The dropout masks of a call; None where nothing is dropped. Zones of zoneout are not among them."""

    types: Tensor | None  # (B, V)
    inputs: tuple[Tensor | None, ...]  # per layer: (1 or T, B, H), or (4, 1 or T, B, H) per gate
    recurrent: tuple[Tensor | None, ...]  # per layer: (B, H), or (4, B, H) per gate
    output: Tensor | None  # (1 or T, B, H)


def dropout_mask(
    rate: float, shape: tuple[int, ...], like: Tensor, generator: torch.Generator | None = None
) -> Tensor | None:
    """Draw a mask of that shape; None for rate 0.

    With a time dimension of 1 it is locked over all steps: variational dropout (Gal and Ghahramani 2015,
    https://arxiv.org/abs/1512.05287). With one mask per step it is the dropout of Zaremba et al. (2014).

    >>> _ = torch.manual_seed(0)
    >>> dropout_mask(0.5, (1, 2, 3), like=torch.zeros(1)).unique().tolist()
    [0.0, 2.0]
    """
    if not 0 <= rate < 1:
        raise ValueError(f"dropout rate {rate}: expected at least 0 and less than 1")
    if rate == 0:
        return None
    return _random_ones(1 - rate, shape, like, generator).div_(1 - rate)


def type_mask(rate: float, tokens_BT: Tensor, like: Tensor) -> Tensor | None:
    """Draw a mask (B, T) that drops types: in each row all or none of a type's occurrences.

    Gal and Ghahramani (2015), section 4.2. Positions are drawn, not the whole vocabulary: each occurrence of
    a type takes the value of its first occurrence in the row.
    """
    drawn_BT = dropout_mask(rate, tuple(tokens_BT.shape), like)
    if drawn_BT is None:
        return None
    same_BTT = tokens_BT[:, :, None] == tokens_BT[:, None, :]
    first_BT = same_BTT.int().argmax(dim=-1)
    return drawn_BT.gather(1, first_BT)


def zone_mask(rate: float, shape: tuple[int, ...], like: Tensor) -> Tensor | float:
    """Draw zones of 0 and 1, with 1 where a unit keeps its previous value; 0.0 for rate 0."""
    if not 0 <= rate < 1:
        raise ValueError(f"zoneout rate {rate}: expected at least 0 and less than 1")
    return _random_ones(rate, shape, like) if rate else 0.0


def _random_ones(
    probability: float, shape: tuple[int, ...], like: Tensor, generator: torch.Generator | None = None
) -> Tensor:
    """Draw ones with this probability, else zeros; on a CPU in a third of the time of `bernoulli_`."""
    drawn = torch.empty(shape, dtype=like.dtype, device=like.device)
    return drawn.uniform_(generator=generator).lt_(probability)


class StreamModel(nn.Module, Generic[State]):
    """A language model whose state ends with a token that it has not read yet, `token_B`."""

    config: Any
    softmax: Any  # an `Output`

    def initial_state(self, batch_size: int) -> State:
        """Return the state at the start of texts; see `LanguageModel`."""
        raise NotImplementedError

    def run(self, tokens_BT: Tensor, state: State, *, advance: int) -> tuple[Tensor, State]:
        """Return the outputs that predict the tokens, (B, T, H), and the state after `advance` of the tokens.

        The output that predicts a token comes from reading the token before it: the last token is not read.
        For `advance` = 0 the state is the given one. A model with `locked_masks` also takes `masks`: without
        them it draws masks in training, and drops nothing in evaluation.
        """
        raise NotImplementedError

    def forward(self, tokens: Tensor, state: State, masks: Masks | None = None) -> tuple[Tensor, State]:
        """Score tokens (batch, time); see `LanguageModel`."""
        log_probs_BT, _, state = self.scores_and_hidden(tokens, state, masks)
        return log_probs_BT, state

    def scores_and_hidden(
        self, tokens: Tensor, state: State, masks: Masks | None = None
    ) -> tuple[Tensor, Tensor, State]:
        """Return log-probabilities (B, T), the outputs that predicted them (B, T, H), and the state."""
        given_masks: dict[str, Any] = {} if masks is None else {"masks": masks}
        hidden_BTH, state = self.run(tokens, state, advance=tokens.shape[1], **given_masks)
        return self.score(hidden_BTH, tokens), hidden_BTH, state

    def loss(
        self, tokens: Tensor, state: State, scored: int | None = None, advance: int | None = None
    ) -> tuple[Tensor, State]:
        """Return -log p, in nats, of each of the last `scored` tokens.

        They are not averaged, because rows can differ in length, and processes sum before they divide.

        Truncated back-propagation (Algorithm 1 of the paper: every k1 steps, through the last k2) is a loop
        over this call. An update scores K tokens, each of which looks back on L outputs and sends gradients
        through them. It gets `tokens` of length L - 1 + K: it recomputes their outputs with the current
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
        nats_BT, _, after = self.loss_and_penalty(tokens, state, scored, advance)
        return nats_BT, after

    def loss_and_penalty(
        self, tokens: Tensor, state: State, scored: int | None = None, advance: int | None = None
    ) -> tuple[Tensor, Tensor | float, State]:
        """Return what `loss` does, with a penalty between the nats and the state.

        The penalty is a scalar, a mean over the tokens, or a number per token, as the nats are: training
        minimises the mean of the nats plus that of the penalty. It calls this method instead of `loss`, but
        reports the nats alone.
        """
        scored, advance = scored_and_advance(tokens, scored, advance)
        hidden_BTH, state = self.run(tokens, state, advance=advance)
        return -self.score(hidden_BTH[:, -scored:], tokens[:, -scored:]), 0.0, detach(state)

    def prepare(self, stream: Tensor, vocabulary: Vocabulary, seed: int) -> None:
        """Fill the buffers that depend on the training text, deterministically; checkpoints keep them.

        Args:
            stream: int64 ids of the training text, (time,).
            vocabulary: The words of the ids.
            seed: For random draws.
        """

    @torch.no_grad()
    def next_log_probs(self, state: State) -> Tensor:
        """Return natural log-probabilities of every word as the next token: (batch, vocabulary)."""
        token_B: Tensor = state.token_B  # type: ignore[attr-defined]
        hidden_BTH, _ = self.run(token_B[:, None], state, advance=0)
        log_probs_BV: Tensor = self.softmax.log_probs(hidden_BTH[:, 0])
        return log_probs_BV

    def score(self, hidden_BTH: Tensor, tokens_BT: Tensor) -> Tensor:
        """Return log-probabilities of tokens from the outputs that predict them."""
        log_probs_N: Tensor = self.softmax(hidden_BTH.flatten(0, 1), tokens_BT.flatten())
        return log_probs_N.view(tokens_BT.shape)

    def start(self, batch_size: int) -> Tensor:
        """Return the token before a text, `<eos>`, which is the next one to read: (B,)."""
        return torch.full((batch_size,), self.config.eos, device=self.like.device)

    def zeros(self, *shape: int) -> Tensor:
        """Return zeros for a state, in float32 or wider."""
        return widen(self.like.new_zeros(shape))

    def draw_uniform(self) -> None:
        """Draw all weights from the uniform distribution of the configuration."""
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -self.config.init, self.config.init)

    def dropped_types(self, read_BT: Tensor, types_BV: Tensor | None = None) -> Tensor | None:
        """Return a mask of the tokens that are read, (B, T, 1): from given types, or drawn in training."""
        if types_BV is not None:
            return types_BV.gather(1, read_BT)[..., None]
        drawn = type_mask(self.config.type_dropout, read_BT, self.like) if self.training else None
        return None if drawn is None else drawn[..., None]

    @property
    def like(self) -> Tensor:
        """A parameter, whose type and device new tensors take."""
        return next(self.parameters())


def shifted(token_B: Tensor, tokens_BT: Tensor, advance: int) -> tuple[Tensor, Tensor]:
    """Return the tokens that are read to predict `tokens_BT`, (B, T), and the last one of `advance`, (B,)."""
    read_BT = torch.cat([token_B[:, None], tokens_BT[:, :-1]], dim=1)
    return read_BT, tokens_BT[:, advance - 1] if advance else token_B


def scored_and_advance(tokens: Tensor, scored: int | None, advance: int | None) -> tuple[int, int]:
    """Check the arguments of `StreamModel.loss`, and fill in their defaults."""
    time = tokens.shape[1]
    scored = time if scored is None else scored
    advance = scored if advance is None else advance
    if not 1 <= scored <= time or not 0 <= advance <= time:
        raise ValueError(
            f"scored={scored} and advance={advance}: expected at most {time}, the number of tokens"
        )
    return scored, advance


def loss_of_scores(
    model: Any,  # noqa: ANN401 - any language model
    tokens: Tensor,
    state: Any,  # noqa: ANN401 - of the model
    scored: int | None = None,
    advance: int | None = None,
) -> tuple[Tensor, Any]:
    """Compute the `loss` of a model that only scores; in its class, write `loss = pm.loss_of_scores`.

    It is exact for any schedule, and fast for plain segments (bptt=1); otherwise it reads tokens twice.
    """
    scored, advance = scored_and_advance(tokens, scored, advance)
    log_probs_BT, after = model(tokens, state)
    if advance < tokens.shape[1]:
        with torch.no_grad():
            after = model(tokens[:, :advance], state)[1] if advance else state
    return -log_probs_BT[:, -scored:], detach(after)
