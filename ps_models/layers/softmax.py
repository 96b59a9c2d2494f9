"""Softmaxes over the vocabulary, always normalised in float32 or wider.

Both give the log-probabilities of the targets, which is all that a loss needs, also inside a mixture; and
those of all words, for generation.
"""

# Shapes: N = positions, H = hidden, V = vocabulary.

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from ps_models.layers.products import near_rows, outer_sum, product_type, wide

CHUNK = 512  # rows per product: nearly full speed, and logits of 33,278 words take 68 MB
KEPT = 2**28  # at most as many logits are kept for their gradient, 1 GiB in float32


class Output(Protocol):
    """Turns hidden outputs into log-probabilities of words."""

    def __call__(self, hidden_NH: Tensor, targets_N: Tensor) -> Tensor:
        """Natural log-probability of each target."""
        ...

    def log_probs(self, hidden_NH: Tensor) -> Tensor:
        """Natural log-probabilities of all words, (N, V)."""
        ...


def score(output: Output, hidden_BTH: Tensor, tokens_BT: Tensor) -> Tensor:
    """Natural log-probabilities of tokens (batch, time) by the outputs that predict them."""
    return output(hidden_BTH.flatten(0, 1), tokens_BT.flatten()).view(tokens_BT.shape)


class Softmax(nn.Module):
    """p(w) = softmax(U h), over all words."""

    def __init__(self, weight_VH: Tensor, *, bias: bool) -> None:
        super().__init__()
        self.weight = weight_VH  # a parameter, the embedding's where they are tied
        self.bias = nn.Parameter(torch.zeros(len(weight_VH))) if bias else None

    def forward(self, hidden_NH: Tensor, targets_N: Tensor) -> Tensor:
        """Natural log-probability of each target."""
        kept = torch.is_grad_enabled() and len(hidden_NH) * len(self.weight) <= KEPT
        scores: Any = _TargetLogProbs.apply
        log_probs_N: Tensor = scores(
            hidden_NH, self.weight, self.bias, targets_N, product_type(hidden_NH), kept
        )
        return log_probs_N

    def log_probs(self, hidden_NH: Tensor) -> Tensor:
        """Natural log-probabilities of all words, (N, V)."""
        return wide(functional.linear(hidden_NH, self.weight, self.bias)).log_softmax(dim=-1)


class _TargetLogProbs(torch.autograd.Function):
    """Log-softmax at the targets, rows in chunks, so that the (N, V) logits need not all exist at once.

    Logits that fit are kept, and the gradient is computed in their place; others are computed again. Compared
    with torch's own operators in float32 on a CPU, kept logits take no more time, and the others a tenth of
    the memory; `functional.linear_cross_entropy` of torch 2.13 takes as little memory but is slower
    (benchmarks/speed/models.py).
    """

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401 - autograd's own context
        hidden_NH: Tensor,
        weight_VH: Tensor,
        bias_V: Tensor | None,
        targets_N: Tensor,
        dtype: torch.dtype,
        kept: bool,
    ) -> Tensor:
        N, V, chunk = len(hidden_NH), len(weight_VH), _chunk(hidden_NH, kept)
        logits_NV = hidden_NH.new_empty(min(N, chunk), V, dtype=dtype)
        cast_NH, weight_HV = hidden_NH.to(dtype), _columns(weight_VH.to(dtype))
        totals, scores = [], []
        for begin in range(0, N, chunk):
            rows = slice(begin, begin + chunk)
            logits = _logits(cast_NH[rows], weight_HV, bias_V, logits_NV)
            for few, targets in _few(logits, targets_N[rows]):
                totals.append(wide(few).logsumexp(dim=-1))
                scores.append(wide(few.gather(1, targets[:, None])[:, 0]))
        totals_N = torch.cat(totals)
        ctx.save_for_backward(hidden_NH, weight_VH, bias_V, targets_N, totals_N, logits_NV if kept else None)
        ctx.dtype = dtype
        return torch.cat(scores) - totals_N

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_N: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        hidden_NH, weight_VH, bias_V, targets_N, totals_N, logits_NV = ctx.saved_tensors
        N, V = len(hidden_NH), len(weight_VH)
        cast_NH, cast_VH = hidden_NH.to(ctx.dtype), weight_VH.to(ctx.dtype)
        dhidden_NH, dweight_VH = torch.empty_like(hidden_NH), torch.zeros_like(weight_VH)
        dbias_V = None if bias_V is None else torch.zeros_like(bias_V)
        kept = logits_NV is not None
        chunk = _chunk(hidden_NH, kept)
        if not kept:
            weight_HV, space = _columns(cast_VH), cast_NH.new_empty(min(N, chunk), V)
        for begin in range(0, N, chunk):
            rows = slice(begin, begin + chunk)
            # Kept logits are overwritten, so torch refuses a second gradient of them.
            logits = logits_NV if kept else _logits(cast_NH[rows], weight_HV, bias_V, space)
            for few, *given in _few(logits, totals_N[rows], targets_N[rows], grad_N[rows]):
                _become_gradient(few, *given)
            dhidden_NH[rows] = logits @ cast_VH
            dweight_VH.add_(outer_sum(logits, cast_NH[rows]))  # sums over chunks in the wider type
            if dbias_V is not None:
                dbias_V.add_(logits.sum(dim=0, dtype=dbias_V.dtype))
        return dhidden_NH, dweight_VH, dbias_V, None, None, None


def _columns(weight_VH: Tensor) -> Tensor:
    """The weights as products read them, (H, V); in bfloat16 twice as fast if its rows are contiguous."""
    return weight_VH.t().contiguous() if weight_VH.dtype == torch.bfloat16 else weight_VH.t()


def _chunk(hidden_NH: Tensor, kept: bool) -> int:
    """How many rows go into one product."""
    return max(1, len(hidden_NH)) if kept else CHUNK


def _few(logits_NV: Tensor, *others_N: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """The rows of all tensors, a few at a time."""
    rows = near_rows(logits_NV)
    return zip(*(torch.split(tensor, rows) for tensor in (logits_NV, *others_N)), strict=True)


def _logits(hidden_NH: Tensor, weight_HV: Tensor, bias_V: Tensor | None, space_NV: Tensor) -> Tensor:
    """The logits, in the first rows of the given space."""
    logits_NV = torch.mm(hidden_NH, weight_HV, out=space_NV[: len(hidden_NH)])
    return logits_NV if bias_V is None else logits_NV.add_(bias_V)


def _become_gradient(logits_NV: Tensor, totals_N: Tensor, targets_N: Tensor, grad_N: Tensor) -> None:
    """Put the gradient of each row's score in place of its logits.

    It is grad at the target, minus grad times the softmax.
    """
    exact = wide(logits_NV)  # the same memory where it is wide
    exact.sub_(totals_N[:, None]).exp_().mul_(-grad_N[:, None])
    at_target = exact.gather(1, targets_N[:, None]) + grad_N[:, None]
    exact.scatter_(1, targets_N[:, None], at_target)
    if exact.dtype != logits_NV.dtype:
        logits_NV.copy_(exact)


class AdaptiveSoftmax(nn.Module):
    """A softmax over frequent words and clusters of rare ones (Grave et al. 2016, arXiv 1609.04309).

    Ids must be in order of frequency, as in the vocabularies of `wikitext_builder`.
    """

    def __init__(self, vocab_size: int, hidden_size: int, cutoffs: Sequence[int], *, bias: bool) -> None:
        super().__init__()
        self.words = nn.AdaptiveLogSoftmaxWithLoss(hidden_size, vocab_size, list(cutoffs), head_bias=bias)

    def forward(self, hidden_NH: Tensor, targets_N: Tensor) -> Tensor:
        """Natural log-probability of each target."""
        with torch.autocast(hidden_NH.device.type, enabled=False):
            log_probs_N: Tensor = self.words(wide(hidden_NH), targets_N).output
            return log_probs_N

    def log_probs(self, hidden_NH: Tensor) -> Tensor:
        """Natural log-probabilities of all words, (N, V)."""
        with torch.autocast(hidden_NH.device.type, enabled=False):
            return self.words.log_prob(wide(hidden_NH))
