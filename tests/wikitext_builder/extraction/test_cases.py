"""Snippets of wikitext and the lines that a reader sees, each with its source."""

from tests.cases import each
from tests.wikitext_builder.extraction.pages import body


@each("extract/markup", "wikitext, lines")
def test_markup(wikitext, lines):
    assert body(wikitext) == lines


@each("extract/templates", "wikitext, lines")
def test_templates(wikitext, lines):
    assert body(wikitext) == lines


@each("extract/conversions", "wikitext, lines")
def test_conversions(wikitext, lines):
    assert body(wikitext) == lines
