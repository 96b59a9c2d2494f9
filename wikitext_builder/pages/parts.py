"""A folder of the parts of a dump or a snapshot, and the sums that its SHA256SUMS says.

Wikimedia's content exports are such folders:
https://dumps.wikimedia.org/other/mediawiki_content_current/ has per wiki and month `xml/bzip2/`, with
`WIKI-DATE-pFIRSTpLAST.xml.bz2` for each range of page ids, SHA256SUMS and _SUCCESS (read in November 2026).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from wikitext_builder.errors import BuilderError
from wikitext_builder.hashing import file_sha256
from wikitext_builder.progress import Progress
from wikitext_builder.runners.processes import ProcessPool, Runner, Serial

SUFFIXES = (".xml", ".bz2", ".gz", ".tgz", ".zst", ".tar", ".ndjson", ".jsonl", ".json")
BESIDE = re.compile(r"\.(?:txt|sql|tsv)\.(?:gz|bz2|zst)$")  # indexes and tables, which lie beside the parts
SUMS = re.compile(r"sha256sums(?:\.txt)?", re.IGNORECASE)
SUM = re.compile(r"([0-9a-fA-F]{64}) [ *](?:\./)?(.+)")
LONGEST_SUMS = 2**24  # bytes of SHA256SUMS; that of the English Wikipedia has some thousand

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A file, and its sum if one is known."""

    path: Path
    sha256: str = ""

    def check(self) -> None:
        """Compare the file with its sum."""
        if self.sha256 and (found := file_sha256(self.path)) != self.sha256:
            raise BuilderError(
                f"{self.path}: its SHA-256 is {found}, SHA256SUMS has {self.sha256}; download it again and"
                " run the import again to resume it"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What is in a folder."""

    parts: tuple[Part, ...]
    other_files: tuple[str, ...]  # that are no parts by their names
    missing: tuple[str, ...]  # named in SHA256SUMS, and not there


def parts_in(folder: Path) -> Parts:
    """The parts in a folder, in the order of their names; folders in it are not looked into."""
    names = sorted(path.name for path in folder.iterdir() if path.is_file())
    sums: dict[str, str] = {}
    for name in filter(SUMS.fullmatch, names):
        sums |= _sums(folder / name)
    taken = [name for name in names if name.lower().endswith(SUFFIXES) and not BESIDE.search(name.lower())]
    if not taken:
        raise BuilderError(
            f"{folder}: no parts of a dump or snapshot in it, which end in {', '.join(SUFFIXES)}; name the"
            " folder that they are in"
        )
    return Parts(
        parts=tuple(Part(path=folder / name, sha256=sums.get(name, "")) for name in taken),
        other_files=tuple(name for name in names if name not in taken and not SUMS.fullmatch(name)),
        missing=tuple(sorted(sums.keys() - names)),
    )


def _sums(path: Path) -> dict[str, str]:
    with path.open(encoding="utf-8", errors="replace") as file:
        lines = file.read(LONGEST_SUMS).splitlines()
    found = [SUM.fullmatch(line) for line in lines if line.strip()]
    if None in found:
        raise BuilderError(f"{path}: expected a SHA-256 and a name per line; download it again")
    return {one[2].rpartition("/")[2]: one[1].lower() for one in found if one}


def each_part(
    function: Callable[[Part], Result], parts: Sequence[Part], *, workers: int, progress: Progress
) -> Iterator[Result]:
    """Yield the result of each part, in any order; with several workers each part has a process.

    If a part fails, the others that were begun are finished by the next call.
    """
    workers = min(workers, len(parts))
    with ProcessPool(workers) as pool:
        runner: Runner = pool if workers > 1 else Serial()
        for number, result in enumerate(runner.map(function, parts), 1):
            progress("parts", number, len(parts))
            yield result
