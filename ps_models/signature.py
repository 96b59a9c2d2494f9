"""Defines scores, and the signature of a number: one line with everything that decides it.

Nothing here needs torch, so programs that only read results start quickly.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from wikitext_builder.files import file_sha256

VALUE = re.compile(r"[\w.+-]+", re.ASCII)
KEY = re.compile(r"[a-z][a-z0-9_]*")
CONTEXTS: Final = ("carried", "article")  # of an article: all articles before it, or none


class Signature(Mapping[str, str]):
    """Everything that decides a number, in order; as text, a line to print beside it.

    >>> signature = Signature(data="wikitext-2+1f3a9c02", split="test", context="carried", seed=1)
    >>> str(signature)
    'data:wikitext-2+1f3a9c02|split:test|context:carried|seed:1'
    >>> Signature.parse(str(signature)) == signature
    True
    """

    def __init__(self, /, **fields: object) -> None:
        self._fields = {key: str(value) for key, value in fields.items()}
        for key, value in self._fields.items():
            if not KEY.fullmatch(key) or not VALUE.fullmatch(value):
                raise ValueError(
                    f"signature field {key}={value!r}; expected a lower-case name and a value of ASCII"
                    " letters, digits and _ . + -"
                )

    @classmethod
    def parse(cls, line: str) -> Signature:
        """Return the signature that prints as this line.

        Raises:
            ValueError: The line is not a signature.
        """
        pairs = [field.partition(":") for field in line.split("|")]
        fields = {key: value for key, _, value in pairs}
        if len(fields) != len(pairs):
            raise ValueError(f"signature {line!r}: a field occurs twice")
        return cls(**fields)

    def __getitem__(self, key: str) -> str:
        return self._fields[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __str__(self) -> str:
        return "|".join(f"{key}:{value}" for key, value in self._fields.items())

    def __repr__(self) -> str:
        return f"Signature({str(self)!r})"


def signature_value(text: str) -> str:
    """Return a text as a value of a signature: characters that are not allowed become `-`.

    >>> signature_value("my data (new)")
    'my-data-new'
    """
    return re.sub(r"[^\w.+-]+", "-", text, flags=re.ASCII).strip("-") or "none"


def hashed_name(name: str, path: Path) -> str:
    """Return a name with the beginning of its file's sha256, as a value of a signature."""
    return f"{signature_value(name)}+{file_sha256(path)[:8]}"


@dataclass(frozen=True, slots=True)
class Score:
    """How well a model predicted a text. Scores of disjoint texts add up: sum first, then divide once.

    >>> (Score(nats=2.0, tokens=1, bytes=4) + Score(nats=4.0, tokens=2, bytes=8)).perplexity == math.exp(2)
    True
    """

    nats: float = 0.0  # -log p of the whole text, the natural logarithm
    tokens: int = 0  # predicted ones, including <eos>
    bytes: int = 0  # of the scored text in UTF-8: tokens separated by a space, lines ended by a newline

    def __add__(self, other: Score) -> Score:
        return Score(self.nats + other.nats, self.tokens + other.tokens, self.bytes + other.bytes)

    @property
    def perplexity(self) -> float:
        """The exponential of the mean nats per token; infinite if that overflows.

        Raises:
            ZeroDivisionError: There are no tokens.
        """
        try:
            return math.exp(self.nats / self.tokens)
        except OverflowError:
            return math.inf

    @property
    def bits_per_byte(self) -> float:
        """Bits per byte of text: comparable between models with different tokens.

        Raises:
            ZeroDivisionError: There are no bytes.
        """
        return self.nats / math.log(2) / self.bytes
