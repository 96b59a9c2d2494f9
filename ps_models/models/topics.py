"""Topics of words: latent Dirichlet allocation (Blei et al. 2003, JMLR 3), by batch variational Bayes.

Each pass is the coordinate ascent of the smoothed model. With l = E[log p] under the Dirichlet posteriors:

    share of topic k in word w of document d:  phi_dwk ~ exp(l_dk) exp(l_kw)
    documents:  gamma_dk = alpha + sum over w of count_dw phi_dwk
    topics:    lambda_kw = eta + sum over d of count_dw phi_dwk

The shares are never stored: for each block of documents both sums are matrix products with its table of
counts.
"""

# Shapes: N = tokens, D = documents, V = vocabulary, K = topics.

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

BLOCK = 2**23  # counts at once: 32 MiB in float32
LEAST = 1e-30  # of a word's probability in a document; below it float32 loses digits


@dataclass(frozen=True, kw_only=True)
class LDAConfig:
    """How topics are estimated; the papers that use them give at most the first two."""

    topics: int = 40
    lines: int = 10  # of a document
    passes: int = 50
    alpha: float = 0.1  # prior of a document's topics
    eta: float = 0.01  # prior of a topic's words
    seed: int = 1


def topics_of_words(stream_N: Tensor, vocab_size: int, eos: int, config: LDAConfig) -> Tensor:
    """How often each topic is expected to have made each word: (V, K), its rows sum to the words' counts.

    Args:
        stream_N: int64 ids of a text.
        vocab_size: Ids are below it.
        eos: The id at the end of each line.
        config: How topics are estimated.
    """
    K, lengths_D = config.topics, torch.bincount(_documents(stream_N, eos, config.lines)).float()
    generator = torch.Generator().manual_seed(config.seed)
    counts_V = torch.bincount(stream_N, minlength=vocab_size).float()
    made_KV = counts_V / K * (0.5 + torch.rand(K, vocab_size, generator=generator))
    gamma_DK = (config.alpha + lengths_D[:, None] / K).repeat(1, K)
    for _ in range(config.passes):
        topics_KV = _expected(config.eta + made_KV)
        shares_DK = _expected(gamma_DK)
        sums_KV = torch.zeros_like(made_KV)
        for rows, counts_BV in _blocks(stream_N, vocab_size, eos, config.lines):
            shares_BK = shares_DK[rows]
            ratio_BV = counts_BV.div_((shares_BK @ topics_KV).clamp_(min=LEAST))
            gamma_DK[rows] = config.alpha + shares_BK * (ratio_BV @ topics_KV.t())
            sums_KV.addmm_(shares_BK.t(), ratio_BV)
        made_KV = sums_KV.mul_(topics_KV)
    return made_KV.t().contiguous()


def _expected(parameters: Tensor) -> Tensor:
    """exp(E[log p]) of Dirichlet distributions, one per row."""
    return (parameters.digamma() - parameters.sum(dim=1, keepdim=True).digamma()).exp_()


def _documents(stream_N: Tensor, eos: int, lines: int) -> Tensor:
    """The document of each token.

    >>> _documents(torch.tensor([5, 1, 6, 1, 7, 7, 1]), eos=1, lines=2).tolist()
    [0, 0, 0, 0, 1, 1, 1]
    """
    ends_N = (stream_N == eos).long()
    return (ends_N.cumsum(dim=0) - ends_N) // lines


def _blocks(stream_N: Tensor, vocab_size: int, eos: int, lines: int) -> Iterator[tuple[slice, Tensor]]:
    """Blocks of documents, each with the counts of each word in each document."""
    documents_N = _documents(stream_N, eos, lines)
    count, size = int(documents_N[-1]) + 1, max(1, BLOCK // vocab_size)
    for first in range(0, count, size):
        end = min(first + size, count)
        begin, stop = torch.searchsorted(documents_N, torch.tensor([first, end])).tolist()
        cells_N = (documents_N[begin:stop] - first) * vocab_size + stream_N[begin:stop]
        counts = torch.bincount(cells_N, minlength=(end - first) * vocab_size)
        yield slice(first, end), counts.view(end - first, vocab_size).float()
