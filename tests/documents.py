"""Reads the documents and runs their examples, for the tests of documents and of what is published.

Examples are fenced as `console` (a command after `$ `, then its output), `python`, or `sh`: commands alone,
which GitHub's button copies. A comment right above a fence says `prints` (the output of the `sh` before it),
`network` (checked against the commands; tests/mediawiki/test_documents.py runs some of them), `in .ci/run`
(CI runs the same commands), `as in NAME` (that document runs them, and this one goes on in its folder), `not
run: REASON`, or `file: NAME`: the text becomes this file. In outputs `…` on a line of its own is
for any lines, and a number for any number: extraction may improve without a change to the documents.
"""

import importlib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import click
import pytest

from tests.command import COMMANDS, PROGRAMS, forked, run_program
from tests.conftest import ROOT, SOURCES

DOCS = ROOT / "docs"
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
GENERATED_PAGE = DOCS / "cli.md"  # exists only in the site

FENCE = re.compile(
    r"(?:^<!-- (?P<note>[^\n]*?) -->\n)?^```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
LINK = re.compile(r"\[[^\]\n]*\]\(([^()\s]+)\)")
SHELL = ("console", "sh")
IN_CI, AS_IN, PRINTS = "in .ci/run", "as in ", "prints"
FILE = "file: "


@dataclass(frozen=True)
class Fence:
    """A fenced block, and the comment above it."""

    kind: str
    text: str
    note: str
    prints: str = "…\n"  # of `sh`


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def fences(path: Path) -> list[Fence]:
    matches = FENCE.finditer(path.read_text(encoding="utf-8"))
    blocks = [Fence(match["kind"], match["text"], match["note"] or "") for match in matches]
    return [
        replace(block, prints=following.text) if following and following.note == PRINTS else block
        for block, following in zip_longest(blocks, blocks[1:])
    ]


def commands(fence: Fence) -> Iterator[tuple[str, str]]:
    """Each command of a block with the output that follows it."""
    if fence.kind == "sh":
        yield from ((command, "…\n") for command in fence.text.splitlines())
        return
    assert fence.text.startswith("$ "), fence.text
    for part in re.split(r"^\$ ", fence.text, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def runnable(path: Path) -> list[Fence]:
    return [
        fence
        for fence in fences(path)
        if fence.note.startswith(FILE) or (fence.kind in (*SHELL, "python") and not fence.note)
    ]


def docs_module(name: str) -> Any:
    """A module of the folder docs/."""
    return importlib.import_module(f"docs.{name}")


def tracked() -> set[str]:
    """The files of the project."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout, so what belongs to the project is not known")
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    return {name for name in os.fsdecode(names).split("\0") if (ROOT / name).is_file()}


def check_command(words: list[str], program: str = "wikitext-builder") -> None:
    """Whether a command line names commands, options and choices that exist."""
    command = COMMANDS[program]
    while isinstance(command, click.Group):
        assert words, "a command is missing"
        name, *words = words
        assert name in command.commands, f"there is no command {name}"
        command = command.commands[name]
    context = click.Context(command, **COMMANDS[program].context_settings)
    values, rest, _ = command.make_parser(context).parse_args(args=list(words))
    assert not rest, f"{rest} belongs to nothing"
    for parameter in command.params:
        value = values.get(parameter.name or "")
        given = isinstance(
            value, str | tuple | list
        )  # an option that is not given is None or click's own mark
        assert given or not parameter.required, f"{parameter.name} is missing"
        if given and isinstance(parameter.type, click.Choice):
            parameter.type.convert(value, parameter, context)


# --- running examples


def plain(text: str) -> str:
    """Output without what may change: numbers with their signs, widths, spaces at the ends of lines."""
    text = re.sub(r"(?<= )[-+](?=\d)", "", text)
    text = re.sub(r"\d[\d.,]*\d|\d", "#", text)
    lines = (" ".join(re.sub("--+", "--", line).split()) for line in text.splitlines())
    return "".join(f"{line}\n" for line in lines)


def assert_output(expected: str, output: str) -> None:
    """Whether output is what a document shows."""
    pattern = "".join(
        r"(?:.*\n)*" if line == "…" else f"{re.escape(line)}\n" for line in plain(expected).splitlines()
    )
    assert re.fullmatch(pattern, plain(output)), f"shown:\n{expected}\nreally:\n{output}"


def offline(place: Path) -> dict[str, str]:
    folders = {"HF_HOME": str(place / "hf"), "XDG_CONFIG_HOME": str(place / "config")}
    return {**folders, "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}


def run(command: str, place: Path) -> subprocess.CompletedProcess[str]:
    """A command line: one of ours in a fork, any other in a shell."""
    words = shlex.split(command)
    if words[0] in PROGRAMS and not set(command) & set("|>$"):
        return run_program(*words, place=place, **offline(place))
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-c", command],
        cwd=place,
        env={**os.environ, **offline(place), "PATH": programs, "PYTHONPATH": SOURCES},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


def run_python(program: str, place: Path) -> subprocess.CompletedProcess[str]:
    """A program as `python -c` runs it."""
    return forked(lambda: exec(program, {"__name__": "__main__"}), place, **offline(place))


def check_example(command: str, expected: str, place: Path) -> str:
    """Runs a command, compares its output with the document's, and returns it."""
    done = run(command, place)
    if expected.startswith("wikitext-builder: "):
        assert done.returncode == 1
        assert_output(expected, done.stderr)
    else:
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        assert_output(expected, done.stdout)
    return done.stdout
