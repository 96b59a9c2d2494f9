"""Measures a model of pieces by the convention of a tool, in the windows of its rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
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
from lm_benchmarks.lm_eval import read_text
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
    """Measure a model by a convention of windows. Only a few of them are in memory at once.

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
            f"--stride {stride} with --convention {convention.name}: its windows do not overlap; leave out"
            " the stride"
        )
    lengths = convention.lengths(reader.longest, window, stride)
    if lengths.window < 2:
        raise HarnessError(f"window {lengths.window}; {convention.name}'s convention needs at least 2")
    texts = rule.prepare(read_text(path))
    total = sum(1 for _ in _windows(rule, texts, reader.text_pieces, lengths))
    if not total:
        raise HarnessError(
            f"{path.name}: nothing to score by {convention.name}'s convention, which drops a rest that"
            f" is shorter than its window of {lengths.window} pieces. Choose a larger split, or a smaller"
            " --window"
        )
    scored: list[Scored] = []
    articles: list[Sums] = []
    windows = _windows(rule, texts, reader.text_pieces, lengths)
    while group := list(islice(windows, AT_ONCE)):
        nats = reader.window_nats([cut for cut, _ in group])
        for one, (cut, share) in zip(nats, group, strict=True):
            pieces = len(cut.targets)
            scored.append(Scored(nats=one, pieces=pieces, weight=cut.weight))
            articles.append(Sums(nats=one, pieces=pieces, text_bytes=cut.text_bytes, file_bytes=share))
        progress("measure windows", len(scored), total, convention.name)
    return Measured(
        number=rule.number(scored, texts),
        articles=tuple(articles),
        data=path,
        fields=_fields(convention, lengths, reader.text_pieces),
    )


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
