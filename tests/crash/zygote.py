"""Starts programs quickly: a process that has imported their modules forks one child per run.

    python tests/crash/zygote.py < questions > answers

A question is a line of JSON: `runs` that happen at the same time, a folder to work in, modules to import
before, and perhaps a file for the names of those that a program has imported in the end. A run has the
words after `python -m`, variables, a file for what is printed, and perhaps how many bytes of memory it can
use. The answer is the status of each child, as `subprocess` counts it. A child is a process of its own,
which can be killed.
"""

import atexit
import contextlib
import gc
import importlib
import json
import os
import resource
import runpy
import sys
from pathlib import Path
from typing import Any


def be(run: dict[str, Any], folder: str, report: str | None) -> None:
    """Be a program; returns if it ends without an exit status."""
    os.environ.update(run["variables"])
    os.chdir(folder)
    printed = os.open(run["printed"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(printed, 1)
    os.dup2(printed, 2)
    if report:
        atexit.register(lambda: Path(report).write_text("\n".join(sorted(sys.modules))))
    if run["memory"] is not None:
        has = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (has + run["memory"], has + run["memory"]))
    program, *rest = run["words"]
    sys.argv = [program, *rest]
    runpy.run_module(program, run_name="__main__", alter_sys=True)


def main() -> None:
    """Answer questions until there are no more; a child leaves by the program's own end."""
    for line in sys.stdin:
        question = json.loads(line)
        for name in question["modules"]:
            with contextlib.suppress(Exception):  # a name that only the program's own run has
                importlib.import_module(name)
        gc.freeze()  # else each child copies all pages of these modules when it looks for garbage at its end
        children = []
        for run in question["runs"]:
            child = os.fork()
            if not child:
                be(run, question["folder"], question["report"])
                return
            children.append(child)
        statuses = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        sys.stdout.write(" ".join(map(str, statuses)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
