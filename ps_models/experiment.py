"""A model by name on a dataset by path: what the commands call, for those who write Python instead."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn

from ps_models.configs import completed_fields, config_of, make_configs, make_model
from ps_models.data.dataset import read_stream, read_texts, vocabulary_hash
from ps_models.devices import autocast, choose_device
from ps_models.errors import ModelError
from ps_models.evaluation.evaluate import evaluate
from ps_models.evaluation.score import Score
from ps_models.evaluation.signature import Signature, signature_value
from ps_models.language_model import LanguageModel, Prepared, Recurrent
from ps_models.models.monte_carlo import Maskable, MonteCarloDropout
from ps_models.models.neural_cache import NeuralCache, NeuralCacheConfig
from ps_models.training.checkpoint import (
    LAST,
    Checkpoint,
    check_vocabulary,
    checkpoint_file,
    load_weights,
    read_checkpoint,
)
from ps_models.training.cuda_graphs import choose_recorder
from ps_models.training.distributed import ONE_PROCESS, Processes
from ps_models.training.logs import tensorboard
from ps_models.training.loop import Pace, Task, train
from ps_models.training.update import Position
from wikitext_builder.dataset.load import Dataset
from wikitext_builder.dataset.load import load as load_dataset
from wikitext_builder.dataset.vocabulary import Vocabulary
from wikitext_builder.hashing import file_sha256
from wikitext_builder.progress import Progress, no_progress


def train_model(
    model: str,
    data: Path,
    out: Path,
    *,
    preset: str | None = None,
    settings: Iterable[str] = (),
    resume: bool = False,
    device: str = "auto",
    processes: Processes = ONE_PROCESS,
    progress: Progress = no_progress,
    log_events: bool = False,
    pace: Pace = Pace(),  # noqa: B008 - it is frozen
    cuda_graphs: bool = False,
) -> Position:
    """Train a model on a dataset.

    Args:
        model: A name in MODELS.
        data: The dataset.
        out: The folder for checkpoints and logs.
        preset: A name in the model's presets.
        settings: `key=value` each.
        resume: Go on from the folder's last checkpoint, if there is one.
        device: A name for `choose_device`.
        processes: What other processes take part.
        progress: Told how far it is.
        log_events: Also write TensorBoard's events.
        pace: When to save, log and stop.
        cuda_graphs: Replay updates as graphs; see `choose_recorder`.

    Raises:
        ModelError: Something is missing, wrong, or was trained before.
    """
    dataset, vocabulary = _training_data(data)
    model_config, training = make_configs(model, preset, settings, len(vocabulary))
    out.mkdir(parents=True, exist_ok=True)
    saved = _saved_run(out, model, asdict(model_config), vocabulary, data, resume=resume)
    chosen = choose_device(device, processes.rank)
    task = _task(model, model_config, preset, dataset, vocabulary)
    _check_same_text(saved, task.describe, data)
    torch.manual_seed(training.seed)
    made = make_model(model, model_config)
    if saved is None and isinstance(made, Prepared):
        made.prepare(task.stream, vocabulary, training.seed)
    made.to(chosen)
    torch.manual_seed(training.seed + processes.rank)  # each process draws masks of its own
    return train(
        made,
        task,
        training,
        out,
        resume=saved,
        device=chosen,
        processes=processes,
        progress=progress,
        events=tensorboard(out) if log_events and processes.rank == 0 else None,
        pace=pace,
        recorder=choose_recorder(cuda_graphs, made, chosen, processes),
    )


def _task(
    model: str,
    config: Any,  # noqa: ANN401 - each model has its own
    preset: str | None,
    dataset: Dataset,
    vocabulary: Vocabulary,
) -> Task:
    """The text of a run, and its checkpoints but for the weights."""
    facts = {"data": dataset.name, "train_sha256": file_sha256(dataset.file("train")), "preset": preset}
    return Task(
        stream=read_stream(dataset, "train", vocabulary),
        valid=list(read_texts(dataset, "valid", vocabulary)),
        describe=Checkpoint(
            model=model, config=asdict(config), weights={}, vocabulary=vocabulary, facts=facts
        ),
    )


def _training_data(data: Path) -> tuple[Dataset, Vocabulary]:
    dataset = load_dataset(data)
    if dataset.layout == "file":
        raise ModelError(f"{data}: a single file; expected a folder with train and valid files to train on")
    return dataset, Vocabulary.of_file(dataset.file("train"))


def _saved_run(
    out: Path, model: str, config: dict[str, Any], vocabulary: Vocabulary, data: Path, *, resume: bool
) -> Checkpoint | None:
    """What to go on from; None where nothing was saved."""
    last = out / LAST
    if not last.exists():
        return None
    if not resume:
        raise ModelError(f"{out}: holds a run already; go on with --resume, or use another --out")
    saved = read_checkpoint(last, training=True)
    check_vocabulary(saved, vocabulary, str(data))
    _check_same_model(saved, model, config, out)
    return saved


def load_model(path: Path, device: str = "cpu") -> tuple[nn.Module, Checkpoint]:
    """A trained model in evaluation mode, and its checkpoint.

    Raises:
        ModelError: The checkpoint is missing, damaged or of another version.
    """
    checkpoint = read_checkpoint(checkpoint_file(path))
    model = make_model(checkpoint.model, config_of(checkpoint.model, checkpoint.config))
    load_weights(model, checkpoint.weights)
    return model.to(choose_device(device)).eval(), checkpoint


def open_data(data: Path, checkpoint: Checkpoint) -> Dataset:
    """A dataset for a trained model: it must have the model's vocabulary, where it has a train file.

    Raises:
        ModelError: It has another vocabulary.
    """
    dataset = load_dataset(data)
    if dataset.layout != "file" and "train" in dataset.files:
        check_vocabulary(checkpoint, Vocabulary.of_file(dataset.file("train")), str(data))
    return dataset


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The scores of a text, an article each, and what decided them."""

    scores: list[Score]
    signature: Signature

    @property
    def score(self) -> Score:
        """Of the whole text."""
        return sum(self.scores, Score())


def evaluate_checkpoint(
    path: Path,
    data: Path,
    *,
    split: str = "test",
    context: str = "carried",
    precision: str = "fp32",
    cache: NeuralCacheConfig | None = None,
    samples: int = 0,
    device: str = "auto",
    progress: Progress = no_progress,
) -> Evaluation:
    """Evaluate a checkpoint on a part of a dataset.

    Args:
        path: The checkpoint.
        data: The dataset.
        split: Its part.
        context: What goes before an article; see `evaluate`.
        precision: Of the arithmetic.
        cache: Mix with a neural cache.
        samples: Average over so many masks of Monte Carlo dropout, if any.
        device: A name for `choose_device`.
        progress: Told how many tokens are done.

    Raises:
        ModelError: Either is missing, damaged, or not for the other.
    """
    model, checkpoint = load_model(path, device)
    dataset = open_data(data, checkpoint)
    texts = list(read_texts(dataset, split, checkpoint.vocabulary))
    chosen = next(model.parameters()).device
    with autocast(chosen, precision):
        scores = evaluate(
            _adapted(model, cache, samples, chosen, checkpoint),
            texts,
            context=context,
            device=chosen,
            progress=progress,
            total=sum(len(text.tokens) for text in texts),
        )
    extra = {}
    if cache is not None:
        extra["cache"] = f"{cache.window}-{cache.theta:g}-{cache.weight:g}"
    if samples:
        extra["dropout_samples"] = str(samples)
    return Evaluation(
        scores=scores, signature=checkpoint_signature(checkpoint, dataset, split, context, precision, **extra)
    )


def _adapted(
    model: nn.Module,
    cache: NeuralCacheConfig | None,
    samples: int,
    device: torch.device,
    checkpoint: Checkpoint,
) -> LanguageModel[Any]:
    """The model, or what is asked to be put around it."""
    if cache is not None and samples:
        raise ModelError("a neural cache and Monte Carlo dropout at once; use one of them")
    name = checkpoint.model
    if cache is not None:
        if not isinstance(model, Recurrent):
            raise ModelError(f"{name}: has no outputs for a neural cache to keep; evaluate without --cache")
        return NeuralCache(model, cache)
    if samples:
        if not isinstance(model, Maskable):
            raise ModelError(f"{name}: has no masks of dropout to draw; evaluate without --samples")
        generator = torch.Generator(device).manual_seed(1)
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
        split=split if dataset.layout != "file" else "file",
        vocabulary=f"{len(checkpoint.vocabulary)}+{vocabulary_hash(checkpoint.vocabulary)[:8]}",
        eos="yes",
        context=context,
        model=checkpoint.name,
        seed=checkpoint.facts.get("training", {}).get("seed", "unknown"),
        precision=precision,
        **extra,
        torch=signature_value(torch.__version__),
        version=version("wikitext-builder"),
    )


def _check_same_text(saved: Checkpoint | None, wanted: Checkpoint, data: Path) -> None:
    if saved is None:
        return
    found, expected = (each.facts.get("train_sha256", "") for each in (wanted, saved))
    if found != expected:
        raise ModelError(
            f"{data}: sha256 of train {found[:12]}, but the run's is {expected[:12]}: its place in that text"
            " is another one here; use the same data, or another --out"
        )


def _check_same_model(saved: Checkpoint, model: str, config: dict[str, Any], out: Path) -> None:
    config_then = completed_fields(saved.model, saved.config) if saved.model == model else saved.config
    found = {"model": saved.model, **config_then}
    wanted = {"model": model, **{key: list(v) if isinstance(v, tuple) else v for key, v in config.items()}}
    differing = [key for key in wanted if found.get(key) != wanted[key]]
    if differing:
        changes = ", ".join(f"{key} {found.get(key)} → {wanted[key]}" for key in differing)
        raise ModelError(f"{out}: the run there is of another model ({changes}); use another --out")
