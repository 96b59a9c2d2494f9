"""Compares template macros with the real templates on a MediaWiki of this machine.

    python -m tests.mediawiki.differential --family convert --calls 2000 --seed 1

It makes random calls, prints how many are equal, and unexplained differences as cases.
"""

from __future__ import annotations

import argparse
import json
import sys

from tests.mediawiki.differential.asking import NEW, SETS, reader
from tests.mediawiki.differential.comparing import Comparison, compare, generated_calls
from tests.mediawiki.differential.families import FAMILIES

SHOWN = 60  # differences that are printed


def main(arguments: list[str] | None = None) -> int:
    """Run the command; 1 if a difference has no explanation."""
    parser = argparse.ArgumentParser(prog="python -m tests.mediawiki.differential", description=__doc__)
    parser.add_argument("--family", choices=[*FAMILIES["2026"], "all"], default="all")
    parser.add_argument("--calls", type=int, default=2_000, help="how many different calls per family")
    parser.add_argument("--templates", choices=SETS, default="2015", help="the set of templates")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--api", default="", help="a wiki that runs already and has the templates")
    options = parser.parse_args(arguments)
    if not NEW.exists():
        parser.error(f"{NEW} is not here")
    families = FAMILIES[options.templates]
    chosen = [*families] if options.family == "all" else [options.family]
    differences = 0
    for name in chosen:
        family = families[name]
        with reader(options.templates, api=options.api) as wiki:
            found = compare(family, generated_calls(family, options.calls, options.seed), wiki)
        sys.stdout.write(summary(name, found))
        differences += len(found.different)
        for call, mine, theirs in found.different[:SHOWN]:
            case = {"label": call[2:-2], "wikitext": call, "lines": [inside(theirs)]}
            sys.stdout.write(f"{json.dumps(case, ensure_ascii=False)}\n")
            sys.stdout.write(f"    ours: {inside(mine) if mine is not None else 'unknown'}\n")
    return 1 if differences else 0


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
