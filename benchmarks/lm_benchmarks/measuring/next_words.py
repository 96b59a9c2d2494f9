"""The probabilities of all words in place of each token of a text, in blocks that bound memory.

A model with `all_log_probs` gives a block in one call. One with `next_log_probs` reads word by word, and its
states are joined to a batch. Any other model scores every word as the next one, if that is affordable.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import torch
from torch import Tensor

from lm_benchmarks.choices import CHUNK
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.measuring.loaded_model import LoadedModel, user_code
from ps_models.evaluation.evaluate import evaluating
from ps_models.invariants import SUMS, Trial, copies
from ps_models.language_model import AnyState, Distributed, join_states, tensors_of

NUMBERS: Final = 2**23  # tokens x words of a block: 64 MB in float64, a few times per model
MOST: Final = 10**8  # predictions of a model that scores words one by one: some minutes, or hours on a server
TOLERANCE: Final = 1e-3  # nats that a score may differ from the same one among those of all words


def rows_of(vocab_size: int) -> int:
    """Tokens per block."""
    return max(1, min(CHUNK, NUMBERS // vocab_size))


def expect_affordable(loaded: LoadedModel, tokens: int, device: torch.device) -> None:
    """Check what the probabilities of all words cost."""
    if _gives_all(loaded, device):
        return
    size = len(loaded.vocabulary)
    cost = tokens * size * (1 + min(loaded.reread, tokens // 2))
    if cost > MOST:
        raise HarnessError(
            f"{loaded.name} has no next_log_probs, so each of {size:,} words is scored after each of"
            f" {tokens:,} tokens: {cost:.1e} predictions; expected {MOST:.0e} at most. Give the model"
            " next_log_probs (docs/own-model.md), or take fewer --tokens. Models of pieces are compared piece"
            " by piece if both are `transformers:…` or `gguf:…`"
        )


def distributions(loaded: LoadedModel, stream: Tensor, device: torch.device, rows: int) -> Iterator[Tensor]:
    """Natural log-probabilities of all words in place of each token, in blocks of (tokens, words).

    The stream, (time,), starts at the beginning of a text; `rows` are the tokens per block.
    """
    model = loaded.model
    whole, gives_all = isinstance(model, Distributed), _gives_all(loaded, device)
    with torch.no_grad(), user_code(loaded.users), evaluating(model):
        state = model.initial_state(1)
    for number, tokens in enumerate(torch.split(stream.to(device), rows)):
        with torch.no_grad(), user_code(loaded.users), evaluating(model):
            if isinstance(model, Distributed) and whole:
                batch, after = model.all_log_probs(tokens[None], state)
                table = batch[0]
            else:
                table, after = _step_by_step(loaded, tokens, state, all_at_once=gives_all)
            if not number:
                _expect_same(loaded, model(tokens[None], state)[0][0], table, tokens)
            state = after
        yield table


def _gives_all(loaded: LoadedModel, device: torch.device) -> bool:
    """Whether the model gives the scores of all words in one call."""
    if isinstance(loaded.model, Distributed):
        return True
    with torch.no_grad(), user_code(loaded.users), evaluating(loaded.model):
        trial = _trial(loaded, torch.zeros(1, dtype=torch.int64, device=device))
        return trial.every_score(loaded.model.initial_state(1)) is not None


def _trial(loaded: LoadedModel, tokens: Tensor) -> Trial:
    size = len(loaded.vocabulary)
    return Trial(model=loaded.model, tokens=tokens[None], vocab_size=size, tolerance=TOLERANCE)


def _step_by_step(
    loaded: LoadedModel, tokens: Tensor, state: AnyState, *, all_at_once: bool
) -> tuple[Tensor, AnyState]:
    """The scores of all words before each token, (tokens, words), and the state after the last one."""
    model: Any = loaded.model
    trial, words = _trial(loaded, tokens), torch.arange(len(loaded.vocabulary), device=tokens.device)
    rows, waiting = list[Tensor](), list[AnyState]()
    for token in tokens:
        if not all_at_once:
            rows.append(trial.next_scores(state, words)[None].to(tokens.device))
        elif waiting and (_kind(state) != _kind(waiting[0]) or len(waiting) == copies(state)):
            rows.append(model.next_log_probs(join_states(waiting)).to(tokens.device))
            waiting.clear()
        waiting += [state] if all_at_once else []
        _, state = model(token.reshape(1, 1), state)
    if waiting:
        rows.append(model.next_log_probs(join_states(waiting)).to(tokens.device))
    return torch.cat(rows), state


def _kind(state: AnyState) -> list[tuple[torch.Size, torch.device]]:
    """What states have in common if they can be joined; those that grow cannot."""
    return [(one.shape, one.device) for one in tensors_of(state)]


def _expect_same(loaded: LoadedModel, scores: Tensor, table: Tensor, tokens: Tensor) -> None:
    """Refuse scores of all words that are not those of the text."""
    expected = (len(tokens), len(loaded.vocabulary))
    if table.shape != expected:
        raise HarnessError(
            f"{loaded.name}: the scores of all words have the shape {tuple(table.shape)}; expected"
            f" {expected}, (tokens, words)"
        )
    right = table.gather(1, tokens.to(table.device)[:, None])[:, 0]
    worst = (right - scores.to(table.device)).abs().max()
    if not worst <= TOLERANCE:
        raise HarnessError(
            f"{loaded.name}: scores of the text differ by up to {float(worst):.3g} nats from those among all"
            f" words; expected the same. `lm-benchmarks check` tries the laws"
        )


def normalized(name: str, table: Tensor, *, is_open: bool, seen: int) -> tuple[Tensor, Tensor]:
    """Log-probabilities in float64 that sum to one, and the logarithm of what they summed to, (tokens,).

    If the vocabulary is open, words outside it have probability too: those in it may sum to less than one.
    """
    exact = table.double()
    totals = exact.logsumexp(-1)
    lowest = 0.0 if is_open else 1 - SUMS
    sums = totals.exp()
    wrong = ~((sums >= lowest) & (sums > 0) & (sums <= 1 + SUMS))  # also NaN
    if wrong.any():
        row = int(wrong.nonzero()[0])
        raise HarnessError(
            f"{name}: the probabilities of {table.shape[1]:,} words sum to {float(sums[row]):.6f} at token"
            f" {seen + row}; expected {'at most ' if is_open else ''}1: what does not sum to one has no"
            " divergence"
        )
    return exact - totals[:, None], totals


def compared(first: Tensor, second: Tensor, targets: Sequence[int] | Tensor) -> Tensor:
    """What two normalized distributions, p and q, are to each other at each token.

    Returns (4, tokens): KL(p || q); log p and log q of the word of the text; 1 if the best word is the same.
    """
    terms = first.exp()
    terms = torch.where(terms > 0, terms * (first - second), 0.0)  # 0 log 0 = 0
    right = torch.as_tensor(targets, device=first.device)[:, None]
    same = first.argmax(-1) == second.argmax(-1)
    return torch.stack(
        [
            terms.sum(-1).clamp(min=0),  # rounding alone makes it negative
            first.gather(1, right)[:, 0],
            second.gather(1, right)[:, 0],
            same.double(),
        ]
    )
