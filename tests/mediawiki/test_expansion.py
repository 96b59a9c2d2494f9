"""Calls expanded from the wikitext of templates, and by a real MediaWiki that has the same templates."""

import random
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from html import unescape

import pytest

from tests.cases import wrong
from tests.conftest import DATA
from tests.mediawiki.asking import ask
from tests.mediawiki.differential.material import calls_of, pages_of, templates_in
from tests.mediawiki.wiki import Wiki
from wikitext_builder.article import Page
from wikitext_builder.errors import RejectedError
from wikitext_builder.extraction.expander import Expander
from wikitext_builder.fetching.expansions import marked, split_at_marks
from wikitext_builder.wiki.client import Wikipedia

PAGES = DATA / "pages"
CALLS = 5  # of pages, and as many made at random, per template
VALUES = ["", " ", "x", " y ", "2", "0", "1981", "2016-04-16", "Tokyo", "yes", "''i''", "a<br />b", "ur"]
# Templates whose texts differ, and why.
DIFFERENT = {
    "Sister project links": "the address of a page of another wiki is in MediaWiki's interwiki table",
    "Fix/category": "#ifexist: the wiki has no categories, and we take them to exist",
}


def by_the_wiki(wikipedia: Wikipedia, text: str) -> str:
    """What MediaWiki makes of a text on the page Tokyo."""
    request = {"action": "expandtemplates", "prop": "wikitext", "title": "Tokyo", "text": text}
    answer = wikipedia.request(request).expandtemplates
    assert answer, text
    return answer.wikitext


def test_the_cases_are_mediawikis(real: Wiki) -> None:
    with ask(real.api) as wikipedia:  # one by one: some have braces without end
        assert wrong("expansion", "cases", "text", lambda case: by_the_wiki(wikipedia, case["call"])) == []


def made_calls(name: str, wikitext: str) -> Iterator[str]:
    """Calls with random values for the parameters that a template has."""
    generator = random.Random(name)
    parameters = sorted({*re.findall(r"\{\{\{([^{}|<>=\n]{1,30})[|}]", wikitext), "1", "2"})
    for _ in range(CALLS):
        chosen = generator.sample(parameters, min(len(parameters), generator.randrange(5)))
        pairs = [f"{parameter}={generator.choice(VALUES)}" for parameter in chosen]
        numbered = generator.choices(VALUES, k=generator.randrange(3))
        yield "{{" + "|".join([name, *numbered, *pairs]) + "}}"


@pytest.mark.skipif(not PAGES.exists(), reason="the shared pages are not here")
def test_real_templates_give_what_mediawiki_gives(real: Wiki) -> None:
    templates = templates_in(PAGES / "templates.xml.bz2")
    found: dict[str, dict[str, None]] = {name: {} for name in templates}
    for page in pages_of(sorted(PAGES.glob("pages-*.bz2"))):
        for name, call in calls_of(page, templates):
            if len(found[name]) < CALLS and len(call) < 3_000:
                found[name][call] = None
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    tokyo = Page(title="Tokyo", page_id=1, revision_id=1, timestamp=now, wikitext="")
    ours: list[tuple[str, str, str]] = []
    for name, wikitext in templates.items():
        for call in (*found[name], *made_calls(name, wikitext)):
            with suppress(RejectedError):
                ours.append((name, call, Expander(tokyo, templates).expand(call)))
    theirs: list[str] = []
    with ask(real.api) as wikipedia:
        for first in range(0, len(ours), 25):
            some = [call for _, call, _ in ours[first : first + 25]]
            pieces = split_at_marks(by_the_wiki(wikipedia, marked(some)), len(some))
            assert pieces is not None, some
            theirs += pieces
    pairs = zip(ours, theirs, strict=True)
    different = [(*our, their) for our, their in pairs if unescape(our[2]) != unescape(their)]
    assert len(ours) > 700
    assert {name for name, *_ in different} <= DIFFERENT.keys(), different
    assert len(different) < len(ours) / 100
