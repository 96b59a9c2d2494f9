r"""N-gram models in the ARPA format, the text that SRILM, KenLM, IRSTLM and others write.

Sections `\1-grams:` to `\N-grams:` have one n-gram per line: its base-10 log-probability, its words, and a
base-10 log backoff if longer n-grams start with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from lm_benchmarks.errors import HarnessError

SECTION = re.compile(r"\\(\d+)-grams:")
COUNT = re.compile(r"ngram (\d+) ?= ?(\d+)")


class ArpaFile:
    """The probabilities of an ARPA file, looked up in a table."""

    def __init__(self, path: Path) -> None:
        """Read a file.

        Raises:
            HarnessError: The file cannot be read, or is not of the format.
        """
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
        found: dict[int, int] = {}
        for number, line in enumerate(lines, start=1):
            if count := COUNT.fullmatch(line):
                expected[int(count[1])] = int(count[2])
            elif section := SECTION.fullmatch(line):
                self.order = int(section[1])
                found[self.order] = 0
            elif line == "\\end\\":
                break
            elif line and self.order:
                self._add(number, line)
                found[self.order] += 1
        else:
            raise ValueError("no line \\end\\: the file is incomplete")
        if not expected or found != expected:
            raise ValueError(f"n-grams by order: found {found}, expected {expected}")

    def _add(self, number: int, line: str) -> None:
        fields = line.split()
        if len(fields) not in (self.order + 1, self.order + 2):
            raise ValueError(f"line {number}: {line[:60]!r} is not a {self.order}-gram")
        backoff = float(fields[-1]) if len(fields) == self.order + 2 else 0.0
        self._grams[tuple(fields[1 : self.order + 1])] = (float(fields[0]), backoff)
