"""Two texts side by side: how far apart their words are.

What each statistic is, and where it comes from, stands in `statistics.toml`.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from wikitext_builder.stats.tail import Curve, Measured
from wikitext_builder.stats.text import Places, Reals, Words

OFTEN: Final = 20  # occurrences of a word in both texts, at least, whose ranks are compared
MOVED: Final = 15  # words in each direction


def divergence(first: Words, second: Words) -> Measured:
    """Jensen and Shannon's divergence of the shares of words."""
    _, counts = common_counts(first, second)
    if not counts.any(axis=1).all():
        return {}
    shares = counts / counts.sum(axis=1, keepdims=True)
    middle = entropy(shares.mean(axis=0))
    return {"bits": middle - (entropy(shares[0]) + entropy(shares[1])) / 2}


def entropy(shares: Reals) -> float:
    """In bits."""
    some = shares[shares > 0]
    return float(-(some * np.log2(some)).sum())


def shared(first: Words, second: Words) -> Measured:
    """How much of each vocabulary, and of each text, the other vocabulary has."""
    _, counts = common_counts(first, second)
    if not counts.any(axis=1).all():
        return {}
    has = counts > 0
    both = has.all(axis=0)
    found: Measured = {}
    for name, own, known in (("first", counts[0], has[0]), ("second", counts[1], has[1])):
        found |= {f"types_{name}": both.sum() / known.sum(), f"words_{name}": own[both].sum() / own.sum()}
    return found


def moved(first: Words, second: Words) -> Measured:
    """The words whose rank changed most, as a logarithm of the ratio of ranks: above 0 it rose."""
    words, counts = common_counts(first, second)
    often = np.flatnonzero((counts >= OFTEN).all(axis=0))
    change = np.log2(ranks(counts[0])[often] / ranks(counts[1])[often])
    order = np.lexsort((often, -change))
    rose = [place for place in order[:MOVED] if change[place] > 0]
    fell = [place for place in order[::-1][:MOVED] if change[place] < 0]
    named: list[Curve] = [{words[often[p]]: float(change[p]) for p in some} for some in (rose, fell)]
    return {"rose": named[0], "fell": named[1]}


def ranks(counts: Places) -> Places:
    """The rank of each count, from 1; equal ones in their order."""
    found = np.empty(len(counts), np.int64)
    found[np.argsort(-counts, kind="stable")] = np.arange(1, len(counts) + 1)
    return found


def common_counts(first: Words, second: Words) -> tuple[list[str], Places]:
    """The words of both texts but `<unk>`, and how often each text has them."""
    place = {word: number for number, word in enumerate(first.words)}
    for word in second.words:
        place.setdefault(word, len(place))
    counts = np.zeros((2, len(place)), np.int64)
    counts[0, : len(first.words)] = first.counts
    counts[1, [place[word] for word in second.words]] = second.counts
    return list(place)[1:], counts[:, 1:]
