"""Each model against a plain loop over its equations, word by word: scores and gradients."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from ps_models.models.char_cnn import CharCNN, CharCNNConfig
from ps_models.models.lstm import LSTM, LSTMConfig
from ps_models.models.rnn import (
    RNN,
    RNNLDA,
    RecurrentHighway,
    RecurrentHighwayConfig,
    RNNConfig,
    RNNLDAConfig,
)
from ps_models.models.sum_product import SumProductConfig, SumProductNetwork
from ps_models.models.transformer import POSITIONS_AT_ONCE, Transformer, TransformerConfig
from tests.ps_models.tiny import after_an_update, assert_same, spelled, with_norms, with_topics

WORDS = ("<unk>", "<eos>", "a", "cat", "cats", "naïve", "tac", "incomprehensible")
V, EOS = len(WORDS), 1
# The words read so far and the state before the last: log p of every word as the next, and the state after.
Step = Callable[[Any, Sequence[int], Any], tuple[Tensor, Any]]


def linear(part: Any, x: Tensor) -> Any:
    return part.weight @ x if part.bias is None else part.weight @ x + part.bias


def rnn(model: RNN, read: Sequence[int], h: Any) -> tuple[Tensor, Any]:
    h = torch.zeros(5).double() if h is None else h
    column = model.embedding.weight[read[-1]]
    if model.projection is not None:
        column = model.projection.weight @ column
    output = new = torch.sigmoid(column + linear(model.recurrent, h))
    if model.config.deep:
        assert model.shortcut is not None
        new = torch.sigmoid(linear(model.transition, new) + model.shortcut.weight @ h)
        output = torch.sigmoid(linear(model.deep_output, new))
    return linear(model.softmax, output).log_softmax(0), new


def rnn_lda(model: RNNLDA, read: Sequence[int], h: Any) -> tuple[Tensor, Any]:
    f, h = torch.ones(3).double(), torch.zeros(5).double() if h is None else h
    for back, word in enumerate(reversed(read)):
        f = f * model.log_topics_VK.exp()[word] ** (0.3 * 0.7**back)
    f = f / f.sum()
    x = model.embedding.weight[read[-1]]
    h = torch.sigmoid(x + linear(model.recurrent, h) + model.topics.weight @ f)
    return linear(model.softmax, torch.cat([h, f])).log_softmax(0), h


def rhn(model: RecurrentHighway, read: Sequence[int], s: Any) -> tuple[Tensor, Any]:
    s = torch.zeros(5).double() if s is None else s
    for d in range(model.config.depth):
        gates = model.weight[d] @ s + model.bias[d]
        if d == 0:
            gates = gates + model.weight_input @ model.embedding.weight[read[-1]]
        h, t = torch.tanh(gates[:5]), torch.sigmoid(gates[5:])
        s = h * t + s * (1 - t)
    return linear(model.softmax, s).log_softmax(0), s


def letters_of(model: CharCNN, word: str) -> Tensor:
    """The vector of a word."""
    words, widest = model.words, max(model.config.widths)
    codes = [0xFE, *word.encode()[: model.config.word_length], 0xFF]
    letters = [words.letters.weight[code] for code in codes] + [torch.zeros(3).double()] * widest
    y = []
    for bank in words.filters:
        for taps, b in zip(bank.weight, bank.bias, strict=True):  # type: ignore[arg-type]
            w = taps.shape[1]
            places = range(len(letters) - w + 1)
            sums = [sum((letters[i + j] * taps[:, j]).sum() for j in range(w)) for i in places]
            y.append(torch.stack([torch.tanh(each + b) for each in sums]).max())
    z = torch.stack(y)
    for highway in words.highways:
        t = torch.sigmoid(linear(highway.gate, z))
        z = t * torch.relu(linear(highway.transform, z)) + (1 - t) * z
    return z


def lstm(model: LSTM, read: Sequence[int], state: Any, x: Any = None) -> tuple[Tensor, Any]:
    """Zoneout acts by its rates; `x` is the vector of the last word."""
    rates, after = model.config, []
    x = model.embedding.weight[read[-1]] if x is None else x
    for layer, (h, c) in zip(model.layers, state or [[torch.zeros(5).double()] * 2] * 2, strict=True):
        gates: Any = layer.weight_ih @ x + layer.weight_hh @ h + layer.bias
        i, f, g, o = gates.chunk(4)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        x = o.sigmoid() * c.tanh()
        h = rates.zoneout * h + (1 - rates.zoneout) * x
        after.append((h, c))
    return linear(model.softmax, x).log_softmax(0), after


def char_cnn(model: CharCNN, read: Sequence[int], state: Any) -> tuple[Tensor, Any]:
    return lstm(model.lstm, read, state, letters_of(model, WORDS[read[-1]]))


def norm(of: Any, x: Tensor) -> Any:
    return (x - x.mean()) / (x.var(unbiased=False) + of.eps).sqrt() * of.weight + of.bias


def turn(x: Tensor, position: int) -> Tensor:
    """Pairs of units as complex numbers, each rotated by its angle."""
    half = len(x) // 2
    numbers = torch.complex(x[:half], x[half : 2 * half])
    angles = position * torch.tensor([10_000.0 ** (-i / half) for i in range(half)], dtype=torch.float64)
    new = numbers * torch.polar(torch.ones_like(angles), angles)
    return torch.cat([new.real, new.imag, x[2 * half :]])


def attended(layer: Any, history: Sequence[Tensor]) -> Any:
    """What a layer returns at the last position, after reading all positions."""
    hidden, heads, window = layer.config.hidden_size, layer.config.heads, layer.config.window
    size, now = hidden // heads, len(history) - 1
    query = layer.query.weight @ norm(layer.attention_norm, history[now])
    mixed = []
    for head in range(heads):
        part = slice(head * size, (head + 1) * size)
        scores, values = [], []
        for position in range(max(0, now - window + 1), now + 1):
            n = norm(layer.attention_norm, history[position])
            key = (layer.key_value.weight[:hidden] @ n)[part]
            scores.append(turn(query[part], now) @ turn(key, position) / math.sqrt(size))
            values.append((layer.key_value.weight[hidden:] @ n)[part])
        attention = torch.stack(scores).softmax(0)
        mixed.append(sum(a * v for a, v in zip(attention, values, strict=True)))
    middle = history[now] + layer.output.weight @ torch.cat(mixed)
    return middle + linear(layer.down, linear(layer.up, norm(layer.inner_norm, middle)).clamp(min=0))


def transformer(model: Transformer, read: Sequence[int], histories: Any) -> tuple[Tensor, Any]:
    x = model.embedding.weight[read[-1]] * math.sqrt(model.config.hidden_size)
    after = []
    for layer, history in zip(model.layers, histories or [[]] * len(model.layers), strict=True):
        after.append([*history, x])
        x = attended(layer, after[-1])
    logits = linear(model.softmax, norm(model.norm, x))
    return logits.log_softmax(0), after


def sum_product(model: SumProductNetwork, read: Sequence[int], _: None) -> tuple[Tensor, None]:
    """The quotients of the network, each node written out."""
    config = model.config
    unit, powers = 1.0, [1.0] * (config.powers + 1)  # what the weights are multiples of
    if config.scaled:
        unit = 1 / (config.context * config.hidden_size)
        powers = torch.tensor([1 / math.factorial(k) for k in range(config.powers + 1)]).tolist()
    context = [*[EOS] * config.context, *read][-config.context :]
    h = torch.cat([model.similarity.weight[x].clamp(min=0) for x in context])
    sums = []
    for mixing, c in zip(model.mixing.clamp(min=0), model.coefficients.clamp(min=0), strict=True):
        m = (mixing * unit * h).sum()
        s = (c[0] * powers[0]).clamp(min=config.least_bias)
        for k in range(1, config.powers + 1):
            s = s + c[k] * powers[k] * m**k
        sums.append(s)
    return (torch.stack(sums) / torch.stack(sums).sum()).log(), None


SIZES: dict[str, Any] = {"vocab_size": V, "hidden_size": 5}
SPELLED = CharCNNConfig(
    **SIZES, init=0.7, widths=(1, 2, 4), features=(2, 3, 4), character_size=3, word_length=9
)
LDA = RNNLDAConfig(**SIZES, topics=3, init=0.9, topic_decay=0.7)


def network(*, scaled: bool) -> SumProductNetwork:
    config = SumProductConfig(vocab_size=V, context=3, hidden_size=4, powers=5, scaled=scaled)
    return after_an_update(config)


def attention(window: int, hidden: int) -> Transformer:
    sizes: dict[str, Any] = {"layers": 3, "heads": 2, "inner_size": 10, "softmax_bias": True}
    config = TransformerConfig(vocab_size=V, hidden_size=hidden, window=window, init=0.5, **sizes)
    return with_norms(config)


def gated(**more: Any) -> LSTM:
    return LSTM(LSTMConfig(**SIZES, init=0.9, **more))


def simple(**more: Any) -> RNN:
    return RNN(RNNConfig(**SIZES, init=0.9, **more))


def highway(*, tied: bool) -> RecurrentHighway:
    return RecurrentHighway(RecurrentHighwayConfig(**SIZES, depth=3, init=0.9, tied=tied))


MODELS: dict[str, tuple[Callable[[], Any], Step]] = {
    "char-cnn": (lambda: spelled(SPELLED, WORDS), char_cnn),
    "lstm": (lambda: gated(zoneout=0), lstm),
    "lstm-zoneout": (lambda: gated(zoneout=0.4, softmax_bias=True), lstm),
    "rhn": (lambda: highway(tied=False), rhn),
    "rhn-tied": (lambda: highway(tied=True), rhn),
    "rnn": (simple, rnn),
    "rnn-deep": (lambda: simple(deep=True), rnn),
    "rnn-deep-embedding": (lambda: simple(deep=True, embedding_size=4), rnn),
    "rnn-lda": (lambda: with_topics(LDA), rnn_lda),
    "sum-product": (lambda: network(scaled=False), sum_product),
    "sum-product-scaled": (lambda: network(scaled=True), sum_product),
    "transformer-1": (lambda: attention(1, 12), transformer),  # heads of 6
    "transformer-2": (lambda: attention(2, 12), transformer),
    "transformer-4": (lambda: attention(4, 10), transformer),  # of 5
    "transformer-30": (lambda: attention(30, 10), transformer),
}


@pytest.mark.parametrize(("make", "step"), MODELS.values(), ids=MODELS)
def test_a_model_is_its_equations(make, step, monkeypatch):
    monkeypatch.setattr("ps_models.layers.softmax.CPU_NUMBERS", 5 * V)  # sum-product: five rows at once
    torch.manual_seed(9)
    model = make().double().eval()
    words = [*range(V), *torch.randint(V, (4,)).tolist()]  # each of them is read
    found, _ = model(torch.tensor([words]), model.initial_state(1))
    read, state, scores = [EOS], None, []
    for word in words:
        log_probs, state = step(model, read, state)
        scores.append(log_probs[word])
        read.append(word)
    assert_same(found[0], torch.stack(scores), model.parameters())


def test_blocks_of_a_transformers_attention_do_not_matter():
    model = attention(4, 12).double().eval()
    tokens = torch.randint(V, (1, 2 * POSITIONS_AT_ONCE + 37))
    whole, _ = model(tokens, model.initial_state(1))
    state, parts = model.initial_state(1), []
    for chunk in torch.split(tokens, 50, dim=1):
        scores, state = model(chunk, state)
        parts.append(scores)
    torch.testing.assert_close(torch.cat(parts, dim=1), whole, rtol=0, atol=1e-10)
