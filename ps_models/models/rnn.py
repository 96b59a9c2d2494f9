"""Implements recurrent networks other than LSTMs: Elman's, Pascanu's, with topics, with highways.

Elman (Mikolov 2012):                       h' = f(W x + U h + b),                     p = softmax(V h')
DOT(S)-RNN (Pascanu et al. 2013,            z  = f(W x + U h + b)                      deep transition
arXiv 1312.6026), section 3:                h' = f(A z + S h + d)                      S: shortcut
                                            p  = softmax(V f(D h' + e))                deep output
RNN-LDA (Mikolov and Zweig 2012, SLT):      h' = s(W x + U h + F f')                   s: the sigmoid
topics of the words before                  p  = softmax(V h' + G f')
                                            f' ~ f^d t(x)^(1 - d)                      t(x): topics given x

f is a distribution over topics that each word updates: a product of the words' topics, in which older words
count less and less. `prepare` estimates the topics on train.

The equations of RNN-LDA, and the two places where f enters, are those of Microsoft's toolkit for the paper
(RNNLM 0.3f, in the port of P. Mirowski, github.com/piotrmirowski/DependencyTreeRnn). The product is the
paper's as we remember it; the toolkit has a sum, f' = d f + (1 - d) t(x). We could not read the paper, so the
decay, the smoothing and the way to make documents from train are ours.

The recurrent highway network of Zilly et al. (2016), arXiv 1607.03474, has variational dropout. Its step from
word to word is D highway layers deep, and the first of them reads the word:

    s_0 = state after the last word        s_d = h_d t_d + s_{d-1} (1 - t_d)        p = softmax(U s_D)
    h_1 = tanh(W_h x + R_h1 s_0 + b_h1)    t_1 = sigmoid(W_t x + R_t1 s_0 + b_t1)   the next layers without x

Masks are those of the authors' TensorFlow code, which produced their last numbers: one mask of the state for
all depths, all steps and both gates (their Torch code, like Gal's, draws a mask for each gate).
"""

# Shapes: B = batch, T = time, E = embedding, H = hidden, K = topics, X = H + K, V = vocabulary, N = tokens,
# D = documents, or the depth of highways, G = 2H: h and t of highways.

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from ps_models.hyperparameters import Amount, Count, Finite, Positive, Rate, Size, SoftmaxConfig
from ps_models.layers.recurrence import highway_steps
from ps_models.layers.softmax import Softmax, masked, product_type, widen
from ps_models.models.stream import Masks, StreamModel, dropout_mask, shifted
from wikitext_builder.dataset.vocabulary import Vocabulary


@dataclass(frozen=True, kw_only=True)
class RNNConfig(SoftmaxConfig):
    """Sizes of a simple recurrent network; the defaults are Elman's, at Mikolov's size."""

    hidden_size: Size = 300  # Mikolov and Zweig 2012, section 5.1, for Penn Treebank
    embedding_size: Count = 0  # of a linear embedding before W; 0: W is the embedding
    deep: bool = False  # deep transition with a shortcut, and deep output
    dropout: Rate = 0.0  # of the output, a new mask at each step
    softmax_bias: bool = True
    init: Amount = 0.1  # weights are uniform in [-init, init]


class RNNState(NamedTuple):
    """The model's memory of the past, and its last token, which it has not read yet."""

    token_B: Tensor
    h_BH: Tensor


class RNN(StreamModel[RNNState]):
    """Embedding, one recurrent layer of sigmoid units, softmax."""

    def __init__(self, config: RNNConfig) -> None:
        super().__init__()
        self.config = config
        V, H = config.vocab_size, config.hidden_size
        E = config.embedding_size
        self.embedding = nn.Embedding(V, E or H)  # W: one column per word
        self.projection = nn.Linear(E, H, bias=False) if E else None  # W, if there is an embedding before it
        self.recurrent = nn.Linear(H, H)
        self.transition = nn.Linear(H, H) if config.deep else None
        self.shortcut = nn.Linear(H, H, bias=False) if config.deep else None
        self.deep_output = nn.Linear(H, H) if config.deep else None
        weight_VH = nn.Parameter(torch.empty(V, H))
        self.softmax = Softmax(weight_VH, bias=config.softmax_bias, sampled=config.sampled)
        self.draw_uniform()

    def initial_state(self, batch_size: int) -> RNNState:
        """Return the state at the start of a text: zeros, and `<eos>` is the next token to read."""
        return RNNState(self.start(batch_size), self.zeros(batch_size, self.config.hidden_size))

    def run(self, tokens_BT: Tensor, state: RNNState, *, advance: int) -> tuple[Tensor, RNNState]:
        """Return the outputs that predict the tokens, and the state after `advance`; see `StreamModel`."""
        read_BT, token_B = shifted(state.token_B, tokens_BT, advance)
        h_BH, steps = state.h_BH, [state.h_BH]
        inputs_BTH = self.embedding(read_BT)
        if self.projection is not None:
            inputs_BTH = self.projection(inputs_BTH)
        for x_BH in inputs_BTH.unbind(dim=1):
            h_BH = self._step(x_BH, h_BH)
            steps.append(h_BH)
        hidden_BTH = torch.stack(steps[1:], dim=1)
        if self.deep_output is not None:
            hidden_BTH = torch.sigmoid(widen(self.deep_output(hidden_BTH)))
        mask = dropout_mask(self.config.dropout * self.training, tuple(hidden_BTH.shape), hidden_BTH)
        return masked(hidden_BTH, mask), RNNState(token_B, steps[advance])

    def _step(self, x_BH: Tensor, h_BH: Tensor) -> Tensor:
        new_BH = torch.sigmoid(widen(x_BH + self.recurrent(h_BH)))
        if self.transition is None or self.shortcut is None:
            return new_BH
        return torch.sigmoid(widen(self.transition(new_BH) + self.shortcut(h_BH)))


@dataclass(frozen=True, kw_only=True)
class RNNLDAConfig(SoftmaxConfig):
    """Sizes of the network and of its topics."""

    hidden_size: Size = 300  # with 10,000 words this gives the 7 M parameters that are reported for it
    topics: Size = 40  # Mikolov and Zweig 2012
    topic_decay: Rate = 0.95  # d; the last 50 words have 92 % of the weight, and the paper's window is 50
    document_lines: Size = 10  # of train, per document of LDA
    lda_passes: Count = 50
    smoothing: Positive = 0.1  # counts added to each word's topics
    dropout: Rate = 0.0  # of the hidden output, a new mask at each step
    softmax_bias: bool = True
    init: Amount = 0.1  # weights are uniform in [-init, init]


class RNNLDAState(NamedTuple):
    """The model's memory of the past, and its last token, which it has not read yet."""

    token_B: Tensor
    h_BH: Tensor
    topics_BK: Tensor  # log f, up to a constant


class RNNLDA(StreamModel[RNNLDAState]):
    """An Elman network that also reads the topics of the text so far."""

    log_topics_VK: Tensor  # log t, of each word

    def __init__(self, config: RNNLDAConfig) -> None:
        super().__init__()
        self.config = config
        V, H, K = config.vocab_size, config.hidden_size, config.topics
        self.embedding = nn.Embedding(V, H)  # W: one column per word
        self.recurrent = nn.Linear(H, H)  # U
        self.topics = nn.Linear(K, H, bias=False)  # F
        weight_VG = nn.Parameter(torch.empty(V, H + K))  # V and G in one
        self.softmax = Softmax(weight_VG, bias=config.softmax_bias, sampled=config.sampled)
        self.draw_uniform()
        self.register_buffer("log_topics_VK", torch.zeros(V, K))

    def prepare(self, stream: Tensor, vocabulary: Vocabulary, seed: int) -> None:
        """Estimate the topics of words; see `StreamModel`."""
        counts_VK = self.config.smoothing + topics_of_words(stream, len(vocabulary), self.config, seed)
        self.log_topics_VK.copy_((counts_VK / counts_VK.sum(dim=1, keepdim=True)).log())

    def initial_state(self, batch_size: int) -> RNNLDAState:
        """Return the state at the start of a text: zeros, equal topics, `<eos>` is the next token to read."""
        h_BH = self.zeros(batch_size, self.config.hidden_size)
        return RNNLDAState(self.start(batch_size), h_BH, self.zeros(batch_size, self.config.topics))

    def scores_and_hidden(
        self, tokens: Tensor, state: RNNLDAState, masks: Masks | None = None
    ) -> tuple[Tensor, Tensor, RNNLDAState]:
        """Return scores and the hidden outputs that they came from, without topics; see `StreamModel`."""
        log_probs_BT, both_BTX, state = super().scores_and_hidden(tokens, state, masks)
        return log_probs_BT, both_BTX[..., : self.config.hidden_size], state

    def run(self, tokens_BT: Tensor, state: RNNLDAState, *, advance: int) -> tuple[Tensor, RNNLDAState]:
        """Return outputs and topics, side by side, that predict the tokens, and the state after `advance`."""
        read_BT, token_B = shifted(state.token_B, tokens_BT, advance)
        logs = self._logs_of_topics(read_BT, state.topics_BK)
        topics_BTK = torch.stack(logs[1:], dim=1).softmax(dim=-1)
        steps = [state.h_BH]
        for x_BH in (self.embedding(read_BT) + self.topics(topics_BTK)).unbind(dim=1):
            steps.append(torch.sigmoid(widen(x_BH + self.recurrent(steps[-1]))))
        hidden_BTH = torch.stack(steps[1:], dim=1)
        mask = dropout_mask(self.config.dropout * self.training, tuple(hidden_BTH.shape), hidden_BTH)
        both_BTX = torch.cat([masked(hidden_BTH, mask), topics_BTK], dim=-1)
        return both_BTX, RNNLDAState(token_B, steps[advance], logs[advance])

    def _logs_of_topics(self, read_BT: Tensor, topics_BK: Tensor) -> list[Tensor]:
        """Return the log of f, up to a constant, before the first word and after each word."""
        decay, logs = self.config.topic_decay, [topics_BK]
        for word_BK in self.log_topics_VK[read_BT].unbind(dim=1):
            logs.append(decay * logs[-1] + (1 - decay) * word_BK)
        return logs


BLOCK_COUNTS = 2**23  # of a table: 32 MiB in float32
ALPHA, ETA = 0.1, 0.01  # priors of a document's topics and of a topic's words; the papers do not give them
MIN_PROBABILITY = 1e-30  # of a word in a document; below it float32 loses digits


def topics_of_words(stream_N: Tensor, vocab_size: int, config: RNNLDAConfig, seed: int) -> Tensor:
    """Estimate how often each topic produced each word: (V, K), whose rows sum to the words' counts.

    This is latent Dirichlet allocation (Blei et al. 2003, JMLR 3), by batch variational Bayes. Each pass is
    the coordinate ascent of the smoothed model. With l = E[log p] under the Dirichlet posteriors::

        share of topic k in word w of document d:  phi_dwk ~ exp(l_dk) exp(l_kw)
        documents:  gamma_dk = alpha + sum over w of count_dw phi_dwk
        topics:    lambda_kw = eta + sum over d of count_dw phi_dwk

    The shares are never stored: for each block of documents both sums are matrix products with its table of
    counts. Each line of the text ends with <eos>.
    """
    K, eos, lines = config.topics, config.eos, config.document_lines
    lengths_D = torch.bincount(_documents(stream_N, eos, lines)).float()
    generator = torch.Generator().manual_seed(seed)
    counts_V = torch.bincount(stream_N, minlength=vocab_size).float()
    produced_KV = counts_V / K * (0.5 + torch.rand(K, vocab_size, generator=generator))
    gamma_DK = (ALPHA + lengths_D[:, None] / K).repeat(1, K)
    for _ in range(config.lda_passes):
        topics_KV = _expected(ETA + produced_KV)
        shares_DK = _expected(gamma_DK)
        sums_KV = torch.zeros_like(produced_KV)
        for rows, counts_BV in _blocks(stream_N, vocab_size, eos, lines):
            shares_BK = shares_DK[rows]
            ratio_BV = counts_BV.div_((shares_BK @ topics_KV).clamp_(min=MIN_PROBABILITY))
            gamma_DK[rows] = ALPHA + shares_BK * (ratio_BV @ topics_KV.t())
            sums_KV.addmm_(shares_BK.t(), ratio_BV)
        produced_KV = sums_KV.mul_(topics_KV)
    return produced_KV.t().contiguous()


def _expected(parameters: Tensor) -> Tensor:
    """Return exp(E[log p]) of Dirichlet distributions, one per row."""
    return (parameters.digamma() - parameters.sum(dim=1, keepdim=True).digamma()).exp_()


def _documents(stream_N: Tensor, eos: int, lines: int) -> Tensor:
    """Return the document of each token.

    >>> _documents(torch.tensor([5, 1, 6, 1, 7, 7, 1]), eos=1, lines=2).tolist()
    [0, 0, 0, 0, 1, 1, 1]
    """
    ends_N = (stream_N == eos).long()
    return (ends_N.cumsum(dim=0) - ends_N) // lines


def _blocks(stream_N: Tensor, vocab_size: int, eos: int, lines: int) -> Iterator[tuple[slice, Tensor]]:
    """Yield blocks of documents, each as a slice and a table of the words' counts in its documents."""
    documents_N = _documents(stream_N, eos, lines)
    count, size = int(documents_N[-1]) + 1, max(1, BLOCK_COUNTS // vocab_size)
    for first in range(0, count, size):
        end = min(first + size, count)
        begin, stop = torch.searchsorted(documents_N, torch.tensor([first, end])).tolist()
        cells_N = (documents_N[begin:stop] - first) * vocab_size + stream_N[begin:stop]
        counts = torch.bincount(cells_N, minlength=(end - first) * vocab_size)
        yield slice(first, end), counts.view(end - first, vocab_size).float()


@dataclass(frozen=True, kw_only=True)
class RecurrentHighwayConfig(SoftmaxConfig):
    """Sizes and rates; the defaults are those of the authors' code for Penn Treebank, except `tied`."""

    hidden_size: Size = 830  # H, also of the embedding
    depth: Size = 10  # D
    tied: bool = False  # the softmax takes the embedding's weights
    softmax_bias: bool = True
    type_dropout: Rate = 0.25  # of the embedding, all occurrences of a type
    input_dropout: Rate = 0.75  # of the embedding's output
    recurrent_dropout: Rate = 0.25  # of the state before R, at each depth
    output_dropout: Rate = 0.75
    transform_bias: Finite = -2.0  # b_t before training: at first most of the state is carried through
    init: Amount = 0.04  # all other weights are uniform in [-init, init]


class RecurrentHighwayState(NamedTuple):
    """The model's memory of the past, and its last token, which it has not read yet."""

    token_B: Tensor
    s_BH: Tensor


class RecurrentHighway(StreamModel[RecurrentHighwayState]):
    """Embedding, one deep recurrent layer, softmax."""

    def __init__(self, config: RecurrentHighwayConfig) -> None:
        super().__init__()
        self.config = config
        V, H, D = config.vocab_size, config.hidden_size, config.depth
        self.embedding = nn.Embedding(V, H)
        self.weight_input = nn.Parameter(torch.empty(2 * H, H))  # W
        self.weight = nn.Parameter(torch.empty(D, 2 * H, H))  # R
        self.bias = nn.Parameter(torch.empty(D, 2 * H))
        weight_VH = self.embedding.weight if config.tied else nn.Parameter(torch.empty(V, H))
        self.softmax = Softmax(weight_VH, bias=config.softmax_bias, sampled=config.sampled)
        self.draw_uniform()
        nn.init.constant_(self.bias[:, H:], config.transform_bias)

    def initial_state(self, batch_size: int) -> RecurrentHighwayState:
        """Return the state at the start of a text: zeros, and `<eos>` is the next token to read."""
        return RecurrentHighwayState(self.start(batch_size), self.zeros(batch_size, self.config.hidden_size))

    def locked_masks(self, samples: int, generator: torch.Generator) -> Masks:
        """Draw a mask per sample for a whole text, also in evaluation; see `MonteCarloDropout`."""
        shape = (samples, self.config.vocab_size)
        types = dropout_mask(self.config.type_dropout, shape, self.embedding.weight, generator)
        return self._draw_masks(samples, generator)._replace(types=types)

    def _draw_masks(self, batch: int, generator: torch.Generator | None = None) -> Masks:
        """Draw all masks except those of types."""
        config, like = self.config, self.embedding.weight
        shape = (batch, config.hidden_size)
        rates = config.input_dropout, config.recurrent_dropout, config.output_dropout
        inputs, recurrent, output = (dropout_mask(rate, shape, like, generator) for rate in rates)
        return Masks(types=None, inputs=(inputs,), recurrent=(recurrent,), output=output)

    def run(
        self, tokens_BT: Tensor, state: RecurrentHighwayState, *, advance: int, masks: Masks | None = None
    ) -> tuple[Tensor, RecurrentHighwayState]:
        """Return the outputs that predict the tokens, and the state after `advance`; see `StreamModel`."""
        read_BT, token_B = shifted(state.token_B, tokens_BT, advance)
        types_BT1 = self.dropped_types(read_BT, masks and masks.types)
        if masks is None:
            masks = self._draw_masks(len(tokens_BT)) if self.training else NO_MASKS
        values_TBH = masked(masked(self.embedding(read_BT), types_BT1).transpose(0, 1), masks.inputs[0])
        inputs_TBG = functional.linear(values_TBH, self.weight_input)
        weight_DGH = self.weight.to(product_type(self.weight))
        states_TBH = highway_steps(inputs_TBG, state.s_BH, weight_DGH, self.bias, masks.recurrent[0])
        hidden_BTH = masked(states_TBH, masks.output).transpose(0, 1)
        if not advance:
            return hidden_BTH, state
        return hidden_BTH, RecurrentHighwayState(token_B, states_TBH[advance - 1])


NO_MASKS = Masks(types=None, inputs=(None,), recurrent=(None,), output=None)
