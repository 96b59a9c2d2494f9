"""Arguments of all commands of the three programs: what is empty, endless or double is refused at once."""

import itertools
import math
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from lm_benchmarks.records import append_record

import wikitext_builder as wb
from tests.command import COMMAND, COMMANDS, environment, run_program
from tests.lm_benchmarks.results import RESULT
from tests.wikitext_builder.test_help import settings
from wikitext_builder.cli.options import Output
from wikitext_builder.sample import SAMPLE_DUMP

OPTIONS = [
    (path, option)
    for path, command in COMMANDS.items()
    for option in command.params
    if isinstance(option, click.Option) and not option.is_flag
]
EMPTY_IS_USUAL = {"contact", "work", "reference", "prompt", "columns", "sort"}


def parse(path: str, *words: str) -> click.Context:
    """Read the words of a command; its page of help stays as it is."""
    return COMMANDS[path].make_context(path, list(words), help_option_names=["-h", "--help"])


def said(path: str, *words: str) -> str:
    """The error for the words of a command."""
    with pytest.raises(click.UsageError) as raised:
        parse(path, *words)
    return raised.value.format_message()


@pytest.mark.parametrize(("path", "option"), OPTIONS, ids=lambda one: getattr(one, "name", one))
def test_an_empty_value_is_refused_if_it_is_not_the_usual_one(path: str, option: click.Option) -> None:
    usual = option.default == "" and option.name in EMPTY_IS_USUAL
    assert ("is empty; give a value" in said(path, option.opts[-1], "")) != usual


@pytest.mark.parametrize("path", ["wikitext-builder stats", "ps-models train", "lm-benchmarks run"])
def test_an_empty_argument_is_refused(path: str) -> None:
    assert "is empty; give a value" in said(path, "")


NUMBERS = [one for one in OPTIONS if isinstance(one[1].type, click.IntRange | click.FloatRange)]


@pytest.mark.parametrize(("path", "option"), NUMBERS, ids=lambda one: getattr(one, "name", one))
def test_a_number_is_in_a_range_that_the_libraries_take(path: str, option: click.Option) -> None:
    """Larger ones were tracebacks; 99999 threads ended the process; "nan" is a float, but in no range."""
    is_whole = isinstance(option.type, click.IntRange)
    for value in [str(10**20)] if is_whole else ["nan", *["inf"] * (option.default != math.inf)]:
        with pytest.raises(
            click.BadParameter, match=r"is not a finite number|is not in the range|is more than"
        ):
            option.type.convert(value, option, None)
    least = getattr(option.type, "min", None) or 0
    usual = least + 1 if is_whole else max(least, 0.5) + 0.25
    assert option.type.convert(str(usual), option, None) == usual


def outputs() -> Iterator[tuple[str, click.Parameter, click.Parameter]]:
    """Each file that a command writes, and each other path that it takes."""
    for path, command in COMMANDS.items():
        files = [one for one in command.params if isinstance(one.type, click.Path)]
        for one, other in itertools.permutations(files, 2):
            if isinstance(one.type, Output):
                yield path, one, other


@pytest.mark.parametrize(("path", "one", "other"), list(outputs()), ids=lambda one: getattr(one, "name", one))
def test_a_file_is_not_written_over_another_of_the_command(
    tmp_path: Path, path: str, one: click.Parameter, other: click.Parameter
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("file")
    before = ["x"] * [each.name for each in COMMANDS[path].params].index(other.name)
    as_other = [other.opts[0]] if isinstance(other, click.Option) else before
    words = [*as_other, str(tmp_path / "link"), one.opts[0], str(tmp_path / "file")]
    assert "is the same file; give another" in said(path, *words)


def test_what_the_settings_say_is_an_input_too(tmp_path: Path) -> None:
    (tmp_path / "a.tokens").touch()
    words = ("lm-benchmarks", "conventions", "unigram", "--out", str(tmp_path / "a.tokens"))
    done = run_program(*words, WIKITEXT_DATA=str(tmp_path / "a.tokens"))
    assert "is the same file; give another" in done.stderr


def test_what_is_always_the_users_dataset_is_no_wish_for_a_chart(tmp_path: Path) -> None:
    append_record(tmp_path / "a.jsonl", RESULT)
    words = ("report", str(tmp_path / "a.jsonl"), "--out", str(tmp_path / "a.md"))
    done = run_program("lm-benchmarks", *words, WIKITEXT_DATA=str(tmp_path))
    assert done.stdout == f"{tmp_path / 'a.md'}\n", done.stderr


WRITES = {  # of a command, and what it would replace
    "conventions unigram --data . --out {}": ("a.json", "is there, and no .txt file"),
    "conventions unigram --data . --format json --out {}": ("a.tokens", "is there, and no .json file"),
    "run unigram --data . --results {}": ("/dev/null", "is no regular file"),
}


@pytest.mark.parametrize(("words", "name", "says"), [(words, *of) for words, of in WRITES.items()])
def test_a_file_of_another_kind_is_not_replaced(tmp_path: Path, words: str, name: str, says: str) -> None:
    """As the text that is measured, or a part of the model."""
    path = tmp_path / name  # or the device
    if not path.exists():
        path.write_text("mine")
    done = run_program("lm-benchmarks", *words.format(path).split())
    assert done.returncode in (1, 2)
    assert says in done.stderr
    assert not path.is_file() or path.read_text() == "mine"


DEPENDENT = [
    "wikitext-builder build demo --store {} --out o --by promoted",
    "wikitext-builder fetch --store {} --seed 5",
    "lm-benchmarks run m --data . --no-resume",
]


@pytest.mark.parametrize("line", DEPENDENT)
def test_an_option_that_does_nothing_without_another_is_refused(tmp_path: Path, line: str) -> None:
    words = line.format(tmp_path / "a.store").split()
    assert "does nothing without" in said(" ".join(words[:2]), *words[2:])


def test_an_error_names_the_settings_or_the_variable_that_a_value_is_from(tmp_path: Path) -> None:
    done = run_program("ps-models", "list", **settings(tmp_path, "threads = 0\n"))
    assert "'--threads'" in done.stderr
    assert "It is said in " in done.stderr
    assert done.stderr.endswith("config.toml.\n")
    done = run_program("ps-models", "list", WIKITEXT_THREADS="many")
    assert "It is said in the variable WIKITEXT_THREADS." in done.stderr
    done = run_program("wikitext-builder", "fetch", WIKITEXT_STORE=str(tmp_path))
    assert "It is said in the variable WIKITEXT_STORE." in done.stderr


def test_closed_streams_are_no_traceback(tmp_path: Path) -> None:
    """As of `>&-`: files that are opened later must not get the numbers of these streams."""
    words = shlex.join([*COMMAND, "import", str(SAMPLE_DUMP), "--store", str(tmp_path / "a.store")])
    done = subprocess.run(["sh", "-c", f"{words} <&- >&- 2>&-"], env=environment(), check=False)
    assert done.returncode == 0
    assert wb.status(tmp_path / "a.store")[0].pages == 28
