"""Commands that make datasets and describe them."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import wikitext_builder as wb
from wikitext_builder.article import SPLITS
from wikitext_builder.cli.options import (
    FILE,
    FOLDER,
    SECTIONS_HELP,
    csv_option,
    json_option,
    language_option,
    listed,
    store_option,
    stored_filters,
)
from wikitext_builder.cli.run import Program
from wikitext_builder.dataset.recipes import ARTICLES, RECIPES, SECTIONS, SOURCES
from wikitext_builder.errors import BuilderError
from wikitext_builder.progress import shown_progress
from wikitext_builder.tables import csv_text
from wikitext_builder.verbosity import is_quiet

if TYPE_CHECKING:
    from wikitext_builder.building.build import BuildReport


@click.command()
@click.argument("file", type=click.File("rb"), default="-")
@click.option("--language", default="en", help="Code of a language that the Moses tokenizer has.")
def tokenize(file: Iterator[bytes], language: str) -> None:
    """Turn plain lines into official lines on stdout, one for one."""
    from wikitext_builder.dataset.files import file_line
    from wikitext_builder.tokens.tokenizer import tokenize_line

    tokenize_line("", language)  # an unknown language is an error even if there is no line
    with _bad_encoding(getattr(file, "name", "-")):
        for line in file:
            sys.stdout.write(file_line(tokenize_line(line.decode().rstrip("\n"), language)))


@contextmanager
def _bad_encoding(name: str) -> Iterator[None]:
    try:
        yield
    except UnicodeDecodeError as error:
        raise BuilderError(f"{name}: {error}; expected text in UTF-8, see `iconv`") from error


@click.command()
@click.argument("recipe", type=click.Choice(list(RECIPES)))
@store_option
@click.option("--out", type=FOLDER, required=True, help="Folder to make.")
@language_option
@click.option("--as-of", help="Take the newest revisions of the store that are not after this date.")
@click.option("--lock", "lock_path", type=FILE, help="Take exactly the revisions of this lock file.")
@stored_filters
@click.option("--months", help="FROM..TO, such as 2026-08..2026-10: a dataset per month, in folders of OUT.")
@click.option(
    "--by",
    type=click.Choice(["created", "promoted"]),
    default="created",
    help="With --months: which date of a page counts.",
)
@click.option("--valid-titles", type=FILE, help="File with the titles of valid, one per line.")
@click.option("--test-titles", type=FILE, help="File with the titles of test, one per line.")
@click.option(
    "--train-articles", type=click.IntRange(min=1), help="At most this many, instead of the recipe's number."
)
@click.option("--valid-articles", type=click.IntRange(min=0), help="Instead of the recipe's number.")
@click.option("--test-articles", type=click.IntRange(min=0), help="Instead of the recipe's number.")
@click.option(
    "--test-words",
    type=click.IntRange(min=1),
    help="Of live: take articles until they have this many words, instead of a number of articles.",
)
@click.option(
    "--min-count",
    type=click.IntRange(min=1),
    help="Rarer words become <unk>; the recipes have 3, live has 1.",
)
@click.option(
    "--sections",
    type=click.Choice(SECTIONS),
    help=f"{SECTIONS_HELP}  [default: official]",
)
@click.option(
    "--source",
    type=click.Choice(SOURCES),
    help="Where lines come from. rendered: the HTML of a page if the store has it (`fetch --rendered`), else"
    " its wikitext.  [default: wikitext]",
)
@click.option("--seed", help="Of the split, instead of the recipe's seed.")
@click.option(
    "--articles",
    type=click.Choice(ARTICLES),
    multiple=True,
    callback=lambda _context, _parameter, value: value or None,  # not given: as the recipe says
    help="Export whole articles as plain text too; repeatable.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    show_default="one per core",
    help="Processes on this machine.",
)
@click.option("--scheduler", help="Address of a Dask scheduler whose workers do the work: tcp://host:8786.")
@click.option(
    "--work",
    "work_url",
    default="",
    help="URL for intermediate results, for workers that do not reach your disk.",
)
@click.option(
    "--against",
    type=click.Path(path_type=Path, exists=True),
    multiple=True,
    help="Compare the dataset with other text and write the result into it, see `overlap`; repeatable.",
)
@json_option
def build(
    recipe: str,
    store_path: Path,
    out: Path,
    lock_path: Path | None,
    months: str | None,
    by: str,
    work_url: str,
    as_json: bool,
    **options: Any,
) -> None:
    """Build a dataset from the pages of a store.

    WikiText-2 takes 600 articles for train, WikiText-103 all; valid and test have 60 each, the same ones.
    The recipe live is a test set alone, of all pages.
    """
    options |= {"lock": lock_path, "work": work_url}
    reports: dict[str, BuildReport | None]
    with shown_progress(as_json=as_json) as progress:
        if months:
            reports = wb.build_months(
                recipe, store_path, out, months=months, by=by, progress=progress, **options
            )
        else:
            reports = {"": wb.build(recipe, store_path, out, progress=progress, **options)}
    for name, report in reports.items():
        missing = f"{out / name}: no page is of this month, or all are rejected"
        for warning in report.warnings if report else (missing,):
            click.echo(warning, err=True)
        if report and as_json:
            click.echo(json.dumps(asdict(report)))
        elif report:
            _print_report(out / name, report)


def _print_report(out: Path, report: BuildReport) -> None:
    click.echo(f"{out}: {'is built already' if report.already_built else 'built'}")
    for name in SPLITS:
        counts = report.manifest.splits[name]
        click.echo(f"  {name:5} {counts.articles:>7,} articles {counts.tokens:>12,} tokens")
    click.echo(f"  vocabulary {report.manifest.vocabulary:,} types")
    if not report.already_built:
        _print_work(report)
    if report.overlap:
        from wikitext_builder.text_overlap.result import as_text

        click.echo(f"\n{as_text(report.overlap, most=0)}", nl=False)


def _print_work(report: BuildReport) -> None:
    _print_speed(report)
    if report.shards_found:
        click.echo(f"  found      {report.shards_found:,} shards of pages were there already")
    if report.older:
        click.echo(f"  not used   {report.older:,} older revisions of the same pages or titles")
    click.echo(f"  rejected   {listed(report.rejected)}")
    click.echo(f"  left out   {listed(dict(Counter(report.left_out).most_common(8)))}")
    if report.left_out_reasons:
        click.echo(f"  because of {listed(report.left_out_reasons)}")
    if report.expanded:
        click.echo(f"  expanded   {report.expanded:,} template calls from templates of the store")


def _print_speed(report: BuildReport) -> None:
    total = sum(report.seconds.values())
    stages = ", ".join(f"{name} {100 * spent / total:.0f} %" for name, spent in report.seconds.items())
    speed = (
        f": {report.pages / total:.1f} pages/s, {report.wikitext_bytes / 1e6 / total:.2f} MB/s of wikitext"
    )
    # Pages of shards that were there took no time: a speed would say nothing.
    click.echo(f"  {report.pages:,} pages in {total:.1f} s{'' if report.shards_found else speed} ({stages})")


@click.command()
@click.argument("directory", type=FOLDER)
@json_option
def verify(directory: Path, as_json: bool) -> None:
    """Check a dataset: hashes, grammar, counts, vocabulary. Exit status 1 if anything is wrong.

    With --quiet only what is wrong is printed, and a summary.
    """
    checks, quiet = wb.verify(directory), is_quiet()
    for check in checks:
        if not as_json and not (quiet and check.passed is not False):
            word = {True: "ok", False: "WRONG", None: "not checked"}[check.passed]
            click.echo(f"{word:12}{check.name}: {check.found}")
    if as_json:
        click.echo(json.dumps([asdict(check) for check in checks]))
    wrong = sum(check.passed is False for check in checks)
    if quiet and not wrong:
        skipped = sum(check.passed is None for check in checks)
        click.echo(f"{directory}: {len(checks) - skipped} checks passed, {skipped} could not be made")
    if wrong:
        raise BuilderError(f"{directory}: {wrong} of {len(checks)} checks failed")


name_option = click.option(
    "--name",
    "names",
    multiple=True,
    help="What to call a dataset; once per dataset, in their order.  [default: title, or where it lies]",
)
overlay_option = click.option("--overlay", is_flag=True, help="All curves in one panel.")


@click.command()
@click.argument("directories", nargs=-1, required=True, type=FOLDER)
@name_option
@json_option
@csv_option
def stats(directories: tuple[Path, ...], names: tuple[str, ...], as_json: bool, as_csv: bool) -> None:
    """Print the paper's Table 1: articles, tokens, vocabulary, OoV rate, by split.

    A directory holds a dataset built here, or one in the layout of WikiText or of the Penn Treebank.
    """
    from wikitext_builder.stats.statistics import as_text, to_records

    table = wb.statistics(*directories, names=names)
    if as_json:
        click.echo(json.dumps(to_records(table)))
    else:
        click.echo(csv_text(to_records(table)) if as_csv else as_text(table), nl=False)


@click.command()
@click.argument("first", type=FOLDER)
@click.argument("second", type=FOLDER)
@name_option
@click.option("--words", type=click.IntRange(min=0), default=20, help="How many words to list.")
@click.option(
    "--titles", type=click.IntRange(min=0), default=10, help="How many titles of each kind to print."
)
@json_option
def diff(first: Path, second: Path, names: tuple[str, ...], words: int, titles: int, as_json: bool) -> None:
    """Compare two datasets: articles added, gone, changed or moved, and words whose frequency changed most.

    FIRST and SECOND hold datasets built here, or in the layout of WikiText or of the Penn Treebank.
    """
    from wikitext_builder.dataset.diff import as_text

    found = wb.diff(first, second, names=names, words=words)
    click.echo(json.dumps(asdict(found)) if as_json else as_text(found, titles=titles), nl=as_json)


@click.group(cls=Program)
def plot() -> None:
    """Draw a dataset; the suffix of --out chooses PNG or SVG."""


@plot.command("zipf")
@click.argument("directories", nargs=-1, required=True, type=FOLDER)
@click.option("--out", type=FILE, required=True, help="File to write: .png or .svg.")
@name_option
@overlay_option
def plot_zipf(directories: tuple[Path, ...], out: Path, names: tuple[str, ...], overlay: bool) -> None:
    """Draw the frequency of each word of train over its rank, several datasets side by side."""
    click.echo(wb.plot_zipf(*directories, out=out, names=names, overlay=overlay))


@plot.command("window")
@click.argument("directories", nargs=-1, required=True, type=FOLDER)
@click.option("--out", type=FILE, required=True, help="File to write: .png or .svg.")
@click.option(
    "--split", type=click.Choice(["train", "valid", "test"]), default="train", help="Which file to read."
)
@click.option("--longest", type=click.IntRange(min=1), default=500, help="The largest L, in words.")
@name_option
@overlay_option
def plot_window(directories: tuple[Path, ...], **options: Any) -> None:
    """Draw how often a word is among the last L words: the paper chose its window by this plot."""
    click.echo(wb.plot_window(*directories, **options))


COMMANDS = (tokenize, build, verify, stats, diff, plot)
