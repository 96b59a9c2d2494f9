"""Writes an overlap into the card of a dataset that was built here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from wikitext_builder.dataset.manifest import entry_of, read_manifest, write_manifest
from wikitext_builder.errors import BuilderError
from wikitext_builder.newness.overlap import Overlap
from wikitext_builder.newness.report import as_markdown

CARD: Final = "README.md"
HEADING: Final = "## Overlap with other text\n"


def write_into_card(directory: str | Path, found: Overlap) -> None:
    """Write an overlap as the last section of a dataset's card, in place of an earlier one.

    The manifest gets the new hash of the card; `verify` then holds.

    Raises:
        BuilderError: The dataset was not built here, or its card differs from the manifest.
    """
    directory = Path(directory)
    manifest, card = read_manifest(directory), directory / CARD
    if manifest is None or CARD not in manifest.files:
        raise BuilderError(f"{directory}: has no card; only datasets that were built here have one")
    if not card.is_file() or entry_of(card) != manifest.files[CARD]:
        raise BuilderError(f"{card}: is not what the manifest says; `verify` it, or build it again")
    text = card.read_text(encoding="utf-8").partition(f"\n{HEADING}")[0]
    card.write_text(f"{text}\n{HEADING}\n{as_markdown(found)}", encoding="utf-8", newline="\n")
    write_manifest(directory, replace(manifest, files={**manifest.files, CARD: entry_of(card)}))
