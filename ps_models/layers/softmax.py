"""Computes softmaxes over the vocabulary, always normalised in float32 or wider.

Both softmaxes give the log-probabilities of the targets, which is all that a loss needs, also inside a
mixture; and those of all words, for generation.
"""

# Shapes: N = positions, H = hidden, V = vocabulary.

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

CHUNK_ROWS = 512  # rows per product: nearly full speed, and logits of 33,278 words take 68 MB
MAX_KEPT_LOGITS = 2**28  # logits that are kept for their gradient; 1 GiB in float32
SAMPLE_MULTIPLE = 64  # the number of sampled words is rounded up to a multiple of this
CPU_NUMBERS = 2**18  # that a CPU processes at once: 1 MiB in float32, which stays in its cache
DEVICE_NUMBERS = 2**26  # that other devices process at once: 256 MiB; few large operators are fast there
WORDS_PER_PRODUCT = 2048  # where weights are copied: 2.7 MB for 650 units, which stay in a CPU's cache


def widen(value: Tensor) -> Tensor:
    """Return the value in float32; a value in float64 stays as it is."""
    return value if value.dtype == torch.float64 else value.float()


def product_type(value: Tensor) -> torch.dtype:
    """Return the type of products with this value: the type of autocast if that is on."""
    device = value.device.type
    if value.dtype == torch.float32 and torch.is_autocast_enabled(device):
        return torch.get_autocast_dtype(device)
    return value.dtype


def outer_sum(left_NA: Tensor, right_NB: Tensor) -> Tensor:
    """Return the sum over N of the outer products of both, (A, B): the gradient of weights.

    A CPU multiplies in bfloat16 faster if the first factor is stored row by row, so the narrower factor is
    copied that way: 20 ms in place of 37 ms for A = 2,600, B = 650, N = 6,368. In float32 a copy costs more
    than it saves.
    """
    if left_NA.device.type == "cpu" and left_NA.dtype == torch.bfloat16:
        return (right_NB.t().contiguous() @ left_NA).t()
    return left_NA.t() @ right_NB


def rows_at_once(values_NV: Tensor) -> int:
    """Return how many rows to process at once."""
    numbers = CPU_NUMBERS if values_NV.device.type == "cpu" else DEVICE_NUMBERS
    return max(1, numbers // values_NV.shape[1])


def row_slices(rows: Tensor, size: int) -> list[slice]:
    """Return slices of `size` rows that cover all rows in order."""
    return [slice(first, first + size) for first in range(0, len(rows), size)]


def masked(value: Tensor, mask: Tensor | None) -> Tensor:
    """Return the value, multiplied by the mask if there is a mask."""
    return value if mask is None else value * mask


def reads_without_waiting(value: Tensor) -> bool:
    """Return True on a CPU; to read a number from a GPU, the program waits, and the GPU idles."""
    return value.device.type == "cpu"


class Output(Protocol):
    """Turns hidden outputs into log-probabilities of words."""

    def __call__(self, hidden_NH: Tensor, targets_N: Tensor) -> Tensor:
        """Return the natural log-probability of each target."""
        ...

    def log_probs(self, hidden_NH: Tensor) -> Tensor:
        """Return natural log-probabilities of all words, (N, V)."""
        ...


class Softmax(nn.Module):
    """p(w) = softmax(U h), over all words; in training over a sample of them unless `sampled` is 0.

    `sampled` is approximately how many words each training call scores besides its targets; it then estimates
    the sum over all words, see `_sample`. The estimate is good if ids are ordered by frequency, as in the
    vocabularies of `wikitext_builder`. Evaluation always uses all words.
    """

    def __init__(self, weight_VH: Tensor, *, bias: bool, sampled: int = 0) -> None:
        super().__init__()
        self.weight = weight_VH  # a parameter; the embedding's if both are tied
        self.bias = nn.Parameter(torch.zeros(len(weight_VH))) if bias else None
        chances_V = inclusion_chances(len(weight_VH), sampled) if sampled else None
        self.register_buffer("chances_V", chances_V, persistent=False)
        self.max_drawn = math.ceil(sampled + 8 * math.sqrt(sampled))  # 8 standard deviations above the mean

    def forward(self, hidden_NH: Tensor, targets_N: Tensor) -> Tensor:
        """Return the natural log-probability of each target, estimated if words are sampled."""
        weight_VH: Tensor = self.weight
        bias_V: Tensor | None = self.bias
        chances_V: Any = self.chances_V  # a buffer: it moves with the model
        if chances_V is not None and self.training:
            words_S, targets_N, offset_S = _sample(chances_V, targets_N, self.max_drawn)
            weight_VH = weight_VH.index_select(0, words_S)
            bias_V = offset_S if bias_V is None else bias_V.index_select(0, words_S) + offset_S
        return _target_log_probs(hidden_NH, weight_VH, bias_V, targets_N)

    def log_probs(self, hidden_NH: Tensor) -> Tensor:
        """Return natural log-probabilities of all words, (N, V)."""
        return widen(functional.linear(hidden_NH, self.weight, self.bias)).log_softmax(dim=-1)


def inclusion_chances(vocab_size: int, sampled: int) -> Tensor:
    """Return the probability of each word to be in a sample of about `sampled` words; 1 for frequent words.

    It falls with the rank to the power of 0.75, so more slowly than frequencies, which fall by Zipf's law;
    otherwise a rare word that is likely at some position would weigh too much when it is drawn.

    >>> inclusion_chances(10_000, 1000).sum().round()
    tensor(1000., dtype=torch.float64)
    """
    shares_V = torch.arange(1, vocab_size + 1, dtype=torch.float64, device="cpu") ** -0.75
    low, high = 0.0, float(vocab_size)  # bounds of the scale with which they sum to `sampled`
    for _ in range(60):
        middle = (low + high) / 2
        if (shares_V * middle).clamp(max=1).sum() < sampled:
            low = middle
        else:
            high = middle
    return (shares_V * high).clamp(max=1)


def _sample(chances_V: Tensor, targets_N: Tensor, max_drawn: int) -> tuple[Tensor, Tensor, Tensor]:
    """Draw words to score in place of all: their ids, the targets' places in them, offsets of scores.

    Each word is drawn independently, once for all positions, and counts 1 / chance times: its offset is -log
    of its chance. So the sum of exp(score) has the right expectation at each position (Horvitz and Thompson
    1952). All targets are in the sample with a chance of 1: words of the surrounding text are likely, and
    would be the sum's largest error.
    """
    drawn_V = torch.rand_like(chances_V) < chances_V
    drawn_V[targets_N] = True
    places_V = drawn_V.cumsum(0) - 1
    offset_V = -chances_V.log()
    offset_V[targets_N] = 0
    size = max_drawn + len(targets_N)
    if reads_without_waiting(drawn_V):
        # Rounded, because oneDNN keeps code for each size of a bf16 product: 8 GB for those of one training.
        size = int(places_V[-1]) // SAMPLE_MULTIPLE * SAMPLE_MULTIPLE + SAMPLE_MULTIPLE
    size = min(len(drawn_V), size)
    words_S = drawn_V.nonzero_static(size=size, fill_value=0)[:, 0]
    is_drawn_S = torch.arange(size, device=words_S.device) <= places_V[-1]
    offset_S = offset_V[words_S].float().masked_fill(~is_drawn_S, -math.inf)
    return words_S, places_V[targets_N], offset_S


def _target_log_probs(
    hidden_NH: Tensor, weight_VH: Tensor, bias_V: Tensor | None, targets_N: Tensor
) -> Tensor:
    keep_logits = torch.is_grad_enabled() and len(hidden_NH) * len(weight_VH) <= MAX_KEPT_LOGITS
    score: Any = _TargetLogProbs.apply
    log_probs_N: Tensor = score(hidden_NH, weight_VH, bias_V, targets_N, product_type(hidden_NH), keep_logits)
    return log_probs_N


class _TargetLogProbs(torch.autograd.Function):
    """Computes the log-softmax at the targets, rows in chunks: the (V, N) logits never exist all at once.

    Logits are stored word by word, so that no product needs the weights in columns: a CPU would copy them,
    which takes twice as long as the product. Logits that fit are kept, and their gradient overwrites them;
    others are computed again. Compared with torch's own operators in float32 on a CPU, kept logits take no
    more time, and the others a tenth of the memory; `functional.linear_cross_entropy` of torch 2.13 takes as
    little memory but is slower (benchmarks/speed/models.py).
    """

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401 - autograd's own context
        hidden_NH: Tensor,
        weight_VH: Tensor,
        bias_V: Tensor | None,
        targets_N: Tensor,
        dtype: torch.dtype,
        keep_logits: bool,
    ) -> Tensor:
        cast_NH, cast_VH = hidden_NH.to(dtype), weight_VH.to(dtype)
        chunk = _rows_per_product(hidden_NH, keep_logits)
        buffer = cast_VH.new_empty(chunk * len(cast_VH))
        totals, scores = [], []
        for rows in row_slices(hidden_NH, chunk):
            logits_VN = _logits(cast_NH[rows], cast_VH, bias_V, buffer)
            partial = torch.stack([widen(block).logsumexp(dim=0) for block in _word_blocks(logits_VN)])
            totals.append(partial.logsumexp(dim=0))
            scores.append(widen(logits_VN[_target_places(targets_N[rows])]))
        totals_N = torch.cat(totals)
        ctx.save_for_backward(
            cast_NH, cast_VH, bias_V, targets_N, totals_N, logits_VN if keep_logits else None
        )
        ctx.types = hidden_NH.dtype, weight_VH.dtype
        return torch.cat(scores) - totals_N

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_N: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        cast_NH, cast_VH, bias_V, targets_N, totals_N, kept_VN = ctx.saved_tensors
        chunk = _rows_per_product(cast_NH, kept_VN is not None)
        buffer = cast_VH.new_empty(chunk * len(cast_VH)) if kept_VN is None else None
        dhidden_NH, dweight_VH, dbias_V = torch.empty_like(cast_NH, dtype=ctx.types[0]), None, None
        for rows in row_slices(cast_NH, chunk):
            # Kept logits are overwritten, so torch refuses to compute a second gradient from them.
            logits_VN = kept_VN if buffer is None else _logits(cast_NH[rows], cast_VH, bias_V, buffer)
            _overwrite_with_gradient(logits_VN, totals_N[rows], targets_N[rows], grad_N[rows])
            dhidden_NH[rows] = _hidden_gradient(logits_VN, cast_VH)
            dweight_VH = _plus_product(dweight_VH, logits_VN, cast_NH[rows], ctx.types[1])
            if ctx.needs_input_grad[2]:  # False for the offset of a sample
                sums_V = (logits_VN @ torch.ones_like(logits_VN[0])).to(bias_V.dtype)
                dbias_V = sums_V if dbias_V is None else dbias_V.add_(sums_V)
        return dhidden_NH, dweight_VH, dbias_V, None, None, None


def _rows_per_product(hidden_NH: Tensor, keep_logits: bool) -> int:
    """Return how many rows go into one product: all of them if their logits are kept."""
    return max(1, len(hidden_NH) if keep_logits else min(len(hidden_NH), CHUNK_ROWS))


def _logits(hidden_NH: Tensor, weight_VH: Tensor, bias_V: Tensor | None, buffer: Tensor) -> Tensor:
    """Compute the logits, (V, N), in a buffer that all chunks share: freed memory of other sizes adds up."""
    V, N = len(weight_VH), len(hidden_NH)
    logits_VN = torch.mm(weight_VH, hidden_NH.t(), out=buffer[: V * N].view(V, N))
    return logits_VN if bias_V is None else logits_VN.add_(bias_V[:, None].to(logits_VN.dtype))


def _plus_product(total: Tensor | None, left: Tensor, right: Tensor, dtype: torch.dtype) -> Tensor:
    """Add the product of both to the total, in place; the total can have a wider type."""
    if total is None:
        return (left @ right).to(dtype)
    return total.addmm_(left, right) if total.dtype == left.dtype else total.add_(left @ right)


def _word_blocks(logits_VN: Tensor) -> tuple[Tensor, ...]:
    """Return the logits in blocks of words that are processed at once."""
    return torch.split(logits_VN, rows_at_once(logits_VN))


def _hidden_gradient(logits_VN: Tensor, weight_VH: Tensor) -> Tensor:
    """Return the sum over V of the outer products of both, (N, H).

    A CPU multiplies in bfloat16 twice as fast if both factors are stored row by row, so weights are copied.
    """
    if logits_VN.device.type != "cpu" or logits_VN.dtype != torch.bfloat16:
        return logits_VN.t() @ weight_VH
    total_HN = weight_VH.new_zeros(weight_VH.shape[1], logits_VN.shape[1], dtype=torch.float32)
    for logits, weight in zip(
        torch.split(logits_VN, WORDS_PER_PRODUCT), torch.split(weight_VH, WORDS_PER_PRODUCT), strict=True
    ):
        total_HN.add_(weight.t().contiguous() @ logits)
    return total_HN.t()


def _overwrite_with_gradient(logits_VN: Tensor, totals_N: Tensor, targets_N: Tensor, grad_N: Tensor) -> None:
    """Overwrite logits with their gradient: grad at the target, minus grad times the softmax."""
    at_targets = _target_places(targets_N)
    scores_N = widen(logits_VN[at_targets]) - totals_N
    for block in _word_blocks(logits_VN):
        exact = widen(block)  # the same memory if the logits are wide
        exact.sub_(totals_N).exp_().mul_(-grad_N)
        if exact.dtype != block.dtype:
            block.copy_(exact)
    logits_VN[at_targets] = (grad_N - grad_N * scores_N.exp()).to(logits_VN.dtype)


def _target_places(targets_N: Tensor) -> tuple[Tensor, Tensor]:
    """Return the indices of the targets in (V, N); `scatter_` would copy all of it."""
    return targets_N, torch.arange(len(targets_N), device=targets_N.device)


class AdaptiveSoftmax(nn.Module):
    """A softmax over frequent words and clusters of rare ones (Grave et al. 2016, arXiv 1609.04309).

    Ids must be in order of frequency, as in the vocabularies of `wikitext_builder`.
    """

    def __init__(self, vocab_size: int, hidden_size: int, cutoffs: Sequence[int], *, bias: bool) -> None:
        super().__init__()
        self.words = nn.AdaptiveLogSoftmaxWithLoss(hidden_size, vocab_size, list(cutoffs), head_bias=bias)

    def forward(self, hidden_NH: Tensor, targets_N: Tensor) -> Tensor:
        """Return the natural log-probability of each target."""
        with torch.autocast(hidden_NH.device.type, enabled=False):
            hidden_NH, head_targets_N, clusters = widen(hidden_NH), targets_N, []
            tail: Any = self.words.tail
            for number, (begin, end) in enumerate(pairwise(self.words.cutoffs)):
                inside_N = (targets_N >= begin) & (targets_N < end)
                head_targets_N = head_targets_N.masked_fill(inside_N, self.words.shortlist_size + number)
                rows_R = _rows_to_score(inside_N)
                shrink, words = tail[number]
                places_R = (targets_N[rows_R] - begin).clamp(0, end - begin - 1)
                scores_R = _target_log_probs(shrink(hidden_NH[rows_R]), words.weight, None, places_R)
                clusters.append((rows_R, scores_R.masked_fill(~inside_N[rows_R], 0.0)))
            head = self.words.head
            log_probs_N = _target_log_probs(hidden_NH, head.weight, head.bias, head_targets_N)
            for rows_R, scores_R in clusters:
                log_probs_N = log_probs_N.index_add(0, rows_R, scores_R)
            return log_probs_N

    def log_probs(self, hidden_NH: Tensor) -> Tensor:
        """Return natural log-probabilities of all words, (N, V)."""
        with torch.autocast(hidden_NH.device.type, enabled=False):
            return self.words.log_prob(widen(hidden_NH))


def _rows_to_score(inside_N: Tensor) -> Tensor:
    """Return the rows in which a cluster's words are scored: on a CPU only those whose target is one of them.

    Another device scores all rows: the CPU would wait for it to learn which rows it needs, and clusters of
    rare words have few units. There is always at least one row, so that each weight has a gradient:
    DistributedDataParallel and averages wait for it.
    """
    if reads_without_waiting(inside_N) and inside_N.any():
        return inside_N.nonzero()[:, 0]
    return torch.arange(1 if reads_without_waiting(inside_N) else len(inside_N), device=inside_N.device)
