"""The table of all rows as a page: published, and measured here at a small and at the published size.

    python benchmarks/rows.py benchmarks/results docs/rows.md

The folder has the results of `lm-benchmarks run` in ptb.jsonl and wikitext-2.jsonl. A number that was not
measured is `not yet`, or a dash if there is no such size. If a model was measured twice, the last result
counts; for several seeds, the mean. Finished runs that are in no cell are listed with the reason.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from lm_benchmarks.measuring.compare import mean_number
from lm_benchmarks.metrics import METRICS
from lm_benchmarks.records import Result, read_results
from lm_benchmarks.reporting import published as papers
from lm_benchmarks.reporting.formats import framed, markdown_cell, markdown_table

DATASETS: Final = {"ptb": "Penn Treebank", "wikitext-2": "WikiText-2"}
NOT_YET, NO_NUMBER = "not yet", "–"
SIGNATURE_FACTS: Final = ("cache", "weights", "dropout_samples")  # of signatures: what was tuned or chosen
BUDGET_SETTINGS: Final = frozenset({"epochs", "decay", "decay_after"})  # how long a run trains
HEADS: Final = ("model", "published", "small size", "full size", "our training")
INTRODUCTION: Final = """# All rows

`benchmarks/rows.py` writes this page from records of `lm-benchmarks run`.

Numbers are perplexities per word, valid / test, on the official files, in one pass over the text, with one
`<eos>` per line. *Small size* is what two processor cores can train in minutes or hours: compare small sizes
with each other after the same number of epochs, not with published numbers. *Full size* is the published
size, trained to the end as published. *Our training* is the published size, trained in hours by our own
settings; the cell says how they differ. A dash: there is no such number, or we have no such size.
"""
Runs = Mapping[str, Sequence[Result]]  # by split: one result per seed
Measured = Mapping[tuple[str, str], Runs]  # by dataset and recipe


def rows_page(results: Sequence[Result]) -> str:
    """Return the page, in Markdown."""
    measured, parts = _by_recipe(results), [INTRODUCTION]
    for data, name in DATASETS.items():
        published = papers.published_on(data)
        rows = list(_rows(data, measured))
        cells = [_cells(data, row, measured) for row in rows]
        sources = [published[row.name] for row in rows if row.name in published]
        counts = [f"{paper.parameters} parameters" if paper.parameters else "" for paper in sources]
        notes = [
            papers.note(paper.model, paper.source, count, paper.note)
            for paper, count in zip(sources, counts, strict=True)
        ]
        parts += [f"## {name}\n", markdown_table(framed(cells, dict.fromkeys(HEADS, False))) + "\n"]
        parts += ["What published numbers do not show:\n", _list(notes)]
    parts += ["## How each was measured\n", _list(_provenance(measured))]
    if missing := left_out(results):
        parts += ["## Left out\n", "Finished runs that no cell shows, and why:\n", _list(missing)]
    return "\n".join(parts)


def _list(lines: Iterable[str]) -> str:
    return "".join(f"- {markdown_cell(line)}\n" for line in lines)


def left_out(results: Sequence[Result]) -> list[str]:
    """Return the results that are in no cell, one line per model, with the reason."""
    measured, splits = _by_recipe(results), dict[tuple[str, str, str], list[str]]()
    groups = [
        runs for data in DATASETS for row in _rows(data, measured) for runs in _runs(data, row, measured)
    ]
    shown_runs = {id(run) for runs in groups for names_of_splits in runs.values() for run in names_of_splits}
    for result in results:
        if id(result) not in shown_runs:
            reason = why_not(result) or "its recipe has no row, or another run stands in its place"
            key = result.specification or result.model, result.data[0], reason
            splits.setdefault(key, []).append(result.signature["split"])
    return [
        f"{name} on {data} ({', '.join(dict.fromkeys(names_of_splits))}): {reason}"
        for (name, data, reason), names_of_splits in splits.items()
    ]


def why_not(result: Result) -> str:
    """Return why a result is not comparable with those of the table; "" if it is.

    It must be counted as papers do, on the official files, and be trained on the official train file by its
    recipe: budgets may differ, because the table has the number of epochs, but no other setting.
    """
    names = {setting.partition("=")[0] for changes in result.changes for setting in changes} - BUDGET_SETTINGS
    train, is_comparable = papers.TRAIN.get(result.data[0], "?"), papers.is_as_papers(result)
    reasons = {
        "it is not a model of ours: the table shows recipes of rows.toml": not result.recipe,
        "it is not the official file, with its vocabulary, read as papers do": not is_comparable,
        f"its settings are not those of the preset: {', '.join(sorted(names))}": names,
        "it was not trained on the official train file": not papers.is_trained_on(result, train),
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def _by_recipe(results: Iterable[Result]) -> Measured:
    """Return the results that count: by split, the last of each seed with the longest budget of a recipe."""
    last: dict[tuple[str, str], dict[tuple[object, ...], Result]] = {}
    for result in results:
        if not why_not(result):
            run_key = (result.signature["split"], _seed_of(result), result.changes)
            last.setdefault((result.data[0], result.recipe), {})[run_key] = result
    return {key: _of_longest_budget(runs.values()) for key, runs in last.items()}


def _of_longest_budget(runs: Collection[Result]) -> Runs:
    longest = max(
        runs,
        key=lambda run: [(int(part.training.get("epochs", 0)), part.epochs) for part in run.trained],
    )
    by_split: dict[str, list[Result]] = {}
    for run in sorted(runs, key=_seed_of):
        if run.changes == longest.changes:
            by_split.setdefault(run.signature["split"], []).append(run)
    return by_split


def _rows(data: str, measured: Measured) -> Iterator[papers.PaperRow]:
    """Yield the rows of a dataset: published or measured on it, or published nowhere."""
    anywhere, published = {row.model for row in papers.PUBLISHED}, papers.published_on(data)
    for row in papers.ROWS:
        recipes = [row.recipe(data, size) for size in ("small", "full", "own")]
        is_measured = any((data, recipe) in measured for recipe in recipes)
        if row.name in published or row.name not in anywhere or is_measured:
            yield row


def _runs(data: str, row: papers.PaperRow, measured: Measured) -> list[Runs]:
    """Return the runs of a row: its small size, its full size as published, and our trainings."""
    full = measured.get((data, row.full_recipe(data)), {})
    as_published = {split: [run for run in runs if run.follows_presets] for split, runs in full.items()}
    ours = [measured.get((data, training.recipe), {}) for training in row.own_trainings_on(data)]
    published = {split: runs for split, runs in as_published.items() if runs}
    return [measured.get((data, row.small), {}), published, *ours]


def _cells(data: str, row: papers.PaperRow, measured: Measured) -> list[str]:
    paper, trainings = papers.published_on(data).get(row.name), row.own_trainings_on(data)
    small, full, *ours = _runs(data, row, measured)
    pairs = [(runs, training) for runs, training in zip(ours, trainings, strict=True) if runs]
    texts = []
    for runs, training in sorted(pairs, key=lambda pair: _perplexity(pair[0], "valid") or math.inf):
        count = next(iter(runs.values()))[0].parameters or 0
        texts.append(f"{_numbers(runs)}; {count / 1e6:.1f} M; {training.differs}")
    return [
        row.name,
        paper.valid_and_test if paper else NO_NUMBER,
        _numbers(small) if row.small else NO_NUMBER,
        _numbers(full) if row.full_recipe(data) else NO_NUMBER,
        ". Also ".join(texts) or (NOT_YET if trainings else NO_NUMBER),
    ]


def _numbers(results: Runs) -> str:
    if not results:
        return NOT_YET
    runs = [run for seeds in results.values() for run in seeds]
    values = [_perplexity(results, split) for split in ("valid", "test")]
    epochs = max((training.epochs for run in runs for training in run.trained), default=0)
    facts = [f"{epochs} epoch{'s' * (epochs > 1)}"] if epochs else []
    facts += [_spread(results)] if max(map(len, results.values())) > 1 else []
    text = " / ".join(NO_NUMBER if value is None else f"{value:,.2f}" for value in values)
    broken = " BROKEN" if any(run.broken for run in runs) else ""
    return text + (f" ({', '.join(facts)})" if facts else "") + broken


def _perplexity(results: Runs, split: str) -> float | None:
    """Return the perplexity; for several seeds, that of their mean nats per token."""
    runs = results.get(split)
    return mean_number(runs, METRICS["perplexity"]) if runs else None


def _spread(results: Runs) -> str:
    """Return the number of seeds, and the standard deviation of their perplexities."""
    by_split = [[run.total.score.perplexity for run in results.get(s, ())] for s in ("valid", "test")]
    deviations = [
        f"{statistics.stdev(values):.2f}" if len(values) > 1 and max(values) < math.inf else NO_NUMBER
        for values in by_split
    ]
    return f"{max(map(len, by_split))} seeds ± {' / '.join(deviations)}"


def _provenance(measured: Measured) -> Iterator[str]:
    """Yield what the numbers are, and the commands that reproduce them."""
    for (data, recipe), results in measured.items():
        seeds: dict[str, list[Result]] = {}
        for run in (run for runs in results.values() for run in runs):
            seeds.setdefault(_seed_of(run), []).append(run)
        for runs in seeds.values():
            last = runs[-1]
            facts = [f"{key} {last.signature.get(key)}" for key in SIGNATURE_FACTS if last.signature.get(key)]
            chosen = f" ({', '.join(facts)})" if facts else ""
            line = [f"{recipe} on {data}{chosen}:"]
            line += [] if last.parameters is None else [f"{last.parameters:,} parameters."]
            for training in last.trained:
                details = [f"{training.epochs} epochs, {training.updates:,} updates"]
                details += [] if training.tokens is None else [f"{training.tokens:,} tokens"]
                details += [] if training.seconds is None else [f"{training.seconds:,.0f} s"]
                details += [f"seed {training.training.get('seed', 'unknown')}."]
                line.append(f"{training.recipe} was trained by {training.command}: {', '.join(details)}")
            seconds = sum(training.seconds for training in runs)
            yield " ".join([*line, f"Measured by {last.command} in {seconds:,.0f} s on {last.device}."])


def _seed_of(result: Result) -> str:
    """Return the seed; results of combined models have it only in the trainings of their members."""
    seeds = dict.fromkeys(str(training.training.get("seed", "")) for training in result.trained)
    return result.signature.get("seed", "_".join(seeds))


def main(folder: Path, out: Path) -> None:
    """Write the page of the results in a folder."""
    results = [result for data in DATASETS for result in read_results(folder / f"{data}.jsonl")]
    out.write_text(rows_page(results), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
