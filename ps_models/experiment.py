"""A model by name on a dataset by path: what the commands call, for those who write Python instead."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn

from ps_models.checkpoint import (
    LAST,
    Checkpoint,
    check_vocabulary,
    checkpoint_file,
    load_weights,
    read_checkpoint,
)
from ps_models.configs import config_of, make_configs, make_model
from ps_models.evaluation import evaluate, read_up_to, token_nats
from ps_models.explain import Prediction, predictions
from ps_models.frequency import Bucket, Pointing, compare_by_frequency, pointing
from ps_models.graphs import choose_recorder
from ps_models.language_model import LanguageModel, Prepared, Recurrent
from ps_models.logs import tensorboard
from ps_models.models.monte_carlo import Maskable, MonteCarloDropout
from ps_models.models.neural_cache import NeuralCache, NeuralCacheConfig
from ps_models.processes import ONE_PROCESS, Processes
from ps_models.runs import SAVE_SECONDS, Task, train
from ps_models.score import Score
from ps_models.signature import Signature, signature_value
from ps_models.text import Dataset, file_hash, find_dataset, read_stream, read_texts, vocabulary_hash
from ps_models.training import Position, use_products
from wikitext_builder.errors import BuilderError
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.vocabulary import Vocabulary


def choose_device(name: str, rank: int = 0) -> torch.device:
    """A device by name; `auto` is a GPU where there is one, and each process's own.

    Raises:
        BuilderError: There is no such device here.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        if device.type == "cuda" and torch.cuda.is_available():
            if ":" not in name:
                device = torch.device("cuda", rank % max(1, torch.cuda.device_count()))
            torch.cuda.set_device(device)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise BuilderError(f"device {name}: {str(error).splitlines()[0]}; use cpu") from error
    return device


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
    save_seconds: float = SAVE_SECONDS,
    log_every: int = 1,
    max_updates: int | None = None,
    max_seconds: float | None = None,
    cuda_graphs: bool | None = None,
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
        save_seconds: Between two checkpoints within an epoch.
        log_every: Updates a line of the log.
        max_updates: Stop after so many in all, saved, as if the user had said so.
        max_seconds: The same after so many from now on.
        cuda_graphs: Replay updates as graphs; None: where that can be, see `choose_recorder`.

    Raises:
        BuilderError: Something is missing, wrong, or was trained before.
    """
    dataset = find_dataset(data)
    if dataset.layout == "file":
        raise BuilderError(f"{data}: a single file; expected a folder with train and valid files to train on")
    vocabulary = Vocabulary.of_file(dataset.file("train"))
    model_config, training = make_configs(model, preset, settings, len(vocabulary))
    out.mkdir(parents=True, exist_ok=True)
    saved = _saved_run(out, vocabulary, data, resume=resume)
    if saved is not None:
        _check_same_model(saved, model, asdict(model_config), out)
    chosen = choose_device(device, processes.rank)
    stream = read_stream(dataset, "train", vocabulary)
    torch.manual_seed(training.seed)
    made = make_model(model, model_config)
    if saved is None and isinstance(made, Prepared):
        made.prepare(stream, vocabulary, training.seed)
    made = made.to(chosen)
    torch.manual_seed(training.seed + processes.rank)  # each process draws masks of its own
    describe = Checkpoint(
        model=model,
        config=asdict(model_config),
        weights={},
        vocabulary=vocabulary,
        facts={"data": dataset.name, "train_sha256": file_hash(dataset.file("train")), "preset": preset},
    )
    task = Task(
        stream=stream,
        valid=list(read_texts(dataset, "valid", vocabulary)),
        describe=describe,
    )
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
        save_seconds=save_seconds,
        log_every=log_every,
        max_updates=max_updates,
        max_seconds=max_seconds,
        recorder=choose_recorder(cuda_graphs, made, chosen, processes),
    )


def _saved_run(out: Path, vocabulary: Vocabulary, data: Path, *, resume: bool) -> Checkpoint | None:
    """What to go on from; None where nothing was saved."""
    last = out / LAST
    if not last.exists():
        return None
    if not resume:
        raise BuilderError(f"{out}: holds a run already; go on with --resume, or use another --out")
    saved = read_checkpoint(last, training=True)
    check_vocabulary(saved, vocabulary, str(data))
    return saved


def load_model(path: Path, device: str = "cpu") -> tuple[nn.Module, Checkpoint]:
    """A trained model in evaluation mode, and its checkpoint.

    Raises:
        BuilderError: The checkpoint is missing, damaged or of another version.
    """
    checkpoint = read_checkpoint(checkpoint_file(path))
    model = make_model(checkpoint.model, config_of(checkpoint.model, checkpoint.config))
    load_weights(model, checkpoint.weights)
    return model.to(choose_device(device)).eval(), checkpoint


def open_data(data: Path, checkpoint: Checkpoint) -> Dataset:
    """A dataset for a trained model: it must have the model's vocabulary, where it has a train file.

    Raises:
        BuilderError: It has another vocabulary.
    """
    dataset = find_dataset(data)
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
        BuilderError: Either is missing, damaged, or not for the other.
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
        scores=scores, signature=_signature(checkpoint, dataset, split, context, precision, **extra)
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
        raise BuilderError("a neural cache and Monte Carlo dropout at once; use one of them")
    try:
        if cache is not None:
            return NeuralCache(cast("Recurrent[Any]", model), cache)
        if samples:
            generator = torch.Generator(device).manual_seed(1)
            return MonteCarloDropout(cast("Maskable[Any]", model), samples, generator)
    except (ValueError, AttributeError) as error:
        raise BuilderError(f"{checkpoint.model}: {error}; evaluate without --samples") from error
    return cast("LanguageModel[Any]", model)


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """A stretch of a text, how each of its words was predicted, and what decided that."""

    predictions: list[Prediction]
    vocabulary: Vocabulary
    signature: Signature

    @property
    def score(self) -> Score:
        """Of the stretch."""
        nats = -sum(math.log(prediction.probability) for prediction in self.predictions)
        return Score(nats, len(self.predictions))


def explain_checkpoint(
    path: Path,
    data: Path,
    *,
    split: str = "valid",
    start: int = 0,
    words: int = 500,
    device: str = "auto",
) -> Explanation:
    """How a checkpoint predicts a stretch of a part of a dataset, all that comes before being read.

    Raises:
        BuilderError: Either is missing, damaged, or not for the other; or the text is not that long.
    """
    model, checkpoint = load_model(path, device)
    dataset = open_data(data, checkpoint)
    stream = read_stream(dataset, split, checkpoint.vocabulary)
    if not 0 <= start < len(stream):
        raise BuilderError(f"{split} has {len(stream)} tokens; expected a start below that, not {start}")
    chosen = next(model.parameters()).device
    state = read_up_to(model, stream[:start], chosen)
    found = predictions(model, stream[start : start + words], state, device=chosen)
    signature = _signature(checkpoint, dataset, split, "carried", "fp32")
    return Explanation(predictions=list(found), vocabulary=checkpoint.vocabulary, signature=signature)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two models on one text, by word frequency; what the second one's pointer did, if it has one."""

    buckets: list[Bucket]
    pointer: Pointing | None
    scores: tuple[Score, Score]
    signatures: tuple[Signature, Signature]


def compare_checkpoints(
    first: Path,
    second: Path,
    data: Path,
    *,
    split: str = "test",
    number: int = 10,
    equal: str = "types",
    device: str = "auto",
) -> Comparison:
    """The paper's figure: how two checkpoints differ on words of each frequency.

    Raises:
        BuilderError: One is missing, damaged, or not for the data.
    """
    nats, scores, signatures = [], [], []
    pointer = None
    for path in (first, second):
        model, checkpoint = load_model(path, device)
        dataset = open_data(data, checkpoint)
        chosen = next(model.parameters()).device
        texts = list(read_texts(dataset, split, checkpoint.vocabulary))
        found = [part for _, part in token_nats(cast("LanguageModel[Any]", model), texts, device=chosen)]
        nats.append(torch.cat(found))
        scores.append(Score(float(nats[-1].sum()), len(nats[-1]), sum(text.bytes for text in texts)))
        signatures.append(_signature(checkpoint, dataset, split, "carried", "fp32"))
        tokens = torch.cat([text.tokens for text in texts])
        pointer = pointing(model, tokens, device=chosen)
    train = read_stream(dataset, "train", checkpoint.vocabulary)
    counts = torch.bincount(train, minlength=len(checkpoint.vocabulary))
    gates = None if pointer is None else pointer.gates
    buckets = compare_by_frequency(tokens, nats[0], nats[1], counts, number=number, equal=equal, gates=gates)
    return Comparison(
        buckets=buckets,
        pointer=pointer,
        scores=(scores[0], scores[1]),
        signatures=(signatures[0], signatures[1]),
    )


def comparison_fields(comparison: Comparison) -> dict[str, Any]:
    """A comparison as JSON."""
    pointer = comparison.pointer
    return {
        "buckets": [asdict(bucket) for bucket in comparison.buckets],
        "perplexities": [score.perplexity for score in comparison.scores],
        "signatures": [str(signature) for signature in comparison.signatures],
        "attention_by_words_back": None if pointer is None else (pointer.back / len(pointer.gates)).tolist(),
        "of_it_on_the_right_word": None if pointer is None else (pointer.right / len(pointer.gates)).tolist(),
    }


def autocast(device: torch.device, precision: str) -> AbstractContextManager[object]:
    """The arithmetic that a precision names."""
    use_products(precision)
    return torch.autocast(device.type, torch.bfloat16) if precision == "bf16" else nullcontext()


def _signature(
    checkpoint: Checkpoint, dataset: Dataset, split: str, context: str, precision: str, **extra: str
) -> Signature:
    return Signature(
        data=f"{signature_value(dataset.name)}+{file_hash(dataset.file(split))[:8]}",
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


def _check_same_model(saved: Checkpoint, model: str, config: dict[str, Any], out: Path) -> None:
    found = {"model": saved.model, **saved.config}
    wanted = {"model": model, **{key: list(v) if isinstance(v, tuple) else v for key, v in config.items()}}
    differing = [key for key in wanted if found.get(key) != wanted[key]]
    if differing:
        changes = ", ".join(f"{key} {found.get(key)} → {wanted[key]}" for key in differing)
        raise BuilderError(f"{out}: the run there is of another model ({changes}); use another --out")
