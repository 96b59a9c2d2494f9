"""Commands that say what is in datasets: statistics, differences, plots, overlap with other text."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

import wikitext_builder as wb
from wikitext_builder.article import SPLITS
from wikitext_builder.cli.command_line import Program, command
from wikitext_builder.cli.options import (
    ANY,
    COUNT,
    FOLDER,
    OUTPUT_FILE,
    WHOLE,
    DependentOption,
    LanguageCode,
    RealRange,
    WholeRange,
    csv_option,
    json_option,
)
from wikitext_builder.pictures import ENDINGS
from wikitext_builder.progress import shown_progress
from wikitext_builder.tables import csv_text, spelled_out

name_option = click.option(
    "--name",
    "names",
    multiple=True,
    help="Name of a dataset; repeat for each, in order.  [default: its title or folder]",
)
overlay_option = click.option("--overlay", is_flag=True, help="Draw all curves in one panel.")


measure_option = click.option(
    "--measure", "measures", multiple=True, help="One statistic of the portrait, such as zipf; repeatable."
)
raw_option = click.option("--raw", is_flag=True, help="Portrait of the text before rare words became <unk>.")


@command()
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


@command()
@click.argument("first", type=FOLDER)
@click.argument("second", type=FOLDER)
@name_option
@click.option("--words", type=WHOLE, default=20, help="Number of words to list.")
@click.option("--titles", type=WHOLE, default=10, help="Number of titles of each kind to print.")
@json_option
def diff(first: Path, second: Path, names: tuple[str, ...], words: int, titles: int, as_json: bool) -> None:
    """Compare two datasets: articles added, removed, changed or moved; words whose frequency changed most.

    FIRST and SECOND hold datasets built here, or in the layout of WikiText or the Penn Treebank.
    """
    from wikitext_builder.dataset.diff import as_text

    found = wb.diff(first, second, names=names, words=words)
    click.echo(json.dumps(asdict(found)) if as_json else as_text(found, titles=titles), nl=as_json)


@click.group(cls=Program)
def plot() -> None:
    """Plot a dataset; the suffix of --out chooses PNG, SVG or PDF."""


@plot.command("zipf", short_help="Word frequency against rank")
@click.argument("directories", nargs=-1, required=True, type=FOLDER)
@click.option("--out", type=OUTPUT_FILE, required=True, help=f"File to write: {ENDINGS}.")
@name_option
@overlay_option
def plot_zipf(directories: tuple[Path, ...], out: Path, names: tuple[str, ...], overlay: bool) -> None:
    """Plot word frequency against rank in train, several datasets side by side."""
    click.echo(wb.plot_zipf(*directories, out=out, names=names, overlay=overlay))


@plot.command("window", short_help="How often a word occurs among the last L words")
@click.argument("directories", nargs=-1, required=True, type=FOLDER)
@click.option("--out", type=OUTPUT_FILE, required=True, help=f"File to write: {ENDINGS}.")
@click.option("--split", type=click.Choice(SPLITS), default="train", help="Split to read.")
@click.option("--longest", type=WholeRange(1, 10**6), default=500, help="The largest L, in words.")
@name_option
@overlay_option
def plot_window(directories: tuple[Path, ...], **options: Any) -> None:
    """Plot how often a word occurs among the last L words: the paper used this plot to choose its window."""
    click.echo(wb.plot_window(*directories, **options))


@plot.command("statistic", short_help="A statistic of the portrait")
@click.argument("measure")
@click.argument("directories", nargs=-1, required=True, type=FOLDER)
@click.option("--out", type=OUTPUT_FILE, required=True, help=f"File to write: {ENDINGS}.")
@name_option
@raw_option
def plot_statistic(measure: str, directories: tuple[Path, ...], **options: Any) -> None:
    """Draw a statistic of the portrait, such as heaps or out_of_vocabulary.by_size, a curve per dataset."""
    click.echo(wb.plot_statistic(measure, *directories, **options))


@command()
@click.argument("directories", nargs=-1, required=True, type=FOLDER)
@click.option("--out", type=OUTPUT_FILE, required=True, help="Page to write, ending in .html.")
@name_option
@raw_option
def describe(directories: tuple[Path, ...], **options: Any) -> None:
    """Write the portrait of one or several datasets as one page, with charts, tables and definitions.

    DIRECTORIES hold datasets built here, in the layout of WikiText or the Penn Treebank, or train.txt.
    """
    click.echo(wb.describe(*directories, **options))


@command()
@click.argument("dataset", type=ANY)
@click.option(
    "--against",
    type=ANY,
    multiple=True,
    help="A dataset, store, dump, lock file, text file, or folder of these; repeatable."
    "  [default: the dataset's own train]",
)
@click.option(
    "--split",
    "splits",
    type=click.Choice(SPLITS),
    multiple=True,
    help="Split to measure; repeatable.  [default: all; without --against, valid and test]",
)
@click.option(
    "--words",
    type=WholeRange(1, 1000),
    multiple=True,
    help="Length of n-grams; repeatable.  [default: 8 and 13]",
)
@click.option("--as-of", help="Use revisions of stores and dumps on or before this date.")
@click.option("--language", type=LanguageCode(), help="Language of dumps.  [default: the dataset's]")
@click.option("--column", default="text", help="Text column of JSON lines and Parquet; a.b is field b of a.")
@click.option("--memory", type=COUNT, default=2000, help="Megabytes for the index.")
@click.option("--workers", type=COUNT, default=1, help="Processes, which divide the files among them.")
@click.option(
    "--new-lines-only",
    "out",
    type=FOLDER,
    help="Folder to create: a dataset of only the new paragraphs, in the layout of WikiText.",
)
@click.option(
    "--share",
    cls=DependentOption,
    needs="out",
    type=RealRange(min=0, max=1, min_open=True),
    default=0.2,
    help="With --new-lines-only: drop paragraphs with at least this fraction of n-grams in the other text.",
)
@click.option("--most", type=WHOLE, default=10, help="Number of articles to print.")
@click.option("--card", is_flag=True, help="Also write the result into the dataset's card.")
@json_option
@csv_option
def overlap(
    dataset: Path,
    against: tuple[Path, ...],
    out: Path | None,
    share: float,
    most: int,
    card: bool,
    as_json: bool,
    as_csv: bool,
    **options: Any,
) -> None:
    """Measure how much of each article in DATASET occurs in other text: paragraphs, n-grams, longest match.

    Without --against, measures how much of valid and test also occurs in train.

    Text files are plain text, JSON lines (.jsonl) or Parquet, and may be compressed (.gz, .bz2, .zst). They
    are streamed, so they can be of any size.
    """
    from wikitext_builder.text_overlap.result import as_rows, as_text, built_card, not_read, write_into_card

    options["against"] = against or None
    if card:
        built_card(dataset)  # what is missing is an error now, and not after all comparing
    with shown_progress(as_json=as_json) as progress:
        new = wb.new_lines(dataset, out, share=share, progress=progress, **options) if out else None
        found = new.overlap if new else wb.overlap(dataset, progress=progress, **options)
    if card:
        write_into_card(dataset, found)
    if as_json:
        kept = {"kept": [asdict(one) for one in new.kept]} if new else {}
        click.echo(json.dumps({**asdict(found), **kept}, ensure_ascii=False))
    else:
        click.echo(csv_text(as_rows(found)) if as_csv else as_text(found, most=most), nl=False)
        if as_csv and found.rejected:
            click.echo(spelled_out(not_read(found)), err=True)
        for one in new.kept if new and not as_csv else ():
            click.echo(
                f"new in {one.split}: {one.articles:,} articles, {one.paragraphs:,} paragraphs,"
                f" {one.words:,} words"
            )


COMMANDS = (stats, describe, diff, plot, overlap)
