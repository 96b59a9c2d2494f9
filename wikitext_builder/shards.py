"""Shards: pages of the store as tokenized articles, in one file that is there whole or not at all."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import zstandard

from wikitext_builder.article import Article, Page, heading_level
from wikitext_builder.errors import BuilderError, RejectedError
from wikitext_builder.extract import extract
from wikitext_builder.store import Rejected, Store
from wikitext_builder.tokenizer import tokenize
from wikitext_builder.workers import time_limit

PAGES_A_SHARD = 32  # about 2 MB of wikitext: seconds of work, and little is lost when a worker dies
SECONDS_A_PAGE = (
    10.0  # the last resort; extraction itself refuses by structure, which no machine's speed moves
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardTask:
    """Which pages become which file, and how."""

    store: Path
    language: str
    sections: str
    revision_ids: tuple[int, ...]
    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardResult:
    """What became of a shard's pages."""

    task: ShardTask
    rejected: tuple[int, ...]  # page ids
    wikitext_bytes: int  # 0 where the file was there already


def make_shard(task: ShardTask) -> ShardResult:
    """Extract and tokenize the pages of a task into its file, unless that is there already."""
    size = 0
    if not task.path.exists():
        part = task.path.with_suffix(f".{os.getpid()}.part")
        with part.open("wb") as raw, zstandard.ZstdCompressor(level=3).stream_writer(raw) as file:
            with Store.open(task.store) as store:
                for page in store.pages(task.language, task.revision_ids):
                    size += len(page.wikitext.encode())
                    expansions = store.expansions(task.language, page.revision_id)
                    record = _record(page, task, expansions)
                    file.write((json.dumps(record, ensure_ascii=False) + "\n").encode())
            file.flush(zstandard.FLUSH_FRAME)
            os.fsync(raw.fileno())
        part.replace(task.path)
    rejected = tuple(one.page_id for one in read_shard(task.path) if isinstance(one, Rejected))
    return ShardResult(task=task, rejected=rejected, wikitext_bytes=size)


def _record(page: Page, task: ShardTask, expansions: dict[str, str]) -> dict[str, Any]:
    """An article, or why there is none: a page that breaks our code must not break the build."""
    try:
        with time_limit(SECONDS_A_PAGE):
            article = extract(page, language=task.language, sections=task.sections, expansions=expansions)
            article = tokenize(article, language=task.language)
        if any(line and not heading_level(line) for line in article.lines):
            return asdict(article)
        reason, detail = "no-text", "nothing but headings is left of it"
    except RejectedError as error:
        reason, detail = error.reason, error.detail
    except Exception as error:  # whatever it is, it is written out with the page's name
        reason, detail = "extraction-failed", f"{type(error).__name__}: {error}; please report it"
    return asdict(
        Rejected(
            title=page.title,
            page_id=page.page_id,
            revision_id=page.revision_id,
            reason=reason,
            detail=detail,
        )
    )


def read_shard(path: Path) -> Iterator[Article | Rejected]:
    """What a shard holds, in order.

    Raises:
        BuilderError: The file is damaged.
    """
    try:
        with zstandard.open(path, "rt", encoding="utf-8", newline="\n") as file:
            for line in file:
                record = json.loads(line)
                if "reason" in record:
                    yield Rejected(**record)
                else:
                    record["lines"], record["left_out"] = tuple(record["lines"]), tuple(record["left_out"])
                    yield Article(**record)
    except (zstandard.ZstdError, ValueError, TypeError, KeyError) as error:
        raise BuilderError(f"{path}: damaged ({error}); remove it and run the same command again") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class CountTask:
    """A shard, and the part of each of its pages that is used."""

    path: Path
    roles: dict[int, str]


def count_tokens(task: CountTask) -> dict[str, Counter[str]]:
    """How often each token occurs in a shard's articles, by part, without `<eos>`."""
    counts: dict[str, Counter[str]] = {}
    for article in read_shard(task.path):
        if isinstance(article, Article) and article.page_id in task.roles:
            counter = counts.setdefault(task.roles[article.page_id], Counter())
            for line in article.lines:
                counter.update(line.split())
    return counts
