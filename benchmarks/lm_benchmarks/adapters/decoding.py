"""What a tokenizer loses of a text: decodes its pieces again, and compares them with the text.

A perplexity of a text needs pieces that stand for this text alone. A tokenizer that lowercases or drops
accents gives several texts the same pieces: the model predicts a poorer text, which is easier.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from lm_benchmarks.choices import CHARACTERS_LOST, NORMALIZES


def decoding_facts(tokenizer: Any, texts: Iterable[tuple[str, Sequence[int]]]) -> dict[str, int | str]:  # noqa: ANN401
    """Return what pieces lack of the texts that they were cut from, for signatures.

    White space before a text does not count: some tokenizers put a space there. Lines that differ only in
    white space, or are equal in Unicode's form NFKC, are normalized. In any other line, characters that its
    pieces have less often count as lost: white space does not, but at least one per line does.
    """
    lost, kind = 0, "no"
    for text, pieces in texts:
        decoded = tokenizer.decode(
            list(pieces), skip_special_tokens=False, clean_up_tokenization_spaces=False
        )
        for line, copy in _differing(text, decoded):
            words, copied = (unicodedata.normalize("NFKC", side).split() for side in (line, copy))
            if line.split() == copy.split():
                kind = max(kind, "spaces")  # by name
            elif words == copied:
                kind = max(kind, "unicode")
            else:
                lost += max(1, (Counter("".join(words)) - Counter("".join(copied))).total())
    return {CHARACTERS_LOST: lost, NORMALIZES: kind}


def _differing(text: str, decoded: str) -> list[tuple[str, str]]:
    """Return the lines that differ; both texts as a whole if their numbers of lines differ."""
    plain, copied = text.lstrip(), decoded.lstrip()
    lines, copies = plain.split("\n"), copied.split("\n")
    if len(lines) != len(copies):
        return [(plain, copied)]
    return [(line, copy) for line, copy in zip(lines, copies, strict=True) if line != copy]
