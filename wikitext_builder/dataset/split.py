"""Which article goes to train, valid or test: by a seeded hash of its page id, or as given."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from itertools import chain, islice

from wikitext_builder.article import SPLITS


@dataclass(frozen=True, slots=True)
class Split:
    """The page ids of each split, in the order in which their articles are written."""

    train: tuple[int, ...]
    valid: tuple[int, ...]
    test: tuple[int, ...]

    def roles(self) -> dict[int, str]:
        """The split of each page id."""
        return {page_id: name for name in SPLITS for page_id in getattr(self, name)}


def rank(page_id: int, seed: str) -> int:
    """A number of 64 bits that orders pages at random, in the same way on every machine."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{page_id}".encode()).digest()[:8])


def rank_for_test(page_id: int, seed: str) -> tuple[int, int, int]:
    """A key that orders the candidates for test: those of test come before those of valid."""
    number = rank(page_id, seed)
    return ~number & 1, number, page_id


def choose(
    page_ids: Collection[int],
    *,
    train: int | None,
    valid: int,
    test: int | None,
    seed: str,
    given_valid: Collection[int] = (),
    given_test: Collection[int] = (),
) -> Split:
    """Distribute pages over the splits; other pages hardly influence where a page goes.

    The lowest bit of its rank makes each page a candidate for either valid or test, and the candidates with
    the lowest ranks are taken. So an added page never moves another one between valid and test, or from train
    into one of them; it can only replace the last one, which then goes to train. WikiText-2 has the valid and
    test of WikiText-103, and its train articles are the first ones of WikiText-103's.

    Args:
        page_ids: The pages to distribute.
        train: How many articles train gets at most; None: all that remain.
        valid: How many articles valid gets.
        test: How many articles test gets; None: all that remain.
        seed: Another seed gives another split.
        given_valid: The pages of valid, instead of a choice.
        given_test: The pages of test, instead of a choice.

    Returns:
        The splits. If there are too few pages, train becomes smaller first, then test, then valid.
    """
    ranked = sorted((rank(page_id, seed), page_id) for page_id in set(page_ids))
    order = [page_id for _, page_id in ranked]
    given = {*given_valid, *given_test}
    lanes: tuple[list[int], list[int]] = ([], [])
    for number, page_id in ranked:
        if page_id not in given:
            lanes[number & 1].append(page_id)
    # Candidates for the other split come last: they are used only if there are too few for this one.
    in_valid = set(given_valid) if given_valid else set(islice(chain(*lanes), valid))
    left = (page_id for page_id in chain(*reversed(lanes)) if page_id not in in_valid)
    in_test = set(given_test) if given_test else set(islice(left, test))
    rest = [page_id for page_id in order if page_id not in in_valid and page_id not in in_test]
    return Split(
        train=tuple(rest[:train]),
        valid=tuple(page_id for page_id in order if page_id in in_valid),
        test=tuple(page_id for page_id in order if page_id in in_test),
    )
