"""Commands that bring pages into a store and look into it."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import click

from wikitext_builder.cli.options import PATH, json_option, language_option, listed, store_option
from wikitext_builder.errors import BuilderError
from wikitext_builder.languages import LANGUAGES
from wikitext_builder.progress import shown_progress
from wikitext_builder.store import Store


@click.command("import")
@click.argument("dumps", nargs=-1, required=True, type=PATH)
@store_option
@language_option
@click.option(
    "--all", "everything", is_flag=True, help="Keep every article, not only Good and Featured ones."
)
@click.option("--as-of", help="Of a dump with history: the newest revision that is not after this date.")
@json_option
def import_(
    dumps: tuple[Path, ...],
    store_path: Path,
    language: str,
    everything: bool,
    as_of: str | None,
    as_json: bool,
) -> None:
    """Take articles from XML exports and dumps (.xml, .bz2, .gz, .zst) into a store.

    Kept are pages whose own wikitext carries the Good or Featured mark.
    """
    from wikitext_builder.importing import import_dump
    from wikitext_builder.selection import parse_date

    with Store.create(store_path) as store:
        for path in dumps:
            with shown_progress() as progress:
                report = import_dump(
                    store,
                    path,
                    language=LANGUAGES[language],
                    keep="all" if everything else "marked",
                    as_of=parse_date(as_of) if as_of else "",
                    progress=progress,
                )
            if as_json:
                click.echo(json.dumps({"dump": str(path), **asdict(report)}))
                continue
            before = " (imported before, not read again)" if report.finished_before else ""
            click.echo(
                f"{path}{before}: {report.pages:,} pages, {report.megabytes_per_second:.1f} MB/s of XML"
            )
            click.echo(f"  kept      {report.kept:,} new, {report.already_there:,} there already")
            click.echo(f"  skipped   {listed(report.skipped)}")
            click.echo(f"  rejected  {listed(report.rejected)}")


@click.command()
@store_option
@language_option
def lock(store_path: Path, language: str) -> None:
    """Write the lock file of a store to stdout: which revisions it holds.

    Whoever fetches by this file and builds the same recipe gets the same bytes.
    """
    from wikitext_builder.lock import write_lock

    with Store.open(store_path) as store:
        write_lock(store.revisions(language), sys.stdout, language=language)


@click.command()
@store_option
@language_option
@click.option("--title", required=True, help="Of the article, as Wikipedia writes it.")
@click.option("--sections", type=click.Choice(["official", "clean"]), default="official")
def extract(store_path: Path, language: str, title: str, sections: str) -> None:
    """Print the plain lines of one article, a heading as `== Heading ==`.

    Through `tokenize` they become its official lines.
    """
    from wikitext_builder.extract import extract as extract_page

    with Store.open(store_path) as store:
        found = [revision for revision in store.revisions(language) if revision.title == title]
        if not found:
            raise BuilderError(
                f"{store_path}: no article {title!r} of {language}; titles are as Wikipedia writes them,"
                " `wikitext-builder lock` lists those that are here"
            )
        page = next(store.pages(language, [found[0].revision_id]))
        expansions = store.expansions(language, page.revision_id)
    article = extract_page(page, language=language, sections=sections, expansions=expansions)
    for line in article.lines:
        click.echo(line)
    for call in article.left_out:
        click.echo(f"left out: {' '.join(call.split())}", err=True)


COMMANDS = (import_, lock, extract)
