"""What all three command lines have: `python -m`, --quiet and --verbose, completion by the shell."""

import ast
import logging
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tests.command import COMMANDS, PROGRAMS, run_program
from tests.conftest import ROOT, SOURCES
from tests.ps_models.tiny import SETTINGS, make_dataset
from wikitext_builder.progress import PACKAGES, is_quiet, set_verbosity

wikitext_builder, ps_models, lm_benchmarks = (group for _, group in PROGRAMS.values())
ROOTS = [ROOT / "wikitext_builder", ROOT / "ps_models", ROOT / "benchmarks" / "lm_benchmarks"]


@pytest.fixture(autouse=True)
def usual_volume() -> Iterator[None]:
    yield
    set_verbosity(None)


def module(name: str, *arguments: str, **environment: str) -> str:
    return subprocess.run(
        [sys.executable, "-m", name, *arguments],
        env={**os.environ, "PYTHONPATH": SOURCES, **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout


@pytest.mark.parametrize("program", PROGRAMS)
def test_python_m_runs_each_program(program: str, tmp_path: Path) -> None:
    name = program.replace("-", "_")
    assert module(name, "--version").startswith(f"{program}, version ")
    assert module(name, "--help").startswith(f"Usage: {program} [OPTIONS] COMMAND")
    words = {"COMP_WORDS": f"{program} ", "COMP_CWORD": "1", "HOME": str(tmp_path)}
    completed = module(name, **{f"_{name.upper()}_COMPLETE": "bash_complete", **words})
    group = PROGRAMS[program][1]
    shown = [one for one in group.list_commands(click.Context(group)) if not group.commands[one].hidden]
    assert completed.splitlines() == [f"plain,{one}" for one in shown]


def test_the_shell_completes_choices_and_options() -> None:
    def completed(line: str) -> list[str]:
        words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
        shown = module("wikitext_builder", _WIKITEXT_BUILDER_COMPLETE="bash_complete", **words)
        return [one.partition(",")[2] for one in shown.splitlines()]

    assert completed("wikitext-builder build wiki") == ["wikitext-2", "wikitext-103"]
    assert completed("wikitext-builder fetch --sel") == ["--select"]


@pytest.mark.parametrize("path", [path for path, one in COMMANDS.items() if not isinstance(one, click.Group)])
def test_every_command_can_be_quiet_and_verbose(path: str) -> None:
    spellings = [spelling for one in COMMANDS[path].params for spelling in (*one.opts, *one.secondary_opts)]
    for spelling in ("--verbose", "-v", "--quiet", "-q"):
        assert spellings.count(spelling) == 1, path


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
    for place, text in messages():
        assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+\b", text)) <= options, (place, text)
        for command in re.findall(r"`((?:wikitext-builder|ps-models|lm-benchmarks) [a-z-]+)", text):
            assert command in COMMANDS, (place, command)


def test_a_model_that_nobody_knows_is_told_where_the_known_ones_are(tmp_path: Path) -> None:
    result = CliRunner().invoke(lm_benchmarks, ["run", "nosuch", "--data", str(make_dataset(tmp_path))])
    assert str(result.exception).endswith("module:function; run `lm-benchmarks list` for what each one is")


@pytest.mark.parametrize("words", [["{}"], ["check", "kn-5", "--data", "{}"]])
def test_no_error_shows_what_is_secret_in_an_address(words: list[str], tmp_path: Path) -> None:
    address = "completions:http://me:it's-secret@127.0.0.1:9/v1"
    found = run_program("lm-benchmarks", *(one.format(address) for one in words), place=tmp_path)
    assert found.returncode in (1, 2)
    assert "secret" not in found.stderr + found.stdout
    assert "http://127.0.0.1:9/v1" in found.stderr
