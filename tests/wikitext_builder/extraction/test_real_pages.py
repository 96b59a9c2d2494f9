"""Real pages and real template calls: markup left in lines, and how many calls equal Wikipedia's text.

The bounds were measured over the shared pages on 2026-11-20, those of calls on 2026-11-28: since then calls
alone in their paragraph count, if they have a value.
"""

import re
import unicodedata
from collections import Counter

import pytest
from extraction_eval.measure import RESIDUE, count_residue

from tests.cases import cases
from tests.conftest import data
from tests.wikitext_builder.extraction.pages import expansions, page, real_articles
from wikitext_builder.extraction.macros.parser_functions import call_name
from wikitext_builder.extraction.macros.registry import MACROS, is_removed
from wikitext_builder.extraction.page import extract
from wikitext_builder.tokens.tokenizer import tokenize_article


def test_every_page_of_april_2016_is_an_article():
    articles = real_articles("2016-04")
    assert len(articles) == 62
    lines = [line for article in articles for line in article.lines]
    assert sum(len(line.split()) for line in lines) > 250_000
    assert [line for line in lines if re.search("__[A-Z]+__", line)] == []


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("month", "most"),
    [("2016-04", 5), pytest.param("2016-12", 72, marks=SLOW), pytest.param("2018-06", 49, marks=SLOW)],
)
def test_few_calls_are_left_out(month, most):
    left_out = [call for article in real_articles(month) for call in article.left_out]
    assert len(left_out) <= most, Counter(left_out).most_common(20)


# Templates with a macro that are in tables, at the end of pages or beside the text.
NOT_IN_RUNNING_TEXT = {
    "Trim": "transcludes a table of another page",
    **dict.fromkeys(("Refbegin", "Refend"), "around a list of sources"),
    "Coord": "shown beside the title, where the call says so",
    "IMDb name": "on IMDb since 2017; these cases are read as pages of 2016",
    "Harv": "rendered with an error: its page has no such source",
}
MARKS = re.compile(r"\[(?:update|[a-z]?\d+)\]|\(listen\)")


def folded(text: str) -> str:
    """Rendered text without invisible characters, marks of references and sound links, in single spaces."""
    visible = re.sub("[\u200b-\u200d\u2060\ufeff\u00ad]", "", unicodedata.normalize("NFC", text))
    return " ".join(MARKS.sub("", visible).split())


def ours(wikitext: str, title: str) -> str:
    return " ".join(line for line in extract(page(wikitext, title)).lines[3:] if line)


def in_running_text(case: dict[str, str]) -> bool:
    name = call_name(case["wikitext"])
    if name in NOT_IN_RUNNING_TEXT:
        return name == "Coord" and "display=title" not in case["wikitext"]
    return name in MACROS or name == "formatnum:"


def test_template_calls_in_running_text_give_what_wikipedia_rendered():
    calls = [case for case in expansions() if in_running_text(case)]
    texts = [(case, ours(case["wikitext"], case["page"])) for case in calls]
    assert len(calls) == 184
    assert [case for case, text in texts if folded(text) != folded(case["text"])] == []


def test_boxes_and_hatnotes_give_nothing():
    """All calls of templates that are removed, but for lists, which two calls open and close."""
    calls = [(case["wikitext"].strip(), case["page"]) for case in expansions()]
    calls = [(call, title) for call, title in calls if call_name(call) not in MACROS]
    calls = [(call, title) for call, title in calls if is_removed(call_name(call))]
    alone = [(call, title) for call, title in calls if not re.match(r"\{\{[^{}]*\}\}.", call, re.DOTALL)]
    assert len(alone) >= 385
    assert [call for call, title in alone if ours(call, title)] == []


@pytest.mark.parametrize(
    ("title", "date", "recall"),
    [
        ("Protein", "2014-03-13", 0.93),
        ("Michael_Jordan", "2018-06-06", 0.96),
        ("Roger_Federer", "2018-06-03", 0.96),
    ],
)
def test_the_words_of_the_official_article_are_there(title, date, recall):
    """The wikitext has a different date than the official lines: edits explain what is missing."""
    wikitext = data(f"pairs/{title}.{date}.wiki").read_text("utf-8")
    official = Counter(data(f"pairs/{title}.wt2.train.tokens").read_text("utf-8").split())
    del official["<unk>"]
    article = tokenize_article(extract(page(wikitext, title.replace("_", " "))))
    tokens = Counter(" ".join(article.lines).split())
    assert (official & tokens).total() / official.total() >= recall


def found(month: str) -> Counter[tuple[str, str]]:
    counts: Counter[tuple[str, str]] = Counter()
    for article in real_articles(month):
        for line in article.lines:
            counts.update({(pattern, article.title): count for pattern, count in count_residue(line)})
    return counts


RESIDUE_CASES = cases("extract/residue")
EXPECTED = Counter({(case["pattern"], case["title"]): int(case["count"]) for case in RESIDUE_CASES})


def test_no_markup_is_left_in_the_pages_of_one_month():
    assert found("2016-04") - EXPECTED == Counter()


@pytest.mark.slow
def test_markup_is_left_only_where_it_is_text():
    counts = found("2016-04") + found("2016-12") + found("2018-06")
    assert counts - EXPECTED == Counter(), "left in lines and in no case"
    assert EXPECTED - counts == Counter(), "cases that stand in no line any more"


def test_every_case_names_a_pattern():
    assert {case["pattern"] for case in RESIDUE_CASES} <= set(RESIDUE)
