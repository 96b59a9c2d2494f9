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
NAMES = ["", "a/b", "../x", ".hidden", "a: b", "a\nb", "-x", "a b", "ä", "a" * 101]
SEEDS = ["`", "a`b", "a\nb", "a\u2028b", "\x00"]
REFUSED: list[tuple[dict[str, Any], str]] = [
    *(
        ({"name": one}, f"the recipe name {one!r}: expected 1 to 100 letters, digits, . _ ~ and -")
        for one in NAMES
    ),
    *(
        ({"seed": one}, f"--seed: {one!r}; expected a line of printable characters without `")
        for one in SEEDS
    ),
    ({"source": "html"}, "--source: 'html'; expected one of wikitext, rendered"),
    ({"sections": "all"}, "--sections: 'all'; expected one of official, clean"),
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
numbers = st.integers(0, 50)


def of(pages: set[int]) -> Split:
    return choose(pages, train=None, valid=5, test=5, seed="wikitext")


@given(page_ids, st.none() | numbers, numbers, st.none() | numbers)
def test_the_lowest_even_ranks_are_valid_the_lowest_odd_ones_test_and_the_first_others_train(
    pages: set[int], train: int | None, valid: int, test: int | None
) -> None:
    """Those of the other kind follow, if there are too few. Each split stands in the order of ranks."""
    by_rank = sorted(pages, key=lambda page: rank(page, "s"))
    even, odd = ([page for page in by_rank if rank(page, "s") % 2 == bit] for bit in (0, 1))
    of_valid = (even + odd)[:valid]
    of_test = [page for page in odd + even if page not in of_valid][:test]
    rest = [page for page in by_rank if page not in of_valid and page not in of_test]
    split = choose(pages, train=train, valid=valid, test=test, seed="s")
    assert split.valid == tuple(page for page in by_rank if page in of_valid)
    assert split.test == tuple(page for page in by_rank if page in of_test)
    assert split.train == tuple(rest[:train])


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


@given(page_ids)
def test_candidates_for_test_are_taken_in_their_order(pages: set[int]) -> None:
    candidates = sorted(pages, key=lambda page: rank_for_test(page, "s"))
    for test in range(len(pages) + 1):
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
