"""The optimizers by name, their learning rate within an epoch, and averaged weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from ps_models.errors import ModelError

if TYPE_CHECKING:
    from ps_models.training.config import TrainingConfig


def _sgd(trained: list[nn.Parameter], config: TrainingConfig) -> torch.optim.Optimizer:
    return torch.optim.SGD(
        trained,
        lr=config.learning_rate,
        weight_decay=config.weight_decay,
        fused=not any(parameter.is_meta for parameter in trained),  # one pass over each; meta has none
    )


def _adamw(trained: list[nn.Parameter], config: TrainingConfig) -> torch.optim.Optimizer:
    return torch.optim.AdamW(
        trained,
        lr=config.learning_rate,
        weight_decay=config.weight_decay,
        capturable=_on_gpu(trained),
        fused=True,  # one operator for all parameters: on a CPU it takes a third of the time
    )


def _asgd(trained: list[nn.Parameter], config: TrainingConfig) -> torch.optim.Optimizer:
    # Merity et al. (2017), https://arxiv.org/abs/1708.02182, section 3: plain SGD until averaging starts.
    return torch.optim.ASGD(
        trained,
        lr=config.learning_rate,
        weight_decay=config.weight_decay,
        lambd=0.0,
        t0=NEVER,
        capturable=_on_gpu(trained),
    )


def _on_gpu(parameters: Iterable[nn.Parameter]) -> bool:
    """Returns True if tensors count the steps, with and without CUDA graphs: both give the same numbers."""
    return any(parameter.is_cuda for parameter in parameters)


SCALARS = ("step", "eta", "mu")  # of an optimizer's state; its other tensors have the shape of the weight
STATES = {  # names in the state of a weight that has been updated
    torch.optim.SGD: {"momentum_buffer"},
    torch.optim.AdamW: {"step", "exp_avg", "exp_avg_sq"},
    torch.optim.ASGD: {"step", "eta", "mu", "ax"},
}
ADVICE = "train again with another --out"
NEVER = 1e12  # no run has as many steps
OPTIMIZERS: dict[str, Callable[[list[nn.Parameter], TrainingConfig], torch.optim.Optimizer]] = {
    "sgd": _sgd,
    "adamw": _adamw,
    "asgd": _asgd,
}  # their names are in ps_models.choices too, which needs no torch


def make_optimizer(model: nn.Module, config: TrainingConfig) -> torch.optim.Optimizer:
    """The optimizer that a configuration names, for all parameters that need gradients."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    return OPTIMIZERS[config.optimizer](trained, config)


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Set the learning rate of the next steps."""
    for group in optimizer.param_groups:
        group["lr"] = rate
    for state in optimizer.state.values():
        if "eta" in state:  # torch's ASGD sets the rate of the next step at the end of a step
            state["eta"].fill_(rate)


@contextmanager
def scaled_learning_rate(optimizer: torch.optim.Optimizer, factor: float) -> Iterator[None]:
    """Multiply the learning rate by a factor inside the context."""
    rate = optimizer.param_groups[0]["lr"]
    set_learning_rate(optimizer, rate * factor)
    try:
        yield
    finally:
        set_learning_rate(optimizer, rate)


def load_optimizer(optimizer: torch.optim.Optimizer, saved: dict[str, Any]) -> None:
    """Load a saved state, also from another device.

    Of the options only the learning rate and the start of averaging are taken: all others follow from the
    settings of the run, which are checked.

    Raises:
        ModelError: The state is not of these parameters: a fused step would read beyond its end.
    """
    groups = [
        {**now, "params": group["params"], **{name: group[name] for name in ("lr", "t0") if name in now}}
        for group, now in zip(saved["param_groups"], optimizer.param_groups, strict=True)
    ]
    weights = [weight for group in optimizer.param_groups for weight in group["params"]]
    shapes = dict(enumerate(weight.shape for weight in weights))
    states = {}
    for number, state in saved["state"].items():
        if number not in shapes or (state and set(state) != STATES[type(optimizer)]):
            raise ModelError(
                f"the checkpoint's optimizer has {sorted(map(str, state))} of weight {number!r:.20}, expected"
                f" {sorted(STATES[type(optimizer)])} of one of {len(weights)} weights; {ADVICE}"
            )
        states[number] = {name: _dense(found, name, number, shapes[number]) for name, found in state.items()}
    for group in groups:
        numbers = [group[name] for name in ("lr", "t0") if name in group]
        if not all(type(number) in (int, float) and 0 <= number < math.inf for number in numbers):
            raise ModelError(f"the checkpoint's optimizer has lr, t0 = {numbers!r:.80}; {ADVICE}")
    optimizer.load_state_dict({**saved, "state": states, "param_groups": groups})


def _dense(found: object, name: str, number: int, shape: torch.Size) -> torch.Tensor | None:
    """A tensor of a weight's state: it has the weight's shape, and memory for each of its numbers."""
    if found is None and name == "momentum_buffer":
        return None
    wanted = () if name in SCALARS else tuple(shape)
    kind = type(found).__name__
    if torch.is_tensor(found):
        if found.layout == torch.strided and found.shape == wanted and found.is_floating_point():
            return found.contiguous()  # of a number that is repeated there may be only one
        kind = f"shape {tuple(found.shape)} of {found.dtype} ({found.layout})"
    raise ModelError(
        f"the checkpoint's {name} of weight {number} has {kind}, expected shape {wanted} of a floating type;"
        f" {ADVICE}"
    )


def start_averaging(
    optimizer: torch.optim.Optimizer, losses: Sequence[float], config: TrainingConfig
) -> bool:
    """Start to average the weights (NT-ASGD) if validation is worse than it was; returns True if it starts.

    Merity et al. (2017), Algorithm 1: worse than the best of the epochs that are more than n epochs ago.
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
    """The averages that replace the weights at evaluation; empty if nothing is averaged."""
    if not isinstance(optimizer, torch.optim.ASGD):
        return {}
    return {
        parameter: state["ax"]
        for group in optimizer.param_groups
        if group["t0"] < NEVER
        for parameter in group["params"]
        if "ax" in (state := optimizer.state[parameter])
    }
