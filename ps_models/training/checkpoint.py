"""Writes and reads checkpoints: one safetensors file with weights, vocabulary and the state of the training.

The file is written under another name and then renamed, so that a reader sees the whole old file or the whole
new one. What a resumed run needs (optimizer, generators, position, hidden state) is in the same file, so that
it always belongs to these weights: as JSON in the header, with its tensors beside the weights. Reading a
checkpoint runs no code from it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypedDict

import msgspec
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from ps_models.dataset import vocabulary_hash
from ps_models.errors import ModelError
from ps_models.hyperparameters import Count
from ps_models.signature import signature_value
from wikitext_builder.dataset.vocabulary import EOS, UNK, Vocabulary

FORMAT = "ps-models-1"
BEST, LAST = "best.safetensors", "last.safetensors"
WEIGHTS = "model."  # the prefix of the names of weights
TRAINING = "training"  # the name of the state of a training, and the prefix of its tensors
# The folder in which a checkpoint is written: safetensors first writes a file with a random name.
UNFINISHED = re.compile(rf"\.({re.escape(BEST)}|{re.escape(LAST)})\.[0-9a-f]{{16}}\.part")


class Facts(TypedDict, total=False):
    """Metadata of a model and its training; a checkpoint from elsewhere can have more, with these types."""

    data: str  # the name of the dataset
    train_sha256: str
    valid_sha256: str
    source_sha256: str  # of the file of a user's model
    preset: str | None
    settings: dict[str, Any]  # given besides the preset, by name
    training: dict[str, Any]  # the fields of its TrainingConfig
    sessions: list[str]  # the code and the device of each session
    epoch: Count
    update: Count
    valid_perplexity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A model at a point of its training."""

    model: str  # its name in MODELS, or the name of a user's class
    config: dict[str, Any]  # the fields of the model's configuration
    weights: Mapping[str, Tensor]
    vocabulary: Vocabulary
    facts: dict[str, Any] = field(default_factory=dict)  # metadata, see `Facts`
    training: dict[str, Any] | None = None  # the state that a resumed run needs; None: it cannot be resumed
    digest: str = ""  # sha256 of the weights, set when the file is written

    @property
    def name(self) -> str:
        """The model's name with the beginning of the weights' hash, for a signature."""
        return f"{signature_value(self.model)}+{self.digest[:8]}"

    @property
    def source_sha256(self) -> str | None:
        """The hash of the source of a user's model; None for a model of `MODELS`."""
        return self.facts.get("source_sha256")

    @property
    def seed(self) -> str:
        """The seed of its training, as a value of a signature; `unknown` if the facts lack it."""
        return signature_value(str(self.settings.get("seed", "unknown")))

    @property
    def settings(self) -> dict[str, Any]:
        """The configuration of its training; empty if the facts lack it."""
        training: dict[str, Any] = self.facts.get("training", {})
        return training

    @property
    def sessions(self) -> tuple[str, ...]:
        """The code and the device of each session of its training."""
        return tuple(self.facts.get("sessions", ()))


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """Return the parameters and persistent buffers of a model by name; shared ones once."""
    persistent = model.state_dict().keys()
    named = [*model.named_parameters(), *model.named_buffers()]
    return {name: tensor.detach() for name, tensor in named if name in persistent}


def load_weights(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Copy weights into a model; see `check_shapes`."""
    check_shapes(model, weights)
    model_weights = weights_of(model)
    with torch.no_grad():
        for name, tensor in weights.items():
            model_weights[name].copy_(tensor)


def check_shapes(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Check that weights fit a model."""
    expected, shapes = (
        {name: (tuple(tensor.shape), str(tensor.dtype)) for name, tensor in tensors.items()}
        for tensors in (weights_of(model), weights)
    )
    if shapes != expected:
        differing = sorted(name for name in shapes | expected if shapes.get(name) != expected.get(name))
        state, expected_state = (_shape_text(named.get(differing[0])) for named in (shapes, expected))
        raise ModelError(
            f"the checkpoint's weights do not fit the model: {differing[0]} {state}, expected"
            f" {expected_state} ({len(differing)} differ); use the version and the model that wrote it"
        )


def _shape_text(shape: tuple[tuple[int, ...], str] | None) -> str:
    return "is missing" if shape is None else f"has shape {shape[0]} of {shape[1].removeprefix('torch.')}"


def tensors_digest(tensors: Mapping[str, Tensor], head: bytes = b"") -> str:
    """Return the sha256 of the head, and of names, types, shapes and numbers of tensors."""
    digest = hashlib.sha256(head)
    for name in sorted(tensors):
        tensor = tensors[name].detach().contiguous().cpu()
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        # A tensor of one number can have any stride; `view` needs 1.
        numbers = tensor.as_strided((tensor.numel(),), (1,))
        digest.update(numbers.view(torch.uint8).numpy().data)
    return digest.hexdigest()


def save_checkpoint(path: Path, checkpoint: Checkpoint) -> Checkpoint:
    """Write a whole checkpoint or nothing; return it with its digest."""
    digest = tensors_digest(checkpoint.weights)
    words = "\n".join(checkpoint.vocabulary.tokens).encode()
    tensors = {WEIGHTS + name: tensor.contiguous().cpu() for name, tensor in checkpoint.weights.items()}
    tensors["vocabulary"] = _bytes_tensor(words)
    training = _without_tensors(checkpoint.training, TRAINING, tensors)
    header = {
        "format": FORMAT,
        "model": checkpoint.model,
        "config": json.dumps(checkpoint.config, sort_keys=True),
        "facts": json.dumps(checkpoint.facts, sort_keys=True),
        "vocabulary_sha256": vocabulary_hash(checkpoint.vocabulary),
        "digest": digest,
        **({} if training is None else {TRAINING: json.dumps(training)}),
    }
    header["check"] = _header_digest(header, tensors)
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    part = unfinished / path.name
    try:
        unfinished.mkdir()
        save_file(tensors, part, header)
        # Apply the user's umask; safetensors lets only the owner read the file.
        part.chmod(unfinished.stat().st_mode & 0o666)
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        part.replace(path)
        unfinished.rmdir()
    except (OSError, SafetensorError) as error:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise ModelError(
            f"{path}: cannot be written ({error}); free disk space, then run the same command to resume"
        ) from error
    return replace(checkpoint, digest=digest)


def remove_unfinished(folder: Path) -> None:
    """Remove the unfinished files of a save that was killed from the folder of a run."""
    for path in list(folder.iterdir()):
        if UNFINISHED.fullmatch(path.name) and path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)


def checkpoint_file(path: Path) -> Path:
    """Return the file of a checkpoint: the path itself, or the best or else the last of a run's folder."""
    candidates = [path / BEST, path / LAST] if path.is_dir() else [path]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    raise ModelError(f"{path}: no checkpoint; expected a file or a folder that `ps-models train` wrote")


def read_checkpoint(path: Path, *, training: bool = False) -> Checkpoint:
    """Read and verify a checkpoint, or a run's best one; `training`: also the state to resume from."""
    path = checkpoint_file(path)
    try:
        with safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
    except (OSError, SafetensorError, TypeError) as error:  # TypeError: a size beyond torch's integers
        raise _damaged(path, error) from error
    if header.get("format") != FORMAT:
        raise ModelError(
            f"{path}: format {header.get('format')!r}, expected {FORMAT!r}: not a checkpoint of ps-models"
        )
    if training and TRAINING not in header:
        raise ModelError(f"{path}: has only weights and cannot be resumed; use {LAST}")
    prefixed = {name: tensor for name, tensor in tensors.items() if name.startswith(WEIGHTS)}
    weights = {name.removeprefix(WEIGHTS): tensor for name, tensor in prefixed.items()}
    if tensors_digest(weights) != header.get("digest") or _header_digest(header, tensors) != header.get(
        "check"
    ):
        raise _damaged(path, "its sha256 is not the one in its header")
    try:
        vocabulary = Vocabulary(tuple(tensors["vocabulary"].numpy().tobytes().decode().split("\n")))
        _check_words(vocabulary.tokens)
        config = msgspec.convert(json.loads(header["config"]), dict[str, Any])
        facts = msgspec.convert(json.loads(header["facts"]), dict[str, Any])
        msgspec.convert(facts, Facts)
        if config["vocab_size"] != len(vocabulary):
            raise _damaged(path, f"{len(vocabulary)} words, but its model has {config['vocab_size']}")
        state = _with_tensors(json.loads(header[TRAINING]), tensors) if training else None
        return Checkpoint(
            model=header["model"],
            config=config,
            weights=weights,
            vocabulary=vocabulary,
            facts=facts,
            training=msgspec.convert(state, dict[str, Any] | None),
            digest=header["digest"],
        )
    except (KeyError, ValueError, TypeError, RecursionError) as error:
        raise _damaged(path, error) from error


def _check_words(words: tuple[str, ...]) -> None:
    if (
        words[:2] != (UNK, EOS)
        or len({*words}) < len(words)
        or any(not word or " " in word for word in words)
    ):
        raise ValueError(f"expected a vocabulary of {UNK}, {EOS} and other words, without repetition")


def check_vocabulary(checkpoint: Checkpoint, vocabulary: Vocabulary, source: str) -> None:
    """Check that the weights were trained with this vocabulary."""
    if checkpoint.vocabulary.tokens != vocabulary.tokens:
        raise ModelError(
            f"{source}: its vocabulary ({_vocabulary_text(vocabulary)}) differs from the checkpoint's"
            f" ({_vocabulary_text(checkpoint.vocabulary)}); use the dataset that the model was trained on"
        )


def _vocabulary_text(vocabulary: Vocabulary) -> str:
    return f"{len(vocabulary)} words, sha256 {vocabulary_hash(vocabulary)[:12]}"


def _without_tensors(value: object, name: str, tensors: dict[str, Tensor]) -> object:
    """Return the same tree for JSON: tensors move to `tensors`, and their names replace them."""
    if isinstance(value, Tensor):
        tensors[name] = value.detach().cpu().contiguous()
        return {"tensor": name}
    if isinstance(value, dict):
        return {str(key): _without_tensors(item, f"{name}.{key}", tensors) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_tensors(item, f"{name}.{index}", tensors) for index, item in enumerate(value)]
    return value


def _with_tensors(value: object, tensors: Mapping[str, Tensor]) -> object:
    """Return the tree of `_without_tensors` with its tensors back in place."""
    if isinstance(value, dict):
        if value.keys() == {"tensor"}:
            return tensors[value["tensor"]]
        return {key: _with_tensors(item, tensors) for key, item in value.items()}
    return [_with_tensors(item, tensors) for item in value] if isinstance(value, list) else value


def _header_digest(header: Mapping[str, str], tensors: Mapping[str, Tensor]) -> str:
    """Return the sha256 of everything except the weights, which have a digest of their own."""
    fields = sorted((key, value) for key, value in header.items() if key != "check")
    rest = {name: tensor for name, tensor in tensors.items() if not name.startswith(WEIGHTS)}
    return hashlib.sha256(f"{json.dumps(fields)} {tensors_digest(rest)}".encode()).hexdigest()


def _bytes_tensor(content: bytes) -> Tensor:
    return torch.frombuffer(bytearray(content), dtype=torch.uint8)


def _damaged(path: Path, reason: object) -> ModelError:
    return ModelError(
        f"{path}: not a valid checkpoint ({reason}); use another one, or train again in another folder"
    )
