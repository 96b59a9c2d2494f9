"""Small models with random weights, in folders as `transformers` reads them.

One has a tokenizer of byte pairs (GPT-2's kind), the other one like SentencePiece's: a space belongs to the
word after it, the first word of a text gets one too, and rare characters are pieces of bytes.
"""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import torch


def make_causal_model(folder: Path, text: Path, *, window: int = 64, pieces: int = 300) -> Path:
    """Write a model whose tokenizer has so many pieces, and is trained on a text."""
    tokenizers: Any = importlib.import_module("tokenizers")
    transformers: Any = importlib.import_module("transformers")
    trained = tokenizers.ByteLevelBPETokenizer()
    trained.train([str(text)], vocab_size=pieces, min_frequency=2, special_tokens=["<|end|>"])
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=trained._tokenizer, eos_token="<|end|>")
    return write_model(folder, tokenizer, window)


def make_sentence_model(folder: Path, text: Path, *, window: int = 64, pieces: int = 400) -> Path:
    """Write a model whose tokenizer is like that of Llama 2: unigrams, a mark at the start of each text."""
    tokenizers: Any = importlib.import_module("tokenizers")
    transformers: Any = importlib.import_module("transformers")
    octets = [f"<0x{octet:02X}>" for octet in range(256)]
    learned = tokenizers.Tokenizer(tokenizers.models.Unigram())
    learned.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    trainer = tokenizers.trainers.UnigramTrainer(
        vocab_size=pieces - 256, special_tokens=["<unk>"], unk_token="<unk>"
    )
    learned.train_from_iterator(text.read_text(encoding="utf-8").replace("<unk>", "").split("\n"), trainer)
    known = json.loads(learned.to_str())["model"]["vocab"]
    vocab = [("<unk>", 0.0), ("<s>", 0.0), ("</s>", 0.0), *((octet, -20.0) for octet in octets)]
    vocab += [(piece, score) for piece, score in known if piece not in ("<unk>", "<s>", "</s>")]
    made = tokenizers.Tokenizer(tokenizers.models.Unigram(vocab, unk_id=0, byte_fallback=True))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    made.decoder = tokenizers.decoders.Sequence(
        [tokenizers.decoders.ByteFallback(), tokenizers.decoders.Metaspace()]
    )
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 1)]
    )
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, unk_token="<unk>", bos_token="<s>", eos_token="</s>"
    )
    return write_model(folder, tokenizer, window)


def write_model(folder: Path, tokenizer: Any, window: int) -> Path:
    transformers: Any = importlib.import_module("transformers")
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
        bos_token_id=end if tokenizer.bos_token_id is None else tokenizer.bos_token_id,
        eos_token_id=end,
    )
    transformers.GPT2LMHeadModel(config).save_pretrained(folder)
    return folder
