"""Recipes refuse what cannot be built."""

import re
from typing import Any

import pytest

from wikitext_builder.dataset.recipes import RECIPES, Recipe
from wikitext_builder.errors import BuilderError

NONE: dict[str, Any] = {"train_articles": 0, "valid_articles": 0, "test_articles": 0}
LIVE: dict[str, Any] = {"train_articles": 0, "valid_articles": 0, "test_articles": None}
NAMES = ["", "a/b", "../x", ".hidden", "a: b", "a\nb", "-x", "a b", "ä", "a" * 101]
SEEDS = ["`", "a`b", "a\nb", "a\u2028b", "\x00"]
NAME = "the recipe name {!r}: expected 1 to 100 letters, digits, . _ ~ and -"
SEED = "--seed: {!r}; expected a line of printable characters without `"
ALONE = (
    "--test-words: x has train, valid, test and --test-articles 60; it is for live, a test set alone,"
    " instead of --test-articles"
)
REFUSED: list[tuple[dict[str, Any], str]] = [
    *(({"name": name}, NAME.format(name)) for name in NAMES),
    *(({"seed": seed}, SEED.format(seed)) for seed in SEEDS),
    ({"source": "html"}, "--source: 'html'; expected one of rendered, wikitext"),
    ({"sections": "all"}, "--sections: 'all'; expected one of official, clean"),
    ({"train_articles": -1}, "--train-articles: -1; expected 0 or more"),
    ({"valid_articles": -2}, "--valid-articles: -2; expected 0 or more"),
    ({"test_articles": -1}, "--test-articles: -1; expected 0 or more"),
    (NONE, "x: no split has articles; ask for some"),
    ({"test_words": 5}, ALONE),
    (LIVE | {"test_words": 0}, "--test-words: 0; expected at least 1"),
    ({"min_count": 0}, "--min-count: 0; expected at least 1"),
]


def test_a_recipe_that_cannot_be_built_is_refused() -> None:
    for fields, why in REFUSED:
        with pytest.raises(BuilderError, match=f"^{re.escape(why)}$"):
            Recipe(**{"name": "x", "train_articles": None} | fields)


def test_the_least_that_a_recipe_can_ask_for() -> None:
    one = Recipe(name="x", **LIVE, test_words=1, min_count=1)
    assert one.splits == ("test",)
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
        "demo": (None, 3, 3, 2),
        "live": (0, 0, None, 1),
    }
    names = ["wikitext-2", "wikitext-103", "wikitext-demo", "wikitext-live"]
    assert [one.name for one in RECIPES.values()] == names
    rest = {(one.sections, one.source, one.language, one.seed, one.test_words) for one in RECIPES.values()}
    assert rest == {("official", "rendered", "en", "wikitext", None)}
    assert [one.articles for one in RECIPES.values()] == [False, False, False, True]
