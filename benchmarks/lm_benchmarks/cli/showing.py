"""Commands that read results and datasets: compare, report, rows, overlap."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import click

from lm_benchmarks.cli.options import ANY_PATH, EXISTING, json_option, split_option
from lm_benchmarks.measuring.compare import MUST_AGREE, RESAMPLES, compare
from lm_benchmarks.metrics import METRICS
from lm_benchmarks.overlap import WORDS, find_overlap, totals
from lm_benchmarks.records.result import Result, read_results
from lm_benchmarks.reporting.formats import latex, markdown
from lm_benchmarks.reporting.page import page
from lm_benchmarks.reporting.published import PUBLISHED
from lm_benchmarks.reporting.report import Report, make_report
from lm_benchmarks.reporting.rows_page import read_records, rows_page
from wikitext_builder.dataset.load import load as load_dataset
from wikitext_builder.errors import BuilderError
from wikitext_builder.progress import shown_progress

FORMATS: Final[dict[str, Callable[[Report], str]]] = {".md": markdown, ".tex": latex, ".html": page}


@click.command("compare")
@click.argument("results", type=EXISTING)
@click.argument("first")
@click.argument("second")
@split_option
@click.option("--metric", type=click.Choice(list(METRICS)), default="perplexity", help="Which number.")
@click.option("--level", default=0.95, type=click.FloatRange(0.5, 0.9999), help="Of the interval.")
@click.option("--resamples", default=RESAMPLES, type=click.IntRange(min=100), help="Draws of the bootstrap.")
@click.option("--seed", default=1, help="Of the draws.")
@click.option(
    "--allow", multiple=True, type=click.Choice(list(MUST_AGREE)), help="What may differ; repeatable."
)
@json_option
def compare_results(
    *,
    results: Path,
    first: str,
    second: str,
    split: str,
    allow: tuple[str, ...],
    as_json: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """How model SECOND differs from model FIRST, both in the file RESULTS, with what chance may do."""
    read = read_results(results)
    pair = [_result(read, name, split, results) for name in (first, second)]
    found = compare(*pair, allowed=allow, **options)
    if as_json:
        click.echo(json.dumps({**asdict(found), "difference": found.difference}))
        return
    for result, value in zip(pair, (found.first, found.second), strict=True):
        mark = f"  BREAKS: {', '.join(result.broken)}" if result.broken else ""
        click.echo(f"{found.metric} {value:.4f}  {result.model}{mark}")
    click.echo(f"difference {found.difference:+.4f}")
    if found.interval is None or found.better is None:
        click.echo(f"{found.passages} passages: too few for an interval")
        return
    low, high = found.interval
    click.echo(
        f"{found.level:.0%} interval {low:+.4f} to {high:+.4f}; {second} is lower in {found.better:.1%} of"
        f" {found.resamples} draws of {found.passages} passages"
    )


@click.command()
@click.argument("results", type=EXISTING, nargs=-1, required=True)
@click.option("--out", type=ANY_PATH, required=True, help=f"The report: {', '.join(FORMATS)}.")
@click.option("--title", default="Language models measured", help="Of the report.")
@click.option("--data", type=EXISTING, help="Dataset whose word frequencies are drawn.")
@click.option("--published/--no-published", "with_published", default=True, help="Also what papers say.")
@click.option(
    "--log", "logs", type=EXISTING, multiple=True, help="Run of ps-models train to draw; repeatable."
)
def report(
    *,
    results: tuple[Path, ...],
    out: Path,
    title: str,
    data: Path | None,
    with_published: bool,
    logs: tuple[Path, ...],
) -> None:
    """Tables, charts and signatures of all RESULTS.

    Published numbers stand beside measured ones on the official files of Penn Treebank and WikiText-2.
    """
    if out.suffix not in FORMATS:
        raise BuilderError(f"{out}: no report of this kind; expected an ending of {', '.join(FORMATS)}")
    read = [result for path in results for result in read_results(path)]
    dataset = None if data is None else load_dataset(data)
    published = PUBLISHED if with_published else ()
    made = make_report(title, read, published=published, logs=logs, dataset=dataset)
    _write(out, FORMATS[out.suffix](made))


@click.command()
@click.argument("folder", type=EXISTING)
@click.option("--out", type=ANY_PATH, required=True, help="The page, in Markdown.")
def rows(*, folder: Path, out: Path) -> None:
    """The table of all rows: published | small size | full size, of the records in FOLDER, and nothing else.

    Results of `run` are read from ptb.jsonl and wikitext-2.jsonl, first-updates.jsonl is of `first-updates`.
    """
    _write(out, rows_page(*read_records(folder)))


@click.command()
@click.argument("data", type=EXISTING)
@click.option("--words", default=WORDS, type=click.IntRange(min=1), help="n, of the n-grams.")
@click.option("--without-unknown", is_flag=True, help="Leave out n-grams with an <unk>.")
@click.option("--most", default=5, type=click.IntRange(min=0), help="Articles shown of each part.")
@json_option
def overlap(*, data: Path, words: int, without_unknown: bool, most: int, as_json: bool) -> None:
    """How much of valid and test of DATA stands in its train: duplicates, near duplicates, n-grams."""
    dataset = load_dataset(data)
    splits = [split for split in ("valid", "test") if split in dataset.files]
    with shown_progress() as progress:
        found = find_overlap(
            dataset, splits=splits, words=words, without_unknown=without_unknown, progress=progress
        )
    if as_json:
        articles = [
            {**asdict(one), "share": one.share, "is_near_duplicate": one.is_near_duplicate} for one in found
        ]
        click.echo(json.dumps({"parts": [asdict(part) for part in totals(found)], "articles": articles}))
        return
    for part in totals(found):
        share = part.shared / part.ngrams if part.ngrams else 0.0
        click.echo(
            f"{part.split}: {part.articles} articles, {part.duplicates} of them duplicates and"
            f" {part.near_duplicates} near duplicates of one in train; of {part.lines} long lines"
            f" {part.duplicate_lines} and of {part.ngrams} {words}-grams {share:.2%} are in train"
        )
        own = sorted((one for one in found if one.split == part.split), key=lambda one: -one.share)
        for one in own[:most]:
            click.echo(f"  {one.share:7.2%}  {one.title}  (nearest: {one.nearest or 'none'})")


def _result(results: list[Result], name: str, split: str, path: Path) -> Result:
    """The last result of a model, by its name in tables or in signatures."""
    named = [result for result in results if name in (result.model, result.signature["model"])]
    found = [result for result in named if result.signature["split"] in (split, "file")]
    if not found:
        names = ", ".join(dict.fromkeys(f"{r.model} ({r.signature['split']})" for r in results))
        raise BuilderError(f"{path}: no result of {name} on {split}; there are {names}")
    return found[-1]


def _write(out: Path, text: str) -> None:
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BuilderError(f"{out}: {error.strerror}; expected a file to write the report to") from error
    click.echo(out)


COMMANDS: Final = (compare_results, report, rows, overlap)
