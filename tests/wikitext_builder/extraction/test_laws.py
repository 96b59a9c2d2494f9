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
WORDS = st.text("abcdefgxyz", min_size=1, max_size=8)
SENTENCES = st.lists(WORDS, min_size=1, max_size=9).map(lambda words: " ".join(words).capitalize() + ".")
PARAGRAPHS = st.lists(SENTENCES, min_size=1, max_size=6)


@settings(max_examples=300, deadline=None)
@given(WIKITEXT, st.sampled_from(["official", "clean"]))
def test_any_wikitext_gives_lines_that_can_be_written_and_read_back(wikitext, sections):
    try:
        article = extract(page(wikitext), sections=sections)
    except RejectedError:
        return
    for line in article.lines:
        assert has_only_visible_characters(line)
        assert "\n" not in line
        assert line == " ".join(line.split())
        assert line.encode("utf-8").decode("utf-8") == line
    shape = "".join("_" if not line else "h" if heading_level(line) else "t" for line in article.lines)
    assert re.fullmatch(r"_h_(?:t|_h_)*_", shape)
    assert [heading_level(line) for line in article.lines].count(1) == 1
    assert extract(page(wikitext), sections=sections) == article


@given(PARAGRAPHS)
def test_plain_paragraphs_stay_what_they_are_in_italics_too(paragraphs):
    lines = extract(page("\n\n".join(f"''{paragraph}''" for paragraph in paragraphs))).lines
    assert lines[3:-1] == tuple(paragraphs)
    assert extract(page("\n\n".join(lines[3:-1]))).lines == lines
