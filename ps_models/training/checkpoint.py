"""Checkpoints: one safetensors file with the weights, the vocabulary, and all that a resumed run needs.

The file is written under another name and then renamed, so that a reader sees the whole old file or the whole
new one. What a resumed run needs (optimizer, generators, position, hidden state) is in the same file, so that
it always belongs to these weights: as JSON in the header, with its tensors beside the weights. Version 0.1
let torch save it, as bytes; they are loaded with `weights_only=True`, which runs no code of a stranger.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from ps_models.data.dataset import vocabulary_hash
from ps_models.errors import ModelError
from ps_models.evaluation.signature import signature_value
from wikitext_builder.dataset.vocabulary import EOS, UNK, Vocabulary

FORMAT = "ps-models-1"
BEST, LAST = "best.safetensors", "last.safetensors"
WEIGHTS = "model."  # the prefix of the names of weights
TRAINING = "training"  # the name of what a resumed run needs, and the prefix of its tensors
# A folder in which a checkpoint is written: safetensors puts a file of a random name there first.
UNFINISHED = re.compile(rf"\.({re.escape(BEST)}|{re.escape(LAST)})\.[0-9a-f]{{16}}\.part")


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A model at some point of its training."""

    model: str  # its name in MODELS, or that of the user's class
    config: dict[str, Any]  # the fields of the model's configuration
    weights: Mapping[str, Tensor]
    vocabulary: Vocabulary
    facts: dict[str, Any] = field(default_factory=dict)  # what else is known: data, seed, update, …
    training: dict[str, Any] | None = None  # what a resumed run needs; None if it cannot be resumed
    digest: str = ""  # sha256 of the weights, set when the file is written

    @property
    def name(self) -> str:
        """Model and weights in one word, for a signature."""
        return f"{signature_value(self.model)}+{self.digest[:8]}"

    @property
    def source_sha256(self) -> str | None:
        """The hash of the source, for a user's model."""
        found = self.facts.get("source_sha256")
        return None if found is None else str(found)

    @property
    def seed(self) -> str:
        """The seed of its training, as a value of a signature; `unknown` if it does not say."""
        return signature_value(str(self.settings.get("seed", "unknown")))

    @property
    def settings(self) -> dict[str, Any]:
        """The configuration of its training; empty if it does not say."""
        found = self.facts.get("training")
        return found if isinstance(found, dict) else {}

    @property
    def sessions(self) -> tuple[str, ...]:
        """The code and the device of each session of its training; () if an older version wrote it."""
        found = self.facts.get("sessions")
        return tuple(each for each in found if isinstance(each, str)) if isinstance(found, list) else ()


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
    ours = {name: tensor for name, tensor in tensors.items() if name.startswith(WEIGHTS)}
    weights = {name.removeprefix(WEIGHTS): tensor for name, tensor in ours.items()}
    if tensors_digest(weights) != header.get("digest") or _check(header, tensors) != header.get("check"):
        raise _damaged(path, "its sha256 is not the one in its header")
    try:
        vocabulary = Vocabulary(tuple(tensors["vocabulary"].numpy().tobytes().decode().split("\n")))
        words = vocabulary.tokens
        if words[:2] != (UNK, EOS) or len({*words}) < len(words) or any(not w or " " in w for w in words):
            raise _damaged(path, f"a vocabulary that is not {UNK}, {EOS} and other words, each once")
        config, facts = _from_json(header["config"]), _from_json(header["facts"])
        _check_facts(facts)
        if config["vocab_size"] != len(vocabulary):
            raise _damaged(path, f"{len(vocabulary)} words, but its model has {config['vocab_size']}")
        return Checkpoint(
            model=header["model"],
            config=config,
            weights=weights,
            vocabulary=vocabulary,
            facts=facts,
            training=_training(path, header, tensors) if training else None,
            digest=header["digest"],
        )
    except (KeyError, ValueError, TypeError, RecursionError) as error:
        raise _damaged(path, error) from error


def check_vocabulary(checkpoint: Checkpoint, vocabulary: Vocabulary, source: str) -> None:
    """Check that a vocabulary is the one that the weights were trained with."""
    if checkpoint.vocabulary.tokens != vocabulary.tokens:
        raise ModelError(
            f"{source}: its vocabulary ({_described(vocabulary)}) differs from the checkpoint's"
            f" ({_described(checkpoint.vocabulary)}); use the dataset that the model was trained on"
        )


def _described(vocabulary: Vocabulary) -> str:
    return f"{len(vocabulary)} words, sha256 {vocabulary_hash(vocabulary)[:12]}"


def _training(path: Path, header: Mapping[str, str], tensors: Mapping[str, Tensor]) -> dict[str, Any]:
    if TRAINING in header:
        return _mapping(_with_tensors(json.loads(header[TRAINING]), tensors))
    if TRAINING not in tensors:
        raise ModelError(f"{path}: has only weights and cannot be resumed; use {LAST}")
    try:
        buffer = io.BytesIO(tensors[TRAINING].numpy().tobytes())
        return _mapping(torch.load(buffer, weights_only=True, map_location="cpu"))
    except Exception as error:  # torch's reader of a stranger's bytes documents none, and raises many kinds
        raise _damaged(path, repr(error)) from error


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


def _from_json(text: str) -> dict[str, Any]:
    value = _mapping(json.loads(text))
    json.dumps(value, ensure_ascii=False).encode()  # JSON can spell half a character, which is an error here
    return value


def _check_facts(facts: Mapping[str, Any]) -> None:
    """Check what records take from a checkpoint's facts: a stranger may have written them."""
    training = facts.get("training")
    numbers = {name: facts[name] for name in ("epoch", "update") if name in facts}
    if isinstance(training, dict):
        numbers |= {name: training[name] for name in ("epochs", "patience", "seed") if name in training}
        _mapping(training.get("optimizer_options", {}))
        if training.get("epochs", 1) == 0:
            raise ValueError("epochs is 0, expected 1 or more")
    for name, value in numbers.items():
        if type(value) is not int or not 0 <= value < 2**63:
            raise ValueError(f"{name} is {value!r:.40}, expected a number from 0 on")
    if not isinstance(facts.get("preset"), str | None):
        raise ValueError(f"preset is {facts['preset']!r:.40}, expected a name")  # noqa: TRY004 - of a file


def _mapping(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"found a {type(value).__name__}, expected names with values")  # noqa: TRY004 - of a file
    return value


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
