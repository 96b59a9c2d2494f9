"""Defines the types of hyperparameters with their ranges, and the configuration of a training with schedules.

The type of a field has its range. `configs` converts the values of users, presets and checkpoints to these
types; values that a program passes to a class are not checked. Nothing here needs torch, so programs that
only read records of trainings start quickly.

>>> import msgspec
>>> msgspec.convert("0", Size, strict=False)
Traceback (most recent call last):
    ...
msgspec.ValidationError: Expected `int` >= 1
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

from msgspec import Meta

from ps_models.errors import ModelError
from ps_models.signature import Score

PRECISIONS: Final = ("fp32", "tf32", "bf16")
MAX_INTEGER: Final = 2**31 - 1  # products of much larger integers overflow in torch
MAX_FLOAT: Final = sys.float_info.max

Size = Annotated[int, Meta(ge=1, le=MAX_INTEGER)]
Count = Annotated[int, Meta(ge=0, le=MAX_INTEGER)]
Window = Annotated[int, Meta(ge=1, le=2**16)]  # limits the states, whose size no weights reveal
Rate = Annotated[float, Meta(ge=0, lt=1)]
Amount = Annotated[float, Meta(ge=0, le=MAX_FLOAT)]
Finite = Annotated[float, Meta(ge=-MAX_FLOAT, le=MAX_FLOAT)]
Positive = Annotated[float, Meta(gt=0, le=MAX_FLOAT)]
Share = Annotated[float, Meta(gt=0, lt=1)]


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """The configuration of a model over a vocabulary."""

    vocab_size: int
    eos: Count = 1  # the id of <eos> in wikitext_builder's vocabularies

    def __post_init__(self) -> None:
        if self.eos >= self.vocab_size:
            raise ModelError(f"eos={self.eos}: expected the id of one of the {self.vocab_size} words")


@dataclass(frozen=True, kw_only=True)
class SoftmaxConfig(ModelConfig):
    """The configuration of a model that ends in a `Softmax`."""

    softmax_bias: bool = False  # the paper: softmax(U h)
    sampled: Count = 0  # about how many words an update scores besides its targets; 0: all; see `Softmax`


# Return True if the learning rate is lowered, from the validation losses of all epochs so far.
SCHEDULES: Final[dict[str, Callable[[TrainingConfig, Sequence[float]], bool]]] = {
    # If validation is worse than in the previous epoch; section 5.2.
    "halve-when-worse": lambda _, losses: len(losses) > 1 and not losses[-1] <= losses[-2],
    # If it is not the best so far; as pytorch/examples' word_language_model.
    "divide-unless-best": lambda _, losses: len(losses) > 1 and not losses[-1] < min(losses[:-1]),
    # After each epoch except the first ones; Zaremba et al. (2014), section 4.1.
    "decay-after": lambda config, losses: len(losses) >= config.decay_after,
    # From the third epoch on, unless perplexity improves by more than 1; as in Kim et al.'s code.
    "decay-unless-one-better": lambda _, losses: len(losses) > 2 and not _improvement(*losses[-2:]) > 1,
    "constant": lambda *_: False,
    # By updates, see `update_factor`; Loshchilov and Hutter (2016), arXiv 1608.03983, without restarts.
    "cosine": lambda *_: False,
}
Schedule = Literal[
    "halve-when-worse", "divide-unless-best", "decay-after", "decay-unless-one-better", "constant", "cosine"
]


def _improvement(*losses: float) -> float:
    """Return by how much the perplexity of the second loss is lower."""
    previous, last = (Score(loss, 1).perplexity for loss in losses)
    return previous - last


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """The hyperparameters of a run; the defaults are those of the paper, section 5.2, except the stride."""

    batch_size: Size = 32  # section 5.2
    stride: Size = 100  # k1 of Algorithm 1; 1 in the paper, about 40 times slower; docs/notes.md
    random_strides: bool = False  # drawn around `stride`, see `random_ends`; learning rate in proportion
    bptt: Size = 100  # L of section 5.2: each loss looks back on L outputs; 1: plain segments of `stride`
    optimizer: str = "sgd"  # a class of torch.optim in lower case; muon has AdamW beside it
    optimizer_options: Mapping[str, Any] = field(default_factory=dict)  # such as {"momentum": 0.9}
    learning_rate: Amount = 1.0  # Zaremba et al. (2014), section 4.1; the paper does not say
    weight_decay: Amount = 0.0  # the optimizer's weight_decay, with torch's meaning
    decayed: Literal["matrices", "all"] = "matrices"  # matrices: not biases, norms and embeddings
    clip: Amount = 1.0  # the largest global norm of the gradient; 0: not clipped; section 5.2
    loss: Literal["row", "token"] = "row"  # row: sum over time, mean over rows; token: mean over tokens
    schedule: Schedule = "halve-when-worse"
    decay: Amount = 0.5  # the factor that lowers the learning rate; section 5.2
    decay_after: Count = 0  # epochs at the first learning rate, for the schedule decay-after
    warmup: Count = 0  # updates in which the learning rate rises to its first value, in any schedule
    epochs: Size = 64  # at most; section 5.2
    patience: Count = 3  # stop after this many epochs without improvement; 0: never; section 5.2
    # An average of the weights is evaluated and saved as the best: exponential from the start, with the decay
    # `ema`; or the mean since validation is worse than n epochs ago, see `averaging_starts`.
    ema: Rate = 0.0
    averaging_interval: Count = 0
    micro_batch: Count = 0  # rows per pass, of which an update takes as many as it needs; 0: the whole batch
    # tf32: on a GPU; bf16: autocast, weights stay fp32; auto: bf16 where the device has it, else fp32
    precision: Literal["fp32", "tf32", "bf16", "auto"] = "fp32"
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] = 1  # of torch's generators

    @property
    def lookback(self) -> int:
        """The number of tokens that a chunk rereads before those that it predicts."""
        return self.bptt - 1


def learning_rate(config: TrainingConfig, losses: Sequence[float]) -> float:
    """Return the learning rate of the next epoch, from the validation losses of all previous epochs.

    >>> learning_rate(TrainingConfig(), [5.0, 4.0, 4.5, 4.2])
    0.5
    """
    rate, is_lowered = config.learning_rate, SCHEDULES[config.schedule]
    for end in range(1, len(losses) + 1):
        rate *= config.decay if is_lowered(config, losses[:end]) else 1
    return rate


def update_factor(config: TrainingConfig, update: int, done: float) -> float:
    """Return the factor of the epoch's learning rate in an update; the warm-up is linear.

    `update` is the number of updates before it, `done` the fraction of the tokens of all epochs before it.

    >>> update_factor(TrainingConfig(schedule="cosine", warmup=2), 5, 0.5)
    0.5
    """
    warm = min(1.0, (update + 1) / max(1, config.warmup))
    return warm * (1 + math.cos(math.pi * done)) / 2 if config.schedule == "cosine" else warm


def averaging_starts(config: TrainingConfig, losses: Sequence[float]) -> bool:
    """Return True if the mean of the weights begins after the last epoch, because validation got worse.

    Merity et al. (2017), arXiv 1708.02182, Algorithm 1 (NT-ASGD): worse than the best of the epochs that are
    more than n = `averaging_interval` epochs ago.
    """
    earlier = losses[: max(0, len(losses) - 1 - config.averaging_interval)]
    return bool(config.averaging_interval and earlier and losses[-1] > min(earlier))


def finished(config: TrainingConfig, losses: Sequence[float]) -> bool:
    """Return True if training ends: after all epochs, or after `patience` epochs without a new best."""
    if len(losses) >= config.epochs:
        return True
    if not losses or not config.patience:
        return False
    best = min(range(len(losses)), key=lambda epoch: (losses[epoch] != losses[epoch], losses[epoch]))
    return len(losses) - 1 - best >= config.patience
