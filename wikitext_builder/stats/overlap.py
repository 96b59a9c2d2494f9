"""Measures how much of each article of a dataset also occurs in other text: its train, a dataset, or files.

The dataset is indexed, and the other text is streamed, so it can have any size: see `ngrams`.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

import numpy as np

from wikitext_builder.article import SPLITS
from wikitext_builder.dataset.load import LAYOUTS, SINGLE_FILE, Dataset, load
from wikitext_builder.dumps.decompress import DumpFile, decompressed
from wikitext_builder.errors import BuilderError, RejectedError
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.stats.ngrams import BOUNDARY, ParagraphIndex
from wikitext_builder.stats.text import Integers
from wikitext_builder.tables import aligned, spelled_out

NGRAM_LENGTHS: Final = (8, 13)  # in words; the authors of GPT-3 used 13 (Brown et al. 2020)
MAX_NGRAM_WORDS: Final = 1000  # memory grows with it
NEAR_DUPLICATE: Final = 0.5  # minimum share of a paragraph's or an article's shortest n-grams


@dataclass(frozen=True, slots=True, kw_only=True)
class ArticleOverlap:
    """The overlap of an article with the other text. Headings do not count."""

    split: str
    title: str
    words: int
    paragraphs: int  # that have one of the shortest n-grams without `<unk>`
    near_duplicates: int  # paragraphs of which the other text has at least half of the shortest n-grams
    ngrams: Mapping[int, int]  # by n: n-grams of the article without `<unk>`, repeated ones included
    shared: Mapping[int, int]  # by n: those of them that the other text has

    def share(self, length: int) -> float:
        """Return the share of the n-grams of a length that the other text has; 0 without n-grams."""
        return self.shared[length] / self.ngrams[length] if self.ngrams[length] else 0.0

    @property
    def is_near_duplicate(self) -> bool:
        """True if the other text has at least half of the article's shortest n-grams."""
        return self.share(min(self.ngrams)) >= NEAR_DUPLICATE


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadText:
    """A file of the other text that was not read, or not to its end."""

    path: str
    reason: str  # a short fixed word
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """The overlap of a dataset with other text."""

    dataset: str
    against: tuple[str, ...]  # paths, sorted
    lengths: tuple[int, ...]  # of the n-grams, in words
    articles: tuple[ArticleOverlap, ...]
    unread: tuple[UnreadText, ...]
    characters: int  # of the other text, as compared


def overlap(
    dataset: str | Path,
    *,
    against: str | Path | Sequence[str | Path] | None = None,
    splits: Sequence[str] | None = None,
    words: Sequence[int] | None = None,
    progress: Progress = no_progress,
) -> Overlap:
    """Measure how much of each article of a dataset also occurs in other text.

    Words are compared in lower case, without punctuation, so that tokens and plain text match.

    Args:
        dataset: A dataset built here, or one in the layout of WikiText or the Penn Treebank.
        against: Datasets, plain text files (also compressed with gzip, bzip2 or Zstandard), or folders of
            these. None: the dataset's own train.
        splits: Splits to measure, by default valid and test.
        words: Lengths of n-grams, by default 8 and 13. The shortest length defines near duplicates.
        progress: Called with the number of characters compared.

    Raises:
        BuilderError: The dataset is missing or in another format, a path of `against` does not exist, or none
            of the other text can be read. If only some of it cannot be read, `unread` lists it.
    """
    data, lengths = load(dataset), tuple(sorted(set(words or NGRAM_LENGTHS)))
    if not 1 <= lengths[0] <= lengths[-1] <= MAX_NGRAM_WORDS:
        raise BuilderError(f"--words: {', '.join(map(str, lengths))}; expected 1 to {MAX_NGRAM_WORDS:,}")
    sources = _train_of(data) if against is None else _sources(against)
    articles = [
        (split, article)
        for split in splits or _usual_splits(data)
        for article in data.articles(split, raw=data.has_raw(split))
    ]
    paragraphs = [article.paragraphs for _, article in articles]
    index = ParagraphIndex([line for lines in paragraphs for line in lines], lengths)
    if not index.words.any():
        raise BuilderError(f"{data.path}: no words to compare in these splits; see `wikitext-builder verify`")
    reader = _TextReader(progress)
    for path, text in sources.items():
        index.look_up(reader.read(path, text))
    if not reader.characters:
        reasons = "".join(f"\n  {text.path}: {text.reason}, {text.detail}" for text in reader.unread)
        raise BuilderError(f"--against: no text was found; expected text to compare with{reasons}")
    progress("compare", reader.characters, reader.characters)
    counts = {length: index.counts(length) for length in lengths}
    ends = np.cumsum([0, *map(len, paragraphs)])
    return Overlap(
        dataset=data.title,
        against=tuple(map(str, sources)),
        lengths=lengths,
        articles=tuple(
            _article_overlap(split, article.title, slice(begin, end), index, counts)
            for (split, article), begin, end in zip(articles, ends[:-1], ends[1:], strict=True)
        ),
        unread=tuple(reader.unread),
        characters=reader.characters,
    )


def _article_overlap(
    split: str,
    title: str,
    lines: slice,
    index: ParagraphIndex,
    counts: Mapping[int, tuple[Integers, Integers]],
) -> ArticleOverlap:
    """Return the overlap of the article whose paragraphs in the index are `lines`."""
    ngrams, shared = (per_paragraph[lines] for per_paragraph in counts[min(counts)])
    return ArticleOverlap(
        split=split,
        title=title,
        words=int(index.words[lines].sum()),
        paragraphs=int((ngrams > 0).sum()),
        near_duplicates=int(((ngrams > 0) & (shared >= NEAR_DUPLICATE * ngrams)).sum()),
        ngrams={length: int(ngrams[lines].sum()) for length, (ngrams, _) in counts.items()},
        shared={length: int(shared[lines].sum()) for length, (_, shared) in counts.items()},
    )


def _usual_splits(dataset: Dataset) -> list[str]:
    """Return valid and test, or train if the dataset has neither; a file of tokens counts as test."""
    if dataset.layout == SINGLE_FILE:
        return ["test"]
    return [split for split in dataset.files if split != "train"] or ["train"]


# --- the other text


def _train_of(dataset: Dataset) -> dict[Path, Iterator[str]]:
    """Return the text of a dataset's train, by its path."""
    if dataset.layout == SINGLE_FILE or "train" not in dataset.files:
        raise BuilderError(f"{dataset.path}: has no train to compare with; name other text with --against")
    is_raw = dataset.has_raw("train")
    return {dataset.file("train", raw=is_raw): _text_of_dataset(dataset, ["train"])}


def _sources(against: str | Path | Sequence[str | Path]) -> dict[Path, Iterator[str]]:
    """Return the text of each dataset and file of `against`, sorted by path; a folder gives all its files."""
    paths = set[Path]()
    for path in map(Path, [against] if isinstance(against, str | Path) else against):
        files = [path] if path.is_file() or _is_dataset(path) else _files_below(path)
        if not files:
            fault = "has no files" if path.is_dir() else "is no file and no folder"
            raise BuilderError(f"{path}: {fault}; expected text to compare with")
        paths.update(files)
    return {
        path: _text_of_dataset(load(path)) if path.is_dir() else _text_of_file(path) for path in sorted(paths)
    }


def _files_below(folder: Path) -> list[Path]:
    """Return all files in a folder and its subfolders; links to folders are not followed."""

    def fail(error: OSError) -> NoReturn:  # `rglob` would skip the folder
        raise BuilderError(f"{error.filename}: {error.strerror}; expected text to compare with") from error

    walk = os.walk(folder, onerror=fail) if folder.is_dir() else ()
    return [Path(parent, name) for parent, _, names in walk for name in names]


def _is_dataset(folder: Path) -> bool:
    """Return True if a folder has token files; `train.txt` does not count, because it can be any text."""
    patterns = [pattern for layout, pattern in LAYOUTS.items() if layout != "plain"]
    return any((folder / pattern.format(split=split)).is_file() for pattern in patterns for split in SPLITS)


def _text_of_dataset(dataset: Dataset, splits: Iterable[str] | None = None) -> Iterator[str]:
    for split in splits or dataset.files:
        for article in dataset.articles(split, raw=dataset.has_raw(split)):
            yield "\n".join((*article.lines, BOUNDARY))


def _text_of_file(path: Path) -> Iterator[str]:
    decode = codecs.getincrementaldecoder("utf-8")().decode
    incomplete_word = ""
    if not path.is_file():  # a pipe, or a link to nothing
        raise RejectedError("unreadable", "expected a file")
    with path.open("rb") as file, closing(decompressed(DumpFile(file))) as content:
        for data in content:
            if b"\0" in data:
                raise RejectedError("binary", "found a zero byte, which text does not have")
            text = incomplete_word + decode(data)
            end = max(text.rfind(" "), text.rfind("\n")) + 1 or len(text)
            incomplete_word = text[end:]
            yield text[:end]
    yield incomplete_word + decode(b"", final=True)


class _TextReader:
    """Reads the other text, counts its characters, and lists what cannot be read."""

    def __init__(self, progress: Progress) -> None:
        self.characters, self.unread = 0, list[UnreadText]()
        self._progress = progress

    def read(self, path: Path, text: Iterator[str]) -> Iterator[str]:
        """Yield the text of a source; if it is damaged, up to the damage."""
        try:
            for piece in text:
                yield piece
                self.characters += len(piece)
                self._progress("compare", self.characters, None)
        except UnicodeDecodeError as error:
            self._add(path, "not-utf-8", f"expected text in UTF-8, found {error.object[error.start]:#x}")
        except RejectedError as error:
            self._add(path, error.reason, error.detail)
        except BuilderError as error:
            self._add(path, "damaged", str(error).partition(";")[0])
        except OSError as error:
            self._add(path, "unreadable", error.strerror or str(error))

    def _add(self, path: Path, reason: str, detail: str) -> None:
        self.unread.append(UnreadText(path=str(path), reason=reason, detail=detail))


# --- the result as text and as rows


def as_text(overlap: Overlap, *, max_articles: int = 10) -> str:
    """Format the sums per split, the articles with the largest shares, and the unread files."""
    by_split: dict[str, list[ArticleOverlap]] = {}
    for article in overlap.articles:
        by_split.setdefault(article.split, []).append(article)
    head = ["", "articles", "(near)", "paragraphs", "(near)", *(f"{n}-grams" for n in overlap.lengths)]
    table = aligned([head, *(_row(articles, overlap.lengths) for articles in by_split.values())])
    lines = [f"{overlap.dataset} against {', '.join(overlap.against)}", "", *table]
    shortest = overlap.lengths[0]
    articles = sorted(overlap.articles, key=lambda article: (-article.share(shortest), article.split))
    if shared := [article for article in articles[:max_articles] if article.shared[shortest]]:
        lines += ["", f"articles with most {shortest}-grams in the other text"]
        lines += [
            f"  {article.share(shortest):7.2%}  {article.title} ({article.split})" for article in shared
        ]
    if overlap.unread:
        lines += ["", unread_text(overlap)]
    return spelled_out("\n".join(lines)) + "\n"  # titles and names can be a stranger's


def unread_text(overlap: Overlap) -> str:
    """List the files that were not read, or not to their end."""
    lines = [f"  {text.path}: {text.reason}, {text.detail}" for text in overlap.unread]
    return "\n".join(["not read, or not to the end", *lines])


def _row(articles: Sequence[ArticleOverlap], lengths: Sequence[int]) -> list[str]:
    """Return the sums over the articles of a split as a row of the table."""
    counts = [len(articles), sum(article.is_near_duplicate for article in articles)]
    counts += [sum(article.paragraphs for article in articles)]
    counts += [sum(article.near_duplicates for article in articles)]
    ngrams = {n: sum(article.ngrams[n] for article in articles) for n in lengths}
    shares = [sum(article.shared[n] for article in articles) / (ngrams[n] or 1) for n in lengths]
    return [articles[0].split, *(f"{count:,}" for count in counts), *(f"{share:.2%}" for share in shares)]


def as_rows(overlap: Overlap) -> list[Mapping[str, object]]:
    """Return a row per article, for CSV."""
    return [
        {
            "split": article.split,
            "title": article.title,
            "words": article.words,
            "paragraphs": article.paragraphs,
            "near_duplicates": article.near_duplicates,
            **{f"ngrams_{n}": count for n, count in article.ngrams.items()},
            **{f"shared_{n}": count for n, count in article.shared.items()},
        }
        for article in overlap.articles
    ]
