"""When the articles of a dataset came to be, and how well a model predicts those of each month."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from lm_benchmarks.choices import DATES
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.measuring.matching import Measured
from lm_benchmarks.metrics import METRICS, Sums
from wikitext_builder.dataset.load import Dataset
from wikitext_builder.pages.attribution import ATTRIBUTION, LOCK, read_attribution
from wikitext_builder.pages.lock import read_lock

Month = tuple[str, int, float]  # such as 2024-05, the number of articles, their bits per byte

MONTH = re.compile(r"[0-9]{4}-(?:0[1-9]|1[0-2])")


def months_of(sides: Sequence[Dataset], split: str, by: str = "") -> tuple[str, list[list[str]]]:
    """By which date months are counted, and the month of each article of some datasets.

    Args:
        sides: Datasets.
        split: Of each.
        by: One of `DATES`; empty: the first one that is known for all articles.

    Raises:
        HarnessError: `by` is something else, or this date is known for no article.
    """
    if by and by not in DATES:
        raise HarnessError(f"--by {by}: expected {', '.join(DATES)}")
    found = [_dates(side, split) for side in sides]
    chosen = by or next(
        (name for name in DATES if all(_month(one[name]) for rows in found for one in rows)), ""
    )
    if by and not any(_month(one[by]) for rows in found for one in rows):
        raise HarnessError(f"--by {by}: no article has this date; {LOCK} and {ATTRIBUTION} have the dates")
    return chosen, [[_month(one.get(chosen, "")) for one in rows] for rows in found]


def _month(date: str) -> str:
    """The month of a date, such as 2016-04; empty if it is not known."""
    return date[:7] if MONTH.match(date) else ""


def _dates(dataset: Dataset, split: str) -> list[dict[str, str]]:
    """The dates of each article of a split that its files give."""
    if not (dataset.path / ATTRIBUTION).is_file():
        return [dict.fromkeys(DATES, "") for _ in dataset.articles(split)]
    locked = {}
    if dataset.manifest and (dataset.path / LOCK).is_file():
        language = dataset.manifest.recipe.language
        locked = {one.revision_id: one for one in read_lock(dataset.path / LOCK, language=language)}
    rows = []
    for one in read_attribution(dataset.path):
        if one.split == split:
            known = locked.get(one.revision_id)
            dates = (known.created, known.promoted) if known else ("", "")
            rows.append(dict(zip(DATES, (*dates, one.timestamp), strict=True)))
    if (count := sum(1 for _ in dataset.articles(split))) != len(rows):
        raise HarnessError(
            f"{dataset.path}: {ATTRIBUTION} has {len(rows)} articles of {split}, and the dataset {count};"
            " see `wikitext-builder verify`"
        )
    return rows


def by_month(articles: Sequence[Measured]) -> list[Month]:
    """Month, number of articles and their bits per byte, in order; articles without a date are left out."""
    months: dict[str, list[Sums]] = defaultdict(list)
    for one in articles:
        if one.month:
            months[one.month].append(one.sums)
    metric = METRICS["bits-per-byte"]
    return [(month, len(s), metric.of(sum(s, Sums())) or 0.0) for month, s in sorted(months.items())]


def largest_step(months: Sequence[Month]) -> tuple[str, float] | None:
    """Where one level before and another after fit the months best (least squares, weighted by articles)."""
    best: tuple[float, str, float] | None = None
    for at in range(1, len(months)):
        parts = [np.array([row[1:] for row in part], float) for part in (months[:at], months[at:])]
        means = [float(np.average(part[:, 1], weights=part[:, 0])) for part in parts]
        error = sum(float((p[:, 0] * (p[:, 1] - m) ** 2).sum()) for p, m in zip(parts, means, strict=True))
        if best is None or error < best[0]:
            best = (error, months[at][0], means[1] - means[0])
    return best and best[1:]
