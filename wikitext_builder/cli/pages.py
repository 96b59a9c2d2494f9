"""Commands that bring pages into a store and look into it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from wikitext_builder.cli.options import DUMP, json_option, language_option, listed, store_option
from wikitext_builder.errors import BuilderError
from wikitext_builder.progress import shown_progress
from wikitext_builder.store.store import Store
from wikitext_builder.wiki.languages import LANGUAGES


@click.command()
@store_option
@click.option(
    "--contact",
    default="",
    show_default=False,
    help="Your mail or web address, told to the wiki; Wikimedia's demand it.",
)
@click.option("--api", help="Address of a wiki's api.php, instead of the language's Wikipedia.")
@language_option
@click.option(
    "--select",
    "selections",
    multiple=True,
    help="good, featured, category:NAME, list:PAGE[@REVISION], titles:FILE or lock:FILE; may be repeated."
    "  [default: good and featured]",
)
@click.option("--as-of", help="The revisions of this date instead of the newest: a request a page.")
@click.option("--limit", type=click.IntRange(min=1), help="At most so many titles.")
@click.option("--maxlag", type=click.FloatRange(min=0), help="Wait while the wiki lags so many seconds.")
@click.option("--parallel", type=click.IntRange(1, 3), default=1, help="Requests at once.")
@click.option("--expand/--no-expand", default=True, help="Ask the wiki for the text of unknown templates.")
@click.option("--rendered", is_flag=True, help="Keep each page's HTML too, one request a page.")
@json_option
def fetch(
    store_path: Path,
    contact: str,
    api: str | None,
    language: str,
    selections: tuple[str, ...],
    as_of: str | None,
    limit: int | None,
    maxlag: float | None,
    parallel: int,
    expand: bool,
    rendered: bool,
    as_json: bool,
) -> None:
    """Fetch Good and Featured articles through the Wikipedia API into a store."""
    from wikitext_builder.fetching.expansions import expand as expand_templates
    from wikitext_builder.fetching.html import fetch_rendered
    from wikitext_builder.fetching.pages import current_revisions
    from wikitext_builder.fetching.pages import fetch as fetch_pages
    from wikitext_builder.fetching.selection import default_selections, parse_selection
    from wikitext_builder.wiki.client import Wikipedia, api_of
    from wikitext_builder.wiki.dates import parse_date

    wiki = LANGUAGES[language]
    chosen = [parse_selection(text, wiki) for text in selections] or list(default_selections(wiki))
    date = parse_date(as_of) if as_of else ""
    address = api or api_of(wiki)
    with (
        closing(
            Wikipedia(address, language=wiki, contact=contact, maxlag=maxlag, parallel=parallel)
        ) as wikipedia,
        Store.create(store_path) as store,
        shown_progress(as_json=as_json) as progress,
    ):
        report = fetch_pages(store, wikipedia, chosen, as_of=date, limit=limit, progress=progress)
        numbers = current_revisions(store, language, chosen, date)
        more: dict[str, Any] = {"revision_ids": numbers, "progress": progress}
        expanded = expand_templates(store, wikipedia, **more) if expand else None
        html = fetch_rendered(store, wikipedia, **more) if rendered else None
    if as_json:
        reports = {"fetch": report, "expand": expanded, "rendered": html}
        click.echo(json.dumps({name: one and asdict(one) for name, one in reports.items()}))
        return
    click.echo(f"{report.selected:,} selected: {report.fetched:,} fetched, {report.present:,} settled before")
    click.echo(f"  rejected  {listed(report.rejected)}")
    if expanded:
        _print_expanded(expanded.expanded, expanded.failed)
    if html:
        click.echo(f"  rendered  {html.fetched:,}, {html.present:,} before; not: {listed(html.failed)}")
    for warning in report.warnings:
        click.echo(f"the wiki warns: {warning}", err=True)


def _print_expanded(expanded: int, failed: Mapping[str, int]) -> None:
    click.echo(f"  expanded  {expanded:,} template calls; not expanded: {listed(failed)}")


@click.command("import")
@click.argument("dumps", nargs=-1, required=True, type=DUMP)
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
    from wikitext_builder.dumps.importing import import_dump
    from wikitext_builder.wiki.dates import parse_date

    with Store.create(store_path) as store:
        for path in dumps:
            with shown_progress(as_json=as_json) as progress:
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
            rate = report.megabytes_per_second
            how = "imported before, not read again" if rate is None else f"{rate:.1f} MB/s of XML"
            click.echo(f"{path}: {report.pages:,} pages, {how}")
            click.echo(f"  kept      {report.kept:,} new, {report.already_there:,} there already")
            click.echo(f"  skipped   {listed(report.skipped)}")
            click.echo(f"  rejected  {listed(report.rejected)}")


@click.command()
@store_option
@json_option
def status(store_path: Path, as_json: bool) -> None:
    """Say what is in a store, missing and rejected, with reasons."""
    from wikitext_builder.store.status import status as status_of

    with Store.open(store_path) as store:
        statuses = [status_of(store, language) for language in store.languages()]
    if as_json:
        click.echo(json.dumps([asdict(one) for one in statuses]))
        return
    if not statuses:
        click.echo(f"{store_path}: empty")
    for one in statuses:
        older = one.revisions - one.pages
        note = f" ({older:,} older ones of the same pages or titles)" if older else ""
        click.echo(f"{one.language}: {one.pages:,} pages, {one.revisions:,} revisions{note}")
        again = "; fetch again to get them" if one.missing else ""
        click.echo(f"  wanted    {one.wanted:,}, of which {one.missing:,} are missing{again}")
        click.echo(f"  redirects {one.redirects:,} were followed")
        click.echo(f"  rendered  {one.rendered:,} pages; not rendered: {listed(one.not_rendered)}")
        click.echo(f"  rejected  {listed(one.rejected)}")
        _print_expanded(one.expanded, one.not_expanded)


@click.command()
@store_option
@language_option
@click.option("--as-of", help="The newest revisions of the store that are not after this date.")
def lock(store_path: Path, language: str, as_of: str | None) -> None:
    """Write the lock file of a store to stdout: the newest revision of each page.

    Whoever fetches by this file and builds the same recipe gets the same bytes.
    """
    from wikitext_builder.store.lock import write_lock
    from wikitext_builder.wiki.dates import parse_date

    with Store.open(store_path) as store:
        revisions = store.revisions(language, as_of=parse_date(as_of) if as_of else None)
        if not revisions:
            raise BuilderError(
                f"{store_path}: no pages of {language!r}{f' up to {as_of}' if as_of else ''} to lock;"
                " `wikitext-builder status` says what is there"
            )
        write_lock(
            revisions,
            sys.stdout,
            language=language,
            wiki=store.progress(f"{language} wiki") or "-",
        )


@click.command()
@store_option
@language_option
@click.option("--title", required=True, help="Of the article, as Wikipedia writes it.")
@click.option(
    "--sections",
    type=click.Choice(["official", "clean"]),
    default="official",
    help="How much of a removed section goes: its own text, or its sub-sections too.",
)
def extract(store_path: Path, language: str, title: str, sections: str) -> None:
    """Print the plain lines of one article, a heading as `== Heading ==`.

    Through `tokenize` they become its official lines.
    """
    from wikitext_builder.extraction.page import extract as extract_page
    from wikitext_builder.store.pages import read_page

    stored = read_page(store_path, title=title, language=language)
    article = extract_page(stored.page, language=language, sections=sections, expansions=stored.expansions)
    for line in article.lines:
        click.echo(line)
    for call in article.left_out:
        click.echo(f"left out: {' '.join(call.split())}", err=True)


COMMANDS = (fetch, import_, status, lock, extract)
