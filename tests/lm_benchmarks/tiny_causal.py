"""A small GPT-2 with random weights and a tokenizer of byte pairs, in a folder as `transformers` reads it."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import torch


def make_causal_model(folder: Path, text: Path, *, window: int = 64, pieces: int = 300) -> Path:
    """Write a model whose tokenizer is trained on a text.

    Args:
        folder: Where.
        text: For the tokenizer.
        window: What the model reads at once.
        pieces: Of the tokenizer.
    """
    tokenizers: Any = importlib.import_module("tokenizers")
    transformers: Any = importlib.import_module("transformers")
    trained = tokenizers.ByteLevelBPETokenizer()
    trained.train([str(text)], vocab_size=pieces, min_frequency=2, special_tokens=["<|end|>"])
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=trained._tokenizer, eos_token="<|end|>")
    tokenizer.save_pretrained(folder)
    torch.manual_seed(5)
    end = tokenizer.eos_token_id
    config = transformers.GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=window,
        n_embd=16,
        n_layer=2,
        n_head=2,
        initializer_range=0.4,
        bos_token_id=end,
        eos_token_id=end,
    )
    transformers.GPT2LMHeadModel(config).save_pretrained(folder)
    return folder
