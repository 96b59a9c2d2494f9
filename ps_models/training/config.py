"""How a model is trained, in one flat record; the learning rate of each epoch, and when training ends.

Nothing here needs torch: programs that only read records of trainings start at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from ps_models.evaluation.signature import Score
from ps_models.hyperparameters import PRECISIONS, Amount, Config, Count, OneOf, Range, Size

Schedule = Callable[["TrainingConfig", float, Sequence[float]], float]


def _halve_when_worse(config: TrainingConfig, rate: float, losses: Sequence[float]) -> float:
    """Lower if validation is worse than in the previous epoch; section 5.2."""
    return rate * config.decay if len(losses) > 1 and not losses[-1] <= losses[-2] else rate


def _divide_unless_best(config: TrainingConfig, rate: float, losses: Sequence[float]) -> float:
    """Lower if validation is not the best so far; as pytorch/examples' word_language_model."""
    return rate * config.decay if len(losses) > 1 and not losses[-1] < min(losses[:-1]) else rate


def _decay_after(config: TrainingConfig, rate: float, losses: Sequence[float]) -> float:
    """Lower after each epoch except the first ones; Zaremba et al. (2014), section 4.1."""
    return rate * config.decay if len(losses) >= config.decay_after else rate


def _decay_unless_one_better(config: TrainingConfig, rate: float, losses: Sequence[float]) -> float:
    """From the third epoch on, lower unless perplexity is better by more than 1; as in Kim et al.'s code."""
    if len(losses) < 3:
        return rate
    before, last = (Score(loss, 1).perplexity for loss in losses[-2:])
    return rate if before - last > 1 else rate * config.decay


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


@dataclass(frozen=True, kw_only=True)
class TrainingConfig(Config):
    """The hyperparameters of a run; the defaults are those of the paper, section 5.2, except the stride."""

    batch_size: Size = 32  # section 5.2
    stride: Size = 100  # k1 of Algorithm 1; 1 in the paper, about 40 times slower; docs/notes/experiments.md
    random_strides: bool = False  # drawn around `stride`, see `random_ends`; learning rate in proportion
    bptt: Size = 100  # L of section 5.2: each loss looks back on L outputs; 1: plain segments of `stride`
    optimizer: str = "sgd"  # a name in `training.optimizers`, or of a class of torch.optim
    optimizer_options: Mapping[str, Any] = field(default_factory=dict)  # its own, such as {"momentum": 0.9}
    learning_rate: Amount = 1.0  # Zaremba et al. (2014), section 4.1; the paper does not say
    weight_decay: Amount = 0.0  # of the optimizer, as torch means it
    clip: Amount = 1.0  # of the global norm of the gradient, 0: not clipped; section 5.2
    loss: Annotated[str, OneOf(("row", "token"))] = "row"  # sum over time, mean over rows; mean over tokens
    schedule: Annotated[str, OneOf(SCHEDULES)] = "halve-when-worse"
    decay: Amount = 0.5  # the factor that lowers the learning rate; section 5.2
    decay_after: Count = 0  # epochs at the first learning rate, for the schedule decay-after
    epochs: Size = 64  # at most; section 5.2
    patience: Count = 3  # stop after this many epochs without improvement; 0: never; section 5.2
    averaging_interval: Count = 5  # n of NT-ASGD: average once worse than the best before the last n epochs
    precision: Annotated[str, OneOf(PRECISIONS)] = "fp32"  # tf32: on a GPU; bf16: autocast, weights stay fp32
    seed: Annotated[int, Range(end=2.0**63)] = 1  # of torch's generators

    def __post_init__(self) -> None:
        super().__post_init__()
        options = self.optimizer_options.items()
        plain = {name: tuple(value) if isinstance(value, list) else value for name, value in options}
        object.__setattr__(self, "optimizer", str(self.optimizer).lower())
        object.__setattr__(self, "optimizer_options", plain)  # JSON has lists in place of tuples

    @property
    def lookback(self) -> int:
        """Tokens that a chunk reads again before those that it predicts."""
        return self.bptt - 1


def learning_rate(config: TrainingConfig, losses: Sequence[float]) -> float:
    """The learning rate of the next epoch, from the validation losses of all previous ones.

    >>> learning_rate(TrainingConfig(), [5.0, 4.0, 4.5, 4.2])
    0.5
    """
    rate = config.learning_rate
    for end in range(1, len(losses) + 1):
        rate = SCHEDULES[config.schedule](config, rate, losses[:end])
    return rate


def finished(config: TrainingConfig, losses: Sequence[float]) -> bool:
    """Returns True if training ends: after all epochs, or after `patience` epochs without a new best."""
    if len(losses) >= config.epochs:
        return True
    if not losses or not config.patience:
        return False
    best = min(range(len(losses)), key=lambda epoch: (losses[epoch] != losses[epoch], losses[epoch]))
    return len(losses) - 1 - best >= config.patience
