"""Windows are streamed, and what is measured already is not measured again."""

import errno
import json
import math
import os
import shutil
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import lm_benchmarks as lb
import msgspec
import pytest
from lm_benchmarks.adapters.transformers import CausalModel
from lm_benchmarks.conventions.rules import REGISTRY
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.measuring.loaded_model import LoadedModel
from lm_benchmarks.measuring.models import make_inputs, open_model
from lm_benchmarks.measuring.windows import AT_ONCE, measure_windows
from lm_benchmarks.records import to_line

from tests.lm_benchmarks.adapters.test_command import UNIFORM
from tests.lm_benchmarks.conventions.test_rules import Letters
from wikitext_builder.errors import ToolkitError
from wikitext_builder.progress import no_progress

pytest.importorskip("transformers", reason="needs the package transformers")


def test_conventions_are_measured_again_by_other_code(dataset, folders, tmp_path):
    model, path = f"transformers:{folders['bos-added']}", tmp_path / "r.jsonl"
    (first,) = lb.measure_conventions(model, dataset, conventions=["gptq"], results=path)
    (stored,) = lb.read_results(path)
    older = {**stored.versions, "transformers": "4.0.0"}
    path.write_text(f"{to_line(msgspec.structs.replace(stored, versions=older, number=111.0))}\n")
    (again,) = lb.measure_conventions(model, dataset, conventions=["gptq"], results=path)
    assert again.number == first.number
    assert len(path.read_text().splitlines()) == 2


def test_windows_of_the_asked_length_are_measured_whatever_is_stored(dataset, folders, tmp_path):
    model, path = f"transformers:{folders['bos-added']}", tmp_path / "r.jsonl"
    lb.measure_conventions(model, dataset, conventions=["gptq"], results=path)
    for window in (16, 8):
        (found,) = lb.measure_conventions(model, dataset, conventions=["gptq"], results=path, window=window)
        assert found.result is not None
        assert found.result.signature["windows"] == str(window)
    assert len(path.read_text().splitlines()) == 3


def test_a_program_and_code_of_the_users_are_measured_again(dataset, tmp_path):
    """Nobody knows whether they still compute the same."""
    model = LoadedModel(name="m", identity="m", model=None, vocabulary=None)  # type: ignore[arg-type]
    assert model.is_identified
    assert not replace(model, users="module:function").is_identified
    assert not replace(model, is_program=True).is_identified
    script, path = tmp_path / "model.py", tmp_path / "r.jsonl"
    numbers: list[Any] = []
    for log in (1, 2):
        script.write_text(UNIFORM.format(size=math.exp(log)))
        command = f"command:{sys.executable} {script}"
        (found,) = lb.measure_conventions(command, dataset, conventions=["paper"], results=path)
        numbers.append(found.number)
    assert numbers[1] == pytest.approx(numbers[0] ** 2)


def test_another_configuration_of_the_same_weights_is_another_model(dataset, folders, tmp_path):
    folder = Path(shutil.copytree(folders["bos-added"], tmp_path / "model"))
    first = open_model(f"transformers:{folder}", make_inputs(dataset, "test")).identity
    assert open_model(f"transformers:{folder}", make_inputs(dataset, "test")).identity == first
    config = json.loads((folder / "config.json").read_text("utf-8"))
    (folder / "config.json").write_text(
        json.dumps({**config, "layer_norm_epsilon": 0.5, "rms_norm_eps": 0.5})
    )
    assert open_model(f"transformers:{folder}", make_inputs(dataset, "test")).identity != first


def test_a_number_for_another_vocabulary_is_not_taken(tmp_path):
    path, numbers = tmp_path / "r.jsonl", []
    for name, train in (("one", "a b c"), ("two", "a b c d e f")):
        (folder := tmp_path / name / "data").mkdir(parents=True)
        for split, text in (("train", train), ("test", "a b a")):
            (folder / f"wiki.{split}.tokens").write_text(f" {text} \n", encoding="utf-8")
        (found,) = lb.measure_conventions("unigram", folder, conventions=["paper"], results=path)
        numbers.append(found.number)
    assert numbers[0] != numbers[1]


def test_a_result_that_cannot_be_stored_ends_the_command(dataset, folders, tmp_path, monkeypatch):
    def full(_descriptor, _content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(HarnessError, match="No space left"):
        lb.measure_conventions(
            f"transformers:{folders['bos-added']}",
            dataset,
            conventions=["gptq"],
            results=tmp_path / "r.jsonl",
        )


def test_memory_is_bounded_by_the_window(tmp_path: Path):
    """Windows of 500 letters that move by one: as a list they would be 80 MB."""

    class Reads:
        longest: int | None = None
        text_pieces = Letters()

        def window_nats(self, windows):
            assert len(windows) <= AT_ONCE
            return [float(len(one.targets)) for one in windows]

    path = tmp_path / "text.raw"
    path.write_text("x" * 20_000)
    tracemalloc.start()
    found = measure_windows(REGISTRY["hf-stride"], Reads(), path, window=500, stride=1, progress=no_progress)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found.articles) == 19_501
    assert sum(one.pieces for one in found.articles) == 19_999
    assert peak < 20e6


@pytest.mark.parametrize("convention", ["gptq", "lm-eval"])
def test_a_score_that_is_no_number_is_refused(dataset, folders, monkeypatch, convention):
    whole = CausalModel.window_nats
    monkeypatch.setattr(CausalModel, "window_nats", lambda self, ws: [float("nan") for _ in whole(self, ws)])
    with pytest.raises(HarnessError, match="a score is infinite or NaN"):
        lb.measure(f"transformers:{folders['bos-added']}", dataset, convention=convention, check=False)


def test_a_raw_file_of_another_encoding_is_one_error(folders, tmp_path):
    for name in ("wiki.test.raw", "wiki.test.tokens"):
        (tmp_path / name).write_bytes(" = A = \n café \n".encode("latin-1"))
    with pytest.raises(ToolkitError, match="UTF-8"):
        lb.measure(f"transformers:{folders['bos-added']}", tmp_path, convention="gptq", check=False)
