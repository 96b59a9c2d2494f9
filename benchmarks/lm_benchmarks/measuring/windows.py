"""Measures a model of pieces in windows, by the convention of a tool.

The scores of windows that several conventions share are kept while a command runs, so each is read once.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from lm_benchmarks.conventions.convention import (
    Convention,
    Lengths,
    Prepared,
    Reader,
    Rule,
    Scored,
    Tokenizer,
    Window,
)
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.lm_eval import read_text
from lm_benchmarks.metrics import Sums
from wikitext_builder.progress import Progress


class ScoreCache:
    """A reader that remembers scores: windows that several conventions share are read once."""

    def __init__(self, reader: Reader) -> None:
        """Remember the scores of a reader."""
        self.longest = reader.longest
        self.shared = 0  # windows that were not read again
        self._reader = reader
        self._nats: dict[bytes, float] = {}  # by a digest of what decides the score of a window

    @property
    def text_pieces(self) -> Tokenizer:
        """How its tokenizer cuts plain texts."""
        return self._reader.text_pieces

    def window_nats(self, windows: Sequence[Window]) -> list[float]:
        """-log p of the targets of each window."""
        keys = [_key(window) for window in windows]
        new = {key: window for key, window in zip(keys, windows, strict=True) if key not in self._nats}
        self.shared += len(windows) - len(new)
        self._nats |= dict(zip(new, self._reader.window_nats(list(new.values())), strict=True))
        return [self._nats[key] for key in keys]


def _key(window: Window) -> bytes:
    pieces = array("q", [len(window.inputs), *window.inputs, *window.targets])
    return hashlib.blake2b(pieces.tobytes(), digest_size=16).digest()


AT_ONCE: Final = 64  # windows between two reports of progress


class Measured(NamedTuple):
    """What the windows of a convention gave."""

    articles: tuple[Sums, ...]  # one per window
    number: float  # the tool's own


def measure_windows(
    convention: Convention,
    reader: Reader,
    path: Path,
    *,
    window: int | None,
    stride: int | None,
    progress: Progress,
) -> Measured:
    """Measure a model by a convention of windows.

    Without a window it is the convention's, or the model's if that is shorter.
    """
    rule = convention.rule
    assert rule is not None  # noqa: S101 - for mypy: the caller has looked
    lengths = _lengths(convention, reader, window, stride)
    texts = rule.prepare(read_text(path))
    cuts = partial(_windows, rule, texts, reader.text_pieces, lengths)
    total, remaining = sum(1 for _ in cuts()), cuts()
    if not total:
        raise HarnessError(
            f"{path.name}: nothing to score by {convention.name}'s convention, which drops a remainder"
            f" shorter than its window of {lengths.window} tokens. Choose a larger split, or a smaller"
            " --window"
        )
    scored, articles = list[Scored](), list[Sums]()
    while group := list(islice(remaining, AT_ONCE)):  # only these are in memory
        nats = reader.window_nats([cut for cut, _ in group])
        for score, (cut, share) in zip(nats, group, strict=True):
            pieces = len(cut.targets)
            scored.append(Scored(nats=score, pieces=pieces, weight=cut.weight))
            articles.append(Sums(nats=score, pieces=pieces, text_bytes=cut.text_bytes, file_bytes=share))
        progress("measure windows", len(scored), total, convention.name)
    return Measured(tuple(articles), rule.number(scored, texts))


def _lengths(convention: Convention, reader: Reader, window: int | None, stride: int | None) -> Lengths:
    if stride is not None and not convention.can_stride:
        raise HarnessError(
            f"--stride {stride} with --convention {convention.name}: its windows do not overlap; leave out"
            " the stride"
        )
    lengths = convention.lengths(reader.longest, window, stride)
    if lengths.window < 2:
        raise HarnessError(f"window {lengths.window}; {convention.name}'s convention needs at least 2")
    return lengths


def _windows(
    rule: Rule, texts: Sequence[Prepared], tokenizer: Tokenizer, lengths: Lengths
) -> Iterator[tuple[Window, int]]:
    """The windows of all texts one by one, each with the bytes of the file that its targets stand for.

    A text's bytes of the file are divided among its windows as its own bytes are; the sum is exact.
    """
    for text in texts:
        size, seen, given = len(text.text.encode()), 0, 0
        for window in rule.windows(text.text, tokenizer, lengths):
            if window.targets:
                seen += window.text_bytes
                share = round(text.file_bytes * seen / size) if size else 0
                yield window, share - given
                given = share


def window_fields(
    convention: Convention, reader: Reader, window: int | None, stride: int | None
) -> dict[str, str]:
    """What the windows of `measure_windows` write into a signature."""
    lengths, tokenizer = _lengths(convention, reader, window, stride), reader.text_pieces
    step = {} if lengths.stride is None else {"windows_every": str(lengths.stride)}
    return {
        "text": convention.text,
        "passage": convention.passage,
        "context": "window",
        "vocabulary": "none",
        "words": "open",
        "eos": "no",
        "windows": str(lengths.window),
        **step,
        "bos": "no" if tokenizer.bos is None else "added" if tokenizer.adds_bos else "not-added",
    }
