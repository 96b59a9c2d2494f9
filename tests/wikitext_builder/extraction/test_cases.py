"""Snippets of wikitext and the lines that a reader sees, each with its source."""

import re
from dataclasses import replace

import pytest

from tests.cases import cases, wrong
from tests.conftest import data
from tests.wikitext_builder.extraction.pages import body, page, text
from wikitext_builder.extraction.page import extract
from wikitext_builder.tokens.tokenizer import tokenize_line
from wikitext_builder.wiki.languages import LANGUAGES


@pytest.mark.parametrize("table", ["markup", "templates", "conversions"])
def test_lines(table):
    assert wrong(f"extract/{table}", "cases", "lines", lambda case: body(case["wikitext"])) == []


def test_other_languages():
    def lines(case):
        article = extract(page(case["wikitext"]), language=case["language"], incomplete="keep")
        return [line for line in article.lines[3:] if line]

    assert wrong("extract/languages", "cases", "lines", lines) == []


@pytest.mark.parametrize("language", sorted({*LANGUAGES} - {"en"}))
def test_english_words_do_not_stand_in_other_languages(language):
    calls = "{{convert|3|mi}} {{circa|1}} {{birth date|2000|1|2}} {{USS|X}} {{as of|2010}} {{age|1900|1|2}}"
    article = extract(page(f"a {calls} {{{{GBR}}}} {{{{IPA-de|x}}}} {{{{Zyzzyva|1}}}}"), language=language)
    assert not re.search("miles|kilomet|c\\.|January|As of|United|pronounced|German|Zyz", article.lines[3])
    assert article.left_out[-1] == "{{Zyzzyva|1}}"


def test_templates_of_a_date():
    def lines(case):
        dated = replace(page(case["wikitext"]), timestamp=f"{case['date']}T00:00:00Z")
        return list(extract(dated, incomplete="keep").lines[3:-1])

    assert wrong("extract/dated", "cases", "lines", lines) == []


def test_a_sum_is_the_printed_one() -> None:
    """In the train and the test file of WikiText-2."""
    files = (data(f"wikitext-2/wiki.{split}.tokens") for split in ("train", "test"))
    official = "".join(file.read_text("utf-8") for file in files)
    for case in cases("extract/prices"):
        shown = tokenize_line(text(f"sum {case['call']}")).removeprefix("sum ")
        assert case["stretch"].format(shown) in official


def test_prices_of_other_years_are_unknown() -> None:
    for call in (
        "{{Inflation|US|5|1950}}",
        "{{Inflation-year|US}}",
        "{{Format price|{{Inflation|US|500|1950}}}}",
    ):
        known = page(f"a {call} b")
        assert extract(known).left_out == ()
        for timestamp in ("2015-12-31T23:59:59Z", "2017-01-01T00:00:00Z", "2018-06-01T00:00:00Z"):
            assert extract(replace(known, timestamp=timestamp)).left_out == (call,)
