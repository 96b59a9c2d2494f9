"""Runs programs under a preloaded library that counts their calls below a folder, and stops them at one.

A point is one call of a program and one fault. At each point the program starts from the same folder, meets
the fault, and is run again without it; then the result must be that of a run without a fault.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from operator import eq
from pathlib import Path
from typing import Final

from tests.conftest import SOURCES

SIGKILL_STATUS: Final = -9
FAULTS: Final = {  # the variables that make them, and the words of an error that names its reason
    "kill": ({}, ""),
    "full disk": ({"CRASH_HOW": "ENOSPC"}, "No space left|disk (is|may be) full"),
    "unreadable": ({"CRASH_READS": "1"}, "Input/output error|disk I/O error|its disk cannot be read"),
    "short memory": ({}, "[Mm]emory"),  # a point is a number of `MEMORY` that are free
}
MEMORY: Final = 1 << 19  # bytes
MOST: Final = 1000  # points of a size: each program has room enough before
REFERENCES: Final[dict[tuple[object, ...], tuple[list[str], object]]] = {}  # of runs without a fault
Ended = subprocess.CompletedProcess[str]
RANDOM: Final = re.compile(r"(?<=\.tmp)\w{6}|[0-9a-f]{12,}|(?<=-)\d{5}|^\d+")


@dataclass(frozen=True, kw_only=True)
class Program:
    """A command, and what must be the same at its end."""

    words: Sequence[str]  # {here}: the folder, {api}: a wiki
    prepare: Callable[[Path], object]
    result: Callable[[Path], object]
    same_in_short_memory: Callable[[object, object], bool] = eq


@dataclass(frozen=True, kw_only=True)
class Point:
    """A fault at a call, and what was wrong after it; empty if nothing was."""

    number: int
    call: str  # its name, and the file below the folder
    wrong: str

    @property
    def kind(self) -> str:
        """The call and the role of the file: without what differs from run to run."""
        return RANDOM.sub("N", self.call)


@dataclass(frozen=True, kw_only=True)
class Run:
    """A program to run."""

    words: Sequence[str]
    variables: Mapping[str, str] = field(default_factory=dict)
    memory: int | None = None  # bytes that it can use; None: any


class Starter:
    """Runs programs in forks of a process that has imported them; see `zygote.py`."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self._process, self._folder = process, folder
        self._warm: set[str] = set()  # the commands whose modules are imported

    def run_together(self, runs: Sequence[Run], folder: Path) -> list[Ended]:
        """Start programs at the same time, and wait for all of them."""
        printed = [self._folder / f"{n}" for n in range(len(runs))]
        report = self._folder / "-".join(runs[0].words[:2])
        modules = report.read_text().split("\n") if report.exists() and report.name not in self._warm else []
        self._warm |= {report.name} if modules else set()
        question = {
            "runs": [{**asdict(run), "printed": str(path)} for run, path in zip(runs, printed, strict=True)],
            "folder": str(folder),
            "modules": modules,
            "report": None if report.exists() else str(report),
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        statuses = [int(status) for status in self._process.stdout.readline().split()]
        return [
            Ended(run.words, status, path.read_text(errors="replace"))
            for run, status, path in zip(runs, statuses, printed, strict=True)  # no answer: it has ended
        ]


@contextmanager
def started(library: Path) -> Iterator[Starter]:
    """A starter whose programs run under a preloaded library."""
    environment = {"PYTHONPATH": SOURCES, "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    with (
        tempfile.TemporaryDirectory(prefix="starter-") as folder,
        subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("zygote.py"))],
            env={**os.environ, **environment, "LD_PRELOAD": str(library)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        yield Starter(process, Path(folder))  # it ends with its input


@dataclass(kw_only=True)
class Bench:
    """A program in a folder, its points, and its result without a fault."""

    program: Program
    how: str  # a key of FAULTS
    ready: Path  # a folder in which the program can start
    folder: Path
    starter: Starter
    api: str
    calls: Sequence[str] = ()  # one per point
    wanted: object = None
    known: dict[str, str] = field(default_factory=dict)  # what was wrong after a run again, by what it found

    def __post_init__(self) -> None:
        """Run the program to list its points."""
        self.here = self.folder / "here"
        self.afresh()
        key = (self.program.words, *FAULTS[self.how][0].items())
        if key not in REFERENCES:
            log = self.folder / "calls.log"
            ended = self.run({**self.variables, "CRASH_LOG": str(log)})
            assert ended.returncode == 0, ended.stdout
            REFERENCES[key] = log.read_text().splitlines(), self.program.result(self.here)
        elif self.how == "short memory":  # what a run imports does not count, if another was there before
            self.run()
        calls, self.wanted = REFERENCES[key]
        sizes = [f"{size + 1} {size} times 512 KiB free" for size in range(MOST)]
        self.calls = sizes if self.how == "short memory" else calls

    @property
    def variables(self) -> dict[str, str]:
        """What makes the fault, without its place."""
        return {"CRASH_UNDER": f"{self.here}/", **FAULTS[self.how][0]}

    def afresh(self) -> None:
        """Start from the prepared folder."""
        shutil.rmtree(self.here, ignore_errors=True)
        shutil.copytree(self.ready, self.here)

    def run(self, variables: Mapping[str, str] | None = None, memory: int | None = None) -> Ended:
        """Run the program."""
        one = Run(words=self.words_of(self.program), variables=variables or {}, memory=memory)
        return self.starter.run_together([one], self.folder)[0]

    def words_of(self, program: Program) -> list[str]:
        """The words of a program with the places in them."""
        return [word.format(here=self.here, api=self.api) for word in program.words]

    def points(self, numbers: Iterable[int]) -> Iterator[Point]:
        """Try some points, from 1; sizes until the program has room enough."""
        for number in numbers:
            self.afresh()
            if self.how == "short memory":
                first = self.run(memory=MEMORY * (number - 1))
            else:
                first = self.run({**self.variables, "CRASH_AT": str(number)})
            wrong = fault_of(self.how, first) or self.wrong_again()
            yield Point(number=number, call=self.calls[number - 1].split(" ", 1)[1], wrong=wrong)
            if first.returncode == 0 and self.how == "short memory":
                return

    def wrong_again(self) -> str:
        """What is wrong after the same command again; each state of the folder is tried once."""
        found = state(self.here)
        if found not in self.known:
            again = self.run()
            if again.returncode:
                self.known[found] = f"the next run fails: {again.stdout.strip()[-300:]}"
            else:
                is_same = self.program.same_in_short_memory if self.how == "short memory" else eq
                same = is_same(self.program.result(self.here), self.wanted)
                self.known[found] = "" if same else "another result"
        return self.known[found]


def state(folder: Path) -> str:
    """The hash of all that is in a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        digest.update(f"{path.relative_to(folder)}\n".encode())
        if path.is_file():
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def fault_of(how: str, first: Ended) -> str:
    """What is wrong with a run that met a fault; empty if nothing is."""
    if how == "kill":
        return "" if first.returncode == SIGKILL_STATUS else f"was not killed, status {first.returncode}"
    said = first.stdout.strip().splitlines()[-1:] or [""]
    if "Traceback" in first.stdout:
        return f"a traceback: {said[0]}"
    if how == "short memory" and first.returncode < 0:  # the program is lost, as if the system had killed it
        return ""
    if first.returncode not in (0, 1):
        return f"status {first.returncode}: {said[0]}"
    if first.returncode and not re.search(FAULTS[how][1], first.stdout):
        return f"an error without its reason: {said[0]}"
    return ""


@contextmanager
def compiled() -> Iterator[Path | None]:
    """The library that is preloaded; None on a machine that cannot make it."""
    compiler = shutil.which("cc")
    if sys.platform != "linux" or not compiler:
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "shim.so"
        source = Path(__file__).with_name("shim.c")
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
        yield library
