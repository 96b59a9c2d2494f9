"""One model by all conventions: the table, what does not fit, shared passes, and resuming."""

import csv
import html
import io
import json
import math
import shutil
import xml.etree.ElementTree as ET
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import lm_benchmarks as lb
import msgspec
import pytest
from lm_benchmarks.choices import CONVENTIONS, FORMATS
from lm_benchmarks.cli import commands
from lm_benchmarks.conventions.convention import Window
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.measuring import measure as by_convention
from lm_benchmarks.measuring.run import measure_loaded
from lm_benchmarks.measuring.windows import ScoreCache
from lm_benchmarks.metrics import METRICS

from tests.command import invoke

QUICK = ("gptq", "hf-stride", "llama.cpp", "bits-per-byte", "lm-eval")


@pytest.fixture(scope="module")
def found(dataset, folders, kind):
    pytest.importorskip("transformers", reason="needs the package transformers")
    return lb.measure_conventions(f"transformers:{folders[kind]}", dataset)


def test_all_conventions_of_one_model(found, kind):
    by_name = {one.convention.name: one for one in found}
    assert list(by_name) == list(CONVENTIONS)
    assert [one.convention.name for one in found if one.number is None or one.bits_per_byte is None] == []
    assert {one.why for one in found} == {""}
    assert by_name["bits-per-byte"].number == pytest.approx(by_name["bits-per-byte"].bits_per_byte)


def test_bits_per_byte_is_of_the_bytes_of_the_file_that_were_scored(found, dataset):
    size = (dataset / "wiki.test.raw").stat().st_size
    for one in found:
        if one.result is None or one.convention.name == "paper":
            continue
        total = one.result.total
        assert one.bits_per_byte == pytest.approx(METRICS["bits-per-file-byte"].of(total))
        whole = one.convention.name in ("lm-eval", "bits-per-byte", "hf-stride")
        assert (0.9 if whole else 0.3) * size < total.file_bytes <= size
        if one.convention.name in ("gptq", "llama.cpp", "hf-stride"):
            assert total.nats > 0
            assert METRICS["piece-perplexity"].of(total) == pytest.approx(one.number, rel=1e-2)


def test_the_signature_says_what_decides_the_number(found, kind):
    by_name = {one.convention.name: one.result.signature for one in found if one.result}
    signature = by_name["gptq"]
    assert signature["convention"] == CONVENTIONS["gptq"]
    assert (signature["windows"], signature["text"]) == ("64", "joined-rows")
    assert (signature["device"], signature["dtype"]) == ("cpu", "float32")
    assert signature["attention"] in ("sdpa", "eager")
    assert signature["bos"] == {"no-bos": "no", "bos-not-added": "not-added", "bos-added": "added"}[kind]
    assert not {"window", "stride"} & set(signature)
    assert by_name["hf-stride"]["windows_every"] == "64"
    assert by_name["paper"]["data"] != signature["data"]  # it reads the file of tokens


def test_run_gives_the_number_of_the_table(found, dataset, folders, kind, tmp_path):
    (gptq,) = [one for one in found if one.convention.name == "gptq"]
    path = tmp_path / "r.jsonl"
    words = ["run", f"transformers:{folders[kind]}", "--data", str(dataset), "--convention", "gptq"]
    assert f"{gptq.number:.4f}" in invoke(commands, *words, "--results", path)
    (stored,) = lb.read_results(path)
    assert stored.number == gptq.number
    assert stored.signature == gptq.result.signature
    report = lb.report([path], tmp_path / "report.md", published=False).read_text()
    assert f"{gptq.number:,.2f}" in report
    assert "Number of gptq" in report
    assert "number test" in report


def test_a_window_and_attention_of_the_users(dataset, folders):
    model = f"transformers:{folders['bos-added']}"
    (result,) = lb.measure(model, dataset, convention="hf-stride", window=24, stride=8, attention="eager")
    assert (result.signature["windows"], result.signature["windows_every"]) == ("24", "8")
    assert result.signature["attention"] == "eager"
    (half,) = lb.measure(f"transformers:{folders['bos-added']}", dataset, convention="gptq", dtype="bfloat16")
    assert half.signature["dtype"] == "bfloat16"


def test_shared_windows_are_read_once(dataset, folders, counted):
    def cost(*names):
        counted.clear()
        lb.measure_conventions(f"transformers:{folders['bos-added']}", dataset, conventions=names)
        return sum(counted)

    gptq, stride = cost("gptq"), cost("hf-stride")
    assert max(gptq, stride) <= cost("gptq", "hf-stride") <= gptq + 1


def test_windows_are_told_apart_by_inputs_and_targets():
    class Counts:
        longest: int | None = None
        text_pieces: Any = None

        def window_nats(self, windows):
            return [sum(one.inputs) * 1000.0 + sum(one.targets) for one in windows]

    cache = ScoreCache(Counts())
    windows = [Window((1, 2), (3,)), Window((1,), (2, 3)), Window((1, 2), (3,)), Window((2, 1), (3,))]
    assert cache.window_nats(windows) == [3003.0, 1005.0, 3003.0, 3003.0]
    assert cache.shared == 1


def test_an_interrupted_command_resumes(dataset, folders, tmp_path, monkeypatch):
    path = tmp_path / "r.jsonl"
    model = f"transformers:{folders['bos-added']}"
    first = lb.measure_conventions(model, dataset, conventions=QUICK, results=path)
    lines = path.read_bytes().splitlines(keepends=True)
    assert len(lines) == len(QUICK)
    path.write_bytes(b"".join(lines[:3]))  # killed after three

    measured: list[str] = []

    def counted(loaded, inputs, protocol, **options):
        result = measure_loaded(loaded, inputs, protocol, **options)
        if not any(result is known for known in options.get("stored", ())):
            measured.append(protocol.convention)
        return result

    monkeypatch.setattr(by_convention, "measure_loaded", counted)
    again = lb.measure_conventions(model, dataset, conventions=QUICK, results=path)
    assert measured == [one.convention.name for one in first][3:]
    assert [one.number for one in again] == [one.number for one in first]
    measured.clear()
    lb.measure_conventions(model, dataset, conventions=["gptq"], results=path, attention="eager")
    assert measured == ["gptq"]  # another implementation is another result
    lb.measure(model, dataset, convention="gptq", window=30, results=path)
    measured.clear()
    lb.measure_conventions(model, dataset, conventions=["gptq"], results=path)
    assert measured == []  # the older one, with the rule's window


def test_the_table_in_each_format(found):
    tables = {form: lb.write_conventions(found, form) for form in FORMATS}
    gptq = next(one for one in found if one.convention.name == "gptq")
    records = json.loads(tables["json"])
    assert [one["convention"] for one in records] == list(CONVENTIONS)
    assert records[2]["number"] == gptq.number
    endless = lb.write_conventions([gptq, replace(gptq, number=math.inf)], "json")
    assert [one["number"] for one in json.loads(endless, parse_constant=pytest.fail)] == [gptq.number, None]
    rows = list(csv.DictReader(io.StringIO(tables["csv"])))
    assert float(rows[2]["number"]) == gptq.number
    assert rows[2]["signature"] == str(gptq.result.signature)
    assert f"version:{version('wikitext-builder')}" in rows[2]["signature"]
    page = tables["html"]
    parsed = ET.fromstring(page[page.index("<table") : page.index("</table>") + len("</table>")])
    assert [cell.text for cell in parsed.findall(".//tbody/tr/th")] == list(CONVENTIONS)
    assert "&lt;unk&gt;" in page
    assert html.escape(str(gptq.result.signature)) in page
    assert tables["latex"].count(r" \\") == len(found) + 1
    assert tables["markdown"].count("\n| ") == len(found) + 1
    for form in ("text", "markdown", "latex", "html"):
        assert f"{gptq.number:,.4f}" in tables[form]


def test_a_stored_result_that_breaks_a_law_is_marked(found):
    first, *others = found
    result = msgspec.structs.replace(first.result, checks={"sum": "", "future": "it peeks"})
    tables = {form: lb.write_conventions([replace(first, result=result), *others], form) for form in FORMATS}
    assert json.loads(tables["json"])[0]["broken"] == ["future"]
    assert next(csv.DictReader(io.StringIO(tables["csv"])))["broken"] == "future"
    for form in ("text", "markdown", "latex", "html"):
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
    assert "unigram predicts words" in why
    assert "needs a model `transformers:…`" in why
    with pytest.raises(HarnessError, match="no convention fits"):
        lb.measure_conventions("unigram", folder, conventions=["gptq"])
    with pytest.raises(HarnessError, match="convention 'gtpq'; expected paper, lm-eval, gptq"):
        lb.measure_conventions("unigram", folder, conventions=["gtpq"])
    with pytest.raises(HarnessError, match="predicts words"):
        lb.measure("unigram", folder, convention="gptq")


def test_a_convention_whose_file_is_missing_says_so_and_the_others_are_measured(dataset, folders, tmp_path):
    (tmp_path / "wiki.test.tokens").write_bytes((dataset / "wiki.test.tokens").read_bytes())
    model, names = f"transformers:{folders['bos-added']}", ["gptq", "paper"]
    found, without = lb.measure_conventions(model, tmp_path, conventions=names)
    assert without.number is None
    assert "needs the raw file" in without.why
    assert found.number is not None  # it reads the file of tokens
    with pytest.raises(HarnessError, match=r"no convention fits.*needs the raw file"):
        lb.measure_conventions(model, tmp_path, conventions=["gptq"])


def test_the_command_prints_and_writes(dataset, folders, tmp_path):
    words = ["conventions", f"transformers:{folders['bos-added']}", "--data", str(dataset)]
    chosen = ["--convention", "gptq", "--convention", "llama.cpp"]
    head, *rows = invoke(commands, *words, *chosen).splitlines()
    assert head.split() == ["convention", "number", "bits", "per", "byte", "window"]
    assert [row.split()[0] for row in rows] == ["gptq", "llama.cpp"]
    out = tmp_path / "t.csv"
    invoke(commands, *words, *chosen, "--format", "csv", "--out", out)
    assert len(out.read_text().splitlines()) == 3
