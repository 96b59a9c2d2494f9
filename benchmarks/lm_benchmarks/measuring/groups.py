"""Groups of tokens that have something in common: where is one model better than another?"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lm_benchmarks.records.result import TokenGroup
from wikitext_builder.dataset.vocabulary import EOS, UNK, Vocabulary

if TYPE_CHECKING:
    from torch import Tensor

GROUPINGS: Final = {  # name: what its groups are
    "frequency": "occurrences in train; <unk> and <eos> have their own groups",
    "position": "position in the article: earlier tokens of it",
    "context": "length of the context: tokens that the model has read",
    "line": "position in the line: earlier tokens of it",
    "recency": "tokens since the last occurrence of the word; without <unk> and <eos>",
}
PARTS: Final = 20  # of a text, equally long, whose sums are stored for error bars
NEW: Final = "not seen yet"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A passage and -log p of each of its tokens."""

    tokens: Sequence[int]
    nats: Sequence[float]


def groups_of(
    passages: Sequence[Scored],
    vocabulary: Vocabulary,
    counts: Tensor | None,
    *,
    context: str = "carried",
    articles: bool = True,
) -> tuple[TokenGroup, ...]:
    """The groups of all groupings that can be computed.

    Args:
        passages: In order.
        vocabulary: Of the ids.
        counts: Of each word in train; None: there is no train file, and no grouping by frequency.
        context: `carried`, or `article`: each passage starts without context.
        articles: Whether passages are articles, so that positions in them mean something.
    """
    sums: dict[tuple[str, str], list[list[float]]] = defaultdict(lambda: [[0, 0.0] for _ in range(PARTS)])
    total, done = sum(len(passage.tokens) for passage in passages), 0
    frequency = None if counts is None else counts.tolist()
    carried = context == "carried"
    before, last = 0, dict[int, int]()
    for passage in passages:
        if not carried:
            before, last = 0, {}
        line = 0
        for place, (token, nats) in enumerate(zip(passage.tokens, passage.nats, strict=True)):
            name = vocabulary.tokens[token]
            for by, label in _labels(token, name, frequency, place if articles else None, before, line, last):
                entry = sums[by, label][done * PARTS // total]
                entry[0] += 1
                entry[1] += nats
            done += 1
            last[token] = before
            before += 1
            line = 0 if name == EOS else line + 1
    found = [
        TokenGroup(
            by=by,
            label=label,
            tokens=sum(int(tokens) for tokens, _ in parts),
            nats=math.fsum(nats for _, nats in parts),
            parts=tuple((int(tokens), nats) for tokens, nats in parts),
        )
        for (by, label), parts in sums.items()
    ]
    order = list(GROUPINGS)
    return tuple(sorted(found, key=lambda group: (order.index(group.by), _place(group.label))))


def _labels(
    token: int,
    name: str,
    frequency: Sequence[int] | None,
    place: int | None,
    before: int,
    line: int,
    last: dict[int, int],
) -> Iterator[tuple[str, str]]:
    """The groups of a token."""
    special = name in (UNK, EOS)
    if frequency is not None:
        yield "frequency", name if special else span(frequency[token])
    if place is not None:
        yield "position", span(place)
    yield "context", span(before)
    yield "line", span(line)
    if not special:
        yield "recency", span(before - last[token]) if token in last else NEW


def span(number: int) -> str:
    """The decade of a number.

    >>> span(0), span(7), span(1234)
    ('0', '1-9', '1,000-9,999')
    """
    if not number:
        return "0"
    low: int = 10 ** (len(str(number)) - 1)
    return f"{low:,}-{10 * low - 1:,}"


def _place(label: str) -> tuple[int, str]:
    """The order of labels in a grouping: by number, then those without a number."""
    digits = label.split("-")[0].replace(",", "")
    return (int(digits), "") if digits.isdigit() else (10**18, label)
