"""The text files of a dataset, and its manifest: its recipe and inputs, its counts, the hash of each file.

A line of a text file is a space, tokens separated by spaces, a space and a newline; a blank line is a space
and a newline. An article is its title (a heading of level 1 with a blank line on both sides), then headings
(blank lines on both sides) and paragraphs, then a blank line. The official files have this format:
`docs/format.md`.

A manifest is also what builds the dataset again, from the revisions of its lock file.
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
    r"""A line as written to a file.

    >>> file_line("= Title ="), file_line("")
    (' = Title = \n', ' \n')
    """
    return f" {line} \n" if line else " \n"


def read_lines(path: Path, *, strict: bool = True) -> Iterator[str]:
    """The lines of a file without their outer spaces: the inverse of `file_line`.

    With `strict` false, any text is read: the tokens of a line are what `str.split` gives, joined by one
    space. White space around and between tokens is then neither kept nor counted.
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
    """The articles of a file, each as its lines, blank ones included; `strict` as in `read_lines`.

    An article begins with a blank line, a title and a blank line. A title alone is not enough: some
    paragraphs of the official files look like one, but have no blank lines around them.
    """
    article: list[str] = []
    window: list[str] = []  # the last three lines, which belong to this article or begin the next one
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
    """The tokens of a file, with `<eos>` after each line, blank ones included: the paper counts them so."""
    return chain.from_iterable((*line, EOS) for line in read_token_lines(path))


MANIFEST = "manifest.json"
MANIFEST_FORMAT = 1
CARD: Final = "README.md"
CROISSANT: Final = "croissant.json"
# Patterns of the files that a manifest names.
NAMED: Final = ("articles/**/*", "parquet/**/*", "wiki.*", ATTRIBUTION, LOCK, CARD, CROISSANT, "LICENSE")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEntry:
    """Hash and size of one file of a dataset."""

    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a dataset is. It is written last: a dataset that has a manifest is complete."""

    recipe: Recipe
    as_of: str  # templates were taken up to this time; empty: the newest ones
    given: dict[str, tuple[int, ...]]  # page ids of the splits that were given instead of chosen
    source: str  # sha256 over everything that decides the bytes: the recipe, pages, templates, and the code
    versions: dict[str, str]  # of the packages that decide the bytes
    sources: dict[str, int]  # how many articles were made from HTML, and how many from wikitext
    vocabulary: int  # types, <unk> and <eos> included
    splits: dict[str, SplitCounts]
    files: dict[str, FileEntry]
    format: int = MANIFEST_FORMAT


def write_manifest(directory: Path, manifest: Manifest) -> None:
    """Write a manifest as JSON, with sorted keys."""
    text = json.dumps(asdict(manifest), indent=1, sort_keys=True, ensure_ascii=False)
    (directory / MANIFEST).write_text(text + "\n", encoding="utf-8")


def read_manifest(directory: Path) -> Manifest | None:
    """The manifest of a dataset; None if there is none."""
    path = directory / MANIFEST
    return manifest_at(path) if path.is_file() else None


def manifest_at(path: Path) -> Manifest:
    """The manifest in a file."""
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
    """Each file of a manifest: its name, its entry, and the entry of the file found; None if missing."""
    for name, expected in manifest.files.items():
        path = directory / name
        yield name, expected, entry_of(path) if path.is_file() else None


def unnamed_files(directory: Path, manifest: Manifest) -> list[str]:
    """The files of a dataset that its manifest does not name: readers take them too, and no hash is known."""
    there = (path for pattern in NAMED for path in directory.glob(pattern) if path.is_file())
    return sorted({path.relative_to(directory).as_posix() for path in there} - manifest.files.keys())


def entry_of(path: Path) -> FileEntry:
    """Hash and size of a file."""
    return FileEntry(sha256=file_sha256(path), bytes=path.stat().st_size)
