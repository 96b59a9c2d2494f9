"""The laws under conventions of windows: an honest model keeps them, each kind of cheat breaks its own."""

import importlib
import math
from typing import Any

import lm_benchmarks as lb
import pytest
import torch
from click.testing import CliRunner
from lm_benchmarks.cli import commands
from lm_benchmarks.conventions.convention import Window
from lm_benchmarks.measuring.run_samples import WINDOW_LAWS, WatchedReader, try_windows

from tests.lm_benchmarks.conventions.conftest import write_dataset
from tests.lm_benchmarks.tiny_causal import make_causal_model
from wikitext_builder.errors import ToolkitError

SIZE = 40
SEEN = list(range(SIZE)) * 30


class Bigram:
    """Honest: a piece is likely after the one before it."""

    longest: int | None = None
    text_pieces: Any = None

    def score(self, window, place):
        before = window.inputs[len(window.inputs) - len(window.targets) + place]
        return math.log(0.5) if window.targets[place] == (before + 1) % SIZE else math.log(0.5 / (SIZE - 1))

    def window_nats(self, windows):
        return [-sum(self.score(window, place) for place in range(len(window.targets))) for window in windows]


class All(Bigram):
    """Gives all pieces at once too."""

    def next_log_probs_of(self, inputs):
        scores = torch.full((SIZE,), 0.5 / (SIZE - 1)).double().log()
        scores[(inputs[-1] + 1) % SIZE] = math.log(0.5)
        return scores


class Peeks(Bigram):
    def score(self, window, place):
        later = window.targets[place + 1 :]
        return super().score(window, place) * (0.8 if window.targets[place] + 2 in later else 1)


class TooMuch(Bigram):
    """Sums to e."""

    def score(self, window, place):
        return super().score(window, place) + 1


class TooMuchLate(TooMuch):
    """Only far into a window."""

    def score(self, window, place):
        honest = place + len(window.inputs) - len(window.targets) < 9
        return Bigram.score(self, window, place) if honest else super().score(window, place)


class Remembers(Bigram):
    calls = 0

    def window_nats(self, windows):
        self.calls += 1
        return [nats * 0.999**self.calls for nats in super().window_nats(windows)]


class Together(Bigram):
    """The more windows at once, the better."""

    def window_nats(self, windows):
        return [nats / (1 + len(windows) / 50) for nats in super().window_nats(windows)]


class Long(Bigram):
    """The more targets, the better."""

    def window_nats(self, windows):
        return [
            nats - len(window.targets) ** 2 / 50
            for nats, window in zip(super().window_nats(windows), windows, strict=True)
        ]


class Claims(All):
    """Scores better than its own probabilities of all pieces."""

    def score(self, window, place):
        return super().score(window, place) * 0.9


def tried(reader):
    watched = WatchedReader(reader, seed=1)
    windows = [Window(SEEN[begin : begin + 19], SEEN[begin + 8 : begin + 20]) for begin in range(0, 900, 3)]
    for begin in range(0, len(windows), 64):
        watched.window_nats(windows[begin : begin + 64])
    return try_windows(watched, reader)


@pytest.mark.parametrize("reader", [Bigram(), All()], ids=lambda reader: type(reader).__name__)
def test_an_honest_model_keeps_them(reader):
    findings, where = tried(reader)
    assert findings == dict.fromkeys(WINDOW_LAWS, "")
    assert where.places > 25
    assert where.whole == (where.places if isinstance(reader, All) else 0)
    assert where.predictions < 30_000
    assert f"at {where.places} random places (seed 1) of 3,600 pieces" in str(where)


@pytest.mark.parametrize(
    ("reader", "law"),
    [
        (Peeks(), "chunks"),
        (TooMuch(), "sum"),
        (TooMuchLate(), "sum"),
        (Remembers(), "memory"),
        (Together(), "batch"),
        (Long(), "chunks"),
        (Claims(), "sum"),
    ],
    ids=lambda one: one if isinstance(one, str) else type(one).__name__,
)
def test_each_cheat_breaks_a_law(reader, law):
    findings, _ = tried(reader)
    assert findings[law], findings


@pytest.fixture
def folder(tmp_path):
    pytest.importorskip("transformers", reason="needs the package transformers")
    return write_dataset(tmp_path / "tiny", 60)


def test_a_run_tries_them(folder, tmp_path):
    model = make_causal_model(tmp_path / "model", folder / "wiki.test.raw")
    for convention in ("gptq", "hf-stride", "megatron", "lm-eval"):
        (result,) = lb.measure(f"transformers:{model}", folder, convention=convention)
        assert result.checks == dict.fromkeys(WINDOW_LAWS, "")
        assert result.tried is not None
        assert result.tried.whole == result.tried.places > 5
        assert result.tried.unit == "pieces"


def test_a_model_that_reads_the_future_is_an_error(folder, tmp_path):
    """BERT without its mask of later pieces, as a folder of `transformers` can hold it by mistake."""
    transformers = importlib.import_module("transformers")
    model = make_causal_model(tmp_path / "model", folder / "wiki.test.raw")
    size = len(transformers.AutoTokenizer.from_pretrained(model))
    config = transformers.BertConfig(
        vocab_size=size,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        initializer_range=0.5,
        is_decoder=False,
    )
    torch.manual_seed(1)
    transformers.BertLMHeadModel(config).save_pretrained(model)
    results = tmp_path / "r.jsonl"
    words = ["run", f"transformers:{model}", "--data", str(folder), "--convention", "gptq"]
    printed = CliRunner().invoke(commands, [*words, "--results", str(results)])
    assert printed.exit_code == 1
    assert isinstance(printed.exception, ToolkitError)
    assert "violates 2 of 5 invariants; chunks: " in str(printed.exception)
    (result,) = lb.read_results(results)
    assert set(result.broken) == {"chunks", "future"}
    for convention in ("gptq", "lm-eval"):
        (allowed,) = lb.measure(f"transformers:{model}", folder, convention=convention, allow_broken=True)
        assert set(allowed.broken) == {"chunks", "future"}
