"""Commands that compare and show results: compare, report, rows, lm-eval-task, reproduce."""

from __future__ import annotations

import json
import math
import shlex
from dataclasses import asdict
from typing import Any, Final

import click

import lm_benchmarks as lb
from lm_benchmarks.choices import COMPARE_ONLY, LEVEL, MUST_AGREE, SIZES, TITLE
from lm_benchmarks.cli.options import (
    ANY_PATH,
    EXISTING,
    OUTPUT_FILE,
    ModelCommand,
    ignored_option,
    json_option,
    split_option,
)
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.metrics import METRICS
from lm_benchmarks.record_versions import one_line
from wikitext_builder.cli.options import SEED, RealRange, csv_option
from wikitext_builder.progress import shown_progress
from wikitext_builder.tables import csv_text


@click.command(cls=ModelCommand)
@click.argument("results", type=EXISTING)
@click.argument("first")
@click.argument("second")
@split_option
@click.option("--metric", type=click.Choice(list(METRICS)), default="perplexity", help="Which number.")
@click.option("--level", default=LEVEL, type=RealRange(0.5, 0.9999), help="Of the interval.")
@ignored_option("--resamples")
@ignored_option("--seed")
@click.option(
    "--allow",
    multiple=True,
    type=click.Choice([*MUST_AGREE, *COMPARE_ONLY]),
    help="What may differ; repeatable.",
)
@json_option
@csv_option
def compare(*, as_json: bool, as_csv: bool, **options: Any) -> None:
    """Compare two models in the file RESULTS: how SECOND differs from FIRST, with an interval.

    FIRST and SECOND are what the models were called in `run`, or their names in tables or in signatures. If a
    model has several results, fields of the signature choose one: "kn-5[context=article]"; else the last one
    counts. Of a recipe that was trained with several seeds all runs count, and the interval is wider.
    """
    found = lb.compare(**options)
    if as_json:
        click.echo(json.dumps({**asdict(found), "difference": found.difference, "clear": found.is_clear}))
        return
    if as_csv:
        low, high = found.interval or (None, None)
        fields = {name: value for name, value in asdict(found).items() if name != "interval"}
        numbers = {"difference": found.difference, "low": low, "high": high, "clear": found.is_clear}
        click.echo(csv_text([{**fields, **numbers}]), nl=False)
        return
    for model, value, runs, broken in (
        (found.first_model, found.first, found.first_runs, found.first_broken),
        (found.second_model, found.second, found.second_runs, found.second_broken),
    ):
        seeds = f"  {len(runs)} seeds: {', '.join(f'{run:.4f}' for run in runs)}" if len(runs) > 1 else ""
        mark = f"  BREAKS: {', '.join(broken)}" if broken else ""
        click.echo(f"{found.metric} {value:.4f}  {one_line(model)}{seeds}{one_line(mark)}")
    rounding = "  (no more than rounding: not clear)" if found.is_rounding else ""
    click.echo(f"difference {found.difference:+.4f}{rounding}")
    if found.interval is None:
        click.echo(f"{found.passages} passages: {found.no_interval}")
        return
    low, high = found.interval
    click.echo(
        f"{100 * found.level:.4g}% interval {low:+.4f} to {high:+.4f}: {found.passages} passages, Student's t"
        f" with {found.degrees:.1f} degrees of freedom, one-sided p {found.p_one_sided:.2g}"
    )
    if low <= 0 <= high:
        click.echo("not clear: chance alone can give either sign")
    if found.alone:
        click.echo(
            f"{one_line(found.alone)} has one seed: how much another one would change is not in the interval"
        )


@click.command(cls=ModelCommand)
@click.argument("results", type=EXISTING, nargs=-1, required=True)
@click.option("--out", type=OUTPUT_FILE, required=True, help="The report: .md, .tex, .csv or .html.")
@click.option("--title", default=TITLE, help="Of the report.")
@click.option("--data", type=EXISTING, help="Dataset whose word frequencies are drawn.")
@click.option("--published/--no-published", default=True, help="Also show published numbers.")
@click.option(
    "--log", "logs", type=EXISTING, multiple=True, help="Run of ps-models train to draw; repeatable."
)
def report(**options: Any) -> None:
    """Write tables, charts and signatures of all RESULTS.

    Published numbers are shown beside results on the official files of Penn Treebank and WikiText-2.
    """
    click.echo(lb.report(**options))


@click.command(cls=ModelCommand)
@click.argument("folder", type=EXISTING)
@click.option("--out", type=OUTPUT_FILE, required=True, help="The page, in Markdown; or its numbers, .csv.")
def rows(**options: Any) -> None:
    """Write the table of all rows (published, small, full, our training) from the records in FOLDER.

    It reads the results of `run` in ptb.jsonl and wikitext-2.jsonl.
    """
    click.echo(lb.rows(**options))


@click.command(hidden=True, context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def overlap(words: tuple[str, ...]) -> None:
    """Say where the command is now."""
    del words
    raise HarnessError("`wikitext-builder overlap DATA` measures now what of valid and test is also in train")


@click.command("lm-eval-task", cls=ModelCommand)
@click.argument("data", type=EXISTING)
@click.option("--out", type=ANY_PATH, required=True, help="Folder of tasks; the task is a folder in it.")
@split_option
def task(**options: Any) -> None:
    """Write a task of lm-evaluation-harness for a split of DATA, and print the command that runs it.

    Its numbers are those of `lm-benchmarks run transformers:MODEL --convention lm-eval`.
    """
    folder = lb.lm_eval_task(**options)
    words = ["lm_eval", "--model", "hf", "--model_args", "pretrained=MODEL", "--tasks", folder.name]
    click.echo(shlex.join([*words, "--include_path", str(folder.parent)]))


@click.command(cls=ModelCommand)
@click.option("--table", type=click.Choice(["ptb", "wikitext-2"]), required=True, help="Which table.")
@click.option("--data", type=EXISTING, required=True, help="The dataset: the official files.")
@click.option("--out", type=ANY_PATH, required=True, help="Folder for runs, records and the page.")
@click.option("--size", type=click.Choice(list(SIZES)), default="own", help="Which size of each row.")
@click.option("--rows", multiple=True, metavar="NAME", help="Only this row; repeatable.")
@click.option("--seed", "seeds", type=SEED, multiple=True, default=(1,), help="Of trainings; repeatable.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="For all trainings; repeatable.")
@click.option("--workers", default=1, type=click.IntRange(min=1), help="Trainings at the same time.")
@click.option("--budget", "hours", default=math.inf, type=RealRange(0), help="Stop after these hours.")
@click.option("--dry-run", is_flag=True, help="Only print how far it is, and what is left.")
@json_option
@click.pass_context
def reproduce(context: click.Context, /, *, as_json: bool, **options: Any) -> None:
    """Train and measure the rows of a published table, in a queue that resumes.

    Prints the plan: what is done, and the time that is left of trainings that have begun. Then it trains each
    row, chooses by valid, and measures it once. Ctrl-C saves and stops, and the same command continues. The
    folder gets report.html, which shows how far the table is, and the records for `rows`.
    """
    threads = context.find_root().params["threads"]
    with shown_progress() as progress:
        planned = lb.reproduce(**{**options, "dry_run": True}, threads=threads, progress=progress)
    if not as_json:
        click.echo(planned.text)
    if not options["dry_run"]:
        with shown_progress() as progress:
            planned = lb.reproduce(**options, threads=threads, progress=progress)
        if not as_json:
            click.echo(planned.text)
    if as_json:
        click.echo(json.dumps(planned.fields()))


COMMANDS: Final = (compare, report, rows, overlap, task, reproduce)
