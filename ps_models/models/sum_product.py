"""Implements the sum-product network of Cheng et al. (2014), Interspeech: p(word | the N words before).

    h = [e(x_(t-N)), ..., e(x_(t-1))]       similarity nodes H: D per word, the same e at each place
    m_v = sum over j of W_vj h_j            sum nodes M: one per word v of the vocabulary
    g_vk = m_v^k,  k = 1, ..., K            product nodes G
    s_v = b_v + sum over k of c_vk g_vk     sum nodes S
    p(v) = s_v / sum over u of s_u          the root with v's indicator at 1, over the root with all at 1

All weights are at least 0, as in every sum-product network. Nothing is exponentiated: c_vk starts at 1 / k!
and b_v at 1, so s_v is about exp(m_v) at first, and later any polynomial with such weights.

Layers, sizes, first values and updates come from the authors' code, github.com/stakok/lmspn
(generateConnectionType1 and configs/Treebank_G5_iG4.ini). Its FAQ says that the best network started from the
weights of a network of three words. We do neither this nor its tiny growth of W. We could read only the
paper's abstract; its figure is reported to square where the code takes ten powers.

Two limits are ours. b_v is at least `least_bias`: so each word has some probability, and gradients, which
grow with 1 / s_v, are bounded. m_v is limited to 1000: m^10 overflows float32 at 7,000. Above the limit m_v
keeps the gradient of 1000, so that training can lower it again. `scaled` is ours too: weights are stored in
units of their first sizes, 1 / (C D) and 1 / k!, for optimizers like Adam, whose steps have the same size for
all weights. The network is the same.
"""

# Shapes: B = batch, T = time, N = positions, C = words of context, D = similarity nodes, V = vocabulary,
# I = C D: inputs of a sum node, K = powers.

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import torch
from msgspec import Meta
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from ps_models.hyperparameters import ModelConfig, Positive, Size
from ps_models.language_model import detach
from ps_models.layers.softmax import product_type, row_slices, rows_at_once, widen
from ps_models.models.stream import scored_and_advance

MAX_SUM = 1e3  # m_v above it counts as this


@dataclass(frozen=True, kw_only=True)
class SumProductConfig(ModelConfig):
    """Sizes of the network; the defaults are those of its best result on Penn Treebank."""

    context: Size = 4  # N words; GRAM_NUM = 5
    hidden_size: Size = 100  # D, nodes H per word; in_dim = 400 = 4 x 100
    powers: Annotated[int, Meta(ge=1, le=15)] = 10  # K; K_P = 10; 16 powers overflow
    least_bias: Positive = 1e-6  # of b, 0 in the authors' code
    scaled: bool = False  # weights in units of their first sizes


class SumProductState(NamedTuple):
    """The model's memory of the past."""

    words_BC: Tensor  # the last C words, oldest first


class SumProductNetwork(nn.Module):
    """Similarity nodes; per word a sum node, its powers and a sum of them; divided by their total."""

    units_K: Tensor  # in which the coefficients are stored

    def __init__(self, config: SumProductConfig) -> None:
        super().__init__()
        self.config = config
        V, inputs = config.vocab_size, config.context * config.hidden_size
        self.unit = 1 / inputs if config.scaled else 1.0  # in which the mixing weights are stored
        first_K = torch.tensor([1 / math.factorial(k) for k in range(config.powers + 1)])
        units_K = first_K if config.scaled else torch.ones_like(first_K)
        self.register_buffer("units_K", units_K, persistent=False)
        self.similarity = nn.Embedding(V, config.hidden_size)  # e
        self.mixing = nn.Parameter(torch.rand(V, inputs))  # W
        self.coefficients = nn.Parameter((first_K / units_K).repeat(V, 1))  # b, c
        with torch.no_grad():
            self.similarity.weight.uniform_(0, 2)
            self.mixing.div_(self.mixing.sum(dim=1, keepdim=True) * self.unit)

    def initial_state(self, batch_size: int) -> SumProductState:
        """Return the state at the start of a text: all words of the context are `<eos>`."""
        shape, device = (batch_size, self.config.context), self.mixing.device
        return SumProductState(torch.full(shape, self.config.eos, device=device))

    def forward(self, tokens: Tensor, state: SumProductState) -> tuple[Tensor, SumProductState]:
        """Score tokens (batch, time); see `LanguageModel`."""
        words_BS = torch.cat([state.words_BC, tokens], dim=1)
        time = tokens.shape[1]
        return self._score(words_BS, time), self._state(words_BS, time)

    def loss(
        self, tokens: Tensor, state: SumProductState, scored: int | None = None, advance: int | None = None
    ) -> tuple[Tensor, SumProductState]:
        """Return the nats of the last `scored` tokens; see `StreamModel`.

        In training, weights that the last update made too small are first raised to their least value
        (projected gradients).
        """
        scored, advance = scored_and_advance(tokens, scored, advance)
        if self.training:
            with torch.no_grad():
                for parameter in self.parameters():
                    parameter.clamp_(min=0)
                self.coefficients[:, 0].clamp_(min=self.config.least_bias)
        words_BS = torch.cat([state.words_BC, tokens], dim=1)
        return -self._score(words_BS, scored), detach(self._state(words_BS, advance))

    @torch.no_grad()
    def next_log_probs(self, state: SumProductState) -> Tensor:
        """Return log-probabilities of all words as the next one; see `StreamModel`."""
        mixing_VI, coefficients_KV = self._weights()
        sums_BV = _sums(self._inputs(state.words_BC[:, None]) @ mixing_VI.t())
        totals_BV = _polynomials(sums_BV, coefficients_KV)
        return (totals_BV / totals_BV.sum(dim=-1, keepdim=True)).log()

    def _state(self, words_BS: Tensor, advance: int) -> SumProductState:
        return SumProductState(words_BS[:, advance : advance + self.config.context])

    def _score(self, words_BS: Tensor, scored: int) -> Tensor:
        """Return log-probabilities of the last `scored` words."""
        C = self.config.context
        contexts_BTC = words_BS[:, :-1].unfold(1, C, 1)[:, -scored:]
        mixing_VI, coefficients_KV = self._weights()
        inputs_NI, targets_N = self._inputs(contexts_BTC), words_BS[:, -scored:].flatten()
        score: Any = _TargetLogProbs.apply
        log_probs: Tensor = score(inputs_NI, mixing_VI, coefficients_KV, targets_N, product_type(inputs_NI))
        return log_probs.view(len(words_BS), scored)

    def _inputs(self, contexts_BTC: Tensor) -> Tensor:
        """Return the similarity nodes of all words of each context: (N, I)."""
        similarities: Tensor = self.similarity(contexts_BTC).clamp(min=0)
        return similarities.flatten(0, 1).flatten(1)

    def _weights(self) -> tuple[Tensor, Tensor]:
        """Return the weights of both layers of sums, none below 0."""
        coefficients_KV = (self.coefficients.clamp(min=0) * self.units_K).t()
        bias_1V = coefficients_KV[:1].clamp(min=self.config.least_bias)
        return self.mixing.clamp(min=0) * self.unit, torch.cat([bias_1V, coefficients_KV[1:]])


def _sums(products: Tensor) -> Tensor:
    """Return the sum nodes m from their products."""
    return widen(products).clamp(max=MAX_SUM)


def _polynomials(sums_NV: Tensor, coefficients_KV: Tensor) -> Tensor:
    """Return c_0 + c_1 m + c_2 m^2 + ..., by Horner's rule."""
    total_NV = coefficients_KV[-1].expand_as(sums_NV)
    for coefficient_V in coefficients_KV[:-1].flip(0):
        total_NV = torch.addcmul(coefficient_V, total_NV, sums_NV)
    return total_NV


class _TargetLogProbs(torch.autograd.Function):
    """Computes log-probabilities of targets, rows in chunks; it keeps m for the gradient, not its powers."""

    @staticmethod
    def forward(
        ctx: Any,  # noqa: ANN401 - autograd's own context
        inputs_NI: Tensor,
        mixing_VI: Tensor,
        coefficients_KV: Tensor,
        targets_N: Tensor,
        dtype: torch.dtype,
    ) -> Tensor:
        products_NV = inputs_NI.to(dtype) @ mixing_VI.to(dtype).t()
        roots, scores = [], []
        for rows in row_slices(products_NV, rows_at_once(products_NV)):
            total_NV = _polynomials(_sums(products_NV[rows]), coefficients_KV)
            roots.append(total_NV.sum(dim=1))
            scores.append(total_NV.gather(1, targets_N[rows, None])[:, 0])
        roots_N = torch.cat(roots)
        ctx.save_for_backward(inputs_NI, mixing_VI, coefficients_KV, targets_N, roots_N, products_NV)
        return torch.cat(scores).log() - roots_N.log()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_N: Tensor) -> tuple[Tensor | None, ...]:  # noqa: ANN401
        inputs_NI, mixing_VI, coefficients_KV, targets_N, roots_N, products_NV = ctx.saved_tensors
        dproducts_NV = torch.empty_like(products_NV)
        dcoefficients_KV = torch.zeros_like(coefficients_KV)
        for rows in row_slices(products_NV, rows_at_once(products_NV)):
            sums = _sums(products_NV[rows])
            total, slope = _polynomials_and_slopes(sums, coefficients_KV)
            targets_N1, grad_N1 = targets_N[rows, None], grad_N[rows, None]
            dtotal = (-grad_N1 / roots_N[rows, None]).repeat(1, len(mixing_VI))
            dtotal.scatter_add_(1, targets_N1, grad_N1 / total.gather(1, targets_N1))
            dproducts_NV[rows] = slope.mul_(dtotal)
            for dcoefficient_V in dcoefficients_KV:
                dcoefficient_V += dtotal.sum(dim=0)
                dtotal *= sums
        dinputs_NI = (dproducts_NV @ mixing_VI.to(dproducts_NV.dtype)).to(inputs_NI.dtype)
        dmixing_VI = (dproducts_NV.t() @ inputs_NI.to(dproducts_NV.dtype)).to(mixing_VI.dtype)
        return dinputs_NI, dmixing_VI, dcoefficients_KV, None, None


def _polynomials_and_slopes(sums_NV: Tensor, coefficients_KV: Tensor) -> tuple[Tensor, Tensor]:
    """Return the polynomials and their derivatives."""
    total, slope = coefficients_KV[-1].expand_as(sums_NV), torch.zeros_like(sums_NV)
    for coefficient_V in coefficients_KV[:-1].flip(0):
        slope = torch.addcmul(total, slope, sums_NV)
        total = torch.addcmul(coefficient_V, total, sums_NV)
    return total, slope
