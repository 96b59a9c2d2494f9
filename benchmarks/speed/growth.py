"""Draws how a build grows with its pages, from the records of benchmarks/speed/build.py.

python benchmarks/speed/growth.py benchmarks/results/build.jsonl docs/notes/build-growth.svg
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib as mpl
import pandas as pd

from wikitext_builder.pictures import PICTURES


def draw(records: pd.DataFrame, output: Path) -> None:
    """Draw time, memory and disk over the number of pages: a panel each, a line per number of workers."""
    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "growth"
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
    quantities = (
        ("seconds", 1.0, "seconds"),
        ("peak_pss", 1e6, "MB of memory"),
        ("peak_disk", 1e9, "GB of disk"),
    )
    for axes, (name, unit, label) in zip(panels, quantities, strict=True):
        lines = (records.pivot_table(name, "pages", "workers") / unit).add_prefix("workers: ")
        lines.plot(ax=axes, marker="o", legend=axes is panels[0])
        axes.set_ylim(bottom=0)
        axes.set_title(label, loc="left", fontweight="bold")
        axes.grid(color="#dddddd")
        axes.xaxis.set_major_formatter(lambda pages, _: f"{pages:,.0f}")
    panels[0].legend(frameon=False)
    figure.savefig(output, metadata=PICTURES[output.suffix], dpi=150)


if __name__ == "__main__":
    draw(pd.read_json(sys.argv[1], lines=True), Path(sys.argv[2]))
