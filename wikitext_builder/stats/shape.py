"""The shape of a text: articles, sections, paragraphs, sentences, words, and what repeats.

What each statistic is, and where it comes from, stands in `statistics.toml`.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wikitext_builder.dataset.vocabulary import UNK
from wikitext_builder.extraction.markers import SHOWN_FORMULA
from wikitext_builder.stats.long_range import hashes
from wikitext_builder.stats.ngrams import Hashes, ngrams_at, prefix_sums
from wikitext_builder.stats.tail import Curve, Measured
from wikitext_builder.stats.text import BLOCK, Places, Reals, Text

PERCENTILES: Final = (1, 5, 25, 50, 75, 95, 99)
ENDS: Final = (".", "!", "?")  # tokens that end a sentence
REPEATED: Final = 13  # words of an n-gram that an ordinary sentence shares with no other
SAMPLE: Final = 16  # one of so many of these n-grams is looked at, chosen by its hash
MARKUP: Final = {UNK: UNK, SHOWN_FORMULA: "formula"}


def structure(text: Text) -> Measured:
    """How many articles, sections, paragraphs, sentences and words there are."""
    return {
        "articles": len(text.articles) or None,
        "sections": int((text.levels > 1).sum()) or None,
        "lines": len(text.lengths),
        "paragraphs": len(text.paragraphs),
        "sentences": len(sentence_lengths(text)),
        "words": len(text),
        "unknown": float(text.counts[0] / len(text)),
    }


def sentence_lengths(text: Text) -> Places:
    """The words of each sentence; what follows the last one's end in a paragraph is one too."""
    is_end = np.array([word in ENDS for word in text.words])[text.ids]
    is_end[text.line_ends[text.lengths > 0] - 1] = True
    ends = np.flatnonzero(is_end) + 1
    in_paragraph = text.levels[np.searchsorted(text.line_ends, ends)] == 0
    return np.asarray(np.diff(ends, prepend=0)[in_paragraph])


def lengths(text: Text) -> Measured:
    """How long articles, paragraphs, sentences and words are."""
    found = {
        "article": np.diff(np.append(text.article_starts, len(text))),
        "paragraph": text.lengths[text.paragraphs],
        "sentence": sentence_lengths(text),
    }
    measured: Measured = {}
    for name, each in found.items():
        measured |= distribution(name, *np.unique(each, return_counts=True))
    sizes = np.array([len(word) for word in text.words])
    of_sizes = np.bincount(sizes, weights=text.counts)
    return measured | distribution("word", np.arange(len(of_sizes)), of_sizes)


def distribution(name: str, values: Places, counts: Places | Reals) -> Measured:
    """Mean and percentiles."""
    total = counts.sum()
    if not total:
        return {}
    places = np.searchsorted(np.cumsum(counts), np.array(PERCENTILES) / 100 * total)
    curve: Curve = dict(zip(PERCENTILES, values[places].tolist(), strict=True))
    return {f"{name}_mean": float(values @ counts / total), name: curve}


def line_hashes(text: Text) -> Hashes:
    """A hash of each line, of 64 bits."""
    starts, found, first = text.line_ends - text.lengths, [np.zeros(0, np.uint64)], 0
    while first < len(starts):
        start = starts[first]
        last = max(first + 1, int(np.searchsorted(text.line_ends, start + BLOCK, "right")))
        sums = prefix_sums(text.ids[start : text.line_ends[last - 1]].astype(np.uint64) + np.uint64(1))
        found.append(ngrams_at(sums, starts[first:last] - start, text.lengths[first:last]))
        first = last
    return np.concatenate(found)


def repeats(text: Text) -> Measured:
    """Paragraphs and articles that stood before, word for word, and n-grams that did."""
    of_lines = line_hashes(text)
    bounds = np.append(text.articles, len(of_lines))
    of_articles = ngrams_at(prefix_sums(of_lines), bounds[:-1], np.diff(bounds))
    places, seen = sampled_repeats(text)
    article = np.searchsorted(text.article_starts, places, "right")
    totals = np.bincount(article, minlength=1)[1:]
    again = np.bincount(article[seen], minlength=len(totals) + 1)[1:]
    near = int((2 * again > totals).sum()) / len(text.articles) if len(text.articles) else None
    return {
        "paragraphs": _repeated(of_lines[text.paragraphs]),
        "articles": _repeated(of_articles),
        "near_articles": near,
        "ngrams": float(seen.mean()) if len(seen) else None,
    }


def _repeated(found: Hashes) -> float | None:
    return 1 - len(np.unique(found)) / len(found) if len(found) else None


def sampled_repeats(text: Text, sample: int = SAMPLE) -> tuple[Places, NDArray[np.bool_]]:
    """Where some of the n-grams begin, and whether each occurred before."""
    places, values = [np.zeros(0, np.int64)], [np.zeros(0, np.uint64)]
    for start, found in hashes(text, (REPEATED,)):
        chosen = np.flatnonzero(found[REPEATED] % np.uint64(sample) == 0)
        places.append(chosen + start)
        values.append(found[REPEATED][chosen])
    whole = np.concatenate(values)
    _, first = np.unique(whole, return_index=True)  # the first place of each
    seen = np.ones(len(whole), bool)
    seen[first] = False
    return np.concatenate(places), seen


def kind(word: str) -> str:
    """What a token is.

    >>> [kind(word) for word in ("tea", "Tea", "NATO", "1,000", "@-@", ".", "<unk>", "1990s")]
    ['lower case', 'capitalised', 'capitalised', 'number', 'punctuation', 'punctuation', '<unk>', 'number']
    """
    if word in MARKUP:
        return MARKUP[word]
    if not any(map(str.isalnum, word)):
        return "punctuation"
    if any(map(str.isdigit, word)):
        return "number"
    return "lower case" if word == word.lower() else "capitalised"


def kinds(text: Text) -> Measured:
    """The share of the words of each kind, the most frequent kind first."""
    counts = Counter[str]()
    for word, count in zip(text.words, text.counts.tolist(), strict=True):
        if count:
            counts[kind(word)] += count
    ordered = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    return {"shares": {name: count / len(text) for name, count in ordered}}
