"""Recipes: every setting that decides the bytes of a dataset, with its source; and how articles are split."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import chain, islice

from wikitext_builder.article import INCOMPLETE, SECTIONS, SPLITS
from wikitext_builder.errors import BuilderError

NAME = re.compile(r"[A-Za-z0-9_~][A-Za-z0-9._~-]{0,99}")  # it is part of file names and of a YAML head

SOURCES = ("wikitext", "rendered")  # of the lines of an article
ARTICLES = ("jsonl", "parquet")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Everything that decides a dataset, except its pages."""

    name: str  # of the files: NAME-v1.zip, NAME-raw-v1.zip
    train_articles: int | None  # at most; None: all that remain; 0: no vocabulary either, see `splits`
    valid_articles: int = 60  # Table 1 of the paper
    test_articles: int | None = 60  # Table 1; None: all
    test_words: int | None = None  # of a test set alone, instead of `test_articles`
    min_count: int = 3  # section 4.3: words that occur fewer than 3 times become <unk>
    sections: str = "official"  # or "clean": see extraction/blocks.py
    incomplete: str = "cut"  # or "keep": sentences that lack words, see extraction/holes.py
    source: str = "wikitext"  # or "rendered": the HTML of the page, where the store has it
    language: str = "en"
    seed: str = "wikitext"  # of the split; ours, because the paper does not say how articles were chosen
    articles: tuple[
        str, ...
    ] = ()  # formats in which whole articles are exported as plain text: dataset/plain.py

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits that the dataset has; without train no word becomes `<unk>`."""
        if self.train_articles != 0:
            return SPLITS
        return tuple(name for name in SPLITS if getattr(self, f"{name}_articles") != 0)

    def __post_init__(self) -> None:
        """Refuse values that would break a file name or the dataset's card, or that no page can satisfy."""
        if not NAME.fullmatch(self.name):
            raise BuilderError(
                f"the recipe name {self.name!r}: expected 1 to 100 letters, digits, . _ ~ and -"
            )
        known = {"source": SOURCES, "sections": SECTIONS, "incomplete": INCOMPLETE}
        for name, values in known.items():
            if (value := getattr(self, name)) not in values:
                raise BuilderError(f"--{name}: {value!r}; expected one of {', '.join(values)}")
        if not self.seed.isprintable() or "`" in self.seed:
            raise BuilderError(f"--seed: {self.seed!r}; expected a line of printable characters without `")
        object.__setattr__(self, "articles", tuple(sorted(set(self.articles))))  # a manifest has a list
        if unknown := set(self.articles) - set(ARTICLES):
            raise BuilderError(f"--articles: {min(unknown)!r}; expected {' or '.join(ARTICLES)}")
        for name in ("train_articles", "valid_articles", "test_articles"):
            if (getattr(self, name) or 0) < 0:
                raise BuilderError(f"--{name.replace('_', '-')}: {getattr(self, name)}; expected 0 or more")
        if not self.splits:
            raise BuilderError(f"{self.name}: no split has articles; ask for some")
        if self.test_words is not None:
            if (self.train_articles, self.valid_articles, self.test_articles) != (0, 0, None):
                raise BuilderError(
                    f"--test-words: {self.name} has {', '.join(self.splits)} and --test-articles"
                    f" {self.test_articles}; it is for live, a test set alone, instead of --test-articles"
                )
            if self.test_words < 1:
                raise BuilderError(f"--test-words: {self.test_words}; expected at least 1")
        if self.min_count < 1:
            raise BuilderError(f"--min-count: {self.min_count}; expected at least 1")


RECIPES: dict[str, Recipe] = {
    "wikitext-2": Recipe(name="wikitext-2", train_articles=600),  # Table 1
    "wikitext-103": Recipe(name="wikitext-103", train_articles=None),  # Table 1: 28,475 in the original
    # To try things out, and for tests: the bundled sample, or some tens of articles.
    "demo": Recipe(name="wikitext-demo", train_articles=None, valid_articles=3, test_articles=3),
    # A test set alone, of articles that are new: docs/live.md
    "live": Recipe(
        name="wikitext-live",
        train_articles=0,
        valid_articles=0,
        test_articles=None,
        min_count=1,
        articles=("jsonl",),
    ),
}


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


def in_order(page_ids: Iterable[int], seed: str) -> list[int]:
    """Pages in the order of their ranks: that in which their articles are written."""
    return sorted(sorted(page_ids), key=lambda page_id: rank(page_id, seed))


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

    The numbers are how many articles each split gets, None for all that remain; given pages take the place of
    a choice. If there are too few pages, train becomes smaller first, then test, then valid.
    """
    order = in_order(set(page_ids), seed)
    given = {*given_valid, *given_test}
    lanes: tuple[list[int], list[int]] = ([], [])
    for page_id in order:
        if page_id not in given:
            lanes[rank(page_id, seed) & 1].append(page_id)
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
