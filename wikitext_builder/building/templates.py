"""Templates of a store in files, for workers that do not reach the store."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

import zstandard

from wikitext_builder.pages.reading import open_templates
from wikitext_builder.runners import blobs

FILE_CHARACTERS = 2**20  # of the templates in one file; a worker reads the files that its pages need


class PackedTemplates:
    """The templates in a folder that `pack_templates` wrote."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def get(self, name: str, /) -> str | None:
        """The wikitext of a template; None if it is not there."""
        number = bisect_right(_first_names(self._folder), name) - 1
        return _file(f"{self._folder}/{number}.json.zst").get(name) if number >= 0 else None


def pack_templates(store: Path, folder: str, *, language: str, as_of: str) -> str:
    """Copy the templates of a store into a folder, unless that is done already.

    Returns:
        The folder; empty if the store has no templates.
    """
    if not blobs.exists(f"{folder}/index.json"):
        with open_templates(store, language=language, as_of=as_of or None) as templates:
            if templates is None:
                return ""
            names = []
            for number, some in enumerate(_pieces(templates.items())):
                names.append(next(iter(some)))
                data = json.dumps(some, ensure_ascii=False).encode()
                blobs.write(f"{folder}/{number}.json.zst", zstandard.compress(data, level=3))
        blobs.write(f"{folder}/index.json", json.dumps(names).encode())
    return folder


def _pieces(items: Iterable[tuple[str, str]]) -> Iterator[dict[str, str]]:
    piece: dict[str, str] = {}
    size = 0
    for name, wikitext in items:
        piece[name] = wikitext
        size += len(wikitext)
        if size >= FILE_CHARACTERS:
            yield piece
            piece, size = {}, 0
    if piece:
        yield piece


@lru_cache(maxsize=4)
def _first_names(folder: str) -> list[str]:
    """The first name of each file."""
    names: list[str] = json.loads(blobs.read(f"{folder}/index.json"))
    return names


@lru_cache(maxsize=16)
def _file(location: str) -> dict[str, str]:
    texts: dict[str, str] = json.loads(zstandard.decompress(blobs.read(location)))
    return texts
