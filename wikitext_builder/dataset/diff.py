"""What differs between two datasets: their recipes, their articles, and how often they use which word.

The change of a word's frequency is measured by the log-likelihood ratio G² of the table of 2 × 2: this word
or another one, in the first dataset or in the second (Dunning 1993, "Accurate Methods for the Statistics of
Surprise and Coincidence"). Unlike χ², it can be trusted for rare words. It supposes that words occur
independently; a name that fills one new article has a high G² too, so the number of articles is beside it.
"""

from __future__ import annotations

import hashlib
import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from wikitext_builder.article import SPLITS
from wikitext_builder.dataset.load import WIKITEXT, Dataset, load_named
from wikitext_builder.dataset.vocabulary import EOS, UNK, read_token_lines
from wikitext_builder.errors import BuilderError
from wikitext_builder.pages.lock import ATTRIBUTION, Attribution, read_attribution
from wikitext_builder.tables import aligned, spelled_out

NOT_COUNTED: Final = (UNK, EOS)
LEAST_G2: Final = 10.83  # one chance in a thousand (χ² with one degree of freedom)


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """An article as one of the two datasets has it."""

    title: str  # as its page has it; or, where there is no attribution, the tokens of its heading
    split: str
    page_id: int | None  # None: not known, as in a dataset in the official layout
    revision_id: int | None
    digest: str  # of its lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """An article that both datasets have."""

    before: Version
    after: Version


@dataclass(frozen=True, slots=True, kw_only=True)
class WordChange:
    """A word, and how often each of the two datasets has it."""

    word: str
    counts: tuple[int, int]
    per_million: tuple[float, float]
    articles: tuple[int, int]  # that have the word
    g2: float  # log-likelihood ratio


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetDiff:
    """What differs between two datasets. Tuples of two are for the first and the second one."""

    names: tuple[str, str]
    articles: tuple[int, int]
    words: tuple[int, int]  # tokens without `<unk>` and `<eos>`
    recipe: Mapping[str, tuple[object, object]]  # fields of the recipes that differ
    added: tuple[Version, ...]  # only in the second
    gone: tuple[Version, ...]  # only in the first
    changed: tuple[Change, ...]  # another revision, or another text
    moved: tuple[Change, ...]  # another split
    same: int  # articles that neither changed nor moved
    most_changed: tuple[WordChange, ...]  # words, by falling G²
    unknown: tuple[str, ...] = ()  # what the files do not say


def diff(first: str | Path, second: str | Path, *, names: Sequence[str] = (), words: int = 20) -> DatasetDiff:
    """Compare two datasets.

    Articles are matched by title, then by page id. Texts are compared in the raw files, which are streamed:
    memory holds a line per article, and word counts.

    Args:
        first: A dataset built here, or a folder in the layout of WikiText or the Penn Treebank.
        second: The other one.
        names: Names for the two; default: see `load_named`.
        words: Maximum number of words to list; only words with G² of at least 10.83 are listed.

    Raises:
        BuilderError: There is no dataset, a file cannot be read, or a dataset is not what its files say.
    """
    if words < 0:
        raise BuilderError(f"--words: {words}; expected 0 or more")
    loaded = load_named([first, second], names)
    pair = tuple(loaded.values())
    raw = all(one.has_raw(split) for one in pair for split in one.files)
    attributed = all((one.path / ATTRIBUTION).is_file() for one in pair)
    before, after = (_read(one, raw=raw, attributed=attributed) for one in pair)
    comparable = before.articles and after.articles  # the Penn Treebank has no articles
    keys = ("title",) if "language" in _recipes(*pair) else ("title", "page_id")
    matched, gone, added = _match(before.articles, after.articles, keys) if comparable else ([], [], [])
    changed = [one for one in matched if _is_changed(one, raw=raw)]
    moved = [one for one in matched if one.before.split != one.after.split]
    touched = {id(one) for one in (*changed, *moved)}
    one, other = loaded
    return DatasetDiff(
        names=(one, other),
        articles=(len(before.articles), len(after.articles)),
        words=(before.counts.total(), after.counts.total()),
        recipe=_recipes(*pair),
        added=tuple(added),
        gone=tuple(gone),
        changed=tuple(changed),
        moved=tuple(moved),
        same=len(matched) - len(touched),
        most_changed=tuple(_word_changes(pair, (before.counts, after.counts), words, raw=raw)),
        unknown=tuple(_unknown(loaded, (before, after))),
    )


@dataclass(slots=True)
class _Contents:
    articles: list[Version] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


def _read(dataset: Dataset, *, raw: bool, attributed: bool) -> _Contents:
    """The articles and the words of a dataset."""
    contents = _Contents()
    sources: dict[str, list[Attribution]] = defaultdict(list)
    for one in read_attribution(dataset.path) if attributed else ():
        sources[one.split].append(one)
    for split in dataset.files:
        rows = iter(sources[split])
        # Raw titles have no `<unk>`: take them also if the words come from the other files.
        headings = iter(dataset.articles(split, raw=True)) if dataset.has_raw(split) and not raw else None
        for heading, lines in _texts(dataset, split, raw=raw):
            title = heading
            if headings is not None:
                if (named := next(headings, None)) is None:
                    raise dataset.unfit(f"the raw file of {split} has too few articles")
                title = named.title
            digest = hashlib.sha256()
            for line in lines:
                contents.counts.update(line)
                digest.update(" ".join(line).encode() + b"\n")
            source = next(rows, None) if attributed else None
            if attributed and source is None:
                raise dataset.unfit(f"{split} has more articles than {ATTRIBUTION}")
            if title:
                version = Version(
                    title=source.title if source else title,
                    split=split,
                    page_id=source.page_id if source else None,
                    revision_id=source.revision_id if source else None,
                    digest=digest.hexdigest(),
                )
                contents.articles.append(version)
        if next(rows, None):
            raise dataset.unfit(f"{split} has fewer articles than {ATTRIBUTION}")
    for token in NOT_COUNTED:
        del contents.counts[token]
    return contents


def _texts(dataset: Dataset, split: str, *, raw: bool) -> Iterator[tuple[str, Iterable[list[str]]]]:
    """The articles of a split: title and lines of tokens; without articles one text with an empty title."""
    if dataset.layout != WIKITEXT:
        yield "", read_token_lines(dataset.file(split))
        return
    for article in dataset.articles(split, raw=raw):
        yield article.title, (line.split() for line in article.lines)


def _match(
    before: Sequence[Version], after: Sequence[Version], keys: Sequence[str]
) -> tuple[list[Change], list[Version], list[Version]]:
    """Pairs of the same article, and what is only in one: by the first key, then by the next one."""
    pairs: list[Change] = []
    gone, added = list(before), list(after)
    for key in keys:
        waiting: dict[object, list[Version]] = defaultdict(list)
        for one in reversed(gone):
            waiting[getattr(one, key)].append(one)
        rest = []
        for one in added:
            value = getattr(one, key)
            if value is None or (key == "title" and UNK in one.title.split()) or not waiting[value]:
                rest.append(one)
            else:
                pairs.append(Change(before=waiting[value].pop(), after=one))
        matched = {id(pair.before) for pair in pairs}
        gone, added = [one for one in gone if id(one) not in matched], rest
    return pairs, gone, added


def _is_changed(one: Change, *, raw: bool) -> bool:
    """True if the revision differs, or the text where it is known."""
    return one.before.revision_id != one.after.revision_id or (raw and one.before.digest != one.after.digest)


def log_likelihood_ratio(a: int, b: int, total_a: int, total_b: int) -> float:
    """Dunning's G² of a word that occurs `a` and `b` times among `total_a` and `total_b` words.

    >>> round(log_likelihood_ratio(110, 111, 110 + 2442, 111 + 29114), 2)  # Dunning 1993, "the swiss"
    270.72
    """
    cells = ((a, total_a), (b, total_b), (total_a - a, total_a), (total_b - b, total_b))
    total = total_a + total_b
    rows = (a + b, a + b, total - a - b, total - a - b)
    terms = (
        count * math.log(count * total / (row * column))
        for (count, column), row in zip(cells, rows, strict=True)
        if count
    )
    return 2 * sum(terms)


def _word_changes(
    pair: Sequence[Dataset], counts: tuple[Counter[str], Counter[str]], number: int, *, raw: bool
) -> Iterator[WordChange]:
    """The words with the highest G², and in how many articles they are."""
    total_a, total_b = (one.total() for one in counts)
    most = heapq.nsmallest(number, _ratios(*counts)) if total_a and total_b else []
    found = [_articles_with(one, {word for _, word in most}, raw=raw) for one in pair]
    for negative, word in most:
        a, b = (one[word] for one in counts)
        yield WordChange(
            word=word,
            counts=(a, b),
            per_million=(1e6 * a / total_a, 1e6 * b / total_b),
            articles=(found[0][word], found[1][word]),
            g2=-negative,
        )


def _ratios(before: Counter[str], after: Counter[str]) -> Iterator[tuple[float, str]]:
    """The negative G² of each word whose frequency changed: these sort by falling G², then by alphabet."""
    totals = (before.total(), after.total())
    for word in before.keys() | after.keys():
        if (g2 := log_likelihood_ratio(before[word], after[word], *totals)) >= LEAST_G2:
            yield -g2, word


def _articles_with(dataset: Dataset, words: set[str], *, raw: bool) -> Counter[str]:
    """In how many articles each of some words occurs."""
    found: Counter[str] = Counter()
    for split in dataset.files if words else ():
        for _, lines in _texts(dataset, split, raw=raw):
            found.update(words & {word for line in lines for word in line})
    return found


def _recipes(first: Dataset, second: Dataset) -> dict[str, tuple[object, object]]:
    """The fields in which the recipes differ; none if a dataset has no manifest."""
    if not first.manifest or not second.manifest:
        return {}
    one, other = asdict(first.manifest.recipe), asdict(second.manifest.recipe)
    return {name: (one[name], other[name]) for name in one if one[name] != other[name]}


def _unknown(loaded: Mapping[str, Dataset], contents: tuple[_Contents, _Contents]) -> Iterator[str]:
    """What the files of the two do not say, in sentences."""
    for (name, dataset), found in zip(loaded.items(), contents, strict=True):
        if dataset.layout != WIKITEXT:
            yield f"{name} has no articles: only words are compared"
            continue
        if missing := [split for split in SPLITS if split not in dataset.files]:
            yield f"{name} has no {' and no '.join(missing)}"
        if not (dataset.path / ATTRIBUTION).is_file():
            yield f"{name} has no {ATTRIBUTION}: titles are compared as tokens, and revisions are not known"
        if not all(map(dataset.has_raw, dataset.files)):
            yield f"{name} has no raw files: rare words are {UNK}, so it is not known which texts changed"
        if hidden := sum(UNK in one.title.split() for one in found.articles):
            yield f"{name} has {hidden:,} titles with {UNK}, which count as articles of {name} alone"


def as_text(found: DatasetDiff, *, titles: int = 10) -> str:
    """A difference as plain text, with some titles of each kind."""
    (one, other), lines = found.names, list[str]()
    width = max(map(len, found.names))
    for name, articles, words in zip(found.names, found.articles, found.words, strict=True):
        lines.append(f"{name:{width}}  {articles:>9,} articles  {words:>13,} words")
    lines += [f"recipe: {name} {a!r} → {b!r}" for name, (a, b) in found.recipe.items()]
    lines += [f"not known: {sentence}" for sentence in found.unknown]
    if not all(found.articles):
        return spelled_out("\n".join([*lines, "", *_word_table(found)]) + "\n")
    kinds = {
        f"only in {other}": [f"{one.title} ({one.split})" for one in found.added],
        f"only in {one}": [f"{one.title} ({one.split})" for one in found.gone],
        "changed": [_described(one) for one in found.changed],
        "in another split": [
            f"{one.after.title} ({one.before.split} → {one.after.split})" for one in found.moved
        ],
    }
    for kind, rows in kinds.items():
        lines += ["", f"{len(rows):,} {kind}", *(f"  {row}" for row in rows[:titles])]
        lines += [f"  and {len(rows) - titles:,} more"] if len(rows) > titles else []
    lines += ["", f"{found.same:,} the same{', as far as is known' if found.unknown else ''}"]
    lines += ["", *_word_table(found)] if found.most_changed else []
    return spelled_out("\n".join(lines) + "\n")


def _described(one: Change) -> str:
    before, after = one.before, one.after
    title = after.title if before.title == after.title else f"{before.title} → {after.title}"
    if before.revision_id == after.revision_id:
        return f"{title} (other text of the same revision)"
    return f"{title} (revision {before.revision_id} → {after.revision_id})"


def _word_table(found: DatasetDiff) -> list[str]:
    head = ("word", *(f"{name}, per million" for name in found.names), "G²", "articles")
    rows = [head]
    for one in found.most_changed:
        rates = (f"{rate:,.1f}" for rate in one.per_million)
        rows.append((one.word, *rates, f"{one.g2:,.1f}", f"{one.articles[0]:,} → {one.articles[1]:,}"))
    return aligned(rows)
