"""Makes optimizers, any class of torch.optim by its name, and loads their state from a checkpoint."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
import torch
from torch import Tensor, nn

from ps_models.errors import ModelError

if TYPE_CHECKING:
    from ps_models.hyperparameters import TrainingConfig

# LBFGS computes the loss several times per step; SparseAdam needs sparse gradients, Muon takes only matrices;
# ASGD has an average of its own, but a run averages the weights of any optimizer.
UNUSABLE: Final = ("asgd", "lbfgs", "muon", "sparseadam", "optimizer")
OPTIMIZERS: Final[dict[str, type[torch.optim.Optimizer]]] = {
    name.lower(): value
    for name, value in sorted(vars(torch.optim).items())
    if inspect.isclass(value) and issubclass(value, torch.optim.Optimizer) and name.lower() not in UNUSABLE
}
FUSED: Final = ("sgd", "adamw")  # with one operator for all weights, which takes a third of the time
# Options that the configuration or the device sets, or that change how a step is computed, not its result.
FIXED_OPTIONS: Final = ("lr", "weight_decay", "maximize", "differentiable", "capturable", "foreach", "fused")
FloatPair: Final = Annotated[list[float], msgspec.Meta(min_length=2, max_length=2)]
# The type of an option by the type of torch's default.
OPTION_TYPES: Final[dict[type, Any]] = {bool: bool, int: float, float: float, tuple: FloatPair}


def _class_of(name: str) -> type[torch.optim.Optimizer]:
    if name not in OPTIMIZERS:
        raise ModelError(f"optimizer={name}: expected {', '.join(OPTIMIZERS)}")
    return OPTIMIZERS[name]


def options_of(name: str) -> dict[str, Any]:
    """Return the options of an optimizer that are settings, each with its type.

    >>> options_of("sgd")["nesterov"]
    <class 'bool'>
    """
    parameters = inspect.signature(_class_of(name)).parameters
    free = {name: parameter for name, parameter in parameters.items() if name not in FIXED_OPTIONS}
    types = {name: OPTION_TYPES.get(type(parameter.default)) for name, parameter in free.items()}
    return {name: option for name, option in types.items() if option is not None}


def make_optimizer(model: nn.Module, config: TrainingConfig) -> torch.optim.Optimizer:
    """Make the optimizer that a configuration names, for all parameters that need gradients.

    If only matrices decay, all other weights are a second group: vectors and embeddings, including those that
    a softmax shares.
    """
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    if config.decayed == "all" or not config.weight_decay:
        return _optimizer([weights], config)
    embeddings = {module.weight for module in model.modules() if isinstance(module, nn.Embedding)}
    decaying = [weight for weight in weights if weight.dim() > 1 and weight not in embeddings]
    rest = [weight for weight in weights if weight.dim() < 2 or weight in embeddings]
    return _optimizer([group for group in (decaying, rest) if group], config, undecayed=rest)


def _optimizer(
    groups: Sequence[Sequence[nn.Parameter]],
    config: TrainingConfig,
    undecayed: Sequence[nn.Parameter] = (),
) -> torch.optim.Optimizer:
    optimizer_class = _class_of(config.optimizer)
    options = {"lr": config.learning_rate, **config.optimizer_options}
    if "weight_decay" in inspect.signature(optimizer_class).parameters:
        options["weight_decay"] = config.weight_decay
    elif config.weight_decay:
        raise ModelError(
            f"weight_decay={config.weight_decay}: {optimizer_class.__name__} has none; expected 0"
        )
    # `meta`, the device without numbers, has no fused steps.
    if config.optimizer in FUSED and not any(weight.is_meta for group in groups for weight in group):
        options["fused"] = True
    try:
        return optimizer_class(
            [
                {"params": list(group), **({"weight_decay": 0.0} if group is undecayed else {})}
                for group in groups
            ],
            **options,
        )
    except (IndexError, TypeError, ValueError, RuntimeError) as error:
        given = "".join(f" {key}={value}" for key, value in config.optimizer_options.items())
        raise ModelError(f"optimizer={config.optimizer}{given}: {str(error).splitlines()[0]}") from error


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Set the learning rate of the next steps."""
    for group in optimizer.param_groups:
        group["lr"] = rate


def load_optimizer(
    optimizer: torch.optim.Optimizer, saved: Mapping[str, Any], config: TrainingConfig
) -> None:
    """Load a saved state, which can come from another device.

    Each weight's state must have the shapes of a new optimizer's state after its first step. Otherwise a
    fused step would read beyond the end of a tensor from elsewhere. Of the options only the learning rate is
    loaded; all others follow from the settings of the run, which are checked.
    """
    weights = [weight for group in optimizer.param_groups for weight in group["params"]]
    expected = _expected_states(weights, config)
    states = {}
    for key, state in saved["state"].items():
        states[int(key)] = _checked(state, expected[int(key)])
    new_groups = optimizer.state_dict()["param_groups"]
    groups = [
        {**new_group, "lr": float(group["lr"])}
        for group, new_group in zip(saved["param_groups"], new_groups, strict=True)
    ]
    if not all(math.isfinite(group["lr"]) for group in groups):
        raise ValueError("its optimizer has a learning rate that is not finite")
    optimizer.load_state_dict({"state": states, "param_groups": groups})


def _expected_states(weights: Sequence[nn.Parameter], config: TrainingConfig) -> dict[int, dict[str, Any]]:
    """Return the state of each weight, by its number, after the first step of a new optimizer."""
    zeros = [nn.Parameter(torch.zeros_like(weight)) for weight in weights]
    for weight in zeros:
        weight.grad = torch.zeros_like(weight)
    fresh = _optimizer([zeros], config)
    fresh.step()
    return {number: fresh.state[weight] for number, weight in enumerate(zeros)}


def _checked(state: Mapping[str, Any], expected: Mapping[str, Any]) -> dict[str, Any]:
    """Return a weight's state, contiguous in memory, if its tensors have the expected shapes."""
    shapes, expected_shapes = (
        {name: _shape(value) for name, value in values.items()} for values in (state, expected)
    )
    if state and shapes != expected_shapes:
        raise ValueError(f"its optimizer has {shapes!r:.200} for a weight, expected {expected_shapes!r:.200}")
    # An expanded tensor stores its number once; a fused step needs all of them.
    return {name: value.contiguous() if torch.is_tensor(value) else value for name, value in state.items()}


def _shape(value: object) -> str:
    if not isinstance(value, Tensor):
        return type(value).__name__
    return f"shape {tuple(value.shape)} of {value.dtype} ({value.layout})"
