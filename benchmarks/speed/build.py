"""Time, memory and disk of whole commands, up to the size of WikiText-103 and to a million short pages.

    python benchmarks/speed/build.py [--pages N ...] [--workers N ...] [--out FOLDER]
    python benchmarks/speed/build.py --generated articles|stubs|excerpts [--pages N ...] [--folder DIR]
    python benchmarks/speed/build.py --draw FILE.svg

The shared real pages are repeated with new titles and ids up to each number of pages, and built. With
--generated the pages are made from seeds, the same on every machine: 0.7 to 1.5 kB of wikitext with what
short articles have, or one sentence; excerpts are paragraphs of the shared pages, 5 kB on average. Import,
status, lock and build are measured. A million need 7 GB of disk below DIR, stubs 2, excerpts 30. Each command
runs in an empty folder. Processor time is that of all its processes. Memory, sampled a few times per second,
is the largest sum of their proportional set sizes (Pss), and the peaks of the main process and of the largest
worker (VmHWM); disk is the largest size of the folder. A table goes to stdout, records to FOLDER/build.jsonl
or load.jsonl; --draw draws the former.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
import sys
import tempfile
from bisect import bisect
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, cycle, islice
from pathlib import Path
from xml.sax.saxutils import escape

import click
import pandas as pd
from matplotlib.figure import Figure
from speed.processes import append, disk_usage, head, kilobytes, proc_text, row, run, shared, tree

from wikitext_builder.article import Page
from wikitext_builder.charts import write_picture
from wikitext_builder.dumps.xml_dump import read_pages
from wikitext_builder.store.store import Store

WIKITEXT_103 = 28_595  # articles: 28,475 train, 60 valid, 60 test
FOLDER = click.Path(path_type=Path, file_okay=False)
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
TEMPLATES = {"articles": ARTICLE, "stubs": STUB, "excerpts": ""}
EXCERPT_CHARACTERS = 4_000  # the length of a typical article in the English Wikipedia
SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u", "an", "er")]
WORD_TYPES = 30_000  # besides the names of pages


def real_pages() -> list[Page]:
    """Return the shared articles, without redirects and very short pages."""
    paths = shared("pages/pages-*.xml.bz2")
    contents = [dumped.content for path in paths for dumped in read_pages(path) if dumped.namespace == 0]
    return [page for page in contents if isinstance(page, Page) and len(page.wikitext) > 2_000]


def repeated(pages: list[Page], number: int) -> Iterator[Page]:
    """Yield `number` pages with distinct titles and ids."""
    for index, page in enumerate(islice(cycle(pages), number), start=1):
        title = f"{page.title} {index}"
        yield replace(page, title=title, page_id=index, revision_id=index)


def make_store(path: Path, pages: list[Page], number: int) -> int:
    """Fill a store; return the bytes of its wikitext."""
    chosen, size = repeated(pages, number), 0
    with Store.create(path) as store:
        while batch := list(islice(chosen, 500)):
            store.add("en", batch, origin="repeated")
            size += sum(len(page.wikitext.encode()) for page in batch)
    return size


@lru_cache(maxsize=1)
def words() -> list[str]:
    """Return 2**16 words to draw from, which occur as often as Zipf's law says."""
    ranks = range(1, WORD_TYPES + 1)
    sums = list(accumulate(1 / rank for rank in ranks))
    names = [name_of(rank).lower() for rank in ranks]
    return [names[bisect(sums, draw * sums[-1] / 2**16)] for draw in range(2**16)]


def name_of(number: int) -> str:
    """Return a name that is unique to a number."""
    syllables = []
    while number:
        number, digit = divmod(number, len(SYLLABLES))
        syllables.append(SYLLABLES[digit])
    return "".join(syllables).capitalize()


@lru_cache(maxsize=1)
def excerpts() -> list[str]:
    """Return excerpts: consecutive paragraphs of the shared articles, as long as a typical article."""
    texts = [""]
    for page in real_pages():
        for paragraph in re.split(r"(?<=\n\n)", page.wikitext):
            texts[-1] += paragraph
            if len(texts[-1]) >= EXCERPT_CHARACTERS:
                texts.append("")
    return texts[:-1]


def page_of(number: int, template: str = ARTICLE) -> tuple[str, str]:
    """Return the title and the wikitext of a page."""
    if not template:
        return name_of(WORD_TYPES + number), excerpts()[number % len(excerpts())]
    draws = struct.unpack("<190H", hashlib.shake_128(b"%d" % number).digest(380))
    all_words = words()
    chosen = [all_words[draw] for draw in draws[: 90 + number * 37 % 101]]
    cut = len(chosen) // 6
    sentences = [" ".join(chosen[start : start + cut]) for start in range(0, 6 * cut, cut)]
    text = template.format(
        *chosen,
        name=name_of(WORD_TYPES + number),
        number=1000 + 7 * number % 99_991,
        km=number % 97 + 2,
        year=f"{number % 24:02}",
        rare=f" {{{{lang-of|{chosen[0]}}}}}" if number % 5 == 0 else "",
        **{f"s{index}": f"{sentence.capitalize()}." for index, sentence in enumerate(sentences)},
    )
    return name_of(WORD_TYPES + number), text


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
    """The measurement of a command; times in seconds, sizes in bytes."""

    stage: str
    pages: int
    workers: int
    wikitext_bytes: int  # 0 for generated pages
    seconds: float
    processor_seconds: float
    peak_pss: int
    main_peak: int
    worker_peak: int  # of the largest worker; 0 without workers
    peak_disk: int
    stages: dict[str, float]  # seconds by stage of a build

    def cells(self) -> dict[str, str]:
        """Return a row of the table."""
        return {
            "pages": f"{self.pages:,}",
            "stage": self.stage,
            "workers": f"{self.workers}",
            "s": f"{self.seconds:.1f}",
            "CPU s": f"{self.processor_seconds:.1f}",
            "pages/s": f"{self.pages / self.seconds:,.1f}",
            "pages per CPU s": f"{self.pages / self.processor_seconds:,.0f}",
            "MB/s of wikitext": f"{self.wikitext_bytes / 1e6 / self.seconds:.2f}",
            "MB of memory": f"{self.peak_pss / 1e6:.0f}",
            "MB main": f"{self.main_peak / 1e6:.0f}",
            "MB worker": f"{self.worker_peak / 1e6:.0f}" if self.worker_peak else "",
            "GB of disk": f"{self.peak_disk / 1e9:.2f}",
            "s by stage": ", ".join(f"{name} {spent:.0f}" for name, spent in self.stages.items()),
        }


def measure(
    stage: str, arguments: list[str], folder: Path, *, pages: int, workers: int, size: int
) -> Measured:
    """Run a command and measure it."""
    peaks, out = {"peak_pss": [0], "main_peak": [0], "worker_peak": [0], "peak_disk": [0]}, folder / "stdout"

    def watch(pid: int) -> None:
        processes = tree(pid)
        rollups = (proc_text(Path(f"/proc/{pid}/smaps_rollup")) for pid in processes)
        main_peak, *workers_peaks = (
            kilobytes(proc_text(Path(f"/proc/{pid}/status")), "VmHWM") for pid in processes
        )
        peaks["peak_pss"].append(sum(kilobytes(text, "Pss") for text in rollups))
        peaks["main_peak"].append(main_peak)
        peaks["worker_peak"] += workers_peaks
        if len(peaks["main_peak"]) % 25 == 2:
            peaks["peak_disk"].append(disk_usage(folder))

    ran = run([sys.executable, "-m", "wikitext_builder", stage, *arguments], out=out, watch=watch)
    peaks["peak_disk"].append(disk_usage(folder))
    return Measured(
        stage=stage,
        pages=pages,
        workers=workers,
        wikitext_bytes=size,
        seconds=ran.seconds,
        processor_seconds=ran.processor_seconds,
        **{name: max(values) for name, values in peaks.items()},
        stages=json.loads(out.read_text())["seconds"] if stage == "build" else {},
    )


def commands(
    folder: Path, generated: str | None, workers: tuple[int, ...]
) -> Iterator[tuple[str, list[str], int]]:
    """Yield the commands in order, with their arguments and numbers of workers."""
    store = ["--store", str(folder / "pages.store")]
    if generated:
        yield "import", [str(folder / "dump.xml"), *store, "--all"], 1
        yield "status", store, 1
        yield "lock", store, 1
    for count in workers:
        out = ["--out", str(folder / f"build-{count}"), "--workers", str(count), "--json"]
        yield "build", ["wikitext-103", *store, *out], count


def draw(records: pd.DataFrame) -> Figure:
    """Plot time, memory and disk over the number of pages: a panel each, a line per number of workers."""
    figure = Figure(figsize=(12, 3.6), layout="constrained")
    quantities = {
        "seconds": (1.0, "seconds"),
        "peak_pss": (1e6, "MB of memory"),
        "peak_disk": (1e9, "GB of disk"),
    }
    panels = figure.subplots(1, len(quantities))
    for axes, (name, (unit, label)) in zip(panels, quantities.items(), strict=True):
        lines = (records.pivot_table(name, "pages", "workers") / unit).add_prefix("workers: ")
        lines.plot(ax=axes, marker="o", legend=axes is panels[0])
        axes.set_ylim(bottom=0)
        axes.set_title(label, loc="left", fontweight="bold")
        axes.xaxis.set_major_formatter(lambda pages, _: f"{pages:,.0f}")
    panels[0].legend(frameon=False)
    return figure


@click.command()
@click.option("--pages", "sizes", multiple=True, type=int, default=[1_000, 4_000, 12_000, WIKITEXT_103])
@click.option("--workers", multiple=True, type=int, default=[1, 2], help="Numbers of workers of the build.")
@click.option("--generated", type=click.Choice(TEMPLATES), help="Pages made from seeds.")
@click.option("--folder", type=FOLDER, help="Folder for temporary files.")
@click.option("--out", type=FOLDER, default=Path("benchmarks/results"))
@click.option("--draw", "picture", type=click.Path(path_type=Path), help="Draw the records of builds.")
def main(
    sizes: tuple[int, ...],
    workers: tuple[int, ...],
    generated: str | None,
    folder: Path | None,
    out: Path,
    picture: Path | None,
) -> None:
    """Measure commands on several numbers of pages."""
    if picture:
        write_picture(picture, lambda: draw(pd.read_json(out / "build.jsonl", lines=True)))
        return
    out.mkdir(parents=True, exist_ok=True)
    pages, printed = [] if generated else real_pages(), False
    for number in sizes:
        with tempfile.TemporaryDirectory(dir=folder) as name:
            here, size = Path(name), 0
            if generated:
                write_dump(here / "dump.xml", number, TEMPLATES[generated])
            else:
                size = make_store(here / "pages.store", pages, number)
            for stage, arguments, count in commands(here, generated, workers):
                measured = measure(stage, arguments, here, pages=number, workers=count, size=size)
                append(out / ("load.jsonl" if generated else "build.jsonl"), measured)
                if not printed:
                    head(measured.cells())
                printed = True
                row(*measured.cells().values())


if __name__ == "__main__":
    main()
