"""Two texts side by side: how far apart their words are.

What each statistic is, and where it comes from, stands in `statistics.toml`.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.spatial.distance import jensenshannon
from scipy.stats import rankdata

from wikitext_builder.stats.tail import Curve, Measured
from wikitext_builder.stats.text import Places, Words

OFTEN: Final = 20  # occurrences of a word in both texts, at least, whose ranks are compared
MOVED: Final = 15  # words in each direction


def divergence(first: Words, second: Words) -> Measured:
    """Jensen and Shannon's divergence of the shares of words."""
    _, counts = common_counts(first, second)
    if not counts.any(axis=1).all():
        return {}
    return {"bits": jensenshannon(*counts, base=2) ** 2}


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
    ranks = [rankdata(-row, method="ordinal")[often] for row in counts]
    change = np.log2(ranks[0] / ranks[1])
    order = np.lexsort((often, -change))
    rose = [place for place in order[:MOVED] if change[place] > 0]
    fell = [place for place in order[::-1][:MOVED] if change[place] < 0]
    named: list[Curve] = [{words[often[p]]: float(change[p]) for p in some} for some in (rose, fell)]
    return {"rose": named[0], "fell": named[1]}


def common_counts(first: Words, second: Words) -> tuple[list[str], Places]:
    """The words of both texts but `<unk>`, and how often each text has them."""
    place = {word: number for number, word in enumerate(first.words)}
    for word in second.words:
        place.setdefault(word, len(place))
    counts = np.zeros((2, len(place)), np.int64)
    counts[0, : len(first.words)] = first.counts
    counts[1, [place[word] for word in second.words]] = second.counts
    return list(place)[1:], counts[:, 1:]
