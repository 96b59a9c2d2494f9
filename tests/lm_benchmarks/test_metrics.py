"""Each metric has one entry and one case: its number of a small text, computed by hand."""

import math
from typing import Any

import pytest
import torch
from lm_benchmarks.metrics import METRICS, Sums, sums_of, sums_of_page
from msgspec.structs import replace

from ps_models.dataset import Text
from ps_models.signature import Score
from tests.cases import read
from wikitext_builder.dataset.vocabulary import EOS, UNK, Vocabulary

CASE = read("metrics")


@pytest.fixture
def sums():
    words = [word for line in CASE["lines"] for word in (*line.split(), EOS)]
    vocabulary = Vocabulary((UNK, EOS, "the", "@-@", "cat"))
    count = sum(len(line.encode()) + 1 for line in CASE["lines"])
    nats = torch.tensor(CASE["bits"], dtype=torch.float64) * math.log(2)
    text = Text(torch.tensor(vocabulary.encode(words)), count)
    return sums_of(text, nats, vocabulary, pieces=CASE["pieces"], page=CASE["page"])


def test_each_metric_has_the_number_of_its_case(sums):
    assert {name: metric.of(sums) for name, metric in METRICS.items()} == pytest.approx(
        CASE["metrics"], rel=1e-8
    )
    assert [name for name, metric in METRICS.items() if metric.of(Sums()) is not None] == []


def test_a_page_of_plain_text_is_counted_as_lm_evaluation_harness_counts_it():
    page = " = É = \n \n It 's 1 @,@ 500 . \n"  # as plain text: " = É =\n\nIt's 1,500.\n"
    assert sums_of_page(page, 7.5, pieces=9) == Sums(
        nats=7.5, pieces=9, text_bytes=21, page_words=11, page_bytes=31, file_bytes=31
    )


def test_pages_are_counted_only_where_they_are_given(sums):
    vocabulary = Vocabulary((UNK, EOS, "cat"))
    without = sums_of(Text(torch.tensor([2, 1]), 4), torch.tensor([3.0, 1.0]), vocabulary, pieces=5)
    assert without == Sums(nats=4, eos_nats=1, tokens=2, eos=1, pieces=5, bytes=4, text_bytes=4)
    assert (sums.unknown, sums.page_words) == (1, 6)


def test_words_that_the_model_lacks_are_its_unknown_ones():
    vocabulary = Vocabulary((UNK, EOS, "cat", "dodo"))
    text, nats = Text(torch.tensor([2, 3, 1]), 9), torch.tensor([1.0, 2.0, 4.0])
    known = sums_of(text, nats, vocabulary, pieces=3)
    fewer = sums_of(text, nats, vocabulary, pieces=3, read=torch.tensor([2, 0, 1]))
    assert (known.unknown, known.unknown_nats) == (0, 0)
    assert fewer == replace(known, unknown=1, unknown_nats=2.0)


def test_sums_of_stretches_add_up_field_by_field():
    one, ten, eleven = (
        Sums(**{name: factor * number for number, name in enumerate(Sums.__struct_fields__, start=1)})
        for factor in (1, 10, 11)
    )
    assert one + ten == eleven
    assert Sums(nats=2.0, tokens=3, bytes=7, text_bytes=5).score == Score(2.0, 3, 7)


def test_sums_are_sound_if_they_can_be_of_a_text():
    whole = Sums(nats=9.0, tokens=5, pieces=5)
    sound = [{"eos": 2, "unknown": 3}, {"nats": -1.0}]  # of densities; a check of the laws says more
    more_than_all_tokens = {"eos": 3, "unknown": 3}
    unsound = [more_than_all_tokens, {"pieces": -1}, {"nats": math.inf}, {"unknown_nats": math.nan}]
    changed: list[Any] = [{}, *sound, *unsound]
    assert [replace(whole, **fields).is_sound for fields in changed] == [True] * 3 + [False] * 4
