"""Lost words: which words are plain, which of them do not come out, and real faults that must be seen."""

import pytest
from extraction_eval.lost import MAX_LISTED, LostWords, lost_places, plain_words, words
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import wrong
from tests.wikitext_builder.extraction.pages import page
from wikitext_builder.article import Page
from wikitext_builder.dumps.xml_dump import read_pages
from wikitext_builder.extraction import page as extraction
from wikitext_builder.extraction.page import extract
from wikitext_builder.sample import SAMPLE_DUMP
from wikitext_builder.wiki.languages import LANGUAGES

ENGLISH = LANGUAGES["en"]


def counted(*pages):
    count = LostWords()
    for one in pages:
        count.add(one, extract(one, incomplete="keep").lines, "en")
    return count


# --- plain words


def test_plain_words_stand_between_markup():
    def plain(case):
        return " ".join(plain_words(case["wikitext"], ENGLISH))

    assert wrong("extraction_eval", "plain words", "plain", plain) == []


MARKUP = ["{{b|x}}", "<ref>x</ref>", "[[File:x.jpg|thumb|x [[x]]]]", "<!-- x -->", "\n{|\n| x\n|}\n", "\n\n"]
WORDS = st.lists(st.sampled_from(["red", "big", "ox", "café"]), min_size=1, max_size=4).map(" ".join)


@given(st.lists(st.tuples(WORDS, st.sampled_from(MARKUP)), max_size=8))
def test_words_come_out_of_what_is_made_of_words_and_markup(pieces):
    plain = [word for text, _ in pieces for word in text.split()]
    made = page("".join(f"{text} {markup} " for text, markup in pieces))
    assert plain_words(made.wikitext, ENGLISH) == plain
    assert counted(made).lost == 0


@given(st.text(alphabet="{}[]|<>='*\n a:", max_size=60))
def test_no_wikitext_fails(wikitext):
    assert all(word == "a" * len(word) for word in plain_words(wikitext, ENGLISH))


# --- what is lost


def test_each_lost_word_is_found():
    none = counted(page("It is here."), page("So {{b}} on."))
    assert (none.words, none.lost, none.share, none.long_runs, none.runs) == (5, 0, 0.0, 0, [])
    count = LostWords()
    assert count.share == 0.0
    count.add(page("one two three four five six seven eight nine ten"), ["one ten"], "en")
    assert (count.words, count.lost, count.long_runs) == (10, 8, 1)
    assert (count.runs[0].size, count.runs[0].text) == (8, "two three four five six seven eight nine")
    assert (count.pages[0].title, count.pages[0].lost, count.pages[0].words) == ("Tokyo", 8, 10)


@given(st.lists(st.sampled_from("abcdef"), max_size=30), st.lists(st.sampled_from("abcdef"), max_size=30))
def test_what_is_there_is_not_lost(plain, ours):
    places = lost_places(plain, ours)
    assert lost_places(plain, plain) == []
    assert len(places) >= sum(max(plain.count(one) - ours.count(one), 0) for one in set(plain)) or not places
    kept = [word for place, word in enumerate(plain) if place not in set(places)]
    assert all(kept.count(one) <= ours.count(one) for one in kept)


def test_only_the_worst_are_kept():
    count = LostWords()
    for number in range(3 * MAX_LISTED):
        count.add(page("a " * (number + 1), title=f"P{number}"), [], "en")
    assert len(count.pages) == len(count.runs) == MAX_LISTED
    assert count.pages[0].lost == 3 * MAX_LISTED


def test_the_sample_loses_nothing_and_a_cut_paragraph_is_seen():
    every = [one.content for one in read_pages(SAMPLE_DUMP) if isinstance(one.content, Page)]
    pages = [one for one in every if not one.wikitext.startswith("#REDIRECT")]
    assert counted(*pages).lost == 0
    count, expected = LostWords(), 0
    for one in pages:
        lines = list(extract(one).lines)
        plain = set(plain_words(one.wikitext, ENGLISH))
        longest = max(lines, key=len)
        lines.remove(longest)
        expected += sum(word in plain for word in words(longest))
        count.add(one, lines, "en")
    assert count.lost == pytest.approx(expected, rel=0.05)
    assert count.long_runs >= len(pages) - 6  # a disambiguation page has no long paragraph


STARBOX = (
    "{{Starbox begin}}\n{{Starbox detail|a=b}}\n{{Starbox end}}\n'''Vega''' is the brightest star there."
)


@pytest.mark.parametrize(
    ("wikitext", "step", "fault"),
    [
        # A table that a template opened once took all up to the next heading.
        ("|-\n| a || b\n\nText after it.", "remove_tables", lambda text: text.partition("|-")[0]),
        (STARBOX, "resolve", lambda text, *_: text.partition("{{Starbox")[0]),
        # A section was once removed whole.
        ("a\n== Notes ==\nb\n=== The notes ===\nLong text.", "cut_lists", lambda text, _: text[:1]),
        # Tags that are never closed once hid what follows.
        ("a <div>b</div> c d", "flatten_tags", lambda text: text.partition("<div")[0]),
    ],
)
def test_real_faults_are_seen(monkeypatch, wikitext, step, fault):
    assert counted(page(wikitext)).lost == 0
    monkeypatch.setattr(extraction, step, fault)
    assert counted(page(wikitext)).lost > 0
