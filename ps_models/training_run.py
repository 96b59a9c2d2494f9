"""Trains a model, given by its name, on a dataset."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import torch
from torch import nn

from ps_models.configs import ModelKind, make_configs, make_model, settings_by_name
from ps_models.dataset import read_stream
from ps_models.devices import best_precision, choose_device, torchrun_context
from ps_models.errors import ModelError
from ps_models.hyperparameters import TrainingConfig
from ps_models.own_models import check_fresh_model, copy_source, named_kind
from ps_models.signature import Score
from ps_models.training.checkpoint import LAST, Checkpoint, check_vocabulary, read_checkpoint
from ps_models.training.logs import events_to
from ps_models.training.loop import RunLimits, TrainingData, run_training
from wikitext_builder.dataset.load import SINGLE_FILE
from wikitext_builder.dataset.load import load as load_dataset
from wikitext_builder.files import file_sha256
from wikitext_builder.progress import Progress, no_progress


@dataclass(frozen=True, kw_only=True)
class TrainedRun:
    """A training run: its folder, and the validation loss of each epoch."""

    folder: Path
    updates: int
    losses: tuple[float, ...]  # mean nats per token of valid, one per epoch
    valid_rows: int  # in which valid is read, side by side; `evaluate` reads one row
    planned: int  # epochs; the run ends earlier after `patience` epochs without a new best
    patience: int
    rank: int = 0  # of this process under torchrun; the process of rank 0 writes files and reports
    trained_before: bool = False  # the run in the folder was already finished, so this call trained nothing

    @property
    def epochs(self) -> int:
        """The number of epochs."""
        return len(self.losses)

    @property
    def perplexity(self) -> float:
        """The best validation perplexity; with one row in place of `valid_rows` it is slightly lower."""
        return Score(min(self.losses), 1).perplexity


def train(
    model: str,
    data: str | Path,
    out: str | Path,
    *,
    preset: str | None = None,
    settings: Mapping[str, object] | Iterable[str] = (),
    device: str = "auto",
    log_to: Collection[str] = (),
    limits: RunLimits = RunLimits(),  # noqa: B008 - it is frozen
    compile: bool = False,  # noqa: A002 - as torch names it
    progress: Progress = no_progress,
) -> TrainedRun:
    """Train a model on a dataset; call it again to resume. Under torchrun, it uses one process per GPU.

    >>> import ps_models as pm
    >>> run = pm.train("lstm", "data/wikitext-2", "runs/lstm", preset="small")  # doctest: +SKIP

    Args:
        model: A name in `list_models`; or your own class, `my_model.py:GPT` or `my_package.models:GPT`.
        data: A folder with train and valid files.
        out: The folder for checkpoints and logs.
        preset: One of the model's presets (for your own class, in my_model.toml); None: the model's defaults.
        settings: Hyperparameters that override the preset: `{"epochs": 3}`, or `key=value` texts.
        device: auto, cpu, cuda or cuda:1.
        log_to: Also log to these trackers: tensorboard.
        limits: When to save, log and stop.
        compile: Compile the updates with torch.compile: minutes at the start, then faster updates, whose
            numbers differ in the last digits. On a GPU it uses CUDA graphs.
        progress: Called with the number of tokens done.

    Raises:
        BuilderError: The dataset is missing or damaged.
        ModelError: A name or a setting is wrong, or the folder has a run with other settings.
        StoppedError: The user stopped the run, or `limits` did; the same call resumes it.
    """
    data, out = Path(data), Path(out)
    kind = named_kind(model)
    texts, model_config, training = _read_inputs(kind, data, preset, settings)
    out.mkdir(parents=True, exist_ok=True)
    saved = _saved_run(out, kind, texts.template, data)
    with torchrun_context() as world:
        torch_device = choose_device(device, world.rank)
        if training.precision == "auto":
            saved_precision: Any = saved.settings.get("precision") if saved else None
            training = replace(training, precision=saved_precision or best_precision(torch_device))
        new_model = _new_model(kind, texts, model_config, training.seed, world.rank, prepare=saved is None)
        if world.rank == 0:
            copy_source(kind, out)
        with events_to(log_to if world.rank == 0 else (), out) as events:
            position = run_training(
                *(new_model.to(torch_device), texts, training, out),
                resume=saved,
                device=torch_device,
                world=world,
                progress=progress if world.rank == 0 else no_progress,
                events=events,
                limits=limits,
                compiled=compile,
            )
    run = TrainedRun(
        folder=out,
        updates=position.update,
        losses=position.losses,
        valid_rows=texts.valid_rows(training),
        planned=training.epochs,
        patience=training.patience,
        rank=world.rank,
    )
    losses = (saved.training or {})["position"]["losses"] if saved else ()
    return replace(run, trained_before=tuple(losses) == run.losses)


def _read_inputs(
    kind: ModelKind, data: Path, preset: str | None, settings: Mapping[str, object] | Iterable[str]
) -> tuple[TrainingData, Any, TrainingConfig]:
    """Read the texts of a run and its configurations; the data hold a checkpoint without weights."""
    dataset = load_dataset(data)
    if dataset.layout == SINGLE_FILE:
        raise ModelError(f"{data}: a single file; expected a folder with train and valid files to train on")
    hashes = {f"{split}_sha256": file_sha256(dataset.file(split)) for split in ("train", "valid")}
    words = dataset.vocabulary
    stream, valid = (read_stream(dataset, split, words).int() for split in ("train", "valid"))
    given = settings_by_name(settings)
    config, training = make_configs(kind, preset, given, len(words))
    values = {**training.optimizer_options, **asdict(training), **asdict(config)}
    facts: dict[str, Any] = {"data": dataset.name, **hashes, "preset": preset}
    facts["settings"] = {name: values[name] for name in given}
    if kind.source_sha256:
        facts["source_sha256"] = kind.source_sha256
    json_config = msgspec.json.decode(msgspec.json.encode(asdict(config)))  # with lists, not tuples
    template = Checkpoint(model=kind.name, config=json_config, weights={}, vocabulary=words, facts=facts)
    return TrainingData(stream=stream, valid=valid, template=template), config, training


def _new_model(
    kind: ModelKind,
    texts: TrainingData,
    config: Any,  # noqa: ANN401 - each model has its own
    seed: int,
    rank: int,
    *,
    prepare: bool,
) -> nn.Module:
    """Make a model with the weights of a seed; a resumed run loads the buffers that `prepare` fills."""
    torch.manual_seed(seed)
    model: Any = make_model(kind, config)
    if prepare and hasattr(model, "prepare"):
        model.prepare(texts.stream.long(), texts.template.vocabulary, seed)
    if prepare and kind.source:
        check_fresh_model(kind, model, config, len(texts.template.vocabulary))
    torch.manual_seed(seed + rank)  # each process draws different masks
    trainable: nn.Module = model
    return trainable


def _saved_run(out: Path, kind: ModelKind, wanted: Checkpoint, data: Path) -> Checkpoint | None:
    """Read the checkpoint to resume from, of the same model and text; None if nothing was saved."""
    if not (out / LAST).exists():
        return None
    saved = read_checkpoint(out / LAST, training=True)
    check_vocabulary(saved, wanted.vocabulary, str(data))
    old = {"model": saved.model, "source_sha256": saved.source_sha256, **saved.config}
    new = {"model": kind.name, "source_sha256": kind.source_sha256, **wanted.config}
    if differing := [key for key in new if old.get(key, ...) != new[key]]:
        changes = ", ".join(f"{key} {old.get(key)} → {new[key]}" for key in differing)
        raise ModelError(f"{out}: the run there has a different model ({changes}); use another --out")
    for split in ("train", "valid"):
        new_hash, old_hash = (str(run.facts.get(f"{split}_sha256", "")) for run in (wanted, saved))
        if new_hash != old_hash:
            raise ModelError(
                f"{data}: sha256 of {split} {new_hash[:12]}, but the run's is {old_hash[:12]}: its position"
                " in train and its losses on valid would not fit; use the same data, or another --out"
            )
    return saved
