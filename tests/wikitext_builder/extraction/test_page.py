"""extract: the layout of the lines, what is left out, and properties of the lines of any wikitext."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import cases, read, whole
from tests.wikitext_builder.extraction.pages import body, has_only_visible_characters, page
from wikitext_builder.article import heading_level
from wikitext_builder.errors import BuilderError, RejectedError
from wikitext_builder.extraction.page import extract
from wikitext_builder.extraction.rendered import extract_rendered
from wikitext_builder.wiki.languages import LANGUAGES, language_of


def test_pages() -> None:
    faults = []
    for case in cases("extract/pages"):
        article = extract(page(case["wikitext"]), **case["options"])
        found = {name: list(getattr(article, name)) for name in ("left_out", "reasons", "formulas")}
        for name in ("lines", "plain_lines"):
            found[name] = [line for line in getattr(article, name)[3:] if line]
        shown = {name: found[name] for name in case["expected"]}
        faults += [(case["label"], shown)] if shown != case["expected"] else []
    assert faults == []


def test_the_layout_is_that_of_the_official_files():
    lines = extract(page("Lead.\n\nMore.\n== A ==\n=== B ===\nText.\n== C ==")).lines
    shown = ["", "= Tokyo =", "", "Lead.", "More.", "", "== A ==", "", "", "=== B ===", "", "Text."]
    assert lines == (*shown, "", "== C ==", "", "")


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
    lines = body(":= x =\n:=x=\n:==x==\n: == y ==\n\n<nowiki>== z ==</nowiki>\n\n&#61; z &#61;")
    assert len(lines) == 6
    assert not any(map(heading_level, lines))


def test_no_call_may_grow_without_end():
    doubled = "{{sfrac|1" * 60 + "|2}}" * 60
    assert sum(map(len, body(doubled))) < 20_000


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


@pytest.mark.parametrize("case", cases("extract/pages", "last sections"), ids=lambda case: case["label"])
@pytest.mark.parametrize("mode", ["official", "clean"])
def test_the_last_sections_go_as_far_as_they_are_lists(case: dict[str, Any], mode: str) -> None:
    prose = whole(read("extract/pages")["prose"])
    options = {"language": case["language"], "sections": mode}
    tea = page(case["wikitext"].replace("PROSE", prose), "Te")
    article = extract(tea, **options)
    assert [line.strip("= ") for line in article.lines if line.startswith("== ")] == case["kept"]
    if "page_html" in case:
        assert (
            extract_rendered(case["page_html"].replace("PROSE", prose), tea, **options).lines == article.lines
        )


@pytest.mark.parametrize("language", [*LANGUAGES, "ca", "tr"])
def test_a_redirect_is_rejected_in_the_words_of_its_language(language):
    words = language_of(language).redirect_words
    assert "REDIRECT" in words
    for word in words:
        with pytest.raises(RejectedError) as rejected:
            extract(f"#{word} [[Foo]]\n{{{{R from move}}}}", title="Bar", language=language)
        assert rejected.value.reason == "redirect"
        with pytest.raises(RejectedError, match="another page"):
            extract_rendered("<p>Redirect to: Foo</p>", page(f"#{word} [[Foo]]"), language=language)
    assert (
        extract(f"A #{words[0]} [[Foo]].", title="Bar", language=language).lines[3] == f"A #{words[0]} Foo."
    )
