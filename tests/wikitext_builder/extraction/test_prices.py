"""Sums in the prices of 2016: the official files print them, so their lines check the table."""

from dataclasses import replace
from functools import cache

import pytest

from tests.cases import each
from tests.conftest import data
from tests.wikitext_builder.extraction.pages import page, text
from wikitext_builder.extraction.page import extract
from wikitext_builder.tokens.tokenizer import tokenize_line


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
    calls = ("{{Inflation|US|5|1950}}", "{{Inflation-year|US}}", "{{Format price|{{Inflation|US|5|1950}}}}")
    for call in calls:
        known = page(f"a {call} b")
        assert extract(known).left_out == ()
        assert extract(replace(known, timestamp=timestamp)).left_out == (call,)
