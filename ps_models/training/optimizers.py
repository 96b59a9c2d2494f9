"""Makes optimizers, any class of torch.optim by its name, and loads their state from a checkpoint.

Muon (Jordan et al. 2024, https://kellerjordan.github.io/posts/muon/) replaces the gradient of a matrix by a
nearly orthogonal matrix with the same row and column spaces. It suits hidden matrices only, so AdamW has the
other weights.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
import torch
from torch import Tensor, nn

from ps_models.errors import ModelError

if TYPE_CHECKING:
    from ps_models.hyperparameters import TrainingConfig

# LBFGS computes the loss several times per step; SparseAdam needs sparse gradients; ASGD has an average of
# its own, but a run averages the weights of any optimizer.
UNUSABLE: Final = ("asgd", "lbfgs", "sparseadam", "optimizer")
OPTIMIZERS: Final[dict[str, type[torch.optim.Optimizer]]] = {
    name.lower(): value
    for name, value in sorted(vars(torch.optim).items())
    if inspect.isclass(value) and issubclass(value, torch.optim.Optimizer) and name.lower() not in UNUSABLE
}
# With one operator for all weights, which takes a third of the time.
FUSED: Final = (torch.optim.SGD, torch.optim.AdamW)
# Options that the configuration, the device or Muon's authors set, or that change how a step is computed, not
# its result.
FIXED_OPTIONS: Final = (
    *("lr", "weight_decay", "maximize", "differentiable", "capturable", "foreach", "fused"),
    *("ns_coefficients", "ns_steps"),
)
FloatPair: Final = Annotated[list[float], msgspec.Meta(min_length=2, max_length=2)]
# The type of an option by the type of torch's default.
OPTION_TYPES: Final[dict[type, Any]] = {bool: bool, int: float, float: float, tuple: FloatPair}


def _classes_of(name: str) -> tuple[type[torch.optim.Optimizer], ...]:
    """Return the classes that divide the weights among them: with Muon, AdamW has all but hidden matrices."""
    if name not in OPTIMIZERS:
        raise ModelError(f"optimizer={name}: expected {', '.join(OPTIMIZERS)}")
    return (torch.optim.Muon, torch.optim.AdamW) if name == "muon" else (OPTIMIZERS[name],)


def options_of(name: str) -> dict[str, Any]:
    """Return the options of an optimizer that are settings, each with its type.

    >>> options_of("sgd")["nesterov"]
    <class 'bool'>
    """
    types = {
        option: OPTION_TYPES.get(type(parameter.default))
        for optimizer_class in _classes_of(name)
        for option, parameter in inspect.signature(optimizer_class).parameters.items()
        if option not in FIXED_OPTIONS
    }
    return {option: option_type for option, option_type in types.items() if option_type is not None}


def make_optimizers(model: nn.Module, config: TrainingConfig, vocab_size: int) -> list[torch.optim.Optimizer]:
    """Make the optimizers of all parameters that need gradients: one, or Muon and AdamW.

    If only matrices decay, all other weights are a group of their own: vectors and embeddings, including
    those that a softmax shares.
    """
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    decay_all = config.decayed == "all" or not config.weight_decay
    decaying = {*weights} if decay_all else _matrices(model)
    classes = _classes_of(config.optimizer)
    parts = [weights] if len(classes) == 1 else _divided(weights, _hidden_matrices(model, vocab_size))
    if not all(parts):
        raise ModelError(
            f"optimizer={config.optimizer}: expected hidden matrices, but {type(model).__name__} has none;"
            " use adamw"
        )
    return [
        _optimizer(optimizer_class, _divided(part, decaying), config)
        for optimizer_class, part in zip(classes, parts, strict=True)
    ]


def _divided(weights: Iterable[nn.Parameter], chosen: Collection[nn.Parameter]) -> list[list[nn.Parameter]]:
    """Return the weights that are among the chosen ones, and the rest."""
    groups: list[list[nn.Parameter]] = [[], []]
    for weight in weights:
        groups[weight not in chosen].append(weight)
    return groups


def _matrices(model: nn.Module) -> set[nn.Parameter]:
    """Return matrices and stacks of matrices, without embeddings and biases."""
    embeddings = {module.weight for module in model.modules() if isinstance(module, nn.Embedding)}
    named = model.named_parameters()
    return {weight for name, weight in named if weight.dim() > 1 and not name.endswith("bias")} - embeddings


def _hidden_matrices(model: nn.Module, vocab_size: int) -> set[nn.Parameter]:
    """Return matrices that are neither of an embedding nor of a softmax, whose rows are words or clusters.

    Stacks of matrices are not among them: torch's Muon takes only matrices.
    """
    softmaxes = [module for module in model.modules() if isinstance(module, nn.AdaptiveLogSoftmaxWithLoss)]
    outputs = {weight for softmax in softmaxes for weight in softmax.parameters()}
    matrices = (weight for weight in _matrices(model) - outputs if weight.dim() == 2)
    return {weight for weight in matrices if len(weight) != vocab_size}


def _optimizer(
    optimizer_class: type[torch.optim.Optimizer],
    groups: Sequence[Sequence[nn.Parameter]],
    config: TrainingConfig,
) -> torch.optim.Optimizer:
    """Make an optimizer of weights that decay, and of weights that do not."""
    parameters = inspect.signature(optimizer_class).parameters
    options = {key: value for key, value in config.optimizer_options.items() if key in parameters}
    options["lr"] = config.learning_rate
    if "weight_decay" in parameters:
        options["weight_decay"] = config.weight_decay
    elif config.weight_decay:
        raise ModelError(
            f"weight_decay={config.weight_decay}: {optimizer_class.__name__} has none; expected 0"
        )
    # `meta`, the device without numbers, has no fused steps.
    if optimizer_class in FUSED and not any(weight.is_meta for group in groups for weight in group):
        options["fused"] = True
    if optimizer_class is torch.optim.Muon:
        # Steps are as large as AdamW's, so both have one learning rate; Liu et al. (2025), arXiv 2502.16982.
        options["adjust_lr_fn"] = "match_rms_adamw"
    try:
        return optimizer_class(
            [
                {"params": list(group), **({} if decays else {"weight_decay": 0.0})}
                for group, decays in zip(groups, (True, False), strict=True)
                if group
            ],
            **options,
        )
    except (IndexError, TypeError, ValueError, RuntimeError) as error:
        given = "".join(f" {key}={value}" for key, value in config.optimizer_options.items())
        raise ModelError(f"optimizer={config.optimizer}{given}: {str(error).splitlines()[0]}") from error


def set_learning_rate(optimizers: Iterable[torch.optim.Optimizer], rate: float) -> None:
    """Set the learning rate of the next steps."""
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = rate


def load_optimizer(
    optimizer: torch.optim.Optimizer, saved: Mapping[str, Any], config: TrainingConfig
) -> None:
    """Load the saved state of an optimizer, which can come from another device.

    Each weight's state must have the shapes of a new optimizer's state after its first step. Otherwise a
    fused step would read beyond the end of a tensor from elsewhere. Of the options only the learning rate is
    loaded; all others follow from the settings of the run, which are checked.
    """
    weights = [weight for group in optimizer.param_groups for weight in group["params"]]
    expected = _expected_states(type(optimizer), weights, config)
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


def _expected_states(
    optimizer_class: type[torch.optim.Optimizer], weights: Sequence[nn.Parameter], config: TrainingConfig
) -> dict[int, dict[str, Any]]:
    """Return the state of each weight, by its number, after the first step of a new optimizer."""
    zeros = [nn.Parameter(torch.zeros_like(weight)) for weight in weights]
    for weight in zeros:
        weight.grad = torch.zeros_like(weight)
    fresh = _optimizer(optimizer_class, [zeros, []], config)
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
