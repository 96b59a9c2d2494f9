"""The stages of a build: extract, count, write, and, after the export, finish.

A split that is smaller than asked for is a warning; a dataset without a train set, or with fewer words than
`test_words`, is an error.
"""

from __future__ import annotations

import ctypes
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

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
from wikitext_builder.building.splits import Integers, Split, choose, rank_for_test
from wikitext_builder.building.work_folder import sync
from wikitext_builder.dataset.counts import SplitCounts
from wikitext_builder.dataset.manifest import CROISSANT, Manifest, entry_of, write_manifest
from wikitext_builder.dataset.recipes import Recipe
from wikitext_builder.dataset.vocabulary import UNK, Vocabulary
from wikitext_builder.errors import BuilderError
from wikitext_builder.hashing import lines_sha256
from wikitext_builder.progress import Progress, reported
from wikitext_builder.runners import blobs
from wikitext_builder.runners.processes import Made, Runner
from wikitext_builder.store.rows import Rejected
from wikitext_builder.store.store import Store

LOG = logging.getLogger(__name__)
PAGES_PER_PARTITION = 50_000  # they have about a million types, which fit into a worker's memory
ROUND: Final = 256  # articles whose words are counted first; later rounds go by the mean of these


# --- extract


@dataclass(frozen=True, slots=True)
class Extracted:
    """The pages that went in, and those that did not."""

    split: Split
    places: Integers  # in the plan's revisions, of each page of the split
    shards: Integers  # the number of the shard of each page
    locations: list[str]  # of the shards, by number
    rejected: list[Rejected]
    pages: int
    wikitext_bytes: int


def extract_pages(plan: Plan, location: str, runner: Runner, progress: Progress, found: int) -> Extracted:
    """Extract the pages that the split needs, in rounds: the next page replaces a rejected one.

    `found` is the number of shards that another build, stopped or running, has made.
    """
    # Per page there are small numbers only; what else is known of it is read from the plan when it is needed.
    pages = np.fromiter((one.page_id for one in plan.revisions), np.int64, len(plan.revisions))
    by_id, shards = np.argsort(pages).astype(np.int32), np.full(len(pages), -1, np.int32)
    locations, rejected, size, done = list[str](), list[Rejected](), 0, 0
    words = dict[int, int]()  # by page id, if the recipe counts them
    while True:
        usable = pages[~np.isin(pages, [one.page_id for one in rejected])]
        split = choose(
            usable,
            train=plan.recipe.train_articles,
            valid=plan.recipe.valid_articles,
            test=test_size(plan.recipe, usable, words),
            seed=plan.recipe.seed,
            given_valid=plan.given_valid,
            given_test=plan.given_test,
        )
        places = by_id[np.searchsorted(pages, split.page_ids, sorter=by_id)]
        todo = places[shards[places] < 0]
        if not len(todo):
            refuse_few_words(plan, split, words)
            rejected = needed(plan, split, rejected)
            return Extracted(split, places, shards[places], locations, rejected, done, size)
        shards[todo] = len(locations) + np.arange(len(todo)) // PAGES_PER_SHARD
        starts = range(0, len(todo), PAGES_PER_SHARD)
        new = [_shard_location(plan, location, todo[start : start + PAGES_PER_SHARD]) for start in starts]
        locations += new
        tasks = Made(len(starts), partial(_shard_task, plan, location, todo, new))
        del usable
        give_memory_back()
        total = int(np.count_nonzero(shards >= 0))
        if found and not done:
            progress("extract", 0, total, f"resumes: {found:,} shards are already done")
        for result in runner.map(make_shard, tasks):
            done += result.pages
            size += result.wikitext_bytes
            rejected += result.rejected
            words |= result.words
            for one in result.rejected:
                LOG.info("rejected %s: %s, %s", one.title, one.reason, one.detail)
            progress("extract", done, total, f"{len(rejected)} rejected" if rejected else "")


def _shard_location(plan: Plan, location: str, places: Integers) -> str:
    names = (str(plan.revisions[place].revision_id) for place in places)
    return f"{location}/shards/{lines_sha256(names)[:24]}.jsonl.zst"


def _shard_task(plan: Plan, location: str, todo: Integers, shards: Sequence[str], number: int) -> ShardTask:
    """One of the tasks of a round: its part of the places in the plan's revisions, and its shard."""
    part = todo[number * PAGES_PER_SHARD : (number + 1) * PAGES_PER_SHARD]
    revisions = [plan.revisions[place] for place in part]
    task = ShardTask(
        store=str(plan.store.resolve()),
        language=plan.language,
        recipe=plan.recipe,
        as_of=plan.as_of,
        revision_ids=tuple(one.revision_id for one in revisions),
        titles=tuple(one.title for one in revisions),
        location=shards[number],
    )
    return packed(task, location) if blobs.is_url(location) else task


def batches_of(plan: Plan, extracted: Extracted, location: str) -> Made[Batch]:
    """All articles in the order in which they are written, in batches of some hundreds."""

    def batch(number: int) -> Batch:
        part = slice(number * ARTICLES_PER_BATCH, (number + 1) * ARTICLES_PER_BATCH)
        page_ids = extracted.split.page_ids[part].tolist()
        splits = [SPLITS[role] for role in extracted.split.roles[part]]
        names = (f"{page_id} {split}" for page_id, split in zip(page_ids, splits, strict=True))
        dates = {}
        if plan.recipe.articles:
            revisions = (plan.revisions[place] for place in extracted.places[part])
            dates = {one.page_id: one.created for one in revisions}
        return Batch(
            shards=tuple(extracted.locations[shard] for shard in dict.fromkeys(extracted.shards[part])),
            page_ids=tuple(page_ids),
            splits=tuple(splits),
            location=f"{location}/batches/{lines_sha256(names)[:24]}",
            dates=dates,
        )

    return Made(-(-len(extracted.split.page_ids) // ARTICLES_PER_BATCH), batch)


def give_memory_back() -> None:
    """Return to the system what glibc keeps of the arrays of a choice: 100 MB for a million pages."""
    with suppress(AttributeError, OSError, TypeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)


# --- count and write


def count_batches(
    plan: Plan, batches: Sequence[Batch], pages: int, runner: Runner, progress: Progress
) -> tuple[Vocabulary, dict[str, int]]:
    """The vocabulary, and how many types each split has, of so many pages in batches."""
    partitions = 1 + pages // PAGES_PER_PARTITION
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
    batches: Sequence[Batch],
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
            with_html = {number for number, sha1 in sha1s if sha1}
        if missing := sum(one.revision_id not in with_html for one in plan.revisions):
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
    sizes = {name: len(split.of(name)) for name in SPLITS}
    if sizes[first]:
        return
    articles = sum(sizes.values())
    advice = "fetch or import more pages"
    if articles >= len(SPLITS):  # ten parts for train and one each for valid and test, as in WikiText-2
        share = max(1, articles // 12)
        advice += f", or use --valid-articles {share} and --test-articles {share}"
    kind = BuilderError if articles else NoArticlesError
    raise kind(
        f"{plan.store}: {articles:,} articles ({rejected:,} pages were rejected) are too few for"
        f" {plan.recipe.name}:"
        f" valid takes {sizes['valid']:,}, test {sizes['test']:,}, and none is left for {first}; {advice}"
    )


def test_size(recipe: Recipe, usable: Integers, words: Mapping[int, int]) -> int | None:
    """How many articles test gets; None: all.

    With `test_words` it is the smallest number that has these words. `words` has those of extracted pages: if
    these are too few, it is a guess that names at least one page that is not extracted.
    """
    if recipe.test_words is None:
        return recipe.test_articles
    page_ids, total = usable.tolist(), 0
    for number, page_id in enumerate(sorted(page_ids, key=lambda one: rank_for_test(one, recipe.seed))):
        if total >= recipe.test_words:
            return number
        if page_id not in words:
            return number + max(ROUND, (recipe.test_words - total) * number // max(total, 1))
        total += words[page_id]
    return len(page_ids)


def needed(plan: Plan, split: Split, rejected: Sequence[Rejected]) -> list[Rejected]:
    """The rejected pages whose places other articles took; a count of words also meets later pages."""
    test = split.of("test").tolist()
    if plan.recipe.test_words is None or not test:
        return list(rejected)
    last = max(rank_for_test(page_id, plan.recipe.seed) for page_id in test)
    return [one for one in rejected if rank_for_test(one.page_id, plan.recipe.seed) < last]


def refuse_few_words(plan: Plan, split: Split, words: Mapping[int, int]) -> None:
    """Refuse a test set that has fewer words than `test_words`."""
    wanted = plan.recipe.test_words or 0
    test = split.of("test").tolist()
    found = sum(words.get(page_id, 0) for page_id in test)
    if found < wanted:
        kind = BuilderError if test else NoArticlesError
        raise kind(
            f"{plan.store}: {len(test):,} articles have {found:,} words; --test-words expects"
            f" {wanted:,}: fetch or import more pages, or ask for fewer words"
        )
