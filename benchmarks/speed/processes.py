"""Shared by the speed scripts: real pages, measured child processes, rows of tables."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import click

ROOT = Path(__file__).resolve().parents[2]


def shared(pattern: str) -> list[Path]:
    """Return the shared files that match a pattern, in order."""
    if paths := sorted((ROOT.parent / "shared" / "data").glob(pattern)):
        return paths
    raise click.ClickException(f"shared/data/{pattern}: no shared pages; the benchmark needs the real data")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandCost:
    """The cost of a command, in seconds and bytes."""

    seconds: float  # of wall time
    processor_seconds: float  # of all its processes
    peak: int  # memory of its largest process


def run(
    command: Sequence[str],
    *,
    out: Path = Path(os.devnull),
    watch: Callable[[int], None] | None = None,
    environment: Mapping[str, str] | None = None,
) -> CommandCost:
    """Run a command; meanwhile `watch` is called with its number, five times per second."""
    started = time.perf_counter()
    with out.open("w") as file, TemporaryFile() as errors:
        child = subprocess.Popen(command, stdout=file, stderr=errors, env=environment)  # noqa: S603
        done = 0
        while not done:
            if watch is not None:
                watch(child.pid)
            done, status, usage = os.wait4(child.pid, os.WNOHANG if watch else 0)
            time.sleep(0 if done else 0.2)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            errors.seek(0)
            message = errors.read()[-2000:].decode(errors="replace")
            raise click.ClickException(f"{' '.join(command)} ended with status {child.returncode}: {message}")
    seconds, spent = time.perf_counter() - started, usage.ru_utime + usage.ru_stime
    return CommandCost(seconds=seconds, processor_seconds=spent, peak=usage.ru_maxrss * 1024)


def tree(root: int) -> list[int]:
    """Return a process and all its descendants."""
    processes, index = [root], 0
    while index < len(processes):
        for task in Path(f"/proc/{processes[index]}/task").glob("*"):
            processes += map(int, proc_text(task / "children").split())
        index += 1
    return processes


def proc_text(path: Path) -> str:
    """Return a file of /proc; empty if its process has ended since it was listed."""
    try:
        return path.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def kilobytes(text: str, name: str) -> int:
    """Return the bytes in a line such as `VmHWM: 5 kB`; 0 if it is missing."""
    _, separator, rest = text.partition(f"{name}:")
    return int(rest.split()[0]) * 1024 if separator else 0


def disk_usage(folder: Path) -> int:
    """Return the bytes of all files below a folder."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += (Path(parent) / name).stat().st_size
            except FileNotFoundError:  # renamed or removed since the folder was listed
                continue
    return total


def row(*cells: object) -> None:
    """Print a row of a table in Markdown."""
    click.echo(f"| {' | '.join(map(str, cells))} |")


def head(cells: Iterable[str]) -> None:
    """Print the head of a table."""
    names = list(cells)
    row(*names)
    click.echo(f"|{'---|' * len(names)}")


def append(path: Path, record: Any) -> None:  # noqa: ANN401 - any dataclass
    """Add a record to a file of JSON lines."""
    with path.open("a") as file:
        file.write(json.dumps(asdict(record)) + "\n")
