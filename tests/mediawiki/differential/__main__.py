"""Compares template macros with the real templates on a MediaWiki of this machine.

    python -m tests.mediawiki.differential --family convert --calls 2000 --seed 1

It makes random calls, prints how many are equal, and unexplained differences as cases.
"""

from __future__ import annotations

import argparse
import json
import sys

from tests.mediawiki.differential.asking import SETS, reader
from tests.mediawiki.differential.comparing import Comparison, compare, generated_calls
from tests.mediawiki.differential.families import FAMILIES

SHOWN = 60  # differences that are printed


def main() -> int:
    """Run the command; 1 if a difference has no explanation."""
    parser = argparse.ArgumentParser(prog="python -m tests.mediawiki.differential", description=__doc__)
    parser.add_argument("--family", choices=[*FAMILIES["2026"], "all"], default="all")
    parser.add_argument("--calls", type=int, default=2_000, help="how many different calls per family")
    parser.add_argument("--templates", choices=SETS, default="2015", help="the set of templates")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    families = FAMILIES[options.templates]
    differences = 0
    with reader(options.templates) as wiki:
        for name in [*families] if options.family == "all" else [options.family]:
            family = families[name]
            found = compare(family, generated_calls(family, options.calls, options.seed), wiki)
            sys.stdout.write(summary(name, found))
            differences += len(found.different)
    return 1 if differences else 0


def summary(name: str, found: Comparison) -> str:
    """The figures of a run, and differences as cases."""
    lines = [
        f"{name}: {found.calls:,} calls, {found.equal:,} equal, {found.refused:,} refused by the wiki",
        f"  {found.explained.total():,} explained, {len(found.different):,} different",
    ]
    lines += [f"  {count:,} explained: {why}" for why, count in found.explained.most_common()]
    for call, mine, theirs in found.different[:SHOWN]:
        shown = theirs.removeprefix("a ").removesuffix(" b")
        case = {"label": call[2:-2], "wikitext": call, "lines": [shown]}
        lines += [json.dumps(case, ensure_ascii=False), f"    ours: {mine or 'unknown'}"]
    return "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
