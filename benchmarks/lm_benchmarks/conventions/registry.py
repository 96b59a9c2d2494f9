"""All conventions, by name."""

from __future__ import annotations

from typing import Final

from lm_benchmarks.conventions.autogptq import AUTOGPTQ
from lm_benchmarks.conventions.bits_per_byte import BITS_PER_BYTE
from lm_benchmarks.conventions.convention import Convention
from lm_benchmarks.conventions.evaluate import EVALUATE
from lm_benchmarks.conventions.exllama import EXLLAMA
from lm_benchmarks.conventions.gptq import GPTQ, GPTQ_4096
from lm_benchmarks.conventions.hf_stride import HF_STRIDE, HF_STRIDE_MEAN
from lm_benchmarks.conventions.llama_cpp import LLAMA_CPP
from lm_benchmarks.conventions.lm_eval import LM_EVAL
from lm_benchmarks.conventions.megatron import MEGATRON
from lm_benchmarks.conventions.paper import PAPER

REGISTRY: Final[dict[str, Convention]] = {
    one.name: one
    for one in (
        PAPER,
        LM_EVAL,
        GPTQ,
        GPTQ_4096,
        HF_STRIDE,
        HF_STRIDE_MEAN,
        LLAMA_CPP,
        AUTOGPTQ,
        EXLLAMA,
        EVALUATE,
        MEGATRON,
        BITS_PER_BYTE,
    )
}
