"""What a tokenizer loses of a text: its pieces are decoded again, and compared with the text.

A perplexity of a text needs pieces that stand for this text alone. A tokenizer that makes letters small or
drops accents gives several texts the same pieces: the model predicts a poorer text, which is easier.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from lm_benchmarks.choices import LOST, NORMALIZES


def decoding_facts(tokenizer: Any, cut: Iterable[tuple[str, Sequence[int]]]) -> dict[str, int | str]:  # noqa: ANN401
    """What pieces lack of the texts that they were cut of, for signatures.

    White space before a text does not count: some tokenizers put a space there. Lines that differ only in
    their white space, or in what Unicode's form NFKC joins, are normalized. Of any other line the characters
    that its pieces have less often count as lost, without white space, but at least one per line.
    """
    lost, kind = 0, "no"
    for text, pieces in cut:
        decoded = tokenizer.decode(
            list(pieces), skip_special_tokens=False, clean_up_tokenization_spaces=False
        )
        for line, other in _differing(text, decoded):
            whole, kept = (unicodedata.normalize("NFKC", each).split() for each in (line, other))
            if line.split() == other.split():
                kind = max(kind, "spaces")  # by name
            elif whole == kept:
                kind = max(kind, "unicode")
            else:
                lost += max(1, (Counter("".join(whole)) - Counter("".join(kept))).total())
    return {LOST: lost, NORMALIZES: kind}


def _differing(text: str, decoded: str) -> list[tuple[str, str]]:
    """The lines that differ; both as a whole if they have other numbers of lines."""
    whole, kept = text.lstrip(), decoded.lstrip()
    lines, others = whole.split("\n"), kept.split("\n")
    if len(lines) != len(others):
        return [(whole, kept)]
    return [(line, other) for line, other in zip(lines, others, strict=True) if line != other]
