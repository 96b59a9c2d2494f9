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

# Keys of a configuration that say nothing about the model.
FILE_SETTINGS: Final = frozenset({"_name_or_path", "transformers_version"})
MAX_CALL_PIECES: Final = 4096  # of all texts
FLOAT64_ROWS: Final = 64  # rows of logits that are float64 at once
MAX_CALL_LOGITS: Final = 2**27  # pieces x vocabulary of pieces per call, if several texts are read
MAX_KEPT_LOGITS: Final = 2**28  # a window with more scored logits is read in parts, which bounds memory


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

        The default window is what the configuration allows, at most MAX_DEFAULT_WINDOW. A recurrent model
        such as Mamba has no limit.
        """
        longest = getattr(module.config.get_text_config(), "max_position_embeddings", None)
        super().__init__(tokenizer, vocabulary, longest=longest, **windows)
        self._can_keep = "logits_to_keep" in inspect.signature(module.forward).parameters
        self._module = (module if device is None else module.to(device)).eval()
        self._device = device or module.device

    @property
    def digest(self) -> str:
        """sha256 over tokenizer, configuration and weights: it identifies the model on any data."""
        config = {
            key: value for key, value in self._module.config.to_dict().items() if key not in FILE_SETTINGS
        }
        settings = json.dumps([self._begin, config], sort_keys=True, default=str)
        head = f"{rules_of(self._tokenizer)}\n{settings}".encode()
        return tensors_digest(self._module.state_dict(), head)

    @property
    def parameters(self) -> int:
        """The number of trained parameters."""
        return sum(weights.numel() for weights in self._module.parameters())

    @property
    def implementation(self) -> dict[str, object]:
        """The facts of the implementation that decide digits, for signatures."""
        return {
            "device": torch.device(self._device).type,
            "dtype": str(self._module.dtype).removeprefix("torch."),
            "attention": getattr(self._module.config, "_attn_implementation", None) or "unknown",
        }

    @torch.no_grad()
    def target_log_probs(self, windows: Sequence[Window]) -> Iterator[Tensor]:
        """Yield natural log-probabilities of the targets of each window, in float64, in order."""
        vocabulary = self._module.config.get_text_config().vocab_size
        largest = max((max((*window.inputs, *window.targets)) for window in windows), default=0)
        if largest >= vocabulary:
            raise HarnessError(
                f"the tokenizer has {max(len(self._tokenizer), largest + 1):,} tokens, the model"
                f" {vocabulary:,}; expected the tokenizer that the model was trained with"
            )
        max_targets = max(1, MAX_KEPT_LOGITS // vocabulary) if self._can_keep else sys.maxsize
        for group in _groups(windows, min(MAX_CALL_PIECES, MAX_CALL_LOGITS // vocabulary)):
            if len(group) == 1:
                yield torch.cat([self._scores([part])[0] for part in _parts(group[0], max_targets)])
            else:
                yield from self._scores(group)

    def _scores(self, group: Sequence[Window]) -> list[Tensor]:
        longest = max(len(window.inputs) for window in group)
        rows = [[*window.inputs, *[self._begin] * (longest - len(window.inputs))] for window in group]
        first_scored = min(longest - 1, *(len(window.inputs) - len(window.targets) for window in group))
        logits_BTV = self._logits(rows, longest - first_scored)
        scores = []
        for window, logits_TV in zip(group, logits_BTV, strict=True):
            end = len(window.inputs) - first_scored
            scores.append(_chosen(logits_TV[end - len(window.targets) : end], window.targets))
        return scores

    def _logits(self, rows: Sequence[Sequence[int]], positions: int) -> Tensor:
        """Return the logits after the last pieces of each row, (rows, positions, vocabulary)."""
        options = {"logits_to_keep": positions} if self._can_keep else {}
        inputs = torch.tensor(rows, device=self._device)
        logits: Tensor = self._module(inputs, use_cache=False, **options).logits
        return logits[:, -positions:]

    @torch.no_grad()
    def next_log_probs_of(self, inputs: Sequence[int]) -> Tensor:
        """Return natural log-probabilities of all pieces after `inputs`."""
        return self._logits([inputs], 1)[0, -1].double().log_softmax(-1).cpu()


def _parts(window: Window, max_targets: int) -> Iterator[Window]:
    """Split a window into parts with few targets and all that precedes them: their logits fit into memory."""
    context = len(window.inputs) - len(window.targets)
    for begin in range(0, max(1, len(window.targets)), max_targets):
        targets = window.targets[begin : begin + max_targets]
        yield Window(window.inputs[: context + begin + len(targets)], targets)


def _chosen(logits: Tensor, targets: Sequence[int]) -> Tensor:
    """Return the log-probability of a target per row of (T, V), in float64; few rows at once bound memory."""
    targets_T = torch.tensor(targets, device=logits.device)
    parts = [
        rows.double().log_softmax(-1).gather(1, chosen[:, None])[:, 0]
        for rows, chosen in zip(
            torch.split(logits, FLOAT64_ROWS), torch.split(targets_T, FLOAT64_ROWS), strict=True
        )
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
    """Load a model and its tokenizer from a folder or Hugging Face's hub. Code beside it does not run.

    `device_map` (`auto`, `balanced`, …) spreads the layers over several devices, with the package
    accelerate. Without a `dtype` the weights keep the type in which they are stored.
    """
    tokenizer = load_tokenizer(name)
    options = {"device_map": device_map, "dtype": dtype, "attn_implementation": attention}
    with _loading(name) as library:
        module = library.AutoModelForCausalLM.from_pretrained(
            name, **{key: value for key, value in options.items() if value is not None}
        )
    if any(weights.is_meta for weights in module.parameters()):
        raise HarnessError(
            f"transformers:{name} does not fit on the devices; expected room for all weights: choose --dtype"
            " bfloat16, or more devices"
        )
    return CausalModel(module, tokenizer, vocabulary, device=None if device_map else device, **windows)


def load_tokenizer(name: str) -> Any:  # noqa: ANN401 - of transformers
    """Load a tokenizer from a folder, or from Hugging Face's hub."""
    folder = Path(name)
    is_missing = folder.is_dir() and not (folder / "tokenizer.json").is_file()
    with _loading(name, "no tokenizer in this folder" if is_missing else "") as library:
        tokenizer = library.AutoTokenizer.from_pretrained(name)  # older kinds of files are read too
        if tokenizer.get_vocab().keys() <= {*tokenizer.all_special_tokens}:  # no file was read
            raise ValueError("the tokenizer has only special tokens")
        return tokenizer


@contextmanager
def _loading(name: str, cause: str = "") -> Iterator[Any]:
    """Import the library, and turn its errors into HarnessErrors, with the cause if given."""
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


def _groups(windows: Sequence[Window], max_pieces: int) -> Iterator[list[Window]]:
    group: list[Window] = []
    for window in windows:
        longest = max(len(window.inputs) for window in (*group, window))
        if group and longest * (len(group) + 1) > max_pieces:
            yield group
            group = []
        group.append(window)
    if group:
        yield group
