"""Snippets of wikitext and the lines that a reader sees, each with its source."""

from dataclasses import replace

from tests.cases import each
from tests.wikitext_builder.extraction.pages import body, page
from wikitext_builder.extraction.page import extract


@each("extract/markup", "wikitext, lines")
def test_markup(wikitext, lines):
    assert body(wikitext) == lines


@each("extract/templates", "wikitext, lines")
def test_templates(wikitext, lines):
    assert body(wikitext) == lines


@each("extract/conversions", "wikitext, lines")
def test_conversions(wikitext, lines):
    assert body(wikitext) == lines


@each("extract/dated", "date, wikitext, lines")
def test_templates_of_a_date(date, wikitext, lines):
    article = extract(replace(page(wikitext), timestamp=f"{date}T00:00:00Z"), incomplete="keep")
    assert list(article.lines[3:-1]) == lines
