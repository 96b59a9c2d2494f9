"""Plain texts cut into pieces by a tokenizer of the library `transformers`, for other tools' conventions."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from lm_benchmarks.conventions.convention import Cut
from lm_benchmarks.errors import HarnessError


class TextPieces:
    """A tokenizer as conventions see it: `lm_benchmarks.conventions.convention.Tokenizer`."""

    def __init__(self, tokenizer: Any) -> None:  # noqa: ANN401 - of transformers
        """Find the marks of a tokenizer.

        Raises:
            HarnessError: It has no mark for the start or the end of a text.
        """
        self._tokenizer = tokenizer
        self._last: tuple[str, bool, Cut] | None = None
        found = tokenizer.bos_token_id
        self.bos: int | None = None if found is None else int(found)
        self.begin = begin_mark(tokenizer)
        self.begin_mark: str = tokenizer.decode([self.begin])
        first = tokenizer.encode("a", add_special_tokens=True)[:1]
        self.adds_bos = self.bos is not None and first == [self.bos]

    def cut(self, text: str, *, marks: bool) -> Cut:
        """Cut a text into pieces; the last text is remembered, because conventions share texts.

        Args:
            text: The text.
            marks: Add the marks that the tokenizer adds by itself.
        """
        if self._last is None or self._last[:2] != (text, marks):
            self._last = (text, marks, self._cut(text, marks=marks))
        return self._last[2]

    def _cut(self, text: str, *, marks: bool) -> Cut:
        offsets = bool(self._tokenizer.is_fast)
        found = self._tokenizer(text, add_special_tokens=marks, return_offsets_mapping=offsets, verbose=False)
        pieces = tuple(found["input_ids"])
        if offsets:
            return Cut(pieces, _byte_ends(text, [end for _, end in found["offset_mapping"]]))
        size = len(text.encode())  # no places are known: each piece has the same share
        return Cut(pieces, tuple(size * number // len(pieces) for number in range(1, len(pieces) + 1)))


def begin_mark(tokenizer: Any) -> int:  # noqa: ANN401
    """The piece before a text: the mark of a start or, if there is none, the mark of an end.

    lm-evaluation-harness uses the same order.

    Raises:
        HarnessError: The tokenizer has neither.
    """
    for name in ("bos_token_id", "eos_token_id"):
        if (found := getattr(tokenizer, name)) is not None:
            return int(found)
    raise HarnessError("the tokenizer has no mark for the start or the end of a text; expected one of them")


def _byte_ends(text: str, ends: list[int]) -> tuple[int, ...]:
    """The ends of pieces in UTF-8 bytes, from ends in characters.

    A mark has no place in the text and ends where the piece before it ends. White space that a tokenizer
    counts to no piece belongs to the piece after it, or to the last one.
    """
    reached = list(accumulate(ends, max))
    if reached:
        reached[-1] = len(text)
    if text.isascii():
        return tuple(reached)
    sizes = [0, *accumulate(len(character.encode()) for character in text)]
    return tuple(sizes[end] for end in reached)


def rules_of(tokenizer: Any) -> str:  # noqa: ANN401
    """All that decides how a tokenizer cuts: its own description, or its pieces if it has none."""
    described = getattr(tokenizer, "backend_tokenizer", None)
    return described.to_str() if described is not None else repr(sorted(tokenizer.get_vocab().items()))
