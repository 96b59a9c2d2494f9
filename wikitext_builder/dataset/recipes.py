"""What makes a dataset: every number that decides its bytes, with its source."""

from __future__ import annotations

import re
from dataclasses import dataclass

from wikitext_builder.errors import BuilderError

NAME = re.compile(r"[A-Za-z0-9_~][A-Za-z0-9._~-]{0,99}")  # part of file names and of a YAML head

SOURCES = ("wikitext", "rendered")  # of an article's lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """All that decides a dataset besides its pages."""

    name: str  # of the files: NAME-v1.zip, NAME-raw-v1.zip
    train_articles: int | None  # at most; None for all that remain
    valid_articles: int = 60  # Table 1 of the paper
    test_articles: int = 60  # Table 1
    min_count: int = 3  # section 4.3: words with a count below 3 become <unk>
    sections: str = "official"  # or "clean": see extract/sections.py
    source: str = "wikitext"  # or "rendered": the HTML that `fetch --rendered` kept, where it did
    language: str = "en"
    seed: str = "wikitext"  # of the split; ours, for the paper does not say how articles were chosen

    def __post_init__(self) -> None:
        """Refuse what could be no part of a file name or would break the dataset's card."""
        if not NAME.fullmatch(self.name):
            raise BuilderError(
                f"the recipe name {self.name!r}: expected 1 to 100 letters, digits, . _ ~ and -"
            )
        if self.source not in SOURCES:
            raise BuilderError(f"the source {self.source!r} of texts: expected one of {', '.join(SOURCES)}")
        if not self.seed.isprintable() or "`" in self.seed:
            raise BuilderError(f"the seed {self.seed!r}: expected a line of printable characters without `")


RECIPES: dict[str, Recipe] = {
    "wikitext-2": Recipe(name="wikitext-2", train_articles=600),  # Table 1
    "wikitext-103": Recipe(name="wikitext-103", train_articles=None),  # Table 1: 28,475 in the original
    # For a look and for tests: the bundled sample, or some tens of articles.
    "demo": Recipe(name="wikitext-demo", train_articles=None, valid_articles=3, test_articles=3),
}
