"""One model by all conventions: the table, what does not fit, shared windows, and what is measured again."""

import csv
import errno
import html
import io
import json
import math
import os
import re
import shutil
import sys
import tracemalloc
import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import Any

import lm_benchmarks as lb
import msgspec
import pytest
from lm_benchmarks.adapters.transformers import CausalModel
from lm_benchmarks.choices import FORMATS, HarnessError
from lm_benchmarks.cli import commands
from lm_benchmarks.conventions import Window
from lm_benchmarks.conventions.rules import CONVENTIONS, REGISTRY
from lm_benchmarks.measuring.loaded_model import LoadedModel
from lm_benchmarks.measuring.models import make_inputs, open_model
from lm_benchmarks.measuring.passages import WINDOWS_PER_REPORT, ScoreCache, measure_windows
from lm_benchmarks.metrics import METRICS
from lm_benchmarks.records import to_line

from tests.command import invoke
from tests.lm_benchmarks.adapters.test_command import UNIFORM
from tests.lm_benchmarks.conventions.test_rules import Letters
from wikitext_builder.errors import ToolkitError
from wikitext_builder.progress import no_progress

pytest.importorskip("transformers", reason="needs the package transformers")


@pytest.fixture(scope="module")
def found(dataset, folders, kind):
    return lb.measure_conventions(f"transformers:{folders[kind]}", dataset)


@pytest.fixture
def model(folders):
    return f"transformers:{folders['bos-added']}"


def test_all_conventions_of_one_model_have_a_number_and_bits_of_the_bytes_that_were_scored(found, dataset):
    assert [one.convention.name for one in found] == list(CONVENTIONS)
    size = (dataset / "wiki.test.raw").stat().st_size
    for one in found:
        assert (one.why, math.isfinite(one.number), math.isfinite(one.bits_per_byte)) == ("", True, True)
        total, name = one.result.total, one.convention.name
        if name != "paper":
            assert one.bits_per_byte == pytest.approx(METRICS["bits-per-file-byte"].of(total))
            whole = name in ("lm-eval", "bits-per-byte", "hf-stride")
            assert (0.9 if whole else 0.3) * size < total.file_bytes <= size
        if name in ("gptq", "llama.cpp", "hf-stride"):
            assert METRICS["piece-perplexity"].of(total) == pytest.approx(one.number, rel=1e-2)
    assert found[-1].number == pytest.approx(found[-1].bits_per_byte)


def test_the_signature_says_what_decides_the_number(found, kind):
    by_name = {one.convention.name: dict(one.result.signature) for one in found}
    expected = {
        "convention": CONVENTIONS["gptq"],
        "windows": "64",
        "text": "joined-rows",
        "device": "cpu",
        "dtype": "float32",
        "bos": {"no-bos": "no", "bos-not-added": "not-added", "bos-added": "added"}[kind],
    }
    signature = by_name["gptq"]
    assert expected.items() <= signature.items()
    assert signature["attention"] in ("sdpa", "eager")
    assert not {"window", "stride"} & set(signature)
    assert by_name["hf-stride"]["windows_every"] == "64"
    assert by_name["paper"]["data"] != signature["data"]  # it reads the file of tokens


def test_run_gives_the_number_of_the_table(found, dataset, folders, kind, tmp_path):
    gptq, path = found[2], tmp_path / "r.jsonl"
    words = [f"transformers:{folders[kind]}", "--data", dataset, "--convention", "gptq"]
    assert f"{gptq.number:.4f}" in invoke(commands, "run", *words, "--results", path)
    (stored,) = lb.read_results(path)
    assert (stored.number, stored.signature) == (gptq.number, gptq.result.signature)
    report = lb.report([path], tmp_path / "report.md", published=False).read_text()
    assert all(text in report for text in (f"{gptq.number:,.2f}", "Number of gptq", "number test"))
    words += ["--convention", "llama.cpp"]
    head, *rows = invoke(commands, "conventions", *words).splitlines()
    assert head.split() == ["convention", "number", "bits", "per", "byte", "window"]
    assert [row.split()[0] for row in rows] == ["gptq", "llama.cpp"]
    invoke(commands, "conventions", *words, "--format", "csv", "--out", tmp_path / "t.csv")
    assert len((tmp_path / "t.csv").read_text().splitlines()) == 3


def test_a_window_and_attention_of_the_users(dataset, model):
    (result,) = lb.measure(model, dataset, convention="hf-stride", window=24, stride=8, attention="eager")
    assert (result.signature["windows"], result.signature["windows_every"]) == ("24", "8")
    assert result.signature["attention"] == "eager"
    (half,) = lb.measure(model, dataset, convention="gptq", dtype="bfloat16")
    assert half.signature["dtype"] == "bfloat16"


def test_shared_windows_are_read_once(dataset, model, counted):
    def cost(*names):
        counted.clear()
        lb.measure_conventions(model, dataset, conventions=names)
        return sum(counted)

    gptq, stride = cost("gptq"), cost("hf-stride")
    assert max(gptq, stride) <= cost("gptq", "hf-stride") <= gptq + 1


class Reads:
    """A model of letters; its score of a window is a function of it."""

    longest: int | None = None
    text_pieces: Any = Letters()

    def __init__(self, score):
        self._score = score

    def window_nats(self, windows):
        assert len(windows) <= WINDOWS_PER_REPORT
        return [float(self._score(window)) for window in windows]


def test_windows_are_told_apart_by_inputs_and_targets():
    cache = ScoreCache(Reads(lambda window: sum(window.inputs) * 1000 + sum(window.targets)))
    windows = [Window((1, 2), (3,)), Window((1,), (2, 3)), Window((1, 2), (3,)), Window((2, 1), (3,))]
    assert cache.window_nats(windows) == [3003.0, 1005.0, 3003.0, 3003.0]
    assert cache.shared == 1


def test_what_a_file_has_is_not_measured_again_unless_something_else_decides_it(
    dataset, model, tmp_path, counted
):
    path = tmp_path / "r.jsonl"

    def measured(*names, **options):
        """The number of the first convention, and whether the model has read anything."""
        counted.clear()
        rows = lb.measure_conventions(model, dataset, conventions=names, results=path, **options)
        return rows[0].number, bool(counted)

    first, _ = measured("gptq", "hf-stride")
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])  # killed after one
    assert measured("gptq") == (first, False)
    assert measured("hf-stride")[1]
    assert measured("gptq", attention="eager")[1]  # another implementation is another result
    for window in (16, 8):
        assert measured("gptq", window=window)[1]
    assert measured("gptq") == (first, False)  # the older one, with the rule's window
    stored = lb.read_results(path)[0]
    older = {**stored.versions, "transformers": "4.0.0"}
    path.write_text(f"{to_line(msgspec.structs.replace(stored, versions=older, number=111.0))}\n")
    assert measured("gptq") == (first, True)  # made by other code


def test_a_program_and_code_of_the_users_are_measured_again(dataset, tmp_path):
    """Nobody knows whether they still compute the same."""
    model = LoadedModel(name="m", identity="m", model=None, vocabulary=None)  # type: ignore[arg-type]
    others = (model, replace(model, user_source="module:function"), replace(model, is_program=True))
    assert [one.is_identified for one in others] == [True, False, False]
    script, numbers = tmp_path / "model.py", []
    for log in (1, 2):
        script.write_text(UNIFORM.format(size=math.exp(log)))
        options = {"conventions": ["paper"], "results": tmp_path / "r.jsonl"}
        (one,) = lb.measure_conventions(f"command:{sys.executable} {script}", dataset, **options)
        assert one.number
        numbers.append(one.number)
    assert numbers[1] == pytest.approx(numbers[0] ** 2)


def test_another_configuration_of_the_same_weights_is_another_model(dataset, folders, tmp_path):
    folder = shutil.copytree(folders["bos-added"], tmp_path / "model")
    config, identities = json.loads((folder / "config.json").read_text("utf-8")), []
    for changes in ({}, {}, {"layer_norm_epsilon": 0.5, "rms_norm_eps": 0.5}):
        (folder / "config.json").write_text(json.dumps(config | changes))
        identities.append(open_model(f"transformers:{folder}", make_inputs(dataset, "test")).identity)
    assert identities[0] == identities[1] != identities[2]


def test_a_number_for_another_vocabulary_is_not_taken(tmp_path):
    numbers = set()
    for name, train in (("one", "a b c"), ("two", "a b c d e f")):
        (folder := tmp_path / name / "data").mkdir(parents=True)
        (folder / "wiki.train.tokens").write_text(f" {train} \n", encoding="utf-8")
        (folder / "wiki.test.tokens").write_text(" a b a \n", encoding="utf-8")
        options = {"conventions": ["paper"], "results": tmp_path / "r.jsonl"}
        (one,) = lb.measure_conventions("unigram", folder, **options)
        numbers.add(one.number)
    assert len(numbers) == 2


def test_the_table_in_each_format(found):
    first, _, gptq, *_ = found
    result = msgspec.structs.replace(first.result, checks={"sum": "", "future": "it peeks"})
    broken = [replace(first, result=result), *found[1:]]
    tables = {form: lb.write_conventions(broken, form) for form in FORMATS}
    records = json.loads(tables["json"])
    assert [one["convention"] for one in records] == list(CONVENTIONS)
    assert (records[2]["number"], records[0]["broken"]) == (gptq.number, ["future"])
    endless = lb.write_conventions([gptq, replace(gptq, number=math.inf)], "json")
    assert [one["number"] for one in json.loads(endless, parse_constant=pytest.fail)] == [gptq.number, None]
    rows = list(csv.DictReader(io.StringIO(tables["csv"])))
    assert (float(rows[2]["number"]), rows[2]["signature"]) == (gptq.number, str(gptq.result.signature))
    assert rows[0]["broken"] == "future"
    page = tables["html"]
    parsed = ET.fromstring(page[page.index("<table") : page.index("</table>") + len("</table>")])
    assert [cell.text for cell in parsed.findall(".//tbody/tr/th")] == list(CONVENTIONS)
    assert "&lt;unk&gt;" in page
    assert html.escape(str(gptq.result.signature)) in page
    assert tables["latex"].count(r" \\") == tables["markdown"].count("\n| ") == len(found) + 1
    for form in ("text", "markdown", "latex", "html"):
        assert f"{gptq.number:,.4f}" in tables[form]
        assert tables[form].count(f"{first.number:,.4f} BROKEN") == 1
        assert form == "latex" or "paper: BREAKS future: it peeks" in tables[form]


def test_a_model_of_words_has_two_numbers_and_reasons_for_the_others(data, tmp_path):
    folder = shutil.copytree(data, tmp_path / "tiny")
    shutil.copy(folder / "wiki.test.tokens", folder / "wiki.test.raw")
    found = lb.measure_conventions("unigram", folder)
    assert [one.convention.name for one in found if one.number is not None] == ["paper", "lm-eval"]
    (folder / "wiki.test.raw").write_bytes((data / "wiki.test.tokens").read_bytes() + b" \n")
    for _ in range(2):  # the second time it is known, though the raw file is another one
        lb.measure_conventions("unigram", folder, conventions=["lm-eval"], results=tmp_path / "r.jsonl")
    assert len(lb.read_results(tmp_path / "r.jsonl")) == 1
    (folder / "wiki.test.raw").unlink()
    (without,) = lb.measure_conventions("unigram", folder, conventions=["lm-eval"])
    assert without.number == found[1].number
    (why,) = {one.why.replace(one.convention.name, "…") for one in found if one.why}
    assert re.search("unigram predicts words.*needs a model `transformers:…`", why)
    for name, message in (("gptq", "no convention fits"), ("gtpq", "'gtpq'; expected paper, lm-eval, gptq")):
        with pytest.raises(HarnessError, match=message):
            lb.measure_conventions("unigram", folder, conventions=[name])
    with pytest.raises(HarnessError, match="predicts words"):
        lb.measure("unigram", folder, convention="gptq")


def test_a_convention_whose_file_is_missing_says_so_and_the_others_are_measured(dataset, model, tmp_path):
    tokens = tmp_path / "wiki.test.tokens"
    shutil.copy(dataset / tokens.name, tokens)
    paper, without = lb.measure_conventions(model, tmp_path, conventions=["gptq", "paper"])
    assert paper.number is not None  # it reads the file of tokens
    assert without.number is None
    assert "needs the raw file" in without.why
    with pytest.raises(HarnessError, match=r"no convention fits.*needs the raw file"):
        lb.measure_conventions(model, tmp_path, conventions=["gptq"])
    for path in (tokens, tmp_path / "wiki.test.raw"):
        path.write_bytes(" = A = \n café \n".encode("latin-1"))
    with pytest.raises(ToolkitError, match="UTF-8"):
        lb.measure(model, tmp_path, convention="gptq", check=False)


def test_a_result_that_cannot_be_stored_ends_the_command(dataset, model, tmp_path, monkeypatch):
    def full(_descriptor, _content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(HarnessError, match="No space left"):
        lb.measure_conventions(model, dataset, conventions=["gptq"], results=tmp_path / "r.jsonl")


def test_memory_is_bounded_by_the_window(tmp_path):
    """Windows of 500 letters that move by one: as a list they would be 80 MB."""
    path, reader = tmp_path / "text.raw", Reads(lambda window: len(window.targets))
    path.write_text("x" * 20_000)
    tracemalloc.start()
    found = measure_windows(REGISTRY["hf-stride"], reader, path, window=500, stride=1, progress=no_progress)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found.articles) == 19_501
    assert sum(one.pieces for one in found.articles) == 19_999
    assert peak < 20e6


def test_a_score_that_is_no_number_is_refused(dataset, model, monkeypatch):
    monkeypatch.setattr(CausalModel, "window_nats", lambda _, windows: [math.nan] * len(windows))
    for convention in ("gptq", "lm-eval"):
        with pytest.raises(HarnessError, match="a score is infinite or NaN"):
            lb.measure(model, dataset, convention=convention, check=False)
