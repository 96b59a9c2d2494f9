"""Reads and writes a dataset's text files and its manifest: recipe, inputs, counts, and hashes of files.

A line of a text file is a space, tokens separated by spaces, a space and a newline; a blank line is a space
and a newline. An article is its title (a heading of level 1 with a blank line on both sides), then headings
(blank lines on both sides) and paragraphs, then a blank line. The official files have this format:
`docs/format.md`.

With a manifest and its lock file, the dataset can be built again from the same revisions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Final

import msgspec

from wikitext_builder.article import SPLITS
from wikitext_builder.dataset.counts import SplitCounts
from wikitext_builder.dataset.recipes import Recipe
from wikitext_builder.dataset.vocabulary import EOS, read_token_lines
from wikitext_builder.errors import BuilderError
from wikitext_builder.files import file_sha256
from wikitext_builder.store.lock import ATTRIBUTION, LOCK

TITLE = re.compile(r"= (?!= ).*\S =")


def file_line(line: str) -> str:
    r"""Return a line as a file has it.

    >>> file_line("= Title ="), file_line("")
    (' = Title = \n', ' \n')
    """
    return f" {line} \n" if line else " \n"


def read_lines(path: Path, *, strict: bool = True) -> Iterator[str]:
    """Yield the lines of a file without their outer spaces: the inverse of `file_line`.

    Without `strict`, the file can be any text: the tokens of a line are those of `str.split`, joined by one
    space, so other white space around and between tokens is lost.
    """
    if not strict:
        yield from map(" ".join, read_token_lines(path))
        return
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            for number, line in enumerate(file, start=1):
                if line == " \n":
                    yield ""
                elif line[:1] == " " and line[1:2] not in ("", " ") and line.endswith(" \n"):
                    yield line[1:-2]
                else:
                    raise BuilderError(
                        f"{path}, line {number}: {line[:60]!r} is not a line of WikiText; expected a space,"
                        " tokens separated by spaces, a space and a newline"
                    )
    except (OSError, UnicodeDecodeError) as error:
        raise BuilderError(f"{path}: {error}; expected a WikiText file in UTF-8") from error


def read_articles(path: Path, *, strict: bool = True) -> Iterator[tuple[str, ...]]:
    """Yield the lines of each article of a file, including blank lines; `strict` as in `read_lines`.

    An article begins with a blank line, a title and a blank line. A title alone is not enough: some
    paragraphs of the official files look like one, but have no blank lines around them.
    """
    article: list[str] = []
    window: list[str] = []  # the last three lines: of this article, or the beginning of the next one
    for line in read_lines(path, strict=strict):
        window.append(line)
        if len(window) < 3:
            continue
        if not window[0] and not window[2] and TITLE.fullmatch(window[1]):
            if article:
                yield tuple(article)
            article, window = window, []
        elif article:
            article.append(window.pop(0))
        else:
            break
    if article:
        yield (*article, *window)
    elif window:
        raise BuilderError(
            f"{path}: begins with {window!r}; expected a blank line, ` = Title = `, a blank line"
        )


def read_tokens(path: Path) -> Iterator[str]:
    """Yield the tokens of a file, with `<eos>` after each line, even a blank one, as the paper counts."""
    return chain.from_iterable((*line, EOS) for line in read_token_lines(path))


MANIFEST = "manifest.json"
MANIFEST_FORMAT = 1
CARD: Final = "README.md"
CROISSANT: Final = "croissant.json"
# Patterns of the files that programs read, and that a manifest therefore names.
PATTERNS: Final = ("articles/**/*", "parquet/**/*", "wiki.*", ATTRIBUTION, LOCK, CARD, CROISSANT, "LICENSE")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEntry:
    """Hash and size of one file of a dataset."""

    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """Describes a dataset. It is written last, so a dataset with a manifest is complete."""

    recipe: Recipe
    as_of: str  # templates are as of this time; empty: the newest ones
    given: dict[str, tuple[int, ...]]  # page ids of splits that were given, not drawn
    source: str  # sha256 of everything that decides the bytes: recipe, pages, templates and code
    versions: dict[str, str]  # of the packages that decide the bytes
    sources: dict[str, int]  # articles by what they were made from: HTML, wikitext
    vocabulary: int  # types, including <unk> and <eos>
    splits: dict[str, SplitCounts]
    files: dict[str, FileEntry]
    format: int = MANIFEST_FORMAT


def write_manifest(directory: Path, manifest: Manifest) -> None:
    """Write a manifest as JSON, with sorted keys."""
    text = json.dumps(asdict(manifest), indent=1, sort_keys=True, ensure_ascii=False)
    (directory / MANIFEST).write_text(text + "\n", encoding="utf-8")


def read_manifest(directory: Path) -> Manifest | None:
    """Read the manifest of a dataset; None if it has none."""
    path = directory / MANIFEST
    return read_manifest_file(path) if path.is_file() else None


def read_manifest_file(path: Path) -> Manifest:
    """Read a manifest file."""
    try:
        manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except (OSError, ValueError, RecursionError, BuilderError) as error:
        raise _not_a_manifest(path, f"{type(error).__name__}: {error}") from error
    if manifest.format != MANIFEST_FORMAT:
        raise _not_a_manifest(path, f"format {manifest.format}")
    if set(manifest.splits) != set(SPLITS):
        raise _not_a_manifest(path, f"splits {sorted(manifest.splits)}")
    for name in manifest.files:
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise _not_a_manifest(path, f"the file name {name!r} leads out of the dataset")
    return manifest


def _not_a_manifest(path: Path, found: str) -> BuilderError:
    return BuilderError(
        f"{path}: {found}; expected a manifest of format {MANIFEST_FORMAT}. Build the dataset again, or use"
        " the version that wrote it"
    )


def compared_files(directory: Path, manifest: Manifest) -> Iterator[tuple[str, FileEntry, FileEntry | None]]:
    """Yield each file of a manifest: its name, its entry, and the entry of the file on disk, if any."""
    for name, expected in manifest.files.items():
        path = directory / name
        yield name, expected, file_entry(path) if path.is_file() else None


def unnamed_files(directory: Path, manifest: Manifest) -> list[str]:
    """Return the files that the manifest does not name: programs read them too, and no hash checks them."""
    paths = (path for pattern in PATTERNS for path in directory.glob(pattern) if path.is_file())
    return sorted({path.relative_to(directory).as_posix() for path in paths} - manifest.files.keys())


def file_entry(path: Path) -> FileEntry:
    """Return the hash and size of a file."""
    return FileEntry(sha256=file_sha256(path), bytes=path.stat().st_size)
