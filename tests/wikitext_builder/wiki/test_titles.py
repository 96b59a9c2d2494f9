"""Titles: how they are written, and which ones no page can have."""

import pytest

from wikitext_builder.wiki.classify import tidy_title, title_fault


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


@pytest.mark.parametrize("title", GOOD)
def test_titles(title: str) -> None:
    assert title_fault(title) == ""


@pytest.mark.parametrize("title", BAD)
def test_texts_that_no_page_can_have_as_a_title(title: str) -> None:
    assert title_fault(title)
