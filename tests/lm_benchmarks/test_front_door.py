"""`import lm_benchmarks as lb`: quick, and every name is there; without torch, a clear error."""

import inspect
import math
import os
import resource
import subprocess
import sys

import lm_benchmarks as lb
import pytest
from lm_benchmarks.cli import commands

from tests.command import environment
from tests.conftest import ROOT

HEAVY = {"torch", "pandas", "lxml", "matplotlib", "numpy", "pyarrow", "requests", "rich", "click"}
MEASURE = (
    "import time; start = time.process_time(); import lm_benchmarks; took = time.process_time() - start;"
    " import sys; print(took, *{name.split('.')[0] for name in sys.modules})"
)
MAIN = "from lm_benchmarks.cli import main; main()"
STORED = ROOT / "benchmarks" / "results"
WITHOUT_TORCH = f"import sys; sys.modules['torch'] = None; {MAIN}"
ARGUMENTS = {
    "list": (),
    "run": ("kn-5", "--data", "."),
    "check": ("kn-5", "--data", "."),
    "conventions": ("kn-5", "--data", "."),
    "positions": ("kn-5", "--data", ".", "--out", "x.svg"),
    "compare": (".", "a", "b"),
    "contamination": ("kn-5", "--before", ".", "--after", "."),
    "report": (".", "--out", "x.md"),
    "rows": (".", "--out", "x.md"),
    "overlap": (".",),
    "lm-eval-task": (".", "--out", "x"),
    "reproduce": ("--table", "ptb", "--data", ".", "--out", "x"),
}


def python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join((str(ROOT), str(ROOT / "benchmarks")))
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=environment(PYTHONPATH=path),
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_import_is_quick_and_light():
    seconds = []
    for _ in range(5):  # the best one, of the processor: other work on the machine does not count
        took, *modules = python(MEASURE).stdout.split()
        assert not HEAVY & set(modules)
        seconds.append(float(took))
    assert min(seconds) < 0.1


@pytest.mark.parametrize("name", lb.__all__)
def test_every_name_is_there_and_documented(name):
    value = getattr(lb, name)
    assert name in dir(lb)
    if callable(value):
        assert inspect.getdoc(value)


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'lm_benchmarks' has no attribute 'mesure'"):
        _ = lb.mesure  # type: ignore[attr-defined]


def test_all_is_what_the_type_checker_sees():
    """The lists of names in the module must not drift apart."""
    public = {name for name in dir(lb) if not name.startswith("_")}
    modules = {name for name in public if inspect.ismodule(getattr(lb, name))}
    assert public - modules - {"TYPE_CHECKING", "lazy_names", "needed_packages"} == set(lb.__all__)


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("run", "--help"), ("compare", "--help")])
def test_help_is_quick_and_needs_no_torch(arguments):
    seconds = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = python(WITHOUT_TORCH, *arguments)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert done.returncode == 0, done.stderr
        assert done.stdout
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(seconds) < 0.5  # of the processor: other work on the machine does not count


def test_every_command_is_tried_without_torch():
    assert ARGUMENTS.keys() == commands.commands.keys()


def test_overlap_says_where_it_is_now():
    done = python(WITHOUT_TORCH, "overlap", "data", "--words", "4")
    assert done.returncode == 1
    assert "`wikitext-builder overlap DATA` measures now" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("--cite", STORED / "ptb.jsonl"),
        ("compare", STORED / "ptb.jsonl", "unigram", "kn-5", "--split", "test"),
        ("report", STORED / "ptb.jsonl", "--out", "report.html"),
        ("rows", STORED, "--out", "rows.md"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_without_torch_results_can_be_read(arguments, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = python(WITHOUT_TORCH, *map(str, arguments))
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("command", sorted(ARGUMENTS.keys() - {"compare", "overlap", "report", "rows"}))
def test_without_torch_a_command_names_the_extra(command):
    done = python(WITHOUT_TORCH, command, *ARGUMENTS[command])
    assert done.returncode == 1
    assert done.stderr == (
        "lm-benchmarks: language models need torch, which is not installed: pip install"
        " 'wikitext-builder[models]'\n"
    )


def test_without_torch_the_library_names_the_extra():
    code = "import sys; sys.modules['torch'] = None; import lm_benchmarks as lb\n"
    done = python(f"{code}try:\n lb.measure\nexcept ImportError as error:\n print(error)")
    assert "pip install 'wikitext-builder[models]'" in done.stdout


def test_the_commands_are_calls_of_the_library(data, tmp_path):
    """What the README shows, in Python."""
    path, reported = tmp_path / "results.jsonl", list[lb.Result]()
    found = lb.measure(
        ["kn-5", "kn-5+cache"], data, splits=["valid", "test"], results=path, on_result=reported.append
    )
    assert found == reported == lb.read_results(path)
    assert [(result.specification, result.signature["split"]) for result in found] == [
        ("kn-5", "valid"),
        ("kn-5", "test"),
        ("kn-5+cache", "valid"),
        ("kn-5+cache", "test"),
    ]
    difference = lb.compare(str(path), "KN-5", "kn-5+cache")
    assert (difference.first_model, difference.second_model) == ("KN-5", "KN-5 + cache")
    assert difference.second == found[3].total.score.perplexity
    assert lb.report(path, tmp_path / "report.md").read_text().startswith("# Language models measured")
    assert set(lb.check("unigram", str(data)).values()) == {""}
    assert lb.rows(ROOT / "benchmarks" / "results", tmp_path / "rows.md").stat().st_size > 10_000
    with pytest.raises(lb.HarnessError, match="nothing to measure"):
        lb.measure([], data)


def test_what_would_fail_later_is_refused_at_once(data):
    for wrong in ({"batch": 0}, {"chunk": 0}, {"samples": 0}, {"patience": math.nan}, {"context": "none"}):
        with pytest.raises(lb.HarnessError, match="expected"):
            lb.measure("unigram", data, convention="lm-eval", **wrong)
    with pytest.raises(lb.HarnessError, match="laws need a text"):
        lb.check("unigram", data, tokens=0)
    with pytest.raises(lb.HarnessError, match=r"null byte; expected a program"):
        lb.measure("command:a\0b", data)
