"""extract: the layout of the lines, what is left out, and properties of the lines of any wikitext."""

import re
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import each
from tests.wikitext_builder.extraction.pages import body, has_only_visible_characters, page
from wikitext_builder.article import Page, heading_level
from wikitext_builder.errors import BuilderError, RejectedError
from wikitext_builder.extraction.page import extract
from wikitext_builder.extraction.rendered import extract_rendered


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


Section = tuple[str, list[str], str]

PROSE = "El te és una beguda que es fa amb fulles seques i aigua calenta, i que es beu a tot el món. " * 3
HISTORY = ("Història", [PROSE], "")
WORKS = ("Obres", ["Primera obra (1901)", "Segona obra (1905)"], "*")
SEE = ("Vegeu també", ["Cafè", "Aigua mineral"], "*")
BOOK = "Serra, Joan. El te al món: una història. Barcelona, 1999, amb il·lustracions"
SOURCES = ("Bibliografia", [BOOK, "Puig, Anna. ISBN 123"], "*")
EMPTY: Section = ("Referències", [], "")
DATES = ("Cronologia", ["1650 El te arriba", "1700 Es beu a tot arreu"], "*")
DEATH = "{} – Joan Serra, pintor i escriptor català del segle XIX (n. 1801)"
DEATHS = ("Morts", [DEATH.format(1850), DEATH.format(1864)], "*")
LINKS = ("Enllaços", ["Hi ha una pàgina. ISBN 123"], "")


def wikitext_of(sections: list[Section]) -> str:
    parts = [
        f"== {name} ==\n" + "\n".join(f"{mark} {one}".strip() for one in own) for name, own, mark in sections
    ]
    return "\n".join([PROSE, *parts])


def html(sections: list[Section]) -> str:
    pieces = [f"<p>{PROSE}</p>"]
    for name, own, mark in sections:
        items = "".join(f"<li>{one}</li>" if mark else f"<p>{one}</p>" for one in own)
        pieces += [f"<h2>{name}</h2>", f"<ul>{items}</ul>" if mark else items]
    return "".join(pieces)


@pytest.mark.parametrize(
    ("sections", "kept"),
    [
        ([HISTORY, SEE, SOURCES, EMPTY], ["Història"]),
        ([HISTORY, WORKS, EMPTY], ["Història", "Obres"]),
        ([HISTORY, DATES], ["Història", "Cronologia"]),
        ([SOURCES, HISTORY, EMPTY], ["Bibliografia", "Història"]),  # only the last ones
        ([HISTORY, DEATHS, EMPTY], ["Història", "Morts"]),
        ([HISTORY, LINKS], ["Història", "Enllaços"]),
        ([HISTORY], ["Història"]),
        ([], []),
    ],
)
@pytest.mark.parametrize("mode", ["official", "clean"])
def test_the_last_sections_go_as_far_as_they_are_lists(
    sections: list[Section], kept: list[str], mode: str
) -> None:
    tea = Page(title="Te", page_id=1, revision_id=1, timestamp="", wikitext=wikitext_of(sections))
    article = extract(tea, language="ca", sections=mode)
    headings = [line.strip("= ") for line in article.lines if line.startswith("== ")]
    assert headings == kept
    assert extract_rendered(html(sections), tea, language="ca", sections=mode).lines == article.lines


def test_a_page_of_lists_stays() -> None:
    text = "Te.\n" + "\n".join(f"== {name} ==\n" + "* Verd\n" * 9 for name in "ABC")
    assert "== A ==" in extract(text, title="Tes", language="ca").lines


def test_a_section_with_more_words_of_prose_than_of_items_stays() -> None:
    text = f"{PROSE * 3}\n== Llegat ==\n{PROSE}\n* Cafè\n* Aigua mineral"
    assert "== Llegat ==" in extract(text, title="Te", language="ca").lines


def test_where_a_table_has_names_they_decide() -> None:
    text = wikitext_of([HISTORY, SEE, SOURCES])
    assert "== Vegeu també ==" in extract(text, title="Te").lines
