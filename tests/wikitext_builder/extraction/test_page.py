"""extract: the layout of the lines, the kinds of sections, what is left out, what the API expanded."""

from datetime import UTC, datetime

import pytest

from tests.cases import each
from tests.wikitext_builder.extraction.pages import body, page
from wikitext_builder.article import heading_level
from wikitext_builder.errors import BuilderError
from wikitext_builder.extraction.page import extract


@each("extract/pages", "wikitext, options, expected")
def test_pages(wikitext, options, expected):
    article = extract(page(wikitext), **options)
    found = {name: list(getattr(article, name)) for name in ("left_out", "reasons", "formulas")}
    for name in ("lines", "plain_lines"):
        found[name] = [line for line in getattr(article, name)[3:] if line]
    assert {name: found[name] for name in expected} == expected


def test_the_layout_is_that_of_the_official_files():
    lines = extract(page("Lead.\n\nMore.\n== A ==\n=== B ===\nText.\n== C ==")).lines
    lead, nested, last = (
        ("Lead.", "More."),
        ("", "== A ==", "", "", "=== B ===", "", "Text."),
        ("", "== C ==", ""),
    )
    assert lines == ("", "= Tokyo =", "", *lead, *nested, *last, "")


def test_the_article_keeps_what_identifies_the_page():
    article = extract(page("Text."))
    assert (article.title, article.page_id, article.revision_id, article.timestamp) == (
        "Tokyo",
        1,
        1,
        "2016-04-16T17:15:34Z",
    )


def test_wikitext_alone_needs_a_title():
    article = extract("'''Tokyo''' is [[big]].", title="Tokyo")
    assert article.lines == extract(page("'''Tokyo''' is [[big]].")).lines
    assert (article.page_id, article.revision_id, article.timestamp) == (0, 0, "")
    assert extract("[[Datei:a.jpg|b]]", title="A", language="de").lines == ("", "= A =", "", "")
    with pytest.raises(BuilderError, match="title="):
        extract("a")


def test_wikitext_alone_is_of_today():
    before = datetime.now(UTC).year
    shown = extract("It is {{CURRENTYEAR}}, {{age|1900|1|1}} years.", title="A").lines[3]
    years = range(before, datetime.now(UTC).year + 1)
    assert shown in {f"It is {year}, {year - 1900} years." for year in years}


def test_left_out_calls_are_keys_of_expansions_after_trimming():
    wikitext = "It is {{mystery|1<ref>a</ref>|<!-- b -->2}}."
    (call,) = extract(page(wikitext)).left_out
    assert extract(page(wikitext), expansions={call: "text"}).lines[3] == "It is text."


def test_a_kind_of_sections_that_is_not_known_is_an_error():
    with pytest.raises(BuilderError, match=r"'neat'.*official"):
        extract(page(""), sections="neat")


def test_a_paragraph_is_never_a_heading_even_after_tokenization():
    assert not any(heading_level(line) for line in body(":= x =\n:=x=\n:==x==\n: == y =="))


def test_no_call_may_grow_without_end():
    doubled = "{{sfrac|1" * 60 + "|2}}" * 60
    assert sum(map(len, body(doubled))) < 20_000
