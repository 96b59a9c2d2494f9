"""Compare template calls with what Parsoid's HTML shows: it has the wikitext of each call beside its text.

$ python -m extraction_eval.parsoid fr FILE...   (with `benchmarks` on PYTHONPATH)

FILE is a page's HTML with `data-mw`. A call of running text is equal, lost (left out, or without its text) or
wrong: another text, or one where the wiki shows none. Calls in calls belong to the outer ones.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from lxml import html

from extraction_eval.calls import RenderedCall
from wikitext_builder.article import Page
from wikitext_builder.extraction.macros.parser_functions import call_name
from wikitext_builder.extraction.page import extract
from wikitext_builder.extraction.rendered import extract_rendered

START, NUMBER, END = "⦃", "⦁", "⦄"  # around a call, and after its number
SHOWN = re.compile(f"{START}(\\d+){NUMBER}([^{START}{END}]*){END}")
CALLS = "//*[contains(@typeof, 'mw:Transclusion')][@data-mw][@about]"
DATE = "2022-06-01T00:00:00Z"


def shown_calls(page_html: str, page: Page, language: str) -> Iterator[RenderedCall]:
    """The calls of a page's running text with their texts there."""
    parser = html.HTMLParser(encoding="utf-8")
    root: Any = html.document_fromstring(page_html.encode(), parser=parser)  # its types allow everything
    calls: list[str] = []
    for first in root.xpath(CALLS):
        last = root.xpath("//*[@about=$about]", about=first.get("about"))[-1]
        mark, before, parent = f"{START}{len(calls)}{NUMBER}", first.getprevious(), first.getparent()
        calls.append("".join(map(_wikitext, json.loads(first.get("data-mw")).get("parts", ()))))
        if before is None:
            parent.text = (parent.text or "") + mark
        else:
            before.tail = (before.tail or "") + mark
        last.tail = END + (last.tail or "")
    article = extract_rendered(html.tostring(root, encoding="unicode"), page, language=language)
    for number, text in SHOWN.findall(" ".join(article.lines)):
        yield RenderedCall(wikitext=calls[int(number)], text=" ".join(text.split()), page=page.title)


def _wikitext(part: str | Mapping[str, Any]) -> str:
    if isinstance(part, str):
        return part
    call = part.get("template") or part.get("templatearg") or {"target": {"wt": ""}}
    pieces = [call["target"]["wt"].strip()]
    for name, value in call.get("params", {}).items():
        in_order = name == str(len(pieces)) and "=" not in value["wt"]
        pieces.append(value["wt"] if in_order else f"{name}={value['wt']}")
    return "{{" + "|".join(pieces) + "}}"


def judged(call: RenderedCall, page: Page, language: str) -> tuple[str, str]:
    """What a call is, and the text that its wikitext has in a sentence."""
    space = "\n" if call.wikitext.startswith(("{|", "*", "#")) else " "
    page = replace(page, wikitext=f"X{space}{call.wikitext}{space}x")
    article = extract(page, language=language, incomplete="keep")
    ours = " ".join(article.lines[3:]).strip().removeprefix("X").removesuffix("x").strip()
    if "".join(ours.split()) == "".join(call.text.split()):
        return "equal", ours
    return "lost" if article.left_out or not ours else "wrong", ours


@click.command()
@click.argument("language")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
def main(language: str, files: tuple[Path, ...]) -> None:
    """Print how many calls are equal, lost and wrong, and an example of each template."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    words = 0
    for path in files:
        page = Page(title=path.stem, page_id=1, revision_id=1, timestamp=DATE, wikitext="")
        page_html = path.read_text(encoding="utf-8")
        words += sum(len(line.split()) for line in extract_rendered(page_html, page, language=language).lines)
        for call in shown_calls(page_html, page, language):
            kind, ours = judged(call, page, language)
            shown = f"{call.wikitext[:150]!r} ours {ours[:100]!r} theirs {call.text[:100]!r}"
            found[kind][call_name(call.wikitext)].append(shown)
    for kind, names in sorted(found.items()):
        number = sum(map(len, names.values()))
        click.echo(f"{kind}: {number:,} calls, {1e4 * number / words:.1f} per 10,000 of {words:,} words")
        for name, examples in sorted(names.items(), key=lambda one: -len(one[1])) if kind != "equal" else ():
            click.echo(f"  {name}: {len(examples)}, {examples[0]}")


if __name__ == "__main__":
    main()
