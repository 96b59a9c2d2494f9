"""The table of all rows as a page: published, measured at a small size, measured at the published size.

A number that was not measured is `not yet`, or a dash if there is no such size.
"""

from __future__ import annotations

import logging
import math
import statistics
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lm_benchmarks.errors import HarnessError
from lm_benchmarks.measuring.compare import mean_number
from lm_benchmarks.metrics import METRICS
from lm_benchmarks.records import Result, Trained, decisive_settings, read_results, settings_of
from lm_benchmarks.reporting.formats import Column, render, shown
from lm_benchmarks.reporting.published import (
    FILES,
    PUBLISHED,
    ROWS,
    TRAIN,
    PaperRow,
    Published,
    is_papers,
    is_trained_on,
    note,
    published_on,
)
from lm_benchmarks.reporting.report import write_text
from wikitext_builder.tables import csv_text

LOG: Final = logging.getLogger(__name__)
OTHER_RECORDS: Final = ("conditions.jsonl", "speeds.jsonl")  # of `reproduce`, the second of older versions
CHECKPOINT: Final = "best.safetensors"  # as `ps_models` names it, which needs torch
DATASETS: Final = {"ptb": "Penn Treebank", "wikitext-2": "WikiText-2"}
NOT_YET, NO_SUCH = "not yet", "–"
SHOWN: Final = ("cache", "weights", "dropout_samples")  # of signatures: what was tuned or chosen
BUDGET: Final = frozenset({"epochs", "decay", "decay_after"})  # settings of how long a run trains
Key = tuple[str, str]  # dataset and recipe
Runs = Mapping[str, Sequence[Result]]  # by split: one result per seed


def rows(folder: str | Path, out: str | Path) -> Path:
    """Write the table of all rows (published, small size, full size, our training); return its path.

    Finished runs that the table leaves out are logged and listed in the page, with the reason.

    Args:
        folder: With the records: `ptb.jsonl` and `wikitext-2.jsonl` of `measure`. Nothing else is read.
        out: The page, in Markdown; or only its numbers, if it ends in `.csv`.

    Raises:
        HarnessError: There is no folder or no result, `out` has another ending, or a file cannot be read or
            written.
    """
    if (ending := Path(out).suffix) not in (".md", ".csv"):  # it could be the records
        raise HarnessError(f"--out: {out}; expected a file that ends in .md or .csv")
    if not Path(folder).is_dir():
        raise HarnessError(f"{folder}: no such folder; expected one with {' or '.join(DATASETS)}.jsonl")
    results = read_records(Path(folder))
    if not results:
        raise HarnessError(
            f"{folder}: no results; expected {' or '.join(DATASETS)}.jsonl, of `reproduce` or `run`"
        )
    for line in (*left_out(results), *not_read(Path(folder), results)):
        LOG.warning("left out: %s", line)
    make = rows_csv if ending == ".csv" else rows_page
    return write_text(Path(out), make(results))


def read_records(folder: Path) -> list[Result]:
    """The results of each dataset in a folder; a missing file has none."""
    files = [folder / f"{data}.jsonl" for data in DATASETS]
    return [result for path in files if path.is_file() for result in read_results(path)]


def rows_page(results: Sequence[Result]) -> str:
    """The page, in Markdown. Of a model that was measured twice the last result counts, of seeds the mean."""
    measured, parts = _by_recipe(results), []
    for data, name in DATASETS.items():
        places = _places(data, measured)
        notes = [
            note(one.model, one.source, f"{one.parameters} parameters" if one.parameters else "", one.note)
            for each in places
            if (one := each.paper)
        ]
        parts.append({"name": name, "frame": shown(ROW_COLUMNS, places), "notes": notes})
    return render("rows.md", parts=parts, made=_made(measured), missing=left_out(results))


def left_out(results: Sequence[Result]) -> list[str]:
    """The results that no cell shows, one line per model, with the reason."""
    measured, found = _by_recipe(results), dict[tuple[str, str, str], list[str]]()
    for result in results:
        if why := why_not(result) or _why_no_cell(result, measured):
            name, data = result.specification or result.model, result.data[0]
            found.setdefault((name, data, why), []).append(result.signature["split"])
    return [
        f"{name} on {data} ({', '.join(dict.fromkeys(splits))}): {why}"
        for (name, data, why), splits in found.items()
    ]


def not_read(folder: Path, results: Iterable[Result]) -> Iterator[str]:
    """What a folder of records has that is not in the table: other files of records, runs without one."""
    known, named = [f"{data}.jsonl" for data in DATASETS], " ".join(one.specification for one in results)
    for path in sorted(folder.glob("*.jsonl")):
        if path.name not in {*known, *OTHER_RECORDS}:
            yield f"{path.name}: only {' and '.join(known)} are read"
    for path in sorted(folder.glob(f"*/{CHECKPOINT}")):
        if path.parent.name not in named:
            yield f"{path.parent.name}: trained, and without a result; `lm-benchmarks run` measures it"


def why_not(result: Result) -> str:
    """Why a result is not comparable with those of the table; "" if it is.

    It must count as papers do, on the official files, and be made from the official train file by its recipe:
    budgets may differ, because the table says how many epochs, but no other setting.
    """
    data, settings = result.data[0], frozenset[str]().union(*map(_settings_today, result.trained))
    names = {one.partition("=")[0] for one in settings}
    reasons = {
        f"the table has {' and '.join(DATASETS)}": data not in DATASETS,
        "it is not a model of ours: the table shows recipes of rows.toml": not result.recipe,
        "it is not the official file, with its vocabulary, read as papers do: in one pass, by words": not (
            is_papers(result)
        ),
        f"its settings are not those of the preset: {', '.join(sorted(names - BUDGET))}": names - BUDGET,
        "its best epoch is not known": not all(one.epochs for one in result.trained),
        "it was not trained on the official train file": not is_trained_on(result, TRAIN.get(data, "?")),
    }
    return next((why for why, holds in reasons.items() if holds), "")


def _settings_today(one: Trained) -> frozenset[str]:
    """In what a training differs from its preset, also from what that is today: the row names its command."""
    try:
        from ps_models.configs import PRESETS
    except ImportError:  # without torch nobody knows the presets of today
        return decisive_settings(one.settings)
    model, _, preset = one.recipe.partition("/")
    today = settings_of(model, preset, one.model, one.training) if preset in PRESETS.get(model, {}) else ()
    return decisive_settings((*one.settings, *today))


def _why_no_cell(result: Result, measured: Mapping[Key, Runs]) -> str:
    """Why a comparable result is in no cell; "" if it is in one."""
    data, split = result.data[0], result.signature["split"]
    own = {row.name: [row.small, *(one.recipe for one in row.own_on(data))] for row in ROWS}
    here = [row for row in ROWS if result.recipe in (row.full_recipe(data), *own[row.name])]
    if not here:
        return f"{result.recipe} has no row in the table of {data}"
    if not any(result is one for one in measured[data, result.recipe].get(split, ())):
        return "a later result of the same seed, or runs of more epochs, stand in its place"
    if not result.as_presets and all(result.recipe not in own[row.name] for row in here):
        return "the full size is trained as published, and this run has other epochs"
    return ""


def rows_csv(results: Iterable[Result]) -> str:
    """The numbers of `rows_page` as CSV, not rounded: a line per row, size and split."""
    measured = _by_recipe(results)
    return csv_text(line for data in DATASETS for place in _places(data, measured) for line in _lines(place))


def _lines(place: Place) -> Iterator[dict[str, object]]:
    for split in FILES[place.data]:
        here = {"data": place.data, "model": place.row.name, "split": split}
        if place.paper is not None and split in place.paper.perplexities:
            yield {**here, "size": "published", "perplexity": place.paper.perplexities[split]}
        for size, recipe in place.sizes:
            for result in place.found(size, recipe).get(split, ()):
                yield {
                    **here,
                    "size": size,
                    "perplexity": METRICS["perplexity"].of(result.total),
                    "recipe": recipe,
                    "parameters": result.parameters,
                    "epochs": max((one.epochs for one in result.trained), default=None),
                    "broken": result.broken,
                    "signature": str(result.signature),
                }


def _by_recipe(results: Iterable[Result]) -> dict[Key, Runs]:
    """The results that count, by dataset and recipe: on each split the last of each seed, of one budget."""
    last: dict[Key, dict[tuple[object, ...], Result]] = {}
    for result in results:
        if not why_not(result):
            which = (result.signature["split"], _seed_of(result), result.decisive_settings)
            last.setdefault((result.data[0], result.recipe), {})[which] = result
    return {key: _alike(runs.values()) for key, runs in last.items()}


def _alike(runs: Collection[Result]) -> Runs:
    """The runs of the longest budget, by split and seed: a cell is of one training, a mean of seeds alone."""
    longest, found = max(runs, key=_budget), dict[str, list[Result]]()
    for run in sorted(runs, key=_seed_of):
        if run.decisive_settings == longest.decisive_settings:
            found.setdefault(run.signature["split"], []).append(run)
    return found


def _budget(run: Result) -> list[tuple[int, int]]:
    """Of each checkpoint in it, the epochs that were allowed, and those up to the best one."""
    return [(int(one.training.get("epochs", 0)), one.epochs) for one in run.trained]


def _places(data: str, measured: Mapping[Key, Runs]) -> list[Place]:
    """The rows of a dataset: published or measured on it, or published nowhere."""
    anywhere, published = {row.model for row in PUBLISHED}, published_on(data)
    return [
        Place(data=data, row=row, paper=published.get(row.name), measured=measured)
        for row in ROWS
        if row.name in published
        or row.name not in anywhere
        or any((data, row.recipe(data, size)) in measured for size in ("small", "full", "own"))
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A row on a dataset, with all that was measured."""

    data: str
    row: PaperRow
    paper: Published | None
    measured: Mapping[Key, Runs]

    @property
    def sizes(self) -> list[tuple[str, str]]:
        """What the row can have: a size and its recipe."""
        own = [("own", one.recipe) for one in self.row.own_on(self.data)]
        return [("small", self.row.small), ("full", self.row.full_recipe(self.data)), *own]

    def found(self, size: str, recipe: str) -> Runs:
        """What was measured of a recipe; of the published size only what was trained as published."""
        runs = self.measured.get((self.data, recipe), {})
        if size != "full":
            return runs
        kept = {split: [one for one in each if one.as_presets] for split, each in runs.items()}
        return {split: each for split, each in kept.items() if each}

    def cell(self, size: str) -> str:
        """The numbers of a size, small or full."""
        recipe = dict(self.sizes[:2])[size]
        return NO_SUCH if not recipe else _measured(self.found(size, recipe))


def _own(place: Place) -> str:
    """The published size by our own trainings, and how they differ; the best on valid first."""
    own = place.row.own_on(place.data)
    found = [(runs, one) for one in own if (runs := place.found("own", one.recipe))]
    found.sort(key=lambda each: _perplexity(each[0], "valid") or math.inf)
    cells = []
    for runs, one in found:
        count = next(iter(runs.values()))[0].parameters or 0
        cells.append(f"{_measured(runs)}; {count / 1e6:.1f} M; {one.differs}")
    return ". Also ".join(cells) or (NOT_YET if own else NO_SUCH)


ROW_COLUMNS: Final = (
    Column(head="model", value=lambda place: place.row.name),
    Column(head="published", value=lambda place: place.paper.both if place.paper else NO_SUCH),
    Column(head="small size", value=lambda place: place.cell("small")),
    Column(head="full size", value=lambda place: place.cell("full")),
    Column(head="our training", value=_own),
)


def _measured(results: Runs) -> str:
    if not results:
        return NOT_YET
    runs = [run for each in results.values() for run in each]
    values = [_perplexity(results, split) for split in ("valid", "test")]
    numbers = " / ".join(NO_SUCH if value is None else f"{value:,.2f}" for value in values)
    epochs = max((one.epochs for run in runs for one in run.trained), default=0)
    facts = [f"{epochs} epoch{'s' * (epochs > 1)}"] if epochs else []
    facts += [_spread(results)] if max(map(len, results.values())) > 1 else []
    return (
        numbers
        + (f" ({', '.join(facts)})" if facts else "")
        + (" BROKEN" if any(run.broken for run in runs) else "")
    )


def _perplexity(results: Runs, split: str) -> float | None:
    """The perplexity; of several seeds that of their mean nats per token."""
    runs = results.get(split)
    return mean_number(runs, METRICS["perplexity"]) if runs else None


def _spread(results: Runs) -> str:
    """How many seeds, and the standard deviation of their perplexities."""
    each = [[run.total.score.perplexity for run in results.get(split, ())] for split in ("valid", "test")]
    deviations = [
        f"{statistics.stdev(values):.2f}" if len(values) > 1 and max(values) < math.inf else NO_SUCH
        for values in each
    ]
    return f"{max(map(len, each))} seeds ± {' / '.join(deviations)}"


def _made(measured: Mapping[Key, Runs]) -> list[str]:
    """What each number is, and the commands that make it again."""
    lines = []
    for (data, recipe), results in measured.items():
        seeds: dict[str, list[Result]] = {}
        for run in (run for runs in results.values() for run in runs):
            seeds.setdefault(_seed_of(run), []).append(run)
        for runs in seeds.values():
            last = runs[-1]
            count = "" if last.parameters is None else f" {last.parameters:,} parameters."
            how = " ".join(_trained(one) for one in last.trained)
            facts = [f"{key} {last.signature.get(key)}" for key in SHOWN if last.signature.get(key)]
            put = f" ({', '.join(facts)})" if facts else ""
            lines.append(
                f"{recipe} on {data}{put}:{count} {how} Measured by {last.command} in"
                f" {sum(one.seconds for one in runs):,.0f} s on {last.device}.".replace("  ", " ")
            )
    return lines


def _seed_of(result: Result) -> str:
    """The seed; older results of several models together have it only in how each was trained."""
    trained = dict.fromkeys(str(one.training.get("seed", "")) for one in result.trained)
    return result.signature.get("seed", "_".join(trained))


def _trained(one: Trained) -> str:
    tokens = "" if one.tokens is None else f", {one.tokens:,} tokens"
    seconds = "" if one.seconds is None else f", {one.seconds:,.0f} s"
    return (
        f"{one.recipe} was trained by {one.command}: {one.epochs} epochs, {one.updates:,} updates{tokens}"
        f"{seconds}, seed {one.training.get('seed', 'unknown')}."
    )
