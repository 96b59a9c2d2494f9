"""Windows are streamed, and a measurement that is killed resumes inside a convention."""

import errno
import json
import math
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import lm_benchmarks as lb
import msgspec
import pytest
from lm_benchmarks.adapters.transformers import CausalModel
from lm_benchmarks.conventions.convention import Window
from lm_benchmarks.conventions.rules import REGISTRY
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.measuring.loaded_model import LoadedModel
from lm_benchmarks.measuring.models import make_inputs, open_model
from lm_benchmarks.measuring.windows import AT_ONCE, ScoreCache, cached_scores, measure_windows
from lm_benchmarks.records import to_line

from tests.lm_benchmarks.adapters.test_command import UNIFORM
from tests.lm_benchmarks.conventions.conftest import make_text
from tests.lm_benchmarks.conventions.test_rules import Letters
from wikitext_builder.errors import ToolkitError
from wikitext_builder.progress import no_progress

pytest.importorskip("transformers", reason="needs the package transformers")

KILLED = """
import os, signal, sys
import lm_benchmarks as lb

def progress(stage, done, total, note=""):
    if note == sys.argv[4] and done >= 3 * 64:
        os.kill(os.getpid(), signal.SIGKILL)

model, data, results, _, *how = sys.argv[1:]
if how[0] == "conventions":
    lb.measure_conventions(model, data, conventions=how[1:], results=results, progress=progress)
else:
    lb.measure(model, data, convention=how[0], window=16, stride=4, results=results, check=False,
               progress=progress)
"""


def kill(*words):
    process = subprocess.run([sys.executable, "-c", KILLED, *map(str, words)], capture_output=True)
    assert process.returncode == -signal.SIGKILL, process.stderr[-800:]


def kept(path):
    return list(path.parent.glob("*.windows"))


def test_run_resumes_after_a_kill_with_scores_of_the_same_model_only(dataset, folders, tmp_path, counted):
    model, path = f"transformers:{folders['bos-added']}", tmp_path / "r.jsonl"
    options: dict[str, Any] = {"convention": "hf-stride", "window": 16, "stride": 4, "check": False}
    (whole,) = lb.measure(model, dataset, **options)
    everything = sum(counted)
    kill(model, dataset, path, "hf-stride", "hf-stride")
    assert not path.exists()
    (memory,) = kept(path)
    with sqlite3.connect(memory) as database:
        ((stored,),) = database.execute("SELECT count(*) FROM scores")
    assert 2 * AT_ONCE < stored <= 3 * AT_ONCE  # a few windows are the same
    others: list[tuple[str, dict[str, Any]]] = [
        (f"transformers:{folders['bos-not-added']}", {}),
        (model, {"attention": "eager"}),
        (model, {"dtype": "bfloat16"}),
    ]
    for other, more in others:
        counted.clear()
        (found,) = lb.measure(other, dataset, results=path, **options, **more)
        assert sum(counted) > len(found.articles) - 20  # a few windows are the same
    assert kept(path) == [memory]
    counted.clear()
    (resumed,) = lb.measure(model, dataset, results=path, **options)
    assert sum(counted) == everything - stored
    assert resumed.number == pytest.approx(whole.number, rel=1e-6)
    assert resumed.signature == whole.signature
    assert not memory.exists()
    assert len(path.read_text().splitlines()) == 4


def test_conventions_resume_after_a_kill(folders, tmp_path, counted):
    model, path = f"transformers:{folders['bos-added']}", tmp_path / "r.jsonl"
    (long := tmp_path / "long").mkdir()
    (long / "wiki.test.raw").write_text(make_text(400), encoding="utf-8")
    (long / "wiki.test.tokens").write_text(make_text(400), encoding="utf-8")
    names = ["lm-eval", "evaluate"]
    whole = lb.measure_conventions(model, long, conventions=names)
    everything = sum(counted)
    kill(model, long, path, "evaluate", "conventions", *names)
    assert [result.signature["convention"] for result in lb.read_results(path)] == ["lm-eval.wikitext.2"]
    counted.clear()
    resumed = lb.measure_conventions(model, long, conventions=names, results=path)
    assert [one.number for one in resumed] == pytest.approx([one.number for one in whole], rel=1e-6)
    assert 0 < sum(counted) < everything / 2
    assert lb.read_results(path)[-1].seconds == 0.0  # of scores that were stored, no speed is known
    assert not kept(path)


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


def test_measurements_of_two_texts_keep_their_scores_apart(dataset, folders, tmp_path):
    """As two processes on one file of results do: each removes its own scores at its end."""
    inputs, path = make_inputs(dataset, "test"), tmp_path / "r.jsonl"
    loaded = open_model(f"transformers:{folders['bos-added']}", inputs)
    here, elsewhere = inputs.dataset, replace(inputs.dataset, path=tmp_path / inputs.dataset.name)
    with cached_scores(loaded, here, path, "fp32", text="test gptq") as first:
        # The last one measures the same: both use the same scores.
        for other, text, files in (
            (here, "valid gptq", 2),
            (elsewhere, "test gptq", 2),
            (here, "test gptq", 1),
        ):
            with cached_scores(loaded, other, path, "fp32", text=text):
                assert len(kept(path)) == files
            assert len(kept(path)) == 1
        assert first.reader is not None
        assert first.reader.window_nats([Window([1, 2], [2, 3], 2)])
    assert not kept(path)


def test_a_result_that_cannot_be_stored_ends_the_command_and_keeps_the_scores(
    dataset, folders, tmp_path, monkeypatch
):
    def full(_descriptor, _content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    model, path = f"transformers:{folders['bos-added']}", tmp_path / "r.jsonl"
    lb.measure_conventions(model, dataset, conventions=["lm-eval"], results=path)
    with monkeypatch.context() as disk:
        disk.setattr(os, "write", full)
        with pytest.raises(HarnessError, match="No space left"):
            lb.measure_conventions(model, dataset, conventions=["gptq", "evaluate"], results=path)
    (memory,) = kept(path)
    memory.write_bytes(b"not a database" * 99)
    path.unlink()
    with pytest.raises(HarnessError, match="Remove the file"):
        lb.measure_conventions(model, dataset, conventions=["gptq", "evaluate"], results=path)


def test_a_memory_that_is_none_is_an_error(tmp_path):
    class Silent:
        longest: int | None = None
        text_pieces: Any = None

        def window_nats(self, windows):
            return []

    (tmp_path / "r.windows").write_text("not a database, but long enough to look like a file of one" * 9)
    with pytest.raises(HarnessError, match="Remove the file"):
        ScoreCache(Silent(), tmp_path / "r.windows")
    with sqlite3.connect(tmp_path / "other.windows") as other:
        other.execute("CREATE TABLE scores (title TEXT)")
    with pytest.raises(HarnessError, match="Remove the file"):
        ScoreCache(Silent(), tmp_path / "other.windows").window_nats([])


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
