"""Results as tables: which are in one table, how rows are ordered and compared, and what a reader wants."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lm_benchmarks.errors import HarnessError
from lm_benchmarks.measuring.compare import compare_results
from lm_benchmarks.measuring.ranking import ranks_of
from lm_benchmarks.measuring.select import why_unlike
from lm_benchmarks.records import Result
from lm_benchmarks.reporting.published import TRAIN, Published, is_papers, is_trained_on, published_name
from lm_benchmarks.reporting.tables import BYTES, MAIN, PIECES, SAME, ReportRow, Shown, Table, value_of
from wikitext_builder.article import SPLITS


def tables_of(results: Iterable[Result], published: Sequence[Published] = ()) -> list[Table]:
    """A table per dataset and convention. If a model was measured twice, the last result counts.

    The best model comes first, models that violate invariants last. Different versions of a split have
    separate tables.
    """
    results = list(results)
    files: dict[tuple[str, ...], dict[str, set[str]]] = {}
    for result in results:
        files.setdefault(key_of(result), {}).setdefault(result.signature["split"], set()).add(result.data[1])
    found: dict[tuple[str, ...], dict[tuple[str, str], dict[str, Result]]] = {}
    for result in results:
        signature, key = result.signature, key_of(result)
        if max(map(len, files[key].values())) > 1:
            key = (signature["data"], *key[1:])
        models = found.setdefault(key, {})
        models.setdefault((result.model, signature["model"]), {})[signature["split"]] = result
    tables, seen = [], dict[str, dict[str, int]]()
    for key, models in found.items():
        table, name = _table(key, models, published), next(iter(next(iter(models.values())).values())).data[0]
        if key[0] != name:  # with a hash
            table = replace(table, version=seen.setdefault(name, {}).setdefault(key[0], len(seen[name]) + 1))
        tables.append(table)
    return tables


def arranged(
    tables: Sequence[Table], *, columns: Sequence[str] = (), sort: str = "", csv: bool = False
) -> tuple[Table, ...]:
    """The tables with the chosen columns, sorted by one of them in ascending order.

    Columns are named by table headings or CSV names. The beginning of a heading is enough: `perplexity` is
    that of all splits. Tables always have the column `model`. `-` before the column to sort by reverses the
    order. Rows without a value come after those with one, and models that violate invariants last.
    """
    there = [table.keys if csv else table.heads for table in tables]
    every = dict.fromkeys(name for each in there for name in each)
    for name in (*columns, *([sort.removeprefix("-")] if sort else [])):
        if not _meant(name, every):
            raise HarnessError(f"no column {name!r}; there are: {'; '.join(every)}")
    wanted = [name for one in columns for name in _meant(one, every)]
    return tuple(
        replace(
            table,
            wanted=tuple(dict.fromkeys(("model", *wanted))) if wanted else (),
            rows=_sorted(table, each, sort),
        )
        for table, each in zip(tables, there, strict=True)
    )


def _meant(name: str, there: Iterable[str]) -> list[str]:
    """The columns that a name means: that one, or those whose names begin with it."""
    found = list(there)
    return [name] if name in found else [one for one in found if one.startswith(f"{name} ")]


def _sorted(table: Table, there: Mapping[str, Shown], sort: str) -> tuple[ReportRow, ...]:
    names = _meant(sort.removeprefix("-"), there) if sort else []
    if not names:
        return table.rows
    ranks: list[tuple[Any, ReportRow]] = [(table.rank(there[names[-1]], row), row) for row in table.rows]
    known = [pair for pair in ranks if pair[0] not in (None, "")]
    known.sort(key=lambda pair: pair[0], reverse=sort.startswith("-"))
    rows = [row for _, row in (*known, *(pair for pair in ranks if pair[0] in (None, "")))]
    return tuple(sorted(rows, key=lambda row: row.is_broken))


def key_of(result: Result) -> tuple[str, ...]:
    """What results must share to be in one table."""
    return (result.data[0], *(result.signature[name] for name in SAME))


def _table(
    key: tuple[str, ...],
    models: Mapping[tuple[str, str], Mapping[str, Result]],
    published: Sequence[Published],
) -> Table:
    data, kind = key[0], dict(zip(SAME, key[1:], strict=True))
    papers = all(is_papers(result) for each in models.values() for result in each.values())
    known = {row.model: row for row in published if row.data == data and papers}
    metric = MAIN.get(kind["convention"], PIECES)
    rows = []
    for (name, _), results in models.items():
        first = next(iter(results.values()))
        is_same = first.as_presets and is_trained_on(first, TRAIN.get(data, "?"))
        own = published_name(first.recipe, data) if is_same else ""
        rows.append(ReportRow(model=name, results=results, paper=known.get(own)))
    papers_of_rows = [row.paper for row in rows]
    rows += [ReportRow(model=row.model, paper=row) for row in known.values() if row not in papers_of_rows]
    found = {split for row in rows for split in (*row.results, *row.published)}
    splits = tuple(sorted(found, key=lambda split: (*SPLITS, split).index(split)))
    last = splits[-1]
    ordered = sorted(rows, key=lambda row: _order(row, last, metric))
    measured = [row.results[last] for row in ordered if last in row.results and metric != PIECES]
    ranks = dict(zip(map(id, measured), ranks_of(measured, metric), strict=True))
    ranked = [replace(row, ranks=ranks.get(id(row.results.get(last)), "")) for row in ordered]
    return Table(
        data=data,
        kind=kind,
        metric=metric,
        bytes_metric=BYTES.get(kind["convention"], "bits-per-file-byte"),
        splits=splits,
        rows=tuple(_with_difference(row, ranked, last, metric) for row in ranked),
    )


def _order(row: ReportRow, split: str, metric: str) -> tuple[bool, float, str]:
    """The best first; models that violate invariants last."""
    value = value_of(row, split, metric)
    if value is None:
        value = row.published.get(split, math.inf)
    return row.is_broken, value, row.model


def _with_difference(row: ReportRow, rows: Sequence[ReportRow], split: str, metric: str) -> ReportRow:
    honest = [other for other in rows if split in other.results and not other.is_broken]
    if split not in row.results or not honest or metric == PIECES:
        return row
    best = min(honest, key=lambda other: value_of(other, split, metric) or math.inf)
    has_number = all(math.isfinite(value_of(one, split, metric) or math.inf) for one in (best, row))
    if not has_number or why_unlike(best.results[split], row.results[split]):
        return row
    if best is row:
        return replace(row, difference="best", above=0.0)
    found = compare_results(best.results[split], row.results[split], metric=metric)
    said, why = f"{found.difference:+,.2f}", ""
    if found.interval is None:
        why = f"{found.passages} passages: {found.no_interval}"
    else:
        said += f" [{found.interval[0]:+,.2f}, {found.interval[1]:+,.2f}]"
    return replace(row, difference=said, above=found.difference, no_interval=why)
