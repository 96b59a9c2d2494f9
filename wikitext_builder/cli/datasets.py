"""Defines the commands that build and check datasets, and that run the pipeline on the bundled sample."""

from __future__ import annotations

import io
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

import wikitext_builder as wb
from wikitext_builder.article import INCOMPLETE, SECTIONS, SPLITS
from wikitext_builder.cli.command_line import (
    COUNT,
    FILE,
    FOLDER,
    INCOMPLETE_HELP,
    SECTIONS_HELP,
    WHOLE,
    filter_options,
    json_option,
    listed,
    store_option,
    stored_language_option,
)
from wikitext_builder.dataset.recipes import RECIPES, SOURCES
from wikitext_builder.errors import BuilderError
from wikitext_builder.progress import is_quiet, show_progress
from wikitext_builder.sample import SAMPLE_DUMP

if TYPE_CHECKING:
    from wikitext_builder.building.build import BuildReport


PARALLEL_BYTES = 1 << 25  # of a file; a smaller one is tokenized before processes have started
READ_BYTES = 1 << 20


@click.command()
@click.argument("file", type=click.File("rb"), default="-")
@click.option("--language", default="en", help="Code of a language that the Moses tokenizer supports.")
def tokenize(file: io.BufferedReader, language: str) -> None:
    """Turn each line of plain text into a WikiText line, on stdout. Large files use all cores."""
    from wikitext_builder.processes import ProcessPool, Serial, cores
    from wikitext_builder.tokens.tokenizer import tokenize_line

    tokenize_line("", language)  # an unknown language is an error even for an empty file
    is_large = _bytes_left(file) >= PARALLEL_BYTES
    try:
        with ProcessPool(cores()) if is_large else nullcontext(Serial()) as runner:
            for lines in runner.map(_tokenized, _blocks(file), language):
                sys.stdout.write(lines)
    except UnicodeDecodeError as error:
        raise BuilderError(f"{file.name}: {error}; expected text in UTF-8, see `iconv`") from error


def _bytes_left(file: io.BufferedReader) -> int:
    """Return the number of bytes that are not read yet; 0 for a pipe or a terminal."""
    if not file.seekable():
        return 0
    start, end = file.tell(), file.seek(0, os.SEEK_END)
    file.seek(start)
    return end - start


def _blocks(file: io.BufferedReader) -> Iterator[list[bytes]]:
    """Yield the lines of a file or a pipe as they arrive, about a megabyte at a time."""
    incomplete_line = b""
    while chunk := file.read1(READ_BYTES):
        *lines, incomplete_line = (incomplete_line + chunk).split(b"\n")
        if lines:
            yield lines
    if incomplete_line:
        yield [incomplete_line]


def _tokenized(lines: Sequence[bytes], language: str) -> str:
    from wikitext_builder.dataset.manifest import file_line
    from wikitext_builder.tokens.tokenizer import tokenize_lines

    return "".join(map(file_line, tokenize_lines([line.decode() for line in lines], language)))


def complete_recipe(_context: click.Context, _argument: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete names of recipes, or files, because a manifest can stand for a recipe."""
    names = [CompletionItem(name) for name in RECIPES if name.startswith(typed)]
    return names or [CompletionItem(typed, type="file")]


@click.command()
@click.argument("recipe", shell_complete=complete_recipe)
@store_option
@click.option("--out", type=FOLDER, required=True, help="Folder to create.")
@stored_language_option
@click.option("--as-of", help="Use the store's newest revisions on or before this date.")
@click.option("--lock", type=FILE, help="Use exactly the revisions in this lock file.")
@filter_options("lock:FILE or created-since:DATE", "dataset:FOLDER or titles:FILE")
@click.option(
    "--name", help="Name of the dataset.  [default: the recipe's, with the language unless English]"
)
@click.option("--valid-titles", type=FILE, help="File with the titles for valid, one per line.")
@click.option("--test-titles", type=FILE, help="File with the titles for test, one per line.")
@click.option("--train-articles", type=COUNT, help="Articles in train, at most (default: as in the recipe).")
@click.option("--valid-articles", type=WHOLE, help="Articles in valid (default: as in the recipe).")
@click.option("--test-articles", type=WHOLE, help="Articles in test (default: as in the recipe).")
@click.option("--test-words", type=COUNT, help="For `live`: add articles until this many words is reached.")
@click.option("--min-count", type=COUNT, help="Rarer words become <unk> (default: 3; demo: 2; live: 1).")
@click.option("--sections", type=click.Choice(SECTIONS), help=f"{SECTIONS_HELP}  [default: official]")
@click.option("--incomplete", type=click.Choice(INCOMPLETE), help=f"{INCOMPLETE_HELP}  [default: cut]")
@click.option(
    "--source",
    type=click.Choice(SOURCES),
    help="What to extract. rendered: a page's HTML where the store has it, else its wikitext; wikitext:"
    " always that.  [default: rendered]",
)
@click.option("--seed", help="Seed for the split.  [default: the recipe's]")
@click.option(
    "--articles/--no-articles",
    default=None,
    help="Also export whole articles as plain text, in Parquet files.  [default: only `live`]",
)
@click.option("--workers", type=COUNT, show_default="one per core", help="Processes on this machine.")
@click.option("--scheduler", help="Address of a Dask scheduler to run the build on: tcp://host:8786.")
@json_option
def build(recipe: str, store_path: Path, out: Path, as_json: bool, **options: Any) -> None:
    """Build a dataset from the pages of a store.

    RECIPE is wikitext-2, wikitext-103, demo or live. WikiText-2 has 600 training articles, WikiText-103 all
    the others; both have the same 60 articles each in valid and test. `live` makes only a test set, of all
    pages. Or it is the manifest.json of a dataset, to build that one again, with its lock file.
    """
    with show_progress() as progress:
        report = wb.build(recipe, store_path, out, progress=progress, **options)
    for warning in report.warnings:
        click.echo(warning, err=True)
    if as_json:
        click.echo(json.dumps(asdict(report)))
    else:
        _print_report(out, report)


def _print_report(out: Path, report: BuildReport) -> None:
    click.echo(f"{out}: {'already built' if report.already_built else 'built'}")
    for name in SPLITS:
        counts = report.manifest.splits[name]
        click.echo(f"  {name:5} {counts.articles:>7,} articles {counts.tokens:>12,} tokens")
    click.echo(f"  vocabulary {report.manifest.vocabulary:,} types")
    sources = report.manifest.sources
    click.echo(
        f"  made from  {sources['rendered']:,} articles' HTML, {sources['wikitext']:,} articles' wikitext"
    )
    if not report.already_built:
        for line in _work_done(report):
            click.echo(f"  {line}")


def _work_done(report: BuildReport) -> Iterator[str]:
    total = sum(report.seconds.values())
    stages = ", ".join(f"{stage} {100 * spent / total:.0f} %" for stage, spent in report.seconds.items())
    pages, megabytes = report.pages / total, report.wikitext_bytes / 1e6 / total
    # Pages of earlier shards took no time, so a speed would be meaningless.
    speed = "" if report.shards_found else f": {pages:.1f} pages/s, {megabytes:.2f} MB/s of wikitext"
    yield f"{report.pages:,} pages in {total:.1f} s{speed} ({stages})"
    if report.shards_found:
        yield f"found      {report.shards_found:,} shards of pages were already there"
    if report.older:
        yield f"not used   {report.older:,} older revisions of the same pages or titles"
    yield f"rejected   {listed(report.rejected)}"
    yield f"left out   {listed(dict(Counter(report.left_out).most_common(8)))}"
    if report.loss and report.loss.words:
        yield f"lost       {report.loss.summary()}"
    if report.left_out_reasons:
        yield f"because of {listed(report.left_out_reasons)}"
    if report.expanded:
        yield f"expanded   {report.expanded:,} template calls from templates of the store"


@click.command()
@click.argument("directory", type=FOLDER)
@json_option
def verify(directory: Path, as_json: bool) -> None:
    """Check a dataset: hashes, format, counts, vocabulary. Exit status 1 if anything is wrong.

    With --quiet, prints only failed checks and a summary.
    """
    checks, quiet = wb.verify(directory), is_quiet()
    for check in checks:
        if not as_json and not (quiet and check.passed is not False):
            word = {True: "ok", False: "WRONG", None: "not checked"}[check.passed]
            click.echo(f"{word:12}{check.name}: {check.found}")
    if as_json:
        click.echo(json.dumps([asdict(check) for check in checks]))
    failed = sum(check.passed is False for check in checks)
    if quiet and not failed:
        skipped = sum(check.passed is None for check in checks)
        click.echo(f"{directory}: {len(checks) - skipped} checks passed, {skipped or 'none'} skipped")
    if failed:
        raise BuilderError(f"{directory}: {failed} of {len(checks)} checks failed")


# --- the pipeline on the bundled sample

MODEL_PACKAGES = ("torch", "safetensors")  # of the extra `models`
DATASET_COMMANDS = """
wikitext-builder import {out}/sample.xml --store {out}/pages.store
wikitext-builder build demo --store {out}/pages.store --out {out}/wikitext-demo
wikitext-builder verify {out}/wikitext-demo --quiet
wikitext-builder stats {out}/wikitext-demo
wikitext-builder plot zipf {out}/wikitext-demo --out {out}/zipf.png
"""
MODEL_COMMANDS = """
ps-models train pointer-sentinel-lstm {out}/wikitext-demo --out {out}/model --preset demo
ps-models evaluate {out}/model {out}/wikitext-demo --split test
ps-models explain {out}/model {out}/wikitext-demo --split test --start best --out {out}/explain.html
"""
RESULT_TEXT = "\nThe dataset is in {out}/wikitext-demo, its Zipf plot in {out}/zipf.png.\n"
NEXT_STEPS = """ Next:
  head -5 {out}/wikitext-demo/wiki.train.tokens
  wikitext-builder extract --store {out}/pages.store --title Octopus | wikitext-builder tokenize
  wikitext-builder fetch --store wikipedia.store --contact YOUR-MAIL --limit 20   # real articles"""
MODEL_TEXT = "{out}/explain.html shows how a small model predicts: open it in a browser."
NO_MODEL_TEXT = (
    "To train a model and look into it: pip install 'wikitext-builder[models]', and run this again."
)


@click.command()
@click.option("--out", type=FOLDER, default="demo", help="Folder for all output.")
def demo(out: Path) -> None:
    """Run the whole pipeline on 28 bundled articles: a dataset, its statistics and plot, a small model.

    Prints each command before running it. The model needs the extra `models` (torch) and about 15 seconds.
    """
    has_models = all(find_spec(package) for package in MODEL_PACKAGES)
    sample = out / "sample.xml"
    try:
        out.mkdir(parents=True, exist_ok=True)
        if any(out.iterdir()) and not (sample.is_file() and sample.read_bytes() == SAMPLE_DUMP.read_bytes()):
            raise BuilderError(f"{out}: is not empty, and not of a demo; name another --out")
        shutil.copyfile(SAMPLE_DUMP, sample)
    except OSError as error:
        raise BuilderError(f"{out}: cannot be written ({error.strerror}); name another --out") from error
    for line in (DATASET_COMMANDS + MODEL_COMMANDS if has_models else DATASET_COMMANDS).split("\n"):
        if line:
            _run([word.format(out=out) for word in line.split()])
    text = RESULT_TEXT + (MODEL_TEXT if has_models else NO_MODEL_TEXT) + NEXT_STEPS
    click.echo(text.format(out=shlex.quote(str(out))))


def _run(words: list[str]) -> None:
    """Run a command of this project as the user would; its output goes where ours goes."""
    click.echo(f"\n$ {shlex.join(words)}")
    module = words[0].replace("-", "_")
    quiet = ["--quiet"] if is_quiet() and "--quiet" not in words else []
    english = os.environ | {"WIKITEXT_LANGUAGE": "en"}  # even if the user has set another language
    command = [sys.executable, "-P", "-m", module, *words[1:], *quiet]  # -P: no modules of the current folder
    process = subprocess.run(command, env=english, check=False)  # noqa: S603 - our own words
    if process.returncode:
        raise click.exceptions.Exit(process.returncode)  # the command has printed the error


COMMANDS = (tokenize, build, verify)
