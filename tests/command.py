"""The real command line, in this process or in one of its own."""

import contextlib
import functools
import gc
import importlib
import os
import pkgutil
import resource
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import lm_benchmarks.cli
import pytest
from click.testing import CliRunner

import ps_models.cli
import wikitext_builder.cli
from tests.conftest import ROOT, SOURCES
from wikitext_builder.cli import main

PROGRAMS: dict[str, tuple[Callable[[], object], click.Group]] = {
    "wikitext-builder": (main, wikitext_builder.cli.cli),
    "ps-models": (ps_models.cli.main, ps_models.cli.commands),
    "lm-benchmarks": (lm_benchmarks.cli.main, lm_benchmarks.cli.commands),
}
Completed = subprocess.CompletedProcess[str]
NO_TORCH = """
import sys

class NoTorch:
    def find_spec(name, *_):
        if name == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name=name)

sys.meta_path.insert(0, NoTorch)
"""
COMMAND = (sys.executable, "-c", "from wikitext_builder.cli import main; main()")


def leaves(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    """A command and those below it, with the words that call them."""
    yield path, command
    for name, child in command.commands.items() if isinstance(command, click.Group) else ():
        yield from leaves(child, f"{path} {name}")


COMMANDS = {path: command for name, (_, group) in PROGRAMS.items() for path, command in leaves(group, name)}


def environment(**changes: str) -> dict[str, str]:
    """The environment of a child: it has the packages of this tree, and no settings of the caller."""
    others = ("LC_", "LANG", "PYTHON")
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(others) or name == "PYTHONPYCACHEPREFIX"
    }
    return {**kept, "PYTHONPATH": SOURCES, **changes}


def invoke(program: click.Command, *words: object, status: int = 0) -> str:
    """What a command prints in this process; it ends with this status."""
    result = CliRunner().invoke(program, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == status, result.output
    return result.stdout


def python(code: str, *arguments: str, given: str = "") -> Completed:
    """Run code in a Python of its own."""
    words = [sys.executable, "-c", code, *arguments]
    return subprocess.run(words, env=environment(), capture_output=True, text=True, input=given, check=False)


def run(*arguments: object, before: tuple[str, ...] = (), **options: Any) -> Completed:
    """Run `wikitext-builder` to its end: here, or with options of `subprocess` in a process of its own."""
    if not before and options.keys() <= {"cwd", "input"}:
        return _run_here(list(map(str, arguments)), options.get("cwd", "."), options.get("input", ""))
    # It must not take as long as a test may.
    options = {"env": environment(), "timeout": 280, "encoding": "utf-8", **options}
    return subprocess.run(
        [*before, *COMMAND, *map(str, arguments)], capture_output=True, check=False, **options
    )


def _run_here(arguments: list[str], cwd: str | Path, stdin: str) -> Completed:
    with contextlib.chdir(cwd), pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["wikitext-builder", *arguments])
        program = click.Command("whole", callback=main)  # with what `main` does with errors
        result = CliRunner().invoke(program, [], input=stdin, catch_exceptions=False)
    return subprocess.CompletedProcess(arguments, result.exit_code, result.stdout, result.stderr)


def done(*arguments: object, **options: Any) -> str:
    """Run it, expect success, and return what it printed."""
    result = run(*arguments, **options)
    assert result.returncode == 0, result.stderr
    return result.stdout


def refused(*arguments: object, **options: Any) -> str:
    """Run it, expect a clear error in one paragraph instead of a traceback, and return that paragraph."""
    result = run(*arguments, **options)
    assert result.returncode in (1, 2), result
    assert "Traceback" not in result.stderr, result.stderr
    lines = result.stderr.splitlines()
    (message,) = (line for line in lines if line.startswith(("wikitext-builder: ", "Error: ")))
    assert len(message) < 1000, message
    return message


def start(*arguments: object, **options: Any) -> subprocess.Popen[str]:
    """Start it in a process group of its own, to be killed."""
    options = {"env": environment(), "encoding": "utf-8", "start_new_session": True, **options}
    return subprocess.Popen(
        [*COMMAND, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
    )


@contextlib.contextmanager
def small_files(limit: int) -> Iterator[None]:
    """No file can grow over the limit, here and in children: they see the same as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))  # Python ignores the signal SIGXFSZ
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@functools.cache
def import_all() -> None:
    """Imports all of our modules, with what they need: once here, and not in each copy of this process."""
    for package in (wikitext_builder, ps_models, lm_benchmarks):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__"):
                with contextlib.suppress(ImportError):  # what needs a library that is not here
                    importlib.import_module(module.name)
    gc.freeze()  # else each copy writes to all of these modules when it looks for garbage


def forked(do: Callable[[], object], place: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Does something in a copy of this process, in a folder: a new Python would import torch each time."""
    import_all()
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        child = os.fork()
        if not child:
            os.chdir(place)
            os.environ |= environment
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(output.fileno(), 1)
            os.dup2(errors.fileno(), 2)
            sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
            status = 1
            try:
                do()
                status = 0
            except SystemExit as end:
                status = end.code if isinstance(end.code, int) else int(end.code is not None)
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        shown = []
        for file in (output, errors):
            file.seek(0)
            shown.append(file.read().decode(errors="replace"))
    return subprocess.CompletedProcess([], status, *shown)


def run_program(name: str, *arguments: object, place: Path = ROOT, **environment: str) -> Completed:
    """Runs one of the three command lines in a fork."""
    sys.argv = [name, *map(str, arguments)]
    return forked(PROGRAMS[name][0], place, **environment)
