"""The shape of a text: articles, sections, paragraphs, sentences, words, and what repeats.

What each statistic is, and where it comes from, stands in `statistics.toml`.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wikitext_builder.dataset.plain import ARTICLES
from wikitext_builder.dataset.vocabulary import UNK
from wikitext_builder.extraction.markers import SHOWN_FORMULA
from wikitext_builder.pages.lock import ATTRIBUTION, read_attribution
from wikitext_builder.stats.long_range import hashes
from wikitext_builder.stats.tail import Curve, Measured
from wikitext_builder.stats.text import BLOCK, Places, Reals, Text
from wikitext_builder.text_overlap.words import Hashes, ngrams_at, prefix_sums

PERCENTILES: Final = (1, 5, 25, 50, 75, 95, 99)
ENDS: Final = (".", "!", "?")  # tokens that end a sentence
REPEATED: Final = 13  # words of an n-gram that an ordinary sentence shares with no other
SAMPLE: Final = 16  # one of so many of these n-grams is looked at, chosen by its hash
LONGEST_RUN: Final = 4
TOPICS: Final = 20
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


def by_type(text: Text, name: Callable[[str], str]) -> Curve:
    """The share of the words of each kind, the most frequent kind first."""
    found = Counter[str]()
    for word, count in zip(text.words, text.counts.tolist(), strict=True):
        if count:
            found[name(word)] += count
    return {
        kind: count / len(text) for kind, count in sorted(found.items(), key=lambda one: (-one[1], one[0]))
    }


def script(word: str) -> str:
    """The script of the first letter, as Unicode names it; none without a letter.

    >>> script("tea"), script("чай"), script("茶"), script("1,000"), script("<unk>")
    ('latin', 'cyrillic', 'cjk', 'none', 'none')
    """
    letter = "" if word in MARKUP else next((character for character in word if character.isalpha()), "")
    return unicodedata.name(letter, "other").split()[0].lower() if letter else "none"


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


def scripts(text: Text) -> Measured:
    """Scripts of words with a letter."""
    return {"shares": by_type(text, script)}


def kinds(text: Text) -> Measured:
    """Numbers, punctuation, formulas, words."""
    return {"shares": by_type(text, kind)}


def unknown_runs(text: Text) -> Measured:
    """Runs of `<unk>` in a line, by length."""
    unknown = np.flatnonzero(text.ids == 0)
    if not len(unknown):
        return {}
    line = np.searchsorted(text.line_ends, unknown, "right")
    new = np.append(True, (np.diff(unknown) > 1) | (np.diff(line) > 0))
    runs = np.diff(np.append(np.flatnonzero(new), len(unknown)))
    in_runs = np.bincount(np.minimum(runs, LONGEST_RUN), weights=runs, minlength=LONGEST_RUN + 1) / len(
        unknown
    )
    curve: Curve = {length: float(in_runs[length]) for length in range(1, LONGEST_RUN + 1)}
    return {"longest": int(runs.max()), "shares": curve}


def revisions(text: Text) -> Measured:
    """The years of the pages' revisions."""
    if text.dataset is None or not (text.dataset.path / ATTRIBUTION).is_file():
        return {}
    rows = [one for one in read_attribution(text.dataset.path) if one.split == text.split]
    years = Counter(one.timestamp[:4] for one in rows)
    return {"years": {year: years[year] for year in sorted(years)}}


def topics(text: Text) -> Measured:
    """The categories that most articles have."""
    if text.dataset is None or not (text.dataset.path / ARTICLES).is_dir():
        return {}
    found = Counter(name for one in text.dataset.plain_articles(text.split) for name in one.categories)
    return {"articles": dict(sorted(found.items(), key=lambda one: (-one[1], one[0]))[:TOPICS])}
