"""Changes the modules that decide numbers, place by place, and looks whether a test fails: `make mutants`.

mutmut changes the bodies of functions. It leaves out constants, fields of classes, and functions that have a
decorator, such as properties: `tests.mutation.rest` changes these, in the same ways. The modules and the
tests are those of `[tool.mutmut]` in pyproject.toml. Prints each mutant that no test kills, then a table of
the modules. In the folder `build/mutants`, `mutmut show NAME` shows a mutant of mutmut.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click
from mutmut.configuration import config
from mutmut.mutation.data import SourceFileMutationData
from mutmut.stats import status_by_exit_code
from mutmut.utils.file_utils import walk_mutatable_files

from tests.mutation.rest import ROOT, Outcome, outcomes

TREE = ROOT / "build" / "mutants"
LINKS = {
    "wikitext_builder": ROOT / "wikitext_builder",
    "ps_models": ROOT / "ps_models",
    "src": ROOT / "benchmarks",  # mutmut finds packages in `.` and `src` only
    "tests": ROOT / "tests",
    "pyproject.toml": ROOT / "pyproject.toml",
    "shared": ROOT.parent / "shared",  # real data, if there are any
}
MEMORY = 12 * 2**30  # bytes of addresses: a mutant may fill a list without end
STATES = ("killed", "timeout", "survived", "no tests")


def of_mutmut() -> Iterator[Outcome]:
    """Run mutmut in a new folder, and read what became of its mutants."""
    shutil.rmtree(TREE, ignore_errors=True)
    TREE.mkdir(parents=True)
    for name, target in LINKS.items():
        (TREE / name).symlink_to(target)
    os.chdir(TREE)
    command = [str(Path(sys.executable).with_name("mutmut")), "run"]
    command += ["--max-children", str(len(os.sched_getaffinity(0)))]
    subprocess.run(command, check=True)
    for path in walk_mutatable_files():
        data = SourceFileMutationData(path=path)
        data.load()
        for mutant, code in data.exit_code_by_key.items():
            yield Outcome(str(path), mutant, status_by_exit_code[code])


def main() -> None:
    """Try all mutants."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    os.environ["OMP_NUM_THREADS"] = "1"  # tests look at it; torch reads it when it is imported
    counts: dict[str, Counter[str]] = {}
    tried = list(of_mutmut())
    selection = config().pytest_add_cli_args_test_selection
    options = [*config().pytest_add_cli_args, *selection[selection.index("-k") :]]
    tried += outcomes([str(path) for path in walk_mutatable_files()], options)
    for one in tried:
        counts.setdefault(one.path, Counter())[one.state] += 1
        if one.state not in ("killed", "timeout"):
            click.echo(f"{one.state}: {one.path}: {one.mutant}")
    counts["all"] = sum(counts.values(), Counter())
    click.echo(f"{'module':<45}{'mutants':>8}" + "".join(f"{state:>10}" for state in STATES))
    for path, count in counts.items():
        click.echo(f"{path:<45}{count.total():>8}" + "".join(f"{count[state]:>10}" for state in STATES))


if __name__ == "__main__":
    main()
