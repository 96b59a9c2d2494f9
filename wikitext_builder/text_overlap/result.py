"""What of a dataset also stands in other text, by article and split: as text, CSV, and part of a card."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from wikitext_builder.dataset.manifest import (
    CARD,
    OVERLAP,
    OVERLAP_BY_ARTICLE,
    OVERLAP_HEADING,
    compared_overlap,
    entry_of_data,
    parts_of_card,
    read_manifest,
)
from wikitext_builder.errors import BuilderError
from wikitext_builder.hashing import code_hash, file_sha256, lines_sha256
from wikitext_builder.runners import blobs
from wikitext_builder.tables import aligned, csv_text, spelled_out
from wikitext_builder.text_overlap.sources import Reject, files_of

COLUMN: Final = "text"
LENGTHS: Final = (8, 13)  # n-grams; 13 words are what GPT-3's authors looked for (Brown et al. 2020)
NEAR: Final = 0.5  # of the shortest n-grams of a paragraph or an article, which make it a near duplicate
NAMED: Final = 10  # files of the other text in a card


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
    language: str  # of dumps and stores
    column: str  # of JSON lines and Parquet
    lengths: tuple[int, ...]  # n of the n-grams
    splits: tuple[SplitOverlap, ...]
    articles: tuple[ArticleOverlap, ...]
    rejected: tuple[Reject, ...]  # parts of the other text that were not read
    characters: int  # of the other text, as compared


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


def as_text(found: Overlap, *, most: int = 10) -> str:
    """The totals, the articles with the largest share, and what was not read."""
    first = found.lengths[0]
    until = f", revisions up to {found.as_of}" if found.as_of else ""
    lines = [f"{found.dataset} against {', '.join(found.against)}{until}", "", *aligned(_rows(found))]
    articles = sorted(found.articles, key=lambda one: (-_share(one, first), -one.longest, one.split))
    if shared := [one for one in articles[:most] if one.longest or one.listed]:
        lines += ["", f"articles with most {first}-grams in the other text"]
    for one in shared:
        listed = f"; a lock file has this {one.listed}" if one.listed else ""
        nearest = f"; nearest: {one.nearest}" if one.nearest else ""
        lines.append(f"  {_share(one, first):7.2%}  {one.title} ({one.split}){nearest}{listed}")
        if one.longest:
            lines.append(f"           {one.longest:,} words in {one.stretch_in}: {one.stretch}")
    if found.rejected:
        lines += ["", not_read(found)]
    return spelled_out("\n".join(lines)) + "\n"  # titles and names can be a stranger's


def not_read(found: Overlap) -> str:
    """What of the other text was not compared."""
    lines = [f"  {one.source}: {one.reason} ({one.count:,}), {one.detail}" for one in found.rejected]
    return "\n".join(["not read, or not to the end", *lines])


def _share(one: ArticleOverlap | SplitOverlap, length: int) -> float:
    """The fraction of the n-grams of this length that the other text has; 0 if there are none."""
    return one.shared[length] / one.ngrams[length] if one.ngrams[length] else 0.0


def _rows(found: Overlap) -> list[list[str]]:
    head = ["", "articles", "(near)", "paragraphs", "(same)", "(near)"]
    rows = [[*head, *(f"{n}-grams" for n in found.lengths), "longest", "listed"]]
    for one in found.splits:
        counts = [one.articles, one.near_duplicates, one.paragraphs]
        counts += [one.duplicate_paragraphs, one.near_duplicate_paragraphs]
        shares = [f"{_share(one, n):.2%}" for n in found.lengths]
        rows.append([one.split, *(f"{n:,}" for n in counts), *shares, f"{one.longest:,}", f"{one.listed:,}"])
    return rows


def as_rows(found: Overlap) -> list[dict[str, object]]:
    """A row per article, for CSV."""
    return [dict(_flat(asdict(one))) for one in found.articles]


def _flat(fields: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for key, value in fields.items():
        if isinstance(value, Mapping):
            yield from ((f"{key}_{n}", count) for n, count in value.items())
        else:
            yield key, value


def _as_markdown(found: Overlap) -> str:
    """The totals as a section of a card."""
    head, *rows = _rows(found)
    marks = ["---", *["---:"] * (len(head) - 1)]
    table = "\n".join(f"| {' | '.join(row)} |" for row in (head, marks, *rows))
    until = f", in revisions up to {found.as_of}" if found.as_of else ""
    unread = sum(one.count for one in found.rejected)
    names = [f"`{one}`" for one in found.against[:NAMED]]
    if len(found.against) > NAMED:
        names.append(f"{len(found.against) - NAMED:,} more")
    return (
        f"Compared with {', '.join(names)}{until}:"
        f" {found.characters:,} characters; {unread:,} parts of it could not be read, or not to the end."
        f"\n\n{table}\n\n"
        f"(near): articles, and paragraphs, of which at least {NEAR:.0%} of the {found.lengths[0]}-grams"
        " stand there; (same): word for word; longest: words of the longest common stretch. The figures of"
        f" each article are in `{OVERLAP_BY_ARTICLE}`, and all paths in `{OVERLAP}`.\n"
    )


def built_card(directory: str | Path) -> bytes:
    """What the build wrote of a dataset's card."""
    directory = Path(directory)
    manifest = read_manifest(directory)
    if manifest is None or CARD not in manifest.files:
        raise BuilderError(f"{directory}: has no card; only datasets that were built here have one")
    built, _ = parts_of_card(directory)
    if entry_of_data(built) != manifest.files[CARD]:
        raise BuilderError(
            f"{directory / CARD}: is not what the manifest says; run `wikitext-builder verify`, or build"
            " it again"
        )
    return built


def write_into_card(directory: str | Path, found: Overlap) -> None:
    """Write an overlap into a dataset that was built here, replacing an earlier one.

    The card gets a last section, `overlap.csv` the figures per article, and `overlap.json` the totals, the
    description of the other text, and the hashes of the two. The manifest says what the dataset is, not what
    it was compared with, and does not change. If this is interrupted, `verify` says that parts do not agree.
    """
    directory, built = Path(directory), built_card(directory)
    texts = {
        OVERLAP_BY_ARTICLE: csv_text(as_rows(found)).encode(errors="backslashreplace"),
        CARD: OVERLAP_HEADING + f"\n{_as_markdown(found)}".encode(errors="backslashreplace"),
    }
    stored = {name: value for name, value in asdict(found).items() if name != "articles"}
    stored |= _compared_with(found.against)
    stored["files"] = {name: asdict(entry_of_data(data)) for name, data in texts.items()}
    texts[CARD] = built + texts[CARD]
    texts[OVERLAP] = f"{json.dumps(stored, indent=1)}\n".encode()
    for name, data in texts.items():
        blobs.write(str(directory / name), data)


def is_compared(directory: Path, against: Sequence[str | Path]) -> bool:
    """Returns True if a dataset has, whole, the overlap that a build with these files would write now."""
    paths, manifest = [str(path) for path in files_of(against)], read_manifest(directory)
    language = manifest.recipe.language if manifest else ""
    how = {"as_of": "", "language": language, "column": COLUMN, "lengths": list(LENGTHS)}
    expected = {"against": paths, **how, **_compared_with(paths)}
    try:
        parts = list(compared_overlap(directory))
        stored = json.loads((directory / OVERLAP).read_bytes()) if parts else {}
        compared = {one["split"] for one in stored.get("splits", ())}
    except (BuilderError, TypeError, KeyError):
        return False
    splits = {name for name, one in manifest.splits.items() if one.articles} if manifest else set()
    same = compared == splits and all(stored.get(name) == value for name, value in expected.items())
    return same and all(there == entry for _, entry, there in parts)


def _compared_with(paths: Sequence[str]) -> dict[str, object]:
    """The bytes and the sha256 of each source, of a folder over all its files, and the code that compares."""
    sources = {
        path: [*with_log(path)] if path.is_file() else sorted(one for one in path.rglob("*") if one.is_file())
        for path in map(Path, paths)
    }
    code = [code_hash(), *(file_sha256(one) for one in sorted(Path(__file__).parent.glob("*.py")))]
    return {
        "bytes": [sum(one.stat().st_size for one in files) for files in sources.values()],
        "sha256": [_sha256(path, files) for path, files in sources.items()],
        "code": lines_sha256(code)[:16],
    }


def with_log(path: Path) -> Iterator[Path]:
    """A file, and the write-ahead log that SQLite has not yet taken into it."""
    yield path
    if (log := path.with_name(f"{path.name}-wal")).is_file():
        yield log


def _sha256(path: Path, files: Sequence[Path]) -> str:
    """The hash of a file, or of the names and hashes of several; "" if one cannot be read."""
    with suppress(OSError):  # the comparison rejected it
        if files == [path]:
            return file_sha256(path)
        return lines_sha256(f"{one.name!a} {file_sha256(one)}" for one in files)
    return ""
