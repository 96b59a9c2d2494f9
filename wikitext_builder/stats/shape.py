"""Measures the shape of a text: articles, sections, paragraphs, sentences, words, and repetition.

`statistics.toml` has the definition of each statistic and its source.
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
from wikitext_builder.stats.text import BLOCK_WORDS, Integers, Reals, Text

PERCENTILES: Final = (1, 5, 25, 50, 75, 95, 99)
SENTENCE_ENDS: Final = (".", "!", "?")
NGRAM_WORDS: Final = 13  # unrelated sentences rarely share an n-gram of this length
NGRAMS_PER_SAMPLE: Final = 16  # of this many n-grams one is sampled, by its hash
MARKUP: Final = {UNK: UNK, SHOWN_FORMULA: "formula"}


def structure(text: Text) -> Measured:
    """Count articles, sections, paragraphs, sentences and words."""
    return {
        "articles": len(text.articles) or None,
        "sections": int((text.levels > 1).sum()) or None,
        "lines": len(text.lengths),
        "paragraphs": len(text.paragraphs),
        "sentences": len(sentence_lengths(text)),
        "words": len(text),
        "unknown": float(text.counts[0] / len(text)),
    }


def sentence_lengths(text: Text) -> Integers:
    """Return the number of words of each sentence; a paragraph's end also ends a sentence."""
    is_end = np.array([word in SENTENCE_ENDS for word in text.words])[text.ids]
    is_end[text.line_ends[text.lengths > 0] - 1] = True
    ends = np.flatnonzero(is_end) + 1
    in_paragraph = text.levels[np.searchsorted(text.line_ends, ends)] == 0
    return np.asarray(np.diff(ends, prepend=0)[in_paragraph])


def lengths(text: Text) -> Measured:
    """Measure how long articles, paragraphs, sentences and words are."""
    words_per = {
        "article": np.diff(np.append(text.article_starts, len(text))),
        "paragraph": text.lengths[text.paragraphs],
        "sentence": sentence_lengths(text),
    }
    measured: Measured = {}
    for name, sizes in words_per.items():
        measured |= distribution(name, *np.unique(sizes, return_counts=True))
    characters = np.array([len(word) for word in text.words])
    words_by_characters = np.bincount(characters, weights=text.counts)
    return measured | distribution("word", np.arange(len(words_by_characters)), words_by_characters)


def distribution(name: str, values: Integers, counts: Integers | Reals) -> Measured:
    """Return the mean and the percentiles of values with their counts."""
    total = counts.sum()
    if not total:
        return {}
    places = np.searchsorted(np.cumsum(counts), np.array(PERCENTILES) / 100 * total)
    curve: Curve = dict(zip(PERCENTILES, values[places].tolist(), strict=True))
    return {f"{name}_mean": float(values @ counts / total), name: curve}


def line_hashes(text: Text) -> Hashes:
    """Return a hash of 64 bits of each line."""
    starts, hashes_of_blocks, first = text.line_ends - text.lengths, [np.zeros(0, np.uint64)], 0
    while first < len(starts):
        start = starts[first]
        last = max(first + 1, int(np.searchsorted(text.line_ends, start + BLOCK_WORDS, "right")))
        sums = prefix_sums(text.ids[start : text.line_ends[last - 1]].astype(np.uint64) + np.uint64(1))
        hashes_of_blocks.append(ngrams_at(sums, starts[first:last] - start, text.lengths[first:last]))
        first = last
    return np.concatenate(hashes_of_blocks)


def repeats(text: Text) -> Measured:
    """Measure the paragraphs, articles and n-grams that occurred before, word for word."""
    lines = line_hashes(text)
    bounds = np.append(text.articles, len(lines))
    articles = ngrams_at(prefix_sums(lines), bounds[:-1], np.diff(bounds))
    positions, is_repeated = sampled_repeats(text)
    article = np.searchsorted(text.article_starts, positions, "right")
    sampled = np.bincount(article, minlength=1)[1:]
    repeated = np.bincount(article[is_repeated], minlength=len(sampled) + 1)[1:]
    near = int((2 * repeated > sampled).sum()) / len(text.articles) if len(text.articles) else None
    return {
        "paragraphs": _repeated_share(lines[text.paragraphs]),
        "articles": _repeated_share(articles),
        "near_articles": near,
        "ngrams": float(is_repeated.mean()) if len(is_repeated) else None,
    }


def _repeated_share(hashes: Hashes) -> float | None:
    return 1 - len(np.unique(hashes)) / len(hashes) if len(hashes) else None


def sampled_repeats(text: Text, sample: int = NGRAMS_PER_SAMPLE) -> tuple[Integers, NDArray[np.bool_]]:
    """Return where the sampled n-grams begin, and whether each occurred before."""
    positions, samples = [np.zeros(0, np.int64)], [np.zeros(0, np.uint64)]
    for start, by_length in hashes(text, (NGRAM_WORDS,)):
        chosen = np.flatnonzero(by_length[NGRAM_WORDS] % np.uint64(sample) == 0)
        positions.append(chosen + start)
        samples.append(by_length[NGRAM_WORDS][chosen])
    values = np.concatenate(samples)
    _, first_occurrences = np.unique(values, return_index=True)
    is_repeated = np.ones(len(values), bool)
    is_repeated[first_occurrences] = False
    return np.concatenate(positions), is_repeated


def kind(word: str) -> str:
    """Return the kind of a token.

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
    """Measure the share of each kind of words, the most frequent kind first."""
    counts = Counter[str]()
    for word, count in zip(text.words, text.counts.tolist(), strict=True):
        if count:
            counts[kind(word)] += count
    ordered = sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    return {"shares": {name: count / len(text) for name, count in ordered}}
