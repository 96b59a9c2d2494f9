"""What all runs of a folder have in common: what is done there is done for these files and settings only."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from msgspec.structs import asdict

from lm_benchmarks.errors import HarnessError
from lm_benchmarks.record_versions import Record
from lm_benchmarks.records.lines import append_record, has_lines, of_line, read_lines

CONDITIONS: Final = "conditions.jsonl"  # a single line


class Conditions(Record, frozen=True, kw_only=True):
    """The table, the dataset and the settings of a folder of runs."""

    table: str
    train: str  # SHA-256 of the file, as of valid and test
    valid: str
    test: str
    settings: str  # as `settings_text` writes them


def settings_text(settings: Iterable[str]) -> str:
    """Settings in one line, whatever the order in which they were given; of a key the last one counts.

    >>> settings_text(["epochs=2", "decay=0.5", "epochs=3"])
    'decay=0.5 epochs=3'
    """
    parts = " ".join(settings).split()  # a value may have spaces
    return " ".join(sorted({one.partition("=")[0]: one for one in parts}.values()))


def expect_conditions(folder: Path, wanted: Conditions, *, keep: bool) -> None:
    """Refuse a folder whose runs have other conditions; with `keep`, note them if there are none yet.

    Raises:
        HarnessError: They differ, or the note is damaged.
    """
    path = folder / CONDITIONS
    known = read_lines(path, _of_json, writer="reproduce") if has_lines(path) else []
    for found in map(asdict, known):
        found["settings"] = settings_text([found["settings"]])  # older versions kept the order
        now = asdict(wanted)
        if changes := [f"{name} {found[name]!r} → {now[name]!r}" for name in now if now[name] != found[name]]:
            raise HarnessError(
                f"{folder}: its runs are of other conditions ({', '.join(changes)}); reproduce with the same"
                " ones, or use another --out"
            )
    if keep and not known:
        append_record(path, wanted)


def _of_json(line: str) -> Conditions:
    return of_line(line, Conditions, "conditions")
