"""Takes predictions apart: how each was made, and in which passages a pointer helped most."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

import torch
from torch import Tensor, nn

from ps_models.errors import ModelError
from ps_models.language_model import AnyState, generative
from ps_models.layers.window import NO_WORD
from ps_models.models.pointer_sentinel import PointerSentinel
from ps_models.scoring import evaluating, lazily_evaluating
from wikitext_builder.dataset.vocabulary import EOS, UNK, Vocabulary
from wikitext_builder.progress import Progress, no_progress

TOP_WORDS = 8  # shown of each distribution
MIN_ATTENTION = 0.002  # smaller shares of attention are left out
HELP_LEVELS = (1.1, 2.0, 8.0)  # steps of colour: factors of p_vocab(w), up or down
SURPRISE_LEVELS = tuple(map(math.log, (10, 100, 1000)))  # steps for a model without a pointer, in nats
PREDICTIONS_AT_ONCE = 64  # bounds memory: (predictions x vocabulary) and (predictions x window) numbers

Shares = tuple[tuple[int, float], ...]  # (word id, probability), the most likely first


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """A distribution over words: the probabilities of the true word and of the most likely words."""

    probability: float  # of the true word
    rank: int | None  # 1 + the number of words that are more likely; None: the true word is impossible
    top: Shares  # the most likely words; impossible words are left out


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """A word of a text and how it was predicted."""

    word: int  # its id: the true word
    mixture: Distribution  # the model's prediction
    copied: tuple[float, ...] = ()  # the pointer's part of each of the mixture's top words
    vocabulary: Distribution | None = None  # p_vocab, of the softmax alone; None without a pointer
    pointer: Distribution | None = None  # of the pointer alone: the attention divided by 1 - g
    gate: float | None = None  # g, the share of the softmax
    attention: Shares = ()  # (how many words back, share), without the gate
    window: tuple[int, ...] = ()  # its words, oldest first

    @property
    def probability(self) -> float:
        """The probability that the model gave the true word."""
        return self.mixture.probability

    @property
    def from_pointer(self) -> float:
        """The pointer's part of the true word's probability: the attention on its places."""
        if self.vocabulary is None or self.gate is None:
            return 0.0
        return max(0.0, self.probability - self.gate * self.vocabulary.probability)

    @property
    def gain(self) -> float | None:
        """What the pointer added to the true word, in nats: ln p(w) - ln p_vocab(w); None without a pointer.

        p_vocab(w) is the softmax's probability, the mixture with g = 1; it is not g p_vocab(w), the softmax's
        part of the mixture. The gain is at least ln g: then the pointer gave w nothing.
        """
        if self.vocabulary is None:
            return None
        return _log(self.probability) - _log(self.vocabulary.probability)


def predictions(
    model: nn.Module,
    tokens: Tensor,
    state: AnyState = None,
    *,
    device: torch.device | str = "cpu",
) -> Iterator[Prediction]:
    """Yield how each token of a text, (time,), is predicted after a state; None: at the start of a text.

    Predictions of a model with a pointer also have the softmax, the pointer and the gate.
    """
    yield from lazily_evaluating(model, _predictions(model, tokens.to(device), state))


def _predictions(model: nn.Module, tokens: Tensor, state: AnyState) -> Iterator[Prediction]:
    state = model.initial_state(1) if state is None else state  # type: ignore[operator]
    for chunk in torch.split(tokens, PREDICTIONS_AT_ONCE):
        if isinstance(model, PointerSentinel):
            with torch.no_grad():  # not around `yield`: the caller may train the model
                parts, state = model.inspect(chunk[None], state)
                softmax_TV = model.vocab_log_probs(parts.hidden_BTH[0]).double().exp()
            tensors = (chunk, softmax_TV, parts.gate_BT[0], parts.words_BTW[0], parts.attention_BTW[0])
            on_cpu = (tensor.cpu() for tensor in tensors)  # because they are read number by number
            for word, softmax, gate, words, attention in zip(*on_cpu, strict=True):
                yield _pointer_prediction(int(word), softmax, float(gate), words, attention.double())
        else:
            plain_model = generative(model)
            for word in chunk:
                with torch.no_grad():
                    probabilities = plain_model.next_log_probs(state)[0].double().exp().cpu()
                    _, state = plain_model(word[None, None], state)
                yield Prediction(word=int(word), mixture=_distribution(probabilities, int(word)))


def _pointer_prediction(
    word: int, softmax: Tensor, gate: float, words: Tensor, attention: Tensor
) -> Prediction:
    copied = torch.zeros_like(softmax).scatter_add_(0, words.clamp(min=0), attention)
    mixture = _distribution(gate * softmax + copied, word)
    distances = range(len(words), 0, -1)  # in words back
    pairs = zip(distances, attention.tolist(), strict=True)
    shares = [(back, share) for back, share in pairs if share >= MIN_ATTENTION]
    return Prediction(
        word=word,
        mixture=mixture,
        copied=tuple(float(copied[top_word]) for top_word, _ in mixture.top),
        vocabulary=_distribution(softmax, word),
        pointer=_distribution(copied / copied.sum().clamp(min=sys.float_info.min), word),
        gate=gate,
        attention=tuple(sorted(shares, key=lambda pair: -pair[1])),
        window=tuple(int(window_word) for window_word in words if window_word != NO_WORD),
    )


def _distribution(probabilities: Tensor, word: int) -> Distribution:
    probability = float(probabilities[word])
    shares, words = probabilities.topk(min(TOP_WORDS, len(probabilities)))
    pairs = zip(words.tolist(), shares.tolist(), strict=True)
    return Distribution(
        probability=probability,
        rank=1 + int((probabilities > probability).sum()) if probability else None,
        top=tuple((top_word, share) for top_word, share in pairs if share),
    )


def _log(probability: float) -> float:
    """Return the logarithm, or that of the least normal number if a probability underflows."""
    return math.log(max(probability, sys.float_info.min))


BEST = "best"  # as a start: that of the passage in which the pointer helped most
STOPS = (".", "?", "!", EOS)
MAX_SENTENCE_TOKENS = 60  # a longer sentence is cut


def gains(
    model: nn.Module, tokens: Tensor, *, device: torch.device | str = "cpu", progress: Progress = no_progress
) -> Tensor:
    """Return what the pointer added to each token of a text, in nats, (time,); see `Prediction.gain`."""
    if not isinstance(model, PointerSentinel):
        raise ModelError(f"--start: a model without a pointer has no {BEST} passage; expected a number")
    parts, done = [], 0
    with evaluating(model), torch.no_grad():
        state = model.initial_state(1)
        for chunk in torch.split(tokens.to(device), PREDICTIONS_AT_ONCE):
            inspection, state = model.inspect(chunk[None], state)
            gains_BT = inspection.log_probs_BT - inspection.vocab_log_probs_BT
            parts.append(gains_BT[0].double().cpu())
            done += len(chunk)
            progress("explain", done, len(tokens), "looking for the best passage")
    return torch.cat(parts)


def passage_end(tokens: Tensor, vocabulary: Vocabulary, start: int, words: int | None) -> int:
    """Return the end of the passage of `words` words that begins at `start`.

    None: up to a full stop or the end of a line, but at most MAX_SENTENCE_TOKENS.
    """
    end = min(start + (words or MAX_SENTENCE_TOKENS), len(tokens))
    if words is None:
        stops = _ids(vocabulary, STOPS)
        end = next((at + 1 for at in range(start, end) if int(tokens[at]) in stops), end)
    return end


def best_start(tokens: Tensor, gained: Tensor, vocabulary: Vocabulary, words: int | None) -> int:
    """Return the start of the passage in which the pointer added most nats to known words.

    A passage begins where a line does, a sentence also after a full stop. In a tie the first one wins.
    `<unk>` and `<eos>` do not count, because a reader learns nothing from a copy of them. The passage has
    `words` words, or fewer if the whole text is shorter; None: a sentence, see `passage_end`.
    """
    ignored, breaks = _ids(vocabulary, (UNK, EOS)), _ids(vocabulary, STOPS if words is None else (EOS,))
    word_ids = tokens.tolist()
    added = (0.0 if word in ignored else gain for word, gain in zip(word_ids, gained.tolist(), strict=True))
    sums = [0.0, *accumulate(added)]
    starts = [0, *(at + 1 for at, word in enumerate(word_ids[:-1]) if word in breaks)]
    passages = [(start, passage_end(tokens, vocabulary, start, words)) for start in starts]
    full = [(start, end) for start, end in passages if words in (None, end - start)]
    return max(full or passages[:1], key=lambda passage: sums[passage[1]] - sums[passage[0]])[0]


def _ids(vocabulary: Vocabulary, words: Sequence[str]) -> set[int]:
    return {vocabulary.ids[word] for word in words if word in vocabulary}
