"""Several models measured by one call: their names, what is measured already, and what fails."""

import csv
import json
import os
import shlex
import shutil
import sys
from collections import Counter
from typing import Any

import lm_benchmarks as lb
import pytest
from lm_benchmarks.adapters.command import program_name
from lm_benchmarks.measuring.measure import MeasuringError
from lm_benchmarks.records import Result, read_results

from tests.command import run_program
from tests.lm_benchmarks import cheats
from tests.lm_benchmarks.adapters.test_command import UNIFORM
from tests.lm_benchmarks.adapters.test_ngrams import written
from tests.lm_benchmarks.conventions.conftest import write_dataset
from tests.lm_benchmarks.results import error_of
from tests.lm_benchmarks.tiny_causal import make_causal_model
from wikitext_builder.dataset.vocabulary import Vocabulary

FAST: dict[str, Any] = {"check": False, "groups": False}


def uniform(data):
    size = len(Vocabulary.of_file(data / "wiki.train.tokens"))
    return "command:" + shlex.join([sys.executable, "-c", UNIFORM.format(size=size)])


def test_a_program_is_called_by_its_script_and_options(data):
    expected = {
        "awk -W interactive -f unigram.awk {data}/wiki.train.tokens -": "awk unigram.awk",
        "/usr/bin/python3 -u my/score.py --order 5": "python3 score.py --order 5",
        "./lm --size large --data {data}": "lm --size large --data",
        "./lm weights/a.bin": "lm a.bin",
        "./lm --rate 0.5": "lm --rate 0.5",
        "cat": "cat",
        "./lm " + 30 * "ab ": "lm ab ab ab ab ab ab ab ab ab ab ab ab …",
    }
    assert {line: program_name(line.format(data=data).split(), data) for line in expected} == expected


def test_a_programs_record_and_errors_have_no_secret_and_no_folder(data, tmp_path, caplog):
    (tmp_path / "unigram.py").write_text(
        UNIFORM.format(size=len(Vocabulary.of_file(data / "wiki.train.tokens")))
    )
    address = "http://me:PASSWD@host/v1?api-key=SECRET"
    right = f"command:{sys.executable} {tmp_path}/unigram.py {address}"
    lb.measure(right, data, results=tmp_path / "r.jsonl", command=["x", right], **FAST)
    texts = [(tmp_path / "r.jsonl").read_text()]
    assert str(tmp_path).strip("/").replace("/", "-") not in texts[0].replace("/", "-")
    says = f"command:{sys.executable} -c 'import sys; sys.exit(sys.argv[1])' {address}"
    wrong = [says, f"command:no-such-program {address}", f"command:a 'b {address}", f"modul:{address}"]
    for models in (*wrong, wrong, f"mix:unigram,command:cat 'x {address}"):
        texts.append(error_of(lb.measure, models, data, **FAST))
    texts.append(error_of(lb.measure_conventions, says, data))
    assert all(texts)
    assert [text for text in (*texts, caplog.text) if "SECRET" in text or "PASSWD" in text] == []


def test_a_folder_whose_name_is_no_utf_8_costs_no_measurement(data, inputs, tmp_path):
    odd = shutil.copytree(data, tmp_path / os.fsdecode(b"d\xff"))
    command, path = ["lm-benchmarks", "run", "unigram", "--data", str(odd)], tmp_path / "r.jsonl"
    lb.measure("unigram", odd, results=path, command=command, names=[os.fsdecode(b"m\xff")], **FAST)
    grams = written(tmp_path / os.fsdecode(b"g\xff.arpa"), inputs)
    lb.measure(f"arpa:{grams}", odd, results=path, **FAST)
    found, other = read_results(path)
    assert other.model == r"g\udcff.arpa"
    assert (found.model, found.command) == (r"m\udcff", r"lm-benchmarks run unigram --data 'd\udcff'")


def test_a_name_of_the_users_is_a_label_of_one_model(data, tmp_path):
    path = tmp_path / "results.jsonl"
    names = ["My uniform (v2)", "counts", "both"]
    lb.measure([uniform(data), "unigram", "mix:unigram,kn-5"], data, results=path, names=names, **FAST)
    plain = lb.measure([uniform(data), "unigram"], data, results=path, **FAST)
    read = read_results(path)
    assert [one.model for one in read[:3]] == names
    assert [one.signature for one in read[:2]] == [one.signature for one in plain]
    assert [one.total for one in read[:2]] == [one.total for one in plain]
    why = error_of(lb.measure, "kn-5", data, results=path, names=["counts"], **FAST)
    assert "--name counts: already the name of unigram in these results; choose another one for kn-5" in why
    assert "choose another one" in error_of(lb.measure, ["unigram", "kn-5"], data, names=["a", "a"], **FAST)
    assert len(read_results(path)) == 5
    assert lb.compare(path, "counts", "My uniform (v2)").passages == 3
    why = error_of(lb.compare, path, "counts", "unigram")
    assert "counts and unigram are one model, unigram+" in why
    with lb.report(path, path.with_suffix(".csv")).open(encoding="utf-8") as file:
        assert sorted(row["model"] for row in csv.DictReader(file)) == ["both", plain[0].model, "unigram"]
    for wrong in (["one"], ["one", "two", "three"], ["one", " "]):
        why = error_of(lb.measure, ["unigram", "kn-5"], data, names=wrong)
        assert "expected --name once per model, in order" in why


def test_what_a_model_keeps_outside_of_itself_helps_on_no_other_split_or_model(data, tmp_path, monkeypatch):
    """Its module has counted the words of valid, or those that the model of another function has read."""
    cut = tmp_path / "cut"
    cut.mkdir()
    for split in ("valid", "test"):
        shutil.copy(data / f"wiki.{split}.tokens", cut)
    name = "tests.lm_benchmarks.cheats:counts"
    options: dict[str, Any] = {"groups": False}
    monkeypatch.setattr(cheats, "COUNTS", Counter())
    (alone,) = lb.measure(name, data, **options)
    for folder, models, splits in (
        (data, name, ["valid", "test"]),
        (cut, name, ["valid", "test"]),
        (data, [name, f"{name}_too"], "test"),
        (data, [name, f"mix:unigram,{name}_too"], "test"),
    ):
        monkeypatch.setattr(cheats, "COUNTS", Counter())
        with pytest.raises(MeasuringError, match="memory: scores of the beginning differ by ") as error:
            lb.measure(models, folder, splits=splits, **options)
        assert error.value.results == []
        found = lb.measure(models, folder, splits=splits, allow_broken=True, **options)
        assert [result.broken for result in found] == [("memory",)] * 2
    monkeypatch.setattr(cheats, "COUNTS", Counter())
    _, helped = lb.measure(name, data, splits=["valid", "test"], check=False, **options)
    assert helped.total.nats < alone.total.nats
    honest = ["tests.lm_benchmarks.cheats:uniform", "unigram", uniform(data)]
    assert not any(one.broken for one in lb.measure(honest, data, splits=["valid", "test"], **options))


def test_two_models_whose_files_have_one_name_are_not_taken_for_each_other(data, tmp_path):
    """Records name no folders, but scores of a beginning belong to one model."""
    words, lines = len(Vocabulary.of_file(data / "wiki.train.tokens")), list[str]()
    for name, share in (("flat", 1 / words), ("skewed", 0.5 / words)):
        (tmp_path / name).mkdir()
        script = tmp_path / name / "model.py"
        script.write_text(
            "import math, sys\n"
            f"odds = {{'<eos>': {1 - share * (words - 1)}}}\n"
            "for line in sys.stdin:\n"
            "    if line.strip():\n"
            f"        print(*[math.log(odds.get(word, {share})) for word in line.split()], flush=True)\n"
        )
        lines.append("command:" + shlex.join([sys.executable, str(script)]))
    found = lb.measure(lines, data, groups=False)
    assert [result.broken for result in found] == [(), ()]
    assert len({result.specification for result in found}) == 1
    assert found[0].total.nats != found[1].total.nats


def test_what_pieces_are_kept_outside_of_a_model_in_windows_is_found(tmp_path, monkeypatch):
    pytest.importorskip("transformers", reason="needs the package transformers")
    folder = write_dataset(tmp_path / "tiny", 60)
    shutil.copy(folder / "wiki.test.raw", folder / "wiki.valid.raw")
    shutil.copy(folder / "wiki.test.tokens", folder / "wiki.valid.tokens")
    monkeypatch.setattr(cheats, "FOLDER", make_causal_model(tmp_path / "model", folder / "wiki.test.raw"))
    name = "tests.lm_benchmarks.cheats:counts_pieces"
    options: dict[str, Any] = {"convention": "gptq", "window": 64}
    monkeypatch.setattr(cheats, "COUNTS", Counter())
    assert not lb.measure(name, folder, **options)[0].broken
    monkeypatch.setattr(cheats, "COUNTS", Counter())
    with pytest.raises(MeasuringError, match=r"test: .*memory: scores of the beginning differ"):
        lb.measure(name, folder, splits=["valid", "test"], **options)


def test_what_a_file_has_is_not_measured_again(data, tmp_path):
    path, reported = tmp_path / "results.jsonl", list[Result]()
    first = lb.measure(["unigram", uniform(data)], data, results=path)
    again = lb.measure(["unigram", uniform(data)], data, results=path, on_result=reported.append)
    assert reported == again
    assert again[0].written == first[0].written
    lines = [result.model for result in read_results(path)]
    assert lines == ["unigram", first[1].model, first[1].model]  # a program can change behind its name
    others: list[dict[str, Any]] = [
        {"resume": False},
        {"splits": "valid"},
        {"seed": 2},
        {"context": "article"},
    ]
    for count, other in enumerate(others, start=4):
        lb.measure("unigram", data, results=path, **other)
        assert len(read_results(path)) == count


def test_a_result_without_checks_or_groups_is_measured_again_if_they_are_wanted(data, tmp_path):
    path = tmp_path / "results.jsonl"
    steps: list[dict[str, Any]] = [FAST, {"check": False}, {}, FAST, {"check": False}, {}]
    for options in steps:
        lb.measure("unigram", data, results=path, **options)
    kept = [(result.checks is not None, bool(result.groups)) for result in read_results(path)]
    assert kept == [(False, False), (False, True), (True, True)]


def test_results_outlive_what_fails_after_them(data, tmp_path):
    """A configuration without heads is an error of division inside of transformers."""
    pytest.importorskip("transformers", reason="needs the package transformers")
    folder, reported = make_causal_model(tmp_path / "causal", data / "wiki.train.tokens"), list[Result]()
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "n_head": 0}))
    with pytest.raises(MeasuringError, match="ZeroDivisionError") as error:
        lb.measure(["unigram", f"transformers:{folder}"], data, on_result=reported.append, **FAST)
    assert [result.model for result in error.value.results] == ["unigram"]
    assert reported == error.value.results
    missing = folder / "none" / "x"
    why = error_of(lb.measure, "unigram", data, results=missing, on_result=reported.append, **FAST)
    assert "expected a file to add results to" in why
    assert len(reported) == 2
    (tmp_path / "cut").mkdir()
    shutil.copy(data / "wiki.test.tokens", tmp_path / "cut")
    with pytest.raises(MeasuringError, match="valid") as error:
        lb.measure(uniform(data), tmp_path / "cut", splits=["test", "test", "valid"], **FAST)  # test once
    assert len(error.value.results) == 1


def test_quiet_silences_the_bars_of_other_libraries(data, tmp_path):
    transformers = pytest.importorskip("transformers", reason="needs the package transformers")
    transformers.utils.logging.enable_progress_bar()  # as in a new process: another test can have silenced it
    folder = make_causal_model(tmp_path / "causal", data / "wiki.train.tokens")
    words = ("run", f"transformers:{folder}", "--data", data, "--no-check", "--no-groups")
    loud, quiet = (run_program("lm-benchmarks", *words, *more) for more in ((), ("-q",)))
    assert "Loading weights" in loud.stderr
    assert quiet.stderr == ""
    assert quiet.stdout == loud.stdout
