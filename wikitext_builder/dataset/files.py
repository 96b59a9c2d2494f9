"""The dataset's files: their grammar, how they are read, written and described by a manifest.

A line is a space, tokens parted by spaces, a space and a newline; a blank line is a space and a newline.
An article is its title (a heading of level 1 with a blank line on both sides), then headings (blank lines on
both sides) and paragraphs, then a blank line. The official files are so: `docs/format.md`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from wikitext_builder.dataset.recipes import Recipe
from wikitext_builder.dataset.split import SPLITS
from wikitext_builder.dataset.vocabulary import EOS, Vocabulary, read_token_lines
from wikitext_builder.errors import BuilderError

TITLE = re.compile(r"= (?!= ).*\S =")
MANIFEST = "manifest.json"
MANIFEST_FORMAT = 1


def file_line(line: str) -> str:
    r"""A line as it stands in a file.

    >>> file_line("= Title ="), file_line("")
    (' = Title = \n', ' \n')
    """
    return f" {line} \n" if line else " \n"


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a file without their outer spaces: the inverse of `file_line`.

    Raises:
        BuilderError: The file cannot be read, or a line is not of the format.
    """
    try:
        with path.open(encoding="utf-8", newline="\n") as file:
            for number, line in enumerate(file, start=1):
                if line == " \n":
                    yield ""
                elif line[:1] == " " and line[1:2] not in ("", " ") and line.endswith(" \n"):
                    yield line[1:-2]
                else:
                    raise BuilderError(
                        f"{path}, line {number}: {line[:60]!r} is no line of WikiText; expected a space,"
                        " tokens parted by spaces, a space and a newline"
                    )
    except (OSError, UnicodeDecodeError) as error:
        raise BuilderError(f"{path}: {error}; expected a WikiText file in UTF-8") from error


def read_articles(path: Path) -> Iterator[tuple[str, ...]]:
    """The articles of a file, each as its lines, blank ones included.

    An article begins at a blank line that a title and another blank line follow: the official files hold
    paragraphs that look like a title, but for the blank lines.

    Raises:
        BuilderError: The file cannot be read, or does not begin with an article.
    """
    article: list[str] = []
    window: list[str] = []  # the last three lines, not given away yet
    for line in read_lines(path):
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
            raise BuilderError(
                f"{path}: begins with {window!r}; expected a blank line, ` = Title = `, a blank line"
            )
    if article or window:
        yield (*article, *window)


def read_tokens(path: Path) -> Iterator[str]:
    """The tokens of a file with `<eos>` after each line, blank ones included, as the paper counts.

    Raises:
        BuilderError: The file cannot be read.
    """
    return chain.from_iterable((*line, EOS) for line in read_token_lines(path))


def encode(path: Path, vocabulary: Vocabulary) -> Iterator[int]:
    """The ids of `read_tokens`, those of words that are not in the vocabulary being `<unk>`'s, 0."""
    return (vocabulary.ids.get(token, 0) for token in read_tokens(path))


# --- manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEntry:
    """One file of a dataset."""

    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitCounts:
    """How much is in a part."""

    articles: int
    lines: int  # blank ones included; each has one <eos>
    tokens: int  # with <eos>
    unknown: int  # tokens that are <unk>
    types: int  # of the raw text, without <eos>


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a dataset is: written last, so that a dataset with one is whole."""

    recipe: Recipe
    source: str  # sha256 over the revisions that went in
    versions: dict[str, str]  # of what decides the bytes
    vocabulary: int  # types, <unk> and <eos> included
    splits: dict[str, SplitCounts]
    files: dict[str, FileEntry]
    format: int = MANIFEST_FORMAT


def write_manifest(directory: Path, manifest: Manifest) -> None:
    """Write a manifest as JSON, keys in order."""
    text = json.dumps(asdict(manifest), indent=1, sort_keys=True, ensure_ascii=False)
    (directory / MANIFEST).write_text(text + "\n", encoding="utf-8")


def read_manifest(directory: Path) -> Manifest | None:
    """The manifest of a dataset; None where there is none.

    Raises:
        BuilderError: There is one, but not of this format.
    """
    path = directory / MANIFEST
    if not path.exists():
        return None
    try:
        return _manifest(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise BuilderError(
            f"{path}: {type(error).__name__}: {error}; expected a manifest of format {MANIFEST_FORMAT}."
            " Build the dataset again, or use the version that wrote it"
        ) from error


def _manifest(fields: dict[str, Any]) -> Manifest:
    if fields["format"] != MANIFEST_FORMAT:
        raise ValueError(f"format {fields['format']!r}")
    if set(fields["splits"]) != set(SPLITS):
        raise ValueError(f"splits {sorted(fields['splits'])}")
    for name in fields["files"]:
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise ValueError(f"the file name {name!r} leads out of the dataset")
    return Manifest(
        **{
            **fields,
            "recipe": Recipe(**fields["recipe"]),
            "splits": {name: SplitCounts(**counts) for name, counts in fields["splits"].items()},
            "files": {name: FileEntry(**entry) for name, entry in fields["files"].items()},
        }
    )


def entry_of(path: Path) -> FileEntry:
    """Size and sha256 of a file, read by pieces."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return FileEntry(sha256=digest, bytes=path.stat().st_size)


def digest_of(lines: Iterable[str]) -> str:
    """sha256 over lines, each with a newline."""
    digest = hashlib.sha256()
    for line in lines:
        digest.update(f"{line}\n".encode())
    return digest.hexdigest()
