"""Import, status, lock and build of many short pages: speed and memory from 100,000 pages to a million.

    python benchmarks/speed/load.py --pages 100000 --pages 1000000 [--stubs] [--workers N] [--folder DIR]

The pages are generated from seeds: the same number gives the same page, and the same file, on every machine.
They have 0.7 to 1.5 kB of wikitext with what short articles have, or with --stubs one sentence. Each stage is
a command of its own. Processor time is that of all its processes; memory is the peak of the main process, and
of the largest worker (VmHWM, read twice per second). A table goes to stdout, records to
benchmarks/results/load.jsonl, or the folder of --out. A million pages need 7 GB of disk below DIR, stubs 2.
"""

from __future__ import annotations

import hashlib
import json
import struct
import sys
import tempfile
from bisect import bisect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from xml.sax.saxutils import escape

import click
from speed.processes import append, disk_usage, head, kilobytes, proc_text, row, run, tree

HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">
<siteinfo><sitename>Wikipedia</sitename><dbname>enwiki</dbname><namespaces>
<namespace key="0" case="first-letter" /><namespace key="10" case="first-letter">Template</namespace>
</namespaces></siteinfo>
"""
PAGE = """<page><title>{title}</title><ns>0</ns><id>{number}</id><revision><id>{revision}</id>\
<timestamp>20{year}-04-16T17:15:34Z</timestamp><contributor><username>A</username><id>3</id></contributor>\
<model>wikitext</model><format>text/x-wiki</format><text bytes="{size}" xml:space="preserve">{text}</text>\
</revision></page>
"""
ARTICLE = """{{{{Short description|{0} in {name}}}}}
{{{{Infobox place
| name = {name}
| population = {number}
}}}}
'''{name}''' is a {0} in [[{1} {2}|{2}]], {{{{convert|{km}|km|mi}}}} from the {3}. {s0}<ref>{{{{cite web \
|url=https://example.org/{number} |title={4} |year=20{year}}}}}</ref> {s1}

== History ==
{s2} In [[{3}]] it had {number:,} ''{5}''.<ref name="a">{4} 20{year}, p. {km}.</ref> {s3}

{s4} {s5}{rare}

=== {6} ===
* [[{7}]] of {name}
* {8}

== References ==
{{{{reflist}}}}

[[Category:{0}s in {1}]]
"""
STUB = """'''{name}''' is a {0} {1} in [[{2}]], {km} km from the {3}.

[[Category:{0}s in {1}]]
"""
SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er")]
TYPES = 30_000  # besides the names of the pages


@lru_cache(maxsize=1)
def words() -> list[str]:
    """The words that 16 bits can draw, each as often as Zipf's law says."""
    ranks = range(1, TYPES + 1)
    sums = list(accumulate(1 / rank for rank in ranks))
    known = [name_of(rank).lower() for rank in ranks]
    return [known[bisect(sums, draw * sums[-1] / 2**16)] for draw in range(2**16)]


def name_of(number: int) -> str:
    """A name that no other number has."""
    syllables = []
    while number:
        number, digit = divmod(number, len(SYLLABLES))
        syllables.append(SYLLABLES[digit])
    return "".join(syllables).capitalize()


def page_of(number: int, template: str = ARTICLE) -> tuple[str, str]:
    """The title and the wikitext of a page."""
    draws = struct.unpack("<190H", hashlib.shake_128(b"%d" % number).digest(380))
    known = words()
    drawn = [known[draw] for draw in draws[: 90 + number * 37 % 101]]
    cut = len(drawn) // 6
    sentences = [" ".join(drawn[start : start + cut]) for start in range(0, 6 * cut, cut)]
    text = template.format(
        *drawn,
        name=name_of(TYPES + number),
        number=1000 + 7 * number % 99_991,
        km=number % 97 + 2,
        year=f"{number % 24:02}",
        rare=f" {{{{lang-of|{drawn[0]}}}}}" if number % 5 == 0 else "",
        **{f"s{index}": f"{one.capitalize()}." for index, one in enumerate(sentences)},
    )
    return name_of(TYPES + number), text


def write_dump(path: Path, pages: int, template: str = ARTICLE) -> None:
    """Write an export of generated pages."""
    with path.open("w", encoding="utf-8") as file:
        file.write(HEAD)
        for number in range(1, pages + 1):
            title, text = page_of(number, template)
            values = {"number": number, "revision": 10**6 + number, "year": f"{number % 24:02}"}
            file.write(PAGE.format(title=title, size=len(text.encode()), text=escape(text), **values))
        file.write("</mediawiki>\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One command; times in seconds, sizes in bytes."""

    stage: str
    pages: int
    workers: int
    seconds: float
    processor_seconds: float
    main_peak: int
    worker_peak: int  # of the largest; 0 without workers
    disk: int  # of the folder at the end
    detail: dict[str, float]  # of a build: seconds by stage

    def cells(self) -> tuple[str, ...]:
        """A row of the table."""
        return (
            f"{self.pages:,}",
            self.stage,
            f"{self.workers}",
            f"{self.seconds:.1f}",
            f"{self.processor_seconds:.1f}",
            f"{self.pages / self.processor_seconds:,.0f}",
            f"{self.main_peak / 1e6:.0f}",
            f"{self.worker_peak / 1e6:.0f}" if self.worker_peak else "",
            f"{self.disk / 1e9:.2f}",
            ", ".join(f"{name} {spent:.0f}" for name, spent in self.detail.items()),
        )


COLUMNS = "pages, stage, workers, s, CPU s, pages per CPU s, MB main, MB worker, GB disk, s by stage"


def measure(stage: str, arguments: list[str], folder: Path, *, pages: int, workers: int) -> Measured:
    """Run one command and measure it."""
    command = [sys.executable, "-m", "wikitext_builder", stage, *arguments]
    peaks, out = [0, 0], folder / "stdout"

    def watch(pid: int) -> None:
        own, *others = (kilobytes(proc_text(Path(f"/proc/{one}/status")), "VmHWM") for one in tree(pid))
        peaks[:] = max(peaks[0], own), max([peaks[1], *others])

    ran = run(command, out=out, watch=watch, every=0.5)
    report = json.loads(out.read_text()) if stage == "build" else {}
    return Measured(
        stage=stage,
        pages=pages,
        workers=workers,
        seconds=ran.seconds,
        processor_seconds=ran.processor_seconds,
        main_peak=peaks[0],
        worker_peak=peaks[1],
        disk=disk_usage(folder),
        detail=report.get("seconds", {}),
    )


def stages(folder: Path, dump: Path, workers: int) -> Iterator[tuple[str, list[str]]]:
    """The commands in order, with their arguments."""
    store = ["--store", str(folder / "pages.store")]
    yield "import", [str(dump), *store, "--all"]
    yield "status", store
    yield "lock", store
    out = ["--out", str(folder / "dataset"), "--workers", str(workers), "--json"]
    yield "build", ["wikitext-103", *store, *out]


@click.command()
@click.option("--pages", "sizes", multiple=True, type=int, default=[100_000], show_default=True)
@click.option("--workers", type=int, default=2, show_default=True, help="Of the build.")
@click.option("--stubs", is_flag=True, help="Pages of one sentence, 90 bytes.")
@click.option("--folder", type=click.Path(path_type=Path, file_okay=False), help="For what is made here.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=Path("benchmarks/results"))
def main(sizes: tuple[int, ...], workers: int, stubs: bool, folder: Path | None, out: Path) -> None:
    """Measure each stage for each number of pages."""
    out.mkdir(parents=True, exist_ok=True)
    head(COLUMNS.split(", "))
    for pages in sizes:
        with tempfile.TemporaryDirectory(dir=folder) as name:
            dump = Path(name) / "dump.xml"
            write_dump(dump, pages, STUB if stubs else ARTICLE)
            for stage, arguments in stages(Path(name), dump, workers):
                found = measure(stage, arguments, Path(name), pages=pages, workers=workers)
                append(out / "load.jsonl", found)
                row(*found.cells())


if __name__ == "__main__":
    main()
