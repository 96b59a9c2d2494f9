"""The stages of a build in order: extract, count, write, join, export, describe."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from wikitext_builder.article import SPLITS
from wikitext_builder.building import card
from wikitext_builder.building.batches import (
    ARTICLES_PER_BATCH,
    AddTask,
    Batch,
    CountTask,
    WriteTask,
    WrittenBatch,
    add_up,
    added,
    count_words,
    pack_vocabulary,
    write_batch,
)
from wikitext_builder.building.exports import Entries, export_files, join_files
from wikitext_builder.building.plan import (
    NO_TEXT,
    Identity,
    Plan,
    built_already,
    disk_errors,
    identity_of,
    remove_leftovers,
    sync,
    working_folder,
)
from wikitext_builder.building.rebuild import write_source
from wikitext_builder.building.shards import PAGES_PER_SHARD, ShardTask, make_shard, pack_pages
from wikitext_builder.building.sizes import (
    needed,
    refuse_empty_train,
    refuse_few_words,
    small_splits,
    test_size,
)
from wikitext_builder.building.templates import pack_templates
from wikitext_builder.dataset.manifest import Manifest, SplitCounts, entry_of, write_manifest
from wikitext_builder.dataset.split import Split, choose, rank
from wikitext_builder.dataset.vocabulary import Vocabulary
from wikitext_builder.hashing import lines_sha256
from wikitext_builder.pages.store import Rejected, Revision
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.runners import blobs
from wikitext_builder.runners.processes import Runner, Serial
from wikitext_builder.text_overlap.result import Overlap

LOG = logging.getLogger(__name__)
PAGES_PER_PARTITION = 50_000  # they have about a million types, which fit into a worker's memory


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildReport:
    """What a build did. Times and sizes are of this run; no file of the dataset has them."""

    manifest: Manifest
    already_built: bool = False
    shards_found: int = 0  # of pages, which another build of the same dataset had made
    pages: int = 0  # extracted, rejected ones included
    wikitext_bytes: int = 0  # extracted in this run
    older: int = 0  # revisions that were not used, because newer ones of the same pages were
    rejected: dict[str, int] = field(default_factory=dict)  # pages by reason
    left_out: dict[str, int] = field(default_factory=dict)  # template calls without a text, by name
    left_out_reasons: dict[str, int] = field(default_factory=dict)  # why, if the store has templates
    expanded: int = 0  # template calls with a text from the store's templates
    seconds: dict[str, float] = field(default_factory=dict)  # by stage
    overlap: Overlap | None = None  # with other text, if it was compared in this run
    warnings: tuple[str, ...] = ()  # splits that are smaller than the recipe or the given titles ask for


def carry_out(
    plan: Plan, progress: Progress = no_progress, *, runner: Runner | None = None, here: Runner | None = None
) -> BuildReport:
    """Build the dataset of a plan.

    It grows in `.NAME.partial` beside `plan.out` and is renamed when it is complete; the same call resumes a
    build that was killed. The bytes do not depend on the runners.

    Args:
        plan: What to build.
        progress: Is called as the build proceeds.
        runner: Runs the stages that can run on other machines.
        here: Runs the stages that write the dataset's own files, on this machine.

    Raises:
        BuilderError: There is nothing to build from, or `plan.out` holds something else.
    """
    runner, here = runner or Serial(), here or runner or Serial()
    identity = identity_of(plan)
    if built := built_already(plan.out, identity):
        remove_leftovers(plan, identity)
        warnings = tuple(small_splits(plan, built.splits))
        return BuildReport(manifest=built, already_built=True, older=plan.older, warnings=warnings)
    with disk_errors(plan.out), working_folder(plan, identity) as location:
        found = blobs.count_files(f"{location}/shards")
        clock = _StageClock()
        extracted = _extract(plan, location, runner, progress, found)
        batches = _batches(plan, extracted, location)
        refuse_empty_train(plan, extracted.split, len(extracted.rejected))
        clock.stage("extract")
        vocabulary, types = _count(plan, batches, runner, progress)
        clock.stage("count")
        written = _write(plan, batches, vocabulary, location, runner, progress)
        clock.stage("write")
        dataset = plan.work / "dataset"
        entries = join_files(plan, written, dataset, here, progress)
        clock.stage("join")
        splits = {name: added((one.counts[name] for one in written), types[name]) for name in SPLITS}
        entries |= export_files(plan, written, location, dataset, (runner, here), progress)
        clock.stage("export")
        left_out = card.all_left_out(one.left_out() for one in written)
        _describe(plan, splits, len(vocabulary), extracted.rejected, left_out, dataset)
        empty = any(one.reason == NO_TEXT for one in extracted.rejected)
        if not left_out and not empty and not any(one.expanded for one in written):
            identity = replace(identity, templates="")  # the dataset does not depend on them
        manifest = _finish(plan, identity, splits, len(vocabulary), entries, dataset)
        clock.stage("describe")
    return BuildReport(
        manifest=manifest,
        shards_found=found,
        pages=extracted.pages,
        wikitext_bytes=extracted.wikitext_bytes,
        older=plan.older,
        rejected=dict(Counter(one.reason for one in extracted.rejected)),
        left_out={name: one.calls for name, one in left_out.items()},
        left_out_reasons=card.reasons_of(left_out),
        expanded=sum(one.expanded for one in written),
        seconds=clock.seconds,
        warnings=tuple(small_splits(plan, splits)),
    )


class _StageClock:
    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def stage(self, name: str) -> None:
        now = time.perf_counter()
        self.seconds[name], self._last = now - self._last, now


# --- extract


@dataclass(frozen=True, slots=True)
class _Extracted:
    split: Split
    shards: dict[int, str]  # page id: location of its shard
    rejected: list[Rejected]
    pages: int
    wikitext_bytes: int


def _extract(plan: Plan, location: str, runner: Runner, progress: Progress, found: int) -> _Extracted:
    """Extract the pages that the split needs, in rounds: the next page replaces a rejected one.

    `found` is the number of shards that another build, stopped or running, has made.
    """
    revisions = {revision.page_id: revision for revision in plan.revisions}
    shards, rejected, size, done = dict[int, str](), list[Rejected](), 0, 0
    words = dict[int, int]()  # by page id, if the recipe counts them
    while True:
        split = _choose(plan, set(revisions) - {one.page_id for one in rejected}, words)
        todo = [page_id for page_id in split.roles() if page_id not in shards]
        if not todo:
            refuse_few_words(plan, split, words)
            return _Extracted(split, shards, needed(plan, split, rejected), done, size)
        todo.sort(key=lambda page_id: rank(page_id, plan.recipe.seed))
        tasks = []
        for start in range(0, len(todo), PAGES_PER_SHARD):
            page_ids = todo[start : start + PAGES_PER_SHARD]
            tasks.append(_shard_task(plan, location, [revisions[page_id] for page_id in page_ids]))
            shards.update(dict.fromkeys(page_ids, tasks[-1].location))
        if found and not done:
            progress("extract", 0, len(shards), f"resumes: {found:,} shards are there already")
        for result in runner.map(make_shard, tasks):
            done += result.pages
            size += result.wikitext_bytes
            rejected += result.rejected
            words |= result.words
            for one in result.rejected:
                LOG.info("rejected %s: %s, %s", one.title, one.reason, one.detail)
            progress("extract", done, len(shards), f"{len(rejected)} rejected" if rejected else "")


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
    name = lines_sha256(map(str, revision_ids))[:24]
    task = ShardTask(
        store=str(plan.store.resolve()),
        language=plan.recipe.language,
        sections=plan.recipe.sections,
        source=plan.recipe.source,
        as_of=plan.as_of,
        revision_ids=revision_ids,
        titles=tuple(one.title for one in revisions),
        location=f"{location}/shards/{name}.jsonl.zst",
        plain=bool(plan.recipe.articles),
        count=plan.recipe.test_words is not None,
    )
    if not blobs.is_url(location):
        return task
    pages, templates = f"{location}/pages/{name}.jsonl.zst", f"{location}/templates"
    pack_pages(task, pages)
    packed = pack_templates(plan.store, templates, language=task.language, as_of=task.as_of)
    return replace(task, store=pages, templates=packed)


def _batches(plan: Plan, extracted: _Extracted, location: str) -> list[Batch]:
    """All articles in the order in which they are written, in batches of some hundreds."""
    roles = extracted.split.roles()
    order = sorted(roles, key=lambda page_id: (rank(page_id, plan.recipe.seed), page_id))
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
            )
        )
    return batches


# --- count and write


def _count(
    plan: Plan, batches: list[Batch], runner: Runner, progress: Progress
) -> tuple[Vocabulary, dict[str, int]]:
    """The vocabulary, and how many types each split has."""
    partitions = 1 + sum(len(batch.page_ids) for batch in batches) // PAGES_PER_PARTITION
    tasks = [CountTask(batch=batch, partitions=partitions) for batch in batches]
    counts = []
    for result in runner.map(count_words, tasks):
        counts.append(result)
        progress("count", len(counts), len(tasks) + partitions)
    additions = [
        AddTask(counts=tuple(counts), partition=index, min_count=plan.recipe.min_count)
        for index in range(partitions)
    ]
    words = {name: set[str]().union(*(one.types[name] for one in counts)) for name in ("valid", "test")}
    types = {"train": 0} | {name: len(one) for name, one in words.items()}
    frequent, least = dict[str, int](), plan.recipe.min_count
    if "train" not in plan.recipe.splits:  # every word of the set is in the vocabulary
        frequent, least = dict.fromkeys(words["valid"] | words["test"], 1), 1
    for done, total in enumerate(runner.map(add_up, additions), start=len(tasks) + 1):
        types["train"] += total.types
        frequent |= total.frequent
        progress("count", done, len(tasks) + partitions)
    return Vocabulary.of_counts(frequent, min_count=least), types


def _write(
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
    language, articles = plan.recipe.language, bool(plan.recipe.articles)
    tasks = [
        WriteTask(batch=batch, vocabulary=where, language=language, articles=articles) for batch in batches
    ]
    written: dict[str, WrittenBatch] = {}
    for result in runner.map(write_batch, tasks):
        written[result.location] = result
        progress("write", len(written), len(tasks))
    return [written[batch.location] for batch in batches]


# --- describe


def _describe(
    plan: Plan,
    splits: dict[str, SplitCounts],
    types: int,
    rejected: list[Rejected],
    left_out: dict[str, card.LeftOutCalls],
    dataset: Path,
) -> None:
    """Write the lock file, the lists of what was rejected and left out, and the card."""
    write_source(dataset, plan)
    card.write_rejected(dataset, rejected)
    card.write_left_out(dataset, left_out)
    card.write_card(dataset, plan, splits, types)


def _finish(
    plan: Plan,
    identity: Identity,
    splits: dict[str, SplitCounts],
    types: int,
    entries: Entries,
    dataset: Path,
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
    write_manifest(dataset, manifest)
    sync(dataset)
    dataset.rename(plan.out)
    return manifest
