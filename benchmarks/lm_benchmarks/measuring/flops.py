"""How many floating-point operations a model needs per token, as torch counts them.

torch counts matrix products, 2·m·n·k for one of (m, k) and (k, n), and convolutions, but nothing else: no
sums, activations or lookups. Fused kernels are taken apart while it counts, because it does not see into
them: an `nn.LSTM`, or attention.
"""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.backends import cudnn, mkldnn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from lm_benchmarks.choices import CHUNK
from ps_models.evaluation.evaluate import evaluating
from ps_models.language_model import LanguageModel

LOG: Final = logging.getLogger(__name__)
READ: Final = 7 * CHUNK  # tokens that the model has read before those that are counted


def _of_product(_: Sequence[int], left: Sequence[int], right: Sequence[int], **__: object) -> int:
    """The FLOPs of `c.addmm_(a, b)` from the three shapes."""
    return 2 * math.prod(left) * right[-1]


IN_PLACE: Final = dict.fromkeys((torch.ops.aten.addmm_, torch.ops.aten.baddbmm_), _of_product)
"""Products that torch's counter does not know."""


def flops_per_token(model: LanguageModel[Any], tokens: Tensor, device: torch.device | str) -> float | None:
    """FLOPs per token of a scoring call of CHUNK tokens, of one text, after READ others.

    Of a shorter text, (time,), the last CHUNK tokens count. None if there is no module of torch in the model,
    or if it fails while it counts.
    """
    if not _has_module(model):
        return None  # the counter takes seconds to start
    start = max(0, min(READ, len(tokens) - CHUNK))
    counted = tokens[start : start + CHUNK]
    try:
        with evaluating(model), torch.no_grad(), ExitStack() as counting:
            state = model.initial_state(1)
            for chunk in torch.split(tokens[:start], CHUNK) if start else ():
                _, state = model(chunk[None].to(device), state)
            counting.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore")  # that there is no Intel GPU
            counting.enter_context(mkldnn.flags(enabled=False))
            counting.enter_context(cudnn.flags(enabled=False))
            counting.enter_context(sdpa_kernel(SDPBackend.MATH))
            counter = counting.enter_context(FlopCounterMode(display=False, custom_mapping=IN_PLACE))
            model(counted[None].to(device), state)
    except Exception:  # the number is no reason to lose a measurement
        LOG.debug("FLOPs are not counted", exc_info=True)
        return None
    return counter.get_total_flops() / len(counted) or None


def _has_module(model: object, depth: int = 3) -> bool:
    """Whether a model is a module of torch or keeps one, as a cache, a mixture or an adapter does."""
    parts = model if isinstance(model, list | tuple) else getattr(model, "__dict__", {}).values()
    return isinstance(model, nn.Module) or (depth > 0 and any(_has_module(one, depth - 1) for one in parts))
