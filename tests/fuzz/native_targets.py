"""Targets: files that libraries in C++ read, each in a copy of this process with limits of memory and time.

A library that ends its process, or reaches a limit, is no finding: the documentation promises no more. The
result says it, `ENDED` counts. A target is there if its library is.
"""

from __future__ import annotations

import os
import resource
import signal
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from lm_benchmarks.adapters.gguf import GgufModel
from lm_benchmarks.adapters.ngrams import KenlmFile

from tests.fuzz.target import HERE, Target, target, written
from tests.lm_benchmarks.tiny_llama import weights, write_gguf
from wikitext_builder.dataset.load import parquet_rows
from wikitext_builder.dataset.vocabulary import Vocabulary
from wikitext_builder.errors import RejectedError, ToolkitError

MEMORY: Final = 1 << 30  # bytes that a file may take
SECONDS: Final = 5
FOUND: Final = 4
SAID: Final = {0: "read", 3: "refused by its library", FOUND: "a finding"}
WORDS: Final = Vocabulary(("<unk>", "<eos>", "the"))
ENDED: Final = Counter[str]()
ARPA: Final = b"""\\data\\\nngram 1=4\nngram 2=1\n
\\1-grams:\n-1\t<s>\t-0.3\n-1\t</s>\n-2\t<unk>\n-0.5\tthe\t-0.1\n
\\2-grams:\n-0.4\t<s> the\n\n\\end\\\n"""
# The beginning of a binary file of KenLM, and its numbers as the library checks them; the rest is not there.
BINARY: Final = b"mmap lm http://kheafield.com/code format version 5\n\0".ljust(56, b"\0") + bytes(104)


def limited(read: Callable[[Path], object], path: Path) -> str:
    """Read a file in a copy of this process; returns how that ended."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        status = FOUND
        try:
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            signal.alarm(SECONDS)
            silent = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silent, 1)
            os.dup2(silent, 2)
            read(path)
            status = 0
        except (ToolkitError, RejectedError):
            status = 3
        except BaseException:
            os.write(writing, traceback.format_exc()[-2000:].encode())
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read().decode("utf-8", "replace")
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    ended = SAID.get(status) or (signal.Signals(-status).name if status < 0 else f"status {status}")
    ENDED[ended] += 1
    assert status != FOUND, said
    return ended


def _kenlm(path: Path) -> None:
    KenlmFile(path).log10(("<s>", "the"), "the")


def _gguf(path: Path) -> None:
    GgufModel(path, WORDS, longest=8)


def _parquet(path: Path) -> None:
    with suppress(ValueError):  # what `read_plain_articles` reports
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


def _run(name: str, read: Callable[[Path], object], rest: bytes, content: bytes) -> str:
    return limited(read, written(name, content + rest))


def _targets() -> dict[str, Target]:
    tables = (_table(compression="none"), _table(compression="zstd", use_dictionary=False))
    run = partial(_run, "a.parquet", _parquet, b"")
    found = {"parquet": target("parquet", run, *tables, longest=1 << 15, has_offsets=True)}
    if find_spec("kenlm"):
        found["kenlm"] = target(
            "kenlm", partial(_run, "a.kenlm", _kenlm, b""), ARPA, words=(BINARY,), refuses=()
        )
    if find_spec("llama_cpp"):
        whole = write_gguf(HERE / "seed.gguf", adds_bos=True).read_bytes()
        head = len(whole) - sum(-(-one.numel() * 4 // 32) * 32 for one in weights().values())
        run = partial(_run, "a.gguf", _gguf, whole[head:])
        found["gguf"] = target("gguf", run, whole[:head], longest=2 * head, refuses=(), has_offsets=True)
    return found


TARGETS: Final = _targets()
