"""Commands that make datasets and describe them."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import wikitext_builder as wb
from wikitext_builder.cli.options import FILE, FOLDER, json_option, language_option, listed, store_option
from wikitext_builder.cli.run import Program
from wikitext_builder.dataset.manifest import SplitCounts
from wikitext_builder.dataset.recipes import RECIPES, SOURCES, Recipe
from wikitext_builder.dataset.split import SPLITS
from wikitext_builder.errors import BuilderError
from wikitext_builder.progress import shown_progress
from wikitext_builder.runners.processes import Processes, Runner, Serial, cores
from wikitext_builder.store.store import Revision, Store

if TYPE_CHECKING:
    from wikitext_builder.building.build import BuildReport
    from wikitext_builder.building.plan import Plan

SMALL = 64  # pages: one process is through with them before others have started


@click.command()
@click.argument("file", type=click.File("r", encoding="utf-8"), default="-")
@click.option("--language", default="en", help="Code of one of Moses' languages.")
def tokenize(file: Iterator[str], language: str) -> None:
    """Turn plain lines into official lines on stdout: a line in, a line out."""
    from wikitext_builder.dataset.files import file_line
    from wikitext_builder.tokens.tokenizer import tokenize_line

    tokenize_line("", language)  # an unknown language is an error even where no line comes
    with _bad_encoding(getattr(file, "name", "-")):
        for line in file:
            sys.stdout.write(file_line(tokenize_line(line.rstrip("\n"), language)))


@contextmanager
def _bad_encoding(name: str) -> Iterator[None]:
    try:
        yield
    except UnicodeDecodeError as error:
        raise BuilderError(f"{name}: {error}; expected text in UTF-8, see `iconv`") from error


@click.command()
@click.argument("recipe", type=click.Choice(list(RECIPES)))
@store_option
@click.option("--out", type=FOLDER, required=True, help="Folder to be made.")
@language_option
@click.option("--as-of", help="Take the newest revisions of the store that are not after this date.")
@click.option("--lock", "lock_path", type=FILE, help="Take exactly the revisions of this lock file.")
@click.option("--valid-titles", type=FILE, help="File of titles that make up valid, one a line.")
@click.option("--test-titles", type=FILE, help="File of titles that make up test, one a line.")
@click.option(
    "--train-articles", type=click.IntRange(min=1), help="At most so many, instead of the recipe's."
)
@click.option("--valid-articles", type=click.IntRange(min=1), help="Instead of the recipe's.")
@click.option("--test-articles", type=click.IntRange(min=1), help="Instead of the recipe's.")
@click.option("--min-count", type=click.IntRange(min=1), help="Rarer words become <unk>; the recipe's: 3.")
@click.option(
    "--sections", type=click.Choice(["official", "clean"]), help="Instead of the recipe's, official."
)
@click.option("--source", type=click.Choice(SOURCES), help="Of the lines: HTML where the store has it.")
@click.option("--seed", help="Of the split, instead of the recipe's.")
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=cores(),
    show_default="one a core",
    help="Processes.",
)
@click.option("--scheduler", help="Address of a Dask scheduler whose workers do the work: tcp://host:8786.")
@click.option(
    "--work", "work_url", default="", help="URL for intermediate results of workers without your disk."
)
@json_option
def build(
    recipe: str,
    store_path: Path,
    out: Path,
    language: str,
    as_of: str | None,
    lock_path: Path | None,
    valid_titles: Path | None,
    test_titles: Path | None,
    workers: int,
    scheduler: str | None,
    work_url: str,
    as_json: bool,
    **changes: int | str | None,
) -> None:
    """Build a dataset from the pages of a store.

    WikiText-2 takes 600 articles for train, WikiText-103 all; valid and test have 60 each and are the same.
    """
    from wikitext_builder.building.build import build as build_dataset
    from wikitext_builder.building.plan import Plan
    from wikitext_builder.tokens.tokenizer import tokenizer

    tokenizer(language)  # a language without Moses' rules is refused before the work, not at each page
    revisions, older = _chosen_revisions(store_path, language, as_of, lock_path)
    given_valid, given_test = _page_ids(valid_titles, revisions), _page_ids(test_titles, revisions)
    if given_valid & given_test:
        raise BuilderError(
            f"{len(given_valid & given_test)} titles are both in {valid_titles} and in {test_titles};"
            " an article has one place"
        )
    plan = Plan(
        recipe=_recipe(recipe, language, changes),
        store=store_path,
        out=out,
        revisions=revisions,
        given_valid=given_valid,
        given_test=given_test,
        work_url=work_url,
    )
    if plan.work.exists() and not as_json:
        click.echo(
            f"{plan.work}: an earlier build was interrupted; going on with what it made, if that was of the"
            " same pages and options",
            err=True,
        )
    with (
        _runner(len(revisions), workers, scheduler) as (runner, here),
        shown_progress(as_json=as_json) as progress,
    ):
        report = build_dataset(plan, progress, runner=runner, here=here)
    _warn_of_small_parts(plan, report.manifest.splits)
    if as_json:
        counters = {"rejected": dict(report.rejected), "left_out": dict(report.left_out), "older": older}
        click.echo(json.dumps(asdict(report) | counters))  # asdict breaks a Counter in Python 3.11
    else:
        _print_report(out, report, older)


def _print_report(out: Path, report: BuildReport, older: int) -> None:
    click.echo(f"{out}: {'is built already' if report.already_built else 'built'}")
    for name in SPLITS:
        counts = report.manifest.splits[name]
        click.echo(f"  {name:5} {counts.articles:>7,} articles {counts.tokens:>12,} tokens")
    click.echo(f"  vocabulary {report.manifest.vocabulary:,} types")
    if report.already_built:
        return
    _print_speed(report.pages, report.wikitext_bytes, report.seconds)
    if report.shards_found:
        click.echo(f"  found      {report.shards_found:,} shards of pages that an interrupted build had made")
    if older:
        click.echo(f"  passed by  {older:,} older revisions of the same pages or titles")
    click.echo(f"  rejected   {listed(report.rejected)}")
    click.echo(f"  left out   {listed(dict(Counter(report.left_out).most_common(8)))}")


@contextmanager
def _runner(pages: int, workers: int, scheduler: str | None) -> Iterator[tuple[Runner, Runner]]:
    """What does the heavy work and what writes the files: a cluster, processes, or this process alone."""
    with ExitStack() as stack:
        here: Runner = Serial()
        if workers > 1 and pages > SMALL:
            here = stack.enter_context(Processes(workers))
        if scheduler is None:
            yield here, here
            return
        from wikitext_builder.runners.dask import Cluster

        yield stack.enter_context(Cluster(scheduler)), here


def _warn_of_small_parts(plan: Plan, splits: Mapping[str, SplitCounts]) -> None:
    """A store with too few pages gives smaller parts: that is no error, but nobody should miss it."""
    given = {"valid": len(plan.given_valid), "test": len(plan.given_test)}
    for name in SPLITS:
        found, said = splits[name].articles, given.get(name, 0)
        wanted = said or getattr(plan.recipe, f"{name}_articles") or 1
        if found < wanted:
            who = f"{wanted:,} were given: rejected.jsonl says why the others are not there"
            few = f"{plan.recipe.name} wants {wanted:,}: the store has too few"
            click.echo(f"{name} has {found:,} articles where {who if said else few}", err=True)


def _recipe(name: str, language: str, changes: Mapping[str, int | str | None]) -> Recipe:
    fields: dict[str, Any] = {field: value for field, value in changes.items() if value is not None}
    return replace(RECIPES[name], language=language, **fields)


def _print_speed(pages: int, size: int, seconds: dict[str, float]) -> None:
    total = sum(seconds.values())
    speed = f"{pages / total:.1f} pages/s, {size / 1e6 / total:.2f} MB/s of wikitext"
    stages = ", ".join(f"{name} {100 * spent / total:.0f} %" for name, spent in seconds.items())
    click.echo(f"  {pages:,} pages in {total:.1f} s: {speed} ({stages})")


def _chosen_revisions(
    store_path: Path, language: str, as_of: str | None, lock_path: Path | None
) -> tuple[list[Revision], int]:
    """What to build from, and how many revisions are passed by because newer ones are taken."""
    from wikitext_builder.store.lock import read_lock
    from wikitext_builder.wiki.dates import parse_date

    if as_of and lock_path:
        raise BuilderError("--as-of and --lock: a lock file names its revisions; take one of the two")
    with Store.open(store_path) as store:
        if lock_path is None:
            date = parse_date(as_of) if as_of else None
            revisions = store.revisions(language, as_of=date)
            if as_of and not revisions and store.revisions(language):
                raise BuilderError(
                    f"{store_path}: all its revisions of {language!r} are younger than {as_of};"
                    f" `wikitext-builder fetch --as-of {as_of}` gets those of that date"
                )
            return revisions, len(store.all_revisions(language, as_of=date)) - len(revisions)
        wanted = read_lock(lock_path, language=language)
        here = {revision.revision_id: revision for revision in store.all_revisions(language)}
    absent = [revision for revision in wanted if here.get(revision.revision_id) != revision]
    if absent:
        raise BuilderError(
            f"{lock_path}: {len(absent)} of its {len(wanted)} revisions are not in {store_path} as it says,"
            f" such as {absent[0].revision_id} of {absent[0].title!r}; fetch them: --select lock:{lock_path}"
        )
    return wanted, 0


def _page_ids(titles: Path | None, revisions: Sequence[Revision]) -> frozenset[int]:
    if titles is None:
        return frozenset()
    from wikitext_builder.store.titles import read_titles

    names, bad = read_titles(titles)
    if not names and not bad:
        raise BuilderError(f"{titles}: names no article; write titles, one a line")
    by_title = {revision.title: revision.page_id for revision in revisions}
    absent = [name for name in names if name not in by_title] + [one.title for one in bad]
    if absent:
        raise BuilderError(
            f"{titles}: {len(absent)} of its titles are not in the store, such as {absent[0]!r}"
        )
    return frozenset(by_title[name] for name in names)


@click.command()
@click.argument("directory", type=FOLDER)
@json_option
@click.option("--quiet", is_flag=True, help="Print only what is wrong, and a summary.")
def verify(directory: Path, as_json: bool, quiet: bool) -> None:
    """Check a dataset: hashes, grammar, counts, vocabulary. Exit status 1 if anything is wrong."""
    checks = wb.verify(directory)
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


@click.command()
@click.argument("directories", nargs=-1, required=True, type=FOLDER)
@json_option
def stats(directories: tuple[Path, ...], as_json: bool) -> None:
    """Print the paper's Table 1: articles, tokens, vocabulary, OoV rate, by split.

    A directory holds a dataset built here, or one in the layout of WikiText or of the Penn Treebank.
    """
    from wikitext_builder.dataset.stats import as_text, to_records

    table = wb.statistics(*directories)
    click.echo(json.dumps(to_records(table)) if as_json else as_text(table), nl=as_json)


@click.group(cls=Program)
def plot() -> None:
    """Draw a dataset; the suffix of --out chooses PNG or SVG."""


@plot.command("zipf")
@click.argument("directories", nargs=-1, required=True, type=FOLDER)
@click.option("--out", type=FILE, required=True, help="File to write: .png or .svg.")
def plot_zipf(directories: tuple[Path, ...], out: Path) -> None:
    """Draw the frequency of each word of train over its rank, several datasets side by side."""
    click.echo(wb.plot_zipf(*directories, out=out))


@plot.command("window")
@click.argument("directories", nargs=-1, required=True, type=FOLDER)
@click.option("--out", type=FILE, required=True, help="File to write: .png or .svg.")
@click.option(
    "--split", type=click.Choice(["train", "valid", "test"]), default="train", help="Which file to read."
)
@click.option("--longest", type=click.IntRange(min=1), default=500, help="The largest L, in words.")
def plot_window(directories: tuple[Path, ...], out: Path, split: str, longest: int) -> None:
    """Draw how often a word is among the last L words: the paper chose its window by this plot."""
    click.echo(wb.plot_window(*directories, out=out, split=split, longest=longest))


COMMANDS = (tokenize, build, verify, stats, plot)
