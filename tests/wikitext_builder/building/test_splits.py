"""Tests of the order of pages, and of their choice."""

from __future__ import annotations

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wikitext_builder.article import SPLITS
from wikitext_builder.building.splits import Split, choose, rank, rank_for_test

page_ids = st.sets(st.integers(1, 10**9), min_size=1, max_size=300)
numbers = st.integers(0, 50)
few = st.integers(0, 5) | numbers  # so that pages are left for train


def of(pages: set[int]) -> Split:
    return choose(pages, train=None, valid=5, test=5, seed="wikitext")


def roles(split: Split) -> dict[int, str]:
    return {page: SPLITS[role] for page, role in zip(split.page_ids.tolist(), split.roles, strict=True)}


def lists(split: Split) -> dict[str, list[int]]:
    return {name: split.of(name).tolist() for name in SPLITS}


@given(page_ids, st.none() | numbers, few, st.none() | few)
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
    by_name = {"train": rest[:train], "valid": of_valid, "test": of_test}
    assert lists(split) == {name: sorted(of, key=by_rank.index) for name, of in by_name.items()}
    assert split.page_ids.tolist() == sorted(chain(*by_name.values()), key=by_rank.index)


@given(page_ids, st.randoms())
def test_the_order_of_pages_does_not_matter(pages: set[int], random) -> None:
    shuffled = list(pages)
    random.shuffle(shuffled)
    again = choose(shuffled, train=None, valid=5, test=5, seed="wikitext")
    assert list(roles(again).items()) == list(roles(of(pages)).items())


@given(st.sets(st.integers(1, 10**9), min_size=100, max_size=300), page_ids)
def test_added_pages_move_no_article_into_valid_or_test(pages: set[int], added: set[int]) -> None:
    before, after = roles(of(pages)), roles(of(pages | added))
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
    found = lists(split)
    assert sorted(split.page_ids.tolist()) == sorted(pages)
    free = len(pages - given_test - given_valid)
    assert set(found["valid"]) == given_valid or (not given_valid and len(found["valid"]) == min(valid, free))
    left = free if given_valid else free - len(found["valid"])
    assert set(found["test"]) == given_test or (not given_test and len(found["test"]) == min(test, left))


@given(page_ids)
def test_candidates_for_test_are_taken_in_their_order(pages: set[int]) -> None:
    candidates = sorted(pages, key=lambda page: rank_for_test(page, "s"))
    for test in range(len(pages) + 1):
        split = choose(pages, train=None, valid=0, test=test, seed="s")
        assert set(lists(split)["test"]) == set(candidates[:test])


def test_pages_of_one_rank_stand_by_their_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wikitext_builder.building.splits.rank", lambda _page_id, _seed: 6)
    split = choose([64, 33, 2, 70, 35], train=None, valid=1, test=1, seed="")
    assert lists(split) == {"valid": [2], "test": [33], "train": [35, 64, 70]}


def test_ranks_are_the_same_on_every_machine() -> None:
    # computed with sha256sum: printf wikitext:1 | sha256sum | cut -c1-16
    assert rank(1, "wikitext") == 0x059616D80F93A3CD
    assert rank(1, "another") != rank(1, "wikitext")
