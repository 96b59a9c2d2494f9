"""The stages of a build in order: extract, count, render, join, export, describe."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from wikitext_builder.building import card
from wikitext_builder.building.batches import (
    PAGES_A_GROUP,
    AddTask,
    CountTask,
    Group,
    Rendered,
    RenderTask,
    add_up,
    added,
    count_words,
    pack_vocabulary,
    render,
)
from wikitext_builder.building.exports import Entries, JoinTask, ParquetTask, ZipTask, export, join_pieces
from wikitext_builder.building.plan import (
    Identity,
    Plan,
    built_already,
    disk_errors,
    identity_of,
    sync,
    working_folder,
)
from wikitext_builder.building.shards import PAGES_A_SHARD, ShardTask, make_shard, pack_pages
from wikitext_builder.dataset.manifest import Manifest, SplitCounts, entry_of, write_manifest
from wikitext_builder.dataset.split import SPLITS, Split, choose, rank
from wikitext_builder.dataset.vocabulary import Vocabulary
from wikitext_builder.hashing import lines_sha256
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.runners import blobs
from wikitext_builder.runners.processes import Runner, Serial
from wikitext_builder.store.store import Rejected

PAGES_A_PARTITION = 50_000  # so many bring about a million types, which a worker's memory holds easily


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildReport:
    """What a build did; its times are of this run and stand in no file of the dataset."""

    manifest: Manifest
    already_built: bool = False
    shards_found: int = 0  # that an interrupted run had made
    pages: int = 0  # extracted, rejected ones included
    wikitext_bytes: int = 0  # extracted in this run
    rejected: Counter[str] = field(default_factory=Counter)  # pages by reason
    left_out: Counter[str] = field(default_factory=Counter)  # template calls without a text, by name
    seconds: dict[str, float] = field(default_factory=dict)  # by stage


def build(
    plan: Plan, progress: Progress = no_progress, *, runner: Runner | None = None, here: Runner | None = None
) -> BuildReport:
    """Make a dataset.

    It grows in `.NAME.partial` beside `plan.out` and is renamed when whole; the same call goes on with a
    build that was killed. Its bytes do not depend on the runners.

    Args:
        plan: What to build.
        progress: Hears how far it is.
        runner: Runs the stages that may run on other machines.
        here: Runs the stages that write the dataset's own files, on this machine.

    Raises:
        BuilderError: Nothing can be built of this, or `plan.out` holds something else.
    """
    runner, here = runner or Serial(), here or runner or Serial()
    identity = identity_of(plan)
    if built := built_already(plan.out, identity):
        return BuildReport(manifest=built, already_built=True)
    with disk_errors(plan.out), working_folder(plan, identity) as location:
        found = blobs.count_files(f"{location}/shards")
        clock = _StageClock()
        extracted = _extract(plan, location, runner, progress)
        groups = _groups(plan, extracted, location)
        clock.stage("extract")
        vocabulary, types = _count(plan, groups, runner, progress)
        clock.stage("count")
        rendered = _render(plan, groups, vocabulary, location, runner, progress)
        clock.stage("render")
        dataset = plan.work / "dataset"
        entries = _join(rendered, dataset, here, progress)
        clock.stage("join")
        splits = {name: added((one.counts[name] for one in rendered), types[name]) for name in SPLITS}
        entries |= _export(plan, splits, dataset, here, progress)
        clock.stage("export")
        left_out = sum((Counter(one.left_out) for one in rendered), Counter[str]())
        _describe(plan, splits, len(vocabulary), extracted.rejected, left_out, dataset)
        manifest = _finish(plan, identity, splits, len(vocabulary), entries, dataset)
        clock.stage("describe")
    return BuildReport(
        manifest=manifest,
        shards_found=found,
        pages=extracted.pages,
        wikitext_bytes=extracted.wikitext_bytes,
        rejected=Counter(one.reason for one in extracted.rejected),
        left_out=left_out,
        seconds=clock.seconds,
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


def _extract(plan: Plan, location: str, runner: Runner, progress: Progress) -> _Extracted:
    """Extract the pages that the split needs, in rounds: a rejected page is replaced by the next one."""
    revision_ids = {revision.page_id: revision.revision_id for revision in plan.revisions}
    shards, rejected, size, done = dict[int, str](), list[Rejected](), 0, 0
    while True:
        split = _choose(plan, set(revision_ids) - {one.page_id for one in rejected})
        todo = [page_id for page_id in split.roles() if page_id not in shards]
        if not todo:
            return _Extracted(split, shards, rejected, done, size)
        todo.sort(key=lambda page_id: rank(page_id, plan.recipe.seed))
        tasks = []
        for start in range(0, len(todo), PAGES_A_SHARD):
            page_ids = todo[start : start + PAGES_A_SHARD]
            tasks.append(_shard_task(plan, location, [revision_ids[page_id] for page_id in page_ids]))
            shards.update(dict.fromkeys(page_ids, tasks[-1].location))
        for result in runner.map(make_shard, tasks):
            done += result.pages
            size += result.wikitext_bytes
            rejected += result.rejected
            progress("extract", done, len(shards), f"{len(rejected)} rejected" if rejected else "")


def _choose(plan: Plan, usable: set[int]) -> Split:
    recipe = plan.recipe
    return choose(
        usable,
        train=recipe.train_articles,
        # where all given articles were rejected, others do not take their places
        valid=0 if plan.given_valid else recipe.valid_articles,
        test=0 if plan.given_test else recipe.test_articles,
        seed=recipe.seed,
        given_valid=plan.given_valid & usable,
        given_test=plan.given_test & usable,
    )


def _shard_task(plan: Plan, location: str, revision_ids: list[int]) -> ShardTask:
    name = lines_sha256(map(str, revision_ids))[:24]
    task = ShardTask(
        store=str(plan.store.resolve()),
        language=plan.recipe.language,
        sections=plan.recipe.sections,
        source=plan.recipe.source,
        revision_ids=tuple(revision_ids),
        location=f"{location}/shards/{name}.jsonl.zst",
    )
    if not blobs.is_url(location):
        return task
    pages = f"{location}/pages/{name}.jsonl.zst"
    pack_pages(task, pages)
    return replace(task, store=pages)


def _groups(plan: Plan, extracted: _Extracted, location: str) -> list[Group]:
    """All articles in the order in which they are written, some hundred at a time."""
    roles = extracted.split.roles()
    order = sorted(roles, key=lambda page_id: (rank(page_id, plan.recipe.seed), page_id))
    groups = []
    for start in range(0, len(order), PAGES_A_GROUP):
        page_ids = order[start : start + PAGES_A_GROUP]
        splits = [roles[page_id] for page_id in page_ids]
        name = lines_sha256(f"{page_id} {roles[page_id]}" for page_id in page_ids)[:24]
        shards = dict.fromkeys(extracted.shards[page_id] for page_id in page_ids)
        groups.append(
            Group(
                shards=tuple(shards),
                page_ids=tuple(page_ids),
                splits=tuple(splits),
                location=f"{location}/groups/{name}",
            )
        )
    return groups


# --- count and render


def _count(
    plan: Plan, groups: list[Group], runner: Runner, progress: Progress
) -> tuple[Vocabulary, dict[str, int]]:
    """The vocabulary, and how many types each split has."""
    partitions = 1 + sum(len(group.page_ids) for group in groups) // PAGES_A_PARTITION
    tasks = [CountTask(group=group, partitions=partitions) for group in groups]
    counts = []
    for result in runner.map(count_words, tasks):
        counts.append(result)
        progress("count", len(counts), len(tasks) + partitions)
    additions = [
        AddTask(counts=tuple(counts), partition=index, min_count=plan.recipe.min_count)
        for index in range(partitions)
    ]
    types = {name: len(set().union(*(one.types[name] for one in counts))) for name in ("valid", "test")}
    types["train"], frequent = 0, dict[str, int]()
    for done, total in enumerate(runner.map(add_up, additions), start=len(tasks) + 1):
        types["train"] += total.types
        frequent |= total.frequent
        progress("count", done, len(tasks) + partitions)
    return Vocabulary.of_counts(frequent, min_count=plan.recipe.min_count), types


def _render(
    plan: Plan,
    groups: list[Group],
    vocabulary: Vocabulary,
    location: str,
    runner: Runner,
    progress: Progress,
) -> list[Rendered]:
    """Write each group's pieces of the files; the results are in the order of the groups."""
    where = f"{location}/vocabulary.txt"
    pack_vocabulary(vocabulary, where)
    tasks = [RenderTask(group=group, vocabulary=where, language=plan.recipe.language) for group in groups]
    rendered: dict[str, Rendered] = {}
    for result in runner.map(render, tasks):
        rendered[result.location] = result
        progress("render", len(rendered), len(tasks))
    return [rendered[group.location] for group in groups]


# --- the dataset's own files


def _join(rendered: list[Rendered], dataset: Path, here: Runner, progress: Progress) -> Entries:
    """Put the text files together from their pieces."""
    shutil.rmtree(dataset, ignore_errors=True)
    dataset.mkdir()
    heads = {f"wiki.{split}.{kind}": "" for split in SPLITS for kind in ("raw", "tokens")}
    heads[card.ATTRIBUTION] = card.attribution_head()
    tasks = []
    for name, head in heads.items():
        pieces = tuple(one.pieces[name] for one in rendered if name in one.pieces)
        tasks.append(JoinTask(head=head, pieces=pieces, path=dataset / name))
    return _written(here.map(join_pieces, tasks), len(tasks), "join", progress)


def _export(
    plan: Plan, splits: dict[str, SplitCounts], dataset: Path, here: Runner, progress: Progress
) -> Entries:
    """Write the archives and the parquet shards from the text files, the largest first."""
    parquets = []
    for kind in ("tokens", "raw"):
        folder = dataset / "parquet" / kind
        folder.mkdir(parents=True)
        for name in SPLITS:
            source = dataset / f"wiki.{name}.{kind}"
            parquets.append(ParquetTask(source=source, split=name, lines=splits[name].lines, folder=folder))
    parquets.sort(key=lambda task: -task.lines)
    zips = [
        ZipTask(
            sources=tuple(dataset / f"wiki.{name}.{kind}" for name in SPLITS),
            folder=f"{plan.recipe.name}{suffix}",
            path=dataset / f"{plan.recipe.name}{suffix}-v1.zip",
        )
        for kind, suffix in (("tokens", ""), ("raw", "-raw"))
    ]
    tasks: list[ZipTask | ParquetTask] = [*parquets, *zips]
    return _written(here.map(export, tasks), len(tasks), "export", progress)


def _written(results: Iterator[Entries], total: int, stage: str, progress: Progress) -> Entries:
    entries: Entries = {}
    for done, written in enumerate(results, start=1):
        entries |= written
        progress(stage, done, total)
    return entries


def _describe(
    plan: Plan,
    splits: dict[str, SplitCounts],
    types: int,
    rejected: list[Rejected],
    left_out: Counter[str],
    dataset: Path,
) -> None:
    """Write what was rejected and left out, and the card."""
    card.write_rejected(dataset, rejected)
    card.write_left_out(dataset, left_out)
    card.write_card(dataset, plan.recipe, splits, types)


def _finish(
    plan: Plan,
    identity: Identity,
    splits: dict[str, SplitCounts],
    types: int,
    entries: Entries,
    dataset: Path,
) -> Manifest:
    """Write the manifest last, bring all to the disk, and give the dataset its name."""
    paths = sorted(path for path in dataset.rglob("*") if path.is_file())
    manifest = Manifest(
        recipe=identity.recipe,
        source=identity.source,
        versions=identity.versions,
        vocabulary=types,
        splits=splits,
        files={path.relative_to(dataset).as_posix(): entries.get(path) or entry_of(path) for path in paths},
    )
    write_manifest(dataset, manifest)
    sync(dataset)
    dataset.rename(plan.out)
    return manifest
