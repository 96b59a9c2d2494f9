"""Loss by frequency: the words' counts in train, groups of words by count, and what models lose in each.

Words are grouped by the decade of their count, as in records, or into buckets of equally many types or
tokens, as in the paper's figure. Nothing here draws.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import torch
from torch import Tensor

from ps_models.errors import ModelError
from wikitext_builder.dataset.load import FILE, Dataset
from wikitext_builder.dataset.manifest import read_tokens
from wikitext_builder.dataset.vocabulary import EOS, UNK, Vocabulary


def train_counts(dataset: Dataset, vocabulary: Vocabulary) -> Tensor | None:
    """The count of each word in train, (vocabulary,); None if there is no train file."""
    if dataset.layout == FILE or "train" not in dataset.files:
        return None
    total = torch.zeros(len(vocabulary), dtype=torch.int64)
    for word, count in Counter(read_tokens(dataset.file("train"))).items():
        total[vocabulary.ids.get(word, 0)] += count
    return total


def span(number: int) -> str:
    """The decade of a number.

    >>> span(0), span(7), span(1234)
    ('0', '1-9', '1,000-9,999')
    """
    if not number:
        return "0"
    low: int = 10 ** (len(str(number)) - 1)
    return f"{low:,}-{10 * low - 1:,}"


def decades(vocabulary: Vocabulary, counts: Tensor) -> list[str]:
    """The group of each word by the decade of its count; `<unk>` and `<eos>` are groups of their own."""
    pairs = zip(vocabulary.tokens, counts.tolist(), strict=True)
    return [word if word in (UNK, EOS) else span(count) for word, count in pairs]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """Words of similar frequency in train, and how two models predict them."""

    least: int  # of its words' counts in train
    most: int
    types: int
    tokens: int  # in the text that was predicted
    difference: float | None  # mean nats of the second model minus the first; negative: the second is better
    gate: float | None  # mean share of the softmax in the second; None without a pointer or without tokens

    @property
    def label(self) -> str:
        """The counts of its words, such as 4–5; buckets do not overlap."""
        return f"{self.least:,}" if self.least == self.most else f"{self.least:,}–{self.most:,}"


def buckets_of(counts: Tensor, number: int, *, equal: str = "types") -> Tensor:
    """The bucket of each word by its count in train; 0 has the most frequent words.

    Each has about equally many `types`, as in the paper's figure, or equally many `tokens` of train. Words of
    the same count are in the same bucket: that of the first of them. So a bucket can be empty.
    """
    if not 1 <= number <= len(counts) or equal not in ("types", "tokens"):
        raise ModelError(
            f"{number} buckets of equally many {equal}: expected 1 to {len(counts)}, of types or tokens"
        )
    found, order = torch.sort(counts, descending=True, stable=True)
    if equal == "types":
        places = torch.arange(len(counts)) * number // len(counts)
    else:
        before = found.double().cumsum(0) - found
        places = (before * number / counts.sum()).long().clamp(max=number - 1)
    places = places[torch.searchsorted(-found, -found)]  # of the first word of the same count
    return torch.empty_like(order).scatter_(0, order, places)


def compare_by_frequency(
    tokens: Tensor,
    first: Tensor,
    second: Tensor,
    counts: Tensor,
    *,
    number: int = 10,
    equal: str = "types",
    gates: Tensor | None = None,
) -> list[Bucket]:
    """How two models predict words, by their frequency, the most frequent first; empty buckets are left out.

    `first` and `second` are -log p of each token of a text, (time,), by both models; `gates` the share of
    the softmax there, if the second one has a pointer. `number` and `equal` are as in `buckets_of`.
    """
    bucket_of_word, result = buckets_of(counts, number, equal=equal), []
    for bucket in range(number):
        own, here = counts[bucket_of_word == bucket], bucket_of_word[tokens] == bucket
        if not len(own):
            continue
        seen = int(here.sum())
        result.append(
            Bucket(
                least=int(own.min()),
                most=int(own.max()),
                types=len(own),
                tokens=seen,
                difference=float((second - first)[here].mean()) if seen else None,
                gate=float(gates[here].mean()) if seen and gates is not None else None,
            )
        )
    return result
