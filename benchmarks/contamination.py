"""The power and the false alarms of `lm-benchmarks contamination`, by simulation.

    python benchmarks/contamination.py DATASET OUT
    python benchmarks/contamination.py DATASET --unread transformers:MODEL

DATASET was built with `--articles jsonl`, such as by the recipe live: categories and quality of its articles
are known. A 5-gram model (kn-5) is trained on 600 articles: 400 of no interest, and 200 of those that are
scored. It has then read these 200 and not the others. A study draws N articles of before and N of after, all
from the same time. None, a tenth, a quarter or half of those of before are read, and none of after: so the
truth is known. The articles are matched, and verdict and interval are the command's own. A cell has the
percentage of studies whose verdict finds something, and after it that of intervals above zero.

Three ways to match are compared: as the command does; by words and length alone, without a limit of the
length; and not at all. In the second table the sides are not alike: before has mostly long, Good and Featured
articles, and after the others.

With `--unread` a model that has read none of the articles scores them all, and each finding is a false alarm.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from statistics import median

import numpy as np
from intervals import head, row
from lm_benchmarks.choices import FEWEST, LEVEL
from lm_benchmarks.measuring.articles import Distances, Measured, compared, pairs_of
from lm_benchmarks.measuring.contamination import chance_of_easier, difference_of, measured_articles
from lm_benchmarks.measuring.measure import measure
from lm_benchmarks.metrics import METRICS

from wikitext_builder.dataset.load import load
from wikitext_builder.dataset.manifest import file_line

UNREAD = "--unread"
OTHERS, READ = 400, 200  # articles of train: not scored, and scored
STUDIES = 1000
RESAMPLES = 4999  # permutations per study
COUNTS = (20, 40, 80)
PARTS = {0.0: "none read", 0.1: "a tenth", 0.25: "a quarter", 0.5: "half"}


@dataclass(frozen=True)
class Scored:
    """Articles as a model predicts them."""

    articles: Sequence[Measured]
    read: int  # as many of them, the first, the model has read


def main(folder: Path, out: str, unread: str = "") -> None:
    """Print the fraction of studies that find something."""
    scored = scored_by(folder, unread) if out == UNREAD else scored_after_training(folder, Path(out))
    articles = scored.articles
    ways = ways_to_match(articles)
    parts = {part: name for part, name in PARTS.items() if scored.read or not part}
    good = sum(bool(one.quality) for one in articles)
    sys.stdout.write(f"{len(articles)} articles, {good} Good or Featured\n")
    for uneven in (False, True):
        title = "The sides are not alike" if uneven else "The sides are alike"
        head(title, "matched", "drawn", "pairs", *parts.values())
        for (name, distance), count in product(ways.items(), COUNTS):
            generator = random.Random(count)  # noqa: S311 - not for secrets
            studies = [
                [study(scored, distance, count, part, generator, uneven=uneven) for _ in range(STUDIES)]
                for part in parts
            ]
            numbers = np.array(studies, float)  # (parts, studies, 3)
            cells = [f"{100 * found:.1f} / {100 * above:.1f} %" for _, found, above in numbers.mean(axis=1)]
            row(name, count, f"{np.median(numbers[..., 0]):.0f}", *cells)


def ways_to_match(articles: Sequence[Measured]) -> dict[str, Distances]:
    """How unlike each article is to each other one, by each way to match."""
    distance, same, near = compared(articles, articles)
    plain = [replace(one, categories=frozenset()) for one in articles]
    return {
        "by topic, quality and length": np.where(same & near, distance, np.inf),
        "by words and length": compared(plain, plain)[0],
        "not matched": np.zeros((len(articles), len(articles))),
    }


def scored_by(folder: Path, model: str) -> Scored:
    """All articles, as a model predicts them that has read none."""
    dataset = load(folder)
    result = measure(model, folder, splits="test", context="article", groups=False, check=False)[0]
    return Scored(measured_articles(dataset, "test", result, [""] * len(result.articles)), read=0)


def scored_after_training(folder: Path, out: Path) -> Scored:
    """Train a 5-gram model; return the articles that are scored, those that it has read first."""
    dataset = load(folder)
    texts = list(dataset.articles("test"))
    (out / "articles").mkdir(parents=True)
    known = list(dataset.plain_articles("test"))[OTHERS:]
    (out / "articles" / "test.jsonl").write_text("".join(one.json_line() for one in known), encoding="utf-8")
    for split, some in (("train", texts[: OTHERS + READ]), ("test", texts[OTHERS:])):
        text = "".join(file_line(line) for one in some for line in one.lines)
        (out / f"wiki.{split}.tokens").write_text(text, encoding="utf-8", newline="\n")
    result = measure("kn-5", out, context="article", groups=False, check=False)[0]
    return Scored(measured_articles(load(out), "test", result, [""] * len(result.articles)), read=READ)


def study(
    scored: Scored,
    distance: Distances,
    count: int,
    part: float,
    generator: random.Random,
    *,
    uneven: bool,
) -> tuple[int, bool, bool]:
    """The number of pairs of one study, and whether its verdict and its interval find something."""
    articles, known = scored.articles, round(part * count)
    middle = median(one.sums.text_bytes for one in articles)

    def order(number: int) -> float:
        """A random key, which tends to be low for articles of before if the sides are not alike."""
        one = articles[number]
        good = uneven and (bool(one.quality) or one.sums.text_bytes > middle)
        return generator.random() ** (4 if good else 1)

    read = sorted(range(scored.read), key=order)[:known]
    fresh = sorted(range(scored.read, len(articles)), key=order)
    before, after = [*read, *fresh[: count - known]], fresh[-count:]
    matched = pairs_of(distance[np.ix_(before, after)])
    pairs = [[articles[before[one]], articles[after[other]]] for one, other in matched]
    if len(pairs) < FEWEST:  # the command refuses them
        return len(pairs), False, False
    chance, _ = chance_of_easier(pairs, resamples=RESAMPLES, seed=sum(before))
    interval = difference_of("", METRICS["bits-per-byte"], pairs).interval
    return len(pairs), chance <= (1 - LEVEL) / 2, interval[0] > 0


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
