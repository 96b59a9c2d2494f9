"""No markup is left in the lines of the shared pages, except what is in the articles' own text.

The patterns are those of `fidelity`. The case file names each exception: the pattern, the article, how often,
a few words, and why.
"""

from collections import Counter

import pytest
from extraction_eval.measure import RESIDUE, count_residue

from tests.cases import cases
from tests.wikitext_builder.extraction.pages import real_articles


def found(month: str) -> Counter[tuple[str, str]]:
    counts: Counter[tuple[str, str]] = Counter()
    for article in real_articles(month):
        for line in article.lines:
            counts.update({(pattern, article.title): count for pattern, count in count_residue(line)})
    return counts


EXPECTED = Counter(
    {(case["pattern"], case["title"]): int(case["count"]) for case in cases("extract/residue")}
)


def test_no_markup_is_left_in_the_pages_of_one_month():
    assert found("2016-04") - EXPECTED == Counter()


@pytest.mark.slow
def test_markup_is_left_only_where_it_is_text():
    counts = found("2016-04") + found("2016-12") + found("2018-06")
    assert counts - EXPECTED == Counter(), "left in lines and in no case"
    assert EXPECTED - counts == Counter(), "cases that stand in no line any more"


def test_every_case_names_a_pattern():
    assert {case["pattern"] for case in cases("extract/residue")} <= set(RESIDUE)
