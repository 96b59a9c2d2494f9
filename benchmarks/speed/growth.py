"""Draws how a build grows with its pages, from the records of benchmarks/speed/build.py.

python benchmarks/speed/growth.py benchmarks/results/build.jsonl docs/notes/build-growth.svg
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import matplotlib as mpl

from wikitext_builder.pictures import PICTURES


def draw(records: list[dict[str, float]], output: Path) -> None:
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
        for workers in sorted({record["workers"] for record in records}):
            points = sorted((r["pages"], r[name] / unit) for r in records if r["workers"] == workers)
            axes.plot(*zip(*points, strict=True), marker="o", label=f"workers: {workers:.0f}")
        axes.set_xlabel("pages")
        axes.set_title(label, loc="left", fontweight="bold")
        axes.set_ylim(bottom=0)
        axes.grid(color="#dddddd")
        axes.xaxis.set_major_formatter(lambda pages, _: f"{pages:,.0f}")
    panels[0].legend(frameon=False)
    figure.savefig(output, metadata=PICTURES[output.suffix], dpi=150)


if __name__ == "__main__":
    lines = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    draw([json.loads(line) for line in lines], Path(sys.argv[2]))
