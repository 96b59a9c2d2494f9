"""Time, memory and disk of whole builds, up to the size of WikiText-103.

    python benchmarks/speed/build.py [--pages N ...] [--workers N ...] [--out FOLDER]

The shared real pages are repeated with new titles and ids up to each number of pages. Each build runs the
command line in separate processes, in an empty folder. Memory is the largest sum of the proportional set
sizes (Pss) of all processes of a build, sampled five times per second; disk is the largest size of its
folder. A table goes to stdout, records to FOLDER/build.jsonl.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import cycle, islice
from pathlib import Path

import click
from speed.processes import append, disk_usage, head, kilobytes, proc_text, row, run, shared, tree

from wikitext_builder.article import Page
from wikitext_builder.pages.store import Store
from wikitext_builder.pages.xml_dump import read_pages

COLUMNS = "pages, workers, s, pages/s, MB/s of wikitext, peak MB of memory, GB of disk, stages"
WIKITEXT_103 = 28_595  # articles: 28,475 train, 60 valid, 60 test


def real_pages() -> list[Page]:
    """The shared articles, without redirects and very short pages."""
    paths = shared("pages/pages-*.xml.bz2")
    contents = [one.content for path in paths for one in read_pages(path) if one.namespace == 0]
    return [page for page in contents if isinstance(page, Page) and len(page.wikitext) > 2_000]


def repeated(pages: list[Page], number: int) -> Iterator[Page]:
    """`number` pages, each with its own title and ids."""
    for index, page in enumerate(islice(cycle(pages), number), start=1):
        title = f"{page.title} {index}"
        yield replace(page, title=title, page_id=index, revision_id=index)


def make_store(path: Path, pages: list[Page], number: int) -> int:
    """Fill a store; return the bytes of its wikitext."""
    size = 0
    with Store.create(path) as store:
        batch = []
        for page in repeated(pages, number):
            batch.append(page)
            size += len(page.wikitext.encode())
            if len(batch) == 500:
                store.add("en", batch, origin="repeated")
                batch = []
        store.add("en", batch, origin="repeated")
    return size


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One build; times in seconds, sizes in bytes."""

    pages: int
    workers: int
    wikitext_bytes: int
    seconds: float
    peak_pss: int
    peak_disk: int
    tokens: int
    rejected: dict[str, int]
    stages: dict[str, float]

    def cells(self) -> tuple[str, ...]:
        """A row of the table."""
        total = sum(self.stages.values())
        return (
            f"{self.pages:,}",
            f"{self.workers}",
            f"{self.seconds:.0f}",
            f"{self.pages / self.seconds:.1f}",
            f"{self.wikitext_bytes / 1e6 / self.seconds:.2f}",
            f"{self.peak_pss / 1e6:.0f}",
            f"{self.peak_disk / 1e9:.2f}",
            ", ".join(f"{name} {spent / total:.0%}" for name, spent in self.stages.items()),
        )


def measure(store: Path, folder: Path, *, pages: int, wikitext_bytes: int, workers: int) -> Measured:
    """Run one build and measure it."""
    command = [sys.executable, "-m", "wikitext_builder", "build", "wikitext-103", "--json"]
    options = ["--store", str(store), "--out", str(folder / "dataset"), "--workers", str(workers)]
    memory, disk, report = list[int](), [0], folder / "report.json"

    def watch(pid: int) -> None:
        rollups = (proc_text(Path(f"/proc/{one}/smaps_rollup")) for one in tree(pid))
        memory.append(sum(kilobytes(text, "Pss") for text in rollups))
        if len(memory) % 25 == 1:
            disk.append(disk_usage(folder))

    ran = run([*command, *options], out=report, watch=watch)
    found = json.loads(report.read_text())
    return Measured(
        pages=pages,
        workers=workers,
        wikitext_bytes=wikitext_bytes,
        seconds=ran.seconds,
        peak_pss=max(memory),
        peak_disk=max(*disk, disk_usage(folder)),
        tokens=sum(split["tokens"] for split in found["manifest"]["splits"].values()),
        rejected=found["rejected"],
        stages=found["seconds"],
    )


@click.command()
@click.option("--pages", "sizes", multiple=True, type=int, default=[1_000, 4_000, 12_000, WIKITEXT_103])
@click.option("--workers", multiple=True, type=int, default=[1, 2])
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=Path("benchmarks/results"))
def main(sizes: tuple[int, ...], workers: tuple[int, ...], out: Path) -> None:
    """Measure builds of several sizes."""
    out.mkdir(parents=True, exist_ok=True)
    pages = real_pages()
    head(COLUMNS.split(", "))
    for number in sizes:
        with tempfile.TemporaryDirectory() as name:
            store = Path(name) / "pages.store"
            size = make_store(store, pages, number)
            for count in workers:
                folder = Path(name) / f"build-{count}"
                folder.mkdir()
                found = measure(store, folder, pages=number, wikitext_bytes=size, workers=count)
                append(out / "build.jsonl", found)
                row(*found.cells())
                shutil.rmtree(folder)


if __name__ == "__main__":
    main()
