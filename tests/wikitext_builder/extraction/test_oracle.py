"""Markup that must not change the lines; tags against slower code, and text against mwparserfromhell."""

import re
import unicodedata

import mwparserfromhell
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import cases, wrong
from tests.wikitext_builder.extraction.pages import body, lines_of, page, real_articles, real_pages
from tests.wikitext_builder.extraction.test_page import WIKITEXT
from wikitext_builder.errors import RejectedError
from wikitext_builder.extraction import page as page_module
from wikitext_builder.extraction.blocks import cut_lists
from wikitext_builder.extraction.markup import REMOVED_CLASS, _closing_indices, _remove_content, flatten_tags
from wikitext_builder.extraction.markup import TAG as ANY_TAG
from wikitext_builder.extraction.page import extract
from wikitext_builder.extraction.preprocessor import never
from wikitext_builder.extraction.templates import TemplateReader

WORDS = st.lists(
    st.text("abcdé ' ,.", min_size=1, max_size=30).map(lambda text: f"x{text}x"), min_size=2, max_size=5
)
# Markup that a reader does not see, between two paragraphs and after a word.
BLOCKS = [case["markup"] for case in cases("extract/unseen", "blocks")]
WITHIN = [case["markup"] for case in cases("extract/unseen", "within")]
# All but lines of words, links and quotes.
SPECIAL = re.compile(r"[{}<>&_\x00-\x1f]|\[\[[^\]]*:|\[\[[^\]]*\|\]\]|^[*#:;= |!]|\[http|//")


@given(WORDS, st.sampled_from(BLOCKS), st.data())
def test_blocks_that_are_no_text_change_nothing(paragraphs, block, data):
    place = data.draw(st.integers(0, len(paragraphs)))
    with_block = [*paragraphs[:place], block, *paragraphs[place:]]
    assert body("\n\n".join(with_block)) == body("\n\n".join(paragraphs))


@given(WORDS, st.sampled_from(WITHIN), st.data())
def test_notes_within_a_line_change_nothing(paragraphs, note, data):
    place = data.draw(st.integers(0, len(paragraphs) - 1))
    changed = [*paragraphs[:place], paragraphs[place] + note, *paragraphs[place + 1 :]]
    assert body("\n\n".join(changed)) == body("\n\n".join(paragraphs))


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_blocks_change_nothing_in_real_pages(block):
    for one in real_pages("2016-04")[::12]:
        cut = one.wikitext.find("\n==")  # before the first heading, which begins a line of its own
        wikitext = f"{one.wikitext[:cut]}\n\n{block}\n{one.wikitext[cut:]}"
        assert extract(page(wikitext)).lines == lines_of(one.wikitext)


def test_cutting_lists_of_sources_first_changes_nothing(monkeypatch):
    cut = list(real_articles("2016-04"))
    monkeypatch.setattr(page_module, "cut_lists", lambda text, _removed: text)
    assert [extract(one) for one in real_pages("2016-04")] == cut


def test_a_list_that_is_not_closed_is_not_cut():
    texts = [case["text"] for case in cases("extract/unseen", "open lists")]
    assert [text for text in texts if cut_lists(text, ["Notes"]) != text] == []


def uncut(wikitext, monkeypatch):
    """The lines if every call and link is read, even if it gives no text."""
    with monkeypatch.context() as patch:
        patch.setattr(TemplateReader, "gives_no_text", staticmethod(never))
        return extract(page(wikitext)).lines


@given(WIKITEXT)
def test_cut_and_uncut_ways_give_the_same_lines(wikitext):
    with pytest.MonkeyPatch.context() as patch:
        try:
            expected = uncut(wikitext, patch)
        except RejectedError:
            return
        assert extract(page(wikitext)).lines == expected


@pytest.mark.parametrize(
    "end", ["", "{{Infobox|a=[[b}}\n", "[[File:a|b {{c}}\n", "{{Infobox|{{convert|1|km}} [[\n"]
)
def test_cut_and_uncut_ways_give_the_same_lines_of_real_pages(end, monkeypatch):
    for one in real_pages("2016-04")[::6]:
        assert lines_of(end + one.wikitext) == uncut(end + one.wikitext, monkeypatch)


def test_text_without_templates_is_what_another_parser_makes_of_it():
    lines = [line for one in real_pages("2016-04") for line in one.wikitext.split("\n")]
    plain = [line for line in lines if len(line) > 80 and not SPECIAL.search(line)]
    assert len(plain) > 500
    for line in plain[::3]:
        stripped = str(mwparserfromhell.parse(line).strip_code())
        theirs = "".join(char for char in stripped if unicodedata.category(char) != "Cf")
        assert " ".join(body(line)) == unicodedata.normalize("NFC", " ".join(theirs.split()))


# One pattern for the same rule, in quadratic time.
PLAIN = re.compile(rf"""display\s*:\s*none|class\s*=\s*["']?[^"'>]*{REMOVED_CLASS.pattern}""", re.IGNORECASE)
SIGNS = ["=", '"', "'", "x-", "-", "y", ":", " "]
NAMES = ["class", "thumb", "Navbox", "class=", 'class="', "display", "none"]
ATTRIBUTES = st.lists(st.sampled_from(NAMES + SIGNS)).map("".join)
TAGS = st.lists(st.sampled_from(["<b>", "</b>", "<B>", "</B>", "<b/>", "<i>", "</i>", "a"])).map("".join)


@given(ATTRIBUTES)
def test_the_search_for_classes_finds_what_the_plain_pattern_finds(attributes):
    assert _remove_content(attributes) == bool(PLAIN.search(attributes))


def test_classes_and_styles_that_are_removed():
    assert wrong("extract/tags", "removed", "removed", lambda case: _remove_content(case["attributes"])) == []


def closing_index(tags, index):
    """The first index at which all tags of the name are closed that were opened from the given index on."""
    depth, name = 0, tags[index][2].lower()
    for position in range(index, len(tags)):
        if tags[position][2].lower() == name and not tags[position][3].endswith("/"):
            depth += -1 if tags[position][1] else 1
            if depth == 0:
                return position
    return None


@given(TAGS)
def test_each_tag_is_closed_where_counting_from_it_says(text):
    tags = list(ANY_TAG.finditer(text))
    openers = [index for index, tag in enumerate(tags) if not tag[1] and not tag[3].endswith("/")]
    found = _closing_indices(tags)
    assert [found.get(index) for index in openers] == [closing_index(tags, index) for index in openers]


def test_a_hidden_tag_takes_its_content_along_to_the_tag_that_closes_it():
    hidden = '<div class="thumb">b<div>c</div>d</div>'
    assert flatten_tags(f"a{hidden}e") == "a\n\ne"
    assert flatten_tags("a<i style='display:none'>b</i>c<i>d</i>") == "acd"
    assert flatten_tags("a<i style='display:none'>b") == "ab"
