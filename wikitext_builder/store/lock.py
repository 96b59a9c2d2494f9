"""The lock file: which revisions a dataset is made of, so that anyone can fetch the same ones."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

from wikitext_builder.errors import BuilderError
from wikitext_builder.store.store import Revision
from wikitext_builder.wiki.dates import TIMESTAMP
from wikitext_builder.wiki.titles import title_fault

FORMAT = "wikitext-builder lock 1"
COLUMNS = ("title", "page_id", "revision_id", "timestamp", "sha1")
HEAD = re.compile(rf"# {FORMAT}; language (\S+); wiki (\S+)")
NUMBER = re.compile(r"[1-9][0-9]{0,17}")
SHA1 = re.compile(r"[0-9a-f]{40}")


def write_lock(revisions: Iterable[Revision], file: TextIO, *, language: str, wiki: str = "-") -> int:
    """Write revisions a line each, in the order of titles and revision ids; return how many.

    Args:
        revisions: Of one Wikipedia.
        file: Open for text, without translation of newlines.
        language: Code of the Wikipedia.
        wiki: What the wiki calls itself, such as `enwiki`; `-` where that is not known.

    Raises:
        BuilderError: A title would break the lines apart.
    """
    file.write(f"# {FORMAT}; language {language}; wiki {wiki}\n")
    file.write("\t".join(COLUMNS) + "\n")
    ordered = sorted(revisions, key=lambda r: (r.title, r.revision_id))
    for one in ordered:
        if fault := title_fault(one.title):
            raise BuilderError(
                f"revision {one.revision_id}: the title {one.title!r} cannot be written: {fault}"
            )
        file.write(f"{one.title}\t{one.page_id}\t{one.revision_id}\t{one.timestamp}\t{one.sha1}\n")
    return len(ordered)


def read_lock(path: Path, *, language: str) -> list[Revision]:
    """The revisions of a lock file.

    Raises:
        BuilderError: It cannot be read, is of another language, or a line is not as it should be.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BuilderError(f"{path}: {error}; a lock file was expected") from error
    head = HEAD.fullmatch(lines[0])
    if head is None:
        raise BuilderError(f"{path}, line 1: {lines[0][:80]!r} where `# {FORMAT}; language …` was expected")
    if head[1] != language:
        raise BuilderError(
            f"{path} is of the Wikipedia {head[1]!r}, not {language!r}; say --language {head[1]}"
        )
    if lines[1:2] != ["\t".join(COLUMNS)]:
        raise BuilderError(f"{path}, line 2: the columns {', '.join(COLUMNS)} were expected, parted by tabs")
    if lines[-1] != "":
        raise BuilderError(f"{path}, line {len(lines)}: the file breaks off, its last line has no end")
    revisions = [_revision(path, number, line) for number, line in enumerate(lines[2:-1], 3)]
    if len({one.revision_id for one in revisions}) != len(revisions):
        raise BuilderError(f"{path}: a revision is there twice; each has one line in a lock file")
    return revisions


def _revision(path: Path, number: int, line: str) -> Revision:
    fields = line.split("\t")
    if len(fields) != len(COLUMNS):
        raise BuilderError(f"{path}, line {number}: {len(fields)} columns where {len(COLUMNS)} were expected")
    title, page_id, revision_id, timestamp, sha1 = fields
    faults = {
        "title": not title_fault(title),
        "page_id": NUMBER.fullmatch(page_id),
        "revision_id": NUMBER.fullmatch(revision_id),
        "timestamp": TIMESTAMP.fullmatch(timestamp),
        "sha1": SHA1.fullmatch(sha1),
    }
    for (column, good), found in zip(faults.items(), fields, strict=True):
        if not good:
            raise BuilderError(f"{path}, line {number}: {found[:80]!r} is no {column}")
    return Revision(
        title=title, page_id=int(page_id), revision_id=int(revision_id), timestamp=timestamp, sha1=sha1
    )
