"""Splits that are smaller than the recipe asks for: a warning; a dataset without a train set: an error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from wikitext_builder.building.plan import Plan
from wikitext_builder.dataset.manifest import SplitCounts
from wikitext_builder.dataset.split import SPLITS, Split
from wikitext_builder.errors import BuilderError


def small_splits(plan: Plan, splits: Mapping[str, SplitCounts]) -> Iterator[str]:
    """Say which splits are smaller than asked for: that is not an error, but nobody should miss it."""
    given = {"valid": len(plan.given_valid), "test": len(plan.given_test)}
    for name in plan.recipe.splits:
        found, titles = splits[name].articles, given.get(name, 0)
        wanted = titles or getattr(plan.recipe, f"{name}_articles") or 1
        if found < wanted and titles:
            yield (
                f"{name} has {found:,} articles, but {titles:,} titles were given: rejected.jsonl says why"
                " the others are missing"
            )
        elif found < wanted:
            yield (
                f"{name} has {found:,} articles, but {plan.recipe.name} expects {wanted:,}: the store has"
                " too few"
            )


def refuse_empty_train(plan: Plan, split: Split, rejected: int) -> None:
    """Refuse to write a dataset whose first split is empty: without train it has no vocabulary.

    Raises:
        BuilderError: There are too few articles.
    """
    first = plan.recipe.splits[0]
    if getattr(split, first):
        return
    articles = len(split.roles())
    advice = "fetch or import more pages"
    if articles >= len(SPLITS):  # ten parts for train and one each for valid and test, as in WikiText-2
        share = max(1, articles // 12)
        advice += f", or use `valid_articles={share}` and `test_articles={share}`"
    raise BuilderError(
        f"{plan.store}: {articles:,} articles ({rejected:,} pages were rejected) are too few for"
        f" {plan.recipe.name}:"
        f" valid takes {len(split.valid):,}, test {len(split.test):,}, and none is left for {first}; {advice}"
    )
