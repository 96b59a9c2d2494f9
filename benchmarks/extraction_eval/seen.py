"""Compares our lines of rendered pages with the words that a reader sees: `python -m extraction_eval.seen`.

The reader shares no code with extraction, and is simple on purpose: it walks a tree and leaves out
what `TAGS`, `CLASSES` and `ROLES` name, and the authors of block quotations, as `docs/format.md` says. All
other text is seen. A section of which nothing comes out is listed with its heading, and its words are not
lost: whether it is a list of sources a reader must judge.
"""

from __future__ import annotations

import bz2
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from lxml import html as lxml_html

from extraction_eval.lost import lost_places, words
from wikitext_builder.article import Page
from wikitext_builder.cli.command_line import run
from wikitext_builder.extraction.rendered import extract_rendered

if TYPE_CHECKING:
    from lxml.html import HtmlElement

TAGS = {
    "tables": "table",
    "pictures": "figure img audio video map",
    "code": "style script link meta title head",
    "formulas": "math",
}
CLASSES = {
    "references": "reference mw-ref references mw-references-wrap reflist refbegin",
    "boxes": "infobox infobox_v2 infobox_v3 navbox sidebar sistersitebox metadata ambox portalbox toccolours",
    "quotations in boxes": "quotebox",
    "pictures": "thumb gallery",
    "hatnotes": "hatnote dablink rellink bandeau-container",
    "notes of editors": "noprint need_ref_tag mw-editsection Inline-Template",
    "languages of links": "indicateur-langue",
    "hidden": "geo-nondefault geo-multi-punct mw-empty-elt shortdescription",
    "formulas": "mwe-math-element texhtml-formula",
    "code": "mw-highlight",
    "authors of quotations": "templatequotecite",
}
ROLES = {"boxes": "navigation", "hatnotes": "note", "pictures": "img"}
HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden")
IN_BRACKETS = re.compile(r"\s*\[[^\[\]]+\]\s*")
HEADINGS = frozenset(["h1", "h2", "h3", "h4", "h5", "h6"])
BLOCKS = "address article aside blockquote br center dd div dl dt header hr li ol p pre section ul"
EDGES = HEADINGS | frozenset(BLOCKS.split())
REMOVED_SHARE = 0.9  # of lost words, from which a section counts as removed


def _by_name(kinds: dict[str, str]) -> dict[str, str]:
    return {name: kind for kind, names in kinds.items() for name in names.split()}


KIND_OF_TAG, KIND_OF_CLASS, KIND_OF_ROLE = map(_by_name, (TAGS, CLASSES, ROLES))


@dataclass(frozen=True, slots=True, kw_only=True)
class PageDifference:
    """The words that a page lost, and those that only our lines have."""

    name: str
    words: int
    lost: tuple[tuple[str, str], ...]  # headings, and runs of words below them
    invented: tuple[str, ...]  # runs of our words
    removed: tuple[tuple[str, int], ...]  # headings of removed sections, with the number of words
    left_out: dict[str, int]  # words that the reading leaves out, by kind


@dataclass(frozen=True, slots=True)
class SeenSection:
    """A heading, empty before the first one, and the section's words, including the heading's."""

    heading: str
    words: list[str]


def seen_sections(page_html: str, left_out: Counter[str]) -> list[SeenSection]:
    """Return the words of a page by section; add the numbers of other words to `left_out`, by kind.

    >>> sections = seen_sections("<p>a <b>b</b><table><td>c</td></table></p><h2>D</h2>e", Counter())
    >>> [(section.heading, section.words) for section in sections]
    [('', ['a', 'b']), ('D', ['D', 'e'])]
    """
    tree = lxml_html.document_fromstring(page_html)
    roots: Any = tree.xpath("//*[contains(concat(' ', @class, ' '), ' mw-parser-output ')]")
    sections, pieces = [SeenSection("", [])], list[str]()
    for edge, text in _walk(roots[0] if roots else tree, left_out):
        pieces.append(text if not edge else "\n")
        if edge in HEADINGS:
            heading_words = words("".join(pieces))
            if text == "end":
                sections.append(SeenSection(" ".join(heading_words), heading_words))
            else:
                sections[-1].words.extend(heading_words)
            pieces = []
    sections[-1].words.extend(words("".join(pieces)))
    return sections


def _walk(root: HtmlElement, left_out: Counter[str]) -> Iterator[tuple[str, str]]:
    """Yield texts, and edges of blocks: the tag, with `start` or `end`. Pages nest deeply: no recursion."""
    stack = [(root, iter(root))]
    yield "", root.text or ""
    while stack:
        element, children = stack[-1]
        child = next(children, None)
        if child is None:
            stack.pop()
            if element.tag in EDGES:
                yield element.tag, "end"
            if stack:
                yield "", element.tail or ""
        elif not isinstance(child.tag, str):  # a comment
            yield "", child.tail or ""
        elif kind := _kind(child):
            left_out[kind] += len(words(child.text_content()))
            yield ("div" if child.tag in EDGES or child.tag == "table" else ""), ""
            yield "", child.tail or ""
        else:
            if child.tag in EDGES:
                yield child.tag, "start"
            yield "", child.text or ""
            stack.append((child, iter(child)))


def _kind(element: HtmlElement) -> str:
    """Return the kind of what the reading leaves out; empty for text of the article."""
    if kind := KIND_OF_TAG.get(element.tag, ""):
        return kind
    if element.tag != "section" and HIDDEN.search(element.get("style", "")):
        return "hidden"
    kinds = [KIND_OF_CLASS[name] for name in element.get("class", "").split() if name in KIND_OF_CLASS]
    if kinds and (element.tag != "code" or kinds != ["code"]):
        return kinds[0]
    if element.tag == "sup" and IN_BRACKETS.fullmatch(element.text_content()):
        return "notes of editors"
    before, text = element.getprevious(), element.text_content().lstrip()
    is_after = before is not None and before.tag == "blockquote"
    if is_after and text[:1] in {"–", "—"} and not text.lstrip("–— \xa0")[:1].islower():
        return "authors of quotations"
    return "boxes" if element.get("id") == "coordinates" else KIND_OF_ROLE.get(element.get("role", ""), "")


def difference(name: str, page_html: str, language: str) -> PageDifference:
    """Compare our lines of a page with what a reader sees."""
    left_out = Counter[str]()
    sections = seen_sections(page_html, left_out)
    theirs = [word for section in sections for word in section.words]
    numbers = [number for number, section in enumerate(sections) for _ in section.words]
    page = Page(title=name, page_id=1, revision_id=1, timestamp="2024-01-01T00:00:00Z", wikitext="")
    lines = extract_rendered(page_html, page, language=language).lines[3:]
    ours = words("\n".join(lines).replace("<formula>", ""))
    places = lost_places(theirs, ours)
    gone = Counter(numbers[place] for place in places)
    removed = {
        number
        for number, count in gone.items()
        if number and count >= REMOVED_SHARE * len(sections[number].words)
    }
    lost = [
        [place for place in places if numbers[place] == number] for number in gone if number not in removed
    ]
    return PageDifference(
        name=name,
        words=len(theirs) - sum(len(sections[number].words) for number in removed),
        lost=tuple((sections[numbers[part[0]]].heading, run) for part in lost for run in _runs(theirs, part)),
        invented=tuple(_runs(ours, lost_places(ours, theirs))),
        removed=tuple((sections[number].heading, len(sections[number].words)) for number in sorted(removed)),
        left_out=dict(left_out),
    )


def _runs(texts: Sequence[str], places: Sequence[int]) -> Iterator[str]:
    """Yield runs of neighbouring words."""
    for _, run_ in groupby(enumerate(places), lambda pair: pair[1] - pair[0]):
        yield " ".join(texts[place] for _, place in run_)


def _count(runs: Sequence[str]) -> int:
    return sum(run_.count(" ") + 1 for run_ in runs)


def _read(path: Path) -> str:
    data = path.read_bytes()
    return (bz2.decompress(data) if path.suffix == ".bz2" else data).decode("utf-8")


@click.command("seen", context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.argument("pages", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--language", default="", help="Language of pages whose names do not begin with it.")
@click.option("--worst", type=click.IntRange(min=0), default=3, help="The number of runs to show per page.")
def seen(pages: tuple[Path, ...], language: str, worst: int) -> None:
    """Count the words of rendered PAGES that are lost and made up.

    PAGES are HTML of whole articles (.html, .html.bz2), or folders of them; a name such as `de-Malta.html`
    begins with the language.
    """
    files = [file for path in pages for file in (sorted(path.glob("*.html*")) if path.is_dir() else [path])]
    by_language = defaultdict[str, list[PageDifference]](list)
    for file in files:
        code = language or file.name.partition("-")[0]
        page = difference(file.name.partition(".html")[0], _read(file), code)
        by_language[code].append(page)
        for line in _summary_lines(page, worst):
            click.echo(line)
    click.echo("language  pages     words  lost  per 10,000  invented  per 10,000")
    for code, compared in sorted(by_language.items()):
        total = sum(page.words for page in compared)
        lost = sum(_count([run_ for _, run_ in page.lost]) for page in compared)
        invented = sum(_count(page.invented) for page in compared)
        shares = [f"{1e4 * count / max(total, 1):10.1f}" for count in (lost, invented)]
        click.echo(f"{code:8} {len(compared):6} {total:9,} {lost:5}  {shares[0]} {invented:9}  {shares[1]}")
    counts = (Counter(page.left_out) for compared in by_language.values() for page in compared)
    kinds = sum(counts, Counter[str]()).most_common()
    click.echo("left out on purpose: " + ", ".join(f"{kind} {count:,}" for kind, count in kinds))


def _summary_lines(page: PageDifference, worst: int) -> Iterator[str]:
    lost = _count([run_ for _, run_ in page.lost])
    yield f"{page.name}: {page.words:,} words, {lost} lost, {_count(page.invented)} invented"
    for heading, size in page.removed:
        yield f"  removed, {size} words: {heading}"
    for heading, run_ in sorted(page.lost, key=lambda pair: -len(pair[1]))[:worst]:
        yield f"  lost under {heading or 'the title'}: {run_[:300]}"
    for run_ in sorted(page.invented, key=lambda run_: -len(run_))[:worst]:
        yield f"  invented: {run_[:300]}"


if __name__ == "__main__":
    run(seen)
