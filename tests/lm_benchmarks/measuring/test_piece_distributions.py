"""Distributions of two models of pieces: those of a loop, and of llama.cpp's own program."""

import importlib
import math
import os
import re
import subprocess
from typing import Any

import lm_benchmarks as lb
import numpy as np
import pytest
import torch
from lm_benchmarks.adapters import transformers as adapter
from lm_benchmarks.adapters.transformers import CausalModel
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.measuring import distribution_texts

from tests.cases import read
from tests.lm_benchmarks.conventions.conftest import make_text, write_dataset
from tests.lm_benchmarks.tiny_causal import make_causal_model
from tests.lm_benchmarks.tiny_llama import write_folder, write_gguf

CASES = read("divergences")
NUDGE = CASES["about"]["nudge"]

pytest.importorskip("transformers", reason="needs the package transformers")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return write_dataset(tmp_path_factory.mktemp("data") / "tiny", 140)


@pytest.fixture(scope="module", params=["bos-added", "bos-not-added"])
def pair(request, tmp_path_factory):
    """Two folders of models, the second with slightly other weights, and whether they add a mark."""
    adds_bos, folder = request.param == "bos-added", tmp_path_factory.mktemp("models")
    first = write_folder(folder / "first", adds_bos=adds_bos)
    second = write_folder(folder / "second", adds_bos=adds_bos, nudge=NUDGE)
    return f"transformers:{first}", f"transformers:{second}", adds_bos


def compare(first, second, dataset, **options: Any):
    return lb.compare_distributions(first, second, dataset, device="cpu", **options)


def loop(pair, text, length):
    """KL, p and q of the right piece, whether the best one is the same, and the place in the text."""
    transformers = importlib.import_module("transformers")
    folders = [one.removeprefix("transformers:") for one in pair[:2]]
    tokenizer = transformers.AutoTokenizer.from_pretrained(folders[0])
    models = [transformers.AutoModelForCausalLM.from_pretrained(folder).eval() for folder in folders]
    cut = tokenizer(text.removesuffix("\n"), return_offsets_mapping=True)
    pieces, ends, found = cut["input_ids"], [end for _, end in cut["offset_mapping"]], []
    for begin in range(0, len(pieces) - length + 1, length):
        window = pieces[begin : begin + length]
        read = [tokenizer.bos_token_id if pair[2] else window[0], *window[1:-1]]
        with torch.no_grad():
            both = [model(torch.tensor([read])).logits[0].double().softmax(-1).tolist() for model in models]
        for place in range(length // 2 + 1, length):
            p, q = both[0][place - 1], both[1][place - 1]
            divergence = math.fsum(a * math.log(a / b) for a, b in zip(p, q, strict=True))
            right, same = window[place], p.index(max(p)) == q.index(max(q))
            found.append((divergence, p[right], q[right], same, begin + place, ends[begin + place]))
    return found


@pytest.mark.parametrize("length", [64, 101])
def test_each_number_is_that_of_a_loop(dataset, pair, length, monkeypatch):
    monkeypatch.setattr(distribution_texts, "ROWS", 9)
    found = compare(pair[0], pair[1], dataset, window=length)
    text = (dataset / "wiki.test.raw").read_text(encoding="utf-8")
    rows = loop(pair, text, length)
    whole = found.whole
    deltas = np.array([q - p for _, p, q, *_ in rows])
    assert (found.unit, found.window, found.passage, found.vocabulary) == ("pieces", length, "article", 298)
    assert whole.positions == len(rows)
    assert whole.divergence.value == pytest.approx(np.mean([row[0] for row in rows]), abs=1e-6)
    assert whole.same_best.value == pytest.approx(np.mean([row[3] for row in rows]))
    assert whole.delta.value == pytest.approx(deltas.mean(), abs=1e-7)
    assert whole.delta_rms.value == pytest.approx(math.sqrt((deltas**2).mean()), abs=1e-7)
    for quantile, value in ((0.01, whole.delta_low), (0.5, whole.delta_median), (0.99, whole.delta_high)):
        assert value == pytest.approx(np.quantile(deltas, quantile), abs=1e-6)
    starts = [text.index(f" = Article {number} = ") for number in range(0, 140, 5)]
    articles = [group for group in found.groups if group.by == "article"]
    assert [group.label for group in articles] == [f"Article {5 * at}" for at in range(len(articles))]
    for at, group in enumerate(articles):
        end = starts[at + 1] if at + 1 < len(starts) else len(text)
        own = [row for row in rows if (row[5] > starts[at] or not at) and row[5] <= end]
        assert group.positions == len(own)
        assert group.divergence.value == pytest.approx(np.mean([row[0] for row in own]), abs=1e-6)
    positions = [group for group in found.groups if group.by == "position"]
    assert sum(group.positions for group in positions) == len(rows)
    assert whole.divergence.interval is not None


def test_each_byte_belongs_to_the_article_in_which_it_stands():
    text = " \n = Né = \n é b \n = B = \n c"
    numbers, titles = distribution_texts._articles(text, range(1, len(text.encode()) + 1))
    assert titles == {0: "Né", 1: "B"}
    first = text[: text.index(" = B")].encode()
    assert numbers.tolist() == [0] * len(first) + [1] * (len(text.encode()) - len(first))


def test_a_model_is_no_different_from_itself(dataset, pair):
    found = compare(pair[0], pair[0], dataset, window=64, tokens=300).whole
    assert found.positions == 4 * 31
    assert found.divergence.value == found.delta_rms.value == 0
    assert found.same_best.value == 1


def test_a_long_window_is_read_in_parts_and_gives_the_same(dataset, pair, monkeypatch):
    options = {"window": 128, "tokens": 400}
    found = compare(pair[0], pair[1], dataset, **options)
    monkeypatch.setattr(adapter, "KEPT_AT_ONCE", 20 * 298)
    monkeypatch.setattr(distribution_texts, "ROWS", 10)
    again = compare(pair[0], pair[1], dataset, **options)
    assert again.whole.divergence.value == pytest.approx(found.whole.divergence.value, abs=1e-6)
    assert again.whole.positions == found.whole.positions


def test_other_pieces_and_other_options_are_refused(dataset, pair, tmp_path):
    other = make_causal_model(tmp_path / "other", dataset / "wiki.test.tokens", window=64)
    for second, options, message in (
        (
            f"transformers:{other}",
            {"window": 32},
            "tokenize the text differently; expected .* same token",
        ),
        (pair[1], {"window": 32, "stride": 8}, "--stride 8: windows do not overlap here"),
        (pair[1], {"window": 3}, "window 3; expected 4 to 512, what both models can read"),
        (pair[1], {"window": 512 * 4}, "window 2048; expected 1 to 512"),
    ):
        with pytest.raises(HarnessError, match=message):
            compare(pair[0], second, dataset, **options)


def test_other_sizes_of_vocabularies_are_refused(dataset, pair, tmp_path):
    transformers = importlib.import_module("transformers")
    folder = pair[1].removeprefix("transformers:")
    module = transformers.AutoModelForCausalLM.from_pretrained(folder)
    module.resize_token_embeddings(320, mean_resizing=False)
    module.save_pretrained(tmp_path / "larger")
    transformers.AutoTokenizer.from_pretrained(folder).save_pretrained(tmp_path / "larger")
    with pytest.raises(
        HarnessError, match=r"predicts 298 pieces and larger 320; expected .* same vocabulary"
    ):
        compare(pair[0], f"transformers:{tmp_path / 'larger'}", dataset)


EXACT = ["-t", "1", "-fa", "off", "-ctk", "f32", "-ctv", "f32"]


def test_a_model_of_pieces_that_breaks_a_law_is_refused(dataset, pair, monkeypatch):
    honest = CausalModel.window_nats
    monkeypatch.setattr(
        CausalModel,
        "window_nats",
        lambda self, windows: [one + len(windows) for one in honest(self, windows)],
    )
    with pytest.raises(
        HarnessError, match=r"violates \d of 5 invariants; .*batch.*That is first; --no-check compares"
    ):
        compare(pair[0], pair[1], dataset, window=64)
    assert compare(pair[0], pair[1], dataset, window=64, tokens=64, check=False).whole.positions == 31


NUMBERS = {  # by what the program calls them
    "Mean KLD": lambda whole: whole.divergence.value,
    "Mean Δp": lambda whole: whole.delta.value,
    "1.0% Δp": lambda whole: whole.delta_low,
    "Median Δp": lambda whole: whole.delta_median,
    "99.0% Δp": lambda whole: whole.delta_high,
    "RMS Δp": lambda whole: whole.delta_rms.value,
    "Same top p": lambda whole: whole.same_best.value,
    "Mean ln(PPL(Q)/PPL(base))": lambda whole: whole.second_nats - whole.first_nats,
}


def assert_as_printed(found, case):
    for name, value in case["numbers"].items():
        assert NUMBERS[name](found.whole) == pytest.approx(value, abs=1e-5), name
    assert found.whole.positions == case["positions"]


@pytest.mark.parametrize("case", CASES["cases"])
def test_the_numbers_are_those_of_llama_cpp(case, tmp_path):
    (tmp_path / "wiki.test.raw").write_text(make_text(case["lines"]), encoding="utf-8")
    adds_bos, text = case["marks"] == "bos-added", tmp_path / "wiki.test.raw"
    first = write_folder(tmp_path / "first", adds_bos=adds_bos)
    second = write_folder(tmp_path / "second", adds_bos=adds_bos, nudge=NUDGE)
    found = compare(f"transformers:{first}", f"transformers:{second}", text, window=case["window"])
    assert_as_printed(found, case)


@pytest.mark.parametrize("case", CASES["cases"])
def test_the_numbers_of_gguf_files_are_those_of_llama_cpp(case, tmp_path):
    pytest.importorskip("llama_cpp", reason="needs the package llama-cpp-python")
    (tmp_path / "wiki.test.raw").write_text(make_text(case["lines"]), encoding="utf-8")
    adds_bos, text = case["marks"] == "bos-added", tmp_path / "wiki.test.raw"
    first = write_gguf(tmp_path / "first.gguf", adds_bos=adds_bos)
    second = write_gguf(tmp_path / "second.gguf", adds_bos=adds_bos, nudge=NUDGE)
    found = compare(f"gguf:{first}", f"gguf:{second}", text, window=case["window"], dtype="float32")
    assert_as_printed(found, case)
    assert (found.passage, {group.by for group in found.groups}) == ("window", {"all"})


@pytest.mark.skipif("LLAMA_PERPLEXITY" not in os.environ, reason="needs LLAMA_PERPLEXITY: the program")
@pytest.mark.parametrize("case", CASES["cases"])
def test_the_program_prints_it_now(case, tmp_path):
    (tmp_path / "text").write_text(make_text(case["lines"]), encoding="utf-8")
    adds_bos, base = case["marks"] == "bos-added", ["--kl-divergence-base", str(tmp_path / "base")]
    first = write_gguf(tmp_path / "first.gguf", adds_bos=adds_bos)
    second = write_gguf(tmp_path / "second.gguf", adds_bos=adds_bos, nudge=NUDGE)
    common = [*EXACT, "-c", str(case["window"]), *base]
    run_program("-m", str(first), "-f", str(tmp_path / "text"), *common)
    for _ in range(8):  # sometimes it ends before all is written
        said = run_program("-m", str(second), *common, "--kl-divergence")
        if "Same top p:" in said:
            break
    printed = {}
    for line in said.splitlines():
        name, _, value = line.partition(":")
        if number := re.match(r" *(-?[\d.]+)( ± +[\d.]+)? ?(%?)", value):
            printed[" ".join(name.split())] = float(number[1]) / (100 if number[3] else 1)
    assert {name: printed[name] for name in NUMBERS} == pytest.approx(case["numbers"], abs=1e-5)


def run_program(*words):
    command = [os.environ["LLAMA_PERPLEXITY"], *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout + done.stderr
