"""Files of titles: one title per line."""

from __future__ import annotations

from pathlib import Path

from wikitext_builder.errors import BuilderError
from wikitext_builder.pages.store import Rejected
from wikitext_builder.wiki.titles import tidy_title, title_fault


def read_titles(path: Path) -> tuple[list[str], list[Rejected]]:
    """Return the titles of a file, each once, and the lines that no page can have as a title.

    The file has one title per line. Blank lines and lines that begin with `#` are ignored.

    Raises:
        BuilderError: The file cannot be read, or is not UTF-8.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise BuilderError(
            f"{path}: {error.strerror}; expected a file of titles, one title per line"
        ) from error
    except UnicodeDecodeError as error:
        raise BuilderError(f"{path}: not UTF-8 at byte {error.start:,}; save it as UTF-8") from error
    titles: dict[str, None] = {}
    rejected = []
    for number, line in enumerate(lines, 1):
        title = tidy_title(line.strip("\r\t "))
        if not title or title.startswith("#"):
            continue
        if fault := title_fault(title):
            detail = f"{path.name}, line {number}: no page can have this title, {fault}"
            rejected.append(Rejected(title=title[:200], reason="invalid-title", detail=detail))
        else:
            titles[title] = None
    return list(titles), rejected
