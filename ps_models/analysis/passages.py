"""Passages of a text in which a pointer shows what it is for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import torch
from torch import Tensor, nn

from ps_models.errors import ModelError
from ps_models.evaluation.evaluate import evaluating
from ps_models.models.pointer_sentinel import PointerSentinel
from wikitext_builder.dataset.vocabulary import EOS, UNK, Vocabulary
from wikitext_builder.progress import Progress, no_progress

CHUNK = 64  # predictions at once, (chunk x window) numbers each
BEST = "best"  # the start of the passage in which the pointer helped most
STOPS = (".", "?", "!", EOS)
LONGEST_SENTENCE = 60  # tokens; a longer one is cut


def gains(
    model: nn.Module, tokens: Tensor, *, device: torch.device | str = "cpu", progress: Progress = no_progress
) -> Tensor:
    """What the pointer added to each token of a text, in nats, (time,); see `Prediction.gain`.

    Raises:
        ModelError: The model has no pointer.
    """
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
    """The place after the passage that begins at `start`.

    Args:
        tokens: The text, (time,).
        vocabulary: Of the ids.
        start: The first place.
        words: How many; None: up to a full stop or the end of a line, and not more than LONGEST_SENTENCE.
    """
    end = min(start + (words or LONGEST_SENTENCE), len(tokens))
    if words is None:
        stops = _ids(vocabulary, STOPS)
        end = next((at + 1 for at in range(start, end) if int(tokens[at]) in stops), end)
    return end


def best_start(tokens: Tensor, gained: Tensor, vocabulary: Vocabulary, words: int | None) -> int:
    """Where the passage begins in which the pointer added most nats to known words.

    A passage begins where a line does, a sentence also after a full stop. Of equal ones the first is taken.
    `<unk>` and `<eos>` do not count: a reader learns nothing from a copy of them.

    Args:
        tokens: The text, (time,).
        gained: See `gains`.
        vocabulary: Of the ids.
        words: How many, or fewer if the whole text is shorter; None: a sentence, see `passage_end`.
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
