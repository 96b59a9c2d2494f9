"""The command that measures how faithful extraction is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wikitext_builder.cli.options import FILE, SECTIONS_HELP, json_option, language_option, listed
from wikitext_builder.cli.run import run
from wikitext_builder.progress import shown_progress

if TYPE_CHECKING:
    from extraction_eval.lost import LostWords
    from extraction_eval.measure import Fidelity
    from extraction_eval.templates import TemplateShare

LONGEST = 400  # characters of a line that is shown
KINDS = {
    "text": "with a macro",
    "citation": "of citations",
    "removed": "that are removed",
    "unknown": "without a macro",
}


@click.command(
    "extraction_eval", context_settings={"help_option_names": ["-h", "--help"], "show_default": True}
)
@click.argument("pages", nargs=-1, type=click.Path(path_type=Path, exists=True))
@click.option("--store", type=FILE, help="Store of fetched pages, besides PAGES or instead.")
@click.option("--api", default="", show_default=False, help="api.php of a wiki that renders the pages.")
@click.option("--contact", default="", show_default=False, help="Your address, for the wiki.")
@click.option("--official", type=FILE, help="WikiText file with articles of the same titles.")
@click.option("--calls", type=FILE, help="JSON lines: wikitext of a template call, its text, page.")
@language_option
@click.option(
    "--sections",
    type=click.Choice(["official", "clean"]),
    default="official",
    help=SECTIONS_HELP,
)
@click.option("--limit", type=click.IntRange(min=1), help="The largest number of pages.")
@click.option("--title", default="", show_default=False, help="Only the page of this title.")
@click.option(
    "--page", type=FILE, help="HTML file to write (with --title): wikitext, our lines, reference lines."
)
@click.option("--worst", type=click.IntRange(min=0), default=10, help="The number of differences to show.")
@json_option
def evaluate(
    pages: tuple[Path, ...],
    store: Path | None,
    api: str,
    contact: str,
    official: Path | None,
    calls: Path | None,
    language: str,
    sections: str,
    limit: int | None,
    title: str,
    page: Path | None,
    worst: int,
    as_json: bool,
) -> None:
    """Measure how faithful the lines are: residue of markup, tokens lost and made up.

    PAGES are XML exports, files of wikitext (Title.wiki), or folders of them. The reference lines come from
    HTML, which a store has (`fetch --rendered`) or --api renders, and from --official.
    """
    from extraction_eval.measure import measure

    with shown_progress(as_json=as_json) as progress:
        found = measure(
            pages,
            store=store,
            api=api,
            contact=contact,
            official=official,
            calls=calls,
            language=language,
            sections=sections,
            limit=limit,
            title=title,
            page=page,
            progress=progress,
        )
    if page:
        click.echo(str(page), err=True)
    if as_json:
        click.echo(json.dumps(found.record(worst), ensure_ascii=False))
    else:
        _print(found, worst)


def _print(found: Fidelity, count: int) -> None:
    from extraction_eval.compare import worst

    if found.pages:
        click.echo(f"{found.pages:,} pages, {found.tokens:,} tokens; rejected {listed(found.rejected)}")
        click.echo(f"  left out  {sum(found.left_out.values()):,} template calls of {len(found.left_out):,}")
        click.echo("residue, per million tokens:")
        for one in found.residue:
            where = f"  in {', '.join(one.titles[:3])}" + (" …" if len(one.titles) > 3 else "")
            click.echo(
                f"  {one.pattern:12} {one.per_million:8.1f} {one.count:6,}{where if one.count else ''}"
            )
        _print_lost(found.lost, count)
        _print_places(found, count)
    for name, summary in found.summaries().items():
        click.echo(
            f"against {name} lines, {summary.articles:,} articles: precision {summary.precision:.4f},"
            f" recall {summary.recall:.4f}, F1 {summary.f1:.4f}; of articles, median"
            f" {summary.median_f1:.4f}, 10th percentile {summary.tenth_percentile_f1:.4f}"
        )
        click.echo(
            f"  line breaks between the same words: precision {summary.break_precision:.4f},"
            f" recall {summary.break_recall:.4f}"
        )
        for title, part in worst(found.comparisons()[name], count):
            click.echo(f"  {title}, {part.wrong} tokens, {part.wrong_breaks} line breaks")
            click.echo(f"    ours   {_shown(part.ours)}")
            click.echo(f"    theirs {_shown(part.theirs)}")
    _print_templates(found.calls, count)


def _print_lost(lost: LostWords, count: int) -> None:
    click.echo(
        f"words between markup: {lost.words:,}; {lost.lost:,} do not come out, {100 * lost.share:.4f} %;"
        f" {lost.long_runs:,} runs of 8 words or more"
    )
    for page in lost.pages[:count]:
        click.echo(f"  {page.title}, {page.lost:,} of {page.words:,}")
    for one in lost.runs[:count]:
        click.echo(f"  {one.size:,} in a row, {one.title}: {_shown((one.text,))}")


def _print_places(found: Fidelity, count: int) -> None:
    places = found.places
    text, references = places.text.total(), places.references.total()
    rest = places.all.total() - text - references
    click.echo(f"template calls: {text:,} in running text, {references:,} in references, {rest:,} elsewhere")
    checked, seen = sum(one.checked for one in found.removed), sum(one.seen for one in found.removed)
    click.echo(
        f"  removed from sentences: {places.removed.total():,} calls of {len(found.removed):,} templates;"
        f" {checked:,} checked, {seen:,} have text that a reader sees"
    )
    for one in [one for one in found.removed if one.seen][:count]:
        click.echo(f"    {_shown((' '.join(one.wikitext.split()),))}: {_shown((one.text,))}")


def _shown(lines: tuple[str, ...]) -> str:
    text = " / ".join(lines)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"


def _print_templates(templates: tuple[TemplateShare, ...], count: int) -> None:
    from extraction_eval.templates import weighted_share

    for kind, what in KINDS.items():
        some = [one for one in templates if one.kind == kind]
        if not some:
            continue
        calls, equal = sum(one.calls for one in some), sum(one.equal for one in some)
        click.echo(
            f"template calls {what}: {equal:,} of {calls:,} as expected, {100 * equal / calls:.2f} %;"
            f" by frequency in running text {100 * weighted_share(some):.2f} %"
        )
        for one in [one for one in some if one.differences][:count]:
            wikitext, ours, theirs = one.differences[0]
            click.echo(f"  {one.name}: {one.equal} of {one.calls}")
            click.echo(f"    {_shown((' '.join(wikitext.split()),))}")
            click.echo(f"    ours   {_shown((ours,))}")
            click.echo(f"    theirs {_shown((theirs,))}")


def main() -> None:
    """Run `python -m extraction_eval`."""
    run(evaluate)
