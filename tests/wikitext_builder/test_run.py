"""Errors of the library as a command line prints them."""

import os
from pathlib import Path

import click
import pytest

from tests.command import done
from wikitext_builder.cli.options import Program, run
from wikitext_builder.errors import ToolkitError


def program(message: str) -> Program:
    @click.group("tool", cls=Program)
    def tool() -> None:
        pass

    @tool.command()
    def lock() -> None:
        raise ToolkitError(message)

    return tool


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
