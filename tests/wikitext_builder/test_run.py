"""Errors of the library, which name arguments, as a command line prints them."""

import os
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tests.command import done
from wikitext_builder.cli.run import Program, run
from wikitext_builder.errors import ToolkitError


def program(message: str) -> Program:
    @click.group("tool", cls=Program)
    def tool() -> None:
        pass

    @tool.command()
    @click.argument("directory")
    @click.option("--as-of")
    @click.option("--lock", "lock_path")
    def build(**_: object) -> None:
        raise ToolkitError(message)

    @tool.command("import")
    @click.option("--limit", type=int)
    def import_(**_: object) -> None:
        raise ToolkitError(message)

    @tool.command()
    def lock() -> None:
        raise ToolkitError(message)

    @tool.group(cls=Program)
    def plot() -> None:
        pass

    @plot.command()
    @click.option("--longest")
    def window(**_: object) -> None:
        raise ToolkitError(message)

    tool.functions = {"import_dump": "import"}
    return tool


@pytest.mark.parametrize(
    ("command", "message", "printed"),
    [
        ("build x", "`as_of` and `lock`: take one", "--as-of and --lock: take one"),
        ("build x", "`directory`: is empty", "DIRECTORY: is empty"),
        ("build x", "call with `lock=a file.lock`", "call with --lock a file.lock"),
        ("build x", "`import_dump` with `limit=3`", "`tool import` with --limit 3"),
        ("build x", "`plot_window` with `longest`", "`tool plot window` with --longest"),
        ("build x", "`dask scheduler`, `unknown`, `a=b`, `", "`dask scheduler`, `unknown`, `a=b`, `"),
        ("import", "`lock` writes one, `build` takes it with `lock=a`", None),
        ("lock", "see `lock`", "see `tool lock`"),
        ("plot window", "`longest`: too long; see `build`", "--longest: too long; see `tool build`"),
    ],
)
def test_names_of_the_library_become_those_of_the_command_line(
    command: str, message: str, printed: str | None
) -> None:
    result = CliRunner().invoke(program(message), command.split())
    assert isinstance(result.exception, ToolkitError)
    expected = printed or "`tool lock` writes one, `tool build` takes it with --lock a"
    assert str(result.exception) == expected


def test_control_characters_of_an_error_are_spelled_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["tool", "lock"])
    with pytest.raises(SystemExit):
        run(program("status 500: \x1b]0;owned\x07\u202e and half \ud800 a character\nétude"))
    shown = "tool: status 500: \\x1b]0;owned\\x07\\u202e and half \\ud800 a character\nétude\n"
    assert capsys.readouterr().err == shown


@pytest.mark.parametrize(
    ("raised", "shown"),
    [
        (MemoryError(), "tool: memory ran out; use fewer"),
        (RuntimeError("can't start new thread"), "tool: memory ran out (can't start new thread); use fewer"),
    ],
    ids=["bytes", "thread"],
)
def test_memory_that_runs_out_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], raised: Exception, shown: str
) -> None:
    def hungry(**_: object) -> None:
        raise raised

    tool = program("")
    monkeypatch.setattr(tool.commands["lock"], "callback", hungry)
    monkeypatch.setattr("sys.argv", ["tool", "lock"])
    with pytest.raises(SystemExit):
        run(tool)
    assert capsys.readouterr().err.startswith(shown)


def test_a_name_that_is_not_utf_8_is_shown(tmp_path: Path) -> None:
    """As Linux allows it: a name of a file is bytes."""
    (tmp_path / "wiki.train.tokens").write_text(" a b a \n" * 9, encoding="utf-8")
    name = os.fsdecode(b"caf\xe9.svg")
    shown = done("plot", "zipf", tmp_path, "--out", tmp_path / name)
    assert shown.endswith("caf\\udce9.svg\n")
    assert (tmp_path / name).is_file()
