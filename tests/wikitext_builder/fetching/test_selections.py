"""What `select` means, and what a list page links to."""

from collections import Counter
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wikitext_builder.errors import BuilderError
from wikitext_builder.fetching.lookup import Selection, linked_titles, sampled
from wikitext_builder.fetching.selections import Category, ListPage, LockFile, TitlesFile, parse_selections
from wikitext_builder.store.schema import Wanted
from wikitext_builder.wiki.client import Site
from wikitext_builder.wiki.languages import LANGUAGES

EN = LANGUAGES["en"]


@pytest.mark.parametrize(
    ("text", "selection"),
    [
        ("good", Category(name="Good articles")),
        ("featured", Category(name="Featured articles")),
        ("category:Good_articles", Category(name="Good articles")),
        ("category:Category: Good articles", Category(name="Good articles")),
        ("category:AT&T: a history", Category(name="AT&T: a history")),
        ("list:Wikipedia:Featured articles", ListPage(title="Wikipedia:Featured articles")),
        (
            "list:Wikipedia:Featured articles@715",
            ListPage(title="Wikipedia:Featured articles", revision_id=715),
        ),
        ("list:P@home", ListPage(title="P@home")),
        ("titles:a b.txt", TitlesFile(path=Path("a b.txt"))),
        ("lock:C:/titles.lock", LockFile(path=Path("C:/titles.lock"))),
    ],
)
def test_selections(text: str, selection: Selection) -> None:
    assert parse_selections(text, EN) == [selection]


@pytest.mark.parametrize(
    "text", ["", "Good", "goood", "category", "category:", "list: ", "titles:", "lock:", "good:x", "file:a"]
)
def test_the_error_of_an_unknown_word_lists_the_known_ones(text: str) -> None:
    with pytest.raises(BuilderError, match="expected good, featured, category:NAME"):
        parse_selections(text, EN)


@pytest.mark.parametrize("text", ["category:A|B", "list:../x", "list:#top"])
def test_names_that_no_page_can_have_are_refused(text: str) -> None:
    with pytest.raises(BuilderError, match="no page can have this title"):
        parse_selections(text, EN)


def test_the_default_is_good_and_featured_if_a_language_has_them() -> None:
    assert parse_selections((), EN) == [Category(name="Good articles"), Category(name="Featured articles")]
    for language in LANGUAGES.values():
        if language.good_category is None:
            with pytest.raises(BuilderError, match="no such category"):
                parse_selections("good", language)
        if language.good_category or language.featured_category:
            assert parse_selections((), language)


def test_what_proves_each_page_is_selected_alone() -> None:
    assert parse_selections("created-since:2026-01-01", EN)
    with pytest.raises(BuilderError, match="into the same store by another command"):
        parse_selections(["created-since:2026-01-01", "good"], EN)


NAMES = st.sets(st.text("abcdé ", min_size=1, max_size=4), min_size=1, max_size=40)


@given(NAMES, st.randoms(), st.integers(0, 2**63 - 1), st.integers(1, 40))
def test_a_sample_depends_on_titles_and_seed_only_and_a_larger_one_adds(
    names: set[str], random: Random, seed: int, count: int
) -> None:
    titles = sorted(names)
    random.shuffle(titles)
    wanted = [Wanted(title=title) for title in titles]
    sample = sampled(wanted, count, seed)
    assert sample == sampled(sorted(wanted), count, seed)
    assert sample == sampled(wanted, count + 1, seed)[:count]
    assert len(sample) == min(count, len(wanted))
    others = [one for one in wanted if one not in sample or random.random() < 0.5]
    assert set(sampled(others, count, seed)) >= set(sample) & set(others)  # less to choose from
    assert sorted(sampled(wanted, None, seed)) == sorted(wanted)


def test_each_title_is_in_a_sample_as_often_as_the_others() -> None:
    wanted = [Wanted(title=f"Page {number}") for number in range(100)]
    seen = Counter(one.title for seed in range(1000) for one in sampled(wanted, 10, seed))
    assert all(60 < seen[one.title] < 145 for one in wanted)  # 100 expected, standard deviation 9.5


def test_links_in_a_list_page() -> None:
    site = Site(
        wiki="enwiki",
        language="en",
        namespaces={"wikipedia": 4, "wp": 4, "category": 14, "file": 6},
        capital_first=True,
    )
    wikitext = (
        "* [[AT&amp;T]] ''[[C++|the language]]'' [[łódź#History|x]] {{FA|[[2001: A Space Odyssey]]}}"
        "<!-- [[A]] --><nowiki>[[B]]</nowiki> [[WP:Pump]] [[:Category:C]] [[#D]] [[/E]]"
        "[[File:F.jpg|thumb|[[ G_h ]]]]"
        " [[I|J]] [[ßx]] [[<b>]] [[ ]] [[K\n]] [[:Octopus]] [[Caf%C3%A9]] [[C%2B%2B]] [[" + "[[" * 50_000
    )
    assert linked_titles(wikitext, site) == [
        "2001: A Space Odyssey", "AT&T", "C++", "Café", "G h", "I", "Octopus", "ßx", "Łódź",
    ]  # fmt: skip
