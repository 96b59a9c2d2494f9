"""The stages of a build in order: extract and tokenize, count, write, export, describe."""

from __future__ import annotations

import contextlib
import fcntl
import heapq
import os
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from unicodedata import unidata_version

from wikitext_builder import __version__, card
from wikitext_builder.article import Article
from wikitext_builder.corpus import (
    Manifest,
    SplitCounts,
    digest_of,
    entry_of,
    file_line,
    read_manifest,
    write_manifest,
)
from wikitext_builder.errors import BuilderError
from wikitext_builder.exports import ParquetTask, ZipTask, write_parquet, write_zip
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.recipes import Recipe
from wikitext_builder.shards import PAGES_A_SHARD, CountTask, ShardTask, count_tokens, make_shard, read_shard
from wikitext_builder.split import SPLITS, Split, choose, rank
from wikitext_builder.store import Rejected, Revision, Store
from wikitext_builder.vocabulary import UNK, Vocabulary
from wikitext_builder.workers import run

IDENTITY = "identity.txt"  # in the working folder: what is being built there


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to build, of what, into which folder."""

    recipe: Recipe
    store: Path
    out: Path
    revisions: Sequence[Revision]  # to choose from, one a page
    given_valid: frozenset[int] = frozenset()  # page ids that make up valid, instead of a choice
    given_test: frozenset[int] = frozenset()
    workers: int = 1

    @property
    def work(self) -> Path:
        """Where the dataset grows until it is whole."""
        return self.out.with_name(f".{self.out.name}.partial")


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


@dataclass(frozen=True, slots=True)
class _Extracted:
    split: Split
    rounds: tuple[tuple[Path, ...], ...]  # shards, each round in the order of ranks
    pages: int
    wikitext_bytes: int


def build(plan: Plan, progress: Progress = no_progress) -> BuildReport:
    """Make a dataset.

    It grows in `.NAME.partial` beside `plan.out` and is renamed when whole; the same call goes on with a
    build that was killed.

    Raises:
        BuilderError: Nothing can be built of this, or `plan.out` holds something else.
    """
    identity = _identity(plan)
    if built := _built_already(plan.out, identity):
        return BuildReport(manifest=built, already_built=True)
    with _disk_errors(plan.out), _working_folder(plan, identity) as found:
        clock = _StageClock()
        extracted = _extract(plan, progress)
        clock.stage("extract")
        counts = _count(plan, extracted, progress)
        vocabulary = Vocabulary.of_counts(counts["train"], min_count=plan.recipe.min_count)
        clock.stage("count")
        dataset = plan.work / "dataset"
        shutil.rmtree(dataset, ignore_errors=True)
        dataset.mkdir()
        summary = _write(plan, extracted, vocabulary, counts, dataset, progress)
        clock.stage("write")
        _export(plan.recipe, summary.splits, dataset, plan.workers, progress)
        clock.stage("export")
        manifest = _describe(plan, identity, len(vocabulary), summary, dataset)
        clock.stage("describe")
        _sync(dataset)
        dataset.rename(plan.out)
    return BuildReport(
        manifest=manifest,
        shards_found=found,
        pages=extracted.pages,
        wikitext_bytes=extracted.wikitext_bytes,
        rejected=Counter(one.reason for one in summary.rejected),
        left_out=summary.left_out,
        seconds=clock.seconds,
    )


class _StageClock:
    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.perf_counter()

    def stage(self, name: str) -> None:
        now = time.perf_counter()
        self.seconds[name], self._last = now - self._last, now


# --- what is being built


@dataclass(frozen=True, slots=True)
class _Identity:
    recipe: Recipe
    source: str
    versions: dict[str, str]

    def digest(self) -> str:
        return digest_of([str(sorted(asdict(self).items()))])


def _identity(plan: Plan) -> _Identity:
    """All that decides the dataset's bytes."""
    if not plan.revisions:
        raise BuilderError(
            f"{plan.store}: no pages of {plan.recipe.language!r} to build from;"
            " `wikitext-builder status` says what is there"
        )
    with Store.open(plan.store) as store:
        expansions = store.expansions_digest(plan.recipe.language)
    rows = sorted(f"{r.page_id}\t{r.revision_id}\t{r.sha1}\t{r.title}" for r in plan.revisions)
    given = [f"valid {sorted(plan.given_valid)}", f"test {sorted(plan.given_test)}"]
    packages = ("mwparserfromhell", "pyarrow", "regex", "sacremoses")
    versions = {name: version(name) for name in packages}
    versions |= {"wikitext-builder": __version__, "unicode": unidata_version}
    source = digest_of([*rows, *given, expansions])
    return _Identity(plan.recipe, source, versions)


def _built_already(out: Path, identity: _Identity) -> Manifest | None:
    if not out.exists():
        return None
    manifest = read_manifest(out) if out.is_dir() else None
    if manifest and _Identity(manifest.recipe, manifest.source, manifest.versions) == identity:
        return manifest
    found = "another dataset" if manifest else "something that is no dataset of ours"
    raise BuilderError(f"{out}: holds {found}; name another folder or remove this one")


@contextlib.contextmanager
def _working_folder(plan: Plan, identity: _Identity) -> Iterator[int]:
    """Make or find the working folder, hold it alone, and clear it away after success.

    Yields:
        How many shards an interrupted build of the very same dataset has left in it.
    """
    plan.work.mkdir(parents=True, exist_ok=True)
    with (plan.work / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BuilderError(f"{plan.work}: another build is at work there; wait for it") from error
        note, shards = plan.work / IDENTITY, plan.work / "shards"
        if not note.exists() or note.read_text() != identity.digest():
            shutil.rmtree(shards, ignore_errors=True)
            note.write_text(identity.digest())
        shards.mkdir(exist_ok=True)
        for part in shards.glob("*.part"):
            part.unlink()
        yield sum(1 for _ in shards.iterdir())
        shutil.rmtree(plan.work)


@contextlib.contextmanager
def _disk_errors(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BuilderError(
            f"{error.filename or out}: {error.strerror or error}; see to the disk (space, rights), then run"
            " the same command again: it goes on where it stopped"
        ) from error


def _sync(folder: Path) -> None:
    """Bring all to the disk before the rename that says it is there."""
    for path in [*folder.rglob("*"), folder]:
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)


# --- stages


def _extract(plan: Plan, progress: Progress) -> _Extracted:
    """Extract the pages that the split needs, in rounds: a rejected page is replaced by the next one."""
    recipe = plan.recipe
    revision_ids = {revision.page_id: revision.revision_id for revision in plan.revisions}
    usable, done, rounds, size = set(revision_ids), set[int](), list[tuple[Path, ...]](), 0
    while True:
        split = choose(
            usable,
            train=recipe.train_articles,
            valid=recipe.valid_articles,
            test=recipe.test_articles,
            seed=recipe.seed,
            given_valid=plan.given_valid & usable,
            given_test=plan.given_test & usable,
        )
        todo = [page_id for page_id in split.roles() if page_id not in done]
        if not todo:
            return _Extracted(split, tuple(rounds), len(done), size)
        todo.sort(key=lambda page_id: rank(page_id, recipe.seed))
        tasks = [
            _shard_task(plan, [revision_ids[page_id] for page_id in todo[start : start + PAGES_A_SHARD]])
            for start in range(0, len(todo), PAGES_A_SHARD)
        ]
        rounds.append(tuple(task.path for task in tasks))
        total, before = len(done) + len(todo), len(done)
        for result in run(make_shard, tasks, workers=plan.workers):
            before += len(result.task.revision_ids)
            usable.difference_update(result.rejected)
            size += result.wikitext_bytes
            rejected = len(revision_ids) - len(usable)
            progress("extract", before, total, f"{rejected} rejected" if rejected else "")
        done.update(todo)


def _shard_task(plan: Plan, revision_ids: list[int]) -> ShardTask:
    name = digest_of(map(str, revision_ids))[:24]
    return ShardTask(
        store=plan.store,
        language=plan.recipe.language,
        sections=plan.recipe.sections,
        revision_ids=tuple(revision_ids),
        path=plan.work / "shards" / f"{name}.jsonl.zst",
    )


def _count(plan: Plan, extracted: _Extracted, progress: Progress) -> dict[str, Counter[str]]:
    """How often each token occurs in each part."""
    roles = extracted.split.roles()
    tasks = [CountTask(path=path, roles=roles) for shards in extracted.rounds for path in shards]
    counts: dict[str, Counter[str]] = {name: Counter() for name in SPLITS}
    for done, result in enumerate(run(count_tokens, tasks, workers=plan.workers), start=1):
        for name, counter in result.items():
            counts[name].update(counter)
        progress("count", done, len(tasks))
    return counts


@dataclass(frozen=True, slots=True)
class _Written:
    splits: dict[str, SplitCounts]
    rejected: list[Rejected]
    left_out: Counter[str]


def _write(
    plan: Plan,
    extracted: _Extracted,
    vocabulary: Vocabulary,
    counts: dict[str, Counter[str]],
    dataset: Path,
    progress: Progress,
) -> _Written:
    """Write the raw files, those with rare words replaced, and who wrote the articles, in one pass."""
    roles = extracted.split.roles()
    rejected: list[Rejected] = []
    left_out: Counter[str] = Counter()
    articles, lines, unknown = Counter[str](), Counter[str](), Counter[str]()
    with contextlib.ExitStack() as stack:
        raw, tokens = (
            {
                name: stack.enter_context(
                    (dataset / f"wiki.{name}.{kind}").open("w", encoding="utf-8", newline="\n")
                )
                for name in SPLITS
            }
            for kind in ("raw", "tokens")
        )
        attribution = stack.enter_context(
            (dataset / card.ATTRIBUTION).open("w", encoding="utf-8", newline="\n")
        )
        attribution.write(card.attribution_head())
        for record in _records(extracted, plan.recipe.seed):
            if isinstance(record, Rejected):
                rejected.append(record)
                continue
            name = roles.get(record.page_id)
            if name is None:  # extracted in an earlier round, and no longer chosen
                continue
            known = [vocabulary.without_rare(line) for line in record.lines]
            raw[name].writelines(map(file_line, record.lines))
            tokens[name].writelines(map(file_line, known))
            attribution.write(card.attribution_line(record, name, plan.recipe.language))
            left_out.update(map(card.template_name, record.left_out))
            articles[name] += 1
            lines[name] += len(known)
            unknown[name] += sum(line.split().count(UNK) for line in known)
            progress("write", articles.total(), len(roles))
    splits = {
        name: SplitCounts(
            articles=articles[name],
            lines=lines[name],
            tokens=counts[name].total() + lines[name],
            unknown=unknown[name],
            types=len(counts[name]),
        )
        for name in SPLITS
    }
    return _Written(splits, rejected, left_out)


def _records(extracted: _Extracted, seed: str) -> Iterator[Article | Rejected]:
    """All that was extracted, in the order of ranks, whichever round it is of."""

    def one_round(shards: Sequence[Path]) -> Iterator[Article | Rejected]:
        for path in shards:
            yield from read_shard(path)

    return heapq.merge(*map(one_round, extracted.rounds), key=lambda record: rank(record.page_id, seed))


def _export(
    recipe: Recipe, splits: dict[str, SplitCounts], dataset: Path, workers: int, progress: Progress
) -> None:
    """Write the archives and the parquet shards from the text files."""
    zips = [
        ZipTask(
            sources=tuple(dataset / f"wiki.{name}.{kind}" for name in SPLITS),
            folder=f"{recipe.name}{suffix}",
            path=dataset / f"{recipe.name}{suffix}-v1.zip",
        )
        for kind, suffix in (("tokens", ""), ("raw", "-raw"))
    ]
    parquets = []
    for kind in ("tokens", "raw"):
        (dataset / "parquet" / kind).mkdir(parents=True)
        for name in SPLITS:
            source, folder = dataset / f"wiki.{name}.{kind}", dataset / "parquet" / kind
            parquets.append(ParquetTask(source=source, split=name, lines=splits[name].lines, folder=folder))
    total = len(zips) + len(parquets)
    # What is small is done here: starting processes would take longer.
    workers = workers if sum(counts.tokens for counts in splits.values()) > 5_000_000 else 1
    for done, _ in enumerate(run(write_zip, zips, workers=workers), start=1):
        progress("export", done, total)
    for done, _ in enumerate(run(write_parquet, parquets, workers=workers), start=len(zips) + 1):
        progress("export", done, total)


def _describe(plan: Plan, identity: _Identity, types: int, written: _Written, dataset: Path) -> Manifest:
    """Write what was rejected and left out, the card, and the manifest last."""
    card.write_rejected(dataset, written.rejected)
    card.write_left_out(dataset, written.left_out)
    card.write_card(dataset, plan.recipe, written.splits, types)
    paths = sorted(path for path in dataset.rglob("*") if path.is_file())
    manifest = Manifest(
        recipe=identity.recipe,
        source=identity.source,
        versions=identity.versions,
        vocabulary=types,
        splits=written.splits,
        files={path.relative_to(dataset).as_posix(): entry_of(path) for path in paths},
    )
    write_manifest(dataset, manifest)
    return manifest
