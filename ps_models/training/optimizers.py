"""How a model is trained, in one flat record; its optimizer and its learning rate from epoch to epoch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from ps_models.errors import ModelError


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """The hyperparameters of a run; the defaults are the paper's, section 5.2, but for the stride."""

    batch_size: int = 32  # section 5.2
    stride: int = (
        100  # k1 of Algorithm 1; the paper's is 1, about 40 times slower (k1 = L is as good as its own)
    )
    random_strides: bool = False  # drawn around `stride`, see `random_ends`; learning rate in proportion
    bptt: int = 100  # L of section 5.2: each loss looks back so many outputs; 1: plain segments of `stride`
    optimizer: str = "sgd"  # sgd, adamw or asgd (averaged)
    learning_rate: float = 1.0  # Zaremba et al. (2014), section 4.1; the paper names none
    weight_decay: float = 0.0  # of the optimizer, as torch means it
    clip: float = 1.0  # of the global norm of the gradient; section 5.2
    loss: str = "row"  # row: sum over time, mean over rows, as Zaremba; token: mean over tokens
    schedule: str = "halve-when-worse"  # a name in SCHEDULES
    decay: float = 0.5  # what the learning rate is multiplied by; section 5.2
    decay_after: int = 0  # epochs at the first learning rate, of decay-after
    epochs: int = 64  # at most; section 5.2
    patience: int = 3  # stop after so many epochs without improvement; 0: never; section 5.2
    averaging_interval: int = 5  # n of NT-ASGD: average once the best is more than n epochs ago
    precision: str = "fp32"  # fp32, tf32 (GPU) or bf16 (autocast; the weights stay fp32)
    seed: int = 1

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise ModelError(f"{name}={getattr(self, name)!r}; expected {', '.join(choices)}")
        for name, wanted in TRAINING_RANGES.items():
            if expected := out_of_range(getattr(self, name), wanted):
                raise ModelError(f"{name}={getattr(self, name)}; {expected}")

    @property
    def lookback(self) -> int:
        """Tokens that a chunk runs over again before those it predicts."""
        return self.bptt - 1


# What a hyperparameter must be: from the first number on, below the second.
Range = tuple[float, float]
SIZE, SOME = (1.0, math.inf), (0.0, math.inf)
TRAINING_RANGES: dict[str, Range] = {
    **dict.fromkeys(("batch_size", "stride", "bptt"), SIZE),
    **dict.fromkeys(("epochs", "patience", "clip", "learning_rate", "weight_decay", "decay"), SOME),
    **dict.fromkeys(("decay_after", "averaging_interval"), SOME),
    "seed": (0.0, 2.0**63),  # of torch's generators
}


def out_of_range(value: float, wanted: Range) -> str:
    """What was expected, or "" where the value is that.

    >>> out_of_range(1.0, (0.0, 1.0)), out_of_range(0.5, (0.0, 1.0))
    ('expected 0 or more, and less than 1', '')
    """
    first, end = wanted
    if first <= value < end:
        return ""
    least = "more than 0" if 0 < first < 1 else f"{first:g} or more"
    return f"expected {least}, and {'finite' if end == math.inf else f'less than {end:g}'}"


# --- learning rate

Schedule = Callable[[TrainingConfig, float, Sequence[float]], float]


def _halve_when_worse(config: TrainingConfig, rate: float, losses: Sequence[float]) -> float:
    """Lower when validation is worse than in the epoch before; section 5.2."""
    return rate * config.decay if len(losses) > 1 and not losses[-1] <= losses[-2] else rate


def _divide_unless_best(config: TrainingConfig, rate: float, losses: Sequence[float]) -> float:
    """Lower when validation is not better than ever before; as pytorch/examples' word language model."""
    return rate * config.decay if len(losses) > 1 and not losses[-1] < min(losses[:-1]) else rate


def _decay_after(config: TrainingConfig, rate: float, losses: Sequence[float]) -> float:
    """Lower after each epoch but the first ones; Zaremba et al. (2014), section 4.1."""
    return rate * config.decay if len(losses) >= config.decay_after else rate


def _decay_unless_one_better(config: TrainingConfig, rate: float, losses: Sequence[float]) -> float:
    """Lower unless perplexity is better by more than 1, from the third epoch on; as Kim et al.'s code."""
    if len(losses) < 3 or math.exp(losses[-2]) - math.exp(losses[-1]) > 1:
        return rate
    return rate * config.decay


def _constant(config: TrainingConfig, rate: float, losses: Sequence[float]) -> float:
    del config, losses
    return rate


SCHEDULES: dict[str, Schedule] = {
    "halve-when-worse": _halve_when_worse,
    "divide-unless-best": _divide_unless_best,
    "decay-after": _decay_after,
    "decay-unless-one-better": _decay_unless_one_better,
    "constant": _constant,
}


def learning_rate(config: TrainingConfig, losses: Sequence[float]) -> float:
    """The learning rate of the next epoch, from the validation losses of those before.

    >>> learning_rate(TrainingConfig(), [5.0, 4.0, 4.5, 4.2])
    0.5
    """
    rate = config.learning_rate
    for end in range(1, len(losses) + 1):
        rate = SCHEDULES[config.schedule](config, rate, losses[:end])
    return rate


def finished(config: TrainingConfig, losses: Sequence[float]) -> bool:
    """Whether training ends: all epochs done, or `patience` of them without a new best."""
    if len(losses) >= config.epochs:
        return True
    if not losses or not config.patience:
        return False
    best = min(range(len(losses)), key=lambda epoch: (losses[epoch] != losses[epoch], losses[epoch]))
    return len(losses) - 1 - best >= config.patience


# --- optimizers


def _sgd(parameters: Iterable[nn.Parameter], config: TrainingConfig) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, lr=config.learning_rate, weight_decay=config.weight_decay)


def _adamw(parameters: Iterable[nn.Parameter], config: TrainingConfig) -> torch.optim.Optimizer:
    trained = list(parameters)
    return torch.optim.AdamW(
        trained,
        lr=config.learning_rate,
        weight_decay=config.weight_decay,
        capturable=_on_gpu(trained),
        fused=True,  # one operator for all: on a CPU it takes a third of the time
    )


def _asgd(parameters: Iterable[nn.Parameter], config: TrainingConfig) -> torch.optim.Optimizer:
    # Merity et al. (2017), https://arxiv.org/abs/1708.02182, section 3: plain SGD until it is triggered.
    trained = list(parameters)
    return torch.optim.ASGD(
        trained,
        lr=config.learning_rate,
        weight_decay=config.weight_decay,
        lambd=0.0,
        t0=NEVER,
        capturable=_on_gpu(trained),
    )


def _on_gpu(parameters: Iterable[nn.Parameter]) -> bool:
    """Where steps are counted by tensors: with or without CUDA graphs, so that both give the same numbers."""
    return any(parameter.is_cuda for parameter in parameters)


NEVER = 1e12  # a step that no run reaches
OPTIMIZERS: dict[str, Callable[[Iterable[nn.Parameter], TrainingConfig], torch.optim.Optimizer]] = {
    "sgd": _sgd,
    "adamw": _adamw,
    "asgd": _asgd,
}
PRECISIONS = ("fp32", "tf32", "bf16")
CHOICES: dict[str, Iterable[str]] = {
    "optimizer": OPTIMIZERS,
    "schedule": SCHEDULES,
    "precision": PRECISIONS,
    "loss": ("row", "token"),
}


def make_optimizer(model: nn.Module, config: TrainingConfig) -> torch.optim.Optimizer:
    """The optimizer that a configuration names, over the parameters that are trained."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    return OPTIMIZERS[config.optimizer](trained, config)


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Use this learning rate from the next step on."""
    for group in optimizer.param_groups:
        group["lr"] = rate
    for state in optimizer.state.values():
        if "eta" in state:  # torch's ASGD sets its rate for the next step at the end of one
            state["eta"].fill_(rate)


@contextmanager
def scaled_learning_rate(optimizer: torch.optim.Optimizer, factor: float) -> Iterator[None]:
    """Steps of so many times the length, for now."""
    rate = optimizer.param_groups[0]["lr"]
    set_learning_rate(optimizer, rate * factor)
    try:
        yield
    finally:
        set_learning_rate(optimizer, rate)


def load_optimizer(optimizer: torch.optim.Optimizer, saved: dict[str, Any]) -> None:
    """Go back to a saved state, also to one of another device: where steps are counted stays as it is."""
    own = ("capturable", "foreach", "fused")
    groups = [
        {**group, **{name: now[name] for name in own if name in now}}
        for group, now in zip(saved["param_groups"], optimizer.param_groups, strict=True)
    ]
    optimizer.load_state_dict({**saved, "param_groups": groups})


def start_averaging(
    optimizer: torch.optim.Optimizer, losses: Sequence[float], config: TrainingConfig
) -> bool:
    """Begin to average the weights (NT-ASGD) if validation is worse than some epochs ago; whether it did.

    Merity et al. (2017), Algorithm 1: worse than the best of all epochs but the n before this one.
    """
    earlier = losses[: max(0, len(losses) - 1 - config.averaging_interval)]
    if not isinstance(optimizer, torch.optim.ASGD) or not earlier or losses[-1] <= min(earlier):
        return False
    for group in optimizer.param_groups:
        if group["t0"] < NEVER:
            return False
        steps = [float(optimizer.state[parameter]["step"]) for parameter in group["params"]]
        group["t0"] = max(steps, default=0.0) - 1  # torch divides by step - t0 one step late
    return True


def averaged_weights(optimizer: torch.optim.Optimizer) -> dict[nn.Parameter, torch.Tensor]:
    """The averages that stand for the weights at evaluation, where they are averaged; else nothing."""
    if not isinstance(optimizer, torch.optim.ASGD):
        return {}
    return {
        parameter: state["ax"]
        for group in optimizer.param_groups
        if group["t0"] < NEVER
        for parameter in group["params"]
        if "ax" in (state := optimizer.state[parameter])
    }
