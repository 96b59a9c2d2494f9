"""Snippets of wikitext and the lines that a reader sees, each with its source."""

import re
from dataclasses import replace

import pytest

from tests.cases import each
from tests.wikitext_builder.extraction.pages import body, page
from wikitext_builder.extraction.page import extract
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
