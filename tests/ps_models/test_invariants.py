"""Every model keeps the laws, and models that are wrong on purpose are caught."""

import math
from dataclasses import asdict, replace
from functools import partial
from itertools import count

import pytest
import torch
from torch import Tensor

from ps_models.invariants import (
    BrokenLawError,
    Trial,
    check_language_model,
    check_trainable,
    excess,
    sum_law,
)
from ps_models.language_model import map_state, tensors_of
from ps_models.models.add_ons import MonteCarloDropout, NeuralCache, NeuralCacheConfig
from ps_models.models.awd_lstm import (
    AWDLSTM,
    AWDLSTMConfig,
    PointerSentinelAWDLSTM,
    PointerSentinelAWDLSTMConfig,
)
from ps_models.models.char_cnn import CharCNN, CharCNNConfig
from ps_models.models.lstm import LSTM, LSTMConfig, LSTMState
from ps_models.models.pointer_sentinel import PointerSentinelConfig, PointerSentinelLSTM
from ps_models.models.rnn import RNN, RecurrentHighway, RecurrentHighwayConfig, RNNConfig, RNNLDAConfig
from ps_models.models.sum_product import SumProductConfig, SumProductNetwork
from ps_models.models.transformer import (
    PointerSentinelTransformer,
    PointerSentinelTransformerConfig,
    Transformer,
    TransformerConfig,
)
from tests.ps_models.tiny import spelled, with_topics

V = 11
LSTM_CONFIG = LSTMConfig(vocab_size=V, hidden_size=8, init=0.8)
POINTER = PointerSentinelConfig(vocab_size=V, hidden_size=8, init=0.8)
GAL = replace(LSTM_CONFIG, recurrent_dropout=0.3, type_dropout=0.3, per_gate=True, zoneout=0)
RHN = RecurrentHighwayConfig(vocab_size=V, hidden_size=8, depth=3, init=0.8)
TRANSFORMER = TransformerConfig(
    vocab_size=V, hidden_size=8, layers=2, heads=2, inner_size=8, init=0.8, window=5
)
AWD = AWDLSTMConfig(vocab_size=V, embedding_size=6, hidden_size=8, init=0.8)
SPELLED = CharCNNConfig(
    vocab_size=V, hidden_size=8, init=0.8, character_size=3, widths=(1, 3), features=(4, 5), word_length=4
)
TRAINABLE = {
    "awd-lstm": lambda: AWDLSTM(AWD),
    "awd-lstm-one-layer": lambda: AWDLSTM(replace(AWD, layers=1)),
    "char-cnn": lambda: spelled_model(),
    "char-cnn-unprepared": lambda: CharCNN(SPELLED),
    "lstm": lambda: LSTM(LSTM_CONFIG),
    "lstm-tied": lambda: LSTM(replace(LSTM_CONFIG, tied=True, softmax_bias=True)),
    "lstm-adaptive": lambda: LSTM(replace(LSTM_CONFIG, hidden_size=16, cutoffs=(3, 6))),
    "lstm-sampled": lambda: LSTM(replace(LSTM_CONFIG, tied=True, sampled=4)),
    "lstm-zaremba": lambda: LSTM(replace(LSTM_CONFIG, locked=False, zoneout=0)),
    "lstm-gal": lambda: LSTM(GAL),
    "rnn": lambda: RNN(RNNConfig(vocab_size=V, hidden_size=8, init=0.8)),
    "rnn-deep": lambda: RNN(
        RNNConfig(vocab_size=V, hidden_size=8, embedding_size=5, init=0.8, deep=True, dropout=0.2)
    ),
    "rnn-lda": lambda: rnn_lda(),
    "sum-product": lambda: SumProductNetwork(SumProductConfig(vocab_size=V, hidden_size=5)),
    "sum-product-scaled": lambda: SumProductNetwork(
        SumProductConfig(vocab_size=V, context=2, hidden_size=5, powers=3, scaled=True, least_bias=0.1)
    ),
    "rhn": lambda: RecurrentHighway(RHN),
    "rhn-tied": lambda: RecurrentHighway(replace(RHN, tied=True, depth=1)),
    "transformer-1": lambda: Transformer(replace(TRANSFORMER, window=1)),
    "transformer-5": lambda: Transformer(TRANSFORMER),
    "transformer-50": lambda: Transformer(replace(TRANSFORMER, window=50, heads=1, locked=True)),
    "pointer-1": lambda: PointerSentinelLSTM(replace(POINTER, window=1)),
    "pointer-2": lambda: PointerSentinelLSTM(replace(POINTER, window=2)),
    "pointer-5": lambda: PointerSentinelLSTM(replace(POINTER, window=5)),
    "pointer-50": lambda: PointerSentinelLSTM(replace(POINTER, window=50)),
    "pointer-adaptive": lambda: PointerSentinelLSTM(replace(POINTER, cutoffs=(4,), window=5)),
    "pointer-sampled": lambda: PointerSentinelLSTM(replace(POINTER, sampled=4, window=5)),
    "pointer-tied": lambda: PointerSentinelLSTM(replace(POINTER, tied=True, window=5)),
    "pointer-awd-lstm": lambda: PointerSentinelAWDLSTM(
        PointerSentinelAWDLSTMConfig(**asdict(AWD) | {"window": 5})
    ),
    "pointer-transformer": lambda: PointerSentinelTransformer(
        PointerSentinelTransformerConfig(**asdict(TRANSFORMER) | {"pointer_window": 7})
    ),
}


def spelled_model():
    return spelled(SPELLED, ["<unk>", "<eos>", "a", "at", "attic", "né", "s", "t", "st", "ta", "tea"])


def rnn_lda():
    return with_topics(RNNLDAConfig(vocab_size=V, hidden_size=8, topics=3, init=0.8, dropout=0.2))


def cached(make):
    return NeuralCache(make().float().eval(), NeuralCacheConfig(window=4, weight=0.4))


def samples_of(make):
    return MonteCarloDropout(make().eval(), 3, torch.Generator().manual_seed(1))


CACHED = ("awd-lstm", "char-cnn", "lstm", "rnn", "rnn-lda", "rhn", "transformer-5", "pointer-5")
SAMPLED = ("lstm-gal", "rhn", "pointer-5")
ADD_ONS = {
    **{f"cache-{name}": partial(cached, TRAINABLE[name]) for name in CACHED},
    **{f"monte-carlo-{name}": partial(samples_of, TRAINABLE[name]) for name in SAMPLED},
}


@pytest.mark.parametrize("make", TRAINABLE.values(), ids=TRAINABLE)
def test_trainable_models_keep_the_laws(make):
    model = make().double().eval()
    check_language_model(model, V, tolerance=1e-10)
    check_trainable(model, V, tolerance=1e-10)


@pytest.mark.parametrize("name", TRAINABLE)
def test_under_autocast_all_but_products_is_in_single_precision(name):
    model, tokens = TRAINABLE[name]().float().eval(), torch.randint(V, (2, 20))
    exact, _ = model.loss(tokens, model.initial_state(2))
    with torch.autocast("cpu", torch.bfloat16):
        nats, state = model.loss(tokens, model.initial_state(2))
        if isinstance(model, AWDLSTM | PointerSentinelAWDLSTM):
            assert model.loss_and_penalty(tokens, state)[1].dtype == torch.float32
    assert nats.dtype == torch.float32
    assert {one.dtype for one in tensors_of(state) if one.is_floating_point()} <= {torch.float32}
    assert not torch.equal(nats, exact)
    near = 0.1 if name == "pointer-transformer" else 0.05
    torch.testing.assert_close(nats, exact, rtol=near, atol=near)
    nats.mean().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name


@pytest.mark.parametrize("make", TRAINABLE.values(), ids=TRAINABLE)
def test_gradients_end_at_the_state_that_a_training_step_hands_on(make):
    model, tokens = make(), torch.randint(V, (2, 5))
    state = model.loss(tokens, model.initial_state(2))[1]
    nats, following = model.loss(tokens, state)
    assert nats.requires_grad
    assert tensors_of(following)
    assert not any(tensor.requires_grad for tensor in tensors_of(state) + tensors_of(following))


@pytest.mark.parametrize("make", ADD_ONS.values(), ids=ADD_ONS)
def test_add_ons_keep_the_laws(make):
    check_language_model(make(), V, tolerance=1e-5)


class Wrong(LSTM):
    """An LSTM whose scores and state are changed, given the tokens and the state before them."""

    def __init__(self, change):
        super().__init__(LSTM_CONFIG)
        self.change = change

    def forward(self, tokens, state, masks=None):
        return self.change(*super().forward(tokens, state), tokens, state)

    def next_log_probs(self, state):
        raise AttributeError("words are scored one by one", name="next_log_probs")


class Forgetful(LSTM):
    def forward(self, tokens, state, masks=None):
        return super().forward(tokens, self.initial_state(len(tokens)))


class UniformNext(LSTM):
    def next_log_probs(self, state):
        return super().next_log_probs(state).mean(dim=-1, keepdim=True).expand(-1, V)


def only_scores(change):
    return lambda: Wrong(lambda scores, after, tokens, _: (change(scores, tokens), after))


def only_state(change):
    return lambda: Wrong(lambda scores, after, *_: (scores, change(after)))


def unnormalised_at_first(scores, after, tokens, before):
    first = (before.h_BLH[:, :1, 0] == 0) & (torch.arange(tokens.shape[1]) == 0)
    return scores - 0.1 * first, after


def changing_its_state(scores, after, _, before):
    before.h_BLH.add_(1)
    return scores, after


def remembering():
    calls = count()
    return Wrong(lambda scores, after, *_: (scores - 1e-3 * next(calls), after))


WRONG = {
    "peeking": (
        only_scores(lambda scores, tokens: scores - (tokens.roll(-1, dims=1) == 0).float()),
        "^chunks|^future",
    ),
    "peeking at the length": (only_scores(lambda scores, tokens: scores - tokens.shape[1] / 100), "^chunks"),
    "forgetful": (lambda: Forgetful(LSTM_CONFIG), "^chunks"),
    "forgetting the token": (
        only_state(lambda after: after._replace(token_B=torch.zeros_like(after.token_B))),
        "^chunks",
    ),
    "unnormalised": (only_scores(lambda scores, _: scores * 1.1), "^sum: "),
    "unnormalised at first": (lambda: Wrong(unnormalised_at_first), "^sum: "),
    "probabilities": (only_scores(lambda scores, _: scores.exp()), "none above 0"),
    "of each word": (
        only_scores(lambda scores, _: scores[..., None].expand(-1, -1, V)),
        "one for each token",
    ),
    "batch normalised": (
        only_state(lambda after: after._replace(h_BLH=after.h_BLH - after.h_BLH.mean(dim=0))),
        "^chunks|^batch",
    ),
    "changing its state": (lambda: Wrong(changing_its_state), "state changed"),
    "remembering": (remembering, "call to call"),
    "next words": (lambda: UniformNext(LSTM_CONFIG), "next_log_probs"),
    "not a number": (only_scores(lambda scores, _: scores.log()), "finite"),
}


@pytest.mark.parametrize(("make", "law"), WRONG.values(), ids=WRONG)
def test_wrong_models_are_caught(make, law):
    with pytest.raises(BrokenLawError, match=law):
        check_language_model(make().eval(), V)


def test_an_open_vocabulary_sums_to_less_than_one_and_has_the_other_laws():
    """The last one is wrong between rows only: a score depends on the words at its place in the others."""
    model = only_scores(lambda scores, _: scores - 0.01)().eval()
    check_language_model(model, V, open_vocabulary=True)
    with pytest.raises(BrokenLawError, match=r"^sum: "):
        check_language_model(model, V)
    mixed = only_scores(lambda scores, tokens: scores + (tokens == 0).float().mean(dim=0) * 0.1 - 0.1)()
    with pytest.raises(BrokenLawError, match=r"^batch: "):
        check_language_model(mixed.eval(), V, open_vocabulary=True)


def test_a_model_in_training_mode_is_caught():
    with pytest.raises(BrokenLawError, match="evaluation mode"):
        check_language_model(LSTM(LSTM_CONFIG), V)


class AveragedLoss(LSTM):
    def loss(self, tokens, state, scored=None, advance=None):
        nats, state = super().loss(tokens, state, scored, advance)
        return nats.mean(), state


class LossOfTheFirst(LSTM):
    def loss(self, tokens, state, scored=None, advance=None):
        nats, state = super().loss(tokens, state, None, advance)
        return nats[:, :scored], state


class StateOfTheEnd(LSTM):
    def loss(self, tokens, state, scored=None, advance=None):
        return super().loss(tokens, state, scored, None)


class InfiniteGradients(LSTM):
    def loss(self, tokens: Tensor, state: LSTMState, scored=None, advance=None):
        nats, state = super().loss(tokens, state, scored, advance)
        return nats + 0 * self.embedding.weight.sub(self.embedding.weight).sqrt().sum(), state


@pytest.mark.parametrize(
    ("wrong", "found"),
    [
        (AveragedLoss, r"^loss: found shape \(\)"),
        (LossOfTheFirst, r"^loss: scores differ .* in loss\(scored=1\)"),
        (StateOfTheEnd, r"^loss: scores differ .* after loss\(advance=0\)"),
        (InfiniteGradients, "^gradients: that of embedding.weight is not finite"),
    ],
)
def test_wrong_losses_are_caught(wrong, found):
    with pytest.raises(BrokenLawError, match=found):
        check_trainable(wrong(LSTM_CONFIG).eval(), V)


def test_a_state_of_other_things_is_refused():
    with pytest.raises(TypeError, match="list"):
        map_state(Tensor.clone, [torch.zeros(1)])


class _Whole:
    """Many words, all as likely, and known in one call; off by a factor where it is told to be."""

    def __init__(self, *, whole: float = 1.0, alone: float = 1.0) -> None:
        self.whole, self.alone, self.size, self.calls = math.log(whole), math.log(alone), 50_000, 0

    def initial_state(self, batch_size: int) -> Tensor:
        return torch.zeros(batch_size, 1)

    def __call__(self, tokens: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        self.calls += tokens.numel()
        return torch.full(tokens.shape, self.alone - math.log(self.size)).double(), state

    def next_log_probs(self, state: Tensor) -> Tensor:
        return torch.full((len(state), self.size), self.whole - math.log(self.size)).double()


@pytest.mark.parametrize(
    ("factors", "broken"),
    [
        ({}, ""),
        ({"whole": 1.05, "alone": 1.05}, "the probabilities of 50000 words sum to 1.050000 after 0 tokens"),
        ({"alone": 1.05}, "scores differ by up to 0.0488 nats from `next_log_probs` after 0 tokens"),
    ],
)
def test_a_sum_over_many_words_takes_one_call(factors, broken):
    model = _Whole(**factors)
    trial = Trial(model=model, tokens=torch.zeros(1, 20).long(), vocab_size=model.size, tolerance=1e-3)
    assert next(filter(None, sum_law(trial)), "") == broken
    assert model.calls <= 2 * 256 + 20


@pytest.mark.parametrize("shape", ["zipf", "uniform", "peaked"])
def test_estimated_sums_have_no_bias_and_are_not_too_large_by_chance(shape):
    """10,000 words, of which 600 are drawn by Zipf's law, for whatever a model's distribution is."""
    size, generator = 10_000, torch.Generator().manual_seed(3)
    ranks = torch.arange(1, size + 1).double()
    chances, weights = 1 / ranks, {"zipf": ranks**-1.1, "uniform": ranks**0, "peaked": ranks**-1.1}[shape]
    if shape == "peaked":  # as a cache is: a few random words have a tenth of the probability
        weights[torch.randint(size, (100,), generator=generator)] += weights.sum() / 1000
    chances, probabilities = chances / chances.sum(), weights / weights.sum()
    estimates = []
    for _ in range(2000):
        drawn = torch.multinomial(chances, 600, replacement=True, generator=generator)
        trial = Trial(model=None, tokens=drawn, vocab_size=size, tolerance=1e-3, chances=chances[drawn])
        estimates.append(trial.estimate(torch.empty(0), probabilities[drawn].log()))
        assert not excess(estimates[-1:], "")
    totals, errors = torch.tensor(estimates).double().T
    assert abs(float(totals.mean()) - 1) < 4 * float(totals.std()) / 2000**0.5
    assert not excess(estimates, "")
    assert float(totals.std()) < 1.5 * float(errors.mean())
    assert excess([(total * 1.2, error) for total, error in estimates[:100]], "")
