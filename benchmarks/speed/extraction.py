"""Speed of extraction compared with other tools, and the markup and words that each leaves.

    python benchmarks/speed/extraction.py PAGES… [--every N] [--runs N] [--venv FOLDER]

PAGES are MediaWiki XML exports, or files of HTML that MediaWiki rendered. The other tools (mwparserfromhell,
wikitextparser, gensim, wikiextractor; for HTML mwparserfromhtml, trafilatura, resiliparse) are installed in a
separate virtual environment and run there in one process with ours, page by page in turn, so that a busy
machine slows all of them equally. Seconds are CPU time, the best of the runs for each page.
Residue counts markup that no reader sees; words are what `split` finds. Lost words are plain words of the
wikitext, outside of templates, tables and the like, that at least two of the other tools keep.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
import venv
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

PEER_PACKAGES = ["mwparserfromhell==0.7.2", "wikitextparser==3.0.0", "gensim==4.4.0", "wikiextractor==3.1.0"]
PEER_PACKAGES += ["mwparserfromhtml==2.1.2", "trafilatura==2.3.1", "lxml_html_clean", "resiliparse==2.0.1"]
ROOT = Path(__file__).parents[2]
RESIDUE = {
    "( )": r"\( ?\)",
    "( ,": r"\( ?[,;]",
    ", ,": r", ?,|, \.(?![\w. ])",
    "|": r"\|",
    "''": r"''",
    "[[ {{": r"\[\[|\]\]|\{\{|\}\}",
    "thumb px": r"\bthumb\||\d+px\b|\bthumb\b(?=\|)",
    "&;": r"&#?\w+;",
    "<>": r"</?(?:br|ref|div|span|small|sup|sub|b|i|li|ul|p|nowiki|math|table|td|tr)\b[^<>]*>",
    "* # : ;": r"(?m)^[*#:;]",
    "File:": r"\b(?:File|Image):",
    "[n]": r"\[\d+\]",
    "{\\": r"\{\\\w+",
}

Tool = Callable[[str, str], str]


@dataclass(slots=True)
class Result:
    """The measurements of a tool, over all pages."""

    seconds: float = 0.0
    words: int = 0
    residue: Counter[str] = field(default_factory=Counter)
    agreed: int = 0  # plain words that at least two other tools keep
    lost: int = 0  # of these, the words that this tool loses


def tools() -> dict[str, Tool]:
    """Return the functions from title and wikitext to text, by tool."""
    gensim = import_module("gensim.corpora.wikicorpus")
    mwparserfromhell = import_module("mwparserfromhell")
    wikitextparser = import_module("wikitextparser")
    extractors = import_module("wikiextractor.extract")

    from wikitext_builder.article import Page
    from wikitext_builder.extraction.page import extract

    def ours(title: str, wikitext: str) -> str:
        page = Page(
            title=title, page_id=1, revision_id=1, timestamp="2016-04-16T00:00:00Z", wikitext=wikitext
        )
        return "\n".join(extract(page).lines)

    def wikiextractor(title: str, wikitext: str) -> str:
        extractor = extractors.Extractor("1", "1", "", title, [])
        return "\n".join(extractor.clean_text(wikitext))

    return {
        "mwparserfromhell strip_code": lambda _, wikitext: str(mwparserfromhell.parse(wikitext).strip_code()),
        "wikitextparser plain_text": lambda _, wikitext: str(wikitextparser.parse(wikitext).plain_text()),
        "gensim filter_wiki": lambda _, wikitext: str(gensim.filter_wiki(wikitext)),
        "wikiextractor": wikiextractor,
        "wikitext_builder": ours,
    }


def html_tools() -> dict[str, Tool]:
    """Return the functions from title and HTML to text, by tool."""
    mwparserfromhtml = import_module("mwparserfromhtml")
    trafilatura = import_module("trafilatura")
    plain_text = import_module("resiliparse.extract.html2text").extract_plain_text

    from wikitext_builder.article import Page
    from wikitext_builder.extraction.rendered import extract_rendered

    def ours(title: str, html: str) -> str:
        page = Page(title=title, page_id=1, revision_id=1, timestamp="2016-04-16T00:00:00Z", wikitext="")
        return "\n".join(extract_rendered(html, page).lines)

    return {
        "mwparserfromhtml": lambda _, html: "\n".join(mwparserfromhtml.Article(html).get_plaintext()),
        "trafilatura": lambda _, html: trafilatura.extract(html, include_tables=False) or "",
        "resiliparse main_content": lambda _, html: str(plain_text(html, main_content=True)),
        "resiliparse": lambda _, html: str(plain_text(html)),
        "wikitext_builder": ours,
    }


def pages(paths: list[Path], step: int) -> Iterator[tuple[str, str]]:
    """Yield titles with wikitext or HTML."""
    from wikitext_builder.article import Page
    from wikitext_builder.dumps.xml_dump import read_pages

    for path in paths:
        if path.suffix == ".html":
            yield path.stem, path.read_text(encoding="utf-8")
            continue
        for index, dumped in enumerate(read_pages(path)):
            if isinstance(dumped.content, Page) and index % step == 0:
                yield dumped.content.title, dumped.content.wikitext


def measure(inputs: list[tuple[str, str]], runs: int, *, html: bool) -> dict[str, Result]:
    """Measure all tools over all pages."""
    patterns = {name: re.compile(pattern) for name, pattern in RESIDUE.items()}
    measured_tools = html_tools() if html else tools()
    results = {name: Result() for name in measured_tools}
    for tool in measured_tools.values():
        tool(*(inputs[0] if html else ("Warm", "'''Warm''' {{up|a}} [[b|c]]")))
    for title, wikitext in inputs:
        texts: dict[str, str] = {}
        for name, tool in measured_tools.items():
            seconds, text = fastest(tool, title, wikitext, runs)
            texts[name] = text
            for mark, pattern in patterns.items():
                results[name].residue[mark] += len(pattern.findall(text))
            results[name].seconds += seconds
            results[name].words += len(text.split())
        if not html:
            compare(wikitext, texts, results)
    return results


def compare(wikitext: str, texts: dict[str, str], results: dict[str, Result]) -> None:
    """Count the plain words of a page that each tool loses and at least two others keep."""
    from extraction_eval.lost import lost_places, plain_words, words

    from wikitext_builder.wiki.languages import LANGUAGES

    plain = plain_words(wikitext, LANGUAGES["en"])
    lost = {name: set(lost_places(plain, words(text))) for name, text in texts.items()}
    losers = Counter(place for places in lost.values() for place in places)
    for name, places in lost.items():
        for place in range(len(plain)):
            keepers = len(texts) - losers[place] - (place not in places)
            results[name].agreed += keepers >= 2
            results[name].lost += keepers >= 2 and place in places


def fastest(tool: Tool, title: str, wikitext: str, runs: int) -> tuple[float, str]:
    """Return the CPU seconds of the best run, and the text."""
    best, text = float("inf"), ""
    for _ in range(runs):
        started = time.process_time()
        text = tool(title, wikitext)
        best = min(best, time.process_time() - started)
    return best, text


def report(inputs: list[tuple[str, str]], results: dict[str, Result]) -> str:
    """Return the tables as text."""
    megabytes = sum(len(wikitext.encode()) for _, wikitext in inputs) / 1e6
    slowest = next(iter(results.values())).seconds
    lines = [f"{len(inputs):,} pages, {megabytes:.2f} MB, one process, CPU time"]
    lines.append(f"{'tool':29}{'seconds':>9}{'MB/s':>8}{'ratio':>7}{'words':>11}{'lost %':>9}")
    for name, result in results.items():
        speed, ratio = megabytes / result.seconds, slowest / result.seconds
        lost = f"{100 * result.lost / result.agreed:.4f}" if result.agreed else "-"
        lines.append(f"{name:29}{result.seconds:9.2f}{speed:8.2f}{ratio:7.1f}{result.words:11,}{lost:>9}")
    lines += ["", f"{'residue':29}" + "".join(f"{mark:>9}" for mark in RESIDUE)]
    for name, result in results.items():
        lines.append(f"{name:29}" + "".join(f"{result.residue[mark]:9,}" for mark in RESIDUE))
    return "\n".join(lines) + "\n"


def in_peers_environment(folder: Path, arguments: list[str]) -> int:
    """Install the other tools and the package in a separate environment and run this file there."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    install = [str(python), "-m", "pip", "install", "--quiet", *PEER_PACKAGES, "-e", str(ROOT)]
    subprocess.run(install, check=True)  # noqa: S603 - this file's own words
    here = [str(python), __file__, *arguments, "--here"]
    return subprocess.run(here, check=False).returncode  # noqa: S603 - this file's own words


def main(arguments: list[str]) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument("--every", type=int, default=1, help="take every Nth page only")
    parser.add_argument("--runs", type=int, default=1, help="runs per page; the best one counts")
    parser.add_argument("--venv", type=Path, default=Path("build/peers-of-extraction"))
    parser.add_argument("--here", action="store_true", help="the other tools are installed here")
    options: Any = parser.parse_args(arguments)
    if not options.here:
        return in_peers_environment(options.venv, arguments)
    inputs = list(pages(options.pages, options.every))
    sys.stdout.write(report(inputs, measure(inputs, options.runs, html=options.pages[0].suffix == ".html")))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
