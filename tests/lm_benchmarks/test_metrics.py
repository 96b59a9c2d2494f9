"""Each metric has one entry and one case: its number of a small text, computed by hand."""

import json
import math

import pytest
import torch
from lm_benchmarks.metrics import METRICS, sums_of

from ps_models.data.dataset import Text
from tests.conftest import ROOT
from wikitext_builder.dataset.vocabulary import EOS, UNK, Vocabulary

CASE = json.loads((ROOT / "tests" / "cases" / "metrics.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def sums():
    words = [word for line in CASE["lines"] for word in (*line.split(), EOS)]
    vocabulary = Vocabulary((UNK, EOS, "the", "@-@", "cat"))
    count = sum(len(line.encode()) + 1 for line in CASE["lines"])
    nats = torch.tensor(CASE["bits"], dtype=torch.float64) * math.log(2)
    text = Text(torch.tensor(vocabulary.encode(words)), count)
    return sums_of(text, nats, vocabulary, pieces=CASE["pieces"], page=CASE["page"])


@pytest.mark.parametrize("name", METRICS)
def test_each_metric_has_the_number_of_its_case(sums, name):
    assert METRICS[name].of(sums) == pytest.approx(CASE["metrics"][name], rel=1e-8)


def test_each_case_is_of_a_metric():
    assert CASE["metrics"].keys() == METRICS.keys()
