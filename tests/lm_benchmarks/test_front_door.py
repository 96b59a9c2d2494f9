"""`import lm_benchmarks as lb`: without torch, help, what is stored, clear errors; with it, the commands."""

import itertools
import json
import math

import lm_benchmarks as lb
from lm_benchmarks.cli import commands

from tests.command import NO_TORCH, python
from tests.conftest import ROOT
from tests.lm_benchmarks.results import error_of

REVISION_FILTERS = ROOT / "benchmarks" / "results"
ARGUMENTS = {
    "list": (),
    "run": ("kn-5", "--data", "."),
    "check": ("kn-5", "--data", "."),
    "conventions": ("kn-5", "--data", "."),
    "contamination": ("kn-5", "--before", ".", "--after", "."),
    "lm-eval-task": (".", "--out", "x"),
    "power": (".", "--difference", "1%"),
}
WITHOUT_TORCH = f"""
import contextlib, io, json
{NO_TORCH}
from lm_benchmarks.cli import main

done = []
for line in json.loads(sys.argv[1]):
    sys.argv[1:], status = line, 0
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        try:
            main()
        except SystemExit as ended:
            status = ended.code
    done.append((status, out.getvalue(), err.getvalue()))
print(json.dumps(done))
"""


def without_torch(*lines: tuple[object, ...]) -> list[tuple[int, str, str]]:
    """Status, output and errors of command lines in one process that has no torch."""
    done = python(WITHOUT_TORCH, json.dumps([[str(word) for word in line] for line in lines]))
    assert done.returncode == 0, done.stderr
    return [(status, out, err) for status, out, err in json.loads(done.stdout)]


def test_without_torch_there_is_help_and_results_can_be_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    few = tmp_path / "few.jsonl"
    few.write_bytes(b"".join((REVISION_FILTERS / "ptb.jsonl").read_bytes().splitlines(keepends=True)[:6]))
    lines = [("--help",), ("--version",), ("run", "-h"), ("compare", "-h")]
    read = [
        ("compare", few, "unigram", "kn-5", "--split", "test"),
        ("compare", few, "--all"),
        ("report", few, "--out", "report.html"),
        ("reproduce", "--table", "ptb", "--data", REVISION_FILTERS, "--out", "runs"),
    ]
    ended = without_torch(*lines, *read)
    assert [(status, bool(out)) for status, out, _ in ended] == [(0, True)] * 8, ended
    assert [err for *_, err in ended[: len(lines)]] == [""] * len(lines)


def test_without_torch_every_other_command_names_the_extra():
    others = {"compare", "completion", "report", "reproduce"}
    assert ARGUMENTS.keys() | others == commands.commands.keys()
    expected = (
        "lm-benchmarks: language models need torch, which is not installed: pip install"
        " 'wikitext-builder[models]'\n"
    )
    lines = [(name, *words) for name, words in ARGUMENTS.items()]
    assert without_torch(*lines) == [(1, "", expected)] * len(lines)
    code = "import sys; sys.modules['torch'] = None; import lm_benchmarks as lb\n"
    done = python(f"{code}try:\n lb.measure\nexcept ImportError as error:\n print(error)")
    assert "pip install 'wikitext-builder[models]'" in done.stdout


def test_the_commands_are_calls_of_the_library(data, tmp_path):
    """What the README shows, in Python."""
    path, reported = tmp_path / "results.jsonl", list[lb.Result]()
    models, splits = ["kn-5", "kn-5+cache"], ["valid", "test"]
    found = lb.measure(models, data, splits=splits, results=path, on_result=reported.append)
    assert found == reported == lb.read_results(path)
    measured = [(result.specification, result.signature["split"]) for result in found]
    assert measured == list(itertools.product(models, splits))
    difference = lb.compare(str(path), "KN-5", "kn-5+cache")
    assert (difference.first_model, difference.second_model) == ("KN-5", "KN-5 + cache")
    assert difference.second == found[3].total.score.perplexity
    assert lb.report(path, tmp_path / "report.md").read_text().startswith("# Language models measured")
    assert set(lb.check("unigram", str(data)).values()) == {""}


def test_what_would_fail_later_is_refused_at_once(data):
    wrong = ({"batch": 0}, {"chunk": 0}, {"samples": 0}, {"patience": math.nan}, {"context": "none"})
    for options in wrong:
        assert "expected" in error_of(lb.measure, "unigram", data, convention="lm-eval", **options), options
    assert "invariants need a text" in error_of(lb.check, "unigram", data, tokens=0)
    assert "null byte; expected a program" in error_of(lb.measure, "command:a\0b", data)
    assert "nothing to measure" in error_of(lb.measure, [], data)
