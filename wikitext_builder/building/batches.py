"""Batches: consecutive articles of the dataset, whose words are counted and whose lines are written.

Words are counted batch by batch and distributed over partitions by a hash of the word. Then each partition is
added up by itself: the counts are exact, and memory holds one batch or one partition at a time.
"""

from __future__ import annotations

import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import accumulate, zip_longest
from typing import TypeVar

import msgspec
import zstandard

from wikitext_builder.article import SPLITS, Article
from wikitext_builder.building.shards import read_shard
from wikitext_builder.dataset.counts import NOTHING, SplitCounts
from wikitext_builder.dataset.manifest import file_line
from wikitext_builder.dataset.plain import ARTICLES, PlainArticle
from wikitext_builder.dataset.vocabulary import UNK, Vocabulary
from wikitext_builder.errors import BuilderError
from wikitext_builder.extraction.macros.parser_functions import call_name
from wikitext_builder.runners import blobs
from wikitext_builder.store.lock import ATTRIBUTION, Attribution
from wikitext_builder.wiki.languages import Language

Kind = TypeVar("Kind")

ARTICLES_PER_BATCH = 512  # 16 shards, some 10 MB of text
EXAMPLES = 5  # titles per template: enough to look it up, and few enough for any number of pages


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Some consecutive articles of the dataset and the shards that hold them."""

    shards: tuple[str, ...]
    page_ids: tuple[int, ...]  # in the order in which they are written
    splits: tuple[str, ...]  # train, valid or test, for each page
    location: str  # of its results, to which each function adds a suffix of its own
    dates: Mapping[int, str]  # of creation, by page id; empty if no article needs them

    def articles(self) -> Iterator[tuple[str, Article]]:
        """The articles in order, each with its split."""
        wanted = set(self.page_ids)
        records = (record for shard in self.shards for record in read_shard(shard))
        found = {one.page_id: one for one in records if isinstance(one, Article) and one.page_id in wanted}
        for page_id, split in zip(self.page_ids, self.splits, strict=True):
            yield split, found[page_id]


def damaged(location: str, found: object) -> BuilderError:
    """The error that an intermediate result is not what was written."""
    return BuilderError(
        f"{location}: damaged ({found}); remove the folder {location.rpartition('/')[0]} and build again"
    )


def _decoded(location: str, kind: type[Kind]) -> Kind:
    try:
        return msgspec.json.decode(blobs.read(location), type=kind)
    except msgspec.DecodeError as error:
        raise damaged(location, error) from error


# --- counting


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchCounts:
    """Where the counts of a batch's train words are: a section of a file per partition."""

    location: str = ""  # empty as it is stored: another run can reach it by another path
    ends: tuple[int, ...]  # of the sections, in bytes
    types: dict[str, list[str]]  # of valid and test, which have few articles

    def section(self, partition: int) -> Counter[str]:
        """The counts of the words of one partition."""
        start = self.ends[partition - 1] if partition else 0
        data = blobs.read(self.location, start, self.ends[partition])
        try:
            lines = zstandard.decompress(data).decode().split("\n")[:-1]
            return Counter({word: int(count) for count, word in (line.split(" ", 1) for line in lines)})
        except (zstandard.ZstdError, ValueError) as error:
            raise damaged(self.location, error) from error


def count_words(batch: Batch, *, partitions: int) -> BatchCounts:
    """Count the words of a batch, unless that is already done."""
    location = f"{batch.location}.counts"
    if not blobs.exists(f"{location}.json"):
        words, types = Counter[str](), {name: set[str]() for name in SPLITS if name != "train"}
        for split, article in batch.articles():
            for line in article.lines:
                (words if split == "train" else types[split]).update(line.split())
        sections = _sections(words, partitions)
        ends = accumulate(map(len, sections))
        blobs.write(location, b"".join(sections))
        rare = {name: sorted(names) for name, names in types.items()}
        blobs.write(f"{location}.json", msgspec.json.encode(BatchCounts(ends=tuple(ends), types=rare)))
    return replace(_decoded(f"{location}.json", BatchCounts), location=location)


def _sections(counts: Counter[str], partitions: int) -> list[bytes]:
    parts: list[list[str]] = [[] for _ in range(partitions)]
    for word, count in sorted(counts.items()):
        parts[zlib.crc32(word.encode()) % partitions].append(f"{count} {word}\n")
    return [zstandard.compress("".join(lines).encode(), level=3) for lines in parts]


def add_up(partition: int, *, counts: Sequence[BatchCounts], min_count: int) -> tuple[dict[str, int], int]:
    """Add up one partition over all batches: the words that occur often enough, and how many types it has."""
    total: Counter[str] = Counter()
    for one in counts:
        total.update(one.section(partition))
    return {word: count for word, count in total.items() if count >= min_count}, len(total)


# --- calls without a text


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOutCalls:
    """The calls of one template that have no text in the dataset."""

    calls: int
    pages: int  # how many have such a call
    examples: tuple[str, ...]  # titles of the first of them in the order of the dataset
    reasons: Mapping[str, int] = field(default_factory=dict)  # why the store's templates do not give it
    cuts: Mapping[str, int] = field(default_factory=dict)  # what went with them

    def __add__(self, later: LeftOutCalls) -> LeftOutCalls:
        """The calls of these pages and of later ones."""
        return LeftOutCalls(
            calls=self.calls + later.calls,
            pages=self.pages + later.pages,
            examples=(*self.examples, *later.examples)[:EXAMPLES],
            reasons=dict(Counter(self.reasons) + Counter(later.reasons)),
            cuts=dict(Counter(self.cuts) + Counter(later.cuts)),
        )


def left_out_of(article: Article) -> dict[str, LeftOutCalls]:
    """The calls that an article leaves out, by template."""
    found: dict[str, list[tuple[str, str]]] = {}
    for call, reason, cut in zip_longest(article.left_out, article.reasons, article.cuts, fillvalue=""):
        found.setdefault(call_name(call), []).append((reason, cut))
    return {
        name: LeftOutCalls(
            calls=len(calls),
            pages=1,
            examples=(article.title,),
            reasons=dict(Counter(reason for reason, _ in calls if reason)),
            cuts=dict(Counter(cut for _, cut in calls if cut)),
        )
        for name, calls in found.items()
    }


def all_left_out(parts: Iterable[Mapping[str, LeftOutCalls]]) -> dict[str, LeftOutCalls]:
    """The calls of all parts, which are in the order of the dataset, by template."""
    total: dict[str, LeftOutCalls] = {}
    for part in parts:
        for name, calls in part.items():
            total[name] = total[name] + calls if name in total else calls
    return total


# --- writing


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenBatch:
    """What was written for a batch: a piece of each file, and the counts of it."""

    location: str = ""  # of the batch; empty as it is stored
    pieces: dict[str, int]  # of which files of the dataset it has a piece, of so many bytes
    counts: dict[str, SplitCounts]  # without types, which only all batches together have
    expanded: int  # template calls with a text from the store's templates

    def piece(self, name: str) -> str:
        """The location of the piece of a file, by its name in the dataset."""
        return f"{self.location}.{name.replace('/', '.')}"

    def left_out(self) -> dict[str, LeftOutCalls]:
        """The template calls without a text, by name; read each time, because all of them are many."""
        return _decoded(f"{self.location}.left_out.json", dict[str, LeftOutCalls])


def write_batch(batch: Batch, *, vocabulary: str, language: Language, articles: bool) -> WrittenBatch:
    """Write a batch's pieces of the dataset's files, unless that is done already.

    `vocabulary` is the location of `pack_vocabulary`'s result; with `articles` there is plain text too.
    """
    location = f"{batch.location}.batch.json"
    if not blobs.exists(location):
        written = _write(batch, _vocabulary(vocabulary), language, articles)
        blobs.write(location, msgspec.json.encode(replace(written, location="")))
    return replace(_decoded(location, WrittenBatch), location=batch.location)


def _write(batch: Batch, vocabulary: Vocabulary, language: Language, articles: bool) -> WrittenBatch:
    files: dict[str, list[str]] = defaultdict(list)
    counts = dict.fromkeys(SPLITS, NOTHING)
    left_out: list[dict[str, LeftOutCalls]] = []
    expanded = 0
    for split, article in batch.articles():
        known = [vocabulary.without_rare(line) for line in article.lines]
        files[f"wiki.{split}.raw"] += map(file_line, article.lines)
        files[f"wiki.{split}.tokens"] += map(file_line, known)
        files[ATTRIBUTION].append(Attribution.of(article, split, language).line())
        if articles:
            plain = PlainArticle.of(article, language, batch.dates[article.page_id])
            files[f"{ARTICLES}/{split}.jsonl"].append(plain.json_line())
        left_out.append(left_out_of(article))
        expanded += article.expanded
        words = [line.split() for line in known]
        counts[split] += SplitCounts(
            articles=1,
            lines=len(known),
            tokens=len(known) + sum(map(len, words)),
            unknown=sum(line.count(UNK) for line in words),
            types=0,
        )
    pieces = {name: "".join(lines).encode() for name, lines in files.items()}
    sizes = {name: len(data) for name, data in pieces.items()}
    written = WrittenBatch(location=batch.location, pieces=sizes, counts=counts, expanded=expanded)
    for name, data in pieces.items():
        blobs.write(written.piece(name), data)
    blobs.write(f"{batch.location}.left_out.json", msgspec.json.encode(all_left_out(left_out)))
    return written


def pack_vocabulary(vocabulary: Vocabulary, location: str) -> None:
    """Write a vocabulary where `write_batch` finds it."""
    blobs.write(location, "\n".join(vocabulary.tokens).encode())


@lru_cache(maxsize=1)  # a worker writes many batches with one vocabulary
def _vocabulary(location: str) -> Vocabulary:
    return Vocabulary(tuple(blobs.read(location).decode().split("\n")))
