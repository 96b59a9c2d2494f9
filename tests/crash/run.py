"""Tries each point of each program: `make crash`.

    python -m tests.crash.run                     # all of them
    python -m tests.crash.run build --fault kill  # some

Prints what is wrong, and a count per program, fault and kind of call. The list of all points is written to
`build/crash/points.tsv`. The exit status is 1 if something is wrong.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import click

from tests.conftest import ROOT
from tests.crash.harness import FAULTS, Bench, Point, compiled, started
from tests.crash.programs import PROGRAMS, prepared, wiki

LIST = ROOT / "build" / "crash" / "points.tsv"


def tried(name: str, how: str, ready: Path, library: Path, api: str) -> list[Point]:
    """All points of a program with a fault; each is added to the list."""
    began, points = time.monotonic(), []
    with (
        tempfile.TemporaryDirectory() as folder,
        started(library) as starter,
        LIST.open("a", buffering=1) as file,
    ):
        place = Path(folder)
        bench = Bench(program=PROGRAMS[name], how=how, ready=ready, folder=place, starter=starter, api=api)
        for point in bench.points(range(1, len(bench.calls) + 1)):
            points.append(point)
            file.write(f"{name}\t{how}\t{point.number}\t{point.kind}\t{point.wrong or 'the same result'}\n")
            if point.wrong:
                click.echo(f"{name}, {how}, {point.number} {point.call}: {point.wrong}")
    wrong = sum(bool(point.wrong) for point in points)
    click.echo(f"{name}, {how}: {len(points)} points, {wrong} wrong, {time.monotonic() - began:.0f} s")
    for kind, count in Counter(point.kind for point in points).most_common():
        click.echo(f"  {count:4} {kind}")
    return points


def main() -> int:
    """Try the chosen programs and faults."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("programs", nargs="*", choices=[*PROGRAMS, []], default=[])
    parser.add_argument("--fault", choices=FAULTS, action="append")
    options = parser.parse_args()
    LIST.parent.mkdir(parents=True, exist_ok=True)
    LIST.write_text("program\tfault\tnumber\tcall and file\tresult\n")
    with compiled() as library, wiki() as api, tempfile.TemporaryDirectory() as folder:
        if library is None:
            click.echo("needs Linux and a C compiler, to count the calls of a program")
            return 1
        points = []
        for name in options.programs or PROGRAMS:
            ready = prepared(name, Path(folder))
            for how in options.fault or FAULTS:
                points += tried(name, how, ready, library, api)
    wrong = sum(bool(point.wrong) for point in points)
    click.echo(f"{len(points)} points, {wrong} wrong; the list is in {LIST.relative_to(ROOT)}")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
