"""Hyperparameters: what values each can have, and those of a training, with its schedules.

A field in a configuration says what values it can have, and `Config` checks it. Nothing here needs torch:
programs that only read records of trainings start at once.

>>> @dataclass(frozen=True, kw_only=True)
... class Sizes(Config):
...     hidden_size: Size = 650
>>> Sizes(hidden_size=0)
Traceback (most recent call last):
    ...
ps_models.errors.ModelError: hidden_size=0: expected 1 or more
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, Final, get_args, get_type_hints

from ps_models.errors import ModelError
from ps_models.evaluation.signature import Score

PRECISIONS: Final = ("fp32", "tf32", "bf16")  # of arithmetic


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Numbers from `least` to below `end`."""

    least: float = 0.0
    above: bool = False  # all are greater than `least`
    end: float | str = math.inf  # or the name of the field that holds it
    through: bool = False  # `end` itself is in the range

    def expected(self, value: Any, config: Config) -> str:  # noqa: ANN401 - Python does not check it
        """What is expected in place of a value; "" if the value is in the range.

        >>> Range(end=1.0).expected(1.0, Config()), Range(end=1.0).expected(0.5, Config())
        ('0 or more, and less than 1', '')
        """
        if not isinstance(value, int | float):
            return "a number"
        end = self.end if isinstance(self.end, int | float) else getattr(config, self.end)
        if (value > self.least if self.above else value >= self.least) and (
            value <= end if self.through else value < end
        ):
            return ""
        least = f"more than {self.least:g}" if self.above else f"{self.least:g} or more"
        if end < math.inf:
            name = f"{self.end}=" if isinstance(self.end, str) else ""
            return f"{least}, and {'at most' if self.through else 'less than'} {name}{end:g}"
        return least if isinstance(value, int) else f"{least}, and finite"


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of several names, such as the keys of a registry."""

    names: Iterable[str]

    def expected(self, value: Any, config: Config) -> str:  # noqa: ANN401 - Python does not check it
        """What is expected in place of a value; "" if the value is one of the names."""
        del config
        return "" if value in self.names else ", ".join(self.names)


Size = Annotated[int, Range(least=1)]
Count = Annotated[int, Range()]
Window = Annotated[int, Range(least=1, end=2**16, through=True)]  # states are as long, and no weights say so
Rate = Annotated[float, Range(end=1.0)]
Amount = Annotated[float, Range()]
Finite = Annotated[float, Range(least=-math.inf, above=True)]
Positive = Annotated[float, Range(above=True)]
Share = Annotated[float, Range(above=True, end=1.0)]
WordId = Annotated[int, Range(end="vocab_size")]


@dataclass(frozen=True, kw_only=True)
class Config:
    """A configuration whose fields say what values they can have; see the module."""

    def __post_init__(self) -> None:
        own: type = type(self)
        for name, limit in _limits(own):
            value = getattr(self, name)
            if value is not None and (expected := limit.expected(value, self)):
                raise ModelError(f"{name}={value}: expected {expected}")

    @classmethod
    def completed(cls, fields: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of a checkpoint, with what fields that did not exist when it was written stood for.

        A configuration overrides it if that differs from a default of today.
        """
        return dict(fields)


@dataclass(frozen=True, kw_only=True)
class ModelConfig(Config):
    """Configuration of a model over a vocabulary."""

    vocab_size: int
    eos: WordId = 1  # the id of <eos> in wikitext_builder's vocabularies


@dataclass(frozen=True, kw_only=True)
class SoftmaxConfig(ModelConfig):
    """A configuration of a model that ends in a `Softmax`."""

    softmax_bias: bool = False  # the paper: softmax(U h)
    sampled: Count = 0  # words that an update scores besides its targets, about; 0: all; see `Softmax`


@cache
def _limits(config_class: type) -> tuple[tuple[str, Range | OneOf], ...]:
    """The fields of a configuration that have a limit, each with it."""
    hints = get_type_hints(config_class, include_extras=True)
    kinds = ((name, kind) for name, hint in hints.items() for kind in (hint, *get_args(hint)))
    found = ((name, part) for name, kind in kinds for part in getattr(kind, "__metadata__", ()))
    return tuple((name, part) for name, part in found if isinstance(part, Range | OneOf))


# When the learning rate gets lower, from the validation losses of all epochs so far.
SCHEDULES: dict[str, Callable[[TrainingConfig, Sequence[float]], bool]] = {
    # If validation is worse than in the previous epoch; section 5.2.
    "halve-when-worse": lambda _, losses: len(losses) > 1 and not losses[-1] <= losses[-2],
    # If it is not the best so far; as pytorch/examples' word_language_model.
    "divide-unless-best": lambda _, losses: len(losses) > 1 and not losses[-1] < min(losses[:-1]),
    # After each epoch except the first ones; Zaremba et al. (2014), section 4.1.
    "decay-after": lambda config, losses: len(losses) >= config.decay_after,
    # From the third epoch on, unless perplexity is better by more than 1; as in Kim et al.'s code.
    "decay-unless-one-better": lambda _, losses: len(losses) > 2 and not _gained(*losses[-2:]) > 1,
    "constant": lambda *_: False,
}
# What an update multiplies the learning rate by, besides the warm-up: from the number of updates before it,
# and from the share of the tokens of all epochs that was trained on before it.
UPDATE_SCHEDULES: dict[str, Callable[[TrainingConfig, int, float], float]] = {
    # Loshchilov and Hutter (2016), https://arxiv.org/abs/1608.03983, without restarts.
    "cosine": lambda config, _, done: _down(config, (1 + math.cos(math.pi * done)) / 2),
    "linear": lambda config, _, done: _down(config, 1 - done),
    # Vaswani et al. (2017), https://arxiv.org/abs/1706.03762, section 5.3, but 1 at the end of the warm-up.
    "inverse-sqrt": lambda config, update, _: math.sqrt(min(1.0, max(1, config.warmup) / (update + 1))),
}


def _down(config: TrainingConfig, left: float) -> float:
    """From 1 to the floor."""
    return config.floor + (1 - config.floor) * left


def _gained(*losses: float) -> float:
    """By how much the perplexity of the second loss is lower."""
    before, last = (Score(loss, 1).perplexity for loss in losses)
    return before - last


@dataclass(frozen=True, kw_only=True)
class TrainingConfig(Config):
    """The hyperparameters of a run; the defaults are those of the paper, section 5.2, except the stride."""

    batch_size: Size = 32  # section 5.2
    stride: Size = 100  # k1 of Algorithm 1; 1 in the paper, about 40 times slower; docs/notes.md
    random_strides: bool = False  # drawn around `stride`, see `random_ends`; learning rate in proportion
    bptt: Size = 100  # L of section 5.2: each loss looks back on L outputs; 1: plain segments of `stride`
    optimizer: str = "sgd"  # a name in `training.optimizers`, or of a class of torch.optim
    optimizer_options: Mapping[str, Any] = field(default_factory=dict)  # its own, such as {"momentum": 0.9}
    learning_rate: Amount = 1.0  # Zaremba et al. (2014), section 4.1; the paper does not say
    weight_decay: Amount = 0.0  # of the optimizer, as torch means it,
    decayed: Annotated[str, OneOf(("matrices", "all"))] = "matrices"  # not of biases, norms and embeddings
    clip: Amount = 1.0  # of the global norm of the gradient, 0: not clipped; section 5.2
    loss: Annotated[str, OneOf(("row", "token"))] = "row"  # sum over time, mean over rows; mean over tokens
    schedule: Annotated[str, OneOf((*SCHEDULES, *UPDATE_SCHEDULES))] = "halve-when-worse"
    decay: Amount = 0.5  # the factor that lowers the learning rate; section 5.2
    decay_after: Count = 0  # epochs at the first learning rate, for the schedule decay-after
    warmup: Count = 0  # updates in which the learning rate rises to its first value, in any schedule
    floor: Annotated[float, Range(end=1.0, through=True)] = 0.0  # share of it at the end of cosine and linear
    epochs: Size = 64  # at most; section 5.2
    patience: Count = 3  # stop after this many epochs without improvement; 0: never; section 5.2
    averaging_interval: Count = 5  # n of NT-ASGD: average once worse than the best before the last n epochs
    ema: Rate = 0.0  # decay of the average of weights that is evaluated and kept as the best; 0: none
    micro_batch: Count = 0  # rows of one pass; an update takes so many passes as the batch needs; 0: one
    recompute: bool = False  # layers keep less for the gradient and compute it again: the same numbers
    # tf32: on a GPU; bf16: autocast, weights stay fp32; auto: bf16 where the device has it, else fp32
    precision: Annotated[str, OneOf((*PRECISIONS, "auto"))] = "fp32"
    seed: Annotated[int, Range(end=2.0**63)] = 1  # of torch's generators

    def __post_init__(self) -> None:
        super().__post_init__()
        options = self.optimizer_options.items()
        plain = {name: tuple(value) if isinstance(value, list) else value for name, value in options}
        object.__setattr__(self, "optimizer", str(self.optimizer).lower())
        object.__setattr__(self, "optimizer_options", plain)  # JSON has lists in place of tuples
        if not self.weight_decay:
            object.__setattr__(self, "decayed", "matrices")  # it means nothing, and makes no other recipe

    @classmethod
    def completed(cls, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Once all weights decayed."""
        return {"decayed": "all", **fields}

    @property
    def lookback(self) -> int:
        """Tokens that a chunk reads again before those that it predicts."""
        return self.bptt - 1


def learning_rate(config: TrainingConfig, losses: Sequence[float]) -> float:
    """The learning rate of the next epoch, from the validation losses of all previous ones.

    >>> learning_rate(TrainingConfig(), [5.0, 4.0, 4.5, 4.2])
    0.5
    """
    rate, is_lower = config.learning_rate, SCHEDULES.get(config.schedule, SCHEDULES["constant"])
    for end in range(1, len(losses) + 1):
        rate *= config.decay if is_lower(config, losses[:end]) else 1
    return rate


def update_factor(config: TrainingConfig, update: int, done: float) -> float:
    """What the learning rate of an epoch is multiplied by in one update; the warm-up is linear.

    `update` is the number of updates before it, `done` the share of the tokens of all epochs.

    >>> update_factor(TrainingConfig(schedule="cosine", warmup=2, floor=0.1), 5, 0.5)
    0.55
    """
    warm, schedule = min(1.0, (update + 1) / max(1, config.warmup)), UPDATE_SCHEDULES.get(config.schedule)
    return warm * schedule(config, update, done) if schedule else warm


def finished(config: TrainingConfig, losses: Sequence[float]) -> bool:
    """Returns True if training ends: after all epochs, or after `patience` epochs without a new best."""
    if len(losses) >= config.epochs:
        return True
    if not losses or not config.patience:
        return False
    best = min(range(len(losses)), key=lambda epoch: (losses[epoch] != losses[epoch], losses[epoch]))
    return len(losses) - 1 - best >= config.patience
