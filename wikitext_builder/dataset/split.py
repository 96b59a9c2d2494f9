"""Which article goes to train, valid and test: by a seeded hash of its page id, or as given."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass

SPLITS = ("train", "valid", "test")


@dataclass(frozen=True, slots=True)
class Split:
    """Page ids of each part, in the order in which their articles are written."""

    train: tuple[int, ...]
    valid: tuple[int, ...]
    test: tuple[int, ...]

    def roles(self) -> dict[int, str]:
        """The part of each page id."""
        return {page_id: name for name in SPLITS for page_id in getattr(self, name)}


def rank(page_id: int, seed: str) -> int:
    """A number of 64 bits that orders pages at random, the same on every machine."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{page_id}".encode()).digest()[:8])


def choose(
    page_ids: Collection[int],
    *,
    train: int | None,
    valid: int,
    test: int,
    seed: str,
    given_valid: Collection[int] = (),
    given_test: Collection[int] = (),
) -> Split:
    """Share out pages; whether others exist hardly matters to where a page goes.

    The lowest bit of its rank makes every page a candidate of either valid or test, and the lowest ranks
    among the candidates are taken. So an added page never moves another one between valid and test nor from
    train into either; it can only take the place of the last one, which goes to train. WikiText-2's valid and
    test are those of WikiText-103, and its train articles are the first of WikiText-103's.

    Args:
        page_ids: The pages at hand.
        train: How many articles train gets at most; None for all that remain.
        valid: How many articles valid gets.
        test: How many articles test gets.
        seed: Another one gives another split.
        given_valid: Pages that make up valid instead.
        given_test: Pages that make up test instead.

    Returns:
        The parts; fewer pages than asked for give smaller parts, test and valid first.
    """
    order = sorted(set(page_ids), key=lambda page_id: (rank(page_id, seed), page_id))
    free = [page_id for page_id in order if page_id not in {*given_valid, *given_test}]
    # Candidates of the other side come last: they serve only where there are too few of one's own.
    for_valid = sorted(free, key=lambda page_id: rank(page_id, seed) & 1)
    for_test = sorted(free, key=lambda page_id: ~rank(page_id, seed) & 1)
    in_valid = set(given_valid) if given_valid else set(for_valid[:valid])
    left = [page_id for page_id in for_test if page_id not in in_valid]
    in_test = set(given_test) if given_test else set(left[:test])
    rest = [page_id for page_id in order if page_id not in in_valid and page_id not in in_test]
    return Split(
        train=tuple(rest[:train]),
        valid=tuple(page_id for page_id in order if page_id in in_valid),
        test=tuple(page_id for page_id in order if page_id in in_test),
    )
