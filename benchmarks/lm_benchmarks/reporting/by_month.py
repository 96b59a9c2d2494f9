"""Bits per byte by month, as a picture: a model that has read the past shows a step at its cut-off."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from lm_benchmarks.errors import HarnessError
from lm_benchmarks.measuring.contamination import Contamination
from lm_benchmarks.reporting.charts import Points, line_chart
from wikitext_builder.pages.attribution import ATTRIBUTION

STEPS: Final = (1, 2, 3, 6, 12, 24, 60, 120, 240)  # months between two labels
MOST_STEPS: Final = 7  # on an axis


def draw_months(found: Contamination, path: str | Path) -> Path:
    """Write the months of a contamination, and the largest step, as an SVG file; return its path.

    Raises:
        HarnessError: No two months are known.
    """
    if found.step is None:
        raise HarnessError(f"no two months are known; expected datasets with {ATTRIBUTION}")
    names = [month for month, _, _ in found.months]
    places = [12 * int(month[:4]) + int(month[5:]) - 1 for month in names]
    at = names.index(found.step[0])
    parts = (found.months[:at], found.months[at:])
    low, high = (float(np.average([m[2] for m in part], weights=[m[1] for m in part])) for part in parts)
    middle = (places[at - 1] + places[at]) / 2
    curves: dict[str, Points] = {
        f"articles of a month ({found.dated})": [
            (place, bits) for place, (_, _, bits) in zip(places, found.months, strict=True)
        ],
        f"the largest step: {found.step[1]:+.3f}": [
            (places[0], low),
            (middle, low),
            (middle, high),
            (places[-1], high),
        ],
    }
    chart = line_chart(
        f"{found.model} by month",
        curves,
        x_label="month",
        y_label="bits per byte",
        x_ticks=_ticks(places[0], places[-1]),
    )
    path = Path(path)
    svg = chart.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    path.write_text(f"{svg}\n", encoding="utf-8", newline="\n")
    return path


def _ticks(first: int, last: int) -> dict[float, str]:
    """Labels of the axis, by the number of months since year 0.

    >>> _ticks(12 * 2021 + 10, 12 * 2022 + 2)
    {24262: '2021-11', 24263: '2021-12', 24264: '2022-01', 24265: '2022-02', 24266: '2022-03'}
    >>> _ticks(12 * 2006 + 3, 12 * 2016 + 3)
    {24096: '2008', 24120: '2010', 24144: '2012', 24168: '2014', 24192: '2016'}
    """
    step = next((one for one in STEPS if last - first <= one * MOST_STEPS), STEPS[-1])
    places = range(-(-first // step) * step, last + 1, step)
    return {at: f"{at // 12}" + (f"-{at % 12 + 1:02}" if step < 12 else "") for at in places}
