"""Speed of the tokenizer, compared with sacremoses and with one pass of a regular expression.

    python benchmarks/speed/tokenizer.py [FILE [RUNS [TOKENIZER.PERL]]]

FILE has official lines of tokens (by default WikiText-2's raw valid file); they are detokenized first. All
tools run in one process on the same lines, one after another in each of RUNS runs; the table shows the median
processor time. The first pass uses a new tokenizer without cached words, as for a new corpus. The second pass
reads the same text again. sacremoses runs with the two options of the recipe, without corrections; the
C++ port of Moses, opus-fast-mosestokenizer, runs if it is installed, with its defaults, and splits no
numbers. A file with `<unk>` shows fewer equal lines, because `<unk>` is not a word of the text. With the path
of Moses' own script, Perl also runs; its start counts.
"""

from __future__ import annotations

import re
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from sacremoses import MosesTokenizer

from wikitext_builder.tokens.detokenizer import detokenize_line
from wikitext_builder.tokens.tokenizer import Tokenizer

OFFICIAL_FILE = Path(__file__).parents[2].parent / "shared/data/wikitext-2-raw/wiki.valid.raw"
WORD = re.compile(r"\w+|[^\w\s]")


def measure(lines: list[str], runs: int, perl_script: str = "") -> dict[str, tuple[float, float]]:
    """Return the median seconds and the fraction of lines with the official tokens, by tool."""
    text = [detokenize_line(line) for line in lines]
    moses = MosesTokenizer("en")
    warm = Tokenizer("en")
    warm.tokenize_lines(text)
    tools: dict[str, Callable[[], Iterable[str]]] = {
        "sacremoses": lambda: [
            moses.tokenize(line, aggressive_dash_splits=True, escape=False, return_str=True) for line in text
        ],
        "ours, first pass": lambda: Tokenizer("en").tokenize_lines(text),
        "ours, second pass": lambda: warm.tokenize_lines(text),
        "one findall and join": lambda: [" ".join(WORD.findall(line)) for line in text],
        "split and join": lambda: [" ".join(line.split()) for line in text],
    }
    if perl_script:
        tools["tokenizer.perl"] = lambda: perl_tokens(text, perl_script)
    if find_spec("mosestokenizer"):
        port = import_module("mosestokenizer").MosesTokenizer("en")
        tools["opus-fast-mosestokenizer"] = lambda: [" ".join(port.tokenize(line)) for line in text]
    seconds: dict[str, list[float]] = {name: [] for name in tools}
    equal: dict[str, float] = {}
    for _ in range(runs):
        for name, tool in tools.items():
            started = processor_seconds()
            tokens = list(tool())
            seconds[name].append(processor_seconds() - started)
            equal[name] = sum(ours.split() == line.split() for ours, line in zip(tokens, lines, strict=True))
    return {name: (statistics.median(seconds[name]), equal[name] / len(lines)) for name in tools}


def processor_seconds() -> float:
    """Return the processor time of this process and of those that it waited for."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def perl_tokens(text: list[str], script: str) -> list[str]:
    """Return the tokens that Moses' own script gives."""
    command = ["perl", script, "-l", "en", "-a", "-no-escape", "-q"]
    done = subprocess.run(command, input="\n".join(text), capture_output=True, text=True, check=True)  # noqa: S603
    return done.stdout.removesuffix("\n").split("\n")


def main(path: Path, runs: int, perl_script: str = "") -> None:
    """Print the table for a file of official lines."""
    lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    megabytes = sum(len(detokenize_line(line).encode()) for line in lines) / 1e6
    results = measure(lines, runs, perl_script)
    slowest = results["sacremoses"][0]
    sys.stdout.write(
        f"{path.name}: {len(lines):,} lines, {megabytes:.2f} MB of text; processor time, median of {runs}\n"
    )
    sys.stdout.write(f"{'tool':24}{'seconds':>9}{'MB/s':>8}{'ratio':>8}{'lines equal':>13}\n")
    for name, (seconds, equal) in results.items():
        sys.stdout.write(
            f"{name:24}{seconds:9.3f}{megabytes / seconds:8.2f}{slowest / seconds:8.1f}{equal:13.2%}\n"
        )


if __name__ == "__main__":
    words = sys.argv[1:]
    main(Path(words[0]) if words else OFFICIAL_FILE, int(words[1]) if words[1:] else 5, *words[2:3])
