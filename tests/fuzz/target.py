"""A target: a reader of foreign bytes, the errors that it documents, and the laws of its result."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from tests.cases import read
from wikitext_builder.errors import BuilderError

# In memory where there is such a folder: a file system writes each of many small files to its disk.
MEMORY: Final = Path("/dev/shm")
# For readers of files; each input replaces the file before.
HERE: Final = Path(tempfile.mkdtemp(prefix="fuzz-", dir=MEMORY if os.access(MEMORY, os.W_OK) else None))
atexit.register(shutil.rmtree, HERE, ignore_errors=True)


@dataclass(frozen=True, kw_only=True)
class Target:
    """A reader of foreign bytes."""

    run: Callable[[bytes], str]  # returns the result as text; raises if it breaks a law
    seeds: tuple[bytes, ...]  # whole inputs, where mutations begin
    refuses: tuple[type[Exception], ...] = (BuilderError,)  # the errors that the reader documents
    words: tuple[bytes, ...] = ()  # what mutations insert
    longest: int = 4_096  # bytes of an input
    has_offsets: bool = False  # most bytes that are inserted make it unreadable from there on


def target(name: str, run: Callable[[bytes], str], *seeds: bytes, **more: Any) -> Target:
    """A target with the seeds and words that `tests/cases/fuzz.json` has for its name, and some more."""
    texts = read("fuzz")["targets"].get(name, {})
    written = [json.dumps(seed) if isinstance(seed, dict) else seed for seed in texts.get("seeds", [])]
    words = [*texts.get("words", []), *(read("fuzz")["json"] if "json" in texts else [])]
    more["words"] = (*more.get("words", ()), *(word.encode() for word in words))
    return Target(run=run, seeds=(*seeds, *(seed.encode() for seed in written)), **more)


def outcome(target: Target, content: bytes) -> str:
    """What comes of some bytes: the result, or the error that refuses them.

    Raises:
        Exception: A finding: an error that is not documented, a broken law, or text that is not UTF-8.
    """
    try:
        found = target.run(content)
    except target.refuses as error:
        found = f"refused: {error}"
    found.encode()
    return found.replace(str(HERE), "")


def text_of(content: bytes) -> str:
    """The text of an input."""
    return content.decode("utf-8", "replace")


def written(name: str, content: bytes) -> Path:
    """A file with the bytes of an input."""
    path = HERE / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return path


def target_of(name: str) -> Target:
    """A target; only the modules before it are imported, because instrumenting them takes a while."""
    for kind in ("page", "file", "model", "native"):
        targets: dict[str, Target] = import_module(f"tests.fuzz.{kind}_targets").TARGETS
        if name in targets:
            return targets[name]
    raise KeyError(name)
