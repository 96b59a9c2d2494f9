"""A trained Transformer as a folder that the library `transformers` loads, with a tokenizer of words.

Its architecture is Starcoder2's there: layers that normalise their inputs, rotated queries and keys, a
sliding window, biases. The factor of the embedding goes into its weights, so the softmax has weights of its
own.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch

from ps_models.errors import ModelError
from ps_models.models.transformer import Transformer
from ps_models.trained_model import Source, loaded_model
from wikitext_builder.dataset.vocabulary import EOS, UNK, Vocabulary

if TYPE_CHECKING:
    from torch import Tensor

NAMES: Final = {  # of a layer's parts, ours and theirs
    "attention_norm": "input_layernorm",
    "inner_norm": "post_attention_layernorm",
    "query": "self_attn.q_proj",
    "output": "self_attn.o_proj",
    "up": "mlp.c_fc",
    "down": "mlp.c_proj",
}


def export(model: Source, out: str | Path) -> Path:
    """Write a trained Transformer for `transformers`: configuration, weights, tokenizer; return the folder.

    Its tokenizer expects text tokenized as in the dataset, with a newline after each line, which becomes
    `<eos>`. The first word is predicted from `<eos>`.

    Args:
        model: A checkpoint, a run's folder, or what `load` returned.
        out: A new folder.

    Raises:
        ModelError: It is another model, or has what Starcoder2 lacks; the package is missing; or the folder
            holds something.
    """
    try:
        import transformers
    except ImportError as error:
        raise ModelError("export needs the package transformers: pip install it") from error
    trained = loaded_model(model, "cpu")
    inner, out = trained.model, Path(out)
    if not isinstance(inner, Transformer):
        raise ModelError(f"{trained.checkpoint.model}: transformers has no such model; expected transformer")
    if inner.config.softmax_bias or (inner.config.hidden_size // inner.config.heads) % 2:
        raise ModelError("softmax_bias=yes, or heads of an odd size: Starcoder2 has neither")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ModelError(f"{out}: holds something else; name a new folder")
    config: Any = inner.config
    reach = 1 + config.layers * (config.window - 1)  # words before it that a score depends on
    theirs: Any = transformers.Starcoder2ForCausalLM(
        transformers.Starcoder2Config(
            vocab_size=config.vocab_size,
            hidden_size=config.hidden_size,
            intermediate_size=config.inner_size,
            num_hidden_layers=config.layers,
            num_attention_heads=config.heads,
            num_key_value_heads=config.heads,
            hidden_act="relu",
            max_position_embeddings=max(2048, 2 * reach),
            rope_parameters={"rope_type": "default", "rope_theta": 10_000.0},
            sliding_window=config.window,
            tie_word_embeddings=False,
            bos_token_id=config.eos,
            eos_token_id=config.eos,
        )
    )
    theirs.load_state_dict(_weights(inner))
    theirs.save_pretrained(out)
    _tokenizer(trained.checkpoint.vocabulary).save_pretrained(out)
    return out


def _weights(model: Transformer) -> dict[str, Tensor]:
    """Our weights by their names; the biases of attention are zero."""
    ours = {name: weight.float().cpu() for name, weight in model.state_dict().items()}
    size = model.config.hidden_size
    embedding, zeros = ours["embedding.weight"], torch.zeros(size)
    found = {
        "model.embed_tokens.weight": embedding * math.sqrt(size),
        "lm_head.weight": embedding,
        "model.norm.weight": ours["norm.weight"],
        "model.norm.bias": ours["norm.bias"],
    }
    for number in range(len(model.layers)):
        here, there = f"layers.{number}", f"model.layers.{number}"
        for name, theirs in NAMES.items():
            found[f"{there}.{theirs}.weight"] = ours[f"{here}.{name}.weight"]
            found[f"{there}.{theirs}.bias"] = ours.get(f"{here}.{name}.bias", zeros)
        for name, part in zip("kv", ours[f"{here}.key_value.weight"].chunk(2), strict=True):
            found[f"{there}.self_attn.{name}_proj.weight"] = part
            found[f"{there}.self_attn.{name}_proj.bias"] = zeros
    return found


def _tokenizer(vocabulary: Vocabulary) -> Any:  # noqa: ANN401 - of transformers
    """Words between spaces; the end of a line is `<eos>`, other words are `<unk>`."""
    import tokenizers
    import transformers

    words = tokenizers.Tokenizer(tokenizers.models.WordLevel(dict(vocabulary.ids), unk_token=UNK))
    words.normalizer = tokenizers.normalizers.Replace("\n", f" {EOS} ")
    words.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    fast: Any = transformers.PreTrainedTokenizerFast
    return fast(tokenizer_object=words, unk_token=UNK, bos_token=EOS, eos_token=EOS)
