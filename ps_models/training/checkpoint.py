"""Checkpoints: one safetensors file with the weights, the vocabulary, and all that a resumed run needs.

The file is written under another name and then renamed, so that a reader sees the whole old file or the whole
new one. What a resumed run needs (optimizer, generators, position, hidden state) is in the same file, so that
it always belongs to these weights: as JSON in the header, with its tensors beside the weights. No code of a
stranger runs.
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
TRAINING = "training"  # the name of what a resumed run needs, and the prefix of its tensors
# A folder in which a checkpoint is written: safetensors puts a file of a random name there first.
UNFINISHED = re.compile(rf"\.({re.escape(BEST)}|{re.escape(LAST)})\.[0-9a-f]{{16}}\.part")


class Facts(TypedDict, total=False):
    """What else is known of a model and its training; that of a stranger can have more, and these types."""

    data: str  # the name of the dataset
    train_sha256: str
    valid_sha256: str
    source_sha256: str  # of a user's model
    preset: str | None
    settings: dict[str, Any]  # that were given beside the preset, by name
    training: dict[str, Any]  # the fields of its configuration
    sessions: list[str]  # the code and the device of each session
    epoch: Count
    update: Count
    valid_perplexity: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A model at some point of its training."""

    model: str  # its name in MODELS, or that of the user's class
    config: dict[str, Any]  # the fields of the model's configuration
    weights: Mapping[str, Tensor]
    vocabulary: Vocabulary
    facts: dict[str, Any] = field(default_factory=dict)  # what else is known, see `Facts`
    training: dict[str, Any] | None = None  # what a resumed run needs; None if it cannot be resumed
    digest: str = ""  # sha256 of the weights, set when the file is written

    @property
    def name(self) -> str:
        """Model and weights in one word, for a signature."""
        return f"{signature_value(self.model)}+{self.digest[:8]}"

    @property
    def source_sha256(self) -> str | None:
        """The hash of the source, for a user's model."""
        return self.facts.get("source_sha256")

    @property
    def seed(self) -> str:
        """The seed of its training, as a value of a signature; `unknown` if it does not say."""
        return signature_value(str(self.settings.get("seed", "unknown")))

    @property
    def settings(self) -> dict[str, Any]:
        """The configuration of its training; empty if it does not say."""
        training: dict[str, Any] = self.facts.get("training", {})
        return training

    @property
    def sessions(self) -> tuple[str, ...]:
        """The code and the device of each session of its training."""
        return tuple(self.facts.get("sessions", ()))


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """The parameters and buffers of a model by name; shared ones once."""
    kept = model.state_dict().keys()
    named = [*model.named_parameters(), *model.named_buffers()]
    return {name: tensor.detach() for name, tensor in named if name in kept}


def load_weights(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Copy weights into a model; see `check_shapes`."""
    check_shapes(model, weights)
    own = weights_of(model)
    with torch.no_grad():
        for name, tensor in weights.items():
            own[name].copy_(tensor)


def check_shapes(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Check that weights fit a model."""
    expected, found = (
        {name: (tuple(tensor.shape), str(tensor.dtype)) for name, tensor in tensors.items()}
        for tensors in (weights_of(model), weights)
    )
    if found != expected:
        differing = sorted(name for name in found | expected if found.get(name) != expected.get(name))
        one, other = (_kind(kinds.get(differing[0])) for kinds in (found, expected))
        raise ModelError(
            f"the checkpoint's weights do not fit the model: {differing[0]} {one}, expected {other}"
            f" ({len(differing)} differ); use the version and the model that wrote it"
        )


def _kind(kind: tuple[tuple[int, ...], str] | None) -> str:
    return "is missing" if kind is None else f"has shape {kind[0]} of {kind[1].removeprefix('torch.')}"


def tensors_digest(tensors: Mapping[str, Tensor], head: bytes = b"") -> str:
    """The sha256 over a head, and names, kinds and numbers of tensors."""
    digest = hashlib.sha256(head)
    for name in sorted(tensors):
        tensor = tensors[name].detach().contiguous().cpu()
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        # Of one number the stride may be any; `view` needs 1.
        numbers = tensor.as_strided((tensor.numel(),), (1,))
        digest.update(numbers.view(torch.uint8).numpy().data)
    return digest.hexdigest()


def save_checkpoint(path: Path, checkpoint: Checkpoint) -> Checkpoint:
    """Write a whole checkpoint or none; returns it with its digest."""
    digest = tensors_digest(checkpoint.weights)
    words = "\n".join(checkpoint.vocabulary.tokens).encode()
    tensors = {WEIGHTS + name: tensor.contiguous().cpu() for name, tensor in checkpoint.weights.items()}
    tensors["vocabulary"] = _bytes_tensor(words)
    training = _plain(checkpoint.training, TRAINING, tensors)
    header = {
        "format": FORMAT,
        "model": checkpoint.model,
        "config": json.dumps(checkpoint.config, sort_keys=True),
        "facts": json.dumps(checkpoint.facts, sort_keys=True),
        "vocabulary_sha256": vocabulary_hash(checkpoint.vocabulary),
        "digest": digest,
        **({} if training is None else {TRAINING: json.dumps(training)}),
    }
    header["check"] = _check(header, tensors)
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    part = unfinished / path.name
    try:
        unfinished.mkdir()
        save_file(tensors, part, header)
        # As the user's umask says; safetensors lets only the owner read it.
        part.chmod(unfinished.stat().st_mode & 0o666)
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        part.replace(path)
        unfinished.rmdir()
    except (OSError, SafetensorError) as error:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise ModelError(
            f"{path}: cannot be written ({error}); make room, then train again to resume"
        ) from error
    return replace(checkpoint, digest=digest)


def remove_unfinished(folder: Path) -> None:
    """Remove what a save left in the folder of a run when it was killed."""
    for path in list(folder.iterdir()):
        if UNFINISHED.fullmatch(path.name) and path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)


def checkpoint_file(path: Path) -> Path:
    """The file of a checkpoint: the path itself, or the best (or else the last) one in a run's folder."""
    candidates = [path / BEST, path / LAST] if path.is_dir() else [path]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    raise ModelError(f"{path}: no checkpoint; expected a file or a folder that `ps-models train` wrote")


def read_checkpoint(path: Path, *, training: bool = False) -> Checkpoint:
    """Read and verify a checkpoint, or that of a run's folder; `training`: also what a run resumes from."""
    path = checkpoint_file(path)
    try:
        with safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
    except (OSError, SafetensorError, TypeError) as error:  # TypeError: a size that no integer of torch holds
        raise _damaged(path, error) from error
    if header.get("format") != FORMAT:
        found = header.get("format")
        raise ModelError(
            f"{path}: format {found!r}, expected {FORMAT!r}: this is not a checkpoint of ps-models"
        )
    if training and TRAINING not in header:
        raise ModelError(f"{path}: has only weights and cannot be resumed; use {LAST}")
    ours = {name: tensor for name, tensor in tensors.items() if name.startswith(WEIGHTS)}
    weights = {name.removeprefix(WEIGHTS): tensor for name, tensor in ours.items()}
    if tensors_digest(weights) != header.get("digest") or _check(header, tensors) != header.get("check"):
        raise _damaged(path, "its sha256 is not the one in its header")
    try:
        vocabulary = Vocabulary(tuple(tensors["vocabulary"].numpy().tobytes().decode().split("\n")))
        _check_words(vocabulary.tokens)
        config = msgspec.convert(json.loads(header["config"]), dict[str, Any])
        facts = msgspec.convert(json.loads(header["facts"]), dict[str, Any])
        msgspec.convert(facts, Facts)
        if config["vocab_size"] != len(vocabulary):
            raise _damaged(path, f"{len(vocabulary)} words, but its model has {config['vocab_size']}")
        resumed = _with_tensors(json.loads(header[TRAINING]), tensors) if training else None
        return Checkpoint(
            model=header["model"],
            config=config,
            weights=weights,
            vocabulary=vocabulary,
            facts=facts,
            training=msgspec.convert(resumed, dict[str, Any] | None),
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
        raise ValueError(f"a vocabulary that is not {UNK}, {EOS} and other words, each once")


def check_vocabulary(checkpoint: Checkpoint, vocabulary: Vocabulary, source: str) -> None:
    """Check that a vocabulary is the one that the weights were trained with."""
    if checkpoint.vocabulary.tokens != vocabulary.tokens:
        raise ModelError(
            f"{source}: its vocabulary ({_described(vocabulary)}) differs from the checkpoint's"
            f" ({_described(checkpoint.vocabulary)}); use the dataset that the model was trained on"
        )


def _described(vocabulary: Vocabulary) -> str:
    return f"{len(vocabulary)} words, sha256 {vocabulary_hash(vocabulary)[:12]}"


def _plain(value: object, name: str, tensors: dict[str, Tensor]) -> object:
    """The same tree for JSON; its tensors go to `tensors`, and their names into the tree."""
    if isinstance(value, Tensor):
        tensors[name] = value.detach().cpu().contiguous()
        return {"tensor": name}
    if isinstance(value, dict):
        return {str(key): _plain(each, f"{name}.{key}", tensors) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each, f"{name}.{index}", tensors) for index, each in enumerate(value)]
    return value


def _with_tensors(value: object, tensors: Mapping[str, Tensor]) -> object:
    """The tree of `_plain` with its tensors."""
    if isinstance(value, dict):
        if value.keys() == {"tensor"}:
            return tensors[value["tensor"]]
        return {key: _with_tensors(each, tensors) for key, each in value.items()}
    return [_with_tensors(each, tensors) for each in value] if isinstance(value, list) else value


def _check(header: Mapping[str, str], tensors: Mapping[str, Tensor]) -> str:
    """sha256 of everything except the weights, which have their own."""
    fields = sorted((key, value) for key, value in header.items() if key != "check")
    rest = {name: tensor for name, tensor in tensors.items() if not name.startswith(WEIGHTS)}
    return hashlib.sha256(f"{json.dumps(fields)} {tensors_digest(rest)}".encode()).hexdigest()


def _bytes_tensor(content: bytes) -> Tensor:
    return torch.frombuffer(bytearray(content), dtype=torch.uint8)


def _damaged(path: Path, reason: object) -> ModelError:
    return ModelError(
        f"{path}: not a valid checkpoint ({reason}); use another one, or train again in another folder"
    )
