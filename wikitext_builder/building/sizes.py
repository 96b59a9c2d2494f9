"""How large splits are: of how many articles, and whether that is as many as the recipe asks for.

A split that is smaller than asked for is a warning; a dataset without a train set, or with fewer words than
`test_words`, is an error.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from wikitext_builder.article import SPLITS
from wikitext_builder.building.plan import Plan
from wikitext_builder.dataset.manifest import SplitCounts
from wikitext_builder.dataset.recipes import Recipe
from wikitext_builder.dataset.split import Split, rank_for_test
from wikitext_builder.errors import BuilderError
from wikitext_builder.pages.store import Rejected

ROUND: Final = 256  # articles whose words are counted first; later rounds go by the mean of these


class NoArticlesError(BuilderError):
    """All pages were rejected."""


def small_splits(plan: Plan, splits: Mapping[str, SplitCounts]) -> Iterator[str]:
    """Say which splits are smaller than asked for: that is not an error, but nobody should miss it."""
    given = {"valid": len(plan.given_valid), "test": len(plan.given_test)}
    for name in plan.recipe.splits:
        found, titles = splits[name].articles, given.get(name, 0)
        size: int | None = getattr(plan.recipe, f"{name}_articles")
        wanted = titles or (1 if size is None else size)
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
        advice += f", or use --valid-articles {share} and --test-articles {share}"
    kind = BuilderError if articles else NoArticlesError
    raise kind(
        f"{plan.store}: {articles:,} articles ({rejected:,} pages were rejected) are too few for"
        f" {plan.recipe.name}:"
        f" valid takes {len(split.valid):,}, test {len(split.test):,}, and none is left for {first}; {advice}"
    )


def test_size(recipe: Recipe, page_ids: Collection[int], words: Mapping[int, int]) -> int | None:
    """How many articles test gets; None: all.

    With `test_words` it is the smallest number that has these words. If not enough articles are counted yet,
    it is a guess that names at least one that is not.

    Args:
        recipe: The recipe.
        page_ids: Pages that can be taken.
        words: The number of words of those that are extracted.
    """
    if recipe.test_words is None:
        return recipe.test_articles
    total = 0
    for number, page_id in enumerate(sorted(page_ids, key=lambda one: rank_for_test(one, recipe.seed))):
        if total >= recipe.test_words:
            return number
        if page_id not in words:
            return number + max(ROUND, (recipe.test_words - total) * number // max(total, 1))
        total += words[page_id]
    return len(page_ids)


def needed(plan: Plan, split: Split, rejected: Sequence[Rejected]) -> list[Rejected]:
    """The rejected pages whose places other articles took; a count of words also meets later pages."""
    if plan.recipe.test_words is None or not split.test:
        return list(rejected)
    last = max(rank_for_test(page_id, plan.recipe.seed) for page_id in split.test)
    return [one for one in rejected if rank_for_test(one.page_id, plan.recipe.seed) < last]


def refuse_few_words(plan: Plan, split: Split, words: Mapping[int, int]) -> None:
    """Refuse a test set that has fewer words than `test_words`.

    Raises:
        BuilderError: The store has too few.
    """
    wanted = plan.recipe.test_words or 0
    found = sum(words.get(page_id, 0) for page_id in split.test)
    if found < wanted:
        kind = BuilderError if split.test else NoArticlesError
        raise kind(
            f"{plan.store}: {len(split.test):,} articles have {found:,} words; --test-words expects"
            f" {wanted:,}: fetch or import more pages, or ask for fewer words"
        )
