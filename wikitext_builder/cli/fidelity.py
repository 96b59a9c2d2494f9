"""The command that measures how faithful extraction is."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wikitext_builder.cli.options import FILE, json_option, language_option, listed
from wikitext_builder.errors import BuilderError
from wikitext_builder.progress import shown_progress
from wikitext_builder.store.store import Store
from wikitext_builder.wiki.languages import LANGUAGES

if TYPE_CHECKING:
    from wikitext_builder.fidelity.compare import Comparison
    from wikitext_builder.fidelity.measure import Fidelity
    from wikitext_builder.fidelity.templates import TemplateShare
    from wikitext_builder.store.pages import StoredPage
    from wikitext_builder.wiki.client import Wikipedia

LONGEST = 400  # characters of a line that is shown


@click.command()
@click.argument("pages", nargs=-1, type=click.Path(path_type=Path, exists=True))
@click.option("--store", "store_path", type=FILE, help="Store of fetched pages, besides PAGES or instead.")
@click.option("--api", help="Address of a wiki's api.php that is asked for the HTML of each page.")
@click.option("--contact", default="", show_default=False, help="Your address, told to the wiki.")
@click.option(
    "--official", "official_path", type=FILE, help="WikiText file with articles of the same titles."
)
@click.option(
    "--calls", "calls_path", type=FILE, help="JSON lines: wikitext of a template call, its text, page."
)
@language_option
@click.option("--sections", type=click.Choice(["official", "clean"]), default="official", help="Which go.")
@click.option("--limit", type=click.IntRange(min=1), help="At most so many pages.")
@click.option("--title", help="Only the page of this title.")
@click.option(
    "--page", "page_path", type=FILE, help="HTML to be made: wikitext, our lines, theirs (with --title)."
)
@click.option("--worst", "worst_count", type=click.IntRange(min=0), default=10, help="Differences to show.")
@json_option
def fidelity(
    pages: tuple[Path, ...],
    store_path: Path | None,
    api: str | None,
    contact: str,
    official_path: Path | None,
    calls_path: Path | None,
    language: str,
    sections: str,
    limit: int | None,
    title: str | None,
    page_path: Path | None,
    worst_count: int,
    as_json: bool,
) -> None:
    """Measure how faithful the lines are: residue of markup, and tokens lost and made up.

    PAGES are XML exports, files of wikitext (Title.wiki), or folders of them. Lines are compared with those
    of the HTML that a store holds (`fetch --rendered`) or that --api gives, and with --official ones.
    """
    from wikitext_builder.fidelity.measure import measure, official_articles, renderer
    from wikitext_builder.fidelity.templates import read_calls, shares

    if page_path and not title:
        raise BuilderError("--page shows one article: name it by --title")
    if not (pages or store_path or calls_path):
        raise BuilderError("nothing to measure: name files of PAGES, a --store or a file of --calls")
    with ExitStack() as stack:
        wikipedia = stack.enter_context(_wiki(api, language, contact)) if api else None
        store = stack.enter_context(Store.open(store_path)) if store_path else None
        progress = stack.enter_context(shown_progress(as_json=as_json))
        sources = _sources(pages, store, language, title)
        last: list[StoredPage] = []
        found = measure(
            _noted(islice(sources, limit), last if page_path else None),
            language=language,
            sections=sections,
            render=renderer(wikipedia),
            official=official_articles(official_path) if official_path else None,
            progress=progress,
        )
    if title and not found.pages:
        raise BuilderError(
            f"there is no page {title!r} among those given; titles are as Wikipedia writes them"
        )
    weights = found.templates if found.pages else None
    templates = shares(read_calls(calls_path), language=language, weights=weights) if calls_path else []
    if page_path:
        _write_page(page_path, found, last)
    if as_json:
        click.echo(json.dumps(_record(found, templates, worst_count), ensure_ascii=False))
    else:
        _print(found, templates, worst_count)


def _wiki(api: str, language: str, contact: str) -> Wikipedia:
    from wikitext_builder.wiki.client import Wikipedia

    return Wikipedia(api, language=LANGUAGES[language], contact=contact)


def _sources(
    pages: tuple[Path, ...], store: Store | None, language: str, title: str | None
) -> Iterator[StoredPage]:
    from wikitext_builder.fidelity.measure import sources_of_files, sources_of_store

    stored = sources_of_store(store, language) if store else iter(())
    both = chain(sources_of_files(pages), stored)
    return both if title is None else (one for one in both if one.page.title == title)


def _noted(sources: Iterable[StoredPage], kept: list[StoredPage] | None) -> Iterator[StoredPage]:
    for one in sources:
        if kept is not None:
            kept.append(one)
        yield one


def _write_page(path: Path, found: Fidelity, shown: list[StoredPage]) -> None:
    from wikitext_builder.fidelity.page import side_by_side

    kind = "rendered" if found.rendered else "official"
    comparisons = found.rendered or found.official
    if not comparisons:
        raise BuilderError(
            f"{path}: nothing to compare with; name --api, --official or a store with rendered pages"
        )
    text = side_by_side(shown[0].page.wikitext, comparisons[0], theirs=kind)
    path.write_text(text, encoding="utf-8", newline="\n")
    click.echo(str(path), err=True)


# --- what is printed


def _record(found: Fidelity, templates: list[TemplateShare], count: int) -> dict[str, Any]:
    from wikitext_builder.fidelity.compare import worst

    compared = {"rendered": found.rendered, "official": found.official}
    return {
        "pages": found.pages,
        "tokens": found.tokens,
        "rejected": found.rejected,
        "left_out": found.left_out,
        "residue": [asdict(one) for one in found.residue],
        "comparisons": {
            name: {
                "summary": asdict(summary),
                "articles": [_scores(one) for one in compared[name]],
                "worst": [{"title": title} | asdict(part) for title, part in worst(compared[name], count)],
            }
            for name, summary in found.summaries().items()
        },
        "templates": [asdict(one) for one in templates],
    }


def _scores(one: Comparison) -> dict[str, Any]:
    score = one.score
    figures = {"precision": score.precision, "recall": score.recall, "f1": score.f1}
    return {"title": one.title, **asdict(score), **figures}


def _print(found: Fidelity, templates: list[TemplateShare], count: int) -> None:
    from wikitext_builder.fidelity.compare import worst

    if found.pages:
        click.echo(f"{found.pages:,} pages, {found.tokens:,} tokens; rejected {listed(found.rejected)}")
        click.echo(f"  left out  {sum(found.left_out.values()):,} template calls of {len(found.left_out):,}")
        click.echo("residue, a million tokens:")
        for one in found.residue:
            where = f"  in {', '.join(one.titles[:3])}" + (" …" if len(one.titles) > 3 else "")
            click.echo(
                f"  {one.pattern:12} {one.per_million:8.1f} {one.count:6,}{where if one.count else ''}"
            )
    compared = {"rendered": found.rendered, "official": found.official}
    for name, summary in found.summaries().items():
        click.echo(
            f"against {name} lines, {summary.articles:,} articles: precision {summary.precision:.4f},"
            f" recall {summary.recall:.4f}, F1 {summary.f1:.4f}; of articles, median"
            f" {summary.median_f1:.4f}, 10th percentile {summary.tenth_percentile_f1:.4f}"
        )
        for title, part in worst(compared[name], count):
            click.echo(f"  {title}, {part.wrong} tokens")
            click.echo(f"    ours   {_shown(part.ours)}")
            click.echo(f"    theirs {_shown(part.theirs)}")
    _print_templates(templates, count)


def _shown(lines: tuple[str, ...]) -> str:
    text = " / ".join(lines)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"


def _print_templates(templates: list[TemplateShare], count: int) -> None:
    from wikitext_builder.fidelity.templates import weighted_share

    for kind, what in (("text", "in running text"), ("removed", "removed"), ("unknown", "that nobody knows")):
        some = [one for one in templates if one.kind == kind]
        if not some:
            continue
        calls, equal = sum(one.calls for one in some), sum(one.equal for one in some)
        click.echo(
            f"template calls {what}: {equal:,} of {calls:,} as expected, {100 * equal / calls:.2f} %;"
            f" by frequency {100 * weighted_share(some):.2f} %"
        )
        for one in [one for one in some if one.differences][:count]:
            wikitext, ours, theirs = one.differences[0]
            click.echo(f"  {one.name}: {one.equal} of {one.calls}")
            click.echo(f"    {_shown((' '.join(wikitext.split()),))}")
            click.echo(f"    ours   {_shown((ours,))}")
            click.echo(f"    theirs {_shown((theirs,))}")


COMMANDS = (fidelity,)
