"""Models in llama.cpp's format (GGUF), read by the package `llama-cpp-python`.

llama.cpp's own server does not help: it gives log-probabilities of what it generates, not of a given text.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

from lm_benchmarks.adapters.piece_model import PieceModel
from lm_benchmarks.choices import HarnessError
from lm_benchmarks.conventions import Window
from wikitext_builder.dataset.vocabulary import Vocabulary
from wikitext_builder.files import file_sha256

GGML_TYPE_F32: Final = 0  # for the cache of keys and values
PIECES_PER_STEP: Final = 512  # n_batch of llama.cpp


class GgufModel(PieceModel):
    """A model of llama.cpp with its own tokenizer; see `PieceModel`."""

    def __init__(
        self,
        path: str | Path,
        vocabulary: Vocabulary,
        *,
        longest: int | None = None,
        dtype: str | None = None,
        **windows: int | None,
    ) -> None:
        """Load a model.

        `longest` is the greatest number of pieces that it reads at once (None: as in training); memory grows
        with its product with the vocabulary of pieces. `dtype` is that of the cache of keys and values:
        `float32`, or None for llama.cpp's default, `float16`.
        """
        try:
            library: Any = importlib.import_module("llama_cpp")
        except (ImportError, OSError, RuntimeError) as error:
            raise HarnessError(f"gguf:{path} needs the package llama-cpp-python (pip install it)") from error
        if dtype not in (None, "float16", "float32"):
            raise HarnessError(f"--dtype {dtype} with gguf: its cache is float16 or float32")
        cache_type = GGML_TYPE_F32 if dtype == "float32" else None
        try:
            self._llama = library.Llama(
                str(path),
                n_ctx=longest or 0,  # 0: as many pieces as the model was trained with
                n_batch=PIECES_PER_STEP,
                n_threads=torch.get_num_threads(),
                n_threads_batch=torch.get_num_threads(),
                logits_all=True,
                verbose=False,
                type_k=cache_type,
                type_v=cache_type,
            )
        except (ValueError, RuntimeError, OSError) as error:
            raise HarnessError(f"gguf:{path}: {error}; expected a model of llama.cpp, .gguf") from error
        architecture = self._llama.metadata.get("general.architecture", "llama")
        trained = int(self._llama.metadata.get(f"{architecture}.context_length", self._llama.n_ctx()))
        self._path, self._cache = Path(path), dtype or "float16"
        longest = min(longest or trained, trained)
        super().__init__(GgufTokenizer(self._llama), vocabulary, longest=longest, **windows)

    @property
    def digest(self) -> str:
        """sha256 of the file."""
        return file_sha256(self._path)

    @property
    def implementation(self) -> dict[str, object]:
        """The facts of the implementation that decide digits, for signatures."""
        package = version("llama-cpp-python")
        return {"dtype": "gguf", "cache": self._cache, "llama_cpp_python": package}

    def target_log_probs(self, windows: Sequence[Window]) -> Iterator[Tensor]:
        """Natural log-probabilities of the targets of each window, in float64, in order."""
        for window in windows:
            begin = len(window.inputs) - len(window.targets)
            logits = self._logits(window.inputs)[begin:].double().log_softmax(-1)
            yield logits.gather(1, torch.tensor(tuple(window.targets))[:, None])[:, 0]

    def next_log_probs_of(self, inputs: Sequence[int]) -> Tensor:
        """Natural log-probabilities of all pieces after some others."""
        return self._logits(inputs)[-1].double().log_softmax(-1)

    def _logits(self, inputs: Sequence[int]) -> Tensor:
        """Return the logits after each input, (time, vocabulary)."""
        if len(inputs) > self._llama.n_ctx():
            raise HarnessError(f"a window of {len(inputs)} tokens; the model reads {self._llama.n_ctx()}")
        self._llama.reset()
        self._llama.eval(list(inputs))
        return torch.from_numpy(self._llama.scores[: len(inputs)].copy())


class GgufTokenizer:
    """A tokenizer of llama.cpp, with the interface of those of `transformers`."""

    is_fast = False  # it does not report the offsets of pieces
    unk_token_id = None  # it has pieces for all bytes

    def __init__(self, llama: Any) -> None:  # noqa: ANN401 - of llama_cpp
        self._llama = llama
        self.bos_token_id = llama.token_bos() if llama.token_bos() >= 0 else None
        self.eos_token_id = llama.token_eos() if llama.token_eos() >= 0 else None

    def __call__(
        self, texts: str | list[str], *, add_special_tokens: bool = True, **_options: object
    ) -> dict[str, Any]:
        """Return the pieces of a text, or of several."""
        if isinstance(texts, str):
            return {"input_ids": self.encode(texts, add_special_tokens=add_special_tokens)}
        return {"input_ids": [self.encode(text, add_special_tokens=add_special_tokens) for text in texts]}

    def encode(self, text: str, *, add_special_tokens: bool = True) -> list[int]:
        """Return the pieces of a text; marks written in it are plain text, as in llama.cpp's tool."""
        return list(self._llama.tokenize(text.encode(), add_bos=add_special_tokens, special=False))

    def decode(self, pieces: list[int], **_options: object) -> str:
        """Return the text of pieces, including marks."""
        content: bytes = self._llama.detokenize(pieces, special=True)
        return content.decode(errors="replace")
