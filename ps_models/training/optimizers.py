"""The optimizers by name, their learning rate within an epoch, and averaged weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

if TYPE_CHECKING:
    from ps_models.training.config import TrainingConfig


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
