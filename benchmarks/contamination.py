"""The power and the false alarms of `lm-benchmarks contamination`, by simulation.

    python benchmarks/contamination.py DATASET OUT

DATASET was built with `--articles jsonl`, such as by the recipe live: categories and quality of its articles
are known. A 5-gram model (kn-5) is trained on 600 articles: 400 of no interest, and 200 of those that are
scored. It has then read these 200 and not the others. A study draws N articles of before and N of after, all
from the same time. None, a tenth, a quarter or half of those of before are read, and none of after: so the
truth is known. The articles are matched, and the interval is the command's own. A finding is an interval
above zero.

Three ways to match are compared: as the command does; by words and length alone, without a limit of the
length; and not at all. In the second table the sides are not alike: before has mostly long, Good and Featured
articles, and after the others.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np
from lm_benchmarks.measuring.contamination import difference_of
from lm_benchmarks.measuring.matching import (
    Distances,
    Measured,
    distances,
    near_length,
    pairs_of,
    same_quality,
)
from lm_benchmarks.measuring.measure import measure
from lm_benchmarks.metrics import METRICS

from wikitext_builder.dataset.files import file_line
from wikitext_builder.dataset.load import load
from wikitext_builder.newness.words import words_of

OTHERS, READ = 400, 200  # articles of train: not scored, and scored
STUDIES, RESAMPLES = 200, 1000
PARTS = (0.0, 0.1, 0.25, 0.5)


def main(folder: Path, out: Path) -> None:
    """Print the fraction of studies that find something."""
    articles = scored_articles(folder, out)
    ways = ways_to_match(articles)
    write = sys.stdout.write
    write(f"{len(articles)} articles, {sum(bool(one.quality) for one in articles)} Good or Featured\n")
    for uneven in (False, True):
        write(f"\n{'The sides are not alike' if uneven else 'The sides are alike'}\n\n")
        head = "matched | drawn | pairs | none read | a tenth | a quarter | half"
        write(f"| {head} |\n|---|---|---|---|---|---|---|\n")
        for name, distance in ways.items():
            for count in (20, 80):
                generator = random.Random(count)  # noqa: S311 - not for secrets
                studies = [
                    [study(articles, distance, count, part, generator, uneven=uneven) for _ in range(STUDIES)]
                    for part in PARTS
                ]
                found = [f"{sum(one > 0 for _, one in some) / STUDIES:.1%}" for some in studies]
                pairs = median(number for some in studies for number, _ in some)
                write(f"| {name} | {count} | {pairs:.0f} | {' | '.join(found)} |\n")
                sys.stdout.flush()


def ways_to_match(articles: Sequence[Measured]) -> dict[str, Distances]:
    """How unlike each article is to each other one, by each way to match."""
    allowed = same_quality(articles, articles) & near_length(articles, articles)
    plain = [replace(one, categories=frozenset()) for one in articles]
    return {
        "by topic, quality and length": np.where(allowed, distances(articles, articles), np.inf),
        "by words and length": distances(plain, plain),
        "not matched": np.zeros((len(articles), len(articles))),
    }


def scored_articles(folder: Path, out: Path) -> list[Measured]:
    """Train the model; return the articles that are scored, those that it has read first."""
    dataset = load(folder)
    texts = list(dataset.articles("test"))
    described = list(dataset.plain_articles("test"))[OTHERS:]
    out.mkdir(parents=True)
    for split, some in (("train", texts[: OTHERS + READ]), ("test", texts[OTHERS:])):
        text = "".join(file_line(line) for one in some for line in one.lines)
        (out / f"wiki.{split}.tokens").write_text(text, encoding="utf-8", newline="\n")
    result = measure("kn-5", out, context="article", groups=False, check=False)[0]
    return [
        Measured(
            title=one.title,
            quality=known.quality,
            sums=sums,
            words=frozenset(words_of(" ".join(one.lines))),
            categories=frozenset(words_of(" ".join(known.categories))),
        )
        for one, known, sums in zip(texts[OTHERS:], described, result.articles, strict=True)
    ]


def study(
    articles: Sequence[Measured],
    distance: Distances,
    count: int,
    part: float,
    generator: random.Random,
    *,
    uneven: bool,
) -> tuple[int, float]:
    """The number of pairs of one study, and the lower end of its interval."""
    known = round(part * count)
    middle = median(one.sums.text_bytes for one in articles)

    def order(number: int) -> float:
        """A random key, which tends to be low for articles of before if the sides are not alike."""
        one = articles[number]
        good = uneven and (bool(one.quality) or one.sums.text_bytes > middle)
        return generator.random() ** (4 if good else 1)

    read = sorted(range(READ), key=order)[:known]
    fresh = sorted(range(READ, len(articles)), key=order)
    before, after = [*read, *fresh[: count - known]], fresh[-count:]
    matched = pairs_of(distance[np.ix_(before, after)])
    pairs = [[articles[before[one]], articles[after[other]]] for one, other in matched]
    seed = generator.randrange(2**32)
    found = difference_of("", METRICS["bits-per-byte"], pairs, resamples=RESAMPLES, seed=seed)
    return len(pairs), found.interval[0]


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
