"""Batches: consecutive articles of the dataset, whose words are counted and whose lines are written.

Words are counted batch by batch and distributed over partitions by a hash of the word. Then each partition is
added up by itself: the counts are exact, and memory holds one batch or one partition at a time.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import zstandard

from wikitext_builder.article import SPLITS, Article
from wikitext_builder.building.card import LeftOutCalls, add_left_out, left_out_of
from wikitext_builder.building.shards import read_shard
from wikitext_builder.dataset.files import file_line
from wikitext_builder.dataset.manifest import SplitCounts
from wikitext_builder.dataset.plain import ARTICLES, PlainArticle
from wikitext_builder.dataset.vocabulary import UNK, Vocabulary
from wikitext_builder.pages.attribution import ATTRIBUTION, Attribution
from wikitext_builder.runners import blobs

ARTICLES_PER_BATCH = 512  # 16 shards, some 10 MB of text


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Some consecutive articles of the dataset and the shards that hold them."""

    shards: tuple[str, ...]
    page_ids: tuple[int, ...]  # in the order in which they are written
    splits: tuple[str, ...]  # train, valid or test, for each page
    location: str  # of its results, to which each function adds a suffix of its own


def articles_of(batch: Batch) -> Iterator[tuple[str, Article]]:
    """The articles of a batch in order, each with its split."""
    wanted = set(batch.page_ids)
    records = (record for shard in batch.shards for record in read_shard(shard))
    articles = {
        record.page_id: record
        for record in records
        if isinstance(record, Article) and record.page_id in wanted
    }
    for page_id, split in zip(batch.page_ids, batch.splits, strict=True):
        yield split, articles[page_id]


# --- counting


@dataclass(frozen=True, slots=True, kw_only=True)
class CountTask:
    """A batch whose words are counted, and the number of partitions."""

    batch: Batch
    partitions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchCounts:
    """Where the counts of a batch's train words are: a section of a file per partition."""

    location: str
    ends: tuple[int, ...]  # of the sections, in bytes
    types: dict[str, list[str]]  # of valid and test, which have few articles

    def section(self, partition: int) -> Counter[str]:
        """The counts of the words of one partition."""
        start = self.ends[partition - 1] if partition else 0
        return _unpack(blobs.read(self.location, start, self.ends[partition]))


def count_words(task: CountTask) -> BatchCounts:
    """Count the words of a batch, unless that is done already."""
    location = f"{task.batch.location}.counts"
    if not blobs.exists(f"{location}.json"):
        words, types = Counter[str](), {name: set[str]() for name in SPLITS if name != "train"}
        for split, article in articles_of(task.batch):
            for line in article.lines:
                (words if split == "train" else types[split]).update(line.split())
        sections = [_pack(part) for part in _partition(words, task.partitions)]
        ends = [sum(map(len, sections[: index + 1])) for index in range(len(sections))]
        blobs.write(location, b"".join(sections))
        found = {"ends": ends, "types": {name: sorted(names) for name, names in types.items()}}
        blobs.write(f"{location}.json", json.dumps(found).encode())
    found = json.loads(blobs.read(f"{location}.json"))
    return BatchCounts(location=location, ends=tuple(found["ends"]), types=found["types"])


def _partition(counts: Counter[str], partitions: int) -> list[dict[str, int]]:
    parts: list[dict[str, int]] = [{} for _ in range(partitions)]
    for word, count in counts.items():
        parts[zlib.crc32(word.encode()) % partitions][word] = count
    return parts


def _pack(counts: dict[str, int]) -> bytes:
    lines = (f"{count} {word}\n" for word, count in sorted(counts.items()))
    return zstandard.compress("".join(lines).encode(), level=3)


def _unpack(data: bytes) -> Counter[str]:
    lines = zstandard.decompress(data).decode().split("\n")[:-1]
    return Counter({word: int(count) for count, word in (line.split(" ", 1) for line in lines)})


@dataclass(frozen=True, slots=True, kw_only=True)
class AddTask:
    """A partition whose counts are added up."""

    counts: tuple[BatchCounts, ...]
    partition: int
    min_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionTotal:
    """The totals of a partition."""

    frequent: dict[str, int]  # words that occur often enough
    types: int  # all of its words


def add_up(task: AddTask) -> PartitionTotal:
    """Add up the counts of one partition over all batches."""
    total: Counter[str] = Counter()
    for counts in task.counts:
        total.update(counts.section(task.partition))
    frequent = {word: count for word, count in total.items() if count >= task.min_count}
    return PartitionTotal(frequent=frequent, types=len(total))


# --- writing


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteTask:
    """A batch to write with the words of a vocabulary."""

    batch: Batch
    vocabulary: str  # location of `pack_vocabulary`'s result
    language: str
    articles: bool = False  # write them as plain text too


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenBatch:
    """What was written for a batch: a piece of each file, and the counts of it."""

    location: str  # of the batch
    names: tuple[str, ...]  # of the files of the dataset that it has a piece of
    counts: dict[str, SplitCounts]  # without types, which only all batches together have
    expanded: int  # template calls with a text from the store's templates

    @property
    def pieces(self) -> dict[str, str]:
        """The location of the piece of each file, by its name in the dataset."""
        return {name: f"{self.location}.{name.replace('/', '.')}" for name in self.names}

    def left_out(self) -> dict[str, LeftOutCalls]:
        """The template calls without a text, by name; read each time, because all of them are many."""
        found = json.loads(blobs.read(f"{self.location}.left_out.json"))
        return {name: LeftOutCalls(**fields) for name, fields in found.items()}


def write_batch(task: WriteTask) -> WrittenBatch:
    """Write a batch's pieces of the dataset's files, unless that is done already."""
    location = f"{task.batch.location}.batch.json"
    if not blobs.exists(location):
        stored = asdict(_write(task))
        del stored["location"]  # another run can reach it by another path
        blobs.write(location, json.dumps(stored, ensure_ascii=False).encode())
    found: dict[str, Any] = json.loads(blobs.read(location))
    return WrittenBatch(
        location=task.batch.location,
        names=tuple(found["names"]),
        counts={name: SplitCounts(**fields) for name, fields in found["counts"].items()},
        expanded=found["expanded"],
    )


def _write(task: WriteTask) -> WrittenBatch:
    vocabulary = _vocabulary(task.vocabulary)
    files: dict[str, list[str]] = {}
    sums = {name: Counter[str]() for name in SPLITS}
    left_out: dict[str, LeftOutCalls] = {}
    expanded = 0
    for split, article in articles_of(task.batch):
        known = [vocabulary.without_rare(line) for line in article.lines]
        files.setdefault(f"wiki.{split}.raw", []).extend(map(file_line, article.lines))
        files.setdefault(f"wiki.{split}.tokens", []).extend(map(file_line, known))
        files.setdefault(ATTRIBUTION, []).append(Attribution.of(article, split, task.language).line())
        if task.articles:
            row = PlainArticle.of(article, task.language).json_line()
            files.setdefault(f"{ARTICLES}/{split}.jsonl", []).append(row)
        add_left_out(left_out, left_out_of(article))
        expanded += article.expanded
        words = [line.split() for line in known]
        sums[split].update(
            articles=1,
            lines=len(known),
            tokens=len(known) + sum(map(len, words)),
            unknown=sum(line.count(UNK) for line in words),
        )
    written = WrittenBatch(
        location=task.batch.location,
        names=tuple(files),
        counts={name: _split_counts(total) for name, total in sums.items()},
        expanded=expanded,
    )
    for name, location in written.pieces.items():
        blobs.write(location, "".join(files[name]).encode())
    calls = {name: asdict(found) for name, found in left_out.items()}
    blobs.write(f"{task.batch.location}.left_out.json", json.dumps(calls, ensure_ascii=False).encode())
    return written


def _split_counts(total: Counter[str]) -> SplitCounts:
    return SplitCounts(
        articles=total["articles"],
        lines=total["lines"],
        tokens=total["tokens"],
        unknown=total["unknown"],
        types=0,
    )


def pack_vocabulary(vocabulary: Vocabulary, location: str) -> None:
    """Write a vocabulary where `write_batch` finds it."""
    blobs.write(location, "\n".join(vocabulary.tokens).encode())


@lru_cache(maxsize=1)  # a worker writes many batches with one vocabulary
def _vocabulary(location: str) -> Vocabulary:
    return Vocabulary(tuple(blobs.read(location).decode().split("\n")))


def added(counts: Iterable[SplitCounts], types: int) -> SplitCounts:
    """The sum of the counts of a split's pieces; the number of types is given."""
    counts = list(counts)
    return SplitCounts(
        articles=sum(one.articles for one in counts),
        lines=sum(one.lines for one in counts),
        tokens=sum(one.tokens for one in counts),
        unknown=sum(one.unknown for one in counts),
        types=types,
    )
