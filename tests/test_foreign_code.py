"""No command imports a module from the folder in which the user is, which can be a stranger's dataset."""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from tests.command import COMMANDS, PROGRAMS, environment, forked, run_program

PLANTED = ("numpy", "torch", "pandas", "click", "msgspec", "json", "tokenizers", "sitecustomize")
IMPORTING = {  # a command of each program that imports what the program computes with
    "wikitext-builder": ("stats", "."),
    "ps-models": ("list",),
    "lm-benchmarks": ("list",),
}


@pytest.fixture
def stranger(tmp_path: Path) -> Path:
    """A folder with a small dataset and modules that leave a trace when they run."""
    for name in PLANTED:
        (tmp_path / f"{name}.py").write_text("open('ran', 'a').write(__name__)\n")
    for split in ("train", "valid", "test"):
        (tmp_path / f"wiki.{split}.tokens").write_text(" \n = Tea = \n \n Tea is a drink . \n \n")
    return tmp_path


@pytest.mark.parametrize("program", PROGRAMS)
def test_planted_modules_do_not_run(program: str, stranger: Path) -> None:
    code = f"from {PROGRAMS[program][0].__module__} import main; main()"
    # As an installed script: without the option, `-c` would itself import from the current folder.
    command = [sys.executable, "-P", "-c", code, *IMPORTING[program]]
    subprocess.run(command, cwd=stranger, env=environment(), capture_output=True, check=True)
    assert not (stranger / "ran").exists()


class WatchedPath(list[str]):
    """`sys.path` that notes when the current folder is put on it, in whatever way."""


def watched(name: str) -> Callable[..., object]:
    """A method of a list that looks at what the list holds after it."""

    def method(path: list[str], *arguments: object) -> object:
        result: object = getattr(list, name)(path, *arguments)
        if {"", ".", os.getcwd()} & set(path):  # noqa: PTH109 - as a text
            Path("ran").touch()
        return result

    return method


for name in ("insert", "append", "extend", "__setitem__", "__iadd__"):
    setattr(WatchedPath, name, watched(name))


@pytest.fixture
def watching(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", WatchedPath(place for place in sys.path if place))


def example_of(path: str, command: click.Command) -> list[str]:
    """The words of a command's example; a pipe and what follows it left out."""
    example = (command.epilog or "").partition("$ ")[2].split("\n")[0]
    words = shlex.split(example.partition(" |")[0])
    return words if words[:1] == path.split()[:1] else path.split()


@pytest.mark.usefixtures("watching")
def test_no_command_puts_the_current_folder_on_the_path(stranger: Path) -> None:
    commands = {path: command for path, command in COMMANDS.items() if not isinstance(command, click.Group)}
    assert len(commands) > 30
    for path, command in commands.items():
        program, *words = example_of(path, command)
        run_program(program, *words, place=stranger)  # most end at once, without the files of the example
        assert not (stranger / "ran").exists(), path


@pytest.mark.usefixtures("watching")
def test_the_watched_path_sees_the_current_folder(tmp_path: Path) -> None:
    ways: tuple[Callable[[], object], ...] = (
        lambda: sys.path.insert(0, ""),
        lambda: sys.path.append(os.getcwd()),  # noqa: PTH109 - as a text
        lambda: sys.path.extend(["."]),
        lambda: sys.path.__setitem__(slice(0, 0), [""]),
    )
    for add in ways:
        forked(add, tmp_path)
        (tmp_path / "ran").unlink()


def test_a_function_that_the_user_names_is_imported_from_here(stranger: Path) -> None:
    code = "import beside_it\nimport numpy\n\ndef model(inputs):\n    raise SystemExit(7)\n"
    (stranger / "named_by_the_user.py").write_text(code)
    (stranger / "beside_it.py").write_text("open('helped', 'w')\n")
    run_program("lm-benchmarks", "check", "named_by_the_user:model", "--data", ".", place=stranger)
    assert (stranger / "helped").exists()
    assert not (stranger / "ran").exists()  # numpy is the installed one
