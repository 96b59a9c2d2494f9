"""The ids of large train files, kept in the user's cache folder: WikiText-103 is counted and encoded once.

A kept file is named by the SHA-256 of the train file, and has one of its own content. Folders of datasets
stay as they are: they can be read-only, and `verify` knows all of their files.
"""

from __future__ import annotations

import hashlib
import logging
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from ps_models.data.dataset import read_stream
from wikitext_builder.dataset.load import Dataset
from wikitext_builder.dataset.vocabulary import Vocabulary

LOG = logging.getLogger(__name__)
LEAST: Final = 50_000_000  # bytes; a smaller file is read in a few seconds
FORMAT: Final = 1


def read_train(dataset: Dataset, sha256: str) -> tuple[Vocabulary, Tensor]:
    """The vocabulary of a dataset, and the ids of its train file of that hash, (time,)."""
    train = dataset.file("train")
    if train.stat().st_size < LEAST:
        return dataset.vocabulary, read_stream(dataset, "train", dataset.vocabulary)
    path = _folder() / f"{sha256}-{FORMAT}.safetensors"
    if (kept := _kept(path)) is not None:
        return kept
    LOG.info("%s: keeping its ids in %s", train, path)
    vocabulary = dataset.vocabulary
    stream = read_stream(dataset, "train", vocabulary)
    _keep(path, vocabulary, stream)
    return vocabulary, stream


def _folder() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "wikitext-builder" / "ids"


def _kept(path: Path) -> tuple[Vocabulary, Tensor] | None:
    """None if nothing is kept there, or something else."""
    if not path.exists():
        return None
    try:
        with safe_open(path, "pt") as file:
            words, ids = file.get_tensor("words"), file.get_tensor("ids")
            if _digest(words, ids) == (file.metadata() or {}).get("sha256"):
                return Vocabulary(tuple(words.numpy().tobytes().decode().split("\n"))), ids.long()
            LOG.warning("%s: is damaged; rewriting it", path)
    except (SafetensorError, OSError, ValueError) as error:
        LOG.warning("%s: cannot be used (%s); rewriting it", path, error)
    return None


def _keep(path: Path, vocabulary: Vocabulary, stream: Tensor) -> None:
    words = torch.frombuffer(bytearray("\n".join(vocabulary.tokens).encode()), dtype=torch.uint8)
    ids = stream.int()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=path.parent) as folder:  # several processes can write the same at once
            new = Path(folder, path.name)
            save_file({"words": words, "ids": ids}, new, {"sha256": _digest(words, ids)})
            new.replace(path)
    except (OSError, SafetensorError) as error:
        LOG.warning("%s: cannot be written (%s); the next run reads train again", path, error)


def _digest(words: Tensor, ids: Tensor) -> str:
    digest = hashlib.sha256(words.numpy().data)
    digest.update(ids.numpy().data)
    return digest.hexdigest()
