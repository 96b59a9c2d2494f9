"""The n-grams of a dataset, past which the other side streams: what of the dataset was found, and where.

All memory is of the dataset's size: the other side passes by in chunks. A chunk costs a look into a table of
bits per word, and a binary search per word that may be there.

A stretch is a run of n-grams of the other side that follow each other in the dataset too. It is found from
pairs of places, there and here, whose difference is the same. Of an n-gram that the dataset has at more than
64 places the first 64 count for stretches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wikitext_builder.dataset.vocabulary import UNK
from wikitext_builder.text_overlap.sources import Piece
from wikitext_builder.text_overlap.words import (
    BOUNDARY,
    BOUNDARY_HASH,
    LINE_END,
    LINE_END_HASH,
    Hashes,
    Places,
    all_ngrams,
    ngrams,
    ngrams_at,
    prefix_sums,
    word_hashes,
)

PLACES: Final = 64  # of an n-gram, which count for stretches
CHUNK: Final = 2**17  # characters of the other side that are looked up at once
LINES: Final = 200  # of the dataset that are hashed at once
LEAST: Final = 0.05  # of an article's n-grams, which the document must have that is named as nearest
FREE: Final = 4  # cells of a table per n-gram, at least: three of four words need no binary search
Flags = NDArray[np.bool_]


@dataclass(slots=True)
class Found:
    """What the other side has of an article: its longest stretch and its nearest document."""

    longest: int = 0  # words
    begin: int = 0  # of the longest stretch: which word of the article's paragraphs
    where: str = ""  # the document with the longest stretch
    nearest: str = ""  # the document with most of the article's n-grams
    nearest_shared: int = 0

    def add_stretch(self, longest: int, begin: int, where: str) -> None:
        """Keep the longest; of equal ones the first by name of the document, then by place."""
        if (-longest, where, begin) < (-self.longest, self.where, self.begin):
            self.longest, self.begin, self.where = longest, begin, where

    def add_nearest(self, shared: int, document: str) -> None:
        """Keep the document that shares most; of equal ones the first by name."""
        if (-shared, document) < (-self.nearest_shared, self.nearest):
            self.nearest_shared, self.nearest = shared, document


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What an index found: what a worker hands back."""

    met: dict[int, Flags]  # by length: which n-grams
    whole: Flags  # which lines
    found: list[Found]  # by article


class Table:
    """Different hashes in order, and which of them were met."""

    def __init__(self, keys: Hashes) -> None:
        self.keys = keys
        self.met = np.zeros(len(keys), bool)
        bits = max(10, (FREE * len(keys)).bit_length())
        self._shift = np.uint64(64 - bits)
        self._maybe = np.zeros(2**bits, bool)
        self._maybe[self._cells(keys)] = True

    def _cells(self, hashes: Hashes) -> Places:
        return (hashes >> self._shift).view(np.int64)

    def look_up(self, hashes: Hashes) -> tuple[Places, Places]:
        """Which of some hashes are here, and the number of the key of each of these."""
        asked = np.flatnonzero(self._maybe[self._cells(hashes)])
        wanted = hashes[asked]
        numbers = np.searchsorted(self.keys, wanted)
        numbers[numbers == len(self.keys)] = 0
        here = self.keys[numbers] == wanted if len(asked) else np.zeros(0, bool)
        return asked[here], numbers[here]


@dataclass(slots=True)
class _Pairs:
    """Places of the other side and of the dataset that have the same n-gram."""

    there: Places  # in the chunk
    here: Places  # in the dataset
    document: Places  # of `there`, counted in the chunk


class Index:
    """The paragraphs of some articles, each word once."""

    def __init__(self, articles: Sequence[Sequence[str]], lengths: Sequence[int]) -> None:
        """Index articles, each the lines of its paragraphs; the shortest n-grams decide about stretches."""
        self.lengths = tuple(sorted(set(lengths)))
        lines = [line for article in articles for line in article]
        self.words, self.line_ends = _hashed(lines)
        self.line_of = np.repeat(np.arange(len(lines), dtype=np.int32), np.diff(self.line_ends))
        self.article_ends = np.cumsum([0, *map(len, articles)])  # in lines
        self.article_of = np.repeat(np.arange(len(articles), dtype=np.int32), np.diff(self.article_ends))
        self.found = [Found() for _ in articles]
        self.longest = np.zeros(len(articles), np.int64)  # of `found`
        self.whole = np.zeros(len(lines), bool)  # lines that the other side has, word for word
        self.tables, self.numbers = dict[int, Table](), dict[int, NDArray[np.int32]]()
        for length in reversed(self.lengths):
            order, begins = self._add_table(length)
        places = self._places(self.lengths[0])
        counts = np.bincount(self.article_of[self.line_of[places]], minlength=len(self.found))
        self.least = np.maximum(1, LEAST * counts)
        self.places = places[order].astype(np.int32)  # of the shortest n-grams, grouped by n-gram
        self.groups = np.append(begins, len(places)).astype(np.int32)

    def _add_table(self, length: int) -> tuple[Places, Places]:
        """Make the table of a length; return the order of the places by hash, and where each hash begins."""
        hashes = ngrams(self.words, length)[self._places(length)]
        order = np.argsort(hashes, kind="stable")
        hashes = hashes[order]
        new = np.ones(len(hashes), bool)
        np.not_equal(hashes[1:], hashes[:-1], out=new[1:])
        self.numbers[length] = np.empty(len(hashes), np.int32)  # by place: the number of its key
        self.numbers[length][order] = np.cumsum(new, dtype=np.int32) - 1
        self.tables[length] = Table(hashes[new])
        return order, np.flatnonzero(new)

    def _places(self, length: int) -> Places:
        """Where the n-grams of a length begin: those that lie within a line and have no `<unk>`."""
        last = len(self.words) - length + 1
        if last <= 0:
            return np.zeros(0, np.int64)
        unknown = np.cumsum(self.words == BOUNDARY_HASH, dtype=np.int32)
        unknown -= self.words == BOUNDARY_HASH  # before each word
        inside = self.line_of[:last] == self.line_of[length - 1 :]
        known = unknown[:last] == unknown[length - 1 :]
        return np.flatnonzero(inside & known & (self.words[length - 1 :] != BOUNDARY_HASH))

    def ngrams_of_lines(self, length: int) -> tuple[Places, Places]:
        """How many n-grams each line has, and how many of them the other side has."""
        lines, count = self.line_of[self._places(length)], len(self.whole)
        met = self.tables[length].met[self.numbers[length]]
        return np.bincount(lines, minlength=count), np.bincount(lines[met], minlength=count)

    @property
    def findings(self) -> Findings:
        """All that was found so far."""
        met = {length: table.met for length, table in self.tables.items()}
        return Findings(met=met, whole=self.whole, found=self.found)

    def merge(self, other: Findings) -> None:
        """Add what was found by another index of the same articles."""
        for length, table in self.tables.items():
            table.met |= other.met[length]
        self.whole |= other.whole
        for mine, theirs in zip(self.found, other.found, strict=True):
            mine.add_stretch(theirs.longest, theirs.begin, theirs.where)
            mine.add_nearest(theirs.nearest_shared, theirs.nearest)


def _hashed(lines: Sequence[str]) -> tuple[Hashes, Places]:
    """The words of all lines, and where each line begins, and the last one ends; `<unk>` is `BOUNDARY`."""
    hashes, ends, done = [np.zeros(0, np.uint64)], [np.zeros(1, np.int64)], 0
    for start in range(0, len(lines), LINES):
        some = (one.replace(BOUNDARY, " ").replace(LINE_END, " ") for one in lines[start : start + LINES])
        found = word_hashes("".join(f"{line.replace(UNK, BOUNDARY)}{LINE_END}" for line in some))
        is_end = found == LINE_END_HASH
        hashes.append(found[~is_end])
        ends.append(np.flatnonzero(is_end) - np.arange(is_end.sum()) + done)
        done += len(hashes[-1])
    return np.concatenate(hashes), np.concatenate(ends)


@dataclass(slots=True)
class Chunk:
    """A chunk of the other side: text with `BOUNDARY` between documents, and the names of these."""

    text: str
    documents: list[str]


def chunks_of(pieces: Iterable[Piece], size: int = CHUNK) -> Iterator[Chunk]:
    """Join pieces to chunks of about `size` characters; a chunk ends at a space, if it has one."""
    documents, parts, length = [""], list[str](), 0
    for piece in pieces:
        if piece.document != documents[-1]:
            parts.append(BOUNDARY)
            documents.append(piece.document)
            length += 1  # so that documents without text fill a chunk too
        for start in range(0, max(1, len(piece.text)), size):
            parts.append(piece.text[start : start + size].replace(BOUNDARY, " "))
            length += len(parts[-1])
            if length >= size:
                text = "".join(parts)
                cut = max(text.rfind(end) for end in (" ", "\n", BOUNDARY)) + 1 or len(text)
                yield Chunk(text[:cut], documents)
                documents, parts, length = [piece.document], [text[cut:]], len(text) - cut
    yield Chunk("".join(parts), documents)


@dataclass(slots=True)
class Scan:
    """Looks up chunks in their order; what spans two chunks is found as if they were one."""

    index: Index
    _held: Hashes = field(default_factory=lambda: np.zeros(0, np.uint64))  # words whose n-grams wait
    _names: list[str] = field(default_factory=lambda: [""])  # documents of the held words
    _position: int = 0  # of the first held word, in the stream
    _open: dict[int, tuple[int, int]] = field(default_factory=dict)  # stretches that may continue
    _counted: NDArray[np.int32] | None = None  # by place of the dataset: the document that last had it
    _shared: dict[int, int] = field(default_factory=dict)  # by article: n-grams in the open document
    _documents: int = 0  # before the held words

    def add(self, chunk: Chunk) -> None:
        """Look up a chunk."""
        self._names = [*self._names, *chunk.documents[1:]]
        self._held = np.concatenate([self._held, word_hashes(chunk.text)])
        self._look_up(max(0, len(self._held) - self.index.lengths[-1] + 1))

    def close(self) -> None:
        """Look up what was held back."""
        self._held = np.append(self._held, np.full(self.index.lengths[-1], BOUNDARY_HASH))
        self._look_up(len(self._held) - self.index.lengths[-1])

    def _look_up(self, count: int) -> None:
        """Look up the n-grams that begin at the first `count` held words, and let go of these words."""
        words, index = self._held, self.index
        bounds = np.flatnonzero(words[:count] == BOUNDARY_HASH)
        if count and len(index.words):
            self._meet(words, count, bounds)
        self._held = words[count:]
        self._names = self._names[len(bounds) :]
        self._documents += len(bounds)
        self._position += count

    def _meet(self, words: Hashes, count: int, bounds: Places) -> None:
        first, *longer = self.index.lengths
        sums = prefix_sums(words)
        there, numbers = self.index.tables[first].look_up(all_ngrams(sums, first)[:count])
        self.index.tables[first].met[numbers] = True
        for length in longer:
            table = self.index.tables[length]
            table.met[table.look_up(ngrams_at(sums, there, length))[1]] = True
        pairs = self._pairs(there, numbers, bounds)
        self._add_stretches(pairs, count)
        self._add_documents(pairs, len(bounds))

    def _pairs(self, there: Places, numbers: Places, bounds: Places) -> _Pairs:
        index = self.index
        begins = index.groups[numbers]
        counts = np.minimum(index.groups[numbers + 1] - begins, PLACES).astype(np.int64)
        offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        here = index.places[np.repeat(begins, counts) + offsets].astype(np.int64)
        there = np.repeat(there, counts)
        return _Pairs(there, here, np.searchsorted(bounds, there, "right"))

    def _add_stretches(self, pairs: _Pairs, count: int) -> None:
        index, first = self.index, self.index.lengths[0]
        diagonal = pairs.here - (pairs.there + self._position)
        order = np.lexsort((pairs.there, diagonal))
        diagonal, there, here = diagonal[order], pairs.there[order], pairs.here[order]
        document = pairs.document[order]
        line = index.line_of[here]
        new = np.ones(len(there), bool)
        new[1:] = (diagonal[1:] != diagonal[:-1]) | (there[1:] != there[:-1] + 1) | (line[1:] != line[:-1])
        begins = np.flatnonzero(new)
        lengths = np.diff(np.append(begins, len(there)))
        starts = here[begins].copy()
        before, self._open = self._open, {}
        for run in np.flatnonzero(there[begins] == 0) if before else ():
            start, length = before.get(int(diagonal[begins[run]]), (0, 0))
            if length and index.line_of[start] == line[begins[run]]:
                starts[run], lengths[run] = start, lengths[run] + length
        for run in np.flatnonzero(there[begins] + np.diff(np.append(begins, len(there))) == count):
            self._open[int(diagonal[begins[run]])] = (int(starts[run]), int(lengths[run]))
        lines = line[begins]
        words = lengths + first - 1
        index.whole[lines[words == np.diff(index.line_ends)[lines]]] = True
        articles = index.article_of[lines]
        for run in np.flatnonzero(words >= index.longest[articles]):
            article = int(articles[run])
            begin = int(starts[run]) - int(index.line_ends[index.article_ends[article]])
            index.found[article].add_stretch(int(words[run]), begin, self._names[document[begins[run]]])
            index.longest[article] = index.found[article].longest

    def _add_documents(self, pairs: _Pairs, last: int) -> None:
        """Count the n-grams of each article that each document has; `last` is the one that stays open."""
        index, open_before = self.index, self._shared
        if self._counted is None:
            self._counted = np.full(len(index.words), -1, np.int32)
        number = pairs.document + self._documents
        fresh = self._counted[pairs.here] != number
        self._counted[pairs.here] = number
        keys = np.unique(pairs.document[fresh] * len(index.words) + pairs.here[fresh])
        document, here = np.divmod(keys, len(index.words))
        rows = document * len(index.found) + index.article_of[index.line_of[here]]
        rows, counts = np.unique(rows, return_counts=True)
        document, article = np.divmod(rows, len(index.found))
        self._shared = dict(open_before) if last == 0 else {}
        for row in np.flatnonzero((document == 0) | (document == last) | (counts >= index.least[article])):
            which, whose, total = int(document[row]), int(article[row]), int(counts[row])
            total += open_before.get(whose, 0) if which == 0 else 0
            if which == last:
                self._shared[whose] = total
            if total >= index.least[whose]:
                index.found[whose].add_nearest(total, self._names[which])
