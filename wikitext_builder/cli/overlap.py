"""The command that compares a dataset with other text."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

import wikitext_builder as wb
from wikitext_builder.cli.options import csv_option, json_option
from wikitext_builder.csv_text import csv_text
from wikitext_builder.dataset.split import SPLITS
from wikitext_builder.progress import shown_progress
from wikitext_builder.wiki.languages import LANGUAGES

ANY = click.Path(path_type=Path, exists=True)


@click.command()
@click.argument("dataset", type=ANY)
@click.option(
    "--against",
    type=ANY,
    multiple=True,
    required=True,
    help="A dataset, store, dump, lock file, file of text, or folder of them; repeatable.",
)
@click.option(
    "--split", "splits", type=click.Choice(SPLITS), multiple=True, help="Split; repeatable.  [default: all]"
)
@click.option(
    "--words",
    type=click.IntRange(min=1),
    multiple=True,
    help="Length of n-grams; repeatable.  [default: 8 and 13]",
)
@click.option("--as-of", help="Revisions of stores and dumps up to this date.")
@click.option(
    "--language", type=click.Choice(sorted(LANGUAGES)), help="Of dumps.  [default: that of the dataset]"
)
@click.option("--column", default="text", help="Of JSON lines and Parquet: where the text is.")
@click.option("--memory", type=click.IntRange(min=1), default=2000, help="Megabytes for the index.")
@click.option("--workers", type=click.IntRange(min=1), default=1, help="Processes, which share the files.")
@click.option("--most", type=click.IntRange(min=0), default=10, help="How many articles to print.")
@click.option("--card", is_flag=True, help="Write the result into the dataset's card too.")
@json_option
@csv_option
def overlap(dataset: Path, most: int, card: bool, as_json: bool, as_csv: bool, **options: Any) -> None:
    """Find how much of each article of DATASET stands in other text: paragraphs, n-grams, longest stretch.

    Text files are plain, JSON lines (.jsonl) or Parquet, and may be compressed (.gz, .bz2, .zst). They are
    read as a stream and can be of any size.
    """
    from wikitext_builder.newness.card import write_into_card
    from wikitext_builder.newness.report import as_rows, as_text

    with shown_progress(as_json=as_json) as progress:
        found = wb.overlap(dataset, progress=progress, **options)
    if card:
        write_into_card(dataset, found)
    if as_json:
        click.echo(json.dumps(asdict(found), ensure_ascii=False))
    else:
        click.echo(csv_text(as_rows(found)) if as_csv else as_text(found, most=most), nl=False)


COMMANDS = (overlap,)
