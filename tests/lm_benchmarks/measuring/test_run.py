"""What is counted when a model is measured: on the official files, and in groups counted by hand."""

import math
import re
import time
from collections import Counter
from datetime import UTC, datetime

import lm_benchmarks as lb
import pytest
import torch
from lm_benchmarks.measuring.measure import measure
from lm_benchmarks.measuring.models import make_inputs, open_model
from lm_benchmarks.measuring.passages import groups_of, read_passages, vocabulary_of
from lm_benchmarks.measuring.run import Protocol, measure_loaded
from lm_benchmarks.metrics import METRICS, Sums
from lm_benchmarks.records import from_json, to_line
from msgspec.structs import replace

from ps_models.dataset import read_stream
from ps_models.scoring import train_counts
from tests.conftest import data as real_data
from tests.lm_benchmarks.cheats import NotANumber, Uniform, loaded
from tests.lm_benchmarks.results import RESULT, error_of, signed
from wikitext_builder.article import SPLITS
from wikitext_builder.dataset.load import load as load_dataset
from wikitext_builder.dataset.vocabulary import EOS, UNK, Vocabulary
from wikitext_builder.tokens.detokenizer import detokenize_line


@pytest.mark.parametrize(
    ("name", "tokens", "eos", "passages", "unit"),
    [("wikitext-2", 245_569, 4_358, 60, "article"), ("ptb", 82_430, 3_761, 38, "100-lines")],
)
def test_the_official_files_have_the_papers_tokens(name, tokens, eos, passages, unit):
    inputs = make_inputs(real_data(name), "test")
    found = measure_loaded(open_model("unigram", inputs), inputs, Protocol(check=False))
    total = found.total
    assert (total.tokens, total.eos, len(found.articles)) == (tokens, eos, passages)
    assert found.signature["passage"] == unit
    assert len(found.titles) == (passages if unit == "article" else 0)
    path = inputs.dataset.file("test")
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    assert total.text_bytes == sum(len(detokenize_line(line, None).encode()) + 1 for line in lines)
    assert total.bytes == sum(len(line.encode()) + 1 for line in lines)
    assert total.unknown == Counter(word for line in lines for word in line.split())[UNK]
    for by in {group.by for group in found.groups}:
        groups = [group for group in found.groups if group.by == by]
        assert sum(group.tokens for group in groups) == tokens
        assert sum(group.nats for group in groups) == pytest.approx(total.nats)


def test_metrics_of_a_uniform_model_are_its_size(inputs):
    size = len(inputs.vocabulary)
    began, written = time.monotonic(), datetime.now(UTC).replace(microsecond=0)
    found = measure_loaded(loaded(Uniform(size), inputs), inputs, Protocol())
    values = {name: metric.of(found.total) for name, metric in METRICS.items()}
    for name in ("perplexity", "perplexity-without-eos", "perplexity-known", "piece-perplexity"):
        assert values[name] == pytest.approx(size)
    bits = found.total.tokens * math.log2(size)
    assert values["bits-per-byte"] == pytest.approx(bits / found.total.text_bytes)
    assert values["lm-eval-word-perplexity"] is None
    assert 0 < found.seconds < time.monotonic() - began
    assert written <= datetime.fromisoformat(found.written) <= datetime.now(UTC)


def test_articles_of_a_record_have_their_titles():
    inputs = make_inputs(real_data("wikitext-2"), "test")
    titles = [article.title for article in inputs.dataset.articles("test")]
    assert len(titles) == 60
    for convention in ("paper", "lm-eval"):  # lines that only look like titles begin lm-eval's pages too
        protocol = Protocol(check=False, groups=False, convention=convention)
        found = measure_loaded(open_model("unigram", inputs), inputs, protocol)
        assert len(found.titles) == len(found.articles)
        assert [title for title in found.titles if convention == "paper" or title in set(titles)] == titles
        line, without = map(to_line, (found, replace(found, titles=())))
        assert len(line) < 1.15 * len(without)
        assert from_json(line) == found


def test_a_number_below_what_any_model_reaches_per_byte_is_doubted(tmp_path):
    """0.1571 nats per token, a perplexity of 1.17, are 0.04 bits of each byte on Penn Treebank's test."""
    faults = []
    for nats, split, warned in (
        (0.1571, "test", "0.04 bits"),
        (0.1571, "train", ""),
        (4.6, "test", ""),
        (1.7, "valid", "0.47 bits"),
    ):
        sums = Sums(nats=1000 * nats, tokens=1000, pieces=1000, text_bytes=5200, bytes=5200, file_bytes=5200)
        result = replace(signed(RESULT, split=split), articles=(sums,), groups=())
        if warned not in result.warning or bool(result.warning) != bool(warned):
            faults.append((nats, split, result.warning))
        (tmp_path / "results.jsonl").write_text(to_line(result) + "\n")
        for ending in ("html", "md", "tex"):
            text = lb.report(tmp_path / "results.jsonl", tmp_path / f"report.{ending}").read_text()
            if ("bits per byte is less than any published model needs" in text) != bool(warned):
                faults.append((nats, split, ending))
    assert faults == []


def test_scores_that_are_no_numbers_are_refused(inputs):
    why = error_of(measure_loaded, loaded(NotANumber(3), inputs, "nan"), inputs, Protocol(check=False))
    assert re.search(r"nan: .* expected a finite log-probability", why)


def test_blocks_are_the_whole_file_in_order(tmp_path):
    (tmp_path / "test.txt").write_text("".join(f" a b {number} \n" for number in range(250)))
    dataset = load_dataset(tmp_path)
    vocabulary = vocabulary_of(dataset, "test")
    unit, passages = read_passages(dataset, "test", vocabulary)
    assert (unit, [len(passage.text.tokens) for passage in passages]) == ("100-lines", [400, 400, 200])
    whole = torch.cat([passage.text.tokens for passage in passages])
    assert vocabulary.decode(whole[:4].tolist()) == ["a", "b", "0", EOS]
    assert sum(p.text.bytes for p in passages) == sum(len(f"a b {n}\n") for n in range(250))
    unit, (only,) = read_passages(dataset, "test", vocabulary, context="article")
    assert unit == "article"
    assert torch.equal(only.text.tokens, whole)
    assert "paper or lm-eval" in error_of(Protocol, convention="mine")


WORDS = Vocabulary((UNK, EOS, "the", "cat", "dodo"))
COUNTS = torch.tensor([50, 20, 1000, 7, 0])
PASSAGES = [
    ([2, 3, 1, 0], [1.0, 2.0, 4.0, 8.0]),
    ([2, 4, 2, 1], [16.0, 32.0, 64.0, 128.0]),
]


def test_groups_by_hand():
    groups = groups_of(PASSAGES, WORDS, COUNTS)
    assert {(group.by, group.label): (group.tokens, group.nats) for group in groups} == {
        ("frequency", "0"): (1, 32.0),
        ("frequency", "1-9"): (1, 2.0),
        ("frequency", "1,000-9,999"): (3, 81.0),
        ("frequency", "<eos>"): (2, 132.0),
        ("frequency", "<unk>"): (1, 8.0),
        ("position", "0"): (2, 17.0),
        ("position", "1-9"): (6, 238.0),
    }
    assert {group.by for group in groups_of(PASSAGES, WORDS, None)} == {"position"}
    assert {group.by for group in groups_of(PASSAGES, WORDS, COUNTS, articles=False)} == {"frequency"}


def test_parts_of_the_text_add_up_to_each_group():
    long = [([2, 3, 4, 1] * 30, [1.0, 2.0, 4.0, 8.0] * 30)]
    for group in (*groups_of(PASSAGES, WORDS, COUNTS), *groups_of(long, WORDS, COUNTS)):
        assert len(group.parts) == 20
        assert sum(tokens for tokens, _ in group.parts) == group.tokens
        assert sum(nats for _, nats in group.parts) == pytest.approx(group.nats)
    (ends,) = (group for group in groups_of(long, WORDS, COUNTS) if group.label == "<eos>")
    assert {tokens for tokens, _ in ends.parts} == {1, 2}  # 6 tokens in each part


def test_counts_are_those_of_train(inputs):
    counts = train_counts(inputs.dataset, inputs.vocabulary)
    assert counts is not None
    text = inputs.dataset.file("train").read_text()
    assert int(counts[inputs.vocabulary.ids["the"]]) == text.split().count("the")
    assert int(counts[inputs.vocabulary.ids[EOS]]) == text.count("\n")
    stream = read_stream(inputs.dataset, "train", inputs.vocabulary)
    assert torch.equal(counts, torch.bincount(stream, minlength=len(inputs.vocabulary)))


def test_what_a_model_read_of_one_split_does_not_help_it_on_another(data):
    """Each split is measured with a model that was opened for it."""

    def nats(*splits):
        found = measure("tests.lm_benchmarks.cheats:recalls", data, splits=splits, check=False, groups=False)
        return [one.total.nats for one in found]

    assert nats("valid", "test") == nats("valid") + nats("test")


def test_an_own_text_has_the_numbers_of_the_same_tokens_in_wikitexts_layout(data, tmp_path):
    for split in SPLITS:
        text = (data / f"wiki.{split}.tokens").read_text(encoding="utf-8")
        (tmp_path / f"{split}.txt").write_text(text.replace(" \n", "\n").replace("\n ", "\n").lstrip(" "))
    for model in ("unigram", "kn-5+cache"):
        own, official = (lb.measure(model, folder, check=False)[0] for folder in (tmp_path, data))
        assert own.articles == official.articles
        assert (own.titles, own.groups) == (official.titles, official.groups)
