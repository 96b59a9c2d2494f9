"""lm-evaluation-harness' conventions: its counts on the official files, and its own package's numbers."""

import json
import math
import os
import re
import subprocess

import pytest
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.lm_eval import plain_text, read_pages, word_count
from lm_benchmarks.measuring.models import Inputs, open_model
from lm_benchmarks.measuring.passages import vocabulary_of
from lm_benchmarks.measuring.run import Protocol, measure_opened
from lm_benchmarks.metrics import METRICS

from tests.conftest import data as real_data
from tests.lm_benchmarks.tiny_causal import make_causal_model, make_sentence_model
from tests.ps_models.tiny import make_dataset
from wikitext_builder.dataset.load import load as load_dataset

PACKAGE = "LM_EVAL_PYTHON"  # names a Python that has lm_eval, in a virtual environment of its own


@pytest.mark.parametrize(
    ("name", "pages", "words"),
    [
        ("wikitext-2/wiki.test.tokens", 62, 241_335),  # 241,211 words, and two ends of 62 pages
        ("wikitext-2/wiki.valid.tokens", 60, 214_006),
        ("wikitext-2-raw/wiki.valid.raw", 60, 214_006),
    ],
)
def test_the_official_files_have_the_tasks_pages_and_words(name, pages, words):
    read = list(read_pages(real_data(name)))
    assert len(read) == pages
    assert sum(map(word_count, read)) == words


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("the ship 's crew", "the ship's crew"),
        ("the ships ' crews", "the ships' crews"),
        ("was ' monitors '", "was'monitors'"),  # one of its defects
        ("vitamin N is", "vitamin 1 is"),  # another, made for the Penn Treebank
        ("well @-@ known , 1 @,@ 000 and 1 @.@ 5", "well-known, 1,000 and 1.5"),
        ('( x ) [ y ] { z } " q "', '(x) [y] {z} "q"'),
        (" = = Life = = \n a : b ; c . d ! e ? ", " == Life ==\na: b; c. d! e? "),
        ("20 ° C", "20°C"),
        ("a /' 5/ b /' x/", "a /'[0-9]/ b /' x/"),  # its regular expression, with its defect
    ],
)
def test_the_tasks_rules(page, expected):
    assert plain_text(page) == expected


def test_pages_begin_at_whatever_looks_like_a_title(tmp_path):
    path = tmp_path / "x.raw"
    path.write_text(" \n = A = \n \n x \n = y is = \n z \n \n = B = \n \n = = C = = \n w \n")
    assert [re.findall(r"\w+", page) for page in read_pages(path)] == [
        ["A", "x"],
        ["y", "is", "z"],
        ["B", "C", "w"],
    ]
    path.write_text(" \n \n")
    with pytest.raises(HarnessError, match="is blank"):
        list(read_pages(path))


SCRIPT = """
import json, sys
from lm_eval.models.huggingface import HFLM
from lm_eval.tasks.wikitext import preprocess_wikitext as task

class Request:
    def __init__(self, text):
        self.args = (text,)

pages = json.load(open(sys.argv[1]))
model = HFLM(pretrained=sys.argv[2], device="cpu", batch_size=1)
nats = words = octets = 0
for page in pages:
    text = task.wikitext_detokenizer({"page": page})
    (found,) = model.loglikelihood_rolling([Request(text)], disable_tqdm=True)
    numbers = task.process_results({"page": page}, (found if isinstance(found, float) else found[0],))
    nats -= numbers["word_perplexity"][0]
    words += numbers["word_perplexity"][1]
    octets += numbers["byte_perplexity"][1]
print(json.dumps([nats, words, octets]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("make", [make_causal_model, make_sentence_model])
def test_its_own_package_gives_the_same_numbers(tmp_path, make):
    """Nats, words and bytes of the task by its own code, on pages longer than the model's window.

    The package is large, so that it is not one of ours: `python -m venv X`, `X/bin/pip install lm-eval[hf]`,
    then LM_EVAL_PYTHON=X/bin/python. Version 0.4.13 did.
    """
    if PACKAGE not in os.environ:
        pytest.skip(f"needs {PACKAGE}, a Python with lm-evaluation-harness (pip install lm-eval[hf])")
    pytest.importorskip("transformers", reason="needs the package transformers")
    data = make_dataset(tmp_path)
    text = (data / "wiki.test.tokens").read_text()
    (data / "wiki.test.raw").write_text(
        text.replace("the cat", "the cat 's N ( so @-@ so ) , 1 @,@ 5 /' 5/ x")
    )
    (tmp_path / "causal").mkdir()
    causal = make(tmp_path / "causal", data / "wiki.train.tokens", window=32)
    dataset = load_dataset(data)
    inputs = Inputs(dataset=dataset, vocabulary=vocabulary_of(dataset, "test"))
    opened = open_model(f"transformers:{causal}", inputs)
    found = measure_opened(opened, inputs, Protocol(convention="lm-eval"))
    (tmp_path / "pages.json").write_text(json.dumps(list(read_pages(data / "wiki.test.raw"))))
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": ""}
    process = subprocess.run(
        [os.environ[PACKAGE], "-c", SCRIPT, str(tmp_path / "pages.json"), str(causal)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=tmp_path,
    )
    assert process.returncode == 0, process.stderr[-2000:]
    nats, words, octets = json.loads(process.stdout.splitlines()[-1])
    assert found.signature["windows"] == "disjoint-backfilled"
    total = found.total
    assert (total.page_words, total.page_bytes) == (words, octets)
    assert total.nats == pytest.approx(nats, rel=1e-6)
    assert METRICS["lm-eval-word-perplexity"].of(total) == pytest.approx(math.exp(nats / words), rel=1e-6)
    assert METRICS["lm-eval-byte-perplexity"].of(total) == pytest.approx(math.exp(nats / octets), rel=1e-6)


def test_a_word_model_is_measured_by_pages_too(inputs, data):
    opened = open_model("unigram", inputs)
    found = measure_opened(opened, inputs, Protocol(convention="lm-eval"))
    text = (data / "wiki.test.tokens").read_text()
    assert found.signature["context"] == "article"
    assert found.signature["text"] == "tokens"
    assert found.total.page_words == len(text.split()) + 2 * text.count("= Article")
    assert found.total.page_bytes == len(text.encode()) - text.count("= Article") - 1
