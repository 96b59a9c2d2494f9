"""Sums in the prices of 2016: the official files print them, so their lines check the table."""

from dataclasses import replace

import pytest

from tests.conftest import data
from tests.wikitext_builder.extraction.pages import page, text
from wikitext_builder.extraction.page import extract
from wikitext_builder.tokens.tokenizer import tokenize_line

# A stretch of WikiText-2 in which {} is a sum, and a call that gives the sum.
PRINTED = [
    ("$ 35 a week ( $ {} in current dollar terms )", "{{formatnum:{{Inflation|US|35|1889}}}}"),
    ("$ 7 @,@ 500 ( $ {} in current dollar terms )", "{{formatnum:{{Inflation|US|7500|1911}}}}"),
    ("after the 1917 season ( $ {} in current dollar", "{{formatnum:{{Inflation|US|2500|1917}}}}"),
    ("fining him $ 5 @,@ 000 ( $ {} in current dollar", "{{formatnum:{{Inflation|US|5000|1925}}}}"),
    ("$ 12 million ( equivalent to $ {} million in 2016 )", "{{Inflation|US|12|1950}}"),
    ("$ 28 @,@ 725 ( equivalent to about $ {} as of 2016", "{{Inflation|US|28725|1953|r=-3|fmt=c}}"),
    ("$ 15 @,@ 398 ( approximately $ {} in 2016 )", "{{Inflation|US|15,398|1953|r=-2|fmt=c}}"),
    ("( 1960 USD , $ {} 2016 USD ) of damage", "{{Format price|{{Inflation|US|435000|1960}}}}"),
    ("( 1960 USD , $ {} 2016 USD ) in damage", "{{Format price|{{Inflation|US|65000|1960}}}}"),
    ("1960 USD ; $ {} 2016 USD )", "{{Formatprice|{{Inflation|US|37500|1960}}}}"),
    ("$ 75 @,@ 000 ( $ {} current dollar", "{{Inflation|US|75000|1961|r=-2|fmt=c}}"),
    ("$ 1 @.@ 6 million ( equivalent to $ {} million in 2016 )", "{{Inflation|US|1.6|1976|r=2}}"),
    ("equivalent to $ {} – 82 million in 2016", "{{Inflation|US|15|1977}}"),
    ("equivalent to $ 59 – {} million in 2016", "{{Inflation|US|21|1977}}"),
    ("$ 69 @.@ 5 million ( equivalent to $ {} million in 2016 )", "{{Inflation|US|69.5|1977}}"),
    ("$ 24 million ( equivalent to $ {} million in 2016 )", "{{Inflation|US|24|1986}}"),
    ("$ 7 @.@ 7 million ( equivalent to $ {} million in 2016 )", "{{Inflation|US|7.7|1991|r=1}}"),
    ("a $ 78 million ( $ {} million today )", "{{Inflation|US|78|2001}}"),
    ("$ 168 million settlement ( equivalent to $ {} million in", "{{Inflation|US|168|2006|r=0}}"),
    ("Copia had $ 68 million ( $ {} million today )", "{{Inflation|US|68|2008|r=1}}"),
    ("per year ( $ {} in present @-@ day terms )", "{{Formatprice|{{Inflation|US|120000|1850}}}}"),
    ("per year on average ( $ {} in present", "{{Formatprice|{{Inflation|US|380000|1850}}}}"),
]


@pytest.mark.parametrize(("stretch", "call"), PRINTED, ids=[call for _, call in PRINTED])
def test_a_sum_is_the_printed_one(stretch: str, call: str) -> None:
    official = "".join(
        data(f"wikitext-2/wiki.{split}.tokens").read_text("utf-8") for split in ("train", "test")
    )
    assert stretch.format(tokenize_line(text(f"sum {call}")).removeprefix("sum ")) in official


@pytest.mark.parametrize(
    "timestamp", ["2015-12-31T23:59:59Z", "2017-01-01T00:00:00Z", "2018-06-01T00:00:00Z"]
)
def test_prices_of_other_years_are_unknown(timestamp: str) -> None:
    calls = ("{{Inflation|US|5|1950}}", "{{Inflation-year|US}}", "{{Format price|{{Inflation|US|5|1950}}}}")
    for call in calls:
        known = page(f"a {call} b")
        assert extract(known).left_out == ()
        assert extract(replace(known, timestamp=timestamp)).left_out == (call,)
