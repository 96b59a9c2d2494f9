"""The power and the false alarms of `lm-benchmarks contamination`, by simulation.

    python benchmarks/contamination.py WIKITEXT-FOLDER OUT

A 5-gram model (kn-5) is trained on articles of train of a dataset: 400 of no interest, and 200 of those that
are scored. It has then read these 200 and not the other 300. A study draws N articles of before and N of
after, all from the same time. None, a tenth, a quarter or half of those of before are read, and none of
after: so the truth is known. The articles are matched, and the interval is the command's own. A finding is
an interval above zero.
"""

from __future__ import annotations

import random
import sys
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt
from lm_benchmarks.measuring.contamination import Measured, difference_of, distances, pairs_of
from lm_benchmarks.measuring.measure import measure
from lm_benchmarks.metrics import METRICS

from wikitext_builder.dataset.files import file_line, read_articles
from wikitext_builder.newness.words import words_of

OTHERS, READ, UNREAD = 400, 200, 300  # articles
STUDIES, RESAMPLES = 200, 1000


def main(folder: Path, out: Path) -> None:
    """Print the fraction of studies that find something."""
    articles = list(islice(read_articles(folder / "wiki.train.tokens"), OTHERS + READ + UNREAD))
    scored = articles[OTHERS:]
    out.mkdir(parents=True)
    for split, some in (("train", articles[: OTHERS + READ]), ("test", scored)):
        text = "".join(file_line(line) for lines in some for line in lines)
        (out / f"wiki.{split}.tokens").write_text(text, encoding="utf-8", newline="\n")
    result = measure("kn-5", out, context="article", groups=False, check=False)[0]
    measured = [
        Measured(title=lines[1], month="", sums=sums, words=frozenset(words_of(" ".join(lines))))
        for lines, sums in zip(scored, result.articles, strict=True)
    ]
    distance = distances(measured, measured)
    generator = random.Random(1)  # noqa: S311 - not for secrets
    sys.stdout.write("| pairs | none read | a tenth | a quarter | half |\n|---|---|---|---|---|\n")
    for count in (10, 20, 40, 80):
        cells = []
        for part in (0.0, 0.1, 0.25, 0.5):
            found = sum(
                _study(measured, distance, count, round(part * count), generator) for _ in range(STUDIES)
            )
            cells.append(f"{found / STUDIES:.1%}")
        sys.stdout.write(f"| {count} | {' | '.join(cells)} |\n")


def _study(
    articles: list[Measured],
    distance: npt.NDArray[np.float64],
    count: int,
    known: int,
    generator: random.Random,
) -> bool:
    """Whether one study finds that some of its articles of before were read."""
    fresh = generator.sample(range(READ, len(articles)), 2 * count - known)
    before, after = [*generator.sample(range(READ), known), *fresh[: count - known]], fresh[count - known :]
    matched = pairs_of(distance[np.ix_(before, after)])
    pairs = [[articles[before[one]], articles[after[other]]] for one, other in matched]
    seed = generator.randrange(2**32)
    metric = METRICS["bits-per-byte"]
    return difference_of("", metric, pairs, resamples=RESAMPLES, seed=seed).interval[0] > 0


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
