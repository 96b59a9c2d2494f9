"""Speed and memory of an HTML snapshot: from the file to the store, and from the store to lines.

    python benchmarks/speed/snapshot.py [--pages N ...] [--smallest]

The HTML of the shared pages is repeated under other titles, in a tar archive as Wikimedia Enterprise makes.
Each step runs in a process of its own. MB are of HTML; the first figure is per second of processor time,
because other work on the machine makes the wall time of a run longer, never shorter.
"""

from __future__ import annotations

import io
import json
import os
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

import click
from speed.processes import Ran, head, row, run, shared

TIMES = "seconds", "processor_seconds"
IMPORT = (sys.executable, "-m", "wikitext_builder", "import", "--quiet", "{file}", "--store", "{store}")
LINES = """
import sys
from pathlib import Path
from wikitext_builder.extraction.rendered import extract_rendered
from wikitext_builder.pages.reading import stored_pages
from wikitext_builder.pages.store import Store
with Store.open(Path(sys.argv[1])) as store:
    numbers = [one.revision_id for one in store.revisions("en")]
    for one in stored_pages(store, "en", numbers, html=True):
        assert extract_rendered(one.html, one.page).lines
"""


def records(pages: list[Path], count: int) -> Iterator[bytes]:
    """The lines of a snapshot."""
    texts = [(path.name.partition("__")[0].replace("_", " "), path.read_text("utf-8")) for path in pages]
    for number, (title, html) in enumerate(islice(cycle(texts), count), 1):
        record = {
            "name": f"{title} {number}",
            "identifier": number,
            "date_modified": "2026-11-01T00:00:00Z",
            "version": {"identifier": 1000 + number},
            "url": f"https://en.wikipedia.org/wiki/{number}",
            "in_language": {"identifier": "en"},
            "is_part_of": {"identifier": "enwiki"},
            "templates": [{"name": "Template:Good article"}],
            "article_body": {"html": html, "wikitext": f"'''{title} {number}'''"},
        }
        yield json.dumps(record, ensure_ascii=False).encode() + b"\n"


def write_snapshot(path: Path, pages: list[Path], count: int) -> None:
    """Write a tar archive with one file per 100 records, of which 100 are in memory at a time."""
    lines = records(pages, count)
    with tarfile.open(path, "w:gz", compresslevel=6) as archive:
        for number in range(0, count, 100):
            data = b"".join(islice(lines, 100))
            member = tarfile.TarInfo(f"enwiki_namespace_0_{number}.ndjson")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))


@click.command()
@click.option("--pages", "counts", multiple=True, type=int, default=[500, 5000], show_default=True)
@click.option("--smallest", is_flag=True, help="Only the smallest of the shared pages.")
def main(counts: tuple[int, ...], smallest: bool) -> None:
    """Measure MB of HTML per second."""
    pages = sorted(shared("html/*.html"), key=lambda path: path.stat().st_size)[: 1 if smallest else None]
    click.echo(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
    head(["pages", "MB of HTML", "step", "MB/s of processor time", "MB/s", "peak MB of memory"])
    for count in counts:
        with tempfile.TemporaryDirectory() as name:
            file, store = f"{name}/snapshot.tar.gz", f"{name}/pages.store"
            write_snapshot(Path(file), pages, count)
            size = sum(page.stat().st_size for page in islice(cycle(pages), count)) / 1e6
            steps = {
                "import": run([word.format(file=file, store=store) for word in IMPORT]),
                "lines": run([sys.executable, "-c", LINES, store]),
            }
            walls, processors = ([getattr(one, name) for one in steps.values()] for name in TIMES)
            steps["both"] = Ran(seconds=sum(walls), processor_seconds=sum(processors), peak=0)
            for step, ran in steps.items():
                speeds = f"{size / ran.processor_seconds:.1f}", f"{size / ran.seconds:.1f}"
                shown = f"{ran.peak / 1e6:.0f}" if ran.peak else ""
                row(f"{count:,}", f"{size:,.0f}", step, *speeds, shown)


if __name__ == "__main__":
    main()
