"""What all three command lines have: help, `python -m`, --quiet, --verbose, completion, variables, errors."""

import ast
import logging
import math
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

import wikitext_builder as wb
from tests.command import COMMAND, COMMANDS, PROGRAMS, environment, run_program
from tests.conftest import ROOT
from tests.documents import check_command
from tests.ps_models.tiny import SETTINGS, make_dataset
from wikitext_builder.cli.command_line import Program
from wikitext_builder.progress import PACKAGES, is_quiet, set_verbosity
from wikitext_builder.sample import SAMPLE_DUMP

WIDTH = 80
ROOTS = [ROOT / "wikitext_builder", ROOT / "ps_models", ROOT / "benchmarks" / "lm_benchmarks"]
wikitext_builder, ps_models, lm_benchmarks = (group for _, group in PROGRAMS.values())


@pytest.fixture(autouse=True)
def usual_volume() -> Iterator[None]:
    yield
    set_verbosity(None)


def module(name: str, *arguments: str, **variables: str) -> str:
    words = [sys.executable, "-m", name, *arguments]
    done = subprocess.run(
        words, env=environment(**variables), capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout


def help_of(name: str, *arguments: str) -> str:
    return CliRunner().invoke(PROGRAMS[name][1], [*arguments, "--help"], terminal_width=WIDTH).stdout


# --- help


@pytest.mark.parametrize("name", PROGRAMS)
def test_help_lists_each_command_once_with_an_example_that_can_be_typed(name: str) -> None:
    program = PROGRAMS[name][1]
    assert isinstance(program, Program)
    assert program.about.keys() == program.commands.keys()
    lines, faults = help_of(name).splitlines(), []
    faults += [line for line in lines if len(line) > WIDTH]
    for command, about in program.about.items():
        if sum(line.split() == [command, *about["summary"].split()] for line in lines) != 1:
            faults.append(f"{command} is not listed once")
        if not help_of(name, command).endswith(f"Example:\n\n    $ {about['example']}\n"):
            faults.append(f"{command} does not end with its example")
        example = about["example"].removeprefix('eval "$(').removesuffix(')"')
        program_of_example, *words = shlex.split(re.split(r" [|>] ", example)[0])
        if (program_of_example, words[0]) != (name, command):
            faults.append(f"the example of {command} is of another command")
        check_command(words, name)
    assert faults == []


def test_no_summary_is_cut() -> None:
    faults = []
    for path in COMMANDS:
        name, *words = path.split()
        lines = help_of(name, *words).split("Example:")[0].splitlines()
        faults += [line for line in lines[1:] if line.endswith("...")]
    assert faults == []


@pytest.mark.parametrize("program", PROGRAMS)
def test_python_m_runs_each_program(program: str, tmp_path: Path) -> None:
    name = program.replace("-", "_")
    assert module(name, "--version").startswith(f"{program}, version ")
    words = {"COMP_WORDS": f"{program} ", "COMP_CWORD": "1", "HOME": str(tmp_path)}
    completed = module(name, **{f"_{name.upper()}_COMPLETE": "bash_complete", **words})
    group = PROGRAMS[program][1]
    assert completed.splitlines() == [f"plain,{one}" for one in group.list_commands(click.Context(group))]


def test_the_shell_completes_choices_and_options() -> None:
    def completed(line: str) -> list[str]:
        words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
        shown = module("wikitext_builder", _WIKITEXT_BUILDER_COMPLETE="bash_complete", **words)
        return [one.partition(",")[2] for one in shown.splitlines()]

    assert completed("wikitext-builder build wiki") == ["wikitext-2", "wikitext-103"]
    assert completed("wikitext-builder fetch --sel") == ["--select"]
    for name in PROGRAMS:
        for shell in ("bash", "zsh", "fish"):
            printed = run_program(name, "completion", shell).stdout
            assert f"_{name.replace('-', '_')}_COMPLETE".upper() in printed


# --- options


def test_every_command_can_be_quiet_and_verbose() -> None:
    faults = []
    for path, command in COMMANDS.items():
        spellings = [name for option in command.params for name in (*option.opts, *option.secondary_opts)]
        faults += [
            f"{path} {name}" for name in ("--verbose", "-v", "--quiet", "-q") if spellings.count(name) != 1
        ]
    assert faults == []


def test_numbers_are_in_ranges_that_the_libraries_take() -> None:
    """Larger ones were tracebacks; 99999 threads ended the process; "nan" is a float, but in no range."""
    faults = []
    for path, command in COMMANDS.items():
        for option in command.params:
            is_whole = isinstance(option.type, click.IntRange)
            if not (is_whole or isinstance(option.type, click.FloatRange)):
                continue
            refused = [str(10**20)] if is_whole else ["nan", *["inf"] * (option.default != math.inf)]
            least = getattr(option.type, "min", None) or 0
            for value in (*refused, str(least + 1 if is_whole else max(least, 0.5) + 0.25)):
                try:
                    option.type.convert(value, option, None)
                    is_refused = False
                except click.BadParameter:
                    is_refused = True
                if is_refused != (value in refused):
                    faults.append(f"{path} {option.name} {value}")
    assert faults == []


@pytest.mark.parametrize(
    ("words", "variables", "says"),
    [
        (["wikitext-builder", "status"], {"WIKITEXT_STORE": "nowhere.store"}, "nowhere.store"),
        (["wikitext-builder", "status", "--store", "a.b"], {"WIKITEXT_STORE": "nowhere.store"}, "a.b"),
        (["ps-models", "list"], {"WIKITEXT_THREADS": "many"}, "'--threads'"),
        (["lm-benchmarks", "run", "kn-5"], {"WIKITEXT_DATA": "nowhere"}, "'--data'"),
    ],
)
def test_variables_are_defaults(words: list[str], variables: dict[str, Any], says: str) -> None:
    done = run_program(*words, **variables)
    assert done.returncode in (1, 2)
    assert says in done.stderr


def test_a_file_in_a_missing_folder_is_refused_before_the_work(tmp_path: Path) -> None:
    words = ("plot", "zipf", "x", "--out", tmp_path / "nowhere" / "a.png")
    done = run_program("wikitext-builder", *words)
    assert done.returncode == 2
    assert f"there is no folder '{tmp_path / 'nowhere'}'" in done.stderr


# --- what is printed


def test_verbose_says_what_models_do(tmp_path: Path) -> None:
    data, out = make_dataset(tmp_path), tmp_path / "out"
    options = [part for setting in SETTINGS for part in ("--set", setting)]
    arguments = ["train", "lstm", str(data), "--out", str(out), *options]
    quiet = CliRunner().invoke(ps_models, [*arguments, "-q"])
    assert (quiet.exit_code, quiet.stderr) == (0, "")
    for name in ("last", "best"):
        (out / f"{name}.safetensors").unlink()
    verbose = CliRunner().invoke(ps_models, [*arguments, "-v"])
    assert f"saved {out / 'last.safetensors'} after update " in verbose.stderr
    evaluated = CliRunner().invoke(ps_models, ["evaluate", str(out), str(data), "-v"])
    assert f"loaded {out}: lstm+" in evaluated.stderr
    measured = CliRunner().invoke(lm_benchmarks, ["run", str(out), "--data", str(data), "--no-check", "-v"])
    assert f"opened {out} as lstm" in measured.stderr


@pytest.mark.parametrize(
    ("arguments", "level"),
    [
        (["status"], logging.WARNING),
        (["status", "-q"], logging.ERROR),
        (["--quiet", "status"], logging.ERROR),
        (["status", "--verbose"], logging.INFO),
        (["-v", "status"], logging.INFO),
        (["-v", "status", "-q"], logging.ERROR),
    ],
)
def test_the_volume_holds_before_and_after_the_name_of_a_command(arguments: list[str], level: int) -> None:
    CliRunner().invoke(wikitext_builder, [*arguments, "--store", "nowhere"])
    assert {logging.getLogger(name).level for name in PACKAGES} == {level}
    assert is_quiet() == (level == logging.ERROR)


def test_closed_streams_are_no_traceback(tmp_path: Path) -> None:
    """As of `>&-`: files that are opened later must not get the numbers of these streams."""
    words = shlex.join([*COMMAND, "import", str(SAMPLE_DUMP), "--store", str(tmp_path / "a.store")])
    done = subprocess.run(["sh", "-c", f"{words} <&- >&- 2>&-"], env=environment(), check=False)
    assert done.returncode == 0
    assert wb.status(tmp_path / "a.store")[0].pages == 28


# --- errors


def messages() -> Iterator[tuple[str, str]]:
    """The texts of the three packages that are not docstrings: a file and line, and the literal parts."""
    for path in (one for root in ROOTS for one in sorted(root.rglob("*.py"))):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Raise) and node.exc:
                parts = [one.value for one in ast.walk(node.exc) if isinstance(one, ast.Constant)]
                yield f"{path.name}:{node.lineno}", " ".join(part for part in parts if isinstance(part, str))


def test_errors_name_options_and_commands_that_exist() -> None:
    options = {spelling for one in COMMANDS.values() for option in one.params for spelling in option.opts}
    faults = []
    for place, text in messages():
        names = re.findall(r"(?<![\w-])--[a-z][a-z-]+\b", text)
        faults += [(place, name) for name in names if name not in options]
        commands = re.findall(r"`((?:wikitext-builder|ps-models|lm-benchmarks) [a-z-]+)", text)
        faults += [(place, command) for command in commands if command not in COMMANDS]
    assert faults == []


@pytest.mark.parametrize("words", [["{}"], ["check", "kn-5", "--data", "{}"]])
def test_no_error_shows_what_is_secret_in_an_address(words: list[str], tmp_path: Path) -> None:
    address = "completions:http://me:it's-secret@127.0.0.1:9/v1"
    found = run_program("lm-benchmarks", *(one.format(address) for one in words), place=tmp_path)
    assert found.returncode in (1, 2)
    assert "secret" not in found.stderr + found.stdout
    assert "http://127.0.0.1:9/v1" in found.stderr
