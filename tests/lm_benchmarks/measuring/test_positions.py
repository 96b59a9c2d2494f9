"""Perplexity by position: the groups are those of a loop, and the files can be read."""

import csv
import importlib
import io
import math
from typing import Any

import lm_benchmarks as lb
import pytest
import torch
from lm_benchmarks.cli import commands
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.measuring.windows import Positions

from tests.command import invoke
from tests.lm_benchmarks.conventions.conftest import write_dataset

pytest.importorskip("transformers", reason="needs the package transformers")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return write_dataset(tmp_path_factory.mktemp("data") / "tiny", 140)


def test_each_group_is_that_of_a_loop(dataset, llama):
    found = lb.by_position(f"transformers:{llama}", dataset, windows=[20, 50])
    transformers = importlib.import_module("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(llama)
    module = transformers.AutoModelForCausalLM.from_pretrained(llama).eval()
    text = (dataset / "wiki.test.raw").read_text(encoding="utf-8")
    rows = [line if line.strip() else "" for line in text.splitlines(keepends=True)]
    pieces = tokenizer("\n\n".join(rows))["input_ids"]
    for length in (20, 50):
        nats = [0.0] * length
        for begin in range(0, len(pieces) - length + 1, length):
            window = pieces[begin : begin + length]
            with torch.no_grad():
                scores = module(torch.tensor([window])).logits[0].double().log_softmax(-1)
            for place in range(1, length):
                nats[place] -= float(scores[place - 1, window[place]])
        own = [one for one in found if one.window == length]
        assert own[0].first == 1
        assert own[-1].last == length - 1
        for one in own:
            assert one.last == min(2 * one.first, length) - 1
            assert one.pieces == (len(pieces) // length) * (one.last - one.first + 1)
            assert one.nats == pytest.approx(sum(nats[one.first : one.last + 1]), rel=1e-6)
            assert one.perplexity == pytest.approx(math.exp(one.nats / one.pieces))


def test_the_command_draws_and_writes_the_numbers(dataset, llama, tmp_path):
    out, numbers = tmp_path / "plot.svg", tmp_path / "numbers.csv"
    words = ["positions", f"transformers:{llama}", "--data", str(dataset), "--out", str(out)]
    assert invoke(commands, *words, "--csv", numbers).split() == [str(numbers), str(out)]
    rows = list(csv.DictReader(io.StringIO(numbers.read_text())))
    assert {row["window"] for row in rows} == {"32", "128", "512"}
    assert all(1 < float(row["perplexity"]) < 10_000 for row in rows)
    assert "windows of 512 pieces" in out.read_text()
    found = lb.by_position(f"transformers:{llama}", dataset)
    for ending, start in (("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")):
        first, again = (
            lb.draw_positions(found, tmp_path / f"{name}.{ending}").read_bytes() for name in ("one", "two")
        )
        assert first == again
        assert first.startswith(start)
    assert (tmp_path / "one.svg").read_bytes() == out.read_bytes()


def test_a_loss_too_large_for_a_perplexity_is_infinite(tmp_path):
    shared: dict[str, Any] = {"model": "bad", "window": 8, "pieces": 1}
    found = [Positions(**shared, first=1, last=1, nats=5.0), Positions(**shared, first=2, last=3, nats=1e4)]
    assert "inf" in lb.positions_csv(found)
    assert lb.draw_positions(found, tmp_path / "p.svg").exists()
    with pytest.raises(HarnessError, match="nothing to draw"):
        lb.draw_positions(found[1:], tmp_path / "p.svg")


def test_what_does_not_fit_is_said(dataset, llama, tmp_path):
    with pytest.raises(HarnessError, match="cat is a word-level model"):
        lb.by_position("command:cat", dataset)
    with pytest.raises(HarnessError, match=r"windows \[20, 513\]; expected 4 to 512"):
        lb.by_position(f"transformers:{llama}", dataset, windows=[20, 513])
    (short := tmp_path / "short").mkdir()
    for name in ("wiki.test.raw", "wiki.test.tokens"):
        (short / name).write_text(" = A = \n \n the cat \n")
    with pytest.raises(HarnessError, match="fewer than 32 pieces"):
        lb.by_position(f"transformers:{llama}", short)
    found = lb.by_position(f"transformers:{llama}", dataset, windows=[16])
    with pytest.raises(HarnessError, match=r"ends in \.png, \.svg, \.pdf"):
        lb.draw_positions(found, tmp_path / "plot.gif")
    with pytest.raises(HarnessError, match="nothing to draw"):
        lb.draw_positions([], tmp_path / "plot.png")
