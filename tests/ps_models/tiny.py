"""A tiny dataset of made-up text, in which words come back, and how the tests train on it."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import ps_models as pm
from ps_models.models.char_cnn import CharCNN, CharCNNConfig
from ps_models.models.rnn import RNNLDA, RNNLDAConfig
from ps_models.models.sum_product import SumProductConfig, SumProductNetwork
from ps_models.models.transformer import Transformer, TransformerConfig
from ps_models.training.checkpoint import LAST, Checkpoint, read_checkpoint
from ps_models.training.logs import EPOCHS, UPDATES
from ps_models.training.loop import RunLimits, StoppedError
from wikitext_builder.dataset.vocabulary import Vocabulary

SETTINGS = (
    "hidden_size=8",
    "layers=1",
    "batch_size=4",
    "stride=6",
    "bptt=4",
    "epochs=2",
    "learning_rate=0.5",
)
QUIET = ("input_dropout=0", "layer_dropout=0", "output_dropout=0", "zoneout=0")


def settings_of(model: str, *more: str) -> tuple[str, ...]:
    return (*SETTINGS, *(["window=4"] if model == "pointer-sentinel-lstm" else []), *more)


def assert_same(ours: Tensor, theirs: Tensor, leaves: Iterable[Tensor], *, atol: float = 1e-10) -> None:
    """Values are the same, and so are the gradients of a sum of them with random weights."""
    torch.testing.assert_close(ours, theirs, rtol=0, atol=atol)
    weights, inputs = torch.randn_like(ours), list(leaves)
    grads = [torch.autograd.grad((values * weights).sum(), inputs) for values in (ours, theirs)]
    for one, other in zip(*grads, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=10 * atol)


def losses(folder: Path) -> list[tuple[int, float]]:
    """The loss of each update of a run."""
    lines = (folder / UPDATES).read_text().splitlines()
    return [(record["update"], record["loss"]) for record in map(json.loads, lines)]


def train(data: Path, out: Path, *settings: str, model: str = "lstm", **options: Any) -> pm.TrainedRun:
    return pm.train(model, data, out, settings=settings, device="cpu", **options)


def stopped(data: Path, out: Path, update: int, *settings: str, model: str = "lstm") -> None:
    """A run that is stopped after an update."""
    with pytest.raises(StoppedError, match=f"after update {update};.* `ps-models train` resumes it"):
        train(data, out, *settings, model=model, limits=RunLimits(max_updates=update))


def assert_resumes(
    model: str, dataset: Path, folder: Path, settings: Sequence[str], *stops: int
) -> Checkpoint:
    """A run that is stopped a few times has the weights and losses of a whole one, whose end is returned.

    A stop below 0 is so many updates before the end.
    """
    whole, parts = folder / "whole", folder / "parts"
    updates = train(dataset, whole, *settings, model=model).updates
    for stop in stops:
        stopped(dataset, parts, stop if stop > 0 else updates + stop, *settings, model=model)
    train(dataset, parts, *settings, model=model)
    assert losses(whole) == losses(parts)
    assert updates > max(stops)
    epochs = [
        [line.rsplit(",", 1)[0] for line in (f / EPOCHS).read_text().splitlines()] for f in (whole, parts)
    ]
    assert epochs[0] == epochs[1]  # without their seconds
    assert read_checkpoint(whole).digest == read_checkpoint(parts).digest
    last = read_checkpoint(whole / LAST, training=True)
    assert last.digest == read_checkpoint(parts / LAST).digest
    return last


def make_dataset(parent: Path) -> Path:
    """About 900 tokens of train, 150 of valid and of test, in WikiText's layout."""
    generator = random.Random(7)
    folder = parent / "tiny"
    folder.mkdir()
    for split, count in (("train", 18), ("valid", 3), ("test", 3)):
        text = "".join(_article(generator, number) for number in range(count))
        (folder / f"wiki.{split}.tokens").write_text(text, encoding="utf-8")
    return folder


def _article(generator: random.Random, number: int) -> str:
    name = f"name{generator.randrange(30)}"
    words = ["the", "a", "cat", "dog", "saw", "met", "and", name, name]
    lines = [" ".join(generator.choice(words) for _ in range(generator.randrange(4, 12))) for _ in range(4)]
    return f" \n = Article {number} = \n \n" + "".join(f" {line} \n" for line in lines) + " \n"


def spelled(config: CharCNNConfig, words: Sequence[str]) -> CharCNN:
    """A model that knows the letters of its words."""
    model = CharCNN(config)
    model.prepare(torch.arange(3), Vocabulary(tuple(words)), seed=1)
    return model


def with_topics(config: RNNLDAConfig) -> RNNLDA:
    """A model with topics that are drawn at random."""
    model = RNNLDA(config)
    model.log_topics_VK.copy_(torch.randn(config.vocab_size, config.topics).log_softmax(dim=-1))
    return model


def after_an_update(config: SumProductConfig) -> SumProductNetwork:
    """A network some of whose weights are below 0."""
    model = SumProductNetwork(config).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3 * parameter)
            parameter.view(-1)[::5] *= -1
    return model


def with_norms(config: TransformerConfig) -> Transformer:
    """A model with norms and biases that are not 1 and 0."""
    model = Transformer(config)
    for parameter in model.parameters():
        if parameter.dim() == 1:
            torch.nn.init.uniform_(parameter, 0.2, 1.0)
    return model
