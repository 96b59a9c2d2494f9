"""Training speed on a GPU: kernel by kernel, compiled, with cuDNN; in each precision, at K = 1, 10, L.

    python benchmarks/speed/gpu.py DATA --out DIR [--minutes M] [--updates N]
    python benchmarks/speed/gpu.py DATA --out DIR --smoke

The pointer sentinel-LSTM of the paper's medium size, on the words and the text of DATA. A row times whole
updates (loss, gradients, clip, step) of chunks with their full look-back, after some updates for set-up and
compilation. Compiled rows say how near their losses and gradients are to those of kernel by kernel. cuDNN has
no zoneout, so its rows are of the same model without it. Below them: validation (its "epoch" is all of
valid), and the recurrence alone. Each row is written to gpu.jsonl as soon as
it is measured, and gpu.md is the table of all rows; rows that were left out are there too, with the reason.
`--smoke` is for machines without a GPU: tiny sizes, to check that the script runs.
"""

# ruff: noqa: N803, N806 - sizes have the names of the papers

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from speed.models import recurrence_rows
from torch import Tensor

from ps_models.configs import make_configs, make_model
from ps_models.data.dataset import Text, read_stream, to_rows
from ps_models.devices import choose_device
from ps_models.errors import ModelError
from ps_models.evaluation.evaluate import score_texts
from ps_models.training.update import ONE_PROCESS, Position, Training
from wikitext_builder.dataset.load import load as load_dataset
from wikitext_builder.dataset.vocabulary import Vocabulary

MODEL = "pointer-sentinel-lstm"
WAYS = ("kernel by kernel", "compiled", "cuDNN, no zoneout")
WARM_UP = 5  # updates for set-up and compilation
PRECISIONS = ("fp32", "bf16", "tf32")
Measure = Callable[[], "Row | list[Row]"]
ROW_SECONDS = 8.0  # at most, of what is timed
EVALUATED = 2_048  # tokens


@dataclass(frozen=True, kw_only=True)
class Row:
    """What was measured, or why it was not."""

    what: str
    precision: str = "fp32"
    K: int = 0
    updates: int = 0
    seconds: float = 0.0
    tokens: int = 0  # that were scored
    epoch_seconds: float = 0.0
    gigabytes: float = 0.0  # at the peak
    same: str = ""  # how near its numbers are to those of the same updates kernel by kernel
    left_out: str = ""


@dataclass(frozen=True, kw_only=True)
class Bench:
    """What all rows have in common: data, device and sizes."""

    stream: Tensor
    valid: Tensor
    words: int
    device: torch.device
    sizes: tuple[str, ...]  # settings of the model and its training
    window: int
    updates: int

    @property
    def on_gpu(self) -> bool:
        """Whether the device is a GPU."""
        return self.device.type == "cuda"

    def training(self, way: str, precision: str, stride: int) -> Training:
        """A run at a position where every chunk has its full look-back."""
        zoneout = ("zoneout=0",) if "no zoneout" in way else ()
        settings = (*self.sizes, f"stride={stride}", f"precision={precision}", *zoneout)
        config, training = make_configs(MODEL, None, settings, self.words)
        torch.manual_seed(1)
        model = make_model(MODEL, config).to(self.device).train()
        rows = to_rows(self.stream, training.batch_size)
        compiled = way == "compiled"
        run = Training(model, rows, training, device=self.device, world=ONE_PROCESS, compiled=compiled)
        run.position = Position(chunk=-(-self.window // stride))
        return run

    def wait(self) -> None:
        """Wait until all is computed."""
        if self.on_gpu:
            torch.cuda.synchronize(self.device)


def update_row(bench: Bench, way: str, precision: str, K: int, plain: dict[Any, Any]) -> Row:
    """Time whole updates; `plain` keeps the numbers of kernel by kernel, for comparison."""
    gc.collect()  # the run of the previous row refers to itself
    if bench.on_gpu:
        torch.cuda.reset_peak_memory_stats(bench.device)
    run = bench.training(way, precision, K)
    chunks = ((chunk, targets) for chunk, targets in run.chunks() if not any(chunk.shorter))
    warm = [(run.update(*pair), pair[1]) for pair in islice(chunks, WARM_UP)]
    bench.wait()
    timed, started = [], time.perf_counter()
    for chunk, targets in chunks:
        timed.append((run.update(chunk, targets), targets))
        if len(timed) % 8 == 0:
            bench.wait()  # otherwise only launches would be timed
        if len(timed) == bench.updates or time.perf_counter() - started > ROW_SECONDS:
            break
    bench.wait()
    seconds = time.perf_counter() - started
    if not timed:
        return Row(what=way, precision=precision, K=K, left_out="the text is too short")
    key, numbers = (precision, K, "no zoneout" in way), torch.tensor(run.read([*warm, *timed]))
    same = ""
    if run.compiled is None:
        plain[key] = numbers
    elif key in plain:
        same = agreement(numbers, plain[key])
    per_epoch = -(-run.rows.tokens.shape[1] // K)
    return Row(
        what=way,
        precision=precision,
        K=K,
        updates=len(timed),
        seconds=seconds,
        tokens=sum(targets for _, targets in timed),
        epoch_seconds=per_epoch * seconds / len(timed),
        gigabytes=torch.cuda.max_memory_allocated(bench.device) / 1e9 if bench.on_gpu else 0.0,
        same=same,
    )


def agreement(numbers: Tensor, wanted: Tensor) -> str:
    """`yes`, or the largest relative difference of losses and gradients' norms."""
    count = min(len(numbers), len(wanted))
    difference = (numbers[:count] - wanted[:count]).abs() / wanted[:count].abs()
    return "yes" if difference.max() == 0 else f"to {difference.max():.0e}"


def recurrence(bench: Bench, hidden: int) -> list[Row]:
    """Two layers over a window, forward and backward: ours, torch's fused cell in a loop, cuDNN."""
    rows = []
    with torch.device(bench.device):
        for name, row in recurrence_rows(hidden, bf16=False).items():
            one = Row(what=f"recurrence alone: {name}", updates=bench.updates)
            try:
                row.run()
                bench.wait()
                started = time.perf_counter()
                for _ in range(bench.updates):
                    row.run()
                bench.wait()
                seconds = time.perf_counter() - started
            except RuntimeError as error:  # the next rows are still tried
                rows.append(replace(one, left_out=left_out(error)))
            else:
                rows.append(replace(one, seconds=seconds, tokens=row.tokens * bench.updates))
    return rows


def validation(bench: Bench) -> Row:
    """Time validation with carried context, as after each epoch."""
    run = bench.training(WAYS[0], "fp32", bench.window)
    text = Text(bench.valid[: EVALUATED if bench.on_gpu else 64], bytes=0)
    score_texts(run.model, [text], device=bench.device)  # type: ignore[arg-type]
    bench.wait()
    started = time.perf_counter()
    score_texts(run.model, [text], device=bench.device)  # type: ignore[arg-type]
    seconds = time.perf_counter() - started
    count = len(text.tokens)
    return Row(
        what="validation", seconds=seconds, tokens=count, epoch_seconds=seconds * len(bench.valid) / count
    )


def rows_of(
    bench: Bench, strides: tuple[int, ...], precisions: tuple[str, ...], hidden: int
) -> Iterator[tuple[Row, Measure]]:
    """All rows in order: the name of each, and the function that measures it."""
    plain: dict[Any, Any] = {}
    for precision in precisions:
        for K in strides:
            for way in WAYS:
                measure = partial(update_row, bench, way, precision, K, plain)
                yield Row(what=way, precision=precision, K=K), measure
    yield Row(what="validation"), partial(validation, bench)
    yield Row(what="recurrence alone"), partial(recurrence, bench, hidden)


def measured(row: Row, measure: Measure, on_gpu: bool, ends: float) -> list[Row]:
    """The rows, or why they were left out."""
    if time.perf_counter() > ends:
        return [replace(row, left_out="no time was left")]
    if not on_gpu and (row.what in WAYS[1:] or row.precision == "tf32"):
        return [replace(row, left_out="needs a GPU")]
    try:
        found = measure()
        return found if isinstance(found, list) else [found]
    except (RuntimeError, ModelError) as error:  # of CUDA: the row reports it, and the next rows are tried
        return [replace(row, left_out=left_out(error))]


def left_out(error: Exception) -> str:
    """The reason, in one line."""
    return f"{type(error).__name__}: {str(error).splitlines()[0]}"


def table(rows: list[Row], heading: str) -> str:
    """The rows as a table in Markdown."""
    names = "| | precision | K | updates/s | tokens/s | s per epoch | GB | same numbers |"
    lines = [heading, "", names, "|---|---|---|---|---|---|---|---|"]
    for row in rows:
        start = f"| {row.what} | {row.precision} | {row.K or ''} |"
        if row.left_out:
            lines.append(f"{start} left out: {row.left_out} | | | | |")
            continue
        rate, epoch = row.updates / row.seconds, f"{row.epoch_seconds:,.1f}" if row.epoch_seconds else ""
        memory = f"{row.gigabytes:.2f}" if row.gigabytes else ""
        updates = f"{rate:,.1f}" if row.updates else ""
        lines.append(
            f"{start} {updates} | {row.tokens / row.seconds:,.0f} | {epoch} | {memory} | {row.same} |"
        )
    return "\n".join(lines) + "\n"


def machine(device: torch.device) -> dict[str, object]:
    """What the figures depend on."""
    facts: dict[str, object] = {"torch": torch.__version__, "device": str(device)}
    if device.type == "cuda":
        cudnn: Any = torch.backends.cudnn
        facts |= {"gpu": torch.cuda.get_device_name(device), "cuda": torch.version.cuda}
        facts |= {"cudnn": cudnn.version()}
    return facts


def main(arguments: argparse.Namespace) -> None:
    """Measure all rows and write each as soon as it is done."""
    started = time.perf_counter()
    device = choose_device("cpu" if arguments.smoke and not torch.cuda.is_available() else "cuda")
    dataset = load_dataset(arguments.data)
    vocabulary = Vocabulary.of_file(dataset.file("train"))
    smoke: bool = arguments.smoke
    hidden, window = (16, 8) if smoke else (650, 100)  # the paper's medium size, section 5.2
    small = (f"hidden_size={hidden}", f"window={window}", f"bptt={window}", "batch_size=4")
    bench = Bench(
        stream=read_stream(dataset, "train", vocabulary),
        valid=read_stream(dataset, "valid", vocabulary),
        words=len(vocabulary),
        device=device,
        sizes=small if smoke else (),
        window=window,
        updates=2 if smoke else arguments.updates,
    )
    strides, precisions = ((1, window), ("fp32",)) if smoke else ((1, 10, window), PRECISIONS)
    facts = machine(device) | {"data": dataset.name, "words": len(vocabulary), "hidden": hidden, "L": window}
    heading = ", ".join(f"{name} {value}" for name, value in facts.items())
    arguments.out.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    for row, measure in rows_of(bench, strides, precisions, hidden):
        found = measured(row, measure, bench.on_gpu, started + 60 * arguments.minutes)
        rows += found
        lines = "".join(json.dumps({**facts, **asdict(one)}) + "\n" for one in rows)
        (arguments.out / "gpu.jsonl").write_text(lines, encoding="utf-8")
        (arguments.out / "gpu.md").write_text(table(rows, heading), encoding="utf-8")
    sys.stdout.write(table(rows, heading))


def arguments_of(given: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=6.0, help="No row starts after this.")
    parser.add_argument("--updates", type=int, default=64, help="Timed per row.")
    parser.add_argument("--smoke", action="store_true", help="Tiny sizes; also without a GPU.")
    return parser.parse_args(given)


if __name__ == "__main__":
    main(arguments_of())
