"""The command that compares a dataset with other text."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

import wikitext_builder as wb
from wikitext_builder.article import SPLITS
from wikitext_builder.cli.options import FOLDER, RealRange, csv_option, json_option
from wikitext_builder.progress import shown_progress
from wikitext_builder.tables import csv_text
from wikitext_builder.wiki.languages import LANGUAGES

ANY = click.Path(path_type=Path, exists=True)


@click.command()
@click.argument("dataset", type=ANY)
@click.option(
    "--against",
    type=ANY,
    multiple=True,
    help="A dataset, store, dump, lock file, file of text, or folder of them; repeatable."
    "  [default: the dataset's own train]",
)
@click.option(
    "--split",
    "splits",
    type=click.Choice(SPLITS),
    multiple=True,
    help="Split; repeatable.  [default: all; without --against valid and test]",
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
@click.option("--column", default="text", help="Of JSON lines and Parquet: where the text is; a.b is b in a.")
@click.option("--memory", type=click.IntRange(min=1), default=2000, help="Megabytes for the index.")
@click.option("--workers", type=click.IntRange(min=1), default=1, help="Processes, which share the files.")
@click.option(
    "--new-lines-only",
    "out",
    type=FOLDER,
    help="Folder to make: a dataset of only those paragraphs that are new, in the layout of WikiText.",
)
@click.option(
    "--share",
    type=RealRange(min=0, max=1, min_open=True),
    default=0.2,
    help="With --new-lines-only: a paragraph with this fraction of its n-grams in the other text is not new.",
)
@click.option("--most", type=click.IntRange(min=0), default=10, help="How many articles to print.")
@click.option("--card", is_flag=True, help="Write the result into the dataset's card too.")
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
    """Find how much of each article of DATASET stands in other text: paragraphs, n-grams, longest stretch.

    Without --against the other text is the train of DATASET: how much of valid and test does train have?

    Text files are plain, JSON lines (.jsonl) or Parquet, and may be compressed (.gz, .bz2, .zst). They are
    read as a stream and can be of any size.
    """
    from wikitext_builder.text_overlap.result import as_rows, as_text, built_card, write_into_card

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
        for one in new.kept if new and not as_csv else ():
            click.echo(
                f"new in {one.split}: {one.articles:,} articles, {one.paragraphs:,} paragraphs,"
                f" {one.words:,} words"
            )


COMMANDS = (overlap,)
