"""Bits per byte by month, as a picture: a model that has read the past shows a step at its cut-off."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lm_benchmarks.errors import HarnessError
from lm_benchmarks.measuring.contamination import Contamination
from lm_benchmarks.reporting.charts import line_chart
from wikitext_builder.dataset.attribution import ATTRIBUTION


def draw_months(found: Contamination, path: str | Path) -> Path:
    """Write the months of a contamination, and the largest step, as an SVG file; return its path.

    Raises:
        HarnessError: No two months are known.
    """
    if found.step is None:
        raise HarnessError(f"no two months are known; expected datasets with {ATTRIBUTION}")
    names = [month for month, _, _ in found.months]
    years = [int(month[:4]) + (int(month[5:]) - 0.5) / 12 for month in names]
    at = names.index(found.step[0])
    parts = (found.months[:at], found.months[at:])
    low, high = (float(np.average([m[2] for m in part], weights=[m[1] for m in part])) for part in parts)
    middle = (years[at - 1] + years[at]) / 2
    curves = {
        f"articles of a month ({found.dated})": list(
            zip(years, [bits for _, _, bits in found.months], strict=True)
        ),
        f"the largest step: {found.step[1]:+.3f}": [
            (years[0], low),
            (middle, low),
            (middle, high),
            (years[-1], high),
        ],
    }
    chart = line_chart(f"{found.model} by month", curves, x_label="year", y_label="bits per byte")
    path = Path(path)
    svg = chart.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    path.write_text(f"{svg}\n", encoding="utf-8", newline="\n")
    return path
