"""Speed of reading a multistream dump: unpacked, parsed, imported, with several numbers of threads.

    python benchmarks/speed/dump.py [--megabytes N] [--threads N ...] [--times N]

The shared real pages are repeated with new titles and ids, with a bzip2 stream per 100 pages, as in dumps of
Wikimedia. The figures are MB of XML per second of wall time and, in brackets, per second of processor time of
all threads. Each is the best of several runs, taken in turns: other work on the machine makes a run slower,
never faster. With 0 threads the parser's own thread unpacks. Peak memory (VmHWM) is that of a separate
process that imports. A table goes to stdout.
"""

from __future__ import annotations

import bz2
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle, islice
from pathlib import Path

import click
from speed.processes import ROOT, head, row, shared

from wikitext_builder.pages.decompress import DumpFile, decompressed
from wikitext_builder.pages.importing import Keep, import_into
from wikitext_builder.pages.store import Store
from wikitext_builder.pages.xml_dump import Dump
from wikitext_builder.wiki.languages import LANGUAGES

PAGES_PER_STREAM = 100  # https://meta.wikimedia.org/wiki/Data_dumps/Dump_format
END = b"</mediawiki>\n"
ID = re.compile(rb"<id>\d+</id>")


def write_dump(path: Path, xml: Path, size: int) -> None:
    """Write a multistream dump of about `size` bytes of XML, and the same XML unpacked."""
    head, pages = real_pages()
    with path.open("wb") as packed, xml.open("wb") as plain:
        for stream in (head, *streams(pages, size), END):
            plain.write(stream)
            packed.write(bz2.compress(stream))


def real_pages() -> tuple[bytes, list[bytes]]:
    """The head of an export, and the XML of each shared page."""
    start, pages = b"", []
    for path in shared("pages/pages-*.xml.bz2"):
        start, *rest = bz2.decompress(path.read_bytes()).split(b"<page>")
        pages += [b"<page>" + page.partition(b"</page>")[0] + b"</page>\n" for page in rest]
    return start, pages


def streams(pages: list[bytes], size: int) -> Iterator[bytes]:
    """Streams of the pages, repeated, each with its own title, page id and revision id."""
    numbered = enumerate(cycle(pages), start=1)
    while size > 0:
        stream = b"".join(renamed(page, number) for number, page in islice(numbered, PAGES_PER_STREAM))
        size -= len(stream)
        yield stream


def renamed(page: bytes, number: int) -> bytes:
    """The page with a new title and new ids."""
    page = page.replace(b"</title>", b" %d</title>" % number, 1)
    return ID.sub(b"<id>%d</id>" % number, page, count=2)  # first the page's, then the revision's


# --- what is measured


def unpack(path: Path, threads: int) -> None:
    """Unpack, without parsing."""
    with path.open("rb") as file:
        for _ in decompressed(DumpFile(file), threads=threads):
            pass


def parse(path: Path, threads: int) -> None:
    """Parse the pages and drop them."""
    for _ in Dump(path, threads=threads).pages():
        pass


def keep(path: Path, threads: int, which: Keep = "marked") -> None:
    """Import Good and Featured articles into a new store, or all."""
    with tempfile.TemporaryDirectory() as folder, Store.create(Path(folder) / "pages.store") as store:
        import_into(store, path, language=LANGUAGES["en"], keep=which, threads=threads)


WAYS: dict[str, Callable[[Path, int], None]] = {
    "unpack": unpack,
    "parse": parse,
    "import": keep,
    "import --all": partial(keep, which="all"),
}


Seconds = tuple[float, float]  # of wall time, of processor time


def seconds(way: Callable[[Path, int], None], path: Path, threads: int) -> Seconds:
    """The seconds of one run."""
    started = time.perf_counter(), time.process_time()
    way(path, threads)
    return time.perf_counter() - started[0], time.process_time() - started[1]


PEAK = """
import sys
from pathlib import Path
from speed.dump import keep
keep(Path(sys.argv[1]), int(sys.argv[2]))
print(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
"""


def peak_memory(path: Path, threads: int) -> float:
    """Peak memory of a process that imports the dump, in megabytes."""
    command = [sys.executable, "-c", PEAK, str(path), str(threads)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603
    return int(run.stdout) * 1024 / 1e6


def rows(path: Path, xml: Path, threads: tuple[int, ...], times: int) -> Iterator[tuple[str, ...]]:
    """The rows of the table: plain XML, then the dump with each number of threads."""
    runs = [("plain XML", xml, 0), *((f"threads: {number}", path, number) for number in threads)]
    found: dict[tuple[str, str], list[Seconds]] = defaultdict(list)
    for _ in range(times):
        for name, file, number in runs:
            for what, way in WAYS.items():
                found[name, what].append(seconds(way, file, number))
    size = xml.stat().st_size / 1e6
    for name, file, number in runs:
        best = (map(min, zip(*found[name, what], strict=True)) for what in WAYS)
        speeds = [f"{size / wall:.0f} ({size / processor:.0f})" for wall, processor in best]
        yield name, *speeds, f"{peak_memory(file, number):.0f}"


@click.command()
@click.option("--megabytes", type=int, default=200, show_default=True, help="Of XML.")
@click.option("--threads", multiple=True, type=int, default=[0, 1, 2], show_default=True)
@click.option("--times", type=int, default=3, show_default=True, help="Runs, of which the best counts.")
def main(megabytes: int, threads: tuple[int, ...], times: int) -> None:
    """Measure MB of XML per second."""
    with tempfile.TemporaryDirectory() as name:
        path, xml = Path(name) / "multistream.xml.bz2", Path(name) / "plain.xml"
        write_dump(path, xml, megabytes * 1_000_000)
        sizes = f"{xml.stat().st_size / 1e6:.0f} MB of XML, {path.stat().st_size / 1e6:.0f} MB of bzip2"
        click.echo(
            f"{sizes}; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; best of {times}; MB/s of XML\n"
        )
        head(["", *WAYS, "peak MB of memory"])
        for cells in rows(path, xml, threads, times):
            row(*cells)


if __name__ == "__main__":
    main()
