"""How much of each article of a dataset also occurs in other text.

The dataset is indexed, and the other text is streamed, so it can be of any size: see `index`. A dataset that
does not fit into the given memory is indexed in parts, and the other text is read once per part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, Unpack

from wikitext_builder.dataset.load import FILE, DatasetArticle, load
from wikitext_builder.errors import BuilderError
from wikitext_builder.pages.lock import ATTRIBUTION, Attribution, read_attribution
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.runners.processes import ProcessPool
from wikitext_builder.text_overlap.index import Findings, Found, Index, Scan, chunks_of
from wikitext_builder.text_overlap.result import COLUMN, LENGTHS, NEAR, ArticleOverlap, Overlap, totals
from wikitext_builder.text_overlap.sources import (
    How,
    Listed,
    OverlapOptions,
    Piece,
    Rejects,
    files_of,
    is_lock,
    pieces_of,
)
from wikitext_builder.text_overlap.words import Places, words_of
from wikitext_builder.wiki.dates import parse_date

MEMORY: Final = 2000  # megabytes
MOST_WORDS: Final = 1000  # of an n-gram: memory grows with them
BYTES_PER_WORD: Final = 150  # of an index, while it is made
SHOWN: Final = 30  # words of a longest stretch


Against = str | Path | Sequence[str | Path]


def overlap(
    dataset: str | Path,
    *,
    against: Against | None = None,
    progress: Progress = no_progress,
    **options: Unpack[OverlapOptions],
) -> Overlap:
    """Measure how much of each article of a dataset also occurs in other text.

    Words are compared in lower case, without punctuation, so that tokens and plain text match. Stores, with
    their templates, and dumps are compared in all revisions, as `extract` reads wikitext.

    Args:
        dataset: A dataset built here, or one in the layout of WikiText or the Penn Treebank.
        against: Datasets, stores, dumps, lock files, text (plain, JSON lines, Parquet; compressed with gzip,
            bzip2 or Zstandard), or folders of these. None: the dataset's own train.
        progress: Called with the number of characters compared.
        options: See `OverlapOptions`.

    Raises:
        BuilderError: The dataset is missing or in another format, a path of `against` does not exist, or a
            lock file is wrong, or none of the other text can be read. What else of it cannot be read, or is a
            lock file in a folder, is in `rejected`.
    """
    comparison = Comparison(dataset, against, progress, **options)
    return comparison.result([one.overlap for one in comparison.articles()])


@dataclass(frozen=True, slots=True)
class Text:
    """An article of the dataset, and where it comes from, if that is known."""

    split: str
    article: DatasetArticle
    source: Attribution | None


@dataclass(frozen=True, slots=True)
class Compared:
    """What was found of an article, and of each paragraph."""

    text: Text
    overlap: ArticleOverlap
    shares: tuple[float | None, ...]  # by paragraph: of the shortest n-grams; None: it has none


class Comparison:
    """A dataset against other text; what was rejected is known after all articles."""

    def __init__(
        self,
        dataset: str | Path,
        against: Against | None,
        progress: Progress,
        **options: Unpack[OverlapOptions],
    ) -> None:
        self.dataset = load(dataset)
        manifest = self.dataset.manifest
        language = options.get("language") or (manifest.recipe.language if manifest else "en")
        self.lengths = tuple(sorted(set(options.get("words") or LENGTHS)))
        self.workers = options.get("workers") or 1
        if not 1 <= self.lengths[0] <= self.lengths[-1] <= MOST_WORDS or self.workers < 1:
            found = f"--words: {self.lengths}, --workers: {self.workers}"
            raise BuilderError(f"{found}; expected 1 or more, and at most {MOST_WORDS:,} words")
        splits = ["test"] if self.dataset.layout == FILE else list(self.dataset.files)
        if against is None:
            if self.dataset.layout == FILE or "train" not in splits:
                what = "has no train to compare with; name other text with --against"
                raise BuilderError(f"{self.dataset.path}: {what}")
            if "train" in (options.get("splits") or ()):
                raise BuilderError("--split train: the other splits are compared with it; give --against too")
            against = self.dataset.file("train", raw=self.dataset.has_raw("train"))
            splits.remove("train")
        self.splits = tuple(dict.fromkeys(options.get("splits") or splits))
        given = [Path(one) for one in ([against] if isinstance(against, str | Path) else against)]
        self.against = files_of(given)
        date, column = parse_date(options.get("as_of")), options.get("column") or COLUMN
        self.how = How(as_of=date, language=language, column=column)
        self.progress, self.characters, self.rejects = progress, 0, Rejects()
        locks = [path for path in self.against if is_lock(path)]
        self.listed = Listed(locks, language, given, self.rejects)
        self.sources = [path for path in self.against if path not in locks]
        self.limit = max(1, (options.get("memory") or MEMORY) * 10**6 // (BYTES_PER_WORD * self.workers))

    def result(self, articles: Sequence[ArticleOverlap]) -> Overlap:
        """The result, when all articles were compared; BuilderError: there was nothing to compare with."""
        rejected = self.rejects.all()
        if not any(one.words for one in articles):
            raise BuilderError(f"{self.dataset.path}: no words in {', '.join(self.splits)} to compare")
        if self.sources and not self.characters:
            reasons = "".join(f"\n  {one.source}: {one.reason}, {one.detail}" for one in rejected)
            date = f" up to {self.how.as_of}" if self.how.as_of else ""
            raise BuilderError(f"--against: no text was found{date}; expected text to compare with{reasons}")
        return Overlap(
            dataset=self.dataset.title,
            against=tuple(map(str, self.against)),
            as_of=self.how.as_of,
            language=self.how.language,
            column=self.how.column,
            lengths=self.lengths,
            splits=totals(articles, self.lengths),
            articles=tuple(articles),
            rejected=rejected,
            characters=self.characters,
        )

    def articles(self) -> Iterator[Compared]:
        """Compare all articles, part by part."""
        with ProcessPool(self.workers) as pool:  # it starts processes when it has work
            for part in self._parts():
                index = self._searched([one.article.paragraphs for one in part], pool)
                counts = {n: index.ngrams_of_lines(n) for n in self.lengths}
                for number, text in enumerate(part):
                    yield _compared(
                        index, counts, number, text, self.listed.of(text.source, text.article.title)
                    )

    def _parts(self) -> Iterator[list[Text]]:
        """Consecutive articles with about as many words as fit into the memory, at least one article."""
        part, words = list[Text](), 0
        for one in self._texts():
            size = sum(line.count(" ") + 1 for line in one.article.paragraphs)
            if part and words + size > self.limit:
                yield part
                part, words = [], 0
            part.append(one)
            words += size
        if part:
            yield part

    def _texts(self) -> Iterator[Text]:
        for split in self.splits:
            attributed = (self.dataset.path / ATTRIBUTION).is_file()
            rows = read_attribution(self.dataset.path) if attributed else ()
            sources = (one for one in rows if one.split == split)
            articles = self.dataset.articles(split, raw=self.dataset.has_raw(split))
            for article, source in zip_longest(articles, sources):
                if article is None or (attributed and source is None):
                    raise self.dataset.unfit(f"{split} and {ATTRIBUTION} have different articles")
                yield Text(split, article, source)

    def _searched(self, paragraphs: Sequence[Sequence[str]], pool: ProcessPool) -> Index:
        """An index past which all sources went."""
        index, found = Index(paragraphs, self.lengths), list[tuple[Rejects, int]]()
        shares = _shared_out(self.sources, self.workers)
        if len(shares) == 1:
            found.append(_search(index, shares[0], self.how, self.progress))
        else:
            tasks = [(paragraphs, self.lengths, share, self.how) for share in shares]
            for findings, rejects, characters in pool.map(_search_apart, tasks):
                index.merge(findings)
                found.append((rejects, characters))
                self.progress("compare parts", len(found), len(tasks))
        self.characters = sum(characters for _, characters in found)
        for rejects, _ in found:
            self.rejects.update(rejects)
        return index


def _search(index: Index, sources: Iterable[Path], how: How, progress: Progress) -> tuple[Rejects, int]:
    """Stream sources past an index; return what was not read of them, and how many characters were."""
    rejects, scan, characters = Rejects(), Scan(index), 0

    def pieces() -> Iterator[Piece]:
        nonlocal characters
        for path in sources:
            for piece in pieces_of(path, how, rejects):
                characters += len(piece.text)
                yield piece

    for chunk in chunks_of(pieces()):
        scan.add(chunk)
        progress("compare", characters, None)
    scan.close()
    progress("compare", characters, characters)
    return rejects, characters


def _search_apart(task: tuple[Any, Any, Iterable[Path], How]) -> tuple[Findings, Rejects, int]:
    """Search in a process of its own: the arguments are those of an index, sources, and how they are read."""
    index = Index(*task[:2])
    rejects, characters = _search(index, *task[2:], no_progress)
    return index.findings, rejects, characters


def _shared_out(sources: Sequence[Path], workers: int) -> list[tuple[Path, ...]]:
    """The sources of each worker: the largest first, each to the worker that has least."""
    shares: list[list[Path]] = [[] for _ in range(max(1, min(workers, len(sources))))]
    sizes = [0] * len(shares)
    bytes_of = {path: path.stat().st_size if path.exists() else 0 for path in sources}  # a link to nothing: 0
    for path in sorted(sources, key=lambda one: (-bytes_of[one], one)):
        least = sizes.index(min(sizes))
        shares[least].append(path)
        sizes[least] += bytes_of[path]
    return [tuple(sorted(share)) for share in shares]


def _compared(
    index: Index, counts: Mapping[int, tuple[Places, Places]], number: int, text: Text, listed: str
) -> Compared:
    """What an index has found of its article with this number."""
    lines = slice(int(index.article_ends[number]), int(index.article_ends[number + 1]))
    found = index.found[number]
    ngrams, shared = (one[lines] for one in counts[index.lengths[0]])
    long = ngrams > 0
    shares = [float(met / all_) if all_ else None for all_, met in zip(ngrams, shared, strict=True)]
    overlap = ArticleOverlap(
        split=text.split,
        title=text.article.title,
        words=int(index.line_ends[lines.stop] - index.line_ends[lines.start]),
        paragraphs=int(long.sum()),
        duplicates=int(index.whole[lines][long].sum()),
        near_duplicates=sum(share is not None and share >= NEAR for share in shares),
        ngrams={n: int(total[lines].sum()) for n, (total, _) in counts.items()},
        shared={n: int(met[lines].sum()) for n, (_, met) in counts.items()},
        longest=found.longest,
        stretch=_shown(text.article, index.line_ends[lines.start : lines.stop], found),
        stretch_in=found.where,
        nearest=found.nearest,
        nearest_shared=found.nearest_shared,
        listed=listed,
    )
    return Compared(text, overlap, tuple(shares))


def _shown(article: DatasetArticle, begins: Places, found: Found) -> str:
    """The first words of the longest stretch, which lies in one paragraph."""
    if not found.longest:
        return ""
    begin = int(begins[0]) + found.begin
    line = int(begins.searchsorted(begin, "right")) - 1
    start = begin - int(begins[line])
    return " ".join(words_of(article.paragraphs[line])[start : start + min(found.longest, SHOWN)])
