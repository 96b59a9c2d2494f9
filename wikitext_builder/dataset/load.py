"""Finished datasets: ours, the official WikiText files, the Penn Treebank, or any file of tokens."""

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

ARTICLES: Final = "articles"  # the folder; its files are named by their splits
BATCH: Final = 64  # rows that are read at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A section of an article, without its sub-sections, which follow it."""

    heading: str
    level: int  # 1: the beginning of the article, under its title; 2 and more as in wikitext
    text: str  # its paragraphs, one per line


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainArticle:
    """An article as plain text: a row of the export.

    The text has the lines of the raw file before tokenization, except that a paragraph with formulas is one
    line and that each formula is LaTeX between dollar signs.
    """

    title: str
    page_id: int
    revision_id: int
    timestamp: str  # of the revision, ISO 8601 in UTC
    created: str | None = None  # the page's first revision; None: not known
    url: str  # of the revision; its history names the authors
    wikidata_id: str | None  # Q1490; None if it is not known
    categories: tuple[str, ...]  # that the page names itself, not those that its templates add
    quality: str  # featured, good, or empty for neither, as the page's text says
    sections: tuple[Section, ...]
    formulas: tuple[str, ...]  # LaTeX of each formula of the text, in order; empty if it is not known
    left_out: tuple[str, ...]  # names of the templates whose text is missing, one per call
    text: str  # all of it: the title, headings and paragraphs, one per line

    @classmethod
    def of(cls, article: Article, language: str | Language, created: str = "") -> PlainArticle:
        """The plain text of an extracted article of the Wikipedia of a language.

        `created` is the date of its creation; empty if it is not known.
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
    """The sections of plain lines, which begin with a title."""
    found: list[tuple[str, int, list[str]]] = []
    for line in lines:
        if level := heading_level(line):
            found.append((line[level:-level].strip(), level, []))
        elif line and found:
            found[-1][2].append(line)
    return tuple(Section(heading=name, level=level, text="\n".join(parts)) for name, level, parts in found)


def read_plain_articles(directory: Path, split: str) -> Iterator[PlainArticle]:
    """The exported articles of a split, in the order of the dataset, one at a time."""
    paths = sorted((directory / ARTICLES).glob(f"{split}-*.parquet"))
    if not paths:
        raise BuilderError(f"{directory}: no {ARTICLES}/{split}-*.parquet; build the dataset with --articles")
    try:
        for row in chain.from_iterable(map(parquet_rows, paths)):
            yield msgspec.convert(row, PlainArticle)
    except (OSError, ValueError) as error:
        raise BuilderError(f"{directory}: {ARTICLES} of {split} are damaged ({error})") from error


def parquet_rows(path: Path) -> Iterator[object]:
    """The rows of a Parquet file; ValueError: it is damaged."""
    import pyarrow as pa  # here, because the import is slow
    import pyarrow.parquet as pq

    try:
        with path.open("rb") as file, pq.ParquetFile(file) as table:  # Arrow takes only paths in UTF-8
            for batch in table.iter_batches(batch_size=BATCH):
                yield from batch.to_pylist()
    except pa.ArrowException as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error


if TYPE_CHECKING:
    import pandas as pd

WIKITEXT: Final = "WikiText"
LAYOUTS: Final = {  # names of the files; the first layout of which a folder has a file is taken
    WIKITEXT: "wiki.{split}.tokens",
    "Penn Treebank": "ptb.{split}.txt",
    "plain": "{split}.txt",
}
FILE: Final = "file"  # the layout of a single file, which is all three splits
# Folders of official files, which have no manifest.
OFFICIAL_NAMES: Final = {"wikitext-2": "WikiText-2", "wikitext-103": "WikiText-103", "ptb": "Penn Treebank"}


@dataclass(frozen=True, slots=True)
class DatasetArticle:
    """An article of a dataset; or a whole file if it has no articles, as in the Penn Treebank."""

    title: str  # empty if the file has no articles
    lines: tuple[str, ...]  # tokens separated by spaces; blank lines are empty strings

    @property
    def paragraphs(self) -> tuple[str, ...]:
        """The lines that are neither blank nor a heading."""
        return tuple(line for line in self.lines if line and not heading_level(line))

    @property
    def tokens(self) -> tuple[str, ...]:
        """The words, with `<eos>` after each line, blank ones included."""
        return tuple(token for line in self.lines for token in (*line.split(), EOS))


@dataclass(frozen=True, kw_only=True)
class Dataset:
    r"""A dataset on disk, read lazily; splits are streamed.

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
    files: dict[str, Path]  # of tokens, by split; only those that are there

    @property
    def name(self) -> str:
        """The folder's name, or the file's without its suffix; `?` for bytes that are not UTF-8."""
        return printable(self.path.stem if self.layout == FILE else self.path.resolve().name)

    def unfit(self, what: str) -> BuilderError:
        """The error that its files do not fit together."""
        return BuilderError(f"{self.path}: {what}; see `wikitext-builder verify`")

    @property
    def title(self) -> str:
        """The name in tables: the paper's for official datasets, the recipe's for ours.

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
        return None if self.layout == FILE else read_manifest(self.path)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The words of train: `<unk>`, `<eos>`, then by falling frequency.

        Raises:
            BuilderError: There is no train file, or it cannot be read.
        """
        return Vocabulary.of_file(self.file("train"))

    def file(self, split: str, *, raw: bool = False) -> Path:
        """Return the file of a split.

        Args:
            split: train, valid or test.
            raw: The text before rare words became `<unk>`.

        Raises:
            BuilderError: There is no such file.
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
        """Return True if there is a split's text before rare words became `<unk>`."""
        return self.layout == WIKITEXT and self.file(split).with_suffix(".raw").is_file()

    def lines(self, split: str, *, raw: bool = False) -> Iterator[str]:
        """Yield the lines of a split: tokens separated by spaces; a blank line is an empty string.

        The files of WikiText must have its exact format. Of any other text, the tokens of a line are what
        `str.split` gives, joined by one space: bits per byte count these lines, each with a newline.

        Raises:
            BuilderError: The file is missing or not of the format.
        """
        return read_lines(self.file(split, raw=raw), strict=self.layout == WIKITEXT)

    def articles(self, split: str, *, raw: bool = False) -> Iterator[DatasetArticle]:
        """Yield the articles of a split, in order; a text without articles is one with an empty title.

        Raises:
            BuilderError: The file is missing or not of the format.
        """
        if _have_articles(self.lines(split, raw=raw)):
            for lines in read_articles(self.file(split, raw=raw), strict=self.layout == WIKITEXT):
                yield DatasetArticle(lines[1].removeprefix("= ").removesuffix(" ="), lines)
        elif lines := tuple(self.lines(split, raw=raw)):
            yield DatasetArticle("", lines)

    def plain_articles(self, split: str) -> Iterator[PlainArticle]:
        """Yield the articles of a split as plain text with page metadata, in order.

        Raises:
            BuilderError: The dataset was built without `articles`, or the files are damaged.
        """
        return read_plain_articles(self.path, split)

    def to_pandas(self, *, raw: bool = False) -> pd.DataFrame:
        """Return a row per article: `split`, `title`, `text` (its lines), counts of `paragraphs`, `tokens`.

        Raises:
            BuilderError: A file is not of the format, or `raw` and there is no raw file.
        """
        import pandas as pd

        rows = [
            (split, one.title, "\n".join(one.lines), len(one.paragraphs), len(one.tokens))
            for split in self.files
            for one in self.articles(split, raw=raw)
        ]
        return pd.DataFrame(rows, columns=["split", "title", "text", "paragraphs", "tokens"])


def load(path: str | Path) -> Dataset:
    """Open a finished dataset.

    Args:
        path: A folder that was built here, or one with `wiki.train.tokens`, `ptb.train.txt` or `train.txt`
            (or valid, test); or a single file of tokens, which is then all three splits.

    Raises:
        BuilderError: There is none.
    """
    path = Path(path)
    if path.is_file():
        return Dataset(path=path, layout=FILE, files=dict.fromkeys(SPLITS, path))
    for layout, pattern in LAYOUTS.items():
        paths = {split: path / pattern.format(split=split) for split in SPLITS}
        if files := {split: file for split, file in paths.items() if file.is_file()}:
            return Dataset(path=path, layout=layout, files=files)
    if not path.exists():
        beside = [one.name for one in path.parent.iterdir()] if path.parent.is_dir() else []
        raise BuilderError(
            f"{path}: there is no such folder or file{did_you_mean(path.name, beside)}; expected a dataset"
        )
    expected = ", ".join(pattern.format(split="train") for pattern in LAYOUTS.values())
    raise BuilderError(
        f"{path}: no token file; expected a folder with {expected} (or valid, test in place of train),"
        " or a token file"
    )


def load_named(directories: Sequence[str | Path], names: Sequence[str] = ()) -> dict[str, Dataset]:
    """Open datasets under distinct names, for tables and plots that compare them.

    The default names are titles, such as WikiText-2; datasets with the same title, which may differ in case,
    are named by the ends of their paths that differ, such as `2016/wikitext-2` and `today/wikitext-2`.

    Args:
        directories: Folders; a single file of tokens has no splits to compare and is refused.
        names: One per folder, or none.

    Raises:
        BuilderError: A folder has no dataset or is given twice, or the names do not fit the folders.
    """
    paths = [Path(one) for one in directories]
    if not paths:
        raise BuilderError("DIRECTORIES: expected at least one dataset")
    if files := [path for path in paths if path.is_file()]:
        raise BuilderError(f"{files[0]}: is a file; expected a folder with token files")
    datasets = [load(path) for path in paths]
    if names and len(names) != len(paths):
        raise BuilderError(f"--name: {len(names)} for {len(paths)} datasets; give one per dataset, or none")
    chosen = list(map(printable, names or _distinct_names(datasets)))
    if twice := [name for name, times in Counter(chosen).items() if times > 1]:
        raise BuilderError(
            f"two datasets have the name {twice[0]!r}; give each folder once, or a different --name for each"
        )
    return dict(zip(chosen, datasets, strict=True))


PAIR: Final = " | "  # between the names of two datasets that are compared


def printable(path: str | Path) -> str:
    r"""A path or a name as one line, with `?` for bytes that are not UTF-8, and without `PAIR`.

    >>> printable("old | new\x1b\udcff")
    'old / new\\x1b?'
    """
    return one_line(str(path).encode(errors="replace").decode()).replace(PAIR, " / ")


def _distinct_names(datasets: Sequence[Dataset]) -> list[str]:
    """The titles; for those that occur twice the shortest ends of their paths that differ."""
    titles = [one.title.casefold() for one in datasets]
    paths = [one.path.resolve().parts for one in datasets]
    deepest = max(map(len, paths))

    def name(index: int) -> str:
        same = [path for path, title in zip(paths, titles, strict=True) if title == titles[index]]
        if len(same) == 1:
            return datasets[index].title
        lengths = (
            n for n in range(1, deepest) if len({str(path[-n:]).casefold() for path in same}) == len(same)
        )
        return str(Path(*paths[index][-next(lengths, deepest) :]))

    return [name(index) for index in range(len(datasets))]


def _have_articles(lines: Iterator[str]) -> bool:
    """Whether lines begin as WikiText's do: a blank line, a title, a blank line."""
    first = list(islice(lines, 3))
    return len(first) == 3 and not first[0] and not first[2] and first[1].startswith("= ")
