"""Writes docs/notes/templates.md: the templates of a set of pages that give no text, because it is unknown.

    python docs/generate_templates.py PAGES… > docs/notes/templates.md

PAGES are MediaWiki XML exports; the committed file was made from the 1,049 pages of April 2016, December 2016
and June 2018 that the tests measure with.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from wikitext_builder.article import Article, Page
from wikitext_builder.dumps.reader import read_pages
from wikitext_builder.errors import RejectedError
from wikitext_builder.extraction.macros import MACROS
from wikitext_builder.extraction.macros.local import LOCAL
from wikitext_builder.extraction.macros.removed import NAMES
from wikitext_builder.extraction.names import call_name
from wikitext_builder.extraction.page import extract

HEAD = """# Templates without text

Extraction knows {macros:,} templates of the English Wikipedia and {local:,} of ten others by their names. It
removes {names:,} more on purpose, with families of such names (boxes, navigation, citations). The calls below
stand in running text of {articles:,} pages ({words:,} words) and give no text: it depends on tables
that change (prices, populations), on another page, or on a module that has no macro. Each such call is in
`Article.left_out` and in the build's `left_out.tsv`; a wiki, if there is one to ask, expands it. A call that
stands alone in its block and has only named arguments is taken for a box and not counted.

`python docs/generate_templates.py` with the pages writes this page again.

| template | calls | pages | an example |
|---|---|---|---|
"""


def articles(paths: list[Path]) -> Iterator[Article]:
    """The articles of all pages that can be used."""
    for path in paths:
        for dumped in read_pages(path):
            if isinstance(dumped.content, Page):
                try:
                    yield extract(dumped.content)
                except RejectedError:
                    continue


def table(found: list[Article]) -> str:
    """The whole document."""
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
    return head + "\n".join(rows) + f"\n\n{calls.total():,} calls of {len(calls):,} templates in all.\n"


def _known() -> dict[str, int]:
    local = sum(len(one.macros) for one in LOCAL.values())
    return {"macros": len(MACROS), "local": local, "names": len(NAMES)}


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(table(list(articles([Path(argument) for argument in sys.argv[1:]]))))
