"""Defines the commands that bring pages into a store, and that show its content."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import wikitext_builder as wb
from wikitext_builder.article import INCOMPLETE, SECTIONS
from wikitext_builder.cli.command_line import (
    COUNT,
    FILE,
    INCOMPLETE_HELP,
    SECTIONS_HELP,
    SEED,
    RealOrOff,
    filter_options,
    json_option,
    language_option,
    listed,
    store_option,
    stored_language_option,
)
from wikitext_builder.errors import UNANSWERED, BuilderError
from wikitext_builder.progress import duration, show_progress
from wikitext_builder.tables import one_line
from wikitext_builder.wiki.languages import language_of

if TYPE_CHECKING:
    from wikitext_builder.fetching.fetch import FetchPlan, FetchReport, PagesReport


SELECT_HELP = (
    "good, featured, category:NAME, list:PAGE[@REVISION], titles:FILE, lock:FILE,"
    " created-since:DATE[..DATE], recent:DATE[..DATE]; repeatable.  [default: good and featured]"
)


@click.command()
@store_option
@click.option(
    "--contact",
    default="",
    show_default=False,
    envvar="WIKITEXT_CONTACT",
    show_envvar=True,
    help="Your email or web address, which the wiki sees; required by Wikimedia's wikis.",
)
@click.option("--api", help="URL of a wiki's api.php, to use instead of the language's Wikipedia.")
@language_option
@click.option("--select", multiple=True, help=SELECT_HELP)
@filter_options("words:300-, bytes:MIN-MAX or lock:FILE", "stubs, lock:FILE or titles:FILE")
@click.option("--as-of", help="Fetch the newest revisions on or before this date (one request per page).")
@click.option("--limit", type=COUNT, help="Fetch only the first N titles.")
@click.option("--sample", type=COUNT, help="Fetch a random sample of N titles.")
@click.option("--seed", type=SEED, default=0, help="Seed for --sample.")
@click.option(
    "--maxlag",
    type=RealOrOff(min=0),
    default=5,
    help="Wait while database lag exceeds this many seconds; off: ignore lag.",
)
@click.option(
    "--parallel", type=click.IntRange(1, 3), default=1, help="Concurrent requests; Wikimedia: needs a token."
)
@click.option("--per-minute", type=COUNT, help="Requests per minute.  [default: 200; local wikis: unlimited]")
@click.option(
    "--token-file",
    type=FILE,
    help="File with your account's OAuth 2 token.  [default: the variable WIKITEXT_BUILDER_TOKEN]",
)
@click.option("--expand/--no-expand", default=True, help="Ask the wiki to expand unknown templates.")
@click.option(
    "--rendered/--wikitext",
    default=None,
    help="Also store each page's HTML (one request per page), or only its wikitext."
    "  [default: HTML, except in English; of a lock file's pages, as it says]",
)
@click.option("--dry-run", is_flag=True, help="List the pages and estimate requests and time.")
@json_option
def fetch(store_path: Path, as_json: bool, **options: Any) -> None:
    """Fetch Good and Featured articles from the Wikipedia API into a store."""
    with show_progress() as progress:
        report = wb.fetch(store_path, progress=progress, **options)
    if as_json:
        parts: dict[str, Any] = {"fetch": report.pages, "expand": report.expansions, "rendered": report.html}
        parts |= {"plan": report.plan} if report.plan else {}
        click.echo(json.dumps({name: part and asdict(part) for name, part in parts.items()}))
        _expect_answers(report)
        return
    pages = report.pages
    if report.plan:
        _print_plan(pages, report.plan)
        return
    click.echo(f"{pages.selected:,} selected: {pages.fetched:,} fetched, {pages.present:,} already done")
    click.echo(f"  rejected  {listed(pages.rejected)}")
    if report.expansions:
        _print_expanded(report.expansions.expanded, report.expansions.failed)
        if report.expansions.rejected:
            click.echo(f"  unread    {listed(report.expansions.rejected)}; a build says which pages")
    if report.html:
        html = report.html
        click.echo(f"  rendered  {html.fetched:,}, {html.present:,} already done; not: {listed(html.failed)}")
    for warning in pages.warnings:
        click.echo(f"the wiki warns: {one_line(warning)}", err=True)
    _expect_answers(report)


def _expect_answers(report: FetchReport) -> None:
    """Fail with status 1 if the wiki left requests unanswered, which the next run repeats."""
    parts = {
        "pages": report.pages.rejected,
        "template calls": report.expansions and report.expansions.failed,
        "pages' HTML": report.html and report.html.failed,
    }
    unanswered = [
        f"{counts[UNANSWERED]:,} {name}"
        for name, counts in parts.items()
        if counts and counts.get(UNANSWERED)
    ]
    if unanswered:
        raise BuilderError(
            f"{', '.join(unanswered)} got no answer; run the same command again to request them"
        )


def _print_plan(pages: PagesReport, plan: FetchPlan) -> None:
    todo = pages.selected - pages.present - sum(pages.rejected.values())
    click.echo(f"{pages.selected:,} selected: {todo:,} to fetch, {pages.present:,} already done")
    click.echo(f"  rejected  {listed(pages.rejected)}")
    parts = {"pages": plan.pages, "HTML": plan.html, "conditions": plan.conditions}
    texts = [f"{count:,} for {name}" for name, count in parts.items() if count]
    texts += [f"at most {plan.expansions:,} for templates"] if plan.expansions else []
    texts += ["1 per 50 names of templates in new pages"] if plan.expansions and todo else []
    click.echo(f"  requests  {', '.join(texts) or 'none'}")
    shortest, longest = (duration(seconds) for seconds in plan.seconds)
    click.echo(f"  time      {shortest}" + (f" to {longest}" if longest != shortest else ""))
    click.echo(f"  download  about {plan.bytes / 1e6:,.0f} MB")
    click.echo("Nothing was fetched. The store keeps the listing, so that it is not requested again.")


def _print_expanded(expanded: int, failed: Mapping[str, int]) -> None:
    click.echo(f"  expanded  {expanded:,} template calls; not expanded: {listed(failed)}")


@click.command("import")
@click.argument(
    "dumps", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, dir_okay=False)
)
@store_option
@language_option
@click.option("--all", "everything", is_flag=True, help="Keep every article, not only Good and Featured.")
@click.option("--as-of", help="For dumps with history: the newest revision on or before this date.")
@filter_options("words:300-, bytes:MIN-MAX or lock:FILE", "stubs, lock:FILE or titles:FILE")
@click.option("--workers", type=COUNT, show_default="one per core", help="Processes for several files.")
@json_option
def import_(
    dumps: tuple[Path, ...], store_path: Path, everything: bool, as_json: bool, **options: Any
) -> None:
    """Import articles from XML dumps (.xml, .bz2, .gz, .zst) and HTML snapshots (.tar.gz, .ndjson).

    Keeps Good and Featured articles, all templates in a dump, and the HTML in a snapshot.
    """
    options["keep"] = "all" if everything else "marked"
    with show_progress() as progress:
        report = wb.import_dump(store_path, *dumps, progress=progress, **options)
    if as_json:
        click.echo(json.dumps(asdict(report)))
        return
    before = report.finished_before
    note = f" ({before:,} imported before, not read again)" if before else ""
    click.echo(f"{report.files:,} files{note}: {report.pages:,} pages")
    click.echo(f"  kept      {report.kept:,} new, {report.already_there:,} already there")
    if report.templates or report.templates_there:
        click.echo(f"  templates {report.templates:,} new, {report.templates_there:,} already there")
    if report.rendered or report.rendered_there:
        click.echo(f"  rendered  {report.rendered:,} new, {report.rendered_there:,} already there")
    click.echo(f"  skipped   {listed(report.skipped)}")
    click.echo(f"  rejected  {listed(report.rejected)}")
    if report.missing:
        examples = ", ".join(repr(title) for title in report.missing[:5])
        click.echo(
            f"{len(report.missing):,} titles that --include names are missing: {examples}. Content exports"
            " made before the repair of T431872 lack pages and templates edited after their cut-off;"
            " the history export has them",
            err=True,
        )
    unmarked = report.skipped.get("unmarked", 0)
    is_most = unmarked == max(report.skipped.values(), default=0)
    if unmarked and is_most and not report.kept + report.already_there:
        names = language_of(report.language)
        marks = f", such as {{{{{(names.good_marks + names.featured_marks)[0]}}}}}"
        click.echo(
            f"No page was kept. {unmarked:,} are unmarked: their wikitext has no template for a Good or"
            f" Featured article{marks}. To keep every article: --all",
            err=True,
        )


@click.command()
@store_option
@json_option
def status(store_path: Path, as_json: bool) -> None:
    """Show what a store contains, what is missing, and what was rejected and why."""
    statuses = wb.status(store_path)
    if as_json:
        click.echo(json.dumps([asdict(stored) for stored in statuses]))
        return
    if not statuses:
        click.echo(f"{store_path}: empty")
    for stored in statuses:
        older = stored.revisions - stored.pages
        note = f" ({older:,} older ones of the same pages or titles)" if older else ""
        click.echo(f"{stored.language}: {stored.pages:,} pages, {stored.revisions:,} revisions{note}")
        again = "; fetch again to get them" if stored.missing else ""
        click.echo(f"  wanted    {stored.wanted:,}, of which {stored.missing:,} are missing{again}")
        click.echo(f"  redirects {stored.redirects:,} were followed")
        click.echo(f"  rendered  {stored.rendered:,} pages; not rendered: {listed(stored.not_rendered)}")
        click.echo(f"  rejected  {listed(stored.rejected)}")
        _print_expanded(stored.expanded, stored.not_expanded)
        if stored.templates:
            click.echo(f"  templates {stored.templates:,} from dumps")


@click.command()
@store_option
@stored_language_option
@click.option("--as-of", help="Use the store's newest revisions on or before this date.")
def lock(store_path: Path, language: str | None, as_of: str | None) -> None:
    """Write a store's lock file to stdout: the newest revision of each page.

    Anyone who fetches with this file and builds with the same recipe gets the same bytes.
    """
    sys.stdout.write(wb.lock(store_path, language=language, as_of=as_of))


@click.command()
@store_option
@stored_language_option
@click.option("--title", required=True, help="Title of the article, as on Wikipedia.")
@click.option("--sections", type=click.Choice(SECTIONS), default=SECTIONS[0], help=SECTIONS_HELP)
@click.option("--incomplete", type=click.Choice(INCOMPLETE), default=INCOMPLETE[0], help=INCOMPLETE_HELP)
def extract(store_path: Path, language: str | None, title: str, sections: str, incomplete: str) -> None:
    """Print one article as plain text, with headings as `== Heading ==`.

    It is made from the page's HTML if the store has it, else from its wikitext. `tokenize` turns this text
    into WikiText lines.
    """
    stored = wb.read_page(store_path, title=title, language=language, html=True)
    options: dict[str, Any] = {"sections": sections, "incomplete": incomplete}
    options["language"] = wb.store_language(store_path, language)
    if stored.html is not None:
        article = wb.extract_rendered(stored.html, stored.page, **options)
    else:
        with wb.open_templates(store_path, language=language) as templates:
            options |= {"expansions": stored.expansions, "templates": templates}
            article = wb.extract(stored.page, **options)
    for line in article.lines:
        click.echo(line)
    for call, reason in zip_longest(article.left_out, article.reasons):
        note = f" ({reason})" if reason else ""
        click.echo(f"left out{note}: {' '.join(call.split())}", err=True)


COMMANDS = (fetch, import_, status, lock, extract)
