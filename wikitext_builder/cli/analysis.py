"""Defines the commands that analyse datasets: statistics, plots, overlap with other text."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

import wikitext_builder as wb
from wikitext_builder.article import SPLITS
from wikitext_builder.charts import PICTURE_ENDINGS
from wikitext_builder.cli.command_line import (
    ANY,
    COUNT,
    FOLDER,
    OUTPUT_FILE,
    WHOLE,
    Program,
    WholeRange,
    csv_option,
    json_option,
)
from wikitext_builder.progress import show_progress
from wikitext_builder.tables import csv_text, spelled_out

name_option = click.option(
    "--name",
    "names",
    multiple=True,
    help="Name of a dataset; repeat for each, in order.  [default: its title or folder]",
)

measure_option = click.option(
    "--measure", "measures", multiple=True, help="One statistic of the portrait, such as zipf; repeatable."
)
raw_option = click.option("--raw", is_flag=True, help="Portrait of the text before rare words became <unk>.")


@click.command()
@click.argument("directories", nargs=-1, required=True, type=FOLDER)
@click.option("--all", "everything", is_flag=True, help="Print the portrait: all statistics.")
@measure_option
@raw_option
@name_option
@json_option
@csv_option
def stats(
    directories: tuple[Path, ...], *, everything: bool, as_json: bool, as_csv: bool, **options: Any
) -> None:
    """Print the paper's Table 1: articles, tokens, vocabulary and OoV rate per split.

    With --all, prints a statistical portrait of the text: long tail, long-range dependency and shape. Further
    datasets are also compared with the first one.

    DIRECTORIES hold datasets built here, or in the layout of WikiText or the Penn Treebank.
    """
    from wikitext_builder.stats import statistics

    options["measures"] = measures = (*options["measures"], *["all"] * everything)
    if options["raw"] and not measures:
        raise click.UsageError("--raw: give --all or --measure too; Table 1 is of the text with <unk>.")
    table = wb.statistics(*directories, **options)
    if as_json:
        click.echo(json.dumps(statistics.to_records(table), ensure_ascii=not measures))
    elif as_csv:
        click.echo(csv_text(statistics.to_records(table)), nl=False)
    elif measures:
        from wikitext_builder.stats import portrait

        click.echo(portrait.as_text(table), nl=False)
    else:
        click.echo(statistics.as_text(table), nl=False)


@click.group(cls=Program)
def plot() -> None:
    """Plot a dataset; the suffix of --out chooses PNG, SVG or PDF."""


@plot.command("zipf", short_help="Word frequency against rank")
@click.argument("directories", nargs=-1, required=True, type=FOLDER)
@click.option("--out", type=OUTPUT_FILE, required=True, help=f"File to write: {PICTURE_ENDINGS}.")
@name_option
def plot_zipf(directories: tuple[Path, ...], out: Path, names: tuple[str, ...]) -> None:
    """Plot word frequency against rank in train, a curve per dataset."""
    click.echo(wb.plot_zipf(*directories, out=out, names=names))


@plot.command("window", short_help="How often a word occurs among the last L words")
@click.argument("directories", nargs=-1, required=True, type=FOLDER)
@click.option("--out", type=OUTPUT_FILE, required=True, help=f"File to write: {PICTURE_ENDINGS}.")
@click.option("--split", type=click.Choice(SPLITS), default="train", help="Split to read.")
@click.option("--longest", type=WholeRange(1, 10**6), default=500, help="The largest L, in words.")
@name_option
def plot_window(directories: tuple[Path, ...], **options: Any) -> None:
    """Plot how often a word occurs among the last L words: the paper used this plot to choose its window."""
    click.echo(wb.plot_window(*directories, **options))


@plot.command("statistic", short_help="A statistic of the portrait")
@click.argument("measure")
@click.argument("directories", nargs=-1, required=True, type=FOLDER)
@click.option("--out", type=OUTPUT_FILE, required=True, help=f"File to write: {PICTURE_ENDINGS}.")
@name_option
@raw_option
def plot_statistic(measure: str, directories: tuple[Path, ...], **options: Any) -> None:
    """Draw a statistic of the portrait, such as heaps or out_of_vocabulary.by_size, a curve per dataset."""
    click.echo(wb.plot_statistic(measure, *directories, **options))


@click.command()
@click.argument("directories", nargs=-1, required=True, type=FOLDER)
@click.option("--out", type=OUTPUT_FILE, required=True, help="Page to write, ending in .html.")
@name_option
@raw_option
def describe(directories: tuple[Path, ...], **options: Any) -> None:
    """Write the portrait of one or several datasets as one page, with charts, tables and definitions.

    DIRECTORIES hold datasets built here, in the layout of WikiText or the Penn Treebank, or train.txt.
    """
    click.echo(wb.describe(*directories, **options))


@click.command()
@click.argument("dataset", type=ANY)
@click.option(
    "--against",
    type=ANY,
    multiple=True,
    help="A dataset, a text file, or a folder of these; repeatable.  [default: the dataset's own train]",
)
@click.option(
    "--split",
    "splits",
    type=click.Choice(SPLITS),
    multiple=True,
    help="Split to measure; repeatable.  [default: valid and test]",
)
@click.option(
    "--words", type=COUNT, multiple=True, help="Length of n-grams; repeatable.  [default: 8 and 13]"
)
@click.option("--most", type=WHOLE, default=10, help="Number of articles to print.")
@json_option
@csv_option
def overlap(
    dataset: Path, against: tuple[Path, ...], most: int, as_json: bool, as_csv: bool, **options: Any
) -> None:
    """Measure how much of each article in DATASET occurs in other text, by n-grams of words.

    Without --against, measures how much of valid and test also occurs in train.

    Text files may be compressed (.gz, .bz2, .zst). They are streamed, so they can be of any size.
    """
    from wikitext_builder.stats.overlap import as_rows, as_text, unread_text

    with show_progress() as progress:
        result = wb.overlap(dataset, against=against or None, progress=progress, **options)
    if as_json:
        click.echo(json.dumps(asdict(result), ensure_ascii=False))
    elif as_csv:
        click.echo(csv_text(as_rows(result)), nl=False)
        if result.unread:
            click.echo(spelled_out(unread_text(result)), err=True)
    else:
        click.echo(as_text(result, max_articles=most), nl=False)


COMMANDS = (stats, describe, plot, overlap)
