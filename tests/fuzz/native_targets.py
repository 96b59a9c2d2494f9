"""Targets: files that libraries in C++ read, each in a copy of this process with limits of memory and time.

A library that ends its process, or reaches a limit, is no finding: the documentation promises no more. The
result says it, `ENDED` counts. A target is there if its library is.
"""

from __future__ import annotations

import resource
import signal
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from lm_benchmarks.adapters.gguf import GgufModel
from lm_benchmarks.adapters.ngrams import KenlmFile

from tests.command import forked
from tests.fuzz.target import HERE, Target, target, written
from tests.lm_benchmarks.tiny_llama import weights, write_gguf
from wikitext_builder.dataset.load import parquet_rows
from wikitext_builder.dataset.vocabulary import Vocabulary
from wikitext_builder.errors import RejectedError, ToolkitError

MEMORY: Final = 1 << 30  # bytes that a file may take
SECONDS: Final = 5
REFUSED: Final = 3
SAID: Final = {0: "read", REFUSED: "refused by its library"}
WORDS: Final = Vocabulary(("<unk>", "<eos>", "the"))
ENDED: Final = Counter[str]()
ARPA: Final = b"""\\data\\\nngram 1=4\nngram 2=1\n
\\1-grams:\n-1\t<s>\t-0.3\n-1\t</s>\n-2\t<unk>\n-0.5\tthe\t-0.1\n
\\2-grams:\n-0.4\t<s> the\n\n\\end\\\n"""
# The beginning of a binary file of KenLM, and its numbers as the library checks them; the rest is not there.
BINARY: Final = b"mmap lm http://kheafield.com/code format version 5\n\0".ljust(56, b"\0") + bytes(104)


def limited(read: Callable[[Path], object], path: Path) -> str:
    """Read a file in a copy of this process; returns how that ended."""

    def do() -> None:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.alarm(SECONDS)
        try:
            read(path)
        except (ToolkitError, RejectedError):
            sys.exit(REFUSED)

    done = forked(do, HERE)
    status = done.returncode
    how = SAID.get(status) or (signal.Signals(-status).name if status < 0 else f"status {status}")
    ENDED[how] += 1
    assert "Traceback" not in done.stderr, done.stderr[-2000:]
    return how


def _parquet(path: Path) -> None:
    with suppress(OSError, ValueError):  # what `read_plain_articles` reports
        for _ in parquet_rows(path):
            pass


ARTICLE: Final = {  # a row of the export
    "title": "Tea",
    "page_id": 1,
    "wikidata_id": None,
    "sections": [{"heading": "Tea", "level": 1, "text": ""}],
    "categories": ["Drinks"],
    "left_out": [],
    "text": "Tea",
}


def _table(**options: Any) -> bytes:
    path = HERE / "seed.parquet"
    rows = [ARTICLE, {"text": None}]
    pq.write_table(pa.Table.from_pylist(rows), path, **options)
    return path.read_bytes()


def _reader(suffix: str, read: Callable[[Path], object], rest: bytes = b"") -> Callable[[bytes], str]:
    """Reads an input, with a rest that is not mutated."""
    return lambda content: limited(read, written(f"a.{suffix}", content + rest))


def _targets() -> dict[str, Target]:
    tables = (_table(compression="none"), _table(compression="zstd", use_dictionary=False))
    read = _reader("parquet", _parquet)
    found = {"parquet": target("parquet", read, *tables, longest=1 << 15, has_offsets=True)}
    if find_spec("kenlm"):
        read = _reader("kenlm", lambda path: KenlmFile(path).log10(("<s>", "the"), "the"))
        found["kenlm"] = target("kenlm", read, ARPA, words=(BINARY,), refuses=())
    if find_spec("llama_cpp"):
        whole = write_gguf(HERE / "seed.gguf", adds_bos=True).read_bytes()
        head = len(whole) - sum(-(-tensor.numel() * 4 // 32) * 32 for tensor in weights().values())
        read = _reader("gguf", lambda path: GgufModel(path, WORDS, longest=8), whole[head:])
        found["gguf"] = target("gguf", read, whole[:head], longest=2 * head, refuses=(), has_offsets=True)
    return found


TARGETS: Final = _targets()
