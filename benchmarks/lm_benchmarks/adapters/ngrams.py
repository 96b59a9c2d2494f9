r"""N-gram files as language models over the words of a dataset.

The ARPA format is the text that SRILM, KenLM, IRSTLM and others write: sections `\1-grams:` to `\N-grams:`
have one n-gram per line, its base-10 log-probability, its words, and a base-10 log backoff if longer n-grams
start with it. KenLM's own binary formats are read by its package.
"""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

from lm_benchmarks.choices import HarnessError
from wikitext_builder.dataset.vocabulary import EOS, UNK, Vocabulary

SECTION: Final = re.compile(r"\\(\d+)-grams:")
COUNT: Final = re.compile(r"ngram (\d+) ?= ?(\d+)")
BEGIN, END = "<s>", "</s>"
NO_WORD: Final = -1  # in a state, for positions before the start of the line
UNKNOWN_SPELLINGS: Final = (UNK, "<UNK>")  # how other programs write <unk>


class ArpaFile:
    """The probabilities of an ARPA file, looked up in a table."""

    def __init__(self, path: Path) -> None:
        """Read a file."""
        self._grams: dict[tuple[str, ...], tuple[float, float]] = {}
        self.order = 0
        try:
            with path.open(encoding="utf-8", newline="\n") as file:
                self._read(line.strip() for line in file)
        except (OSError, ValueError) as error:
            raise HarnessError(f"{path}: {error}; expected an n-gram model in the ARPA format") from error

    def __contains__(self, word: str) -> bool:
        return (word,) in self._grams

    def log10(self, context: tuple[str, ...], word: str) -> float:
        """The base-10 log-probability of a word that the model knows, after the words of the context."""
        backoff = 0.0
        context = context[max(0, len(context) + 1 - self.order) :]
        while (*context, word) not in self._grams:
            if not context:
                raise KeyError(word)
            backoff += self._grams.get(context, (0.0, 0.0))[1]
            context = context[1:]
        return backoff + self._grams[*context, word][0]

    def _read(self, lines: Iterator[str]) -> None:
        expected: dict[int, int] = {}
        counts: dict[int, int] = {}
        for number, line in enumerate(lines, start=1):
            if count := COUNT.fullmatch(line):
                expected[int(count[1])] = int(count[2])
            elif section := SECTION.fullmatch(line):
                self.order = int(section[1])
                counts[self.order] = 0
            elif line == "\\end\\":
                break
            elif line and self.order:
                self._add(number, line)
                counts[self.order] += 1
        else:
            raise ValueError("no line \\end\\: the file is incomplete")
        if not expected or counts != expected:
            raise ValueError(f"n-grams by order: found {counts}, expected {expected}")

    def _add(self, number: int, line: str) -> None:
        fields = line.split()
        if len(fields) not in (self.order + 1, self.order + 2):
            raise ValueError(f"line {number}: {line[:60]!r} is not a {self.order}-gram")
        backoff = float(fields[-1]) if len(fields) == self.order + 2 else 0.0
        self._grams[tuple(fields[1 : self.order + 1])] = (float(fields[0]), backoff)


class KenlmFile:
    """The probabilities of a file that KenLM reads."""

    def __init__(self, path: Path) -> None:
        """Load a file."""
        try:
            self._kenlm: Any = importlib.import_module("kenlm")
        except ImportError as error:
            raise HarnessError(
                f"{path}: KenLM's files need the package kenlm (pip install kenlm); arpa:FILE reads an ARPA"
                " file without it"
            ) from error
        try:
            self._model: Any = self._kenlm.Model(str(path))
        except (OSError, RuntimeError, UnicodeDecodeError) as error:
            raise HarnessError(f"{path}: {error}; expected an n-gram model of KenLM or ARPA") from error
        self.order = int(self._model.order)

    def __contains__(self, word: str) -> bool:
        return word == "<unk>" or word in self._model  # KenLM's `in` is False for <unk>

    def log10(self, context: tuple[str, ...], word: str) -> float:
        """The base-10 log-probability of a word that the model knows, after the words of the context."""
        state, after = self._kenlm.State(), self._kenlm.State()
        if context[:1] == ("<s>",):
            self._model.BeginSentenceWrite(state)
            context = context[1:]
        else:
            self._model.NullContextWrite(state)
        for before in context:
            self._model.BaseScore(state, before, after)
            state, after = after, state
        return float(self._model.BaseScore(state, word, after))


NGrams = ArpaFile | KenlmFile
"""Log-probabilities of words after a few earlier ones, the first of which can be `<s>`."""


class NGramFile:
    """Scores words by a file of n-grams. The state is the last N - 1 words of the line.

    A file that has `<eos>` was estimated on one stream of words, and scores one. Otherwise each line is a
    sentence from `<s>` to `</s>`, and `</s>` takes the place of `<eos>`. The model's `vocabulary` has only
    words of the file: other words of the dataset are scored as `<unk>`. `missing` is their number.
    """

    def __init__(self, grams: NGrams, vocabulary: Vocabulary, *, unknown: str | None = None) -> None:
        """Match the words of a dataset with those of a file, which spells `<unk>` as `unknown`.

        KenLM's estimator rejects texts with `<unk>`, so files can have another spelling.
        """
        self.joined = EOS in grams
        spellings = UNKNOWN_SPELLINGS if unknown is None else (unknown,)
        unknown_words = [word for word in spellings if word in grams]
        if not unknown_words:
            raise HarnessError(
                f"the n-grams have no word {' or '.join(spellings)} for unknown words; name theirs with"
                " --unknown-word"
            )
        if not self.joined and END not in grams:
            raise HarnessError(f"the n-grams have neither {EOS} nor {END} to end a line")
        self._grams = grams
        words = tuple(token for token in vocabulary.tokens if token in (UNK, EOS) or token in grams)
        self.missing = len(vocabulary) - len(words)
        self.vocabulary = Vocabulary(words) if self.missing else vocabulary
        self._words = [unknown_words[0] if token == UNK else token for token in words]
        self._eos = self.vocabulary.ids[EOS]
        if not self.joined:
            self._words[self._eos] = END

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
