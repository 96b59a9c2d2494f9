"""Changes the functions that decide numbers, place by place, and looks whether a test fails: `make mutants`.

mutmut makes the changes; the modules and the tests are those of `[tool.mutmut]` in pyproject.toml. Prints
each mutant that no test kills, then a table of the modules. In the folder `build/mutants`, `mutmut show NAME`
shows a mutant.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parents[2]
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


def main() -> None:
    """Try all mutants in a new folder."""
    shutil.rmtree(TREE, ignore_errors=True)
    TREE.mkdir(parents=True)
    for name, target in LINKS.items():
        (TREE / name).symlink_to(target)
    os.chdir(TREE)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    command = [str(Path(sys.executable).with_name("mutmut")), "run"]
    command += ["--max-children", str(len(os.sched_getaffinity(0)))]
    # Tests look at the number of threads; torch reads it when it is imported.
    subprocess.run(command, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})

    from mutmut.mutation.data import SourceFileMutationData  # only `make mutants` installs mutmut
    from mutmut.stats import status_by_exit_code
    from mutmut.utils.file_utils import walk_mutatable_files

    counts: dict[str, Counter[str]] = {}
    for path in walk_mutatable_files():
        data = SourceFileMutationData(path=path)
        data.load()
        states = {mutant: status_by_exit_code[code] for mutant, code in data.exit_code_by_key.items()}
        counts[str(path)] = Counter(states.values())
        for mutant, state in states.items():
            if state not in ("killed", "timeout"):
                click.echo(f"{state}: {path}: {mutant}")
    counts["all"] = sum(counts.values(), Counter())
    click.echo(f"{'module':<45}{'mutants':>8}" + "".join(f"{state:>10}" for state in STATES))
    for name, count in counts.items():
        click.echo(f"{name:<45}{count.total():>8}" + "".join(f"{count[state]:>10}" for state in STATES))


if __name__ == "__main__":
    main()
