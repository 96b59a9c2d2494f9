"""How a model is trained, in one flat record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ps_models.choices import OPTIMIZERS, PRECISIONS
from ps_models.hyperparameters import Amount, Config, Count, OneOf, Range, Size
from ps_models.training.schedules import SCHEDULES


@dataclass(frozen=True, kw_only=True)
class TrainingConfig(Config):
    """The hyperparameters of a run; the defaults are those of the paper, section 5.2, except the stride."""

    batch_size: Size = 32  # section 5.2
    stride: Size = 100  # k1 of Algorithm 1; 1 in the paper, about 40 times slower; docs/notes/experiments.md
    random_strides: bool = False  # drawn around `stride`, see `random_ends`; learning rate in proportion
    bptt: Size = 100  # L of section 5.2: each loss looks back on L outputs; 1: plain segments of `stride`
    optimizer: Annotated[str, OneOf(OPTIMIZERS)] = "sgd"
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

    @property
    def lookback(self) -> int:
        """Tokens that a chunk reads again before those that it predicts."""
        return self.bptt - 1
