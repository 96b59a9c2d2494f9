"""Causal models of the library `transformers` over the words of a dataset, and over plain text."""

# Shapes: B = batch, T = time, V = vocabulary of pieces.
# ruff: noqa: N806 - names end in their shapes

from __future__ import annotations

import importlib
import inspect
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

from lm_benchmarks.adapters.piece_model import PieceModel, rules_of
from lm_benchmarks.choices import HarnessError
from lm_benchmarks.conventions import Window
from ps_models.training.checkpoint import tensors_digest
from wikitext_builder.dataset.vocabulary import Vocabulary
from wikitext_builder.progress import is_quiet

OF_FILES: Final = frozenset({"_name_or_path", "transformers_version"})  # of a configuration: not of the model
AT_ONCE: Final = 4096  # pieces of all texts per call, at most
ROWS: Final = 64  # of logits in float64 at once
LOGITS_AT_ONCE: Final = 2**27  # pieces x vocabulary of pieces per call, if several texts are read
KEPT_AT_ONCE: Final = 2**28  # of them that are kept: a window with more is read in parts, which bounds memory


class CausalModel(PieceModel):
    """A causal model of `transformers` with its tokenizer; see `PieceModel`."""

    def __init__(
        self,
        module: Any,  # noqa: ANN401 - transformers' classes are not imported for their names
        tokenizer: Any,  # noqa: ANN401
        vocabulary: Vocabulary,
        *,
        device: torch.device | str | None = "cpu",
        **windows: int | None,
    ) -> None:
        """Put a model on a device; None: it stays where it is.

        Without a window it reads what the configuration allows, at most MOST. A recurrent model such as Mamba
        has no limit.
        """
        longest = getattr(module.config.get_text_config(), "max_position_embeddings", None)
        super().__init__(tokenizer, vocabulary, longest=longest, **windows)
        self._can_keep = "logits_to_keep" in inspect.signature(module.forward).parameters
        self._module = (module if device is None else module.to(device)).eval()
        self._device = device or module.device

    @property
    def digest(self) -> str:
        """sha256 over tokenizer, configuration and weights: it identifies the model on any data."""
        config = {key: value for key, value in self._module.config.to_dict().items() if key not in OF_FILES}
        settings = json.dumps([self._begin, config], sort_keys=True, default=str)
        head = f"{rules_of(self._tokenizer)}\n{settings}".encode()
        return tensors_digest(self._module.state_dict(), head)

    @property
    def parameters(self) -> int:
        """The number of trained parameters."""
        return sum(one.numel() for one in self._module.parameters())

    @property
    def implementation(self) -> dict[str, object]:
        """What of the implementation decides digits, for signatures."""
        return {
            "device": torch.device(self._device).type,
            "dtype": str(self._module.dtype).removeprefix("torch."),
            "attention": getattr(self._module.config, "_attn_implementation", None) or "unknown",
        }

    @torch.no_grad()
    def target_log_probs(self, windows: Sequence[Window]) -> Iterator[Tensor]:
        """Natural log-probabilities of the targets of each window, in float64, in order."""
        vocabulary = self._module.config.get_text_config().vocab_size
        largest = max((max((*window.inputs, *window.targets)) for window in windows), default=0)
        if largest >= vocabulary:
            raise HarnessError(
                f"the tokenizer has {max(len(self._tokenizer), largest + 1):,} tokens, the model"
                f" {vocabulary:,}; expected the tokenizer that the model was trained with"
            )
        kept = max(1, KEPT_AT_ONCE // vocabulary) if self._can_keep else sys.maxsize
        for group in _groups(windows, min(AT_ONCE, LOGITS_AT_ONCE // vocabulary)):
            if len(group) == 1:
                yield torch.cat([self._scores([part])[0] for part in _parts(group[0], kept)])
            else:
                yield from self._scores(group)

    def _scores(self, group: Sequence[Window]) -> list[Tensor]:
        longest = max(len(job.inputs) for job in group)
        rows = [[*job.inputs, *[self._begin] * (longest - len(job.inputs))] for job in group]
        first = min(longest - 1, *(len(job.inputs) - len(job.targets) for job in group))  # that is scored
        logits_BTV = self._logits(rows, longest - first)
        scores = []
        for job, logits_TV in zip(group, logits_BTV, strict=True):
            end = len(job.inputs) - first
            scores.append(_chosen(logits_TV[end - len(job.targets) : end], job.targets))
        return scores

    def _logits(self, rows: Sequence[Sequence[int]], kept: int) -> Tensor:
        """The logits after the last pieces of each row, (rows, kept, pieces of the vocabulary)."""
        options = {"logits_to_keep": kept} if self._can_keep else {}
        inputs = torch.tensor(rows, device=self._device)
        logits: Tensor = self._module(inputs, use_cache=False, **options).logits
        return logits[:, -kept:]

    @torch.no_grad()
    def next_log_probs_of(self, inputs: Sequence[int]) -> Tensor:
        """Natural log-probabilities of all pieces after some others."""
        return self._logits([inputs], 1)[0, -1].double().log_softmax(-1).cpu()


def _parts(window: Window, most: int) -> Iterator[Window]:
    """A window in parts of few targets, each with all that comes before: their logits fit into memory."""
    read = len(window.inputs) - len(window.targets)
    for begin in range(0, max(1, len(window.targets)), most):
        targets = window.targets[begin : begin + most]
        yield Window(window.inputs[: read + begin + len(targets)], targets)


def _chosen(logits: Tensor, targets: Sequence[int]) -> Tensor:
    """The log-probability of a target per row of (T, V), in float64; a few rows at once bound the memory."""
    targets_T = torch.tensor(targets, device=logits.device)
    parts = [
        rows.double().log_softmax(-1).gather(1, chosen[:, None])[:, 0]
        for rows, chosen in zip(torch.split(logits, ROWS), torch.split(targets_T, ROWS), strict=True)
    ]
    return torch.cat(parts).cpu()


def load_causal_model(
    name: str,
    vocabulary: Vocabulary,
    *,
    device: torch.device | str = "cpu",
    device_map: str | None = None,
    dtype: str | None = None,
    attention: str | None = None,
    **windows: int | None,
) -> CausalModel:
    """A model and its tokenizer from a folder or Hugging Face's hub. Code that comes with it does not run.

    `device_map` (`auto`, `balanced`, …) spreads the layers over several devices, with the package
    accelerate. Without a `dtype` the weights are as they are stored.
    """
    tokenizer = load_tokenizer(name)
    options = {"device_map": device_map, "dtype": dtype, "attn_implementation": attention}
    with _loading(name) as library:
        module = library.AutoModelForCausalLM.from_pretrained(
            name, **{key: value for key, value in options.items() if value is not None}
        )
    if any(one.is_meta for one in module.parameters()):
        raise HarnessError(
            f"transformers:{name} does not fit on the devices; expected room for all weights: choose --dtype"
            " bfloat16, or more devices"
        )
    return CausalModel(module, tokenizer, vocabulary, device=None if device_map else device, **windows)


def load_tokenizer(name: str) -> Any:  # noqa: ANN401 - of transformers
    """A tokenizer from a folder, or from Hugging Face's hub."""
    folder = Path(name)
    is_missing = folder.is_dir() and not (folder / "tokenizer.json").is_file()
    with _loading(name, "no tokenizer in this folder" if is_missing else "") as library:
        tokenizer = library.AutoTokenizer.from_pretrained(name)  # older kinds of files are read too
        if tokenizer.get_vocab().keys() <= {*tokenizer.all_special_tokens}:  # it was made of no file
            raise ValueError("a tokenizer of marks only")
        return tokenizer


@contextmanager
def _loading(name: str, cause: str = "") -> Iterator[Any]:
    """The library; its errors are ours, with the cause if it is known."""
    try:
        library: Any = importlib.import_module("transformers")
    except ImportError as error:
        raise HarnessError(f"transformers:{name} needs the package transformers (pip install it)") from error
    if is_quiet():
        library.utils.logging.set_verbosity_error()
        library.utils.logging.disable_progress_bar()
        importlib.import_module("huggingface_hub.utils").disable_progress_bars()
    try:
        yield library
    except (OSError, ValueError, KeyError, ImportError) as error:
        reason = cause or (str(error).strip() or type(error).__name__).splitlines()[0]
        raise HarnessError(
            f"transformers:{name}: {reason}; expected a folder or a name of a causal model with its"
            " tokenizer, such as tokenizer.json"
        ) from error


def _groups(jobs: Sequence[Window], at_once: int) -> Iterator[list[Window]]:
    group: list[Window] = []
    for job in jobs:
        longest = max(len(other.inputs) for other in (*group, job))
        if group and longest * (len(group) + 1) > at_once:
            yield group
            group = []
        group.append(job)
    if group:
        yield group
