"""The stages of a build: extract, count, write, and, after the export, finish.

A split that is smaller than asked for is a warning; a dataset without a train set, or with fewer words than
`test_words`, is an error.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from wikitext_builder.article import SPLITS
from wikitext_builder.building.batches import (
    ARTICLES_PER_BATCH,
    Batch,
    WrittenBatch,
    add_up,
    count_words,
    pack_vocabulary,
    write_batch,
)
from wikitext_builder.building.croissant import write_croissant
from wikitext_builder.building.exports import Entries
from wikitext_builder.building.plan import Identity, Plan
from wikitext_builder.building.shards import PAGES_PER_SHARD, ShardTask, make_shard, packed
from wikitext_builder.building.work_folder import sync
from wikitext_builder.dataset.counts import SplitCounts
from wikitext_builder.dataset.manifest import CROISSANT, Manifest, entry_of, write_manifest
from wikitext_builder.dataset.recipes import Recipe, Split, choose, in_order, rank_for_test
from wikitext_builder.dataset.vocabulary import UNK, Vocabulary
from wikitext_builder.errors import BuilderError
from wikitext_builder.hashing import lines_sha256
from wikitext_builder.pages.store import Rejected, Revision, Store
from wikitext_builder.progress import Progress, reported
from wikitext_builder.runners import blobs
from wikitext_builder.runners.processes import Runner

LOG = logging.getLogger(__name__)
PAGES_PER_PARTITION = 50_000  # they have about a million types, which fit into a worker's memory
ROUND: Final = 256  # articles whose words are counted first; later rounds go by the mean of these


# --- extract


@dataclass(frozen=True, slots=True)
class Extracted:
    """The pages that went in, and those that did not."""

    split: Split
    shards: dict[int, str]  # page id: location of its shard
    rejected: list[Rejected]
    pages: int
    wikitext_bytes: int


def extract_pages(plan: Plan, location: str, runner: Runner, progress: Progress, found: int) -> Extracted:
    """Extract the pages that the split needs, in rounds: the next page replaces a rejected one.

    `found` is the number of shards that another build, stopped or running, has made.
    """
    places = {revision.page_id: place for place, revision in enumerate(plan.revisions)}  # they are packed
    shards, rejected, size, done = dict[int, str](), list[Rejected](), 0, 0
    words = dict[int, int]()  # by page id, if the recipe counts them
    while True:
        split = _choose(plan, places.keys() - {one.page_id for one in rejected}, words)
        todo = in_order((one for one in split.roles() if one not in shards), plan.recipe.seed)
        if not todo:
            refuse_few_words(plan, split, words)
            return Extracted(split, shards, needed(plan, split, rejected), done, size)
        tasks = []
        for start in range(0, len(todo), PAGES_PER_SHARD):
            page_ids = todo[start : start + PAGES_PER_SHARD]
            tasks.append(_shard_task(plan, location, [plan.revisions[places[one]] for one in page_ids]))
            shards.update(dict.fromkeys(page_ids, tasks[-1].location))
        if found and not done:
            progress("extract", 0, len(shards), f"resumes: {found:,} shards are already done")
        for result in runner.map(make_shard, tasks):
            done += result.pages
            size += result.wikitext_bytes
            rejected += result.rejected
            words |= result.words
            for one in result.rejected:
                LOG.info("rejected %s: %s, %s", one.title, one.reason, one.detail)
            progress("extract", done, len(shards), f"{len(rejected)} rejected" if rejected else "")
        tasks.clear()  # they have all titles, and the next choice needs that memory


def _choose(plan: Plan, usable: set[int], words: Mapping[int, int]) -> Split:
    recipe = plan.recipe
    return choose(
        usable,
        train=recipe.train_articles,
        # if given articles were rejected, others do not take their places
        valid=0 if plan.given_valid else recipe.valid_articles,
        test=0 if plan.given_test else test_size(recipe, usable, words),
        seed=recipe.seed,
        given_valid=plan.given_valid & usable,
        given_test=plan.given_test & usable,
    )


def _shard_task(plan: Plan, location: str, revisions: list[Revision]) -> ShardTask:
    revision_ids = tuple(one.revision_id for one in revisions)
    task = ShardTask(
        store=str(plan.store.resolve()),
        language=plan.language,
        recipe=plan.recipe,
        as_of=plan.as_of,
        revision_ids=revision_ids,
        titles=tuple(one.title for one in revisions),
        location=f"{location}/shards/{lines_sha256(map(str, revision_ids))[:24]}.jsonl.zst",
    )
    return packed(task, location) if blobs.is_url(location) else task


def batches_of(plan: Plan, extracted: Extracted, location: str) -> list[Batch]:
    """All articles in the order in which they are written, in batches of some hundreds."""
    roles = extracted.split.roles()
    order = in_order(roles, plan.recipe.seed)
    dates = (one for one in plan.revisions if one.created or one.promoted)
    known = {one.page_id: (one.created, one.promoted) for one in dates}
    batches = []
    for start in range(0, len(order), ARTICLES_PER_BATCH):
        page_ids = order[start : start + ARTICLES_PER_BATCH]
        splits = [roles[page_id] for page_id in page_ids]
        name = lines_sha256(f"{page_id} {roles[page_id]}" for page_id in page_ids)[:24]
        shards = dict.fromkeys(extracted.shards[page_id] for page_id in page_ids)
        batches.append(
            Batch(
                shards=tuple(shards),
                page_ids=tuple(page_ids),
                splits=tuple(splits),
                location=f"{location}/batches/{name}",
                dates={page_id: known[page_id] for page_id in page_ids if page_id in known},
            )
        )
    return batches


# --- count and write


def count_batches(
    plan: Plan, batches: list[Batch], runner: Runner, progress: Progress
) -> tuple[Vocabulary, dict[str, int]]:
    """The vocabulary, and how many types each split has."""
    partitions = 1 + sum(len(batch.page_ids) for batch in batches) // PAGES_PER_PARTITION
    done, total = len(batches), len(batches) + partitions
    results = runner.map(partial(count_words, partitions=partitions), batches)
    counts = list(reported(results, "count", progress, total))
    words = {name: set[str]().union(*(one.types[name] for one in counts)) for name in ("valid", "test")}
    types = {"train": 0} | {name: len(one) for name, one in words.items()}
    frequent, least = dict[str, int](), plan.recipe.min_count
    if "train" not in plan.recipe.splits:  # every word of the set is in the vocabulary
        frequent, least = dict.fromkeys(words["valid"] | words["test"], 1), 1
    sums = runner.map(partial(add_up, counts=counts, min_count=plan.recipe.min_count), range(partitions))
    for often, different in reported(sums, "count", progress, total, before=done):
        types["train"] += different
        frequent |= often
    if "=" not in frequent:
        raise BuilderError(
            f"--min-count: {least}; train has `=` less often, so titles and headings would become {UNK};"
            " give a smaller number, or more articles to train"
        )
    return Vocabulary.of_counts(frequent, min_count=least), types


def write_batches(
    plan: Plan,
    batches: list[Batch],
    vocabulary: Vocabulary,
    location: str,
    runner: Runner,
    progress: Progress,
) -> list[WrittenBatch]:
    """Write the pieces of every batch; the results are in the order of the batches."""
    where = f"{location}/vocabulary.txt"
    pack_vocabulary(vocabulary, where)
    language, articles = plan.language, bool(plan.recipe.articles)
    write = partial(write_batch, vocabulary=where, language=language, articles=articles)
    results = reported(runner.map(write, batches), "write", progress, len(batches))
    written = {one.location: one for one in results}
    return [written[batch.location] for batch in batches]


# --- finish


def finish(
    plan: Plan,
    identity: Identity,
    splits: dict[str, SplitCounts],
    types: int,
    entries: Entries,
    dataset: Path,
    days: Sequence[str],
) -> Manifest:
    """Write the manifest last, bring everything to the disk, and give the dataset its name."""
    paths = sorted(path for path in dataset.rglob("*") if path.is_file())
    manifest = Manifest(
        recipe=identity.recipe,
        source=identity.source,
        versions=identity.versions,
        templates=identity.templates,
        vocabulary=types,
        splits=splits,
        files={path.relative_to(dataset).as_posix(): entries.get(path) or entry_of(path) for path in paths},
    )
    write_croissant(dataset, plan, manifest, days)
    manifest = replace(manifest, files=manifest.files | {CROISSANT: entry_of(dataset / CROISSANT)})
    write_manifest(dataset, manifest)
    sync(dataset)
    dataset.rename(plan.out)
    return manifest


# --- how large splits are


class NoArticlesError(BuilderError):
    """All pages were rejected."""


def warnings_of(plan: Plan, splits: Mapping[str, SplitCounts]) -> Iterator[str]:
    """Say which splits are smaller than asked for, and how many pages have no HTML: nobody should miss it."""
    if plan.recipe.source == "rendered":
        with Store.open(plan.store) as store:
            sha1s = store.rendered_sha1s(plan.recipe.language)
        if missing := sum(not sha1s.get(one.revision_id) for one in plan.revisions):
            yield (
                f"{missing:,} of {len(plan.revisions):,} pages have no HTML in {plan.store}, so their lines"
                " come from wikitext; `fetch --rendered` or an HTML snapshot brings it"
            )
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
    """Refuse to write a dataset whose first split is empty: without train it has no vocabulary."""
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

    With `test_words` it is the smallest number that has these words. `words` has those of extracted pages: if
    these are too few, it is a guess that names at least one page that is not extracted.
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
    """Refuse a test set that has fewer words than `test_words`."""
    wanted = plan.recipe.test_words or 0
    found = sum(words.get(page_id, 0) for page_id in split.test)
    if found < wanted:
        kind = BuilderError if split.test else NoArticlesError
        raise kind(
            f"{plan.store}: {len(split.test):,} articles have {found:,} words; --test-words expects"
            f" {wanted:,}: fetch or import more pages, or ask for fewer words"
        )
