"""The command `python -m extraction_eval`, in the folder `benchmarks` of a checkout."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from wikitext_builder.article import SECTIONS
from wikitext_builder.cli.command_line import FILE, SECTIONS_HELP, json_option, listed, run
from wikitext_builder.progress import show_progress

if TYPE_CHECKING:
    from extraction_eval.measure import Evaluation

MAX_SHOWN_CHARACTERS = 400  # of a line


@click.command(
    "extraction_eval", context_settings={"help_option_names": ["-h", "--help"], "show_default": True}
)
@click.argument("pages", nargs=-1, type=click.Path(path_type=Path, exists=True))
@click.option("--store", type=FILE, help="Store of fetched pages, besides PAGES or instead.")
@click.option("--api", default="", show_default=False, help="api.php of a wiki that renders the pages.")
@click.option("--contact", default="", show_default=False, help="Your address, for the wiki.")
@click.option("--official", type=FILE, help="WikiText file with articles of the same titles.")
@click.option("--language", default="en", help="Wikipedia's code, such as de.")
@click.option("--sections", type=click.Choice(SECTIONS), default=SECTIONS[0], help=SECTIONS_HELP)
@click.option("--limit", type=click.IntRange(min=1), help="Measure at most this many pages.")
@click.option("--title", default="", show_default=False, help="Only the page of this title.")
@click.option("--worst", type=click.IntRange(min=0), default=10, help="Number of differences to show.")
@json_option
def evaluate(pages: tuple[Path, ...], worst: int, as_json: bool, **options: Any) -> None:
    """Measure how close the lines are to what readers see: residue of markup, tokens lost and made up.

    PAGES are XML exports, files of wikitext (Title.wiki), or folders of them. The reference lines come from
    HTML, which a store has (`fetch --rendered`) or --api renders, and from --official.
    """
    from extraction_eval.measure import measure

    with show_progress() as progress:
        evaluation = measure(pages, progress=progress, **options)
    if as_json:
        click.echo(json.dumps(evaluation.record(worst), ensure_ascii=False))
        return
    for lines in (_page_lines, _comparison_lines):
        for line in lines(evaluation, worst):
            click.echo(line)


def _page_lines(evaluation: Evaluation, count: int) -> Iterator[str]:
    if not evaluation.pages:
        return
    yield f"{evaluation.pages:,} pages, {evaluation.tokens:,} tokens; rejected {listed(evaluation.rejected)}"
    yield f"  left out  {sum(evaluation.left_out.values()):,} template calls of {len(evaluation.left_out):,}"
    yield "residue, per million tokens:"
    for residue in evaluation.residue:
        where = f"  in {', '.join(residue.titles[:3])}" + (" …" if len(residue.titles) > 3 else "")
        figures = f"{residue.pattern:12} {residue.per_million:8.1f} {residue.count:6,}"
        yield f"  {figures}{where if residue.count else ''}"
    lost = evaluation.lost
    yield (
        f"words between markup: {lost.words:,}; {lost.lost:,} do not come out, {100 * lost.share:.4f} %;"
        f" {lost.long_runs:,} runs of 8 words or more"
    )
    for page in lost.pages[:count]:
        yield f"  {page.title}, {page.lost:,} of {page.words:,}"
    for run_ in lost.runs[:count]:
        yield f"  {run_.size:,} in a row, {run_.title}: {_shortened(run_.text)}"


def _comparison_lines(evaluation: Evaluation, count: int) -> Iterator[str]:
    from extraction_eval.compare import summarize, worst

    if evaluation.red_links:
        yield (
            f"warning: the HTML has red links in place of {sum(evaluation.red_links.values()):,} template"
            f" calls, whose text it lacks: {listed(evaluation.red_links)}"
        )
    for name, comparisons in evaluation.comparisons().items():
        summary = summarize(comparisons)
        yield (
            f"against {name} lines, {summary['articles']:,} articles: precision {summary['precision']:.4f},"
            f" recall {summary['recall']:.4f}, F1 {summary['f1']:.4f}; of articles, median"
            f" {summary['median_f1']:.4f}, 10th percentile {summary['tenth_percentile_f1']:.4f}"
        )
        yield (
            f"  line breaks between the same words: precision {summary['break_precision']:.4f},"
            f" recall {summary['break_recall']:.4f}"
        )
        for title, part in worst(comparisons, count):
            yield f"  {title}, {part.score.wrong} tokens, {part.breaks.wrong} line breaks"
            yield f"    ours   {_shortened(*part.ours)}"
            yield f"    theirs {_shortened(*part.theirs)}"


def _shortened(*lines: str) -> str:
    text = " / ".join(lines)
    return text if len(text) <= MAX_SHOWN_CHARACTERS else f"{text[:MAX_SHOWN_CHARACTERS]} …"


if __name__ == "__main__":
    run(evaluate)
