"""extract_rendered: HTML gives the lines of its wikitext; hostile HTML takes no more time; formulas."""

import contextlib
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import cases, each, refusal, wrong
from tests.conftest import data
from tests.wikitext_builder.extraction.pages import has_only_visible_characters, page
from wikitext_builder.article import Page, heading_level
from wikitext_builder.errors import RejectedError
from wikitext_builder.extraction import rendered
from wikitext_builder.extraction.markers import FORMULA, formula, latex_of, with_latex, without_latex
from wikitext_builder.extraction.markup import own_categories
from wikitext_builder.extraction.page import extract
from wikitext_builder.extraction.rendered import extract_rendered, split_rendered_blocks
from wikitext_builder.limits import HTML_BYTES

TOKYO = Page(title="Tokyo", page_id=1, revision_id=2, timestamp="2016-04-16T17:15:34Z", wikitext="")
TAGS = ("<p>", "</p>", "<ul>", "<li>", "</li>", "<h2>", "</h2>", "<i>", "</i>", "<div>", "</div>")


def article(page_html, **options):
    return extract_rendered(page_html, TOKYO, **options)


def body(page_html, **options):
    return [line for line in article(page_html, **options).lines[3:] if line]


def test_the_text_that_a_reader_sees():
    assert wrong("extract/rendered", "seen", "lines", lambda case: body(case["page_html"])) == []
    markup = [case["removed"] for case in cases("extract/rendered", "removed")]
    assert [piece for piece in markup if body(f"<p>a</p>{piece}<p>b</p>") != ["a", "b"]] == []


def test_sections_and_layout_are_those_of_the_wikitext_way():
    page_html = (
        '<p>Lead.</p><h2><span class="mw-headline">A</span><span class="mw-editsection">[edit]</span></h2>'
        "<h3>B</h3><p>Text.</p><h2>Notes</h2><p>a</p><h3>Journals</h3><p>b</p>"
    )
    assert article(page_html).lines == (
        "", "= Tokyo =", "", "Lead.", "", "== A ==", "", "", "=== B ===", "", "Text.",
        "", "=== Journals ===", "", "b", "",
    )  # fmt: skip
    assert body(page_html, sections="clean") == ["Lead.", "== A ==", "=== B ===", "Text."]


def test_other_languages_have_names_of_their_own():
    assert body("<p>a</p><h2>Weblinks</h2><p>b</p>", language="de") == ["a"]


PROSE = "<p>Tea is old, and drunk by each and all, with milk or without it, at five or at ten, and here.</p>"
REFERENCES = '<div class="mw-references-wrap"><ol class="references"><li>x</li></ol></div>'


@each("extract/rendered", "language, page_html, kept", "sections")
@pytest.mark.parametrize("mode", ["official", "clean"])
def test_what_a_section_consists_of_decides(language, page_html, kept, mode):
    page_html = page_html.replace("PROSE", PROSE).replace("REFERENCES", REFERENCES)
    found = article(page_html, language=language, sections=mode).lines[3:]
    empty = [] if mode == "official" else ["Explanatory notes", "D", "E"]
    assert [line.strip("= ") for line in found if heading_level(line)] == [
        one for one in kept if one not in empty
    ]


def test_shared_cases_of_html():
    rows = map(json.loads, data("cases-unseen.jsonl").read_text("utf-8").splitlines())
    of_html = [row for row in rows if row["call"] == "extract-html"]
    assert of_html
    for row in of_html:
        page_html = row["wikitext"].removeprefix("HTML: ")
        assert body(page_html, language=row["language"]) == row["want"].split("\n"), row["id"]


def test_of_a_page_with_a_skin_only_the_article_counts():
    page_html = (
        "<html><head><title>x</title></head><body><p>Log in</p><div id='mw-content-text'>"
        "<div class='mw-parser-output'><p>a<b>b</b></p></div><p>c</p></div><p>Privacy</p></body></html>"
    )
    assert body(page_html) == ["ab"]
    assert body(page_html.replace("mw-parser-output", "")) == ["ab", "c"]


def test_controls_in_html_are_nothing():
    without = body("<pre>ab</pre><p>c\n d</p>")
    for control in "\r\0\x0b\x1f\x7f\x80\x9f\ud800\ufffe":
        assert body(f"<pre>a{control}b</pre><p>c{control}\n d{control}</p>") == without


def test_the_article_keeps_what_identifies_the_page():
    found = article("<p>a</p>")
    assert (found.title, found.page_id, found.revision_id) == ("Tokyo", 1, 2)
    assert (found.timestamp, found.left_out) == ("2016-04-16T17:15:34Z", ())


def test_what_is_not_known_is_an_error():
    assert "--language tlh" in refusal(article, "", language="tlh")
    assert "'neat'" in refusal(article, "", sections="neat")


def test_too_large_and_too_deep_html_is_rejected():
    for reason, page_html in {"too-large": "a" * (HTML_BYTES + 1), "too-deep": "<div>" * 5_000 + "x"}.items():
        with pytest.raises(RejectedError) as rejected:
            article(page_html)
        assert rejected.value.reason == reason


@each("extract/hostile", "page_html", "html")
def test_hostile_html_takes_seconds_at_most(page_html):
    page_html = page_html.replace("SIZES", "".join(f"<font size={n}>" for n in range(900)))
    started = time.process_time()
    with contextlib.suppress(RejectedError):
        article(page_html, language="uk")  # the content of its sections decides
    assert time.process_time() - started < 10


@given(st.text(max_size=200) | st.text("<>/&;\"'=pb[]{}|( \x02\x05", max_size=200))
def test_any_text_gives_lines_without_invisible_characters(text):
    for line in body(text):
        assert has_only_visible_characters(line)
        assert line == line.strip()


@given(st.lists(st.sampled_from(["a", "b", *TAGS])))
def test_every_word_outside_of_headings_comes_once_and_in_order(pieces):
    found = split_rendered_blocks(" ".join(pieces))
    words = [word for block in found for word in block.text.split()]
    assert words == [piece for piece in pieces if not piece.startswith("<")]


# --- real pages, read by eye on 2026-11-20

FURNITURE = ("[edit", "(listen", "[1]", "citation needed", "Jump to", "vte", "ISBN ", "Retrieved ", "()")


@each("extract/rendered", "name, words, headings", "pages")
def test_real_pages_of_both_parsers_give_their_text_and_no_furniture(name, words, headings):
    lines = article(data(f"html/{name}.html").read_text("utf-8")).lines
    text = "\n".join(lines)
    assert len(text.split()) >= words
    assert sum(heading_level(line) > 0 for line in lines) >= headings
    assert [one for one in FURNITURE if one in text] == []


def test_chunks_in_which_the_parser_gets_a_page_do_not_matter(monkeypatch):
    page_html = data("html/Berlin__extraction-framework_4eae.html").read_text("utf-8")
    whole = article(page_html)
    assert whole.lines[3].startswith(
        "Berlin (/bɜːrˈlɪn/ bur-LIN, German: [bɛʁˈliːn]) is the capital and largest"
    )
    monkeypatch.setattr(rendered, "CHUNK_CHARACTERS", 7)
    assert article(page_html) == whole


def test_plain_lines() -> None:
    for sections in ("clean", "official"):

        def plain(case: dict[str, str], sections: str = sections) -> list[str]:
            lines = extract(page(case["wikitext"]), sections=sections).plain_lines
            return [line for line in lines[3:] if line]

        assert wrong("extract/formulas", "plain", "lines", plain) == []


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"])))
def test_a_mark_gives_its_latex_back(latex: str) -> None:
    shown = "".join(filter(str.isprintable, " ".join(latex.split()))).strip()
    mark = formula(latex)
    assert latex_of(mark) == shown
    assert without_latex(f"a {mark}!") == "a <formula>!"
    assert with_latex(f"a {mark}!") == (f"a ${shown}$!" if shown else "a <formula>!")
    assert not any(char.isalnum() or char.isspace() or char.isascii() for char in mark.removeprefix(FORMULA))


def test_rendered_formulas_have_the_latex_of_their_other_text() -> None:
    def line(case: dict[str, str]) -> str:
        return "|".join(filter(None, article(case["page_html"], sections="clean").plain_lines[3:]))

    assert wrong("extract/formulas", "rendered", "line", line) == []


def test_categories_of_the_page_itself() -> None:
    def names(case: dict[str, str]) -> list[str]:
        return list(own_categories(case["wikitext"], case["language"]))

    assert wrong("extract/formulas", "categories", "names", names) == []


def test_many_openers_of_categories_take_linear_time() -> None:
    assert own_categories("[[Category:" * 300_000) == ()
