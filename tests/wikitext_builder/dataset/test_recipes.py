"""Recipes refuse what cannot be built; whatever else is there, the split leaves an article where it is."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wikitext_builder.dataset.recipes import RECIPES, Recipe, Split, choose, rank, rank_for_test
from wikitext_builder.errors import BuilderError

NONE: dict[str, Any] = {"train_articles": 0, "valid_articles": 0, "test_articles": 0}
LIVE: dict[str, Any] = {"train_articles": 0, "valid_articles": 0, "test_articles": None}
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"name": ""}, "the recipe name '': expected 1 to 100 letters, digits, . _ ~ and -"),
    ({"name": "a/b"}, "the recipe name 'a/b': expected 1 to 100 letters, digits, . _ ~ and -"),
    ({"source": "html"}, "--source: 'html'; expected one of wikitext, rendered"),
    ({"sections": "all"}, "--sections: 'all'; expected one of official, clean"),
    ({"seed": "a`b"}, "--seed: 'a`b'; expected a line of printable characters without `"),
    ({"seed": "a\nb"}, "--seed: 'a\\nb'; expected a line of printable characters without `"),
    ({"articles": ("xml", "csv")}, "--articles: 'csv'; expected jsonl or parquet"),
    ({"train_articles": -1}, "--train-articles: -1; expected 0 or more"),
    ({"valid_articles": -2}, "--valid-articles: -2; expected 0 or more"),
    ({"test_articles": -1}, "--test-articles: -1; expected 0 or more"),
    (NONE, "x: no split has articles; ask for some"),
    (
        {"test_words": 5},
        (
            "--test-words: x has train, valid, test and --test-articles 60; it is for live, a test set alone,"
            " instead of --test-articles"
        ),
    ),
    (LIVE | {"test_words": 0}, "--test-words: 0; expected at least 1"),
    ({"min_count": 0}, "--min-count: 0; expected at least 1"),
]


@pytest.mark.parametrize(("fields", "why"), REFUSED)
def test_a_recipe_that_cannot_be_built_is_refused(fields: dict[str, Any], why: str) -> None:
    with pytest.raises(BuilderError, match=f"^{re.escape(why)}$"):
        Recipe(**{"name": "x", "train_articles": None} | fields)


def test_the_least_that_a_recipe_can_ask_for() -> None:
    one = Recipe(name="x", **LIVE, test_words=1, min_count=1, articles=("parquet", "jsonl", "jsonl"))
    assert (one.splits, one.articles) == (("test",), ("jsonl", "parquet"))
    assert Recipe(name="Ab~9_.c-Z", train_articles=1).name == "Ab~9_.c-Z"
    for split in ("train", "valid", "test"):
        recipe = Recipe(**{"name": "x"} | NONE | {f"{split}_articles": 1})
        assert recipe.splits == (("train", "valid", "test") if split == "train" else (split,))


def test_recipes_ask_for_the_articles_of_table_1() -> None:
    asked = {
        name: (one.train_articles, one.valid_articles, one.test_articles, one.min_count)
        for name, one in RECIPES.items()
    }
    assert asked == {
        "wikitext-2": (600, 60, 60, 3),
        "wikitext-103": (None, 60, 60, 3),
        "demo": (None, 3, 3, 3),
        "live": (0, 0, None, 1),
    }
    names = ["wikitext-2", "wikitext-103", "wikitext-demo", "wikitext-live"]
    assert [one.name for one in RECIPES.values()] == names
    rest = {(one.sections, one.source, one.language, one.seed, one.test_words) for one in RECIPES.values()}
    assert rest == {("official", "wikitext", "en", "wikitext", None)}
    assert [one.articles for one in RECIPES.values()] == [(), (), (), ("jsonl",)]


page_ids = st.sets(st.integers(1, 10**9), min_size=1, max_size=300)


def of(pages: set[int], *, train: int | None = None) -> Split:
    return choose(pages, train=train, valid=5, test=5, seed="wikitext")


@given(page_ids)
def test_every_page_is_in_one_part(pages: set[int]) -> None:
    split = of(pages)
    everything = [*split.train, *split.valid, *split.test]
    assert sorted(everything) == sorted(pages)
    assert len(split.valid) == min(5, len(pages))


@given(page_ids, st.randoms())
def test_the_order_of_pages_does_not_matter(pages: set[int], random) -> None:
    shuffled = list(pages)
    random.shuffle(shuffled)
    assert choose(shuffled, train=None, valid=5, test=5, seed="wikitext") == of(pages)


@given(st.sets(st.integers(1, 10**9), min_size=100, max_size=300), page_ids)
def test_added_pages_move_no_article_into_valid_or_test(pages: set[int], added: set[int]) -> None:
    before, after = of(pages).roles(), of(pages | added).roles()
    moved = {page: (before[page], after[page]) for page in pages if before[page] != after[page]}
    assert all(to == "train" for _, to in moved.values())
    newcomers = [page for page in added - pages if after[page] != "train"]
    assert len(moved) <= len(newcomers)


@given(st.sets(st.integers(1, 10**9), min_size=100, max_size=300))
def test_the_small_dataset_is_the_beginning_of_the_large_one(pages: set[int]) -> None:
    small, large = of(pages, train=20), of(pages)
    assert (small.valid, small.test) == (large.valid, large.test)
    assert small.train == large.train[:20]


@given(page_ids)
def test_articles_stand_in_the_order_of_their_ranks(pages: set[int]) -> None:
    train = of(pages).train
    assert list(train) == sorted(train, key=lambda page: rank(page, "wikitext"))


def test_given_parts_are_taken_as_given() -> None:
    split = choose(
        range(1, 50), train=None, valid=5, test=5, seed="wikitext", given_valid=[3], given_test=[1, 2]
    )
    assert split.valid == (3,)
    assert sorted(split.test) == [1, 2]
    assert len(split.train) == 46


@given(page_ids, st.integers(0, 7), st.integers(0, 7), st.data())
def test_given_parts_and_chosen_ones_share_no_page(pages: set[int], valid: int, test: int, data) -> None:
    given_test = data.draw(st.sets(st.sampled_from(sorted(pages)), max_size=7))
    given_valid = data.draw(st.sets(st.sampled_from(sorted(pages)), max_size=7)) - given_test
    split = choose(
        pages, train=None, valid=valid, test=test, seed="s", given_valid=given_valid, given_test=given_test
    )
    assert sorted([*split.train, *split.valid, *split.test]) == sorted(pages)
    free = len(pages - given_test - given_valid)
    assert set(split.valid) == given_valid or (not given_valid and len(split.valid) == min(valid, free))
    left = free if given_valid else free - len(split.valid)
    assert set(split.test) == given_test or (not given_test and len(split.test) == min(test, left))


def test_valid_takes_the_lowest_even_ranks_and_test_the_lowest_odd_ones() -> None:
    pages = range(1, 101)
    by_rank = sorted(pages, key=lambda page: rank(page, "wikitext"))
    even = [page for page in by_rank if rank(page, "wikitext") % 2 == 0]
    odd = [page for page in by_rank if rank(page, "wikitext") % 2 == 1]
    split = choose(pages, train=7, valid=5, test=4, seed="wikitext")
    assert split.valid == tuple(even[:5])
    assert split.test == tuple(odd[:4])
    assert split.train == tuple(page for page in by_rank if page not in {*even[:5], *odd[:4]})[:7]


@given(page_ids, st.integers(0, 300))
def test_candidates_for_test_are_taken_in_their_order(pages: set[int], test: int) -> None:
    candidates = sorted(pages, key=lambda page: rank_for_test(page, "s"))
    split = choose(pages, train=None, valid=0, test=test, seed="s")
    assert set(split.test) == set(candidates[:test])


def test_pages_of_one_rank_stand_by_their_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wikitext_builder.dataset.recipes.rank", lambda _page_id, _seed: 6)
    split = choose([64, 33, 2, 70, 35], train=None, valid=1, test=1, seed="")
    assert split == Split(valid=(2,), test=(33,), train=(35, 64, 70))


def test_ranks_are_the_same_on_every_machine() -> None:
    # computed with sha256sum: printf wikitext:1 | sha256sum | cut -c1-16
    assert rank(1, "wikitext") == 0x059616D80F93A3CD
    assert rank(1, "another") != rank(1, "wikitext")
