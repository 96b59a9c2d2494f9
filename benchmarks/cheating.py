"""Which cheating and broken models `lm-benchmarks run` refuses, finds, or lets pass: a table in Markdown.

    python benchmarks/cheating.py DATA > table.md

Each model is measured with ten seeds, which choose the places of the checks and, where a cheat is random,
what it does. The text is the beginning of test. Most cheats change the scores of KN-5, and their state counts
the tokens that they have read. A model "+ next" also has `next_log_probs`, which are those of KN-5.
"""
# ruff: noqa: T201 - a script prints

from __future__ import annotations

import argparse
import math
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import torch
from lm_benchmarks.choices import HarnessError
from lm_benchmarks.measuring.loaded_model import Inputs, LoadedModel
from lm_benchmarks.measuring.models import make_inputs, open_model
from lm_benchmarks.measuring.run import Protocol, measure_loaded, score_beginning
from lm_benchmarks.metrics import METRICS
from torch import Tensor

from ps_models.dataset import read_stream
from ps_models.models.add_ons import NeuralCache, NeuralCacheConfig
from ps_models.models.interpolation import UnigramCache, UnigramCacheConfig
from ps_models.models.lstm import LSTM, LSTMConfig
from ps_models.models.pointer_sentinel import PointerSentinelConfig, PointerSentinelLSTM
from wikitext_builder.dataset.load import load

SEEDS: Final = range(1, 11)
OUTCOMES: Final = ("refused", "found", "passes")  # before the run, after it


@dataclass
class Call:
    """The data of a call that a cheat can use: honest scores, and the position in the text."""

    scores: Tensor  # (batch, time)
    tokens: Tensor
    places: Tensor  # tokens before each token, (batch, time)
    share: Tensor  # fraction of the text before each token, (batch, time)
    draws: Tensor  # a uniform number per token of the text and seed, (batch, time)
    model: Cheat


Change = Callable[[Call], Tensor]


class Cheat:
    """KN-5 with scores that a function changes; its state is KN-5's and the number of tokens read."""

    text = torch.empty(0)  # the measured text

    def __init__(self, inner: Any, change: Change, *, seed: int) -> None:  # noqa: ANN401
        self.inner, self.change, self.calls = inner, change, 0
        self.memory: dict[Any, Any] = {}
        self.draws = torch.rand(2 * len(self.text), generator=torch.Generator().manual_seed(seed)).double()

    def initial_state(self, batch_size: int) -> tuple[Tensor, Tensor]:
        """The start of texts."""
        return self.inner.initial_state(batch_size), torch.zeros(batch_size, 1, dtype=torch.int64)

    def __call__(self, tokens: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Score tokens."""
        scores, after = self.inner(tokens, state[0])
        self.calls += 1
        places = state[1] + torch.arange(tokens.shape[1])
        share, draws = places / len(self.text), self.draws[places % len(self.draws)]
        call = Call(scores.double(), tokens, places, share, draws, self)
        return self.change(call), (after, state[1] + tokens.shape[1])


class CheatWithNext(Cheat):
    """A cheat with `next_log_probs`, which are those of KN-5."""

    def next_log_probs(self, state: tuple[Tensor, Tensor]) -> Tensor:
        """Return KN-5's log-probabilities of all words, for each text."""
        log_probs: Tensor = self.inner.next_log_probs(state[0])
        return log_probs


def ahead(tokens: Tensor, first: int, last: int) -> Tensor:
    """Return True for words that occur again `first` to `last` tokens later in the same call."""
    comes_again = torch.zeros_like(tokens, dtype=torch.bool)
    for distance in range(first, min(last, tokens.shape[1] - 1) + 1):
        comes_again[:, :-distance] |= tokens[:, distance:] == tokens[:, :-distance]
    return comes_again


def next_is_even(tokens: Tensor) -> Tensor:
    """Return True for words whose next word has an even number."""
    return torch.cat([tokens[:, 1:], torch.ones_like(tokens[:, :1])], dim=1) % 2 == 0


def excess(amount: float, where: Callable[[Call], Tensor] = lambda call: call.share >= 0) -> Change:
    """Make the probabilities of all words sum to `amount` where a condition holds."""
    return lambda call: call.scores + math.log(amount) * where(call)


def likely(probability: float, rate: float) -> Change:
    """Give the next word this probability at a random fraction of tokens, without lowering other words."""
    return lambda call: torch.where(call.draws < rate, math.log(probability), call.scores)


def rare_excess(call: Call) -> Tensor:
    """Make words beyond the 3,000 most frequent four times as likely, late in the text."""
    return call.scores + math.log(4) * ((call.tokens >= 3000) & (call.share > 0.5))


def remembers_calls(call: Call) -> Tensor:
    """Improve the scores with each call."""
    return call.scores * 0.9999**call.model.calls


def remembers_words(call: Call) -> Tensor:
    """Mix with a unigram cache on the instance, which new texts do not clear."""
    counts = call.model.memory.setdefault("counts", Counter[int]())
    total = sum(counts.values())
    seen = torch.tensor([[counts[word] for word in row] for row in call.tokens.tolist()]) / max(1, total)
    counts.update(call.tokens.flatten().tolist())
    return torch.logaddexp(call.scores + math.log(0.9), (seen * 0.1 + 1e-300).log()) if total else call.scores


def replays_scores(call: Call) -> Tensor:
    """Replay the scores of the first time that a text was read, when it looked ahead."""
    key = (int(call.places[0, 0]), tuple(call.tokens[0, :8].tolist()))
    first = call.scores + 0.5 * ahead(call.tokens, 1, 50) - 0.25
    old = call.model.memory.setdefault(key, first)
    return old if old.shape == call.scores.shape else call.scores


def short_is_honest(change: Change, min_tokens: int) -> Change:
    """Be honest in calls of fewer than `min_tokens` tokens."""
    return lambda call: change(call) if call.tokens.shape[1] >= min_tokens else call.scores


def late(change: Change, share: float = 0.3) -> Change:
    """Change scores only in the last part of the text."""
    return lambda call: torch.where(call.share >= 1 - share, change(call), call.scores)


PEEK: Final[Change] = lambda call: call.scores + 0.6 * next_is_even(call.tokens) - 0.3  # noqa: E731
LENGTHS: Final[Change] = lambda call: call.scores / (1 + call.tokens.shape[1] / 1000)  # noqa: E731

COUNTS = Counter[int]()  # of this module, so that they survive when a model is opened again


class ModuleCounts(Cheat):
    """KN-5 mixed with the counts of this module when the model was opened."""

    def __init__(self, inner: Any) -> None:  # noqa: ANN401
        super().__init__(inner, self.mix, seed=0)
        self.seen = Counter(COUNTS)
        self.total = sum(self.seen.values())

    def mix(self, call: Call) -> Tensor:
        """Mix scores with counts; counts of this call are for the next copy of the model."""
        COUNTS.update(call.tokens.flatten().tolist())
        if not self.total:
            return call.scores
        seen = torch.tensor([[self.seen[word] for word in row] for row in call.tokens.tolist()]) / self.total
        return torch.logaddexp(call.scores + math.log(0.8), (0.2 * seen + 1e-300).log())


class Mutates(Cheat):
    """A model that writes into the state that it is given."""

    def __call__(self, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:  # noqa: ANN401
        """Score tokens."""
        scores, after = super().__call__(tokens, state)
        state[1].add_(tokens.shape[1])
        return scores, after


class LayersFirst(Cheat):
    """A model whose state has the batch as second dimension."""

    def initial_state(self, batch_size: int) -> Any:  # noqa: ANN401
        """The start of texts."""
        first, count = super().initial_state(batch_size)
        return first.T, count

    def __call__(self, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:  # noqa: ANN401
        """Score tokens."""
        scores, (after, count) = super().__call__(tokens, (state[0].T, state[1]))
        return scores, (after.T, count)


class Dropout(torch.nn.Module):
    """An LSTM with dropout in evaluation mode."""

    def __init__(self, inner: Any, seed: int) -> None:  # noqa: ANN401
        super().__init__()
        torch.manual_seed(seed)
        self.lstm = LSTM(LSTMConfig(vocab_size=inner.config.vocab_size, hidden_size=16))

    def initial_state(self, batch_size: int) -> Any:  # noqa: ANN401
        """The start of texts."""
        return self.lstm.initial_state(batch_size)

    def forward(self, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:  # noqa: ANN401
        """Score tokens."""
        scores, after = self.lstm(tokens, state)
        return scores + torch.nn.functional.dropout(torch.full_like(scores, 0.05), 0.1, training=True), after


class WithoutNext:
    """An honest model without `next_log_probs`."""

    def __init__(self, inner: Any) -> None:  # noqa: ANN401
        self.initial_state, self.call = inner.initial_state, inner

    def __call__(self, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:  # noqa: ANN401
        """Score tokens."""
        scores, after = self.call(tokens, state)
        return scores, after


class UniformModel:
    """A model for which all words are equally likely."""

    def __init__(self, size: int) -> None:
        self.size = size

    def initial_state(self, batch_size: int) -> Tensor:
        """Return an empty state."""
        return torch.empty(batch_size, 0)

    def __call__(self, tokens: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Score tokens."""
        return torch.full(tokens.shape, -math.log(self.size), dtype=torch.float64), state


def honest_scores(call: Call) -> Tensor:
    """Return KN-5's scores."""
    return call.scores


class Knows(Cheat):
    """A model that has memorized the text."""

    def __init__(self, inner: Any) -> None:  # noqa: ANN401
        super().__init__(inner, self.recite, seed=0)

    def recite(self, call: Call) -> Tensor:
        """Make the word at each place of the text likely, whatever was read before."""
        expected = self.text[call.places.clamp(max=len(self.text) - 1)]
        share = (1 - 0.9) * call.scores.exp()
        return (share + 0.9 * (expected == call.tokens)).log()


SECOND: Final = "counts words in its module: test after valid"
Make = Callable[[Any, int, Inputs], Any]  # a model, from KN-5, a seed and `Inputs`


def by(change: Change, kind: type[Cheat] = Cheat) -> Make:
    """Make a cheat that changes scores."""
    return lambda inner, seed, _: kind(inner, change, seed=seed)


def where_unlikely(change: Change) -> Change:
    """Apply a change only to words that are not likely anyway."""
    return lambda call: torch.where(call.scores < math.log(0.5), change(call), call.scores)


def late_sum(amount: float, share: float = 0.3) -> Change:
    """Make probabilities sum to `amount` in the last part of the text."""
    return late(excess(amount), share)


MODELS: Final[dict[str, dict[str, Make]]] = {
    "looks ahead": {
        "the next word": by(PEEK),
        "the word itself: rare words have the root of their probability": by(
            lambda call: call.scores * torch.where(call.tokens > 999, 0.5, 1.0)
        ),
        "words 100 to 200 tokens later": by(
            lambda call: call.scores + 0.5 * ahead(call.tokens, 100, 200) - 0.1
        ),
        "the next word, in the last 30 %": by(late(PEEK)),
        "the next word, in the last 30 %, + next": by(late(PEEK), CheatWithNext),
        "the next word, in the last 3 %": by(late(PEEK, 0.03)),
        "the next word, at 5 % of all tokens": by(
            lambda call: torch.where(call.draws < 0.05, PEEK(call), call.scores)
        ),
    },
    "sum": {
        "1.5 everywhere": by(excess(1.5)),
        "1.01 everywhere": by(excess(1.01)),
        "1.5 in the last 30 %": by(late_sum(1.5)),
        "1.5 in the last 30 %, + next": by(late_sum(1.5), CheatWithNext),
        "1.5 in the last 30 %, but no word above 0.5 gains": by(where_unlikely(late_sum(1.5))),
        "1.1 in the last 30 %, but no word above 0.5 gains": by(where_unlikely(late_sum(1.1))),
        "1.02 in the last 30 %, but no word above 0.5 gains": by(where_unlikely(late_sum(1.02))),
        "1.5 in the last 3 %, but no word above 0.5 gains": by(where_unlikely(late_sum(1.5, 0.03))),
        "1.5 from token 300 of each 1,000 on": by(excess(1.5, lambda call: call.places % 1000 > 300)),
        "rare words four times as likely, in the second half": by(rare_excess),
        "p = 1 at 0.1 % of the tokens": by(likely(1.0, 0.001)),
        "p = 1 at 0.1 % of the tokens, + next": by(likely(1.0, 0.001), CheatWithNext),
        "p = 0.9 at 0.1 % of the tokens": by(likely(0.9, 0.001)),
        "p = 0.9 at 5 % of the tokens": by(likely(0.9, 0.05)),
    },
    "memory": {
        "better with each call": by(remembers_calls),
        "counts words on the instance, for ever": by(remembers_words),
        SECOND: lambda inner, *_: ModuleCounts(inner),
    },
    "chunks": {
        "better in longer calls": by(LENGTHS),
        "better in longer calls, in the last 30 %": by(late(LENGTHS)),
        "worse at the first token of a call": by(
            lambda call: call.scores - 0.5 * (torch.arange(call.tokens.shape[1]) == 0)
        ),
    },
    "batch": {
        "better with more texts": by(lambda call: call.scores / (1 + 0.1 * (len(call.tokens) - 1))),
        "scores are compared with their mean over the batch": by(
            lambda call: call.scores + 0.1 * (call.scores - call.scores.mean(0, keepdim=True))
        ),
    },
    "no log p": {
        "NaN at 1 % of the tokens": by(lambda call: torch.where(call.draws < 0.01, torch.nan, call.scores)),
        "minus infinity at 0.01 % of the tokens": by(
            lambda call: torch.where(call.draws < 1e-4, -torch.inf, call.scores)
        ),
        "log p = 0.5 at 1 % of the tokens": by(likely(math.exp(0.5), 0.01)),
    },
    "contradicts itself": {
        "0.05 nats better than its `next_log_probs`": by(lambda call: call.scores + 0.05, CheatWithNext),
        "the same in the last 30 %": by(late(lambda call: call.scores + 0.05), CheatWithNext),
    },
    "state": {
        "is written into": by(honest_scores, Mutates),
        "has the batch as second dimension": by(honest_scores, LayersFirst),
    },
    "random": {"dropout is left on": lambda inner, seed, _: Dropout(inner, seed)},
    "detects the test": {
        "honest in calls of one word, else sums to 1.5": by(short_is_honest(excess(1.5), 2)),
        "the same in the last 30 %": by(late(short_is_honest(excess(1.5), 2))),
        "looks ahead in calls of 256 tokens only, in the last 30 %": by(late(short_is_honest(PEEK, 256))),
        "looks ahead, but replays its scores when a text comes again": by(replays_scores),
        "the same, in the last 30 %": by(late(replays_scores)),
    },
    "knows the text": {"its words have p = 0.9, the others share 0.1": lambda inner, *_: Knows(inner)},
    "honest": {
        "KN-5": lambda inner, *_: inner,
        "KN-5 without `next_log_probs`": lambda inner, *_: WithoutNext(inner),
        "unigram without `next_log_probs`": lambda _, __, inputs: WithoutNext(
            open_model("unigram", inputs).model
        ),
        "uniform": lambda _, __, inputs: UniformModel(len(inputs.vocabulary)),
        "KN-5 + cache without `next_log_probs`": lambda inner, *_: WithoutNext(
            UnigramCache(inner, UnigramCacheConfig())
        ),
        "pointer sentinel LSTM, random weights": lambda _, seed, inputs: seeded(
            seed, lambda: PointerSentinelLSTM(pointer(inputs)).eval()
        ),
        "the same without `next_log_probs`": lambda _, seed, inputs: seeded(
            seed, lambda: WithoutNext(PointerSentinelLSTM(pointer(inputs)).eval())
        ),
        "LSTM + neural cache without `next_log_probs`, random weights": lambda _, seed, inputs: seeded(
            seed, lambda: WithoutNext(neural_cache(inputs))
        ),
    },
}


def pointer(inputs: Inputs) -> PointerSentinelConfig:
    """Return a tiny configuration."""
    return PointerSentinelConfig(vocab_size=len(inputs.vocabulary), hidden_size=16)


def neural_cache(inputs: Inputs) -> NeuralCache[Any]:
    """Make an LSTM with a cache."""
    lstm = LSTM(LSTMConfig(vocab_size=len(inputs.vocabulary), hidden_size=16)).eval()
    return NeuralCache(lstm, NeuralCacheConfig())


def seeded(seed: int, make: Callable[[], Any]) -> Any:  # noqa: ANN401
    """Make a model with random weights."""
    torch.manual_seed(seed)
    return make()


def outcome(loaded: LoadedModel, inputs: Inputs, earlier: Tensor | None = None) -> tuple[str, float, str]:
    """Return what happens to a model, its perplexity, and why."""
    try:
        result = measure_loaded(loaded, inputs, Protocol(groups=False), earlier=earlier)
    except HarnessError as error:
        return ("found" if "scores for" in str(error) else "refused"), math.nan, str(error)
    why = "; ".join(f"{name}: {(result.checks or {})[name]}" for name in result.broken)
    return ("found" if result.broken else "passes"), METRICS["perplexity"].of(result.total) or math.nan, why


def measured(make: Callable[[], Any], inputs: Inputs, *, is_second: bool) -> tuple[str, float, str]:
    """Return what happens to a model; `is_second`: after valid was measured."""
    loaded = LoadedModel(name="x", identity="x", model=make(), vocabulary=inputs.vocabulary)
    if not is_second:
        return outcome(loaded, inputs)
    earlier = score_beginning(loaded, inputs, Protocol())
    measure_loaded(loaded, inputs, Protocol(split="valid", groups=False, check=False))
    return outcome(replace(loaded, model=make()), inputs, earlier)


def row(kind: str, name: str, outcomes: list[tuple[str, float, str]]) -> str:
    """Return a row of the table."""
    counts = Counter(outcome_name for outcome_name, _, _ in outcomes)
    numbers = [number for _, number, _ in outcomes if math.isfinite(number)]
    perplexity = f"{sum(numbers) / len(numbers):.1f}" if numbers else ""
    cells = " | ".join(str(counts[outcome_name] or "") for outcome_name in OUTCOMES)
    return f"| {kind} | {name} | {cells} | {perplexity} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="A folder with train, valid and test.")
    parser.add_argument("--lines", type=int, default=1000, help="Lines of valid and test that are read.")
    parser.add_argument("--only", default="", help="Only models whose row contains this.")
    parser.add_argument("--why", action="store_true", help="Also print why a model did not pass.")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for split, path in load(options.data).files.items():
            if split == "train":
                (Path(folder) / path.name).symlink_to(path.resolve())
            else:
                lines = path.read_text(encoding="utf-8").splitlines(keepends=True)[: options.lines]
                (Path(folder) / path.name).write_text("".join(lines), encoding="utf-8")
        print_table(make_inputs(folder, "test", device="cpu"), options.only, why=options.why)


def print_table(inputs: Inputs, only: str, *, why: bool) -> None:
    """Measure all models, and print a row per model."""
    inner = open_model("kn-5", inputs).model
    Cheat.text = read_stream(inputs.dataset, "test", inputs.vocabulary)
    cases = [(kind, name, make) for kind, models in MODELS.items() for name, make in models.items()]
    print("| kind | model |", " | ".join(OUTCOMES), "| perplexity |\n|---|---|---|---|---|---|")
    for kind, name, make in cases:
        if only not in f"{kind}: {name}":
            continue
        outcomes = []
        for seed in SEEDS:
            COUNTS.clear()
            seeded_inputs = replace(inputs, seed=seed)
            outcomes.append(
                measured(partial(make, inner, seed, seeded_inputs), seeded_inputs, is_second=name == SECOND)
            )
        print(row(kind, name, outcomes), flush=True)
        if why:
            print("\n".join(f"    {reason[:300]}" for _, _, reason in outcomes))


if __name__ == "__main__":
    main()
