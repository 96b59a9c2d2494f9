"""Measure the rule that finds list sections by their content, on English pages.

$ python -m extraction_eval.list_sections [--official FILE]... EXPORT...   (with `benchmarks` on PYTHONPATH)

It is compared with the names of such sections; with official files, of which only the articles of the exports
count, with what these have kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from unittest import mock

import click

from extraction_eval.measure import read_page_files
from wikitext_builder.article import Page
from wikitext_builder.extraction import page as extraction
from wikitext_builder.extraction.blocks import Block, before_list_sections, is_removed_by
from wikitext_builder.tokens.tokenizer import tokenize_line
from wikitext_builder.wiki.languages import LANGUAGES

NAMES = LANGUAGES["en"].removed_sections
FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
IsRemoved = Callable[[str], bool]


def blocks_of(page: Page) -> list[Block]:
    """The headings and paragraphs of a page before sections are removed."""
    found: list[Block] = []

    def keep_all(blocks: Sequence[Block], **_options: object) -> list[Block]:
        found.extend(blocks)
        return list(blocks)

    names = replace(LANGUAGES["en"], removed_sections=())
    with mock.patch.object(extraction, "select_sections", keep_all):
        extraction.extract(page, language=names)
    return found


def counted(blocks: Sequence[Block], is_removed: IsRemoved) -> Counter[str]:
    """Sections of level 2 and their words, by what is known and what the content says of them."""
    counts: Counter[str] = Counter()
    kept, kind = before_list_sections(blocks), ""
    for index, block in enumerate(blocks):
        if block.level == 2:
            both = is_removed(block.text), index >= kept
            kind = {(True, True): "right", (False, True): "wrong", (True, False): "missed"}.get(both, "")
            counts[f"{kind} sections"] += 1
        elif kind:
            counts[f"{kind} words"] += len(block.text.split())
    return counts


def headings_of(path: Path) -> dict[str, set[str]]:
    """The headings of level 2 of each article of an official file, by its title in tokens."""
    found: dict[str, set[str]] = {}
    title = ""
    for line in path.read_text(encoding="utf-8").split("\n"):
        text = line.strip()
        if text.startswith("= ") and not text.startswith("= ="):
            title = text.strip("= ")
            found[title] = set()
        elif text.startswith("= = ") and not text.startswith("= = ="):
            found.setdefault(title, set()).add(text.strip("= "))
    return found


def _not_in(headings: set[str]) -> IsRemoved:
    return lambda name: tokenize_line(name).strip() not in headings


@click.command()
@click.argument("exports", nargs=-1, required=True, type=FILE)
@click.option("--official", multiple=True, type=FILE, help="Official file of tokens; may be repeated.")
def main(exports: tuple[Path, ...], official: tuple[Path, ...]) -> None:
    """Print precision and recall for each export."""
    headings = {title: names for path in official for title, names in headings_of(path).items()}
    for path in exports:
        total: Counter[str] = Counter()
        for page in (one.page for one in read_page_files([path])):
            known = headings.get(tokenize_line(page.title).strip())
            if known is not None or not official:
                is_removed = is_removed_by(NAMES) if known is None else _not_in(known)
                total += counted(blocks_of(page), is_removed)
                total["pages"] += 1
        click.echo(f"{path.name}: {total['pages']:,} pages")
        for what in ("sections", "words"):
            right, wrong, missed = (total[f"{kind} {what}"] for kind in ("right", "wrong", "missed"))
            precision, recall = right / max(right + wrong, 1), right / max(right + missed, 1)
            click.echo(
                f"  {what}: {right:,} right, {wrong:,} wrong, {missed:,} missed; precision {precision:.1%},"
                f" recall {recall:.1%}"
            )


if __name__ == "__main__":
    main()
