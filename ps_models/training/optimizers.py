"""Optimizers by name, any class of torch.optim; the learning rate within an epoch; averaged weights."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import torch
from torch import Tensor, nn

from ps_models.errors import ModelError

if TYPE_CHECKING:
    from ps_models.hyperparameters import TrainingConfig

NEVER: Final = 1e12  # no run has as many steps
# A name of ours: a class, and its options that differ from torch's defaults. An entry is all that an
# optimizer needs to train and to resume. Any other class of torch.optim has its own name, in lower case.
OPTIMIZERS: Final[dict[str, tuple[type[torch.optim.Optimizer], dict[str, Any]]]] = {
    "sgd": (torch.optim.SGD, {"fused": True}),
    "adamw": (torch.optim.AdamW, {"fused": True}),  # one operator for all weights: a third of the time
    # Merity et al. (2017), https://arxiv.org/abs/1708.02182, section 3: plain SGD until averaging starts.
    "asgd": (torch.optim.ASGD, {"lambd": 0.0, "t0": NEVER}),
}
# LBFGS computes the loss several times per step; SparseAdam needs sparse gradients, Muon only matrices.
UNUSABLE: Final = ("lbfgs", "muon", "sparseadam", "optimizer")
# Options that the configuration or the device decides, or that change how a step is computed, not what.
OURS: Final = ("lr", "weight_decay", "t0", "maximize", "differentiable", "capturable", "foreach", "fused")
KEPT: Final = ("lr", "t0")  # of the options, what changes during a run
KINDS: Final[dict[type, Any]] = {bool: bool, int: float, float: float, tuple: tuple[float, float]}


def optimizer_class(name: str) -> tuple[type[torch.optim.Optimizer], dict[str, Any]]:
    """The class of an optimizer and the options that our name stands for.

    >>> optimizer_class("nadam")
    (<class 'torch.optim.nadam.NAdam'>, {})
    """
    known = {
        each.lower(): found
        for each, found in vars(torch.optim).items()
        if inspect.isclass(found) and issubclass(found, torch.optim.Optimizer)
    }
    if name in OPTIMIZERS:
        return OPTIMIZERS[name]
    if name in UNUSABLE or name not in known:
        names = sorted({*known, *OPTIMIZERS} - {*UNUSABLE})
        raise ModelError(f"optimizer={name}: expected {', '.join(names)}")
    return known[name], {}


def options_of(name: str) -> dict[str, Any]:
    """The options of an optimizer that are settings besides ours, each with the type of torch's default."""
    parameters = dict(inspect.signature(optimizer_class(name)[0]).parameters)
    if name == "asgd":
        del parameters["alpha"]  # of its own schedule; ours replaces it
    kinds = {key: KINDS.get(type(one.default)) for key, one in parameters.items() if key not in OURS}
    return {key: kind for key, kind in kinds.items() if kind is not None}


def make_optimizer(model: nn.Module, config: TrainingConfig) -> torch.optim.Optimizer:
    """The optimizer that a configuration names, for all parameters that need gradients.

    If only matrices decay, all other weights are a second group: vectors, and embeddings, also those that a
    softmax shares.
    """
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    if config.decayed == "all" or not config.weight_decay:
        return _optimizer([weights], config)
    embeddings = {one.weight for one in model.modules() if isinstance(one, nn.Embedding)}
    decaying = [weight for weight in weights if weight.dim() > 1 and weight not in embeddings]
    rest = [weight for weight in weights if weight.dim() < 2 or weight in embeddings]
    return _optimizer([group for group in (decaying, rest) if group], config, undecayed=rest)


def _optimizer(
    groups: Sequence[Sequence[nn.Parameter]],
    config: TrainingConfig,
    undecayed: Sequence[nn.Parameter] = (),
) -> torch.optim.Optimizer:
    kind, ours = optimizer_class(config.optimizer)
    options = {"lr": config.learning_rate, **ours, **config.optimizer_options}
    if "weight_decay" in inspect.signature(kind).parameters:
        options["weight_decay"] = config.weight_decay
    elif config.weight_decay:
        raise ModelError(f"weight_decay={config.weight_decay}: {kind.__name__} has none; expected 0")
    if any(weight.is_meta for group in groups for weight in group):
        options.pop("fused", None)  # the device without numbers has no fused steps
    try:
        own = [
            {"params": list(each), **({"weight_decay": 0.0} if each is undecayed else {})} for each in groups
        ]
        return kind(own, **options)
    except (IndexError, TypeError, ValueError, RuntimeError) as error:
        given = "".join(f" {key}={value}" for key, value in config.optimizer_options.items())
        raise ModelError(f"optimizer={config.optimizer}{given}: {str(error).splitlines()[0]}") from error


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Set the learning rate of the next steps."""
    for group in optimizer.param_groups:
        group["lr"] = rate
    for state in optimizer.state.values():
        if "eta" in state:  # torch's ASGD sets the rate of the next step at the end of a step
            state["eta"].fill_(rate)


def load_optimizer(
    optimizer: torch.optim.Optimizer, saved: Mapping[str, Any], config: TrainingConfig
) -> None:
    """Load a saved state, also from another device.

    A new optimizer steps once over weights of zero: its state says what each weight's must be. Otherwise a
    fused step would read beyond the end of a stranger's tensor. Of the options only those that change during
    a run are taken; all others follow from the settings of the run, which are checked.
    """
    weights = [weight for group in optimizer.param_groups for weight in group["params"]]
    expected = _stepped(weights, config)
    states = {}
    for key, state in saved["state"].items():
        number = int(key)
        if not 0 <= number < len(weights):
            raise ValueError(f"its optimizer has weight {number} of {len(weights)}")
        found = {name: value for name, value in state.items() if value is not None}  # a momentum not begun
        states[number] = _checked(found, expected[number], number)
    groups = []
    for group, now in zip(saved["param_groups"], optimizer.state_dict()["param_groups"], strict=True):
        kept = {name: group[name] for name in KEPT if name in now}
        if not all(type(number) in (int, float) and 0 <= number < math.inf for number in kept.values()):
            raise ValueError(f"its optimizer has {kept!r:.80}, expected finite numbers")
        groups.append({**now, **kept})
    optimizer.load_state_dict({"state": states, "param_groups": groups})


def _stepped(weights: Sequence[nn.Parameter], config: TrainingConfig) -> list[dict[str, Any]]:
    """The state of each weight after the first step of a new optimizer."""
    zeros = [nn.Parameter(torch.zeros_like(weight)) for weight in weights]
    for weight in zeros:
        weight.grad = torch.zeros_like(weight)
    fresh = _optimizer([zeros], config)
    fresh.step()
    return [fresh.state[weight] for weight in zeros]


def _checked(state: Mapping[str, Any], expected: Mapping[str, Any], number: int) -> dict[str, Any]:
    """A weight's state, if it has the names, shapes and types that are expected; empty: it had no step."""
    if state and state.keys() != expected.keys():
        raise ValueError(
            f"its optimizer has {sorted(map(str, state))} of weight {number}, expected {sorted(expected)}"
        )
    for name, value in state.items():
        if (found := _kind(value)) != (wanted := _kind(expected[name])):
            raise ValueError(f"its {name} of weight {number} has {found}, expected {wanted}")
    # Of a number that is repeated there may be only one in memory.
    return {name: value.contiguous() if torch.is_tensor(value) else value for name, value in state.items()}


def _kind(value: object) -> str:
    if not isinstance(value, Tensor):
        return type(value).__name__
    return f"shape {tuple(value.shape)} of {value.dtype} ({value.layout})"


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


def averaged_weights(optimizer: torch.optim.Optimizer) -> dict[nn.Parameter, Tensor]:
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
