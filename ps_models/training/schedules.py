"""The learning rate from epoch to epoch, and when training ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ps_models.evaluation.signature import Score

if TYPE_CHECKING:
    from ps_models.training.config import TrainingConfig

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


def learning_rate(config: TrainingConfig, losses: Sequence[float]) -> float:
    """The learning rate of the next epoch, from the validation losses of all previous ones.

    >>> from ps_models.training.config import TrainingConfig
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
