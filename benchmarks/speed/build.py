"""Time, memory and disk of whole builds, up to the size of WikiText-103.

    python benchmarks/speed/build.py [--pages N ...] [--workers N ...] [--out FOLDER]

The shared real pages are repeated with new titles and ids up to each number of pages. Each build runs the
command line in separate processes, in an empty folder. Memory is the largest sum of the proportional set
sizes (Pss) of all processes of a build, sampled five times per second; disk is the largest size of its
folder. A table goes to stdout, records to FOLDER/build.jsonl.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import cycle, islice
from pathlib import Path

import click

from wikitext_builder.article import Page
from wikitext_builder.pages.store import Store
from wikitext_builder.pages.xml_dump import read_pages

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "pages"
WIKITEXT_103 = 28_595  # articles: 28,475 train, 60 valid, 60 test


def real_pages() -> list[Page]:
    """The shared articles, without redirects and very short pages."""
    paths = sorted(SHARED.glob("pages-*.xml.bz2"))
    if not paths:
        raise click.ClickException(f"{SHARED}: no shared pages; the benchmark needs the real data")
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


def tree(root: int) -> list[int]:
    """A process and all its descendants."""
    found, index = [root], 0
    while index < len(found):
        for task in Path(f"/proc/{found[index]}/task").glob("*"):
            try:
                found += map(int, (task / "children").read_text().split())
            except (FileNotFoundError, ProcessLookupError):  # it ended after it was listed
                continue
        index += 1
    return found


def pss(pid: int) -> int:
    """Proportional set size in bytes; 0 if the process has ended."""
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except (FileNotFoundError, ProcessLookupError):  # it ended after it was listed
        return 0
    lines = (line.split() for line in rollup.splitlines())
    return next((int(words[1]) * 1024 for words in lines if words[0] == "Pss:"), 0)


def disk_usage(folder: Path) -> int:
    """Bytes of all files below a folder."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += (Path(parent) / name).stat().st_size
            except FileNotFoundError:  # renamed or removed since the folder was listed
                continue
    return total


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

    def row(self) -> str:
        """A row of the table."""
        total = sum(self.stages.values())
        cells = (
            f"{self.pages:,}",
            f"{self.workers}",
            f"{self.seconds:.0f}",
            f"{self.pages / self.seconds:.1f}",
            f"{self.wikitext_bytes / 1e6 / self.seconds:.2f}",
            f"{self.peak_pss / 1e6:.0f}",
            f"{self.peak_disk / 1e9:.2f}",
            ", ".join(f"{name} {spent / total:.0%}" for name, spent in self.stages.items()),
        )
        return f"| {' | '.join(cells)} |"


def measure(store: Path, folder: Path, *, pages: int, wikitext_bytes: int, workers: int) -> Measured:
    """Run one build and measure it."""
    command = [sys.executable, "-m", "wikitext_builder", "build", "wikitext-103", "--json"]
    options = ["--store", str(store), "--out", str(folder / "dataset"), "--workers", str(workers)]
    started = time.perf_counter()
    with (folder / "report.json").open("w") as report:
        child = subprocess.Popen([*command, *options], stdout=report, stderr=subprocess.DEVNULL)  # noqa: S603
        memory = disk = ticks = 0
        while child.poll() is None:
            memory = max(memory, sum(map(pss, tree(child.pid))))
            if ticks % 25 == 0:
                disk = max(disk, disk_usage(folder))
            ticks += 1
            time.sleep(0.2)
    seconds = time.perf_counter() - started
    if child.returncode:
        raise click.ClickException(f"the build ended with status {child.returncode}")
    found = json.loads((folder / "report.json").read_text())
    return Measured(
        pages=pages,
        workers=workers,
        wikitext_bytes=wikitext_bytes,
        seconds=seconds,
        peak_pss=memory,
        peak_disk=max(disk, disk_usage(folder)),
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
    click.echo(
        "| pages | workers | s | pages/s | MB/s of wikitext | peak MB of memory | GB of disk | stages |"
    )
    click.echo("|---|---|---|---|---|---|---|---|")
    for number in sizes:
        with tempfile.TemporaryDirectory() as name:
            store = Path(name) / "pages.store"
            size = make_store(store, pages, number)
            for count in workers:
                folder = Path(name) / f"build-{count}"
                folder.mkdir()
                found = measure(store, folder, pages=number, wikitext_bytes=size, workers=count)
                with (out / "build.jsonl").open("a") as file:
                    file.write(json.dumps(asdict(found)) + "\n")
                click.echo(found.row())
                shutil.rmtree(folder)


if __name__ == "__main__":
    main()
