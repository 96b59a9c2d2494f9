"""How well a trained model predicts a dataset, with the signature of the number."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import torch

from ps_models.data.dataset import read_texts, vocabulary_hash
from ps_models.devices import autocast
from ps_models.errors import ModelError
from ps_models.evaluation.evaluate import evaluating, score_texts
from ps_models.evaluation.score import Score
from ps_models.evaluation.signature import Signature, signature_value
from ps_models.experiment.load import Source, TrainedModel, open_data, opened
from ps_models.language_model import LanguageModel, Recurrent
from ps_models.models.monte_carlo import Maskable, MonteCarloDropout
from ps_models.models.neural_cache import NeuralCache, NeuralCacheConfig
from ps_models.training.checkpoint import Checkpoint
from wikitext_builder.dataset.load import FILE, Dataset
from wikitext_builder.hashing import file_sha256
from wikitext_builder.progress import Progress, no_progress


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The scores of a text, one per article, and the signature: all that decides them."""

    scores: list[Score]
    signature: Signature

    @property
    def score(self) -> Score:
        """The score of the whole text."""
        return sum(self.scores, Score())


def evaluate(
    model: Source,
    data: str | Path,
    *,
    split: str = "test",
    context: str = "carried",
    precision: str = "fp32",
    cache: NeuralCacheConfig | None = None,
    samples: int = 0,
    device: str = "auto",
    progress: Progress = no_progress,
) -> Evaluation:
    """Score one split of a dataset with a trained model, each token once.

    >>> import ps_models as pm
    >>> found = pm.evaluate("runs/lstm", "data/wikitext-2")  # doctest: +SKIP
    >>> found.score.perplexity  # doctest: +SKIP

    Args:
        model: A checkpoint, the folder of a run, or what `load` returned.
        data: The dataset.
        split: train, valid or test.
        context: What comes before an article: `carried`, all articles before it; `article`, nothing.
        precision: Arithmetic: fp32, tf32 or bf16.
        cache: Mix the model with a neural cache.
        samples: Average over this many masks of Monte Carlo dropout; 0: no dropout.
        device: Where a checkpoint is loaded: auto, cpu, cuda or cuda:1.
        progress: Called with the number of tokens that are done.

    Raises:
        ModelError: The checkpoint is missing or damaged, or it does not fit the data or the arguments.
    """
    trained = opened(model, device)
    dataset = open_data(data, trained.checkpoint)
    texts = list(read_texts(dataset, split, trained.vocabulary))
    with autocast(trained.device, precision), evaluating(trained.model):
        scores = score_texts(
            _adapted(trained, cache, samples),
            texts,
            context=context,
            device=trained.device,
            progress=progress,
            total=sum(len(text.tokens) for text in texts),
        )
    extra = {}
    if cache is not None:
        extra["cache"] = f"{cache.window}-{cache.theta:g}-{cache.weight:g}"
    if samples:
        extra["dropout_samples"] = str(samples)
    signature = checkpoint_signature(trained.checkpoint, dataset, split, context, precision, **extra)
    return Evaluation(scores=scores, signature=signature)


def _adapted(trained: TrainedModel, cache: NeuralCacheConfig | None, samples: int) -> LanguageModel[Any]:
    """The model, inside a neural cache or Monte Carlo dropout if one of them is wanted."""
    model, name = trained.model, trained.checkpoint.model
    if samples < 0:
        raise ModelError(f"--samples {samples}: expected 0 or more")
    if cache is not None and samples:
        raise ModelError("--cache and --samples: take one of the two")
    if cache is not None:
        if not isinstance(model, Recurrent):
            raise ModelError(f"{name}: has no outputs for a neural cache; evaluate without --cache")
        return NeuralCache(model, cache)
    if samples:
        if not isinstance(model, Maskable):
            raise ModelError(f"{name}: has no masks of dropout to draw; evaluate without --samples")
        generator = torch.Generator(trained.device).manual_seed(1)
        try:
            return MonteCarloDropout(model, samples, generator)
        except ValueError as error:
            raise ModelError(f"{name}: {error}; evaluate without --samples") from error
    return cast("LanguageModel[Any]", model)


def checkpoint_signature(
    checkpoint: Checkpoint, dataset: Dataset, split: str, context: str, precision: str, **extra: str
) -> Signature:
    """What decides a number: data, split, vocabulary, weights, arithmetic, versions."""
    return Signature(
        data=f"{signature_value(dataset.name)}+{file_sha256(dataset.file(split))[:8]}",
        split=split if dataset.layout != FILE else FILE,
        vocabulary=f"{len(checkpoint.vocabulary)}+{vocabulary_hash(checkpoint.vocabulary)[:8]}",
        eos="yes",
        context=context,
        model=checkpoint.name,
        seed=checkpoint.seed,
        precision=precision,
        **extra,
        torch=signature_value(torch.__version__),
        version=version("wikitext-builder"),
    )
