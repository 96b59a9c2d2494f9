"""What `select` means, and what a list page links to."""

from collections import Counter
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import ROOT
from wikitext_builder.cli.pages import SELECT_HELP
from wikitext_builder.errors import BuilderError
from wikitext_builder.fetching.fetch import fetch
from wikitext_builder.fetching.lookup import Selection, linked_titles, sampled
from wikitext_builder.fetching.page_filters import FILTERS
from wikitext_builder.fetching.selections import (
    SELECTIONS,
    Category,
    ListPage,
    LockFile,
    TitlesFile,
    parse_selections,
)
from wikitext_builder.store.schema import Wanted
from wikitext_builder.wiki.client import Site
from wikitext_builder.wiki.languages import LANGUAGES

EN = LANGUAGES["en"]


MEANINGS: dict[str, Selection] = {
    "good": Category(name="Good articles"),
    "featured": Category(name="Featured articles"),
    "category:Good_articles": Category(name="Good articles"),
    "category:Category: Good articles": Category(name="Good articles"),
    "category:AT&T: a history": Category(name="AT&T: a history"),
    "list:Wikipedia:Featured articles": ListPage(title="Wikipedia:Featured articles"),
    "list:Wikipedia:Featured articles@715": ListPage(title="Wikipedia:Featured articles", revision_id=715),
    "list:P@home": ListPage(title="P@home"),
    "titles:a b.txt": TitlesFile(path=Path("a b.txt")),
    "lock:C:/titles.lock": LockFile(path=Path("C:/titles.lock")),
}
UNKNOWN = ["", "Good", "goood", "category", "category:", "list: ", "titles:", "lock:", "good:x", "file:a"]


def test_selections_and_errors_of_what_is_none() -> None:
    assert {text: parse_selections(text, EN) for text in MEANINGS} == {
        text: [selection] for text, selection in MEANINGS.items()
    }
    for texts, words in (
        (UNKNOWN, "expected good, featured, category:NAME"),
        (["category:A|B", "list:../x", "list:#top"], "no page can have this title"),
    ):
        for text in texts:
            with pytest.raises(BuilderError, match=words):
                parse_selections(text, EN)


def test_every_kind_is_documented() -> None:
    page = (ROOT / "docs" / "fetching.md").read_text(encoding="utf-8")
    faults = [form for form in FILTERS if f"`{form.partition(':')[0]}" not in page]
    faults += [form for form in SELECTIONS if form not in SELECT_HELP]
    faults += [form for form in SELECTIONS if f"`{form.partition(':')[0]}" not in (fetch.__doc__ or "")]
    assert faults == []


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
    others = [page for page in wanted if page not in sample or random.random() < 0.5]
    assert set(sampled(others, count, seed)) >= set(sample) & set(others)  # less to choose from
    assert sorted(sampled(wanted, None, seed)) == sorted(wanted)


def test_each_title_is_in_a_sample_as_often_as_the_others() -> None:
    wanted = [Wanted(title=f"Page {number}") for number in range(100)]
    seen = Counter(page.title for seed in range(1000) for page in sampled(wanted, 10, seed))
    assert all(60 < seen[page.title] < 145 for page in wanted)  # 100 expected, standard deviation 9.5


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
