"""How a model made each prediction: its most likely words, and where its pointer looked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn

from ps_models.evaluation.evaluate import evaluating
from ps_models.language_model import AnyState, Generative
from ps_models.layers.window import NO_WORD
from ps_models.models.pointer_sentinel import PointerSentinelLSTM

TOP = 8  # words shown of each distribution
LEAST_ATTENTION = 0.002  # shares of attention below this are left out
CHUNK = 64  # predictions at once: bounds memory (chunk x vocabulary)

Shares = tuple[tuple[int, float], ...]  # (word id, probability), the most likely first


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """One word of a text and how it was predicted."""

    word: int  # its id
    probability: float
    mixture: Shares  # the most likely words
    vocabulary: Shares = ()  # the same by the softmax alone; empty for a model without a pointer
    pointer: Shares = ()  # the words of the window by the pointer alone
    gate: float | None = None  # g, the share of the softmax
    attention: Shares = ()  # (how many words back, share), without the gate
    window: tuple[int, ...] = ()  # its words, oldest first


def predictions(
    model: nn.Module,
    tokens: Tensor,
    state: AnyState = None,
    *,
    device: torch.device | str = "cpu",
) -> Iterator[Prediction]:
    """How each token of a text is predicted.

    Args:
        model: Any generative model; a pointer sentinel-LSTM also gives the softmax, the pointer and the gate.
        tokens: int64 ids, (time,).
        state: What came before; the start of a text if None.
        device: Where the model is.
    """
    with evaluating(model), torch.no_grad():
        state = model.initial_state(1) if state is None else state  # type: ignore[operator]
        for chunk in torch.split(tokens.to(device), CHUNK):
            if isinstance(model, PointerSentinelLSTM):
                found, state = model.inspect(chunk[None], state)
                vocabulary = model.vocab_log_probs(found.hidden_BTH[0]).double().exp()
                parts = (chunk, vocabulary, found.gate_BT[0], found.words_BTW[0], found.attention_BTW[0])
                on_cpu = (part.cpu() for part in parts)  # read number by number
                for word, softmax, gate, words, attention in zip(*on_cpu, strict=True):
                    yield _of_pointer(int(word), softmax, float(gate), words, attention.double())
            else:
                plain = cast("Generative[Any]", model)
                for word in chunk:
                    probabilities = plain.next_log_probs(state)[0].double().exp()
                    yield Prediction(
                        word=int(word), probability=float(probabilities[word]), mixture=_top(probabilities)
                    )
                    _, state = plain(word[None, None], state)


def _of_pointer(word: int, softmax: Tensor, gate: float, words: Tensor, attention: Tensor) -> Prediction:
    pointer = torch.zeros_like(softmax).scatter_add_(0, words.clamp(min=0), attention)
    mixture = gate * softmax + pointer
    length = len(words)
    shares = [
        (length - place, float(share)) for place, share in enumerate(attention) if share >= LEAST_ATTENTION
    ]
    return Prediction(
        word=word,
        probability=float(mixture[word]),
        mixture=_top(mixture),
        vocabulary=_top(softmax),
        pointer=tuple(pair for pair in _top(pointer / pointer.sum().clamp(min=1e-30)) if pair[1] > 0),
        gate=gate,
        attention=tuple(sorted(shares, key=lambda pair: -pair[1])),
        window=tuple(int(seen) for seen in words if seen != NO_WORD),
    )


def _top(probabilities: Tensor) -> Shares:
    shares, words = probabilities.topk(min(TOP, len(probabilities)))
    return tuple(zip(words.tolist(), shares.tolist(), strict=True))
