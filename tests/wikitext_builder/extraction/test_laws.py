"""Properties of the lines of any wikitext."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.wikitext_builder.extraction.pages import has_only_visible_characters, page
from wikitext_builder.article import heading_level
from wikitext_builder.errors import RejectedError
from wikitext_builder.extraction.page import extract

TOKENS = """
{{ }} {{{ }}} [[ ]] [ ] | = == === ' '' ''' * # : ; < > </ /> <ref> </ref> <b> </b> <br> <!-- --> {|
|} |- <nowiki> </nowiki> <math> </math> <table> </table> <poem> </poem> http://a.b &amp; &#0;
{{convert| {{lang|fr| {{cn}} {{x}} {{#if: {{#expr: {{frac| {{coord| {{val| {{birth_date| {{zh| 1 2.5
km -1 e6 File: Category: de: ( ) , . __TOC__ ----
"""
MARKUP = st.sampled_from([*TOKENS.split(), "\x00", "\x03", "\ud800", " ", "\n", "\n\n", "word", "Ünïcode"])
WIKITEXT = st.lists(st.one_of(MARKUP, MARKUP, st.text(max_size=4)), max_size=40).map("".join)
WORDS = st.lists(
    st.from_regex(r"[A-Z][a-z]{1,8}(?: [a-z]{1,8}){0,8}\.", fullmatch=True), min_size=1, max_size=6
)


@settings(max_examples=400, deadline=None)
@given(WIKITEXT, st.sampled_from(["official", "clean"]))
def test_any_wikitext_gives_lines_that_can_be_written(wikitext, sections):
    try:
        article = extract(page(wikitext), sections=sections)
    except RejectedError:
        return
    for line in article.lines:
        assert has_only_visible_characters(line)
        assert "\n" not in line
        assert line == " ".join(line.split())
        assert line.encode("utf-8").decode("utf-8") == line


@settings(max_examples=400, deadline=None)
@given(WIKITEXT)
def test_the_layout_can_be_read_back(wikitext):
    try:
        lines = extract(page(wikitext)).lines
    except RejectedError:
        return
    shape = "".join("_" if not line else "h" if heading_level(line) else "t" for line in lines)
    assert re.fullmatch(r"_h_(?:t|_h_)*_", shape)
    assert [heading_level(line) for line in lines].count(1) == 1


@settings(max_examples=200, deadline=None)
@given(WIKITEXT)
def test_the_same_page_gives_the_same_article(wikitext):
    try:
        first = extract(page(wikitext))
    except RejectedError:
        return
    assert extract(page(wikitext)) == first


@given(WORDS)
def test_plain_paragraphs_stay_what_they_are(paragraphs):
    assert extract(page("\n\n".join(paragraphs))).lines[3:-1] == tuple(paragraphs)


@given(WORDS)
def test_text_that_was_extracted_once_is_extracted_to_itself(paragraphs):
    lines = extract(page("\n\n".join(f"''{paragraph}''" for paragraph in paragraphs))).lines
    assert extract(page("\n\n".join(lines[3:-1]))).lines == lines
