"""A Llama of 38,000 weights that is the same on every machine: a folder of `transformers`, and a GGUF file.

The weights come from Python's own random numbers, and the tokenizer (byte pairs, as GPT-2's) from a list of
merges. So the numbers that another program gave for this model can be kept in a case file.
"""

from __future__ import annotations

import importlib
import itertools
import random
import struct
from pathlib import Path
from typing import Any

import torch

WIDTH, INNER, LAYERS, HEADS, SHARED, LONGEST = 32, 64, 2, 4, 2, 512
EPSILON = 1e-5
MERGES = """Ġ t|h e|Ġt he|Ġ c|a t|Ġc at|Ġ d|o g|Ġd og|Ġ s|Ġs a|Ġsa w|a n|an d|Ġ and|Ġ .|Ġ Ċ|Ġ =|Ġ A|r t|i c
l e|Ġ "|Ġ (|Ġ )|Ã ©|Ġc a|Ġca f|Ġcaf Ã©|1 @|Ġ 1|Ġ @|Ġ@ ,|0 0|m e|me t|Ġ a|Ġ N|s o|Ġ so"""


def vocabulary() -> dict[str, int]:
    """All pieces with their ids: two marks, 256 bytes, and what merges make."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = (chr(256 + number) for number in itertools.count())  # GPT-2's letters for the other bytes
    letters = [chr(octet) if octet in shown else next(hidden) for octet in range(256)]
    pieces = ["<s>", "</s>", *letters, *("".join(pair) for pair in merges())]
    return {piece: number for number, piece in enumerate(pieces)}


def merges() -> list[tuple[str, str]]:
    """The pairs that the tokenizer joins, in order."""
    pairs = MERGES.replace("\n", "|").split("|")
    return [(left, right) for left, right in (pair.split(" ") for pair in pairs)]


def weights() -> dict[str, torch.Tensor]:
    """Weights by their names in `transformers`."""
    size, head = len(vocabulary()), WIDTH // HEADS
    shapes = {"model.embed_tokens": (size, WIDTH), "lm_head": (size, WIDTH), "model.norm": (WIDTH,)}
    for layer in range(LAYERS):
        of = f"model.layers.{layer}."
        shapes |= {of + "input_layernorm": (WIDTH,), of + "post_attention_layernorm": (WIDTH,)}
        shapes |= {f"{of}self_attn.{name}_proj": (WIDTH, WIDTH) for name in "qo"}
        shapes |= {f"{of}self_attn.{name}_proj": (SHARED * head, WIDTH) for name in "kv"}
        shapes |= {f"{of}mlp.{name}_proj": (INNER, WIDTH) for name in ("gate", "up")}
        shapes[of + "mlp.down_proj"] = (WIDTH, INNER)
    generator, made = random.Random(14), {}
    for name, shape in sorted(shapes.items()):
        count = torch.Size(shape).numel()
        values = torch.tensor([generator.random() - 0.5 for _ in range(count)]).reshape(shape)
        made[f"{name}.weight"] = 1 + values / 5 if len(shape) == 1 else values * 2 / WIDTH**0.5
    made["lm_head.weight"] *= 2
    return made


def write_folder(folder: Path, *, adds_bos: bool) -> Path:
    """The model as a folder of `transformers`."""
    tokenizers: Any = importlib.import_module("tokenizers")
    transformers: Any = importlib.import_module("transformers")
    tokenizer = tokenizers.ByteLevelBPETokenizer(vocabulary(), merges())._tokenizer
    tokenizer.add_special_tokens(["<s>", "</s>"])
    if adds_bos:
        tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
            single="<s> $A", special_tokens=[("<s>", 0)]
        )
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>")
    fast.save_pretrained(folder)
    config = transformers.LlamaConfig(
        vocab_size=len(vocabulary()),
        hidden_size=WIDTH,
        intermediate_size=INNER,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=SHARED,
        max_position_embeddings=LONGEST,
        rms_norm_eps=EPSILON,
        bos_token_id=0,
        eos_token_id=1,
        tie_word_embeddings=False,
    )
    model = transformers.LlamaForCausalLM(config)
    model.load_state_dict(weights())
    model.save_pretrained(folder)
    return folder


def write_gguf(path: Path, *, adds_bos: bool) -> Path:
    """The model as a file of llama.cpp (GGUF, version 3), in float32."""
    words, of = list(vocabulary()), "tokenizer.ggml."
    fields: list[tuple[str, Any]] = [
        ("general.architecture", "llama"),
        ("general.alignment", 32),
        ("llama.context_length", LONGEST),
        ("llama.embedding_length", WIDTH),
        ("llama.block_count", LAYERS),
        ("llama.feed_forward_length", INNER),
        ("llama.attention.head_count", HEADS),
        ("llama.attention.head_count_kv", SHARED),
        ("llama.attention.layer_norm_rms_epsilon", EPSILON),
        ("llama.rope.dimension_count", WIDTH // HEADS),
        (of + "model", "gpt2"),
        (of + "pre", "gpt-2"),
        (of + "tokens", words),
        (of + "token_type", [3, 3, *[1] * (len(words) - 2)]),  # marks, then plain pieces
        (of + "merges", [" ".join(pair) for pair in merges()]),
        (of + "bos_token_id", 0),
        (of + "eos_token_id", 1),
        (of + "add_bos_token", adds_bos),
    ]
    tensors = {_gguf_name(name): _for_gguf(name, tensor) for name, tensor in weights().items()}
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(fields))
    head += b"".join(_text(name) + _typed(value) for name, value in fields)
    offset, body = 0, b""
    for name, tensor in tensors.items():
        sizes = tensor.shape[::-1]
        head += _text(name) + struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, 0, offset)
        content = tensor.contiguous().numpy().astype("<f4").tobytes()
        body += content + bytes(-len(content) % 32)
        offset = len(body)
    path.write_bytes(head + bytes(-len(head) % 32) + body)
    return path


def _gguf_name(name: str) -> str:
    parts = {
        "model.embed_tokens": "token_embd",
        "lm_head": "output",
        "model.norm": "output_norm",
        "model.layers": "blk",
        "input_layernorm": "attn_norm",
        "post_attention_layernorm": "ffn_norm",
        "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output",
        "mlp.gate_proj": "ffn_gate",
        "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down",
    }
    for old, new in parts.items():
        name = name.replace(old, new)
    return name


def _for_gguf(name: str, tensor: torch.Tensor) -> torch.Tensor:
    """llama.cpp turns neighbours in a head, `transformers` turns its first half with its second."""
    if ".q_proj" not in name and ".k_proj" not in name:
        return tensor
    heads = HEADS if ".q_proj" in name else SHARED
    return tensor.reshape(heads, 2, -1, WIDTH).transpose(1, 2).reshape(tensor.shape)


def _text(text: str) -> bytes:
    content = text.encode()
    return struct.pack("<Q", len(content)) + content


def _typed(value: Any) -> bytes:
    """A value after the number of its type."""
    if isinstance(value, list):
        kind = struct.pack("<I", 5) if isinstance(value[0], int) else _typed(value[0])[:4]
        return (
            struct.pack("<I", 9)
            + kind
            + struct.pack("<Q", len(value))
            + b"".join(_typed(one)[4:] for one in value)
        )
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + _text(value)
    return struct.pack("<II", 4, value)
