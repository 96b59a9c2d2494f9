"""With a wiki to ask, no call in a sentence stays without text, and removed calls are checked."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from extraction_eval.measure import measure

from tests.mediawiki.asking import ask
from tests.mediawiki.exports import export, one
from tests.mediawiki.wiki import Administrator, copy, start
from wikitext_builder.article import Page
from wikitext_builder.extraction.page import extract
from wikitext_builder.pages.expansions import PageCalls, expand_calls

# Templates that the shared pages call in sentences and that no macro knows (docs/notes/templates.md): here
# they compute something that is easy to check.
TEMPLATES = {
    "Inflation": "{{#expr: {{{2}}} * 25 round {{{r|0}}}}}",
    "Inflation-year": "{{#switch: {{{1}}}|US=2016|2015}}",
    "Formatprice": "{{formatnum:{{{1}}}}}",
    "Swiss populations": "20782",
    "Grc-tr": "''Psykhḗ''",
    "Cws": "[[s:{{{link}}}|{{{title}}}]] at Wikisource",
    "Fix": "'''{{{1}}}'''",  # in the list of removed names
    "Cn": '<sup class="noprint Inline-Template">[citation needed]</sup>',
}
SENTENCES = (
    "It cost $5 (equivalent to ${{Inflation|US|5|1861}} in {{Inflation-year|UK}}).\n\n"
    "She paid ${{Formatprice|{{Inflation|US|480000|1901}}}} to {{Swiss populations|CH-AG|4001}} people of"
    " {{grc-tr|Ψυχή}}.\n\nIt is so. {{Cws |title=Full text |link=T|nobullet=yes}}"
)
LINES = (
    "It cost $5 (equivalent to $125 in 2015).",
    "She paid $12,000,000 to 20782 people of Psykhḗ.",
    "It is so. Full text at Wikisource",
)


@pytest.fixture(scope="module")
def api(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The API of a wiki of its own that has these templates too."""
    wiki = start(copy(prepared, tmp_path_factory.mktemp("evaluation") / "copy"))
    administrator = Administrator(wiki)
    pages = export(*(one(f"Template:{name}", text, namespace=10) for name, text in TEMPLATES.items()))
    request = {
        "action": "import",
        "interwikiprefix": "w",
        "format": "json",
        "token": administrator.token("csrf"),
    }
    answer = administrator.session.post(wiki.api, data=request, files={"xml": ("t.xml", pages)}).json()
    assert len(answer["import"]) == len(TEMPLATES), answer
    yield wiki.api
    wiki.stop()


def test_no_call_in_a_sentence_stays_without_text(api: str) -> None:
    page = Page(title="A", page_id=1, revision_id=1, timestamp="2018-06-01T00:00:00Z", wikitext=SENTENCES)
    unknown = extract(page).left_out
    assert len(unknown) == 6
    with ask(api) as wikipedia:
        found = expand_calls(wikipedia, PageCalls(page=page, calls=unknown))
    assert found.failures == {}
    article = extract(page, expansions=found.texts)
    assert article.left_out == ()
    assert tuple(filter(None, article.lines[3:])) == LINES


def test_removed_calls_are_checked_with_the_wiki(api: str, tmp_path) -> None:
    (tmp_path / "A.wiki").write_text("It is {{fix|so}} big.{{cn}}\n\nMore.", encoding="utf-8")
    removed = measure(tmp_path / "A.wiki", api=api, contact="test@example.org").removed
    assert [(found.name, found.checked, found.seen, found.text) for found in removed] == [
        ("Fix", 1, 1, "so"),
        ("Cn", 1, 0, ""),
    ]
