"""Defines recipes: every setting that decides the bytes of a dataset, with its source."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from wikitext_builder.article import INCOMPLETE, SECTIONS, SPLITS
from wikitext_builder.errors import BuilderError

RECIPE_NAME: Final = re.compile(r"[A-Za-z0-9_~][A-Za-z0-9._~-]{0,99}")  # in file names and a YAML header

SOURCES: Final = ("rendered", "wikitext")  # what the lines of an article are made from


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Everything that decides a dataset, except its pages."""

    name: str  # names the archives: NAME-v1.zip, NAME-raw-v1.zip
    train_articles: int | None  # at most; None: all that remain; 0: no train, and so no vocabulary
    valid_articles: int = 60  # Table 1 of the paper
    test_articles: int | None = 60  # Table 1; None: all
    test_words: int | None = None  # instead of `test_articles`, if test is the only split
    min_count: int = 3  # section 4.3: words that occur fewer than 3 times become <unk>
    sections: str = "official"  # or "clean": see extraction/blocks.py
    incomplete: str = "cut"  # or "keep" sentences that lack words: see extraction/markers.py
    source: str = "rendered"  # the page's HTML if the store has it, else its wikitext; or "wikitext"
    language: str = "en"
    seed: str = "wikitext"  # of the split; ours, because the paper does not say how articles were chosen
    articles: bool = False  # also export whole articles as plain text: see dataset/load.py

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits of the dataset; without train no word becomes `<unk>`."""
        if self.train_articles != 0:
            return SPLITS
        return tuple(name for name in SPLITS if getattr(self, f"{name}_articles") != 0)

    def __post_init__(self) -> None:
        """Refuse values that would break a file name or the dataset's card, or that no page can satisfy."""
        if not RECIPE_NAME.fullmatch(self.name):
            raise BuilderError(
                f"the recipe name {self.name!r}: expected 1 to 100 letters, digits, . _ ~ and -"
            )
        choices = {"source": SOURCES, "sections": SECTIONS, "incomplete": INCOMPLETE}
        for name, allowed in choices.items():
            if (value := getattr(self, name)) not in allowed:
                raise BuilderError(f"--{name}: {value!r}; expected one of {', '.join(allowed)}")
        if not self.seed.isprintable() or "`" in self.seed:
            raise BuilderError(f"--seed: {self.seed!r}; expected a line of printable characters without `")
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


RECIPES: Final[dict[str, Recipe]] = {
    "wikitext-2": Recipe(name="wikitext-2", train_articles=600),  # Table 1
    "wikitext-103": Recipe(name="wikitext-103", train_articles=None),  # Table 1: 28,475 in the original
    # For trying things out and for tests: the bundled sample, or some tens of articles, where words are rare.
    "demo": Recipe(name="wikitext-demo", train_articles=None, valid_articles=3, test_articles=3, min_count=2),
    # Only a test set, of new articles: docs/live.md
    "live": Recipe(
        name="wikitext-live",
        train_articles=0,
        valid_articles=0,
        test_articles=None,
        min_count=1,
        articles=True,
    ),
}
