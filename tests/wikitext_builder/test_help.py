"""`--help`: each command in a line that fits, with a real example; the user's settings are defaults."""

import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.command import COMMANDS, PROGRAMS, run_program
from tests.documents import check_command
from wikitext_builder.cli.command_line import SETTINGS, Program

WIDTH = 80
LISTED = [(name, one) for name, (_, program) in PROGRAMS.items() for one in program.about]  # type: ignore[attr-defined]


def help_of(name: str, *arguments: str) -> Result:
    return CliRunner().invoke(PROGRAMS[name][1], [*arguments, "--help"], terminal_width=WIDTH)


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_command_is_listed_once_in_a_line_that_fits(name: str) -> None:
    program = PROGRAMS[name][1]
    assert isinstance(program, Program)
    assert program.about.keys() == {one for one, command in program.commands.items() if not command.hidden}
    lines = help_of(name).stdout.splitlines()
    assert max(map(len, lines)) <= WIDTH
    for command, about in program.about.items():
        assert sum(line.split() == [command, *about["summary"].split()] for line in lines) == 1, command


@pytest.mark.parametrize("path", [path for path in COMMANDS if " " in path])
def test_no_summary_is_cut(path: str) -> None:
    name, *words = path.split()
    lines = help_of(name, *words).stdout.split("Example:")[0].splitlines()
    assert not [line for line in lines[1:] if line.endswith("...")]


@pytest.mark.parametrize(("name", "command"), LISTED)
def test_a_page_of_help_ends_with_an_example_that_can_be_typed(name: str, command: str) -> None:
    example = PROGRAMS[name][1].about[command]["example"]  # type: ignore[attr-defined]
    assert help_of(name, command).stdout.endswith(f"Example:\n\n    $ {example}\n")
    words = shlex.split(example.removeprefix('eval "$(').removesuffix(')"').partition(" > ")[0])
    assert words[:2] == [name, command]
    check_command(words[1:], name)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_completion_prints_what_a_shell_reads(name: str, shell: str) -> None:
    done = run_program(name, "completion", shell)
    assert done.returncode == 0, done.stderr
    assert f"_{name.replace('-', '_')}_COMPLETE".upper() in done.stdout


def settings(folder: Path, text: str) -> dict[str, Any]:
    path = folder / "config" / "wikitext-builder" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    return {"XDG_CONFIG_HOME": str(folder / "config")}


def test_settings_are_defaults_which_variables_and_the_command_line_replace(
    sample: Path, tmp_path: Path
) -> None:
    store = sample / "pages.store"
    user = settings(tmp_path, f'store = "{store}"\nthreads = 1\n')
    assert run_program("wikitext-builder", "status", **user).stdout.startswith("en: 28 pages")
    shown = run_program("wikitext-builder", "fetch", "--help", **user).stdout
    assert f"default:{store};required" in "".join(shown.split())
    other = run_program("wikitext-builder", "status", **user, WIKITEXT_STORE="nowhere.store")
    assert "nowhere.store" in other.stderr
    texts = settings(tmp_path / "more", f'store = "{store}"\nthreads = "1"\n')
    assert run_program("ps-models", "list", **texts).returncode == 0
    for words in ((str(store),), ("--store", str(store))):
        again = run_program("wikitext-builder", "status", *words, **user, WIKITEXT_STORE="nowhere.store")
        assert again.stdout.startswith("en: 28 pages")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('stor = "a"', "stor = 'a'; expected a text, or a number, for store, contact"),
        ("store = [1]", "store = [1]; expected a text"),
        ("store = 5", "store = 5; expected a text"),
        ('store = ""', "store = ''; expected a text"),
        ("threads = true", "threads = True; expected a text, or a number"),
        ("store = ", "expected lines such as store ="),
    ],
)
def test_wrong_settings_are_an_error_that_names_their_file(tmp_path: Path, text: str, says: str) -> None:
    done = run_program("wikitext-builder", "status", "a.store", **settings(tmp_path, text))
    assert done.returncode == 1
    assert "config.toml: " in done.stderr
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_each_setting_is_an_option_somewhere() -> None:
    options = {name for command in COMMANDS.values() for option in command.params for name in option.opts}
    assert {f"--{name}" for name in SETTINGS} <= options


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("wikitext-builder extract {sample}/pages.store --title octopus", "did you mean 'Octopus'?"),
        ("wikitext-builder stats {sample}/dmo", "did you mean 'demo'?"),
        ("ps-models train lstn {sample}/demo --out new", "did you mean 'lstm'?"),
        ("ps-models train lstm {sample}/demo --out new --preset tinny", "did you mean 'tiny'?"),
        ("lm-benchmarks run kn5 --data {sample}/demo", "did you mean 'kn-5'?"),
    ],
)
def test_a_name_that_is_almost_right_is_answered_with_the_right_one(
    sample: Path, tmp_path: Path, words: str, says: str
) -> None:
    name, *arguments = words.format(sample=sample).split()
    done = run_program(name, *arguments, place=tmp_path)
    assert done.returncode in (1, 2)
    assert says in done.stderr
