"""Loading a trained model, and the data that fits it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from ps_models.configs import config_of, make_model
from ps_models.devices import choose_device, use_products
from ps_models.errors import ModelError
from ps_models.training.checkpoint import (
    Checkpoint,
    check_shapes,
    check_vocabulary,
    checkpoint_file,
    load_weights,
    read_checkpoint,
)
from wikitext_builder.dataset.load import FILE, Dataset
from wikitext_builder.dataset.load import load as load_dataset
from wikitext_builder.dataset.vocabulary import Vocabulary

LOG = logging.getLogger(__name__)
# Fields of a configuration that say how often a part repeats; each has tensors of its own.
COUNTS: Final = ("layers", "highways")


@dataclass(frozen=True, kw_only=True)
class TrainedModel:
    """A trained model in evaluation mode, and the checkpoint that it was loaded from."""

    model: nn.Module
    checkpoint: Checkpoint

    @property
    def vocabulary(self) -> Vocabulary:
        """The words that it predicts."""
        return self.checkpoint.vocabulary

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return next(self.model.parameters()).device


class _Undrawn(TorchFunctionMode):
    """Leaves out normal draws: `meta` has no numbers, but torch would import its compiler to draw them."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> object:
        named = kwargs or {}
        return named["tensor"] if func is nn.init.normal_ else func(*args, **named)


Source = TrainedModel | str | Path  # a model, a checkpoint or the folder of a run


def load(path: str | Path, *, device: str = "auto") -> TrainedModel:
    """Load a trained model.

    >>> import ps_models as pm
    >>> lstm = pm.load("runs/lstm")  # doctest: +SKIP
    >>> pm.score(lstm, "the cat sat").perplexity  # doctest: +SKIP

    Args:
        path: A checkpoint, or the folder of a run: then its best checkpoint.
        device: auto, cpu, cuda or cuda:1.

    Raises:
        ModelError: The checkpoint is missing, damaged or written by another version.
    """
    checkpoint = read_checkpoint(checkpoint_file(Path(path)))
    config = config_of(checkpoint.model, checkpoint.config)
    _check_counts(config, checkpoint.weights)
    with torch.device("meta"), _Undrawn():  # takes no memory: a stranger's configuration can ask for any size
        check_shapes(make_model(checkpoint.model, config), checkpoint.weights)
    use_products("fp32")  # of what computes without a precision of its own
    model = make_model(checkpoint.model, config)
    load_weights(model, checkpoint.weights)
    _check_numbers(model.state_dict())
    LOG.info("loaded %s: %s, update %s", path, checkpoint.name, checkpoint.facts.get("update", "unknown"))
    return TrainedModel(model=model.to(choose_device(device)).eval(), checkpoint=checkpoint)


def _check_counts(config: object, weights: Mapping[str, Tensor]) -> None:
    """Refuse at once a configuration whose parts would take minutes to make."""
    for name in COUNTS:
        if (count := getattr(config, name, 0)) > len(weights):
            raise ModelError(
                f"the checkpoint's configuration has {name}={count:,}, but the file has only {len(weights)}"
                " tensors of weights; use the version and the model that wrote it"
            )


def _check_numbers(weights: Mapping[str, Tensor]) -> None:
    """Refuse weights that are no numbers: each result of them would be one."""
    for name, weight in weights.items():
        if not weight.isfinite().all():
            raise ModelError(f"the checkpoint's {name} has infinite numbers or NaN; expected finite weights")


def opened(source: Source, device: str) -> TrainedModel:
    """A model, loaded if it is given by its path; a loaded one stays on its device."""
    return source if isinstance(source, TrainedModel) else load(source, device=device)


def open_data(data: str | Path, checkpoint: Checkpoint) -> Dataset:
    """A dataset for a trained model; if it has a train file, its vocabulary must be the model's.

    Raises:
        ModelError: It has a different vocabulary.
        BuilderError: There is no dataset.
    """
    dataset = load_dataset(data)
    if dataset.layout != FILE and "train" in dataset.files:
        check_vocabulary(checkpoint, dataset.vocabulary, str(data))
    return dataset
