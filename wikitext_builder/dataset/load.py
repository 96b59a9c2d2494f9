"""Opens finished datasets: ours, the official WikiText files, the Penn Treebank, or any file of tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from wikitext_builder.article import SPLITS, Article, heading_level
from wikitext_builder.dataset.manifest import Manifest, read_articles, read_lines, read_manifest
from wikitext_builder.dataset.vocabulary import EOS, Vocabulary
from wikitext_builder.errors import BuilderError, did_you_mean
from wikitext_builder.extraction.macros.parser_functions import call_name
from wikitext_builder.store.lock import article_url
from wikitext_builder.tables import one_line
from wikitext_builder.wiki.languages import Language

ARTICLES: Final = "articles"  # the folder of exported articles; its files are named by their splits
ROWS_PER_BATCH: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A section of an article, without its sub-sections, which follow it."""

    heading: str
    level: int  # 1: the lead of the article, under its title; 2 and more as in wikitext
    text: str  # paragraphs, one per line


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainArticle:
    """An article as plain text: a row of the export of articles.

    The text has the lines of the raw file before tokenization, except that a paragraph with formulas is one
    line and that each formula is LaTeX between dollar signs.
    """

    title: str
    page_id: int
    revision_id: int
    timestamp: str  # of the revision, ISO 8601 in UTC
    created: str | None = None  # time of the page's first revision; None if unknown
    url: str  # of the revision; its history names the authors
    wikidata_id: str | None  # such as Q1490; None if unknown
    categories: tuple[str, ...]  # that the page's wikitext names, without those of its templates
    quality: str  # `featured`, `good`, or empty if neither, according to the page's text
    sections: tuple[Section, ...]
    formulas: tuple[str, ...]  # LaTeX of each formula in the text, in order; empty if unknown
    left_out: tuple[str, ...]  # names of the templates whose text is missing, one per call
    text: str  # the whole article: title, headings and paragraphs, one per line

    @classmethod
    def of(cls, article: Article, language: str | Language, created: str = "") -> PlainArticle:
        """Return the plain text of an extracted article of a language's Wikipedia.

        `created` is the time of the page's first revision; empty if unknown.
        """
        return cls(
            title=article.title,
            page_id=article.page_id,
            revision_id=article.revision_id,
            timestamp=article.timestamp,
            created=created or None,
            url=article_url(language, article.revision_id),
            wikidata_id=article.wikidata_id or None,
            categories=article.categories,
            quality=article.quality,
            sections=sections_of(article.plain_lines),
            formulas=article.formulas,
            left_out=tuple(map(call_name, article.left_out)),
            text="\n".join(article.plain_lines[1:-1]),
        )


def sections_of(lines: Sequence[str]) -> tuple[Section, ...]:
    """Return the sections of plain lines, which begin with a title."""
    sections: list[tuple[str, int, list[str]]] = []
    for line in lines:
        if level := heading_level(line):
            sections.append((line[level:-level].strip(), level, []))
        elif line and sections:
            sections[-1][2].append(line)
    return tuple(
        Section(heading=heading, level=level, text="\n".join(paragraphs))
        for heading, level, paragraphs in sections
    )


def read_plain_articles(directory: Path, split: str) -> Iterator[PlainArticle]:
    """Yield the exported articles of a split, in the order of the dataset."""
    paths = sorted((directory / ARTICLES).glob(f"{split}-*.parquet"))
    if not paths:
        raise BuilderError(f"{directory}: no {ARTICLES}/{split}-*.parquet; build the dataset with --articles")
    try:
        for row in chain.from_iterable(map(parquet_rows, paths)):
            yield msgspec.convert(row, PlainArticle)
    except (OSError, ValueError) as error:
        raise BuilderError(f"{directory}: {ARTICLES} of {split} are damaged ({error})") from error


def parquet_rows(path: Path) -> Iterator[object]:
    """Yield the rows of a Parquet file; ValueError: the file is damaged."""
    import pyarrow as pa  # imported here, because the import is slow
    import pyarrow.parquet as pq

    try:
        with path.open("rb") as file, pq.ParquetFile(file) as table:  # Arrow opens only paths in UTF-8
            for batch in table.iter_batches(batch_size=ROWS_PER_BATCH):
                yield from batch.to_pylist()
    except pa.ArrowException as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error


if TYPE_CHECKING:
    import pandas as pd

WIKITEXT: Final = "WikiText"
LAYOUTS: Final = {  # names of the files; a folder has the first layout of which it has a file
    WIKITEXT: "wiki.{split}.tokens",
    "Penn Treebank": "ptb.{split}.txt",
    "plain": "{split}.txt",
}
SINGLE_FILE: Final = "file"  # the layout of one file that serves as all three splits
# Titles by the folder's name, because official files have no manifest.
OFFICIAL_NAMES: Final = {"wikitext-2": "WikiText-2", "wikitext-103": "WikiText-103", "ptb": "Penn Treebank"}


@dataclass(frozen=True, slots=True)
class DatasetArticle:
    """An article of a dataset, or a whole file without articles, such as one of the Penn Treebank."""

    title: str  # empty if the file has no articles
    lines: tuple[str, ...]  # tokens separated by spaces; blank lines are empty strings

    @property
    def paragraphs(self) -> tuple[str, ...]:
        """The lines that are neither blank nor a heading."""
        return tuple(line for line in self.lines if line and not heading_level(line))

    @property
    def tokens(self) -> tuple[str, ...]:
        """The words, with `<eos>` after each line, even a blank one."""
        return tuple(token for line in self.lines for token in (*line.split(), EOS))


@dataclass(frozen=True, kw_only=True)
class Dataset:
    r"""A dataset on disk, which is read only as needed; splits are streamed.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "wiki.train.tokens").write_text(" \n = Tea = \n \n Tea is a drink . \n")
    ...     dataset = load(folder)
    ...     [(article.title, article.paragraphs) for article in dataset.articles("train")]
    ...     dataset.vocabulary.encode(["Tea", "coffee"])
    [('Tea', ('Tea is a drink .',))]
    [3, 0]
    """

    path: Path  # the folder, or the file
    layout: str  # a key of `LAYOUTS`, or "file"
    files: dict[str, Path]  # token files by split; only those that exist

    @property
    def name(self) -> str:
        """The folder's name, or the file's without its suffix; `?` for bytes that are not UTF-8."""
        return printable(self.path.stem if self.layout == SINGLE_FILE else self.path.resolve().name)

    def unfit(self, what: str) -> BuilderError:
        """Return the error for files that do not fit together."""
        return BuilderError(f"{self.path}: {what}; see `wikitext-builder verify`")

    @property
    def title(self) -> str:
        """The name in tables: the paper's of official datasets, the recipe's of ours.

        >>> Dataset(path=Path("data/wikitext-2"), layout="WikiText", files={}).title
        'WikiText-2'
        """
        manifest = self.manifest
        return manifest.recipe.name if manifest else OFFICIAL_NAMES.get(self.name, self.name)

    @cached_property
    def manifest(self) -> Manifest | None:
        """Recipe, versions, counts and hashes; None if the dataset was not built here.

        Raises:
            BuilderError: The manifest is damaged or of another format.
        """
        return None if self.layout == SINGLE_FILE else read_manifest(self.path)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The words of train: `<unk>`, `<eos>`, then by falling frequency.

        Raises:
            BuilderError: The train file is missing or cannot be read.
        """
        return Vocabulary.of_file(self.file("train"))

    def file(self, split: str, *, raw: bool = False) -> Path:
        """Return the file of a split.

        Args:
            split: train, valid or test.
            raw: The text before rare words became `<unk>`.

        Raises:
            BuilderError: The file is missing.
        """
        if split not in self.files:
            raise BuilderError(f"{self.name}: no {split} file; found {', '.join(self.files) or 'none'}")
        path = self.files[split]
        if not raw:
            return path
        if not self.has_raw(split):
            raise BuilderError(f"{self.name}: no raw {split} file; expected wiki.{split}.raw")
        return path.with_suffix(".raw")

    def has_raw(self, split: str) -> bool:
        """Return True if the dataset has a split's text before rare words became `<unk>`."""
        return self.layout == WIKITEXT and self.file(split).with_suffix(".raw").is_file()

    def lines(self, split: str, *, raw: bool = False) -> Iterator[str]:
        """Yield the lines of a split: tokens separated by spaces; a blank line is an empty string.

        Files of WikiText must have its exact format. The lines of any other text are the tokens of
        `str.split`, joined by one space: bits per byte count these lines, each with a newline.

        Raises:
            BuilderError: The file is missing or has another format.
        """
        return read_lines(self.file(split, raw=raw), strict=self.layout == WIKITEXT)

    def articles(self, split: str, *, raw: bool = False) -> Iterator[DatasetArticle]:
        """Yield the articles of a split, in order; a text without articles is one article without a title.

        Raises:
            BuilderError: The file is missing or has another format.
        """
        if _have_articles(self.lines(split, raw=raw)):
            for lines in read_articles(self.file(split, raw=raw), strict=self.layout == WIKITEXT):
                yield DatasetArticle(lines[1].removeprefix("= ").removesuffix(" ="), lines)
        elif lines := tuple(self.lines(split, raw=raw)):
            yield DatasetArticle("", lines)

    def plain_articles(self, split: str) -> Iterator[PlainArticle]:
        """Yield the articles of a split as plain text with page metadata, in order.

        Raises:
            BuilderError: The dataset was built without `articles`, or a file is damaged.
        """
        return read_plain_articles(self.path, split)

    def to_pandas(self, *, raw: bool = False) -> pd.DataFrame:
        """Return a row per article: `split`, `title`, `text` (its lines), counts of `paragraphs`, `tokens`.

        Raises:
            BuilderError: A file has another format, or a raw file is missing.
        """
        import pandas as pd

        rows = [
            (split, article.title, "\n".join(article.lines), len(article.paragraphs), len(article.tokens))
            for split in self.files
            for article in self.articles(split, raw=raw)
        ]
        return pd.DataFrame(rows, columns=["split", "title", "text", "paragraphs", "tokens"])


def load(path: str | Path) -> Dataset:
    """Open a finished dataset.

    Args:
        path: A folder that was built here, or one with `wiki.train.tokens`, `ptb.train.txt` or `train.txt`
            (or valid, test); or a file of tokens, which then serves as all three splits.

    Raises:
        BuilderError: The path has no dataset.
    """
    path = Path(path)
    if path.is_file():
        return Dataset(path=path, layout=SINGLE_FILE, files=dict.fromkeys(SPLITS, path))
    for layout, pattern in LAYOUTS.items():
        paths = {split: path / pattern.format(split=split) for split in SPLITS}
        if files := {split: file for split, file in paths.items() if file.is_file()}:
            return Dataset(path=path, layout=layout, files=files)
    if not path.exists():
        siblings = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
        raise BuilderError(
            f"{path}: there is no such folder or file{did_you_mean(path.name, siblings)}; expected a dataset"
        )
    expected = ", ".join(pattern.format(split="train") for pattern in LAYOUTS.values())
    raise BuilderError(
        f"{path}: no token file; expected a folder with {expected} (or valid, test in place of train),"
        " or a token file"
    )


def load_named(directories: Sequence[str | Path], names: Sequence[str] = ()) -> dict[str, Dataset]:
    """Open datasets under distinct names, for tables and plots that compare them.

    The default names are titles, such as WikiText-2; datasets whose titles are equal except for case are
    named by the ends of their paths that differ, such as `2016/wikitext-2` and `today/wikitext-2`.

    Args:
        directories: Folders; a file of tokens is refused, because it has no splits to compare.
        names: One per folder, or none.

    Raises:
        BuilderError: A folder has no dataset or is given twice, or the names do not fit the folders.
    """
    paths = [Path(directory) for directory in directories]
    if not paths:
        raise BuilderError("DIRECTORIES: expected at least one dataset")
    if files := [path for path in paths if path.is_file()]:
        raise BuilderError(f"{files[0]}: is a file; expected a folder with token files")
    datasets = [load(path) for path in paths]
    if names and len(names) != len(paths):
        raise BuilderError(f"--name: {len(names)} for {len(paths)} datasets; give one per dataset, or none")
    labels = list(map(printable, names or _distinct_names(datasets)))
    if duplicates := [label for label, count in Counter(labels).items() if count > 1]:
        raise BuilderError(
            f"two datasets have the name {duplicates[0]!r}; give each folder once, or a different --name for"
            " each"
        )
    return dict(zip(labels, datasets, strict=True))


NAME_SEPARATOR: Final = " | "  # between the names of two compared datasets


def printable(path: str | Path) -> str:
    r"""Return a path or a name as one line, with `?` for bytes that are not UTF-8, without `NAME_SEPARATOR`.

    >>> printable("old | new\x1b\udcff")
    'old / new\\x1b?'
    """
    return one_line(str(path).encode(errors="replace").decode()).replace(NAME_SEPARATOR, " / ")


def _distinct_names(datasets: Sequence[Dataset]) -> list[str]:
    """Return the titles, or for equal titles the shortest ends of their paths that differ."""
    titles = [dataset.title.casefold() for dataset in datasets]
    paths = [dataset.path.resolve().parts for dataset in datasets]
    max_depth = max(map(len, paths))

    def name(index: int) -> str:
        same_title = [path for path, title in zip(paths, titles, strict=True) if title == titles[index]]
        if len(same_title) == 1:
            return datasets[index].title
        depths = (
            depth
            for depth in range(1, max_depth)
            if len({str(path[-depth:]).casefold() for path in same_title}) == len(same_title)
        )
        return str(Path(*paths[index][-next(depths, max_depth) :]))

    return [name(index) for index in range(len(datasets))]


def _have_articles(lines: Iterator[str]) -> bool:
    """Return True if lines begin like WikiText: a blank line, a title, a blank line."""
    match list(islice(lines, 3)):
        case ["", title, ""]:
            return title.startswith("= ")
    return False
