"""Scores of windows that are known already: windows are read once, and a command that was killed resumes.

Scores are in a database beside the results until these are complete, or in memory if nothing is stored.
"""

from __future__ import annotations

import fcntl
import hashlib
import sqlite3
from array import array
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Final

import torch

from lm_benchmarks.conventions.convention import Reader, Tokenizer, Window
from lm_benchmarks.errors import StorageError
from lm_benchmarks.measuring.loaded_model import LoadedModel
from wikitext_builder.dataset.load import Dataset

BUSY: Final = 60.0  # seconds to wait while another process writes


class ScoreCache:
    """A reader that remembers scores: windows that several conventions share are read once."""

    def __init__(self, reader: Reader, path: Path | None = None) -> None:
        """Open the memory; without a path it is not on disk.

        Raises:
            StorageError: The file cannot be written, or is not such a memory.
        """
        self.reader = reader
        self.longest = reader.longest
        self.shared = 0  # windows that were not read again
        self._path = path
        with self._errors():
            self._known = sqlite3.connect(":memory:" if path is None else path, timeout=BUSY)
            self._known.execute(
                "CREATE TABLE IF NOT EXISTS scores (key BLOB PRIMARY KEY, nats REAL NOT NULL) WITHOUT ROWID"
            )

    @property
    def text_pieces(self) -> Tokenizer:
        """How its tokenizer cuts plain texts."""
        return self.reader.text_pieces

    def window_nats(self, windows: Sequence[Window]) -> list[float]:
        """-log p of the targets of each window."""
        keys = [_key(window) for window in windows]
        question = "SELECT key, nats FROM scores WHERE key = ?"
        with self._errors():
            known = dict(row for key in keys for row in self._known.execute(question, (key,)))
        new = {key: window for key, window in zip(keys, windows, strict=True) if key not in known}
        self.shared += len(windows) - len(new)
        found = dict(zip(new, self.reader.window_nats(list(new.values())), strict=True))
        with self._errors(), self._known:
            self._known.executemany("INSERT OR IGNORE INTO scores VALUES (?, ?)", found.items())
        known |= found
        return [known[key] for key in keys]

    def close(self) -> None:
        """Close the memory."""
        self._known.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StorageError(
                f"{self._path}: {error}; expected scores of an interrupted measurement. Remove the file"
            ) from error


@contextmanager
def cached_scores(
    loaded: LoadedModel, dataset: Dataset, results: Path | None, precision: str, *, text: str
) -> Iterator[LoadedModel]:
    """A model whose scores of windows are kept until the block ends; after an error they stay on disk.

    They are beside the file of results, in a file per text, because each measurement removes its own; without
    results they are in memory. A model that does not read windows is yielded as it is.
    """
    if loaded.reader is None:
        yield loaded
        return
    path = None
    if results is not None and loaded.is_identified:
        what = (str(dataset.path.resolve()), text)
        model = (loaded.identity, loaded.server, sorted(loaded.facts.items()), precision)
        decides = repr((what, model, torch.__version__, version("wikitext-builder")))
        digest = hashlib.sha256(decides.encode()).hexdigest()[:16]
        path = results.with_name(f"{results.name}.{digest}.windows")
    with _kept(path), closing(ScoreCache(loaded.reader, path)) as reader:
        yield replace(loaded, reader=reader)


@contextmanager
def _kept(path: Path | None) -> Iterator[None]:
    """A file that is removed when the block ends without an error, by the last process that uses it."""
    if path is None:
        yield
        return
    try:
        held = path.open("ab")
        fcntl.flock(held, fcntl.LOCK_SH)
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror}; expected a file to keep scores in") from error
    with held:
        yield
        with suppress(BlockingIOError):
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink(missing_ok=True)


def _key(window: Window) -> bytes:
    """A digest of what decides the score of a window."""
    pieces = array("q", [len(window.inputs), *window.inputs, *window.targets])
    return hashlib.blake2b(pieces.tobytes(), digest_size=16).digest()
