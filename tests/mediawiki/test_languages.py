"""What pages alone cannot give in other languages, a wiki gives: numbers and local templates."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.command import done
from tests.mediawiki.conftest import kept
from tests.mediawiki.exports import export, one
from tests.mediawiki.wiki import Wiki, copy, start
from wikitext_builder.extraction.macros.parser_functions import call_name
from wikitext_builder.extraction.page import extract
from wikitext_builder.pages.store import Store

# Per language: its templates, an article, its lines without the wiki and with it, and what is left out.
GERMAN: dict[str, Any] = {
    "templates": {
        "Metadaten Einwohnerzahl DE-XX": "{{#switch:{{{1}}}|Tokio=3664088}}",
        "Stadtmotto": "Das Motto ist: {{{1}}}.",
    },
    "article": (
        "'''Tokio''' ist eine Stadt. Sie hat {{formatnum:{{Metadaten Einwohnerzahl DE-XX|Tokio}}}} Einwohner"
        " und liegt in {{JPN}}. Sie ist alt.\n\n{{Stadtmotto|Weiter}}"
    ),
    "without": ["Tokio ist eine Stadt. Sie ist alt."],
    "with": [
        "Tokio ist eine Stadt. Sie hat 3.664.088 Einwohner und liegt in Japan. Sie ist alt.",
        "Das Motto ist: Weiter.",
    ],
    "left out": ["Metadaten Einwohnerzahl DE-XX", "Stadtmotto"],
}
FRENCH: dict[str, Any] = {
    "templates": {
        "Population de la ville": "{{#switch:{{{1}}}|Tokyo=3664088}}",
        "Devise": "« {{{1}}} »",
    },
    "article": (
        "'''Tokyo''' est une ville. Elle a {{unité|{{Population de la ville|Tokyo}}|habitants}} au"
        " {{XXIe siècle}}. Sa devise est {{devise|Plus loin}}."
    ),
    "without": ["Tokyo est une ville. Elle a habitants au XXIe siècle. Sa devise est."],
    "with": ["Tokyo est une ville. Elle a 3 664 088 habitants au XXIe siècle. Sa devise est « Plus loin »."],
    "left out": ["Devise", "Population de la ville"],
}
CASES = {"de": GERMAN, "fr": FRENCH}


@pytest.fixture(scope="module")
def foreign(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wiki]:
    """A wiki with the templates and the article of each case."""
    pages = [
        one(f"Template:{name}", text, namespace=10)
        for case in CASES.values()
        for name, text in case["templates"].items()
    ]
    text = export(*pages, *(one(f"Tokyo {language}", case["article"]) for language, case in CASES.items()))
    dump = tmp_path_factory.mktemp("languages") / "pages.xml"
    dump.write_text(text, "utf-8")
    sources = [prepared.name.encode(), text.encode()]
    filled = kept("languages", sources, lambda folder: start(copy(prepared, folder), dumps=[dump]).stop())
    wiki = start(copy(filled, dump.with_name("wiki")))
    yield wiki
    wiki.stop()


def extracted(store: Path, language: str) -> tuple[list[str], list[str]]:
    """The lines of the article, and the names of the templates without a text."""
    with Store.open(store) as opened:
        (page,) = opened.pages(language, [one.revision_id for one in opened.revisions(language)])
        known = opened.expansions(language, page.revision_id)
    article = extract(page, language=language, expansions=known)
    printed = done("extract", "--store", store, "--language", language, "--title", page.title)
    assert printed.splitlines() == list(article.lines)
    return [line for line in article.lines[3:] if line], sorted(map(call_name, article.left_out))


@pytest.mark.parametrize("language", CASES)
def test_a_wiki_fills_what_pages_leave_out(foreign: Wiki, language: str, tmp_path: Path) -> None:
    foreign.set(f"$wgLanguageCode = '{language}';")
    (tmp_path / "titles.txt").write_text(f"Tokyo {language}\n", "utf-8")
    select = ["--select", f"titles:{tmp_path / 'titles.txt'}", "--language", language]
    given = ["fetch", "--api", foreign.api, *select, "--store", tmp_path / "a.store", "--json"]
    assert json.loads(done(*given, "--no-expand"))["fetch"]["fetched"] == 1
    case = CASES[language]
    assert extracted(tmp_path / "a.store", language) == (case["without"], case["left out"])
    assert json.loads(done(*given))["expand"]["expanded"] == 2
    assert extracted(tmp_path / "a.store", language) == (case["with"], [])
