"""Writes the text files of a dataset, and the same texts as Parquet files, from its shards.

Two passes read the articles. The first writes their raw text and counts their words, a batch at a time, with
the runner's workers; then the vocabulary is known, and the second replaces rare words by `<unk>`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Final, TextIO

from wikitext_builder.article import SPLITS, Article
from wikitext_builder.building.card import LeftOutCalls, add_left_out, left_out_of
from wikitext_builder.building.exports import TABLES, ParquetFiles
from wikitext_builder.building.extracting import Extracted, articles_in
from wikitext_builder.building.plan import Plan
from wikitext_builder.dataset.counts import EMPTY_COUNTS, SplitCounts
from wikitext_builder.dataset.load import ARTICLES, PlainArticle
from wikitext_builder.dataset.manifest import file_line
from wikitext_builder.dataset.vocabulary import UNK, Vocabulary
from wikitext_builder.errors import BuilderError
from wikitext_builder.processes import Runner
from wikitext_builder.progress import Progress
from wikitext_builder.store.lock import ATTRIBUTION, ATTRIBUTION_HEAD, Attribution
from wikitext_builder.wiki.languages import Language

SENTENCE_ENDS: Final = (".", "?", "!", "…", "。", "？", "！", "।", "؟")
ARTICLES_PER_BATCH: Final = 128  # 4 shards, about 3 MB of text


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Consecutive articles of the dataset, and the shards that have them."""

    shards: Mapping[Path, bytes]
    splits: Mapping[int, str]  # by page id, in the order in which the articles are written
    created: Mapping[int, str]  # creation dates by page id

    def articles(self) -> Iterator[tuple[str, Article]]:
        """Yield the articles in order, each with its split."""
        articles = {
            article.page_id: article
            for path, shard in self.shards.items()
            for article in articles_in(shard, path)
            if article.page_id in self.splits
        }
        for page_id, split in self.splits.items():
            yield split, articles[page_id]


@dataclass(slots=True, kw_only=True)
class Counts:
    """Running counts of articles."""

    words: Counter[str] = field(default_factory=Counter)  # of train
    types: dict[str, set[str]] = field(default_factory=lambda: {"valid": set(), "test": set()})
    splits: dict[str, SplitCounts] = field(default_factory=lambda: dict.fromkeys(SPLITS, EMPTY_COUNTS))
    left_out: dict[str, LeftOutCalls] = field(default_factory=dict)  # by template
    expanded: int = 0  # template calls with a text from the store's templates
    plain_words: int = 0  # tokens of letters and digits
    sentence_ends: int = 0  # full stops and the like

    def add(self, later: Counts) -> None:
        """Add the counts of later articles."""
        self.words.update(later.words)
        self.types = {split: types | later.types[split] for split, types in self.types.items()}
        self.splits = {split: counts + later.splits[split] for split, counts in self.splits.items()}
        add_left_out(self.left_out, later.left_out)
        self.expanded += later.expanded
        self.plain_words += later.plain_words
        self.sentence_ends += later.sentence_ends

    def add_article(self, split: str, article: Article) -> None:
        """Count an article."""
        words = [word for line in article.lines for word in line.split()]
        (self.words if split == "train" else self.types[split]).update(words)
        lines = len(article.lines)
        self.splits[split] += replace(EMPTY_COUNTS, articles=1, lines=lines, tokens=lines + len(words))
        add_left_out(self.left_out, left_out_of(article))
        self.expanded += article.expanded
        self.plain_words += sum(map(str.isalnum, words))
        self.sentence_ends += sum(map(words.count, SENTENCE_ENDS))

    def of_splits(self, unknown: Mapping[str, int]) -> dict[str, SplitCounts]:
        """Return the counts of each split, with the given numbers of unknown tokens."""
        types = {"train": self.words, **self.types}
        return {
            split: replace(counts, types=len(types[split]), unknown=unknown.get(split, 0))
            for split, counts in self.splits.items()
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """The texts and rows that a batch adds to the files of a dataset, and its counts."""

    files: dict[str, str]  # text by file name
    rows: dict[str, list[dict[str, Any]]]  # of the export of articles, by split
    counts: Counts


def texts_of(batch: Batch, language: Language, with_rows: bool) -> Texts:
    """Return the raw text of a batch, its counts and, with `with_rows`, its rows."""
    lines: dict[str, list[str]] = defaultdict(list)
    texts = Texts(files={}, rows=defaultdict(list), counts=Counts())
    for split, article in batch.articles():
        lines[_raw_name(split)] += map(file_line, article.lines)
        lines[ATTRIBUTION].append(Attribution.of(article, split, language).line())
        if with_rows:
            plain = PlainArticle.of(article, language, batch.created[article.page_id])
            texts.rows[split].append(asdict(plain))
        texts.counts.add_article(split, article)
    texts.files.update({name: "".join(pieces) for name, pieces in lines.items()})
    return texts


def _raw_name(split: str) -> str:
    return f"wiki.{split}.raw"


def write_raw(plan: Plan, extracted: Extracted, dataset: Path, runner: Runner, progress: Progress) -> Counts:
    """Write the raw text of each split, the attribution and the export of articles; count all words."""
    splits, counts = plan.recipe.splits, Counts()
    batches = -(-len(extracted.split.page_ids) // ARTICLES_PER_BATCH)
    with ExitStack() as stack:
        names = [ATTRIBUTION, *map(_raw_name, splits)]
        files = {name: stack.enter_context(_new_text(dataset / name)) for name in names}
        files[ATTRIBUTION].write(ATTRIBUTION_HEAD)
        exported = splits if plan.recipe.articles else ()
        rows = {
            split: stack.enter_context(ParquetFiles(dataset, split, TABLES[ARTICLES])) for split in exported
        }
        results = runner.map(texts_of, _batches(plan, extracted), plan.language, plan.recipe.articles)
        for done, texts in enumerate(results, start=1):
            for name, text in texts.files.items():
                files[name].write(text)
            for split, batch_rows in texts.rows.items():
                rows[split].add(batch_rows)
            counts.add(texts.counts)
            progress("count", done, batches)
    return counts


def _batches(plan: Plan, extracted: Extracted) -> Iterator[Batch]:
    """Yield all articles in the order in which they are written."""
    created = {revision.page_id: revision.created for revision in plan.revisions}
    ordered = zip(extracted.split.page_ids.tolist(), extracted.split.roles.tolist(), strict=True)
    while splits := {page_id: SPLITS[role] for page_id, role in islice(ordered, ARTICLES_PER_BATCH)}:
        paths = dict.fromkeys(extracted.shards[page_id] for page_id in splits)
        yield Batch(
            shards={path: path.read_bytes() for path in paths},
            splits=splits,
            created={page_id: created[page_id] for page_id in splits},
        )


def vocabulary_of(plan: Plan, counts: Counts) -> Vocabulary:
    """Return the vocabulary of a dataset: the frequent words of train, or all words if it has no train."""
    word_counts: Mapping[str, int] = counts.words
    min_count = plan.recipe.min_count
    if "train" not in plan.recipe.splits:
        word_counts, min_count = dict.fromkeys(counts.types["valid"] | counts.types["test"], 1), 1
    if word_counts.get("=", 0) < min_count:
        raise BuilderError(
            f"--min-count: {min_count}; train has `=` less often, so titles and headings would become {UNK};"
            " give a smaller number, or more articles to train"
        )
    return Vocabulary.of_counts(word_counts, min_count=min_count)


def write_tokens(dataset: Path, split: str, lines: int, vocabulary: Vocabulary, progress: Progress) -> int:
    """Write the tokens of a split, and its raw text and tokens as rows; return how many are unknown."""
    unknown = done = 0
    with (
        (dataset / _raw_name(split)).open(encoding="utf-8", newline="\n") as raw,
        _new_text(dataset / f"wiki.{split}.tokens") as tokens,
        ParquetFiles(dataset, split, TABLES["raw"]) as raw_rows,
        ParquetFiles(dataset, split, TABLES["tokens"]) as token_rows,
    ):
        while group := list(islice(raw, TABLES["raw"].rows_per_group)):
            frequent = [vocabulary.without_rare(line) for line in group]
            unknown += sum(line.split().count(UNK) for line in frequent)
            token_lines = list(map(file_line, frequent))
            tokens.writelines(token_lines)
            raw_rows.add([{"text": _row_text(line)} for line in group])
            token_rows.add([{"text": _row_text(line)} for line in token_lines])
            done += len(group)
            progress(f"write {split}", done, lines)
    return unknown


def _row_text(line: str) -> str:
    r"""Return the row of a line: `' tokens \n'`, or `''` for a blank line, as `datasets` has WikiText."""
    return "" if line == " \n" else line


def _new_text(path: Path) -> TextIO:
    return path.open("w", encoding="utf-8", newline="\n")
