"""lm-evaluation-harness' conventions: its counts on the official files, and its own package's numbers."""

import json
import os
import re
import subprocess
from typing import Any

import lm_benchmarks as lb
import pytest
from lm_benchmarks.choices import HarnessError
from lm_benchmarks.conventions.rules import CONVENTIONS
from lm_benchmarks.lm_eval import plain_text, read_pages, word_count
from lm_benchmarks.measuring.models import open_model
from lm_benchmarks.measuring.run import Protocol, measure_loaded
from lm_benchmarks.metrics import METRICS

from tests.conftest import data as real_data
from tests.lm_benchmarks.tiny_causal import make_causal_model, make_sentence_model
from tests.ps_models.tiny import make_dataset

PACKAGE = "LM_EVAL_PYTHON"  # names a Python that has lm_eval, in a virtual environment of its own


def test_the_official_files_have_the_tasks_pages_and_words():
    expected = {
        "wikitext-2/wiki.test.tokens": (62, 241_335),  # 241,211 words, and two ends of 62 pages
        "wikitext-2/wiki.valid.tokens": (60, 214_006),
        "wikitext-2-raw/wiki.valid.raw": (60, 214_006),
    }
    read = {name: list(read_pages(real_data(name))) for name in expected}
    assert {name: (len(pages), sum(map(word_count, pages))) for name, pages in read.items()} == expected


def test_the_tasks_rules():
    expected = {
        "the ship 's crew": "the ship's crew",
        "the ships ' crews": "the ships' crews",
        "was ' monitors '": "was'monitors'",  # one of its defects
        "vitamin N is": "vitamin 1 is",  # another, made for the Penn Treebank
        "well @-@ known , 1 @,@ 000 and 1 @.@ 5": "well-known, 1,000 and 1.5",
        '( x ) [ y ] { z } " q "': '(x) [y] {z} "q"',
        " = = Life = = \n a : b ; c . d ! e ? ": " == Life ==\na: b; c. d! e? ",
        "20 ° C": "20°C",
        "a /' 5/ b /' x/": "a /'[0-9]/ b /' x/",  # its regular expression, with its defect
    }
    assert {page: plain_text(page) for page in expected} == expected


def test_pages_begin_at_whatever_looks_like_a_title(tmp_path):
    path = tmp_path / "x.raw"
    path.write_text(" \n = A = \n \n x \n = y is = \n z \n \n = B = \n \n = = C = = \n w \n")
    pages = [re.findall(r"\w+", page) for page in read_pages(path)]
    assert pages == [["A", "x"], ["y", "is", "z"], ["B", "C", "w"]]
    for text, why in ((b" \n \n", "is blank"), (b" \n = A = \r\n x\n", "carriage returns")):
        path.write_bytes(text)
        with pytest.raises(HarnessError, match=why):
            list(read_pages(path))


@pytest.fixture
def raw_data(tmp_path):
    """A dataset whose raw file has something for each kind of rule."""
    data = make_dataset(tmp_path)
    text = (data / "wiki.test.tokens").read_text()
    (data / "wiki.test.raw").write_text(
        text.replace("the cat", "the cat 's N ( so @-@ so ) , 1 @,@ 5 /' 5/ x")
    )
    return data


@pytest.mark.skipif(
    PACKAGE not in os.environ,
    reason=f"needs {PACKAGE}, a Python with lm-evaluation-harness (pip install lm-eval[hf])",
)
@pytest.mark.slow
@pytest.mark.parametrize("make", [make_causal_model, make_sentence_model])
def test_its_own_program_runs_our_task_to_the_same_numbers(tmp_path, raw_data, make):
    """The package is large, so that it is not one of ours: `python -m venv X`, and in it `lm-eval[hf]`.

    Then LM_EVAL_PYTHON=X/bin/python. Version 0.4.13 did.
    """
    causal = make(tmp_path / "causal", raw_data / "wiki.train.tokens", window=32)
    (found,) = lb.measure(f"transformers:{causal}", raw_data, convention="lm-eval", device="cpu")
    task = lb.lm_eval_task(raw_data, tmp_path / "tasks")
    moved = (tmp_path / "tasks").rename(tmp_path / "moved")  # a task names no path
    words = ["--model", "hf", "--model_args", f"pretrained={causal}", "--device", "cpu", "--batch_size", "1"]
    where = ["--tasks", task.name, "--include_path", str(moved), "--output_path", str(tmp_path / "out")]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hf"), "PYTHONPATH": ""}
    line = [os.environ[PACKAGE], "-m", "lm_eval", *words, *where]
    done = subprocess.run(line, capture_output=True, text=True, check=False, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    (file,) = (tmp_path / "out").rglob("results_*.json")
    stored = json.loads(file.read_text())
    for name in ("word_perplexity", "byte_perplexity", "bits_per_byte"):
        ours = METRICS[f"lm-eval-{name.replace('_', '-')}"].of(found.total)
        assert ours == pytest.approx(stored["results"][task.name][f"{name},none"], rel=1e-6)
    assert stored["configs"][task.name]["metadata"]["data"] == found.signature["data"]
    assert stored["versions"][task.name] == int(CONVENTIONS["lm-eval"].rpartition(".")[2])


def test_a_task_holds_the_pages_of_a_split(tmp_path, raw_data):
    yaml = pytest.importorskip("yaml", reason="reads a task")
    task = lb.lm_eval_task(raw_data, tmp_path / "tasks")
    assert sorted(path.name for path in task.iterdir()) == ["pages.jsonl", "pages.py", "tiny-test.yaml"]
    pages = [json.loads(line)["page"] for line in (task / "pages.jsonl").read_text().splitlines()]
    assert pages == list(read_pages(raw_data / "wiki.test.raw"))
    functions: Any = type("Loader", (yaml.SafeLoader,), {})
    functions.add_constructor("!function", lambda loader, node: loader.construct_scalar(node))
    config = yaml.load((task / "tiny-test.yaml").read_text(), functions)
    assert (config["task"], config["custom_dataset"]) == ("tiny-test", "pages.read_pages")
    assert config["doc_to_decontamination_query"] == "{{page}}"
    compile((task / "pages.py").read_text(), "pages.py", "exec")
    assert lb.lm_eval_task(raw_data, tmp_path / "tasks") == task  # again
    for name in ("tiny-test.yaml", "pages.py", "pages.jsonl"):  # edited, or of other data with this name
        kept = (task / name).read_bytes()
        (task / name).write_bytes(kept + b"\n# mine\n")
        with pytest.raises(HarnessError, match=f"{name}: is of another task of this name, or was edited"):
            lb.lm_eval_task(raw_data, tmp_path / "tasks")
        (task / name).write_bytes(kept)
    with pytest.raises(HarnessError, match=r"wiki\.valid\.raw: not found"):
        lb.lm_eval_task(raw_data, tmp_path / "tasks", split="valid")
    (tmp_path / "file").write_text("")
    with pytest.raises(HarnessError, match="expected a folder to write the task to"):
        lb.lm_eval_task(raw_data, tmp_path / "file")


def test_a_word_model_is_measured_by_pages_too(inputs, data):
    loaded = open_model("unigram", inputs)
    found = measure_loaded(loaded, inputs, Protocol(convention="lm-eval"))
    text = (data / "wiki.test.tokens").read_text()
    assert found.signature["context"] == "article"
    assert found.signature["text"] == "tokens"
    assert found.total.page_words == len(text.split()) + 2 * text.count("= Article")
    assert found.total.page_bytes == len(text.encode()) - text.count("= Article") - 1
