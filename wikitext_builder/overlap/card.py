"""Writes an overlap into a dataset that was built here: the totals into its card, and figures by article."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from wikitext_builder.csv_text import csv_text
from wikitext_builder.dataset.manifest import (
    CARD,
    OVERLAP,
    OVERLAP_BY_ARTICLE,
    OVERLAP_HEADING,
    compared_overlap,
    entry_of_data,
    parts_of_card,
    read_manifest,
)
from wikitext_builder.errors import BuilderError
from wikitext_builder.overlap.overlap import LENGTHS, Overlap
from wikitext_builder.overlap.report import as_markdown, as_rows
from wikitext_builder.overlap.sources import files_of
from wikitext_builder.runners import blobs


def built_card(directory: str | Path) -> bytes:
    """What the build wrote of a dataset's card.

    Raises:
        BuilderError: The dataset was not built here, or its card differs from the manifest.
    """
    directory = Path(directory)
    manifest = read_manifest(directory)
    if manifest is None or CARD not in manifest.files:
        raise BuilderError(f"{directory}: has no card; only datasets that were built here have one")
    built, _ = parts_of_card(directory)
    if entry_of_data(built) != manifest.files[CARD]:
        raise BuilderError(
            f"{directory / CARD}: is not what the manifest says; run `wikitext-builder verify`, or build"
            " it again"
        )
    return built


def write_into_card(directory: str | Path, found: Overlap) -> None:
    """Write an overlap into a dataset, in place of an earlier one.

    The card gets its last section, `overlap.csv` the figures of each article, and `overlap.json` the totals,
    what the other text was, and the hashes of the two. The manifest stays as it is: it says what the dataset
    is, and not what it was compared with. If this is interrupted, `verify` says that parts do not agree.

    Raises:
        BuilderError: See `built_card`.
    """
    directory, built = Path(directory), built_card(directory)
    texts = {
        OVERLAP_BY_ARTICLE: csv_text(as_rows(found)).encode(errors="backslashreplace"),
        CARD: OVERLAP_HEADING + f"\n{as_markdown(found)}".encode(errors="backslashreplace"),
    }
    stored = {name: value for name, value in asdict(found).items() if name != "articles"}
    stored["bytes"] = _sizes(found.against)
    stored["files"] = {name: asdict(entry_of_data(data)) for name, data in texts.items()}
    texts[CARD] = built + texts[CARD]
    texts[OVERLAP] = f"{json.dumps(stored, indent=1)}\n".encode()
    for name, data in texts.items():
        blobs.write(str(directory / name), data)


def is_compared(directory: Path, against: Sequence[str | Path]) -> bool:
    """Returns True if a dataset has, whole, the overlap that a build with these files writes."""
    paths, manifest = [str(path) for path in files_of(against)], read_manifest(directory)
    expected = {"against": paths, "bytes": _sizes(paths), "as_of": "", "lengths": list(LENGTHS)}
    try:
        parts = list(compared_overlap(directory))
        stored = json.loads((directory / OVERLAP).read_text(encoding="utf-8")) if parts else {}
        compared = {one["split"] for one in stored.get("splits", ())}
    except (BuilderError, TypeError, KeyError):
        return False
    splits = {name for name, one in manifest.splits.items() if one.articles} if manifest else set()
    same = compared == splits and all(stored.get(name) == value for name, value in expected.items())
    return same and all(there == entry for _, entry, there in parts)


def _sizes(paths: Sequence[str]) -> list[int]:
    """The bytes of each source; of a folder, of all its files."""
    return [
        sum(one.stat().st_size for one in ([path] if path.is_file() else path.rglob("*")) if one.is_file())
        for path in map(Path, paths)
    ]
