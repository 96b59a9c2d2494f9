"""Perplexity by position in the context: how much a model gains from what comes before.

The text is cut into windows that do not overlap, as GPTQ's rule does, short ones and long ones; the first
piece of a window is not scored. Positions are grouped in powers of two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

import torch

from lm_benchmarks.adapters.piece_model import PieceModel
from lm_benchmarks.conventions.convention import Lengths
from lm_benchmarks.conventions.rules import joined_rows, whole_chunks
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.lm_eval import read_text
from lm_benchmarks.measuring.models import make_inputs, open_model
from lm_benchmarks.measuring.passages import raw_file
from wikitext_builder.progress import Progress, no_progress

SHORTEST: Final = 4  # pieces of a window
SHORTER: Final = (16, 4)  # parts of the longest window that are measured beside it
AT_ONCE: Final = 16  # windows between two reports of progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Positions:
    """How a model predicted the pieces at some positions of its windows."""

    model: str
    window: int  # pieces
    first: int  # position, that is the number of pieces before a scored one
    last: int
    pieces: int  # scored
    nats: float

    @property
    def perplexity(self) -> float:
        """The exponential of the mean loss."""
        return math.exp(self.nats / self.pieces)


def by_position(
    model: str,
    data: str | Path,
    *,
    split: str = "test",
    windows: Sequence[int] = (),
    progress: Progress = no_progress,
    **opening: Any,
) -> list[Positions]:
    """Measure the perplexity of a model of pieces by position in its windows.

    Args:
        model: A specification of a model of pieces: `transformers:`, `gguf:` or `completions:`.
        data: The dataset: a folder with raw files, or a file.
        split: `train`, `valid` or `test`.
        windows: Lengths in pieces; none: all that the model can read, a quarter and a sixteenth of that.
        progress: Receives the number of windows done.
        opening: What opening the model needs, such as `device`, as in `measure`.

    Returns:
        The positions of each length of windows, in order.

    Raises:
        HarnessError: The model predicts words, cannot read such windows, or the text is shorter.
    """
    inputs = make_inputs(data, split, **opening)
    loaded = open_model(model, inputs)
    reader = loaded.reader
    if not isinstance(reader, PieceModel):
        raise HarnessError(f"{loaded.name} predicts words; expected a model of pieces, `transformers:…`")
    most = reader.longest or reader.window
    lengths = sorted(set(windows) or {most, *(max(SHORTEST, most // part) for part in SHORTER)})
    if not SHORTEST <= lengths[0] <= lengths[-1] <= most:
        raise HarnessError(f"windows {lengths}; expected {SHORTEST} to {most}, what the model can read")
    path = raw_file(inputs.dataset, split)
    (text,) = joined_rows(read_text(path))
    return [
        one
        for length in lengths
        for one in _of_length(loaded.name, reader, text.text, length, path.name, progress)
    ]


def _of_length(
    name: str, reader: PieceModel, text: str, length: int, file: str, progress: Progress
) -> list[Positions]:
    """The positions of windows of one length, in groups of powers of two."""
    sums, count = torch.zeros(length, dtype=torch.float64), 0
    total = sum(1 for _ in whole_chunks(text, reader.text_pieces, Lengths(length, None)))
    if not total:
        raise HarnessError(f"{file}: fewer than {length} pieces; choose a smaller window, or a larger split")
    cut = whole_chunks(text, reader.text_pieces, Lengths(length, None))
    while group := list(islice(cut, AT_ONCE)):
        for scores in reader.target_log_probs(group):
            sums[1:] -= scores
        count += len(group)
        progress("measure windows", count, total, f"{length} pieces")
    bounds = [1 << power for power in range(length.bit_length()) if 1 << power < length]
    return [
        Positions(
            model=name,
            window=length,
            first=first,
            last=min(2 * first, length) - 1,
            pieces=count * (min(2 * first, length) - first),
            nats=float(sums[first : 2 * first].sum()),
        )
        for first in bounds
    ]
