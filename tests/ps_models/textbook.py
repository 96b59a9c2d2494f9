"""Modified interpolated Kneser-Ney as papers write it down, with dictionaries: slow, and easy to check."""

from collections import Counter
from collections.abc import Sequence
from functools import cache

Gram = tuple[object, ...]
START, END = "<s>", "</s>"


class KneserNey:
    def __init__(self, lines: Sequence[Sequence[int]], vocab_size: int, order: int) -> None:
        sentences = [(START, *line, END) for line in lines]
        self.order, self.vocab_size = order, vocab_size
        self.seen: list[Counter[Gram]] = [
            Counter(s[i : i + n] for s in sentences for i in range(len(s) - n + 1)) for n in range(order + 1)
        ]
        del self.seen[1][(START,)]  # it is never predicted
        self.counts = [{gram: self.count(gram) for gram in seen} for seen in self.seen]

    @cache  # noqa: B019 - a few models a test
    def count(self, gram: Gram) -> int:
        if len(gram) == self.order or gram[:1] == (START,):
            return self.seen[len(gram)][gram]
        return len({longer[0] for longer in self.seen[len(gram) + 1] if longer[1:] == gram})

    @cache  # noqa: B019
    def discounts(self, length: int) -> tuple[float, ...]:
        have = Counter(self.counts[length].values())
        if 0 in (have[1], have[2], have[3]):
            return (0, 0.5, 1.0, 1.5)
        y = have[1] / (have[1] + 2 * have[2])
        found = [i - (i + 1) * y * have[i + 1] / have[i] for i in (1, 2, 3)]
        valid = all(0 < d <= i for i, d in enumerate(found, start=1))
        return (0, *found) if valid else (0, 0.5, 1.0, 1.5)

    def probability(self, word: object, context: Gram) -> float:
        return self._probability(word, context[-(self.order - 1) :] if self.order > 1 else ())

    def _probability(self, word: object, context: Gram) -> float:
        length = len(context) + 1
        lower = self._probability(word, context[1:]) if context else 1 / self.vocab_size
        following = {g: c for g, c in self.counts[length].items() if g[:-1] == context}
        total = sum(following.values())
        if not total:
            return lower
        discounts = self.discounts(length)
        own = following.get((*context, word), 0)
        kept = own - discounts[min(own, 3)]
        gamma = sum(discounts[min(c, 3)] for c in following.values())
        return kept / total + gamma / total * lower
