"""Compares template macros with the real templates on a MediaWiki of this machine.

    python -m tests.mediawiki.differential --family convert --calls 2000 --seed 1

It makes random calls, prints how many are equal, and each unexplained difference as a small case.
"""

from __future__ import annotations

import argparse
import json
import re
import sys

from tests.mediawiki.differential.asking import NEW, SETS, Reader, reader
from tests.mediawiki.differential.comparing import (
    Comparison,
    Difference,
    compare,
    generated_calls,
    grouped,
    shrunk,
)
from tests.mediawiki.differential.families import FAMILIES, Family
from tests.mediawiki.differential.material import real_calls

SHOWN = 60  # groups of differences that are shrunk and printed


def main(arguments: list[str] | None = None) -> int:
    """Run the command; 1 if a difference has no explanation."""
    parser = argparse.ArgumentParser(prog="python -m tests.mediawiki.differential", description=__doc__)
    parser.add_argument("--family", choices=[*FAMILIES["2026"], "all"], default="all")
    parser.add_argument("--calls", type=int, default=2_000, help="how many different calls per family")
    parser.add_argument("--templates", choices=SETS, default="2015", help="the set of templates")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--api", default="", help="a wiki that runs already and has the templates")
    parser.add_argument("--shown", type=int, default=SHOWN, help="how many groups of differences to print")
    parser.add_argument("--real", action="store_true", help="the calls of the shared pages, not random ones")
    options = parser.parse_args(arguments)
    if not NEW.exists():
        parser.error(f"{NEW} is not here")
    families = FAMILIES[options.templates]
    chosen = [*families] if options.family == "all" else [options.family]
    unexplained = 0
    shown = equal = 0  # calls for which the wiki shows no error
    for name in chosen:
        family = families[name]
        with reader(options.templates, dated=family.dated, api=options.api) as wiki:
            found = Comparison()
            calls = generated_calls(family, options.calls, options.seed)
            if options.real:
                calls = [call for name in family.names for call in real_calls().get(name, [])]
            for found in compare(family, calls, wiki):
                sys.stderr.write(f"\r{name}: {found.calls} calls")
            sys.stderr.write("\n")
            sys.stdout.write(summary(name, found))
            unexplained += len(found.different)
            shown += found.shown
            equal += found.equal
            for small, count in cases(found.different, family, wiki, options.shown):
                case = {"label": small.call[2:-2], "wikitext": small.call, "lines": [inside(small.theirs)]}
                sys.stdout.write(f"{count} × {json.dumps(case, ensure_ascii=False)}\n")
                sys.stdout.write(f"    ours: {inside(small.ours) if small.ours is not None else 'unknown'}\n")
    sys.stdout.write(
        f"in all: {equal:,} of {shown:,} calls that the wiki shows are equal, {equal / max(shown, 1):.2%}\n"
    )
    return 1 if unexplained else 0


def cases(
    differences: list[Difference], family: Family, wiki: Reader, most: int
) -> list[tuple[Difference, int]]:
    """A small call for each group of differences, and how many calls differ like it."""
    found: dict[str, tuple[Difference, int]] = {}
    for difference, count in grouped(differences)[:most]:
        small = shrunk(difference, family, wiki)
        shape = re.sub(r"\d+", "0", small.call.lower())
        found[shape] = (small, found.get(shape, (small, 0))[1] + count)
    return sorted(found.values(), key=lambda one: -one[1])


def summary(name: str, found: Comparison) -> str:
    """The figures of a run."""
    figures = (
        f"{name}: {found.calls:,} calls, {found.equal:,} equal, {found.refused:,} refused by both, "
        f"{found.lenient:,} refused by the wiki only, {found.explained.total():,} explained, "
        f"{len(found.different):,} different\n"
    )
    return figures + "".join(
        f"  {count:,} explained: {why}\n" for why, count in found.explained.most_common()
    )


def inside(text: str) -> str:
    """The text without the words that stand around the call."""
    return text.removeprefix("a ").removesuffix(" b")


if __name__ == "__main__":
    sys.exit(main())
