"""Errors of the library as a command line prints them."""

import os
from pathlib import Path

import click
import pytest

from tests.command import done
from wikitext_builder.cli.command_line import Program, run
from wikitext_builder.errors import ToolkitError


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (  # control characters are spelled out
            ToolkitError("status 500: \x1b]0;owned\x07\u202e and half \ud800 a character\nétude"),
            "tool: status 500: \\x1b]0;owned\\x07\\u202e and half \\ud800 a character\nétude\n",
        ),
        (MemoryError(), "tool: memory ran out; use fewer"),
        (RuntimeError("can't start new thread"), "tool: memory ran out (can't start new thread); use fewer"),
    ],
    ids=["controls", "memory", "thread"],
)
def test_an_error_is_one_paragraph(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception, shown: str
) -> None:
    @click.group("tool", cls=Program)
    def tool() -> None:
        pass

    @tool.command()
    def lock() -> None:
        raise error

    monkeypatch.setattr("sys.argv", ["tool", "lock"])
    with pytest.raises(SystemExit):
        run(tool)
    found = capsys.readouterr().err
    assert found == shown if isinstance(error, ToolkitError) else found.startswith(shown)


def test_a_name_that_is_not_utf_8_is_shown(tmp_path: Path) -> None:
    """As Linux allows it: a name of a file is bytes."""
    (tmp_path / "wiki.train.tokens").write_text(" a b a \n" * 9, encoding="utf-8")
    name = os.fsdecode(b"caf\xe9.svg")
    shown = done("plot", "zipf", tmp_path, "--out", tmp_path / name)
    assert shown.endswith("caf\\udce9.svg\n")
    assert (tmp_path / name).is_file()
