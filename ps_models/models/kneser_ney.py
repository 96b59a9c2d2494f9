"""Estimates n-gram probabilities with modified interpolated Kneser-Ney smoothing, without cut-offs.

Chen and Goodman (1998), "An empirical study of smoothing techniques for language modeling", section 3.2 and
equations 26 to 28; the counts at the start of a line as in Heafield et al. (2013), "Scalable modified
Kneser-Ney language model estimation", section 2::

    p_k(w | h) = (c(hw) - D(c(hw))) / c(h.) + gamma(h) p_(k-1)(w | h')      c(h.) = sum over w of c(hw)
    gamma(h) = sum over w of D(c(hw)) / c(h.)                              h' is h without its first word
    p_0(w) = 1 / V

At the highest order c counts occurrences. At lower orders c counts the different words that come before the
n-gram. Nothing comes before an n-gram at the start of a line: there c counts occurrences. Each order has
three values of D, for counts of 1, of 2 and of 3 or more. No n-gram crosses the end of a line.

An n-gram's key is the number of its first k - 1 words among the (k - 1)-grams, times V, plus its last word.
The distinct keys, sorted, are the table, and the number of an n-gram is the place of its key.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ps_models.errors import ModelError

Ints = NDArray[np.int64]
Places = NDArray[np.int32]  # counts and numbers of n-grams: half the memory of Ints
Floats = NDArray[np.float64]

FALLBACK = (0.5, 1.0, 1.5)  # D if the text is too small to estimate it; KenLM's --discount_fallback
ABSENT = -1  # the number of an n-gram that does not occur


@dataclass(frozen=True, slots=True, kw_only=True)
class Grams:
    """All n-grams of one order, sorted by key."""

    keys: Ints  # number of the first words * V + the last word
    log_probs: Floats  # log p_k(last word | the words before it)
    log_backoffs: Floats  # log gamma of the n-gram if it is a context, else 0; empty at the highest order
    discounts: tuple[float, float, float]  # D of counts 1, 2 and 3 or more

    def find(self, keys: Ints) -> Ints:
        """Return the numbers of n-grams by their keys; `ABSENT` for absent keys and keys below 0."""
        if not len(self.keys):
            return np.full(keys.shape, ABSENT)
        places = np.searchsorted(self.keys, keys)
        places[places == len(self.keys)] = 0
        return np.where(self.keys[places] == keys, places, ABSENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counts:
    """Counts of the n-grams of one order."""

    keys: Ints
    occurrences: Places
    suffixes: Places  # the number of each n-gram without its first word
    at_start: NDArray[np.bool_]  # True if the n-gram begins with <eos>


def estimate(stream: Ints, vocab_size: int, order: int, eos: int) -> tuple[Grams, ...]:
    """Estimate the n-grams of orders 1 to `order`; each line of the stream ends with `eos`.

    Time and memory grow with the length of the stream. A token takes about 60 bytes while an order is
    sorted. A distinct n-gram of any order takes 17 bytes while counting and 33 in the end, of which 24 stay.
    For the 5-grams of WikiText-2 the peak was 158 bytes per token; longer texts have fewer distinct n-grams
    per token. Words that are not in the stream get their share of p_0.
    """
    if not 0 < len(stream) < 2**31 - 1:
        raise ModelError(f"{len(stream)} tokens to count n-grams in; expected 1 to {2**31 - 2}")
    counts = list(_count(np.concatenate([[eos], stream]), vocab_size, order, eos))
    tables: list[Grams] = []
    for index, grams in enumerate(counts):
        longer = counts[index + 1] if index + 1 < order else None
        below = np.full(1, -np.log(vocab_size)) if not tables else tables[-1].log_probs
        adjusted = _adjusted(grams, longer)
        discounts = _discounts(adjusted)
        log_probs, log_gamma = _interpolated(adjusted, discounts, grams, vocab_size, below)
        if tables:
            tables[-1] = replace(tables[-1], log_backoffs=log_gamma)
        table = Grams(keys=grams.keys, log_probs=log_probs, log_backoffs=np.zeros(0), discounts=discounts)
        tables.append(table)
    return tuple(tables)


def _count(text: Ints, vocab_size: int, order: int, eos: int) -> Iterator[_Counts]:
    """Count the n-grams of each order, from the numbers of the shorter n-grams that begin at each place."""
    words = np.arange(vocab_size)
    yield _Counts(
        keys=words,
        occurrences=np.bincount(text[1:], minlength=vocab_size).astype(
            np.int32
        ),  # the <eos> before the text does not count
        suffixes=np.zeros(vocab_size, np.int32),
        at_start=np.zeros(vocab_size, bool),
    )
    numbers = text.astype(np.int32)  # of the n-gram that begins at each place
    for length in range(2, order + 1):
        begins = numbers[: len(text) - length + 1]
        is_ngram = begins != ABSENT
        if length > 2:
            is_ngram &= text[length - 2 : -1] != eos
        places = np.flatnonzero(is_ngram)
        keys, occurrences, examples, place_numbers = _distinct(
            begins[places].astype(np.int64) * vocab_size + text[places + length - 1]
        )
        first = places[examples]
        suffixes, at_start = numbers[first + 1], text[first] == eos
        numbers = np.full(len(begins), ABSENT, np.int32)
        numbers[places] = place_numbers
        yield _Counts(keys=keys, occurrences=occurrences, suffixes=suffixes, at_start=at_start)


def _distinct(keys: Ints) -> tuple[Ints, Places, Ints, Places]:
    """Return the distinct keys, sorted; how often and where each occurs; the number of the key at each place.

    `numpy.unique` does this too, with a stable sort, which takes three times as long.
    """
    order = np.argsort(keys)
    ordered = keys[order]
    is_new = np.ones(len(keys), bool)
    is_new[1:] = ordered[1:] != ordered[:-1]
    begins = np.flatnonzero(is_new)
    numbers = np.empty(len(keys), np.int32)
    numbers[order] = np.cumsum(is_new, dtype=np.int32) - 1
    return ordered[begins], np.diff(begins, append=len(keys)).astype(np.int32), order[begins], numbers


def _adjusted(grams: _Counts, longer: _Counts | None) -> Ints:
    """Return how many distinct words precede each n-gram; its occurrences if nothing longer is counted."""
    occurrences = grams.occurrences.astype(np.int64)
    if longer is None:
        return occurrences
    predecessors = np.bincount(longer.suffixes, minlength=len(grams.keys))
    return np.where(grams.at_start, occurrences, predecessors)


def _discounts(counts: Ints) -> tuple[float, float, float]:
    """Return D of counts 1, 2 and 3 or more: equation 26, or `FALLBACK` if not all are above 0."""
    n1, n2, n3, n4 = (int((counts == count).sum()) for count in (1, 2, 3, 4))
    if not (n1 and n2 and n3):
        return FALLBACK
    share = n1 / (n1 + 2 * n2)
    discounts = (1 - 2 * share * n2 / n1, 2 - 3 * share * n3 / n2, 3 - 4 * share * n4 / n3)
    return discounts if min(discounts) > 0 else FALLBACK


def _interpolated(
    counts: Ints, discounts: tuple[float, float, float], grams: _Counts, vocab_size: int, below: Floats
) -> tuple[Floats, Floats]:
    """Return log-probabilities of an order from those of the order below, and log gamma of each context."""
    contexts = grams.keys // vocab_size
    subtracted = np.array([0.0, *discounts])[np.minimum(counts, 3)]
    totals = np.bincount(contexts, weights=counts, minlength=len(below))
    gammas = np.bincount(contexts, weights=subtracted, minlength=len(below))
    divisors = np.maximum(totals, 1)
    gammas = np.where(totals > 0, gammas / divisors, 1.0)
    probs = (counts - subtracted) / divisors[contexts] + gammas[contexts] * np.exp(below[grams.suffixes])
    return np.log(probs), np.log(gammas)
