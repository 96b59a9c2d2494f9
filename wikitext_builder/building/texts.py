"""The text files of a dataset, and the same texts as Parquet files, from its shards.

Articles are gone through twice. First their raw text is written and their words are counted, some dozen
articles at a time, wherever the runner has room; then the vocabulary is known, and rare words become `<unk>`.
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

ENDS: Final = (".", "?", "!", "…", "。", "？", "！", "।", "؟")
ARTICLES_PER_BATCH: Final = 128  # 4 shards, some 3 MB of text


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Some consecutive articles of the dataset and the shards that have them."""

    shards: Mapping[Path, bytes]
    splits: Mapping[int, str]  # by page id, in the order in which the articles are written
    dates: Mapping[int, str]  # of creation, by page id

    def articles(self) -> Iterator[tuple[str, Article]]:
        """The articles in order, each with its split."""
        articles = {
            article.page_id: article
            for path, shard in self.shards.items()
            for article in articles_in(shard, path)
            if article.page_id in self.splits
        }
        for page_id, split in self.splits.items():
            yield split, articles[page_id]


@dataclass(slots=True, kw_only=True)
class Counted:
    """The counts of articles; more are added to them."""

    words: Counter[str] = field(default_factory=Counter)  # of train
    types: dict[str, set[str]] = field(default_factory=lambda: {"valid": set(), "test": set()})
    splits: dict[str, SplitCounts] = field(default_factory=lambda: dict.fromkeys(SPLITS, EMPTY_COUNTS))
    left_out: dict[str, LeftOutCalls] = field(default_factory=dict)  # by the name of the template
    expanded: int = 0  # template calls with a text from the store's templates
    plain_words: int = 0  # tokens of letters and digits
    ends: int = 0  # of sentences: full stops and the like

    def add(self, later: Counted) -> None:
        """Add the counts of the articles that follow."""
        self.words.update(later.words)
        self.types = {split: types | later.types[split] for split, types in self.types.items()}
        self.splits = {split: counts + later.splits[split] for split, counts in self.splits.items()}
        add_left_out(self.left_out, later.left_out)
        self.expanded += later.expanded
        self.plain_words += later.plain_words
        self.ends += later.ends

    def add_article(self, split: str, article: Article) -> None:
        """Count an article."""
        words = [word for line in article.lines for word in line.split()]
        (self.words if split == "train" else self.types[split]).update(words)
        lines = len(article.lines)
        self.splits[split] += replace(EMPTY_COUNTS, articles=1, lines=lines, tokens=lines + len(words))
        add_left_out(self.left_out, left_out_of(article))
        self.expanded += article.expanded
        self.plain_words += sum(map(str.isalnum, words))
        self.ends += sum(map(words.count, ENDS))

    def of_splits(self, unknown: Mapping[str, int]) -> dict[str, SplitCounts]:
        """How much is in each split, with the number of its unknown tokens."""
        types = {"train": self.words, **self.types}
        return {
            split: replace(counts, types=len(types[split]), unknown=unknown.get(split, 0))
            for split, counts in self.splits.items()
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """What a batch adds to the files of a dataset."""

    files: dict[str, str]  # text by the name of the file
    rows: dict[str, list[dict[str, Any]]]  # of the export of articles, by split
    counted: Counted


def texts_of(batch: Batch, language: Language, with_rows: bool) -> Texts:
    """The raw text of a batch, its rows if they are wanted, and its counts."""
    lines: dict[str, list[str]] = defaultdict(list)
    texts = Texts(files={}, rows=defaultdict(list), counted=Counted())
    for split, article in batch.articles():
        lines[_raw(split)] += map(file_line, article.lines)
        lines[ATTRIBUTION].append(Attribution.of(article, split, language).line())
        if with_rows:
            plain = PlainArticle.of(article, language, batch.dates[article.page_id])
            texts.rows[split].append(asdict(plain))
        texts.counted.add_article(split, article)
    texts.files.update({name: "".join(pieces) for name, pieces in lines.items()})
    return texts


def _raw(split: str) -> str:
    return f"wiki.{split}.raw"


def write_raw(plan: Plan, extracted: Extracted, dataset: Path, runner: Runner, progress: Progress) -> Counted:
    """Write the raw text of each split, the attribution and the export of articles; count all words."""
    splits, counted = plan.recipe.splits, Counted()
    batches = -(-len(extracted.split.page_ids) // ARTICLES_PER_BATCH)
    with ExitStack() as stack:
        names = [ATTRIBUTION, *map(_raw, splits)]
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
            for split, some in texts.rows.items():
                rows[split].add(some)
            counted.add(texts.counted)
            progress("count", done, batches)
    return counted


def _batches(plan: Plan, extracted: Extracted) -> Iterator[Batch]:
    """All articles in the order in which they are written."""
    dates = {revision.page_id: revision.created for revision in plan.revisions}
    ordered = zip(extracted.split.page_ids.tolist(), extracted.split.roles.tolist(), strict=True)
    while splits := {page_id: SPLITS[role] for page_id, role in islice(ordered, ARTICLES_PER_BATCH)}:
        paths = dict.fromkeys(extracted.shards[page_id] for page_id in splits)
        yield Batch(
            shards={path: path.read_bytes() for path in paths},
            splits=splits,
            dates={page_id: dates[page_id] for page_id in splits},
        )


def vocabulary_of(plan: Plan, counted: Counted) -> Vocabulary:
    """The vocabulary of a dataset: the frequent words of train, or all words of a set without train."""
    counts: Mapping[str, int] = counted.words
    least = plan.recipe.min_count
    if "train" not in plan.recipe.splits:
        counts, least = dict.fromkeys(counted.types["valid"] | counted.types["test"], 1), 1
    if counts.get("=", 0) < least:
        raise BuilderError(
            f"--min-count: {least}; train has `=` less often, so titles and headings would become {UNK};"
            " give a smaller number, or more articles to train"
        )
    return Vocabulary.of_counts(counts, min_count=least)


def write_tokens(dataset: Path, split: str, lines: int, vocabulary: Vocabulary, progress: Progress) -> int:
    """Write the tokens of a split, and raw text and tokens as rows; return how many tokens are unknown."""
    unknown = done = 0
    with (
        (dataset / _raw(split)).open(encoding="utf-8", newline="\n") as raw,
        _new_text(dataset / f"wiki.{split}.tokens") as tokens,
        ParquetFiles(dataset, split, TABLES["raw"]) as raw_rows,
        ParquetFiles(dataset, split, TABLES["tokens"]) as token_rows,
    ):
        while group := list(islice(raw, TABLES["raw"].rows_per_group)):
            frequent = [vocabulary.without_rare(line) for line in group]
            unknown += sum(line.split().count(UNK) for line in frequent)
            written = list(map(file_line, frequent))
            tokens.writelines(written)
            raw_rows.add([{"text": _text_of(line)} for line in group])
            token_rows.add([{"text": _text_of(line)} for line in written])
            done += len(group)
            progress(f"write {split}", done, lines)
    return unknown


def _text_of(line: str) -> str:
    r"""The row of a line: `' tokens \n'`, or `''` for a blank one, as in the WikiText of `datasets`."""
    return "" if line == " \n" else line


def _new_text(path: Path) -> TextIO:
    return path.open("w", encoding="utf-8", newline="\n")
