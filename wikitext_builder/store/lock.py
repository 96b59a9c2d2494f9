"""The lock file: which revisions a dataset is made of, so that anyone can fetch the same revisions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from io import StringIO
from pathlib import Path
from typing import TextIO

from wikitext_builder.errors import BuilderError
from wikitext_builder.store.store import Revision, Store
from wikitext_builder.wiki.dates import TIMESTAMP, parse_date
from wikitext_builder.wiki.titles import title_fault

FORMAT = "wikitext-builder lock 1"
COLUMNS = ("title", "page_id", "revision_id", "timestamp", "sha1")
DATED = (*COLUMNS, "created", "promoted")  # if at least one of these dates is known
HEAD = re.compile(rf"# {FORMAT}; language (\S+); wiki (\S+)")
NUMBER = re.compile(r"[1-9][0-9]{0,17}")
SHA1 = re.compile(r"[0-9a-f]{40}")


def lock(store: str | Path, *, language: str = "en", as_of: str | None = None) -> str:
    """Return the text of a lock file: the newest revision of each page of a store, one per line.

    Anyone who fetches by this file and builds the same recipe gets the same bytes. Write it as UTF-8,
    without translation of newlines.

    Args:
        store: Path of the store.
        language: Code of the Wikipedia.
        as_of: A date or time; take the newest revisions that are not after it.

    Raises:
        BuilderError: There is no such store, or no page to lock.
    """
    with Store.open(Path(store)) as opened:
        revisions = opened.revisions(language, as_of=parse_date(as_of) or None)
        if not revisions:
            raise BuilderError(
                f"{store}: no pages of {language!r}{f' up to {as_of}' if as_of else ''} to lock;"
                " `status` shows what is there"
            )
        text = StringIO()
        write_lock(revisions, text, language=language, wiki=opened.wiki(language) or "-")
        return text.getvalue()


def write_lock(revisions: Iterable[Revision], file: TextIO, *, language: str, wiki: str = "-") -> int:
    """Write revisions, one per line, in the order of titles and revision ids; return how many.

    Args:
        revisions: Of one Wikipedia.
        file: Open for text, without translation of newlines.
        language: Code of the Wikipedia.
        wiki: The name that the wiki gives itself, such as `enwiki`; `-` if it is not known.

    Raises:
        BuilderError: A title would break a line.
    """
    ordered = sorted(revisions, key=lambda r: (r.title, r.revision_id))
    columns = DATED if any(one.created or one.promoted for one in ordered) else COLUMNS
    file.write(f"# {FORMAT}; language {language}; wiki {wiki}\n")
    file.write("\t".join(columns) + "\n")
    for one in ordered:
        if fault := title_fault(one.title):
            raise BuilderError(
                f"revision {one.revision_id}: the title {one.title!r} cannot be written: {fault}"
            )
        file.write("\t".join(str(getattr(one, name)) or "-" for name in columns) + "\n")
    return len(ordered)


def read_lock(path: Path, *, language: str) -> list[Revision]:
    """Return the revisions of a lock file.

    Raises:
        BuilderError: The file cannot be read or has another language, or a line is wrong.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BuilderError(f"{path}: {error}; expected a lock file") from error
    head = HEAD.fullmatch(lines[0])
    if head is None:
        raise BuilderError(f"{path}, line 1: expected `# {FORMAT}; language …`, found {lines[0][:80]!r}")
    if head[1] != language:
        raise BuilderError(
            f"{path}: expected a lock file of the Wikipedia {language!r}, found one of {head[1]!r};"
            f" take `language={head[1]}`"
        )
    columns = next((one for one in (COLUMNS, DATED) if lines[1:2] == ["\t".join(one)]), None)
    if columns is None:
        raise BuilderError(f"{path}, line 2: expected the columns {', '.join(COLUMNS)}, separated by tabs")
    if lines[-1] != "":
        raise BuilderError(f"{path}, line {len(lines)}: the file breaks off, its last line has no end")
    revisions = [_revision(path, number, line, columns) for number, line in enumerate(lines[2:-1], 3)]
    if len({one.revision_id for one in revisions}) != len(revisions):
        raise BuilderError(f"{path}: a revision is there twice; expected one line per revision")
    return revisions


def _revision(path: Path, number: int, line: str, columns: tuple[str, ...]) -> Revision:
    fields = line.split("\t")
    if len(fields) != len(columns):
        raise BuilderError(f"{path}, line {number}: expected {len(columns)} columns, found {len(fields)}")
    title, page_id, revision_id, timestamp, sha1, *dates = fields
    created, promoted = ("" if one == "-" else one for one in dates or "--")
    faults = {
        "title": not title_fault(title),
        "page_id": NUMBER.fullmatch(page_id),
        "revision_id": NUMBER.fullmatch(revision_id),
        "timestamp": TIMESTAMP.fullmatch(timestamp),
        "sha1": SHA1.fullmatch(sha1),
        "created": not created or TIMESTAMP.fullmatch(created),
        "promoted": not promoted or TIMESTAMP.fullmatch(promoted),
    }
    for (column, good), found in zip(faults.items(), fields, strict=False):
        if not good:
            raise BuilderError(f"{path}, line {number}: {found[:80]!r} is not a {column}")
    return Revision(
        title=title,
        page_id=int(page_id),
        revision_id=int(revision_id),
        timestamp=timestamp,
        sha1=sha1,
        created=created,
        promoted=promoted,
    )
