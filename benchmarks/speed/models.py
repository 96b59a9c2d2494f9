"""Training speed of the models compared with other implementations, and their memory at large vocabularies.

    python benchmarks/speed/models.py train [--vocabulary V] [--hidden H] [--rounds R] [--bf16]
    python benchmarks/speed/models.py recurrence [--hidden H] [--rounds R] [--bf16]
    python benchmarks/speed/models.py softmax [--vocabulary V] [--rounds R]
    python benchmarks/speed/models.py memory [--rounds R]

One thread, random words, CPU seconds of this process (other processes disturb them least). All rows of a
table run in turn, for several rounds, and the median counts. `train` times whole updates: loss, gradients,
clip and step of SGD. Tokens per second are scored tokens: at K = 1 one per row of the batch and update.
GFLOP/s counts matrix products only (three times the forward pass), and windows that are run again are
included.

Two rows are our own versions of what others describe: the word language model of pytorch/examples (segments,
a new dropout mask at each step), and a loop with k1 = 1 and the pointer of one step, in probabilities.
`softmax` and `memory` run each row in its own process, to measure its peak of memory; `memory` runs whole
updates.
"""

# ruff: noqa: N806 - sizes have the names of the papers

from __future__ import annotations

import argparse
import multiprocessing
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ps_models.language_model import detach
from ps_models.layers.recurrence import lstm_steps
from ps_models.layers.softmax import AdaptiveSoftmax, Softmax
from ps_models.models.lstm import LSTM, LSTMConfig
from ps_models.models.pointer_sentinel import PointerSentinelConfig, PointerSentinelLSTM
from ps_models.models.stream import zone_mask
from ps_models.processor import use_processor

BATCH, WINDOW, LAYERS = 32, 100, 2  # section 5.2 of the paper
PLAIN = {"input_dropout": 0.0, "layer_dropout": 0.0, "output_dropout": 0.0, "zoneout": 0.0}
SOFTMAXES = ("linear and cross_entropy", "ours", "linear_cross_entropy, chunked", "ours, sampled", "adaptive")


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of a table: what to repeat, and how much it does each time."""

    run: Callable[[], object]
    tokens: int  # that are scored
    flop: float


def train_rows(vocabulary: int, hidden: int, bf16: bool) -> dict[str, Row]:
    """Updates of whole models."""
    sizes = {"vocab_size": vocabulary, "hidden_size": hidden}
    plain, full = LSTMConfig(**sizes, **PLAIN), LSTMConfig(**sizes)  # type: ignore[arg-type]
    pointer_plain = PointerSentinelConfig(**sizes, **PLAIN)  # type: ignore[arg-type]
    pointer = PointerSentinelConfig(**sizes)  # type: ignore[arg-type]
    L = WINDOW

    def ours(model: Any, scored: int, length: int) -> Row:  # noqa: ANN401 - any trained model
        flop = update_flop(vocabulary, hidden, scored, length, pointer=isinstance(model, PointerSentinelLSTM))
        update = Update(model, vocabulary, scored, length, bf16)
        return Row(run=update, tokens=BATCH * scored, flop=flop)

    return {
        "pytorch/examples, segments": Row(
            run=Update(ExamplesLSTM(vocabulary, hidden), vocabulary, L, L, bf16),
            tokens=BATCH * L,
            flop=update_flop(vocabulary, hidden, L, L, pointer=False),
        ),
        "LSTM, segments": ours(LSTM(plain), L, L),
        "LSTM with zoneout and dropout, segments": ours(LSTM(full), L, L),
        "pointer sentinel, segments": ours(PointerSentinelLSTM(pointer_plain), L, L),
        "pointer sentinel with both, segments": ours(PointerSentinelLSTM(pointer), L, L),
        "LSTM with both, K = L": ours(LSTM(full), L, 2 * L - 1),
        "pointer sentinel with both, K = L": ours(PointerSentinelLSTM(pointer), L, 2 * L - 1),
        "pointer sentinel with both, K = 10": ours(PointerSentinelLSTM(pointer), 10, L + 9),
        "pointer sentinel with both, K = 1": ours(PointerSentinelLSTM(pointer), 1, L),
        "k1 = 1 loop, plain": Row(
            run=Update(OneStepPointer(vocabulary, hidden), vocabulary, 1, L, bf16),
            tokens=BATCH,
            flop=update_flop(vocabulary, hidden, 1, L, pointer=True),
        ),
    }


def update_flop(vocabulary: int, hidden: int, scored: int, length: int, *, pointer: bool) -> float:
    """Floating point operations of the products of one update, forward and backward."""
    step = LAYERS * 8 * hidden**2 * 2
    score = 2 * hidden * vocabulary + (2 * hidden**2 + 2 * hidden * (WINDOW + 1) if pointer else 0)
    return 3.0 * BATCH * (length * step + scored * score)


class Update:
    """One update after another of a model, on new random words; the state is carried over."""

    def __init__(self, model: Any, vocabulary: int, scored: int, length: int, bf16: bool) -> None:  # noqa: ANN401
        self.model, self.scored, self.length, self.bf16 = model, scored, length, bf16
        self.vocabulary = vocabulary
        self.optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
        self.state = model.initial_state(BATCH)

    def __call__(self) -> None:
        """Loss, gradients, clipping at 1, a step."""
        tokens = torch.randint(self.vocabulary, (BATCH, self.length))
        self.optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=self.bf16):
            nats, self.state = self.model.loss(tokens, self.state, scored=self.scored)
        nats.mean().backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()


class ExamplesLSTM(nn.Module):
    """Embedding, `nn.LSTM`, linear layer, log-softmax: our version of pytorch/examples' word model."""

    def __init__(self, vocabulary: int, hidden: int, dropout: float = 0.5) -> None:
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(vocabulary, hidden)
        self.rnn = nn.LSTM(hidden, hidden, LAYERS, dropout=dropout)
        self.decoder = nn.Linear(hidden, vocabulary)

    def initial_state(self, batch: int) -> tuple[Tensor, Tensor]:
        """Zeros."""
        zeros = torch.zeros(LAYERS, batch, self.rnn.hidden_size)
        return zeros, zeros

    def loss(self, tokens: Tensor, state: tuple[Tensor, Tensor], scored: int) -> tuple[Tensor, Any]:
        """Scores the whole segment. Inputs and targets are the same words here, which costs the same."""
        words = tokens.t().contiguous()
        output, state = self.rnn(self.drop(self.encoder(words)), state)
        log_probs = functional.log_softmax(self.decoder(self.drop(output)).float(), dim=-1)
        nats = functional.nll_loss(log_probs.flatten(0, 1), words.flatten(), reduction="none")
        return nats.view(scored, -1), detach(state)


class OneStepPointer(ExamplesLSTM):
    """Runs the window again for each word; the last output points into it, in probabilities."""

    def __init__(self, vocabulary: int, hidden: int) -> None:
        super().__init__(vocabulary, hidden)
        self.query = nn.Linear(hidden, hidden)
        self.sentinel = nn.Parameter(torch.zeros(hidden))

    def loss(self, tokens: Tensor, state: tuple[Tensor, Tensor], scored: int) -> tuple[Tensor, Any]:
        """Scores the last word only; the state moves on by one word."""
        assert scored == 1  # noqa: S101 - that is what k1 = 1 means
        inputs, target = tokens.roll(1, dims=1), tokens[:, -1]
        first, state = self.rnn(self.drop(self.encoder(inputs[:, :1].t())), state)
        rest, _ = self.rnn(self.drop(self.encoder(inputs[:, 1:].t())), state)
        outputs = torch.cat([first, rest]).transpose(0, 1).float()
        last = self.drop(outputs[:, -1])
        query = torch.tanh(self.query(last)).float()
        scores = torch.cat([outputs @ query[..., None], (query @ self.sentinel)[:, None, None]], dim=1)[
            ..., 0
        ]
        weights = scores.softmax(dim=-1)
        vocab = self.decoder(last).float().softmax(dim=-1).gather(1, target[:, None])[:, 0]
        copied = (weights[:, :-1] * (inputs == target[:, None])).sum(dim=-1)
        return -torch.log(weights[:, -1] * vocab + copied + 1e-12), detach(state)


def recurrence_rows(hidden: int, bf16: bool) -> dict[str, Row]:
    """Forward and backward pass of the layers only."""
    inputs = torch.randn(WINDOW, BATCH, hidden, requires_grad=True)
    torchs = nn.LSTM(hidden, hidden, LAYERS)
    layers = [nn.LSTM(hidden, hidden) for _ in range(LAYERS)]

    def autocast(forward: Callable[[], Tensor]) -> Row:
        def run() -> None:
            with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
                output = forward()
            torch.autograd.backward(output.sum())

        return Row(run=run, tokens=BATCH * WINDOW, flop=3 * LAYERS * 16 * hidden**2 * BATCH * WINDOW)

    def ours(zoneout: float) -> Tensor:
        values, zeros = inputs, torch.zeros(BATCH, hidden)
        for layer in layers:
            weight_ih, weight_hh, bias, _ = layer.parameters()
            gates = functional.linear(values, weight_ih, bias)
            zone = zone_mask(zoneout, (WINDOW, BATCH, hidden), values)
            products = weight_hh.bfloat16() if bf16 else weight_hh
            values, _, _ = lstm_steps(gates, zeros, zeros, products, zone=zone)
        return values

    def cells() -> Tensor:
        values, zeros = inputs, torch.zeros(BATCH, hidden)
        for layer in layers:
            weights, h, c, outputs = list(layer.parameters()), zeros, zeros, []
            for value in values.unbind():
                new, c = torch.lstm_cell(value, (h, c), *weights)
                zone = torch.empty_like(new).bernoulli_(0.5)
                h = torch.lerp(new, h, zone)
                outputs.append(h)
            values = torch.stack(outputs)
        return values

    return {
        "nn.LSTM": autocast(lambda: torchs(inputs)[0]),
        "ours": autocast(lambda: ours(0.0)),
        "ours with zoneout": autocast(lambda: ours(0.5)),
        "loop of lstm_cell with zoneout": autocast(cells),
    }


def softmax_rows(vocabulary: int, hidden: int) -> dict[str, Row]:
    """Scores and gradients of one update's targets; words follow Zipf's law, for the adaptive softmax."""
    N = BATCH * WINDOW
    hidden_NH = torch.randn(N, hidden, requires_grad=True)
    zipf = (1.0 / torch.arange(1, vocabulary + 1)).cumsum(0)
    targets_N = torch.searchsorted(zipf / zipf[-1], torch.rand(N)).clamp(max=vocabulary - 1)
    weight = nn.Parameter(torch.empty(vocabulary, hidden).uniform_(-0.05, 0.05))
    ours = Softmax(weight, bias=False)
    cutoffs = (2_000, 10_000) if vocabulary < 100_000 else (20_000, 60_000, 200_000)

    def plain() -> Tensor:
        return functional.cross_entropy(functional.linear(hidden_NH, weight), targets_N, reduction="none")

    def torchs() -> Tensor:  # of 2.13 and newer
        options = nn.LinearCrossEntropyOptions()
        return functional.linear_cross_entropy(
            hidden_NH, weight, targets_N, reduction="none", options=options
        )

    def backward(forward: Callable[[], Tensor]) -> Row:
        weights = torch.rand(N)
        return Row(
            run=lambda: torch.autograd.backward((forward() * weights).sum()),
            tokens=N,
            flop=6.0 * N * hidden * vocabulary,
        )

    sampled = Softmax(weight, bias=False, sampled=4096)
    rows = {
        "ours": backward(lambda: ours(hidden_NH, targets_N)),
        "ours, sampled": backward(lambda: sampled(hidden_NH, targets_N)),
    }
    if N * vocabulary <= 2**28:
        rows["linear and cross_entropy"] = backward(plain)
    if hasattr(functional, "linear_cross_entropy"):
        rows["linear_cross_entropy, chunked"] = backward(torchs)
    if vocabulary > cutoffs[-1]:
        adaptive = AdaptiveSoftmax(vocabulary, hidden, cutoffs, bias=False)
        rows["adaptive"] = backward(lambda: adaptive(hidden_NH, targets_N))
    return rows


def seconds_of(rows: Mapping[str, Row], rounds: int) -> dict[str, float]:
    """CPU seconds, the median of all rounds.

    Each row runs once before it is timed, because memory is as the previous row left it.
    """
    seconds: dict[str, list[float]] = {name: [] for name in rows}
    for _ in range(rounds):
        for name, row in rows.items():
            row.run()
            started = time.process_time()
            row.run()
            seconds[name].append(time.process_time() - started)
    return {name: statistics.median(column) for name, column in seconds.items()}


def ceiling(hidden: int, rounds: int, bf16: bool) -> float:
    """GFLOP/s of the product that an LSTM layer's inputs take."""
    dtype = torch.bfloat16 if bf16 else torch.float32
    left, right = torch.randn(BATCH * WINDOW, hidden), torch.randn(hidden, 4 * hidden)
    left, right = left.to(dtype), right.to(dtype)
    flop = 2.0 * BATCH * WINDOW * hidden * 4 * hidden
    row = Row(run=lambda: left @ right, tokens=0, flop=flop)
    return flop / seconds_of({"product": row}, 2 * rounds)["product"] / 1e9


def write_table(rows: Mapping[str, Row], seconds: Mapping[str, float], top: float) -> None:
    """Tokens per second, the ratio to the first row, and GFLOP/s."""
    width = max(map(len, rows))
    sys.stdout.write(f"{'':{width}}{'CPU s':>9}{'tokens/s':>10}{'ratio':>8}{'GFLOP/s':>9}{'of top':>8}\n")
    first = next(iter(rows))
    base = rows[first].tokens / seconds[first]
    for name, row in rows.items():
        speed, gflop = row.tokens / seconds[name], row.flop / seconds[name] / 1e9
        sys.stdout.write(
            f"{name:{width}}{seconds[name]:9.3f}{speed:10,.1f}{speed / base:8.3f}"
            f"{gflop:9.1f}{gflop / top:8.1%}\n"
        )


def softmax_row(name: str, vocabulary: int, hidden: int, rounds: int) -> tuple[float, ...] | None:
    """CPU seconds of one row of `softmax_rows`, and how many GB it added to the peak of this process."""
    rows = softmax_rows(vocabulary, hidden)
    if name not in rows:
        return None
    before = peak()
    return seconds_of({name: rows[name]}, rounds)[name], peak() - before


MEMORY = {  # softmaxes of the pointer sentinel-LSTM, by vocabulary
    "WikiText-2": {"vocab_size": 33_278},
    "WikiText-2, tied": {"vocab_size": 33_278, "tied": True},
    "WikiText-2, adaptive": {"vocab_size": 33_278, "cutoffs": (2_000, 10_000)},
    "WikiText-103, adaptive": {"vocab_size": 267_735, "cutoffs": (20_000, 60_000, 200_000)},
    "WikiText-103, tied": {"vocab_size": 267_735, "tied": True},
}


def memory_row(name: str, _vocabulary: int, hidden: int, rounds: int) -> tuple[float, ...]:
    """CPU seconds of an update with plain segments, and GB at the peak and of weights.

    Words are equally frequent here, at which an adaptive softmax is slow.
    """
    config = PointerSentinelConfig(hidden_size=hidden, **MEMORY[name])  # type: ignore[arg-type]
    model = PointerSentinelLSTM(config)
    update = Update(model, config.vocab_size, WINDOW, WINDOW, bf16=False)
    seconds = seconds_of({name: Row(run=update, tokens=0, flop=0.0)}, rounds)[name]
    return seconds, peak(), sum(parameter.numel() for parameter in model.parameters()) * 4 / 1e9


def peak() -> float:
    """Return the peak memory of this process, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def write_rows(
    names: Iterable[str], row: Callable[..., tuple[float, ...] | None], heads: str, *sizes: int
) -> None:
    """Write a table whose rows are each measured in a separate process."""
    sys.stdout.write(f"{'':32}{'CPU s':>9}{'tokens/s':>10}{heads}\n")
    for name in names:
        with multiprocessing.get_context("spawn").Pool(1, use_processor, [1]) as pool:
            measured = pool.apply(row, (name, *sizes))
        if measured is None:
            sys.stdout.write(f"{name:32} left out: not in this torch, or too large\n")
            continue
        seconds, *gigabytes = measured
        cells = "".join(f"{size:9.2f}" for size in gigabytes)
        sys.stdout.write(f"{name:32}{seconds:9.3f}{BATCH * WINDOW / seconds:10,.0f}{cells}\n")


def main(arguments: argparse.Namespace) -> None:
    """Print one table."""
    use_processor(threads=1)
    torch.manual_seed(1)
    sizes = arguments.vocabulary, arguments.hidden, arguments.rounds
    if arguments.table == "softmax":
        write_rows(SOFTMAXES, softmax_row, f"{'GB more':>9}", *sizes)
        return
    if arguments.table == "memory":
        write_rows(MEMORY, memory_row, f"{'GB peak':>9}{'weights':>9}", *sizes)
        return
    if arguments.table == "train":
        rows = train_rows(arguments.vocabulary, arguments.hidden, arguments.bf16)
    else:
        rows = recurrence_rows(arguments.hidden, arguments.bf16)
    before = ceiling(arguments.hidden, arguments.rounds, arguments.bf16)
    seconds = seconds_of(rows, arguments.rounds)
    after = ceiling(arguments.hidden, arguments.rounds, arguments.bf16)
    sys.stdout.write(
        f"torch {torch.__version__}, 1 thread, {'bfloat16 autocast' if arguments.bf16 else 'float32'}, "
        f"B = {BATCH}, L = {WINDOW}, H = {arguments.hidden}, {LAYERS} layers, V = {arguments.vocabulary:,}; "
        f"median of {arguments.rounds} rounds; product of matrices: {before:.0f} GFLOP/s before, "
        f"{after:.0f} after\n"
    )
    write_table(rows, seconds, max(before, after))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=["train", "recurrence", "softmax", "memory"])
    parser.add_argument("--vocabulary", type=int, default=10_000)
    parser.add_argument("--hidden", type=int, default=650)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--bf16", action="store_true")
    main(parser.parse_args())
