"""The same weights as a GGUF file and as a folder of `transformers` have the same numbers.

It needs the package llama-cpp-python; LLAMA_CPP_LIB_PATH names another build of its library.
"""

from typing import Any

import lm_benchmarks as lb
import pytest
from lm_benchmarks.choices import HarnessError

from tests.cases import cases
from tests.lm_benchmarks.conventions.conftest import make_text, write_dataset
from tests.lm_benchmarks.tiny_llama import write_folder, write_gguf


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return write_dataset(tmp_path_factory.mktemp("data") / "tiny", 40)


@pytest.mark.parametrize("marks", ["bos-added", "bos-not-added"])
def test_numbers_of_all_conventions(dataset, tmp_path, marks):
    pytest.importorskip("llama_cpp", reason="needs the package llama-cpp-python")
    pytest.importorskip("transformers", reason="needs the package transformers")
    adds_bos = marks == "bos-added"
    path = write_gguf(tmp_path / "tiny.gguf", adds_bos=adds_bos)
    folder = write_folder(tmp_path / "folder", adds_bos=adds_bos)
    options: dict[str, Any] = {"conventions": ["paper", "lm-eval", "gptq", "llama.cpp", "bits-per-byte"]}
    gguf = lb.measure_conventions(f"gguf:{path}", dataset, dtype="float32", longest=128, **options)
    for one in gguf:
        name = one.convention.name
        (own,) = lb.measure(f"transformers:{folder}", dataset, convention=name, window=128, check=False)
        assert one.result is not None
        assert one.result.total.nats == pytest.approx(own.total.nats, rel=1e-5), name
        assert one.result.total.pieces == own.total.pieces
        assert (one.result.is_lossy, own.is_lossy) == (False, False)
    assert gguf[2].result is not None
    signature = gguf[2].result.signature
    assert (signature["dtype"], signature["cache"], signature["windows"]) == ("gguf", "float32", "128")


def test_the_number_is_that_of_its_program(tmp_path):
    pytest.importorskip("llama_cpp", reason="needs the package llama-cpp-python")
    raw, faults = tmp_path / "wiki.test.raw", []
    for case in cases("perplexities"):
        if case["convention"] != "llama.cpp":
            continue
        path = write_gguf(tmp_path / "tiny.gguf", adds_bos=case["marks"] == "bos-added")
        raw.write_text(make_text(case["lines"]), encoding="utf-8")
        lengths = {"window": case["window"], "stride": case["stride"], "check": case["window"] == 64}
        (found,) = lb.measure(f"gguf:{path}", raw, convention="llama.cpp", dtype="float32", **lengths)
        if found.broken or found.number != pytest.approx(case["number"], abs=2e-4):
            faults.append((case, found.number, found.broken))
    assert faults == []


def test_what_is_no_model_is_an_error(dataset, tmp_path):
    pytest.importorskip("llama_cpp", reason="needs the package llama-cpp-python")
    (tmp_path / "no.gguf").write_bytes(b"GGUF" + bytes(60))
    for name in ("no.gguf", "missing.gguf"):
        with pytest.raises(HarnessError, match=r"expected a model of llama\.cpp"):
            lb.measure(f"gguf:{tmp_path / name}", dataset, convention="gptq")
    path = write_gguf(tmp_path / "tiny.gguf", adds_bos=True)
    with pytest.raises(HarnessError, match="cache is float16 or float32"):
        lb.measure(f"gguf:{path}", dataset, convention="gptq", dtype="bfloat16")
    with pytest.raises(HarnessError, match="window 600; expected 1 to 512"):
        lb.measure(f"gguf:{path}", dataset, convention="gptq", window=600)


def test_the_package_is_named_if_it_is_missing(dataset, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "llama_cpp", None)
    with pytest.raises(HarnessError, match="needs the package llama-cpp-python"):
        lb.measure(f"gguf:{tmp_path / 'tiny.gguf'}", dataset, convention="gptq")
