"""Softmaxes over the vocabulary, always normalised in float32 or more.

Both give the log-probability of each target alone, which is all that a loss needs, also inside a mixture; and
all of them, for generation.
"""

# Shapes: N = positions, H = hidden, V = vocabulary.

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

CHUNK = 512  # rows at once: products are near full speed, logits of 33,278 words take 68 MB
KEPT = 2**28  # logits that are kept for their gradient, 1 GiB in float32


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
    """Log-softmax at the targets, rows in chunks, so that the (N, V) logits need not exist at once.

    They are kept for the gradient where they fit, and made anew elsewhere. Against torch's own operators in
    float32 on a CPU it takes no more time when they are kept, and a tenth of the memory when they are not;
    `functional.linear_cross_entropy` of torch 2.13 is as lean but slower (benchmarks/speed/models.py).
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
        N, V = len(hidden_NH), len(weight_VH)
        logits_NV = hidden_NH.new_empty(N if kept else min(N, CHUNK), V, dtype=dtype)
        cast_NH, cast_VH = hidden_NH.to(dtype), weight_VH.to(dtype)
        totals, scores = [], []
        for begin in range(0, N, CHUNK):
            rows = slice(begin, begin + CHUNK)
            out = logits_NV[rows] if kept else logits_NV[: len(cast_NH[rows])]
            logits = wide(_logits(cast_NH[rows], cast_VH, bias_V, out))
            totals.append(logits.logsumexp(dim=-1))
            scores.append(logits.gather(1, targets_N[rows, None])[:, 0])
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
        space = grad_N.new_empty(min(N, CHUNK), V)
        for begin in range(0, N, CHUNK):
            rows = slice(begin, begin + CHUNK)
            out = space[: len(cast_NH[rows])]
            if logits_NV is None:
                logits = _logits(cast_NH[rows], cast_VH, bias_V, out.to(ctx.dtype))
            else:
                logits = logits_NV[rows]
            dlogits = _logits_gradient(logits, totals_N[rows], targets_N[rows], grad_N[rows], out)
            dcast = dlogits.to(ctx.dtype)
            dhidden_NH[rows] = dcast @ cast_VH
            if ctx.dtype == dweight_VH.dtype:
                dweight_VH.addmm_(dcast.t(), cast_NH[rows])
            else:
                dweight_VH.add_(dcast.t() @ cast_NH[rows])  # sums over chunks in the wider type
            if dbias_V is not None:
                dbias_V.add_(dlogits.sum(dim=0))
        return dhidden_NH, dweight_VH, dbias_V, None, None, None


def _logits(hidden_NH: Tensor, weight_VH: Tensor, bias_V: Tensor | None, out: Tensor) -> Tensor:
    torch.mm(hidden_NH, weight_VH.t(), out=out)
    return out if bias_V is None else out.add_(bias_V)


def _logits_gradient(logits: Tensor, totals: Tensor, targets: Tensor, grad: Tensor, out: Tensor) -> Tensor:
    """The gradient of each row's score: grad where the target stands, less grad times the softmax."""
    torch.sub(logits, totals[:, None], out=out).exp_().mul_(-grad[:, None])
    at_target = out.gather(1, targets[:, None]) + grad[:, None]
    return out.scatter_(1, targets[:, None], at_target)


class AdaptiveSoftmax(nn.Module):
    """A softmax over frequent words and clusters of rare ones (Grave et al. 2016, arXiv 1609.04309).

    It needs ids in order of frequency, as those of `wikitext_builder`'s vocabularies are.
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


def wide(value: Tensor) -> Tensor:
    """The value in float32, or in float64 where it was."""
    return value if value.dtype == torch.float64 else value.float()


def product_type(value: Tensor) -> torch.dtype:
    """The type of products with this value: that of autocast where it is on."""
    device = value.device.type
    if value.dtype == torch.float32 and torch.is_autocast_enabled(device):
        return torch.get_autocast_dtype(device)
    return value.dtype
