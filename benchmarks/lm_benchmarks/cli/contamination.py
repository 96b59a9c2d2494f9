"""The command that tests whether a model has read the earlier articles."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import click

import lm_benchmarks as lb
from lm_benchmarks.choices import DATES, LEVEL, RESAMPLES
from lm_benchmarks.cli.options import (
    EXISTING,
    OUTPUT_FILE,
    ModelCommand,
    json_option,
    model_options,
    split_option,
)
from wikitext_builder.cli.options import RealRange
from wikitext_builder.progress import shown_progress


@click.command(cls=ModelCommand)
@click.argument("model")
@click.option("--before", type=EXISTING, required=True, help="Dataset of articles from before the date.")
@click.option("--after", type=EXISTING, required=True, help="Dataset of articles from after it.")
@split_option
@click.option("--reference", default="", help="A model that has read neither: its difference is subtracted.")
@click.option("--plot", type=OUTPUT_FILE, help="SVG file to write: bits per byte by month.")
@click.option(
    "--by",
    type=click.Choice(DATES),
    help="Which date of an article counts for the months.  [default: the first that is known for all]",
)
@click.option("--level", default=LEVEL, type=RealRange(0.5, 0.9999), help="Confidence level.")
@click.option("--resamples", default=RESAMPLES, type=click.IntRange(min=100), help="Bootstrap draws.")
@click.option("--check/--no-check", default=True, help="Test whether the model keeps the laws.")
@model_options
@json_option
def contamination(*, by: str | None, plot: Path | None, as_json: bool, **options: Any) -> None:
    """Measure MODEL on matched articles of before and after a date: has it read the first?"""
    with shown_progress() as progress:
        found = lb.contamination(by=by or "", progress=progress, **options)
    if as_json:
        click.echo(json.dumps({**asdict(found), "is_found": found.is_found}))
    else:
        _show(found)
    if plot:
        lb.draw_months(found, plot)


def _show(found: lb.Contamination) -> None:
    from lm_benchmarks.measuring.contamination import said_unmatched  # here, because it needs torch

    without = f", without the difference of {found.reference}" if found.reference else ""
    old, new = found.articles
    click.echo(f"{found.model}: {len(found.pairs)} pairs of {old} and {new} articles")
    click.echo(
        f"  matched by {', '.join(found.matched_by)}; without a partner: {said_unmatched(found.unmatched)}"
    )
    if missing := [name for name in ("categories", "quality") if name not in found.matched_by]:
        click.echo(f"  {' and '.join(missing)} not known on both sides: build them with --articles jsonl")
    for one in found.differences:
        low, high = one.interval
        click.echo(
            f"  {one.metric:14} before {one.before:.4f}, after {one.after:.4f}: {one.difference:+.4f}"
            f"{without} ({100 * found.level:.4g}% interval {low:+.4f} to {high:+.4f})"
        )
    if found.step:
        what = "of the revision" if found.dated == "revision" else f"in which it was {found.dated}"
        click.echo(f"  largest step by month {what}: {found.step[1]:+.4f} at {found.step[0]}")
    click.echo(
        "The model finds the earlier articles clearly easier: it has probably read them."
        if found.is_found
        else "No clear sign that the model has read the earlier articles."
    )


COMMANDS: Final = (contamination,)
