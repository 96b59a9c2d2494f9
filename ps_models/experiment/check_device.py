"""Which arithmetic of a device is right: a few updates on it beside the same ones in float64 on a CPU."""

from __future__ import annotations

import math
import platform
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from ps_models.configs import make_configs, make_model
from ps_models.data.batching import to_rows
from ps_models.devices import choose_device
from ps_models.training.cuda_graphs import WARM_UP, CudaGraphs, Recorder, reason_of
from ps_models.training.distributed import ONE_PROCESS
from ps_models.training.update import Training
from wikitext_builder.progress import Progress, no_progress

MODELS = ("lstm", "pointer-sentinel-lstm")
WORDS, BATCH, STRIDE, UPDATES = 2_000, 16, 50, 12
SETTINGS = (
    "hidden_size=200",
    f"batch_size={BATCH}",
    f"stride={STRIDE}",
    f"bptt={STRIDE}",
    "optimizer=sgd",  # AdamW's first steps are signs of gradients: rounding would decide them
    "learning_rate=1",
    "loss=row",
)
WITHOUT_DROPOUT = ("input_dropout=0", "layer_dropout=0", "output_dropout=0", "zoneout=0")
# Bounds of the relative difference to float64, of all losses and norms of gradients. A processor with AMX has
# 6e-6 and 7e-3; TF32 has two bits more than bfloat16. A wrong kernel is wrong by far more.
ALLOWED = {"fp32": 1e-4, "tf32": 1e-2, "bf16": 3e-2}
TIMED_FROM = WARM_UP + 3  # after set-up and recording


@dataclass(frozen=True, kw_only=True)
class DeviceCheck:
    """One model, computed in one way on the device."""

    model: str
    way: str  # a precision, also with CUDA graphs
    difference: float | None = None  # relative, the largest; None: not tried, because it needs a GPU
    allowed: float = 0.0
    tokens_per_second: float = 0.0
    failed: str = ""  # the error of the device

    @property
    def passed(self) -> bool:
        """Whether the numbers are as near as they must be."""
        return self.difference is not None and self.difference <= self.allowed


@dataclass(frozen=True, kw_only=True)
class DeviceChecks:
    """All checks of a device."""

    device: str  # with its name, and the version of torch
    checks: tuple[DeviceCheck, ...]

    @property
    def verdict(self) -> str:
        """One line: what is safe to switch on, what is not, what was not tried."""
        groups: dict[str, list[str]] = {"safe": [], "not safe": [], "not tried, needs a GPU": []}
        for way in dict.fromkeys(check.way for check in self.checks):
            tried = [check for check in self.checks if check.way == way and check.difference is not None]
            safe = "safe" if all(check.passed for check in tried) else "not safe"
            groups[safe if tried else "not tried, needs a GPU"].append(way)
        return "; ".join(f"{group}: {', '.join(ways)}" for group, ways in groups.items() if ways)

    @property
    def usable(self) -> bool:
        """Whether what is on by default, fp32 without graphs, is right."""
        return all(check.passed for check in self.checks if check.way == "fp32")


def check_device(
    device: str = "auto",
    *,
    recorder: Callable[[torch.device], Recorder] | None = None,
    progress: Progress = no_progress,
) -> DeviceChecks:
    """Try what can be switched on: each precision beside float64 on a CPU, graphs beside no graphs.

    An LSTM and a pointer sentinel-LSTM of 200 units train for 12 updates on random words: without dropout
    in each precision, compared with float64; with dropout and zoneout as CUDA graphs, which must give the
    numbers of the same updates kernel by kernel to the last bit. It takes less than a minute.

    Args:
        device: auto, cpu, cuda or cuda:1.
        recorder: Replaces CUDA graphs, for tests.
        progress: Told how many checks are done.

    Raises:
        ModelError: There is no such device.
    """
    chosen = choose_device(device)
    if recorder is None and chosen.type == "cuda":
        recorder = CudaGraphs
    checks: list[DeviceCheck] = []
    total = len(MODELS) * 2 * len(ALLOWED)
    for model in MODELS:
        right = _train(model, "fp32", torch.device("cpu"), dtype=torch.float64)
        for check in (*_precisions(model, chosen, right), *_graphs(model, chosen, recorder)):
            checks.append(check)
            progress("check-device", len(checks), total, f"{model} {check.way}")
    name = torch.cuda.get_device_name(chosen) if chosen.type == "cuda" else platform.machine()
    return DeviceChecks(device=f"{chosen} ({name}), torch {torch.__version__}", checks=tuple(checks))


@dataclass(frozen=True, kw_only=True)
class _Run:
    numbers: Tensor  # float64, (updates, 2): the nats of each, and the norm of its gradient
    tokens_per_second: float
    failed: str = ""  # the error of the device, or why graphs were not recorded


def _precisions(model: str, device: torch.device, right: _Run) -> Iterator[DeviceCheck]:
    for precision, allowed in ALLOWED.items():
        check = DeviceCheck(model=model, way=precision, allowed=allowed)
        if precision == "tf32" and device.type != "cuda":
            yield check
            continue
        yield _compared(check, _tried(model, precision, device), right)


def _graphs(
    model: str, device: torch.device, recorder: Callable[[torch.device], Recorder] | None
) -> Iterator[DeviceCheck]:
    for precision in ALLOWED:
        check = DeviceCheck(model=model, way=f"{precision} with CUDA graphs")
        if recorder is None or (precision == "tf32" and device.type != "cuda"):
            yield check
            continue
        plain = _tried(model, precision, device, dropout=True)
        yield _compared(
            check, _tried(model, precision, device, dropout=True, recorder=recorder(device)), plain
        )


def _compared(check: DeviceCheck, run: _Run, right: _Run) -> DeviceCheck:
    if failed := run.failed or right.failed:
        return replace(check, difference=math.inf, failed=failed)
    difference = ((run.numbers - right.numbers).abs() / right.numbers.abs()).max().item()
    return replace(
        check,
        difference=difference if math.isfinite(difference) else math.inf,
        tokens_per_second=run.tokens_per_second,
    )


def _tried(model: str, precision: str, device: torch.device, **options: Any) -> _Run:
    """The run; after an error of the device its reason, so that other checks are still made."""
    try:
        return _train(model, precision, device, **options)
    except RuntimeError as error:
        return _Run(numbers=torch.empty(0, 2), tokens_per_second=0.0, failed=reason_of(error))


def _train(
    model: str,
    precision: str,
    device: torch.device,
    *,
    dtype: torch.dtype = torch.float32,
    dropout: bool = False,
    recorder: Recorder | None = None,
) -> _Run:
    settings = (*SETTINGS, f"precision={precision}", *(() if dropout else WITHOUT_DROPOUT))
    config, training = make_configs(model, "tiny", settings, WORDS)
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(1)
        made = make_model(model, config).to(device, dtype).train()
        text = torch.randint(
            WORDS, (BATCH * STRIDE * (UPDATES + 1),), generator=torch.Generator().manual_seed(1)
        )
        run = Training(
            made, to_rows(text, BATCH), training, device=device, world=ONE_PROCESS, recorder=recorder
        )
        chunks = ((chunk, targets) for chunk, targets in run.chunks() if not any(chunk.shorter))
        numbers: list[Tensor] = []
        tokens, start = 0, 0.0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a refused recording is in the result
            for index, (chunk, targets) in enumerate(islice(chunks, UPDATES)):
                if index == TIMED_FROM:
                    torch.stack(numbers).tolist()  # waits for the device
                    start = time.perf_counter()
                numbers.append(run.update(chunk, targets))
                tokens += targets if index >= TIMED_FROM else 0
        found = torch.stack(numbers).cpu()
    speed = tokens / (time.perf_counter() - start)
    refused = run.recorded.refused if run.recorded else None
    return _Run(numbers=found, tokens_per_second=speed, failed=refused or "")
