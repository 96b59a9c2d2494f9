"""How much of each article of a dataset also stands in other text.

The dataset is indexed, and the other text streams past it, so that it can be of any size: see `index`. A
dataset that does not fit into the given memory is indexed in parts, and the other text is read once per part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypedDict, Unpack

from wikitext_builder.dataset.load import FILE, DatasetArticle, load
from wikitext_builder.errors import BuilderError
from wikitext_builder.overlap.index import Findings, Found, Index, Scan, chunks_of
from wikitext_builder.overlap.sources import How, Piece, Reject, Rejects, files_of, is_lock, pieces_of
from wikitext_builder.overlap.words import Places, words_of
from wikitext_builder.pages.attribution import ATTRIBUTION, Attribution, read_attribution
from wikitext_builder.pages.lock import read_lock
from wikitext_builder.pages.store import Revision
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.runners.processes import ProcessPool
from wikitext_builder.wiki.dates import parse_date

LENGTHS: Final = (8, 13)  # n-grams; 13 words are what GPT-3's authors looked for (Brown et al. 2020)
NEAR: Final = 0.5  # of the shortest n-grams of a paragraph, which make it a near duplicate
MEMORY: Final = 2000  # megabytes
BYTES_PER_WORD: Final = 150  # of an index, while it is made
SHOWN: Final = 30  # words of a longest stretch


@dataclass(frozen=True, slots=True, kw_only=True)
class ArticleOverlap:
    """What of an article also stands in the other text. Headings do not count."""

    split: str
    title: str
    words: int
    paragraphs: int  # that have an n-gram: n words or more
    duplicates: int  # of these, word for word in the other text
    near_duplicates: int  # with at least half of their shortest n-grams; duplicates among them
    ngrams: Mapping[int, int]  # by n: how many places of the article have an n-gram without `<unk>`
    shared: Mapping[int, int]  # of these, n-grams that the other text has
    longest: int  # words of the longest stretch that both have; 0: shorter than the shortest n
    stretch: str  # its first words
    stretch_in: str  # where it stands
    nearest: str  # the document of the other text with most of the shortest n-grams; "": none has 5 %
    nearest_shared: int
    listed: str  # what lock files have of it: "revision", "page", or "" for nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitOverlap:
    """The sums over the articles of a split."""

    split: str
    articles: int
    near_duplicates: int  # articles of which the nearest document has at least half of the shortest n-grams
    listed: int  # articles that lock files have, in whatever revision
    words: int
    paragraphs: int
    duplicate_paragraphs: int
    near_duplicate_paragraphs: int
    ngrams: Mapping[int, int]
    shared: Mapping[int, int]
    longest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """How much of a dataset also stands in other text."""

    dataset: str
    against: tuple[str, ...]  # paths, sorted
    as_of: str  # revisions of stores and dumps up to this time; empty: all
    lengths: tuple[int, ...]  # n of the n-grams
    splits: tuple[SplitOverlap, ...]
    articles: tuple[ArticleOverlap, ...]
    rejected: tuple[Reject, ...]  # parts of the other text that were not read
    characters: int  # of the other text, as compared


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """An article of the dataset, what was found of it, and of each paragraph."""

    split: str
    article: DatasetArticle
    overlap: ArticleOverlap
    shares: tuple[float | None, ...]  # by paragraph: of the shortest n-grams; None: it has none


class OverlapOptions(TypedDict, total=False):
    """How a dataset is compared; None is as if it were absent."""

    splits: Sequence[str] | None
    """Splits of the dataset; all it has if absent."""
    words: Sequence[int] | None
    """Lengths of n-grams, 8 and 13 if absent. The shortest one decides what a near duplicate is."""
    as_of: str | None
    """Take revisions of stores and dumps up to this date."""
    language: str | None
    """Code of the Wikipedia of dumps and lock files; that of the dataset if absent, or en."""
    column: str | None
    """Of JSON lines and Parquet, which has the text, such as text or meta.text; `text` if absent."""
    memory: int | None
    """Megabytes for the index. For a larger dataset the other text is read several times."""
    workers: int | None
    """Processes, which share the files and the memory; 1 if absent. They do not change the result."""


class Comparison:
    """A dataset against other text; what was rejected is known after all articles."""

    def __init__(
        self,
        dataset: str | Path,
        against: str | Path | Sequence[str | Path],
        progress: Progress = no_progress,
        **options: Unpack[OverlapOptions],
    ) -> None:
        """See `overlap`."""
        self.dataset = load(dataset)
        manifest = self.dataset.manifest
        language = options.get("language") or (manifest.recipe.language if manifest else "en")
        self.lengths = tuple(sorted(set(options.get("words") or LENGTHS)))
        workers = options.get("workers") or 1
        if self.lengths[0] < 1 or workers < 1:
            raise BuilderError(f"--words: {self.lengths}, --workers: {workers}; expected 1 or more")
        all_splits = ("test",) if self.dataset.layout == FILE else tuple(self.dataset.files)
        self.splits = tuple(dict.fromkeys(options.get("splits") or all_splits))
        files = files_of([against] if isinstance(against, str | Path) else against)
        locks = [path for path in files if is_lock(path)]
        self.against = tuple(map(str, files))
        self.how = How(
            as_of=parse_date(options.get("as_of")), language=language, column=options.get("column") or "text"
        )
        self.characters = 0
        self._sources = [path for path in files if path not in locks]
        self._listed = _Listed([one for path in locks for one in read_lock(path, language=language)])
        self._limit = max(1, (options.get("memory") or MEMORY) * 10**6 // (BYTES_PER_WORD * workers))
        self._workers = workers
        self._progress = progress
        self._rejects: dict[tuple[str, str], Reject] = {}

    @property
    def rejected(self) -> tuple[Reject, ...]:
        """The parts of the other text that were not read, by source and reason."""
        return tuple(self._rejects[key] for key in sorted(self._rejects))

    def articles(self) -> Iterator[Compared]:
        """Compare all articles, part by part."""
        with ProcessPool(self._workers) as pool:  # it starts processes when it has work
            for part in _parts(self._texts(), self._limit):
                index = self._searched([list(one.paragraphs) for _, one, _ in part], pool)
                counts = {n: index.ngrams_of_lines(n) for n in self.lengths}
                for number, (split, article, source) in enumerate(part):
                    listed = self._listed.of(article, source)
                    yield _compared(index, counts, number, split, article, listed)

    def _texts(self) -> Iterator[Text]:
        attributed = (self.dataset.path / ATTRIBUTION).is_file()
        for split in self.splits:
            rows = (one for one in read_attribution(self.dataset.path) if one.split == split)
            for article in self.dataset.articles(split, raw=self.dataset.has_raw(split)):
                yield split, article, next(rows, None) if attributed else None

    def _searched(self, paragraphs: list[list[str]], pool: ProcessPool) -> Index:
        """An index past which all sources went."""
        index = Index(paragraphs, self.lengths)
        shares = _shared_out(self._sources, self._workers)
        self.characters = 0
        if len(shares) == 1:
            task = _Task(paragraphs=[], lengths=self.lengths, sources=shares[0], how=self.how)
            self._add(_search(index, task, self._progress))
            return index
        tasks = [
            _Task(paragraphs=paragraphs, lengths=self.lengths, sources=share, how=self.how)
            for share in shares
        ]
        for number, result in enumerate(pool.map(_search_apart, tasks), start=1):
            index.merge(result.findings)
            self._add(result)
            self._progress("compare parts", number, len(tasks))
        return index

    def _add(self, result: _Result) -> None:
        self._rejects |= {(one.source, one.reason): one for one in result.rejects}
        self.characters += result.characters


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """Some sources, and the paragraphs that are looked for in them."""

    paragraphs: list[list[str]]
    lengths: tuple[int, ...]
    sources: tuple[Path, ...]
    how: How


@dataclass(frozen=True, slots=True, kw_only=True)
class _Result:
    findings: Findings
    rejects: tuple[Reject, ...]
    characters: int


def _search_apart(task: _Task) -> _Result:
    """Search in a process of its own."""
    return _search(Index(task.paragraphs, task.lengths), task, no_progress)


def _search(index: Index, task: _Task, progress: Progress) -> _Result:
    rejects, scan, characters = Rejects(), Scan(index), 0

    def pieces() -> Iterator[Piece]:
        nonlocal characters
        for path in task.sources:
            for piece in pieces_of(path, task.how, rejects):
                characters += len(piece.text)
                yield piece

    for chunk in chunks_of(pieces()):
        scan.add(chunk)
        progress("compare", characters, None)
    scan.close()
    progress("compare", characters, characters)
    return _Result(findings=index.findings, rejects=rejects.all(), characters=characters)


def _shared_out(sources: Sequence[Path], workers: int) -> list[tuple[Path, ...]]:
    """The sources of each worker: the largest first, each to the worker that has least."""
    shares: list[list[Path]] = [[] for _ in range(max(1, min(workers, len(sources))))]
    sizes = [0] * len(shares)
    for path in sorted(sources, key=lambda one: (-one.stat().st_size, one)):
        least = sizes.index(min(sizes))
        shares[least].append(path)
        sizes[least] += path.stat().st_size
    return [tuple(sorted(share)) for share in shares]


Text = tuple[str, DatasetArticle, Attribution | None]


def _parts(texts: Iterable[Text], limit: int) -> Iterator[list[Text]]:
    """Consecutive articles with about `limit` words, at least one article."""
    part: list[Text] = []
    words = 0
    for one in texts:
        size = sum(line.count(" ") + 1 for line in one[1].paragraphs)
        if part and words + size > limit:
            yield part
            part, words = [], 0
        part.append(one)
        words += size
    if part:
        yield part


class _Listed:
    """Which pages and revisions lock files have."""

    def __init__(self, revisions: Sequence[Revision]) -> None:
        self._revisions = {one.revision_id for one in revisions}
        self._pages = {one.page_id for one in revisions}
        self._titles = {tuple(words_of(one.title)) for one in revisions}

    def of(self, article: DatasetArticle, source: Attribution | None) -> str:
        """What is listed of an article; without attribution its title decides."""
        if source and source.revision_id in self._revisions:
            return "revision"
        if source and source.page_id in self._pages:
            return "page"
        title = tuple(words_of(source.title if source else article.title))
        return "page" if title in self._titles else ""


def _compared(
    index: Index,
    counts: Mapping[int, tuple[Places, Places]],
    number: int,
    split: str,
    article: DatasetArticle,
    listed: str,
) -> Compared:
    """What an index has found of its article with this number."""
    lines = slice(int(index.article_ends[number]), int(index.article_ends[number + 1]))
    found = index.found[number]
    ngrams, shared = (one[lines] for one in counts[index.lengths[0]])
    long = ngrams > 0
    shares = [float(met / all_) if all_ else None for all_, met in zip(ngrams, shared, strict=True)]
    words = int(index.line_ends[lines.stop] - index.line_ends[lines.start])
    overlap = ArticleOverlap(
        split=split,
        title=article.title,
        words=words,
        paragraphs=int(long.sum()),
        duplicates=int(index.whole[lines][long].sum()),
        near_duplicates=sum(share is not None and share >= NEAR for share in shares),
        ngrams={n: int(total[lines].sum()) for n, (total, _) in counts.items()},
        shared={n: int(met[lines].sum()) for n, (_, met) in counts.items()},
        longest=found.longest,
        stretch=_shown(article, index.line_ends[lines.start : lines.stop], found),
        stretch_in=found.where,
        nearest=found.nearest,
        nearest_shared=found.nearest_shared,
        listed=listed,
    )
    return Compared(split=split, article=article, overlap=overlap, shares=tuple(shares))


def _shown(article: DatasetArticle, begins: Places, found: Found) -> str:
    """The first words of the longest stretch, which lies in one paragraph."""
    if not found.longest:
        return ""
    begin = int(begins[0]) + found.begin
    line = int(begins.searchsorted(begin, "right")) - 1
    start = begin - int(begins[line])
    return " ".join(words_of(article.paragraphs[line])[start : start + min(found.longest, SHOWN)])


def totals(articles: Iterable[ArticleOverlap], lengths: Sequence[int]) -> tuple[SplitOverlap, ...]:
    """The sums over the articles of each split, in order."""
    by_split: dict[str, list[ArticleOverlap]] = {}
    for one in articles:
        by_split.setdefault(one.split, []).append(one)
    first = min(lengths)
    return tuple(
        SplitOverlap(
            split=split,
            articles=len(found),
            near_duplicates=sum(one.nearest_shared >= NEAR * max(1, one.ngrams[first]) for one in found),
            listed=sum(bool(one.listed) for one in found),
            words=sum(one.words for one in found),
            paragraphs=sum(one.paragraphs for one in found),
            duplicate_paragraphs=sum(one.duplicates for one in found),
            near_duplicate_paragraphs=sum(one.near_duplicates for one in found),
            ngrams={n: sum(one.ngrams[n] for one in found) for n in lengths},
            shared={n: sum(one.shared[n] for one in found) for n in lengths},
            longest=max(one.longest for one in found),
        )
        for split, found in by_split.items()
    )


def overlap(
    dataset: str | Path,
    *,
    against: str | Path | Sequence[str | Path],
    progress: Progress = no_progress,
    **options: Unpack[OverlapOptions],
) -> Overlap:
    """Find how much of each article of a dataset also stands in other text.

    Words are compared in lower case, without punctuation: tokens and plain text are the same. Of stores and
    dumps all revisions are compared, with the text that `extract` makes of them.

    Args:
        dataset: A dataset built here, or one in the layout of WikiText or of the Penn Treebank.
        against: Datasets, stores, dumps, lock files, text (plain, JSON lines, Parquet; compressed with gzip,
            bzip2 or Zstandard), or folders of them.
        progress: Receives the number of characters compared.
        options: See `OverlapOptions`.

    Raises:
        BuilderError: The dataset is missing or not of the format, a path of `against` does not exist, or a
            lock file is wrong. Other text that cannot be read is in `rejected`.
    """
    comparison = Comparison(dataset, against, progress, **options)
    return result_of(comparison, [one.overlap for one in comparison.articles()])


def result_of(comparison: Comparison, articles: Sequence[ArticleOverlap]) -> Overlap:
    """The result of a comparison whose articles all came."""
    return Overlap(
        dataset=comparison.dataset.title,
        against=comparison.against,
        as_of=comparison.how.as_of,
        lengths=comparison.lengths,
        splits=totals(articles, comparison.lengths),
        articles=tuple(articles),
        rejected=comparison.rejected,
        characters=comparison.characters,
    )
