"""Commands that run models: list, run, check, conventions, contamination."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

import lm_benchmarks as lb
from lm_benchmarks.choices import (
    BATCH_ARTICLES,
    CHECK_TOKENS,
    CHUNK_TOKENS,
    FILE_ENDINGS,
    FORMATS,
    PAPER,
    PERMUTATIONS,
    HarnessError,
)
from lm_benchmarks.cli.options import (
    PROGRAM,
    Bars,
    ModelCommand,
    check_option,
    data_option,
    level_option,
    model_options,
    window_model_options,
)
from lm_benchmarks.conventions.rules import CONVENTIONS, REGISTRY
from lm_benchmarks.metrics import METRICS
from lm_benchmarks.records import finite
from ps_models.cli import context_option, precision_option, split_option
from wikitext_builder.article import SPLITS
from wikitext_builder.cli.command_line import ANY, COUNT, OUTPUT_FILE, WholeRange, json_option
from wikitext_builder.progress import show_progress

if TYPE_CHECKING:
    from lm_benchmarks import Result


@click.command("list", cls=ModelCommand)
@json_option
def list_models(*, as_json: bool) -> None:
    """List the models, the metrics and the conventions."""
    models = lb.models()
    if as_json:
        metrics = {name: [metric.numerator, metric.denominator] for name, metric in METRICS.items()}
        click.echo(json.dumps({"models": models, "metrics": metrics, "conventions": CONVENTIONS}))
        return
    click.echo("Models")
    for name, about in models.items():
        click.echo(f"  {name + '…' * name.endswith(':'):<18} {about}")
    click.echo("Metrics")
    for name, metric in METRICS.items():
        click.echo(f"  {name:<24} {metric.numerator} / {metric.denominator}")
    click.echo("Conventions")
    for name, convention in REGISTRY.items():
        click.echo(f"  {name:<24} {convention.scored}")


@click.command(cls=ModelCommand)
@click.argument("models", nargs=-1, required=True, metavar="MODEL...")
@data_option("The dataset.")
@click.option("--results", type=OUTPUT_FILE, help="File of JSON lines to append the results to.")
@click.option(
    "--split",
    "splits",
    type=click.Choice(SPLITS),
    multiple=True,
    default=("test",),
    help="Split of the dataset; repeatable.",
)
@click.option(
    "--convention", type=click.Choice(list(CONVENTIONS)), default=PAPER, help="What is counted, and how."
)
@context_option
@precision_option
@click.option(
    "--chunk", default=CHUNK_TOKENS, type=COUNT, help="Tokens per call; does not affect the numbers."
)
@click.option(
    "--batch", default=BATCH_ARTICLES, type=COUNT, help="Articles per call; does not affect the numbers."
)
@click.option("--name", "names", multiple=True, help="Name of a model; repeat for each, in order.")
@click.option(
    "--resume/--no-resume",
    default=True,
    help="Skip what the results already contain.",
)
@check_option
@click.option("--allow-broken", is_flag=True, help="Also measure models that violate an invariant.")
@click.option("--groups/--no-groups", default=True, help="Also report by frequency, position, etc.")
@model_options
@json_option
def run(*, models: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Measure each MODEL on splits of DATA; exit status 1 if one fails or violates an invariant."""
    with Bars() as bars:

        def show(result: Result) -> None:
            bars.close()
            _print_result(result, as_json=as_json)

        lb.measure(models, on_result=show, command=(PROGRAM, *sys.argv[1:]), progress=bars, **options)


@click.command(cls=ModelCommand)
@click.argument("model")
@data_option("The dataset to check the model on.")
@split_option("test")
@click.option("--tokens", default=CHECK_TOKENS, type=COUNT, help="Tokens that the model reads.")
@model_options
@json_option
def check(*, model: str, as_json: bool, **options: Any) -> None:
    """Check that MODEL satisfies the invariants of a language model; exit status 1 if it violates one."""
    with show_progress() as progress:
        findings = lb.check(model, progress=progress, **options)
    if as_json:
        click.echo(json.dumps(findings))
    else:
        for invariant, violation in findings.items():
            click.echo(f"{invariant:<10} {violation or 'kept'}")
        if findings.tried:
            click.echo(str(findings.tried))
    lb.raise_if_broken(findings, listed=not as_json)


def _print_result(result: Result, *, as_json: bool) -> None:
    total = result.total
    numbers = {name: metric.of(total) for name, metric in METRICS.items()}
    counted = {name: value for name, value in numbers.items() if value is not None}
    if as_json:
        number = {} if result.number is None else {"number": result.number}
        portable = {name: finite(value) for name, value in counted.items()}
        fields = {"model": result.model, **number, **portable, **msgspec.structs.asdict(total)}
        fields |= {"signature": str(result.signature), "checks": result.checks}
        click.echo(json.dumps({**fields, "seconds": result.seconds, "warning": result.warning}))
        return
    click.echo(result.model)
    if result.number is not None:
        click.echo(
            f"  {'number of the convention':<30} {result.number:>12.4f}  {result.signature['convention']}"
        )
    for name, value in counted.items():
        click.echo(f"  {METRICS[name].label:<30} {value:>12.4f}  {METRICS[name].denominator}")
    if result.warning:
        click.echo(f"  {result.warning}")
    for invariant, violation in (result.checks or {}).items():
        if violation:
            click.echo(f"  BREAKS {invariant}: {violation}")
    if result.tried:
        click.echo(f"  {result.tried}")
    click.echo(f"  {result.signature}")


@click.command(cls=ModelCommand)
@click.argument("model")
@data_option("The dataset, including its raw files.")
@split_option("test")
@click.option(
    "--convention",
    "conventions",
    type=click.Choice(list(CONVENTIONS)),
    multiple=True,
    help="Use only this convention; repeatable.",
)
@click.option("--results", type=OUTPUT_FILE, help="File of JSON lines to append to and resume from.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", help="Format of the table.")
@click.option("--out", type=OUTPUT_FILE, help="Write the table to this file.")
@precision_option
@window_model_options
def conventions(*, form: str, out: Path | None, **options: Any) -> None:
    """Measure MODEL by the conventions of many tools, and print a table.

    MODEL should be a subword model, transformers:FOLDER; only two conventions fit a word-level model. With
    --results, an interrupted command resumes: what the file already contains is not measured again.
    """
    # An existing file with a different ending is perhaps the model, or its text.
    if out and out.is_file() and out.suffix != FILE_ENDINGS[form]:
        raise HarnessError(f"--out: {out} exists and is not a {FILE_ENDINGS[form]} file; choose another name")
    with show_progress() as progress:
        measurements = lb.measure_conventions(command=(PROGRAM, *sys.argv[1:]), progress=progress, **options)
    table = lb.write_conventions(measurements, form)
    if out is None:
        click.echo(table, nl=False)
    else:
        out.write_text(table, encoding="utf-8")
        click.echo(out)


@click.command(cls=ModelCommand)
@click.argument("model")
@click.option("--before", type=ANY, required=True, help="Dataset from before the cutoff date.")
@click.option("--after", type=ANY, required=True, help="Dataset from after the cutoff date.")
@split_option("test")
@click.option("--reference", default="", help="A model that has read neither; its difference is subtracted.")
@level_option
@click.option(
    "--resamples", default=PERMUTATIONS, type=WholeRange(100, 10**6), help="Number of permutations."
)
@check_option
@model_options
@json_option
def contamination(*, as_json: bool, **options: Any) -> None:
    """Compare MODEL on similar articles from before and after a date: has it read the earlier ones?"""
    with show_progress() as progress:
        result = lb.contamination(progress=progress, **options)
    if as_json:
        facts = {"difference": result.difference, "is_found": result.is_found, "verdict": result.verdict}
        click.echo(json.dumps({**asdict(result), **facts}))
        return
    without = f", without the difference of {result.reference}" if result.reference else ""
    old, new = result.articles
    click.echo(f"{result.model}: {len(result.pairs)} pairs of {old} and {new} articles")
    sides = f"before {result.before:.4f}, after {result.after:.4f}"
    click.echo(f"  bits per byte {sides}: {result.difference:+.4f}{without}")
    click.echo(
        f"  at least as much easier by chance, with equal article weights: in {100 * result.chance:.2g}% of"
        f" {result.resamples:,} permutations across both sides"
    )
    click.echo(result.verdict)


COMMANDS: Final = (
    list_models,
    run,
    check,
    contamination,
    conventions,
)
