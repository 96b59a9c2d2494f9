"""Writes docs/notes/templates.md: the templates of a set of pages that give no text, because it is unknown.

    python docs/generate_templates.py PAGES… TEMPLATES > docs/notes/templates.md

PAGES are MediaWiki XML exports; the committed file was made from the 1,049 pages of April 2016, December 2016
and June 2018 that the tests measure with. TEMPLATES is the export with the templates of 2013 to 2015.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from wikitext_builder.article import Article, Page
from wikitext_builder.cli.command_line import listed
from wikitext_builder.dumps.importing import TEMPLATE
from wikitext_builder.dumps.xml_dump import read_pages
from wikitext_builder.errors import RejectedError
from wikitext_builder.extraction.expander import Expander
from wikitext_builder.extraction.macros.call import template_name
from wikitext_builder.extraction.macros.parser_functions import call_name
from wikitext_builder.extraction.macros.registry import MACROS, REMOVED
from wikitext_builder.extraction.page import extract
from wikitext_builder.extraction.preprocessor import Part, resolve
from wikitext_builder.extraction.trim import trim

HEAD = """# Templates without text

Extraction knows {macros:,} templates of the English Wikipedia by name. It
removes {names:,} more on purpose, with families of such names (boxes, navigation, citations). The calls below
stand in running text of {articles:,} pages ({words:,} words) and give no text: it depends on tables
that change (prices, populations), on another page, or on a module that has no macro. Each such call is in
`Article.left_out` and in the build's `left_out.tsv`; a wiki, if there is one to ask, expands it. A call that
stands alone in its block and has only named arguments is taken for a box and not counted.

`python docs/generate_templates.py` with the pages and the templates writes this page again.

| template | calls | pages | an example |
|---|---|---|---|
"""

TOTAL = """

{calls:,} calls of {templates:,} templates in all, {per_100:.1f} per 100 pages. What went with them: {went}.
"""

FILLED = """
## Templates of a dump

`import` keeps templates, and builds expand with them what no macro knows. The templates of this measure
are {templates} of 2013 to 2015; a dump of the same day as the pages would have all. The calls above that
they fill: {filled} of {left_out}; the others stay left out because of {reasons}.

Without any macro, as in a language that has none, the same pages call these templates {calls:,} times,
nested calls included:

| outcome | calls | templates |
|---|---|---|
{rows}

A test (`tests/mediawiki/test_expansion.py`) compares the texts with those that MediaWiki 1.39 gives.
What our macros give is the same text to a reader for {same:,} of {both:,} calls that both can expand. The
texts of these templates differ: {differ}. The reasons: an age that the template hides in print, years of
a range in short form, and a block of its own for a text.
"""


def pages_of(paths: Iterable[Path]) -> Iterator[Page]:
    """The pages of exports that could be read."""
    for path in paths:
        yield from (one.content for one in read_pages(path) if isinstance(one.content, Page))


def articles(paths: list[Path], templates: Mapping[str, str] | None = None) -> Iterator[Article]:
    """The articles of all pages that can be used."""
    for page in pages_of(paths):
        try:
            yield extract(page, templates=templates)
        except RejectedError:
            continue


def templates_in(path: Path) -> dict[str, str]:
    """The templates of an export by name."""
    found = (one.content for one in read_pages(path) if one.namespace == TEMPLATE)
    return {
        template_name(one.title.partition(":")[2]): one.wikitext for one in found if isinstance(one, Page)
    }


def calls_of(page: Page, templates: Mapping[str, str]) -> list[tuple[str, str]]:
    """The names and the wikitext of all calls of these templates in a page."""
    calls: list[tuple[str, str]] = []

    def note(parts: list[Part], source: str) -> str:
        name = template_name(parts[0].text())
        calls.extend([(name, source)] if name in templates else [])
        return ""

    with suppress(RejectedError):
        resolve(trim(page.wikitext), read_template=note, read_link=lambda _parts: "")
    return calls


def filled(paths: list[Path], templates: Mapping[str, str], left_out: int) -> str:
    """The section on templates of a dump."""
    found = list(articles(paths, templates))
    reasons = Counter(reason for article in found for reason in article.reasons)
    outcomes: Counter[tuple[str, str]] = Counter()  # what became of calls, and of which template
    agreed: Counter[tuple[str, bool]] = Counter()
    for page in pages_of(paths):
        expander = Expander(page, templates)
        for name, call in calls_of(page, templates):
            texts, failures = expander.expanded([call])
            outcomes[failures.get(call, "text"), name] += 1
            if texts and name in MACROS:
                short = replace(page, wikitext=f"before {call} after")
                agreed[name, extract(short).lines == extract(short, expansions=texts).lines] += 1
    totals = Counter[str]()
    for (outcome, _name), count in outcomes.items():
        totals[outcome] += count
    rows = [
        f"| {outcome} | {count:,} | {len({name for one, name in outcomes if one == outcome})} |"
        for outcome, count in totals.most_common()
    ]
    return FILLED.format(
        templates=len(templates),
        filled=sum(article.expanded for article in found),
        left_out=left_out,
        reasons=" and ".join(f"`{reason}` ({count})" for reason, count in reasons.most_common()),
        calls=totals.total(),
        rows="\n".join(rows),
        same=sum(count for (_, same), count in agreed.items() if same),
        both=agreed.total(),
        differ=", ".join(f"{name} ({count})" for (name, same), count in agreed.most_common() if not same),
    )


def table(found: list[Article]) -> str:
    """The first section."""
    calls: Counter[str] = Counter()
    pages: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for article in found:
        names = [call_name(call) for call in article.left_out]
        calls.update(names)
        pages.update(set(names))
        for name, call in zip(names, article.left_out, strict=False):
            examples.setdefault(name, call)
    words = sum(len(line.split()) for article in found for line in article.lines)
    head = HEAD.format(articles=len(found), words=words, **_known())
    rows = [
        f"| {_cell(name)} | {count} | {pages[name]} | `` {_cell(examples[name][:60])} `` |"
        for name, count in sorted(calls.items(), key=lambda item: (-item[1], item[0]))
    ]
    went = listed(Counter(cut for article in found for cut in article.cuts))
    per_100 = 100 * calls.total() / len(found)
    total = TOTAL.format(calls=calls.total(), templates=len(calls), per_100=per_100, went=went)
    return head + "\n".join(rows) + total


def _known() -> dict[str, int]:
    return {"macros": len(MACROS), "names": len(REMOVED)}


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    *arguments, last = map(Path, sys.argv[1:])
    found = list(articles(arguments))
    left_out = sum(len(article.left_out) for article in found)
    sys.stdout.write(table(found) + filled(arguments, templates_in(last), left_out))
