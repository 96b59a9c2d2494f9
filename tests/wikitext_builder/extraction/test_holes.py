"""Calls without a text: the smallest whole that cannot do without their words goes, and nothing else."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import cases, each, wrong
from tests.wikitext_builder.extraction.pages import page
from wikitext_builder.extraction.macros.parser_functions import call_name
from wikitext_builder.extraction.markers import CUT_KINDS, WORD, close_calls
from wikitext_builder.extraction.page import extract
from wikitext_builder.extraction.rendered import extract_rendered
from wikitext_builder.wiki.languages import LANGUAGES

HOLE = "\x031\x04"
VERSE = "a=A verse of five words"
WORDS = st.sampled_from(
    ["Rome", "is", "old", "$5", "(a", "b)", "c,", "d;", "St.", "“e”", "&nbsp;", "都", "。", "\x02", HOLE]
)
SENTENCE = st.lists(
    st.sampled_from(["rome", "is", "(old)", "large,", "far;", "there"]), min_size=1, max_size=6
)
# Parsoid's and the parser's link to a template that a wiki does not have.
LINKS = [case["page_html"] for case in cases("extract/holes", "links to what a wiki does not have")]


def test_what_stays():
    def lines(case):
        shown = extract(page(case["wikitext"]), language=case["language"]).lines[3:]
        return [line for line in shown if line]

    assert wrong("extract/holes", "cases", "lines", lines) == []


def test_what_went_is_said_of_each_call_and_can_be_switched_off():
    wikitext = (
        "{{Zz|a=}}\n\nIt is {{zz|1}}. He (a {{zz|2}}) is.{{zz|3}} A town of old, at {{zz|4}}.\n"
        "* {{zz|5}}, b\n* {{zz|a=6}}\n\n{{zz|a=A verse of five words}}\n\n{{zz}}\n\n{{:Rome}}"
    )
    article = extract(page(wikitext))
    calls = [f"{{{{zz|{argument}}}}}" for argument in (1, 2, 3, 4, 5, "a=6", VERSE)]
    assert article.left_out == (*calls, "{{:Rome}}")
    assert article.cuts == ("sentence", "parentheses", "nothing", "clause", "item", *["nothing"] * 3)
    assert article.lost == (2, 1, 0, 1, 1, 0, 5, 1)
    kept = extract(page(wikitext), incomplete="keep")
    assert kept.left_out == article.left_out
    assert set(kept.cuts) == {"nothing"}
    assert kept.lost == (0, 0, 0, 0, 0, 0, 5, 1)
    assert kept.lines[3:5] == ("It is. He (a) is. A town of old, at.", "b")


@given(st.lists(WORDS, max_size=30), st.booleans())
def test_no_text_is_added_and_none_goes_without_a_hole(words, listed):
    text = " ".join(words)
    closed, cuts, counts = close_calls(text, listed=listed)
    rest = iter(text)
    assert all(character in rest for character in closed.replace("\x02", ""))
    assert len(cuts) == text.count(HOLE)
    assert set(cuts) <= set(CUT_KINDS)
    assert close_calls(closed, listed=listed) == (closed, [], [])
    assert sum(counts) == len(WORD.findall(re.sub(f"{HOLE}|&nbsp;", " ", text))) - len(
        WORD.findall(closed.replace("&nbsp;", " "))
    )
    if HOLE not in text:
        assert closed == " ".join(text.split())


@given(st.lists(st.tuples(SENTENCE, st.none() | st.integers(0, 6)), min_size=1, max_size=5))
def test_sentences_without_a_hole_stay(sentences):
    texts, whole = [], []
    for words, place in sentences:
        shown = [words[0].capitalize(), *words[1:], "there"]
        whole += [] if place is not None else [f"{' '.join(shown)}."]
        texts.append(f"{' '.join([*shown[:place], HOLE, *shown[place:]] if place is not None else shown)}.")
    closed = close_calls(" ".join(texts))[0]
    rest = re.sub("[\x02\\s]+", " ", closed)
    for sentence in whole:
        assert sentence in rest
        rest = rest[rest.index(sentence) + len(sentence) :]


@pytest.mark.parametrize("link", LINKS, ids=["parser", "Parsoid"])
def test_a_template_that_a_wiki_does_not_have_is_a_call_left_out(link):
    formula, quote = (link.replace("TITLE", f"Template:{name}") for name in ("Math", "Quote"))
    page_html = f"<p>It is old. The scale where {formula} is luminosity.</p><p>{quote}</p><p>He left.</p>"
    article = extract_rendered(page_html, page(""))
    assert article.lines[3:-1] == ("It is old.", "He left.")
    assert article.left_out == ("{{Math|…}}", "{{Quote|…}}")
    assert article.cuts == ("sentence", "nothing")
    assert article.reasons == ("no-template", "no-template")


@each("extract/holes", "kinds, call", "errors of Parsoid")
def test_what_parsoid_marks_as_an_error_is_a_call_left_out_if_it_has_text(kinds, call):
    data = '{"parts":[{"template":{"target":{"wt":"convert\\n","href":"./Template:Convert"},"params":{}}}]}'
    failed = f"<span about='#mwt1' typeof='{kinds}' data-mw='{data}'>Error</span>"
    article = extract_rendered(f"<p>It is old. It is {failed} from Ayr.</p>", page(""))
    assert [call_name(one) for one in article.left_out] == [call_name(call)] * bool(call)
    assert article.lines[3] == ("It is old." if call else "It is old. It is from Ayr.")
    assert (article.cuts, article.reasons) == ((("sentence",), ("error",)) if call else ((), ()))
    bare = failed.replace("data-mw", "data-x")
    assert len(extract_rendered(f"<p>It is {bare} away.</p>", page("")).left_out) == bool(call)


def test_red_links_to_other_pages_and_to_templates_without_text_leave_no_hole():
    removed, person = (LINKS[0].replace("TITLE", title) for title in ("Template:Citation_needed", "Talk:Doe"))
    article = extract_rendered(f"<p>It is by {person}.{removed} It is.</p>", page(""))
    assert (article.lines[3], article.left_out) == ("It is by Talk:Doe. It is.", ())
    page_html = f"<p>Er ist {LINKS[0].replace('TITLE', 'Vorlage:Höhe')} hoch.</p>"
    assert extract_rendered(page_html, page(""), language="de").left_out == ("{{Höhe|…}}",)
    mine = replace(LANGUAGES["de"], code="xx", template_namespaces=("Bysen",))  # as a store names it
    page_html = page_html.replace("Vorlage", "Bysen")
    assert extract_rendered(page_html, page(""), language=mine).left_out == ("{{Höhe|…}}",)
    assert extract_rendered(page_html, page(""), language="de").left_out == ()
