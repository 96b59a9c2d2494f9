"""Commands about the numbers of one model: conventions, positions."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

import click

import lm_benchmarks as lb
from lm_benchmarks.choices import CONVENTIONS, FORMATS
from lm_benchmarks.cli.options import (
    EXISTING,
    OUTPUT_FILE,
    PROGRAM,
    ModelCommand,
    causal_options,
    split_option,
)
from ps_models.choices import PRECISIONS
from wikitext_builder.progress import shown_progress


@click.command(cls=ModelCommand)
@click.argument("model")
@click.option("--data", type=EXISTING, required=True, help="The dataset, with its raw files.")
@split_option
@click.option(
    "--convention",
    "conventions",
    type=click.Choice(list(CONVENTIONS)),
    multiple=True,
    help="Only this one; repeatable.",
)
@click.option("--results", type=OUTPUT_FILE, help="File of JSON lines to append to, and to resume from.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", help="Of the table.")
@click.option("--out", type=OUTPUT_FILE, help="Write the table to this file.")
@click.option("--precision", type=click.Choice(PRECISIONS), default="fp32", help="Arithmetic.")
@causal_options
def conventions(*, form: str, out: Path | None, **options: Any) -> None:
    """Measure MODEL by the conventions of many tools, and print a table.

    MODEL is best a model of pieces, transformers:FOLDER; only two conventions fit a model of words. With
    --results, a command that was interrupted resumes: what the file has already is not measured again.
    """
    with shown_progress() as progress:
        found = lb.measure_conventions(command=(PROGRAM, *sys.argv[1:]), progress=progress, **options)
    table = lb.write_conventions(found, form)
    if out is None:
        click.echo(table, nl=False)
    else:
        out.write_text(table, encoding="utf-8")
        click.echo(out)


@click.command(cls=ModelCommand)
@click.argument("model")
@click.option("--data", type=EXISTING, required=True, help="The dataset, with its raw files.")
@split_option
@click.option("--window", "windows", type=click.IntRange(min=4), multiple=True, help="Pieces; repeatable.")
@click.option("--out", type=OUTPUT_FILE, required=True, help="The picture: .pdf, .svg or .png.")
@click.option("--csv", "csv_path", type=OUTPUT_FILE, help="Also write the numbers to this file.")
@causal_options
def positions(*, out: Path, csv_path: Path | None, **options: Any) -> None:
    """Draw the perplexity of MODEL by position in its context, for short and long windows.

    MODEL is a model of pieces, such as transformers:FOLDER. Without --window there are three lengths: what
    the model can read, a quarter and a sixteenth of that.
    """
    from lm_benchmarks.reporting.by_position import expect_picture  # here, for a quick --help

    expect_picture(out)  # before hours of measuring
    with shown_progress() as progress:
        found = lb.by_position(progress=progress, **options)
    if csv_path is not None:
        csv_path.write_text(lb.positions_csv(found), encoding="utf-8")
        click.echo(csv_path)
    click.echo(lb.draw_positions(found, out))


COMMANDS: Final = (conventions, positions)
