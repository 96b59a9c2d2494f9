"""Snippets of wikitext and the lines that a reader sees, each with its source."""

import re
from dataclasses import replace
from functools import cache

import pytest

from tests.cases import each
from tests.conftest import data
from tests.wikitext_builder.extraction.pages import body, page, text
from wikitext_builder.extraction.page import extract
from wikitext_builder.tokens.tokenizer import tokenize_line
from wikitext_builder.wiki.languages import LANGUAGES


@each("extract/markup", "wikitext, lines")
def test_markup(wikitext, lines):
    assert body(wikitext) == lines


@each("extract/templates", "wikitext, lines")
def test_templates(wikitext, lines):
    assert body(wikitext) == lines


@each("extract/conversions", "wikitext, lines")
def test_conversions(wikitext, lines):
    assert body(wikitext) == lines


@each("extract/languages", "language, wikitext, lines")
def test_other_languages(language, wikitext, lines):
    shown = extract(page(wikitext), language=language, incomplete="keep").lines[3:]
    assert [line for line in shown if line] == lines


@pytest.mark.parametrize("language", sorted({*LANGUAGES} - {"en"}))
def test_english_words_do_not_stand_in_other_languages(language):
    calls = "{{convert|3|mi}} {{circa|1}} {{birth date|2000|1|2}} {{USS|X}} {{as of|2010}} {{age|1900|1|2}}"
    article = extract(page(f"a {calls} {{{{GBR}}}} {{{{IPA-de|x}}}} {{{{Zyzzyva|1}}}}"), language=language)
    assert not re.search("miles|kilomet|c\\.|January|As of|United|pronounced|German|Zyz", article.lines[3])
    assert article.left_out[-1] == "{{Zyzzyva|1}}"


@each("extract/dated", "date, wikitext, lines")
def test_templates_of_a_date(date, wikitext, lines):
    article = extract(replace(page(wikitext), timestamp=f"{date}T00:00:00Z"), incomplete="keep")
    assert list(article.lines[3:-1]) == lines


@cache
def official() -> str:
    """Train and test of WikiText-2."""
    return "".join(data(f"wikitext-2/wiki.{split}.tokens").read_text("utf-8") for split in ("train", "test"))


@each("extract/prices", "stretch, call")
def test_a_sum_is_the_printed_one(stretch: str, call: str) -> None:
    assert stretch.format(tokenize_line(text(f"sum {call}")).removeprefix("sum ")) in official()


@pytest.mark.parametrize(
    "timestamp", ["2015-12-31T23:59:59Z", "2017-01-01T00:00:00Z", "2018-06-01T00:00:00Z"]
)
def test_prices_of_other_years_are_unknown(timestamp: str) -> None:
    calls = ("{{Inflation|US|5|1950}}", "{{Inflation-year|US}}", "{{Format price|{{Inflation|US|500|1950}}}}")
    for call in calls:
        known = page(f"a {call} b")
        assert extract(known).left_out == ()
        assert extract(replace(known, timestamp=timestamp)).left_out == (call,)
