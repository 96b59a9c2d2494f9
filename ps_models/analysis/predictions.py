"""How a model made each prediction, and the passages in which a pointer shows what it is for."""

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
from ps_models.scoring import each_evaluating, evaluating
from wikitext_builder.dataset.vocabulary import EOS, UNK, Vocabulary
from wikitext_builder.progress import Progress, no_progress

TOP = 8  # words shown of each distribution
LEAST_ATTENTION = 0.002  # shares of attention below this are left out
HELP_LEVELS = (1.1, 2.0, 8.0)  # steps of colour: times p_vocab(w), or p_vocab(w) divided by
SURPRISE_LEVELS = tuple(map(math.log, (10, 100, 1000)))  # the same for a model without a pointer, in nats
CHUNK = 64  # predictions at once: bounds memory (chunk x vocabulary, chunk x window)

Shares = tuple[tuple[int, float], ...]  # (word id, probability), the most likely first


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """What one distribution over words says: of the true word, and of the most likely words."""

    probability: float  # of the true word
    rank: int | None  # 1 + the number of words that are more likely; None: the true word is impossible
    top: Shares  # the most likely words, without impossible ones


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """One word of a text and how it was predicted."""

    word: int  # its id: the true word
    mixture: Distribution  # the model's prediction
    copied: tuple[float, ...] = ()  # the pointer's part of each of the mixture's top words
    vocabulary: Distribution | None = None  # p_vocab: by the softmax alone; None without a pointer
    pointer: Distribution | None = None  # by the pointer alone: the attention divided by 1 - g
    gate: float | None = None  # g, the share of the softmax
    attention: Shares = ()  # (how many words back, share), without the gate
    window: tuple[int, ...] = ()  # its words, oldest first

    @property
    def probability(self) -> float:
        """Of the true word, by the model."""
        return self.mixture.probability

    @property
    def from_pointer(self) -> float:
        """The pointer's part of the probability of the true word: the attention on its places."""
        if self.vocabulary is None or self.gate is None:
            return 0.0
        return max(0.0, self.probability - self.gate * self.vocabulary.probability)

    @property
    def gain(self) -> float | None:
        """What the pointer added to the true word, in nats: ln p(w) - ln p_vocab(w); None without a pointer.

        p_vocab(w) is what the softmax gives alone, that is the mixture with g = 1; it is not g p_vocab(w),
        the part of the softmax in the mixture. At worst it is ln g: then the pointer gave w nothing.
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
    """How each token of a text, (time,), is predicted after a state; None: at the start of a text.

    A model with a pointer also gives the softmax, the pointer and the gate.
    """
    yield from each_evaluating(model, _predictions(model, tokens.to(device), state))


def _predictions(model: nn.Module, tokens: Tensor, state: AnyState) -> Iterator[Prediction]:
    state = model.initial_state(1) if state is None else state  # type: ignore[operator]
    for chunk in torch.split(tokens, CHUNK):
        if isinstance(model, PointerSentinel):
            with torch.no_grad():  # not around `yield`: the caller may train
                found, state = model.inspect(chunk[None], state)
                vocabulary = model.vocab_log_probs(found.hidden_BTH[0]).double().exp()
            parts = (chunk, vocabulary, found.gate_BT[0], found.words_BTW[0], found.attention_BTW[0])
            on_cpu = (part.cpu() for part in parts)  # read number by number
            for word, softmax, gate, words, attention in zip(*on_cpu, strict=True):
                yield _of_pointer(int(word), softmax, float(gate), words, attention.double())
        else:
            plain = generative(model)
            for word in chunk:
                with torch.no_grad():
                    probabilities = plain.next_log_probs(state)[0].double().exp().cpu()
                    _, state = plain(word[None, None], state)
                yield Prediction(word=int(word), mixture=_distribution(probabilities, int(word)))


def _of_pointer(word: int, softmax: Tensor, gate: float, words: Tensor, attention: Tensor) -> Prediction:
    copied = torch.zeros_like(softmax).scatter_add_(0, words.clamp(min=0), attention)
    mixture = _distribution(gate * softmax + copied, word)
    every = zip(range(len(words), 0, -1), attention.tolist(), strict=True)  # how far back, and the share
    shares = [(back, share) for back, share in every if share >= LEAST_ATTENTION]
    return Prediction(
        word=word,
        mixture=mixture,
        copied=tuple(float(copied[other]) for other, _ in mixture.top),
        vocabulary=_distribution(softmax, word),
        pointer=_distribution(copied / copied.sum().clamp(min=sys.float_info.min), word),
        gate=gate,
        attention=tuple(sorted(shares, key=lambda pair: -pair[1])),
        window=tuple(int(seen) for seen in words if seen != NO_WORD),
    )


def _distribution(probabilities: Tensor, word: int) -> Distribution:
    own = float(probabilities[word])
    shares, words = probabilities.topk(min(TOP, len(probabilities)))
    return Distribution(
        probability=own,
        rank=1 + int((probabilities > own).sum()) if own else None,
        top=tuple(
            (other, share) for other, share in zip(words.tolist(), shares.tolist(), strict=True) if share
        ),
    )


def _log(probability: float) -> float:
    """The logarithm, or that of the least normal number if a probability underflows."""
    return math.log(max(probability, sys.float_info.min))


BEST = "best"  # the start of the passage in which the pointer helped most
STOPS = (".", "?", "!", EOS)
LONGEST_SENTENCE = 60  # tokens; a longer one is cut


def gains(
    model: nn.Module, tokens: Tensor, *, device: torch.device | str = "cpu", progress: Progress = no_progress
) -> Tensor:
    """What the pointer added to each token of a text, in nats, (time,); see `Prediction.gain`."""
    if not isinstance(model, PointerSentinel):
        raise ModelError(f"--start: a model without a pointer has no {BEST} passage; expected a number")
    parts, done = [], 0
    with evaluating(model), torch.no_grad():
        state = model.initial_state(1)
        for chunk in torch.split(tokens.to(device), CHUNK):
            found, state = model.inspect(chunk[None], state)
            parts.append((found.log_probs_BT - found.vocab_log_probs_BT)[0].double().cpu())
            done += len(chunk)
            progress("explain", done, len(tokens), "looking for the best passage")
    return torch.cat(parts)


def passage_end(tokens: Tensor, vocabulary: Vocabulary, start: int, words: int | None) -> int:
    """The end of the passage of `words` words that begins at `start`.

    None: up to a full stop or the end of a line, and not more than LONGEST_SENTENCE.
    """
    end = min(start + (words or LONGEST_SENTENCE), len(tokens))
    if words is None:
        stops = _ids(vocabulary, STOPS)
        end = next((at + 1 for at in range(start, end) if int(tokens[at]) in stops), end)
    return end


def best_start(tokens: Tensor, gained: Tensor, vocabulary: Vocabulary, words: int | None) -> int:
    """The start of the passage in which the pointer added most nats to known words.

    A passage begins where a line does, a sentence also after a full stop. In a tie the first is taken.
    `<unk>` and `<eos>` do not count, because a reader learns nothing from a copy of them. It has `words`
    words, or fewer if the whole text is shorter; None: a sentence, see `passage_end`.
    """
    no_words, breaks = _ids(vocabulary, (UNK, EOS)), _ids(vocabulary, STOPS if words is None else (EOS,))
    listed = tokens.tolist()
    added = (0.0 if word in no_words else gain for word, gain in zip(listed, gained.tolist(), strict=True))
    before = [0.0, *accumulate(added)]
    starts = [0, *(at + 1 for at, word in enumerate(listed[:-1]) if word in breaks)]
    passages = [(start, passage_end(tokens, vocabulary, start, words)) for start in starts]
    whole = [(start, end) for start, end in passages if words in (None, end - start)]
    return max(whole or passages[:1], key=lambda passage: before[passage[1]] - before[passage[0]])[0]


def _ids(vocabulary: Vocabulary, words: Sequence[str]) -> set[int]:
    return {vocabulary.ids[word] for word in words if word in vocabulary}
