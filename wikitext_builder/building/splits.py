"""Distributes pages over the splits, and orders their articles."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wikitext_builder.article import SPLITS

Integers = NDArray[np.signedinteger[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """The pages of a dataset, in the order in which their articles are written."""

    page_ids: Integers
    roles: NDArray[np.int8]  # the index in `SPLITS` of each page's split

    def of(self, name: str) -> Integers:
        """Return the page ids of a split, in order."""
        page_ids: Integers = self.page_ids[self.roles == SPLITS.index(name)]
        return page_ids


def rank(page_id: int, seed: str) -> int:
    """Return a number of 64 bits that orders pages at random, equally on every machine."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{page_id}".encode()).digest()[:8])


def rank_for_test(page_id: int, seed: str) -> tuple[int, int, int]:
    """Return a key that puts the candidates for test before those for valid."""
    number = rank(page_id, seed)
    return ~number & 1, number, page_id


def choose(
    page_ids: Iterable[int],
    *,
    train: int | None,
    valid: int,
    test: int | None,
    seed: str,
    given_valid: Collection[int] = (),
    given_test: Collection[int] = (),
) -> Split:
    """Distribute pages over the splits; a page's split depends almost only on its own id.

    The lowest bit of its rank makes each page a candidate for either valid or test, and the candidates with
    the lowest ranks are taken. So an added page never moves another page between valid and test, or from
    train to one of them; it can only replace the last page of a split, which then goes to train. WikiText-2
    has the valid and test of WikiText-103, and its train articles are the first of WikiText-103's.

    `train`, `valid` and `test` are numbers of articles, None for all that remain. Given pages replace the
    draw; given pages that are not in `page_ids` are not replaced. With too few pages, train becomes smaller
    first, then test, then valid.
    """
    pages = np.unique(np.fromiter(page_ids, np.int64))
    ranks = np.fromiter((rank(page_id, seed) for page_id in map(int, pages)), np.uint64, len(pages))
    order = np.argsort(ranks, kind="stable")  # pages of equal rank are ordered by their ids
    pages, is_odd = pages[order], ranks[order] % 2 == 1
    roles = np.full(len(pages), -1, np.int8)
    given = {"valid": np.isin(pages, [*given_valid]), "test": np.isin(pages, [*given_test])}
    is_given = given["valid"] | given["test"]

    def candidates(*, odd: bool) -> Integers:
        """Return the indices of pages that can be drawn; candidates for the other split come last."""
        free = np.flatnonzero((roles < 0) & ~is_given)
        return free[np.argsort(is_odd[free] != odd, kind="stable")]

    roles[given["valid"] if given_valid else candidates(odd=False)[:valid]] = SPLITS.index("valid")
    roles[given["test"] if given_test else candidates(odd=True)[:test]] = SPLITS.index("test")
    roles[np.flatnonzero(roles < 0)[:train]] = SPLITS.index("train")
    return Split(pages[roles >= 0], roles[roles >= 0])
