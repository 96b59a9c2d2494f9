"""Measures a model of pieces by the convention of a tool, in the windows of its rule."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lm_benchmarks.conventions.convention import (
    RAW,
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
from lm_benchmarks.measuring.passages import raw_file
from lm_benchmarks.metrics import Sums
from wikitext_builder.dataset.load import Dataset
from wikitext_builder.progress import Progress

AT_ONCE: Final = 64  # windows between two reports of progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What the windows of a convention gave."""

    number: float  # the tool's own
    articles: tuple[Sums, ...]  # one per window
    data: Path
    fields: Mapping[str, str]  # of the signature


class Remembering:
    """A reader that remembers scores: windows that several conventions share are read once."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._known: dict[bytes, float] = {}
        self.longest = reader.longest
        self.shared = 0  # windows that were not read again

    @property
    def text_pieces(self) -> Tokenizer:
        """How its tokenizer cuts plain texts."""
        return self._reader.text_pieces

    def window_nats(self, windows: Sequence[Window]) -> list[float]:
        """-log p of the targets of each window."""
        keys = [_key(window) for window in windows]
        new = {key: window for key, window in zip(keys, windows, strict=True) if key not in self._known}
        self.shared += len(windows) - len(new)
        self._known |= zip(new, self._reader.window_nats(list(new.values())), strict=True)
        return [self._known[key] for key in keys]


def _key(window: Window) -> bytes:
    """A digest of what decides the score of a window."""
    pieces = array("q", [len(window.inputs), *window.inputs, *window.targets])
    return hashlib.blake2b(pieces.tobytes(), digest_size=16).digest()


def convention_file(convention: Convention, dataset: Dataset, split: str) -> Path:
    """The file that a convention reads: the raw one, or the one of tokens.

    Raises:
        HarnessError: It is missing.
    """
    return raw_file(dataset, split) if convention.file == RAW else dataset.file(split)


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

    Args:
        convention: One that has windows.
        reader: The model.
        path: The file that it reads.
        window: Pieces per window; None: the convention's, or the model's if that is shorter.
        stride: Pieces from one window to the next; None: the convention's.
        progress: Receives the number of windows done.

    Raises:
        HarnessError: The text, the window or the tokenizer does not fit the convention.
    """
    rule = convention.rule
    assert rule is not None  # noqa: S101 - for mypy: the caller has looked
    if stride is not None and not convention.can_stride:
        raise HarnessError(
            f"`stride={stride}` with `convention={convention.name}`: its windows do not overlap; leave out"
            " the stride"
        )
    lengths = convention.lengths(reader.longest, window, stride)
    if lengths.window < 2:
        raise HarnessError(f"window {lengths.window}; {convention.name}'s convention needs at least 2")
    texts = rule.prepare(path.read_text(encoding="utf-8"))
    windows, shares = _windows(rule, texts, reader.text_pieces, lengths)
    if not windows:
        raise HarnessError(
            f"{path.name}: nothing to score by {convention.name}'s convention, which drops a rest that"
            f" is shorter than its window of {lengths.window} pieces. Choose a larger split, or a smaller"
            " `window`"
        )
    nats: list[float] = []
    for begin in range(0, len(windows), AT_ONCE):
        nats += reader.window_nats(windows[begin : begin + AT_ONCE])
        progress("measure windows", len(nats), len(windows), convention.name)
    scored = [
        Scored(nats=one, pieces=len(window.targets), weight=window.weight)
        for one, window in zip(nats, windows, strict=True)
    ]
    return Measured(
        number=rule.number(scored, texts),
        articles=tuple(
            Sums(nats=one.nats, pieces=one.pieces, text_bytes=window.text_bytes, file_bytes=share)
            for one, window, share in zip(scored, windows, shares, strict=True)
        ),
        data=path,
        fields=_fields(convention, lengths, reader.text_pieces),
    )


def _windows(
    rule: Rule, texts: Sequence[Prepared], tokenizer: Tokenizer, lengths: Lengths
) -> tuple[list[Window], list[int]]:
    """The windows of all texts, and the bytes of the file that each window's targets stand for."""
    windows: list[Window] = []
    shares: list[int] = []
    for text in texts:
        found = [one for one in rule.windows(text.text, tokenizer, lengths) if one.targets]
        windows += found
        shares += _shares(found, text)
    return windows, shares


def _shares(windows: Sequence[Window], text: Prepared) -> Iterator[int]:
    """A text's bytes of the file, divided among its windows as its own bytes are; the sum is exact."""
    size, seen, given = len(text.text.encode()), 0, 0
    for window in windows:
        seen += window.text_bytes
        share = round(text.file_bytes * seen / size) if size else 0
        yield share - given
        given = share


def _fields(convention: Convention, lengths: Lengths, tokenizer: Tokenizer) -> dict[str, str]:
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
