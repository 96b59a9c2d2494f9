"""Training on a GPU: speed of all presets, at K = 1, 10, L, with many words; and whether its numbers hold.

    python benchmarks/speed/gpu.py DATA --out DIR [--parts presets,numbers] [--minutes M] [--seconds S]
    python benchmarks/speed/gpu.py DATA --out DIR --smoke

A row times whole updates (loss, gradients, clip, step) of chunks with their full look-back, after some
updates for set-up and compilation. The parts:

- presets: each preset on the words of DATA, kernel by kernel, in single precision.
- numbers: how close losses and gradients of the first updates are to those in float64 on the CPU; without
  dropout, and with a short window, because what is compiled is unrolled.
- words: the pointer sentinel-LSTM of the paper's medium size with WikiText-103's number of words.
- strides: the same model at K = 1, 10, L: kernel by kernel, compiled, with cuDNN (which has no zoneout).
- other: validation (its "epoch" is all of valid), and the recurrence alone.

Each row is written to gpu.jsonl as soon as it is measured, and gpu.md is the table of all rows; rows that
were left out are there too, with the reason. `--smoke` is for machines without a GPU: tiny sizes, to check
that the script runs.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final

import torch
from speed.models import PLAIN, recurrence_rows
from torch import Tensor

from ps_models.configs import make_configs, make_model
from ps_models.dataset import Text, read_stream, to_rows
from ps_models.devices import ONE_PROCESS, choose_device
from ps_models.errors import ModelError
from ps_models.own_models import list_models
from ps_models.scoring import score_texts
from ps_models.training.update import Position, Training
from wikitext_builder.dataset.load import load as load_dataset
from wikitext_builder.dataset.vocabulary import Vocabulary

MODEL = "pointer-sentinel-lstm"
CPU = torch.device("cpu")
TEXT_TOKENS = 200_000  # of text
WINDOW = 100  # L of section 5.2, the default
WAYS = ("kernel by kernel", "compiled", "cuDNN, no zoneout")
ON_CPU = "on the CPU"
WARM_UP = 5  # updates for set-up and compilation, and those whose numbers are compared
PRECISIONS = ("fp32", "bf16", "tf32")
MANY_WORDS = 267_735  # WikiText-103
SOFTMAXES: Final[dict[str, tuple[str, ...]]] = {
    "all words": (),
    "all words, tied": ("tied=yes",),
    "sampled": ("sampled=4096",),
    "adaptive": ("cutoffs=20000,60000,200000",),
}
NO_DROPOUT = tuple(f"{name}=0" for name in PLAIN)
EVALUATED_TOKENS = 2_048  # tokens
Measure = Callable[[], "list[Row]"]


@dataclass(frozen=True, kw_only=True)
class Row:
    """A measurement, or why it was left out."""

    name: str
    way: str = ""
    precision: str = "fp32"
    stride: int = 0
    updates: int = 0
    seconds: float = 0.0
    tokens: int = 0  # that were scored
    epoch_seconds: float = 0.0
    gigabytes: float = 0.0  # at the peak
    deviation: str = ""  # of losses and gradient norms, from those in float64
    left_out: str = ""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A training to time."""

    name: str
    model: str = MODEL
    preset: str | None = None
    settings: tuple[str, ...] = ()
    way: str = WAYS[0]
    precision: str = "fp32"
    words: int = 0  # random text of so many words; 0: that of the dataset
    compared: bool = False
    exact: bool = False  # in float64: what is compared with

    @property
    def row(self) -> Row:
        """The row of this case, without figures."""
        return Row(name=self.name, way=self.way, precision="float64" if self.exact else self.precision)


@dataclass(frozen=True, kw_only=True)
class Bench:
    """The data, device and sizes that all rows share."""

    train: Tensor
    valid: Tensor
    vocabulary: Vocabulary
    device: torch.device
    sizes: tuple[str, ...]  # settings of the paper's model and its training
    updates: int
    seconds: float  # of a row, at most
    smoke: bool
    exact: dict[str, Tensor] = field(default_factory=dict)  # numbers to compare with

    @property
    def on_gpu(self) -> bool:
        """True if the device is a GPU."""
        return self.device.type == "cuda"

    def wait(self) -> None:
        """Wait until everything is computed."""
        if self.on_gpu:
            torch.cuda.synchronize(self.device)


def set_up(case: Case, text: Tensor, words: Vocabulary, device: torch.device) -> tuple[Any, Training]:
    """Make the prepared model of a case with fresh weights, and its training on a text."""
    settings = (*case.settings, f"precision={case.precision}")
    config, training = make_configs(case.model, case.preset, settings, len(words))
    torch.manual_seed(1)
    model: Any = make_model(case.model, config).train()
    if hasattr(model, "prepare"):
        model.prepare(text, words, 1)
    rows = to_rows(text, training.batch_size)
    model.to(device)
    compiled = case.way == "compiled"
    run = Training(
        *(model, rows, training), vocab_size=len(words), device=device, world=ONE_PROCESS, compiled=compiled
    )
    return model, run


def update_row(bench: Bench, case: Case) -> list[Row]:
    """Time whole updates."""
    gc.collect()  # the run of the previous row refers to itself
    if bench.on_gpu:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(bench.device)
    words, text = bench.vocabulary, bench.train[:TEXT_TOKENS]
    if case.words:
        words = Vocabulary(tuple(f"w{number}" for number in range(case.words)))
        text = torch.randint(case.words, (TEXT_TOKENS,), generator=torch.Generator().manual_seed(1))
    device = CPU if case.way == ON_CPU else bench.device
    model, run = set_up(case, text, words, device)
    training = run.config
    if case.exact:
        model.double()
        run.next_epoch()  # its state in float64 too
    run.position = Position(chunk=-(-training.lookback // training.stride))
    chunks = ((chunk, targets) for chunk, targets in run.chunks() if not any(chunk.shorter))
    warm = [(run.update(*pair), pair[1]) for pair in islice(chunks, WARM_UP)]
    bench.wait()
    timed, started = [], time.perf_counter()
    for chunk, targets in chunks:
        timed.append((run.update(chunk, targets), targets))
        if len(timed) % 8 == 0:
            bench.wait()  # otherwise only launches would be timed
        if len(timed) == bench.updates or time.perf_counter() - started > bench.seconds:
            break
    bench.wait()
    seconds = time.perf_counter() - started
    if not timed:
        return [replace(case.row, left_out="the text is too short")]
    numbers, deviation = torch.tensor(run.read([*warm, *timed]), dtype=torch.float64)[:WARM_UP], ""
    if case.exact:
        bench.exact[case.name] = numbers
    elif case.compared:
        deviation = relative_deviation(numbers, bench.exact[case.name])
    tokens = sum(targets for _, targets in timed)
    memory = torch.cuda.max_memory_allocated(bench.device) / 1e9 if device.type == "cuda" else 0.0
    row = replace(case.row, stride=training.stride, updates=len(timed), seconds=seconds, tokens=tokens)
    epoch = 0.0 if case.words else len(bench.train) / tokens * seconds
    return [replace(row, epoch_seconds=epoch, gigabytes=memory, deviation=deviation)]


def relative_deviation(numbers: Tensor, expected: Tensor) -> str:
    """Describe the largest relative differences of losses and of gradient norms."""
    difference = ((numbers - expected).abs() / expected.abs()).amax(0)
    return f"loss to {difference[0]:.0e}, gradient to {difference[1]:.0e}"


def preset_cases(bench: Bench) -> Iterator[Case]:
    """Yield a case per preset; for smoke tests, only those named `tiny`."""
    for model, presets in list_models().items():
        for preset in presets:
            if preset == "tiny" or not bench.smoke:
                tiny_settings = ("batch_size=2", "stride=4", "bptt=4") if bench.smoke else ()
                yield Case(name=f"{model}/{preset}", model=model, preset=preset, settings=tiny_settings)


def number_cases(bench: Bench) -> Iterator[Case]:
    """Yield the case in float64 first, because the others are compared with it."""
    settings = (*bench.sizes, *NO_DROPOUT, *(f"{name}=8" for name in ("window", "bptt", "stride")))
    case = Case(name="no dropout, L = 8", settings=settings, compared=True)
    yield replace(case, way=ON_CPU, exact=True)
    yield replace(case, way=ON_CPU)
    for precision in PRECISIONS:
        yield replace(case, precision=precision)
    yield replace(case, way=WAYS[1])


def word_cases(bench: Bench) -> Iterator[Case]:
    """Yield cases with as many words as WikiText-103, one per softmax."""
    for name, settings in SOFTMAXES.items():
        many = 300 if bench.smoke else MANY_WORDS
        small = () if bench.smoke else settings
        yield Case(name=f"{many:,} words: {name}", settings=(*bench.sizes, *small), words=many)


def stride_cases(bench: Bench) -> Iterator[Case]:
    """Yield the cases of strides, the quick ways first."""
    for way in (WAYS[0], WAYS[2], WAYS[1]):
        zoneout = ("zoneout=0",) if "no zoneout" in way else ()
        for stride in (1, 8) if bench.smoke else (1, 10, WINDOW):
            for precision in PRECISIONS:
                settings = (*bench.sizes, f"stride={stride}", *zoneout)
                yield Case(name=f"{MODEL}, K = {stride}", settings=settings, way=way, precision=precision)


def recurrence(bench: Bench) -> list[Row]:
    """Time two layers over a window, forward and backward: ours, torch's fused cell in a loop, cuDNN."""
    rows = []
    with torch.device(bench.device):
        for name, row in recurrence_rows(16 if bench.smoke else 650, bf16=False).items():
            unmeasured = Row(name=f"recurrence alone: {name}", updates=bench.updates)
            try:
                row.run()
                bench.wait()
                started = time.perf_counter()
                for _ in range(bench.updates):
                    row.run()
                bench.wait()
                seconds = time.perf_counter() - started
            except RuntimeError as error:  # later rows still run
                rows.append(replace(unmeasured, left_out=left_out(error)))
            else:
                rows.append(replace(unmeasured, seconds=seconds, tokens=row.tokens * bench.updates))
    return rows


def validation(bench: Bench) -> list[Row]:
    """Time validation with carried context, as after each epoch."""
    config, _ = make_configs(MODEL, None, bench.sizes, len(bench.vocabulary))
    model: Any = make_model(MODEL, config).to(bench.device)
    text = Text(bench.valid[: EVALUATED_TOKENS if bench.on_gpu else 64], bytes=0)
    score_texts(model, [text], device=bench.device)
    bench.wait()
    started = time.perf_counter()
    score_texts(model, [text], device=bench.device)
    seconds, count = time.perf_counter() - started, len(text.tokens)
    epoch = len(bench.valid) / count * seconds
    return [Row(name="validation", seconds=seconds, tokens=count, epoch_seconds=epoch)]


PARTS: Final[dict[str, Callable[[Bench], Iterator[Case]]]] = {
    "presets": preset_cases,
    "numbers": number_cases,
    "words": word_cases,
    "strides": stride_cases,
}
OTHER: Final = "other"


def rows_of(bench: Bench, parts: list[str]) -> Iterator[tuple[Row, Measure]]:
    """Yield all rows in order, with the functions that measure them."""
    for part in parts:
        if part == OTHER:
            yield Row(name="validation"), partial(validation, bench)
            yield Row(name="recurrence alone"), partial(recurrence, bench)
        else:
            for case in PARTS[part](bench):
                yield case.row, partial(update_row, bench, case)


def measured(row: Row, measure: Measure, on_gpu: bool, ends: float) -> list[Row]:
    """Measure rows, or say why they were left out."""
    if time.perf_counter() > ends:
        return [replace(row, left_out="no time was left")]
    if not on_gpu and (row.way in WAYS[1:] or row.precision == "tf32"):
        return [replace(row, left_out="needs a GPU")]
    try:
        return measure()
    except (RuntimeError, ModelError) as error:  # such as CUDA errors: the row reports it, later rows run
        return [replace(row, left_out=left_out(error))]


def left_out(error: Exception) -> str:
    """Describe an error in one line."""
    return f"{type(error).__name__}: {str(error).splitlines()[0]}"


def table(rows: list[Row], heading: str) -> str:
    """Write the rows as a Markdown table."""
    names = "| | way | precision | K | updates/s | tokens/s | s per epoch | GB | against float64 |"
    lines = [heading, "", names, "|---|---|---|---:|---:|---:|---:|---:|---|"]
    for row in rows:
        start = f"| {row.name} | {row.way} | {row.precision} | {row.stride or ''} |"
        if row.left_out:
            lines.append(f"{start} left out: {row.left_out} | | | | |")
            continue
        rate, epoch = row.updates / row.seconds, f"{row.epoch_seconds:,.1f}" if row.epoch_seconds else ""
        memory = f"{row.gigabytes:.2f}" if row.gigabytes else ""
        updates = f"{rate:,.1f}" if row.updates else ""
        lines.append(
            f"{start} {updates} | {row.tokens / row.seconds:,.0f} | {epoch} | {memory} | {row.deviation} |"
        )
    return "\n".join(lines) + "\n"


def machine(device: torch.device) -> dict[str, object]:
    """Return the facts on which the figures depend."""
    facts: dict[str, object] = {"torch": torch.__version__, "device": str(device)}
    if device.type == "cuda":
        cudnn: Any = torch.backends.cudnn
        facts |= {"gpu": torch.cuda.get_device_name(device), "cuda": torch.version.cuda}
        facts |= {"cudnn": cudnn.version()}
    return facts


def main(arguments: argparse.Namespace) -> None:
    """Measure all rows and write each as soon as it is done."""
    started = time.perf_counter()
    smoke: bool = arguments.smoke
    device = choose_device("cpu" if smoke and not torch.cuda.is_available() else "cuda")
    dataset = load_dataset(arguments.data)
    vocabulary = Vocabulary.of_file(dataset.file("train"))
    bench = Bench(
        train=read_stream(dataset, "train", vocabulary),
        valid=read_stream(dataset, "valid", vocabulary),
        vocabulary=vocabulary,
        device=device,
        sizes=("hidden_size=16", "window=8", "bptt=8", "batch_size=4") if smoke else (),
        updates=2 if smoke else arguments.updates,
        seconds=arguments.seconds,
        smoke=smoke,
    )
    facts = machine(device) | {"data": dataset.name, "words": len(vocabulary)}
    heading = ", ".join(f"{name} {value}" for name, value in facts.items())
    arguments.out.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    for row, measure in rows_of(bench, arguments.parts.split(",")):
        rows += measured(row, measure, bench.on_gpu, started + 60 * arguments.minutes)
        lines = "".join(json.dumps({**facts, **asdict(measured_row)}) + "\n" for measured_row in rows)
        (arguments.out / "gpu.jsonl").write_text(lines, encoding="utf-8")
        (arguments.out / "gpu.md").write_text(table(rows, heading), encoding="utf-8")
    sys.stdout.write(table(rows, heading))


def arguments_of(words: list[str] | None = None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--parts", default=",".join((*PARTS, OTHER)), help="in this order, by commas")
    parser.add_argument("--minutes", type=float, default=6.0, help="No row starts after this.")
    parser.add_argument("--updates", type=int, default=64, help="Timed per row, at most.")
    parser.add_argument("--seconds", type=float, default=2.0, help="Timed per row, at most.")
    parser.add_argument("--smoke", action="store_true", help="Tiny sizes; also without a GPU.")
    return parser.parse_args(words)


if __name__ == "__main__":
    main(arguments_of())
