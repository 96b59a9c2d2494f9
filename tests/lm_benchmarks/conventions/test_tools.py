"""Conventions against the tools themselves, where a Python that has them is named.

`evaluate` 0.4.6: `python -m venv X`, `X/bin/pip install evaluate transformers torch`,
EVALUATE_PYTHON=X/bin/python, and EVALUATE_METRIC=FOLDER, the folder metrics/perplexity of its repository (the
package loads it from the hub, or from a folder). lm-evaluation-harness: tests/lm_benchmarks/test_lm_eval.py.
"""

import importlib
import json
import os
import shutil
import subprocess

import pytest
from lm_benchmarks.adapters.transformers import load_causal_model
from lm_benchmarks.conventions.rules import REGISTRY
from lm_benchmarks.measuring.windows import measure_windows

from wikitext_builder.dataset.vocabulary import EOS, UNK, Vocabulary
from wikitext_builder.progress import no_progress

NEEDED = ("EVALUATE_PYTHON", "EVALUATE_METRIC")
SCRIPT = """
import json, sys
import evaluate

folder, model, path, max_length = sys.argv[1:]
rows = [line for line in open(path, encoding="utf-8") if line.strip()]
limit = {"max_length": int(max_length)} if max_length else {}
metric = evaluate.load(folder)
found = metric.compute(predictions=rows, model_id=model, device="cpu", batch_size=5, **limit)
print(json.dumps([float(found["mean_perplexity"]), found["perplexities"]]))
"""


@pytest.mark.slow
@pytest.mark.skipif(
    not set(NEEDED) <= set(os.environ), reason=f"needs {' and '.join(NEEDED)}: the package and its metric"
)
@pytest.mark.parametrize("max_length", [None, 20])
def test_the_package_evaluate_gives_the_same_number(dataset, folders, kind, tmp_path, max_length):
    if max_length and kind == "no-bos":
        pytest.skip("its max_length needs a mark of a start")
    folder = shutil.copytree(folders[kind], tmp_path / "model")
    transformers = importlib.import_module("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokenizer.pad_token = tokenizer.eos_token  # without one the metric fails with transformers 5
    tokenizer.save_pretrained(folder)
    path = dataset / "wiki.test.raw"
    process = subprocess.run(
        [
            os.environ["EVALUATE_PYTHON"],
            "-c",
            SCRIPT,
            os.environ["EVALUATE_METRIC"],
            str(folder),
            str(path),
            str(max_length or ""),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": "", "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hf")},
    )
    assert process.returncode == 0, process.stderr[-2000:]
    mean, perplexities = json.loads(process.stdout.splitlines()[-1])
    model = load_causal_model(str(folder), Vocabulary((UNK, EOS, "the")))
    ours = measure_windows(
        REGISTRY["evaluate"], model, path, window=max_length, stride=None, progress=no_progress
    )
    assert len(ours.articles) == len(perplexities) > 30
    assert ours.number == pytest.approx(mean, rel=1e-5)
