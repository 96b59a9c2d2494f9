"""No markup is left in the lines of all shared pages, but for what is in the articles' own text.

The case file names each exception: the pattern, the article, how often, a few words, and why.
"""

import re
from collections import Counter

import pytest

from tests.extract.pages import cases, real_articles

PATTERNS = {
    "( )": r"\( ?\)",
    "( ,": r"\( ?,",
    "( ;": r"\( ?;",
    ", ,": r", ?,",
    ", .": r", ?\.(?![\w.]| \.)",
    "|": r"\|",
    "''": r"''",
    "[[": r"\[\[|\]\]",
    "{{": r"\{\{|\}\}",
    "thumb": r"\bthumb\b",
    "px": r"\b\d+ ?px\b",
    "entity": r"&#?\w+;",
    "tag": r"<(?!formula>)/?[A-Za-z][^<>]*>",
    "list mark": r"^[*#:;]",
    "File:": r"\b(?:File|Image|Category):",
}


def found(month: str) -> Counter[tuple[str, str]]:
    compiled = {name: re.compile(pattern) for name, pattern in PATTERNS.items()}
    counts: Counter[tuple[str, str]] = Counter()
    for article in real_articles(month):
        text = "\n".join(article.lines)
        for name, pattern in compiled.items():
            lines = text.split("\n") if pattern.pattern.startswith("^") else [text]
            counts[name, article.title] += sum(len(pattern.findall(line)) for line in lines)
    return +counts


@pytest.mark.slow
def test_markup_is_left_only_where_it_is_text():
    counts = found("2016-04") + found("2016-12") + found("2018-06")
    expected = Counter({(case["pattern"], case["title"]): int(case["count"]) for case in cases("residue")})
    assert counts - expected == Counter(), "left in lines and in no case"
    assert expected - counts == Counter(), "cases that stand in no line any more"


def test_the_patterns_find_what_they_name():
    for name, text in (
        ("( )", "a () b"),
        (", ,", "a,, b"),
        ("tag", "<div>"),
        ("list mark", "* a"),
        ("px", "9px"),
    ):
        assert re.search(PATTERNS[name], text)
    assert not re.search(PATTERNS["tag"], "a <formula> b")
