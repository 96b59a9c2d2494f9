"""Titles, dates, and what a page is by its title or text; marks are in dumps/test_importing."""

import pytest

from tests.cases import each
from wikitext_builder.errors import BuilderError
from wikitext_builder.wiki.classify import classifier, template_call, tidy_title, title_fault
from wikitext_builder.wiki.dates import parse_date
from wikitext_builder.wiki.languages import LANGUAGES


def test_braces_before_many_spaces_take_linear_time() -> None:
    """Of 20,000 spaces it once took 0.4 seconds, and four times as long for twice as many."""
    assert not template_call(("*-stub",)).search("{{" + " " * 1_000_000)
    assert template_call(("*-stub", "stub-*")).search("{{ Peru-stub }}")


@each("wiki", "code, title, expected", "titles of lists")
def test_titles_of_lists(code: str, title: str, expected: bool) -> None:
    assert classifier(LANGUAGES[code]).is_list(title) is expected


@each("wiki", "language, wikitext, expected", "redirects")
def test_redirects(language: str, wikitext: str, expected: bool) -> None:
    assert classifier(LANGUAGES[language]).is_redirect(wikitext) is expected


@each("wiki", "text, moment", "dates")
def test_dates(text: str, moment: str) -> None:
    assert parse_date(text) == moment


@each("wiki", "text", "other texts are not dates")
def test_other_texts_are_not_dates(text: str) -> None:
    with pytest.raises(BuilderError, match="is not a date"):
        parse_date(text)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (" AT&T ", "AT&T"),
        ("New__York_City", "New York City"),
        ("Ło\u0301dz\u0301", "Łódź"),
        ("A\u00a0B\u3000C", "A B C"),
        ("\u200eA\u200f", "A"),
        (f"{'_' * 2000}A{' ' * 2000}B", "A B"),
    ],
)
def test_tidy(text: str, title: str) -> None:
    assert tidy_title(text) == title
    assert tidy_title(title) == title


GOOD = [
    "AT&T", "C++", "100 %", "50%_off", "😀", "東京", '"Heroes"', "What's Up, Doc?", "...", "A/B", ".hack",
    "A..B", "AT&amp;T", "x" * 255, "~~", "A:B",
]  # fmt: skip
BAD = [
    "", " ", ":", "_", "../x", "./x", "a/../b", "a/.", "..", ".", "A|B", "A#B", "C#", "A<b>", "[A]", "{{A}}",
    "A\nB", "A\tB", "A\0B", "A\x7f", "~~~", "%41", "x" * 256, "é" * 128, "\ud800", "\ufffd",
]  # fmt: skip


def test_texts_that_can_be_titles() -> None:
    assert [title for title in GOOD if title_fault(title)] == []
    assert [title for title in BAD if not title_fault(title)] == []
