"""Random calls of the real templates: our macros give what a reader of a real MediaWiki sees."""

from collections.abc import Iterator

import pytest

from tests.mediawiki.differential.asking import NEW, SETS, Reader, reader, visible
from tests.mediawiki.differential.comparing import compare, generated_calls
from tests.mediawiki.differential.families import FAMILIES
from tests.mediawiki.wiki import Wiki
from wikitext_builder.extraction.macros import Call, registry

CALLS = 100  # per family; python -m tests.mediawiki.differential makes thousands
SEED = 7

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not NEW.exists(), reason="the shared pages are not here"),
]


@pytest.fixture(params=SETS)
def asked(request: pytest.FixtureRequest) -> Iterator[Reader]:
    real: Wiki = request.getfixturevalue({"2015": "real", "2026": "real_of_today"}[request.param])
    with reader(request.param, api=real.api) as wiki:
        yield wiki


@pytest.mark.parametrize("name", FAMILIES["2015"] | FAMILIES["2026"])
def test_every_difference_is_explained(name: str, asked: Reader) -> None:
    family = FAMILIES[asked.templates].get(name)
    if family is None:
        pytest.skip("this set does not have the templates")
    calls = generated_calls(family, CALLS, SEED)
    assert len(calls) > CALLS / 3
    found = compare(family, calls, asked)
    assert found.different == []
    assert found.equal + found.explained.total() > found.calls * 0.6


def test_an_error_of_a_macro_is_found(monkeypatch: pytest.MonkeyPatch, asked: Reader) -> None:
    right = registry.MACROS["Convert"]

    def wrong(call: Call) -> str | None:
        text = right(call)
        return text.replace("km", "mk") if text and call.get("abbr") == "on" else text

    monkeypatch.setitem(registry.MACROS, "Convert", wrong)
    family = FAMILIES[asked.templates]["convert"]
    short = ["{{convert|1,234.5|km|mi|2|abbr=on|sp=us|disp=or}}", "{{convert|7|km|abbr=on}}"]
    found = compare(family, [*short, "{{convert|3|km}}"], asked)
    assert found.equal == 1
    assert [one.call for one in found.different] == short


def test_what_a_reader_sees_of_html() -> None:
    shown = {
        '<p>5<span style="display:none">x</span> km<sup class="reference">[1]</sup></p>': "5 km",
        "a<br>b<ul><li>c</li><li>d</li></ul><q>e</q>": 'a bc d "e"',
        '<span class="geo-default">1°N</span><span class="geo-nondefault">1.0</span>': "1°N",
        "1\u200b\u200e2&#160;&#8260; 3": "12 ⁄ 3",
        '<span typeof="mw:Error mw:File/Frameless">File:A.svg</span>x': "x",
    }
    assert {source: visible(source) for source in shown} == shown
