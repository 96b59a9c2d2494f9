"""A file of n-grams as a language model over the words of a dataset."""

from __future__ import annotations

import math
from typing import Final, Protocol

import torch
from torch import Tensor

from lm_benchmarks.errors import HarnessError
from wikitext_builder.dataset.vocabulary import EOS, UNK, Vocabulary

BEGIN, END = "<s>", "</s>"
NO_WORD: Final = -1  # in a state: the line has no word at this position
SPELLINGS: Final = {UNK: (UNK, "<UNK>")}  # how other programs write it


class NGrams(Protocol):
    """Probabilities of words, given a few earlier ones."""

    @property
    def order(self) -> int:
        """The number of words in the longest n-grams."""
        ...

    def __contains__(self, word: str) -> bool: ...

    def log10(self, context: tuple[str, ...], word: str) -> float:
        """The base-10 log-probability of a known word; the first word of the context can be `<s>`."""
        ...


class NGramFile:
    """Scores words by a file of n-grams. The state is the last N - 1 words of the line.

    A file that has `<eos>` was estimated on one stream of words, and scores one. Otherwise each line is a
    sentence from `<s>` to `</s>`, and `</s>` takes the place of `<eos>`. A word that is not in the file is
    scored as its `<unk>`. If there are several, the probabilities of a vocabulary can sum to more than one:
    `check` reports it.
    """

    def __init__(self, grams: NGrams, vocabulary: Vocabulary, *, unknown: str | None = None) -> None:
        """Match the words of a vocabulary with those of a file.

        Args:
            grams: The file.
            vocabulary: Of the ids that are scored.
            unknown: The word of the file for `<unk>`. KenLM's estimator does not accept `<unk>` itself.

        Raises:
            HarnessError: The file does not have this word, or no end of a line.
        """
        self.joined = EOS in grams
        spellings = SPELLINGS[UNK] if unknown is None else (unknown,)
        found = [word for word in spellings if word in grams]
        if not found:
            raise HarnessError(
                f"the n-grams have no word {' or '.join(spellings)} for unknown words; name the word that"
                " they have with --unknown-word"
            )
        if not self.joined and END not in grams:
            raise HarnessError(f"the n-grams have neither {EOS} nor {END} to end a line")
        self._grams = grams
        self._words = [
            found[0] if token == UNK or token not in grams else token for token in vocabulary.tokens
        ]
        self._eos = vocabulary.ids[EOS]
        if not self.joined:
            self._words[self._eos] = END
        self.missing = sum(1 for token in vocabulary.tokens if token not in grams) - (not self.joined)

    def initial_state(self, batch_size: int) -> Tensor:
        """The start of a line."""
        first = self._eos if self.joined else NO_WORD
        return torch.tensor([*[NO_WORD] * (self._grams.order - 2), first][: self._grams.order - 1]).repeat(
            batch_size, 1
        )

    def __call__(self, tokens: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Score tokens (batch, time), in float64; see `LanguageModel`."""
        rows = [self._row(*row) for row in zip(tokens.tolist(), state.tolist(), strict=True)]
        scores = torch.tensor([scores for scores, _ in rows], dtype=torch.float64).reshape(tokens.shape)
        after = torch.tensor([after for _, after in rows], dtype=torch.int64).reshape(state.shape)
        return scores.to(tokens.device), after.to(state.device)

    def _row(self, tokens: list[int], state: list[int]) -> tuple[list[float], list[int]]:
        length, scores = len(state), []
        last = list(state)
        for token in tokens:
            context = tuple(self._words[word] for word in last if word != NO_WORD)
            if not self.joined and len(context) < length:
                context = (BEGIN, *context)
            scores.append(math.log(10) * self._grams.log10(context, self._words[token]))
            ends = token == self._eos and not self.joined
            last = [NO_WORD] * length if ends else [*last, token][1 : length + 1]
        return scores, last
