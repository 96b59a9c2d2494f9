"""The number does not depend on how the text was cut."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ps_models.analysis.predictions import Prediction, predictions
from ps_models.dataset import Text, to_rows
from ps_models.errors import ModelError
from ps_models.language_model import tensors_of
from ps_models.models import MODELS
from ps_models.models.lstm import LSTM, LSTMConfig
from ps_models.models.pointer_sentinel import PointerSentinelConfig, PointerSentinelLSTM
from ps_models.scoring import read_up_to, score_rows, score_texts, token_nats
from ps_models.signature import Score
from ps_models.trained_model import draw_words
from wikitext_builder.dataset.vocabulary import Vocabulary

V = 11


@pytest.fixture(params=["lstm", "pointer-sentinel-lstm"], scope="module")
def model(request):
    torch.manual_seed(3)
    config_class, module = MODELS[request.param]
    return module(config_class(vocab_size=V, hidden_size=6, init=0.5)).double()


def texts(lengths):
    generator = torch.Generator().manual_seed(sum(lengths))
    return [Text(torch.randint(V, (length,), generator=generator), 3 * length) for length in lengths]


@given(
    lengths=st.lists(st.integers(1, 40), min_size=1, max_size=5),
    chunk=st.integers(1, 50),
    batch=st.integers(1, 6),
)
@settings(max_examples=10, deadline=None)
@pytest.mark.parametrize("context", ["carried", "article"])
def test_chunks_and_batches_do_not_matter(model, context, lengths, chunk, batch):
    whole = score_texts(model, texts(lengths), context=context, chunk=1000, batch=1)
    parts = score_texts(model, texts(lengths), context=context, chunk=chunk, batch=batch)
    assert [score.tokens for score in parts] == lengths
    assert [score.nats for score in parts] == pytest.approx([score.nats for score in whole], rel=1e-10)


@given(length=st.integers(1, 60), count=st.integers(1, 7), call_tokens=st.integers(1, 50))
@settings(max_examples=10, deadline=None)
def test_each_row_is_scored_as_a_text_of_its_own(model, length, count, call_tokens):
    (text,) = texts([max(length, count)])
    alone = [score_texts(model, [Text(row, 0)])[0] for row in text.tokens.tensor_split(count)]
    score = score_rows(model, to_rows(text.tokens, count), call_tokens=call_tokens)
    assert score.tokens == len(text.tokens)
    assert score.nats == pytest.approx(sum(row.nats for row in alone), rel=1e-10)
    assert model.training


def test_carried_is_one_pass_over_all_and_article_starts_without_context(model):
    parts = texts([7, 30, 12])
    joined = Text(torch.cat([text.tokens for text in parts]), 0)
    carried = sum(score_texts(model, parts), Score())
    assert carried.nats == pytest.approx(score_texts(model, [joined])[0].nats, rel=1e-12)
    alone = [score_texts(model, [text])[0].nats for text in parts]
    assert [score.nats for score in score_texts(model, parts, context="article")] == pytest.approx(
        alone, rel=1e-12
    )
    assert carried.nats != pytest.approx(sum(alone), rel=1e-6)


def test_each_token_is_what_running_the_whole_text_before_it_says():
    torch.manual_seed(0)
    model = PointerSentinelLSTM(
        PointerSentinelConfig(vocab_size=V, hidden_size=6, init=0.5, window=5)
    ).double()
    text = texts([25])[0]
    ((_, nats),) = token_nats(model, [text], chunk=4)
    for place in range(25):
        state = read_up_to(model, text.tokens[:place])
        model.eval()
        assert -model.next_log_probs(state)[0, text.tokens[place]].item() == pytest.approx(nats[place].item())


@pytest.mark.parametrize("context", ["carried", "article"])
def test_between_two_items_the_model_is_in_the_callers_mode(context):
    """A caller may train between two texts, words or predictions."""
    torch.manual_seed(0)
    config = LSTMConfig(vocab_size=V, hidden_size=6, init=0.5, output_dropout=0.5)
    model, (text,) = LSTM(config).train(), texts([9])
    words = Vocabulary(tuple(map(str, range(V))))
    drawn = draw_words(model, words, generator=torch.Generator().manual_seed(1), words=3)
    nats = list[float]()
    for item in (token_nats(model, [text, text], context=context), drawn, predictions(model, text.tokens)):
        for found in item:
            assert model.training
            nats += [-math.log(found.probability)] if isinstance(found, Prediction) else []
    assert sum(nats) == pytest.approx(score_texts(model, [text])[0].nats)


def test_nothing_is_dropped_while_texts_are_read_and_the_mode_is_restored():
    torch.manual_seed(0)
    config = LSTMConfig(vocab_size=V, hidden_size=6, init=0.5, input_dropout=0.5, output_dropout=0.5)
    model, parts = LSTM(config), texts([600, 7])
    found = []
    for training in (True, False):
        model.train(training)
        scores = [score_texts(model, parts, context=context) for context in ("carried", "article")]
        found.append((scores, tensors_of(read_up_to(model, parts[0].tokens))))  # more than one chunk
        assert model.training is training
        assert [sum(part, Score()).bytes for part in scores] == [3 * 607] * 2
    assert found[0][0] == found[1][0]
    _, expected = model(parts[0].tokens[None], model.initial_state(1))
    for _, states in found:
        torch.testing.assert_close(states, tensors_of(expected))
    with pytest.raises(ModelError, match="carried or article"):
        score_texts(model, parts, context="window")


def test_a_float32_sum_does_not_drift():
    class Table:
        """Scores in float32 that differ from word to word."""

        def initial_state(self, batch_size):
            return torch.zeros(batch_size, 0)

        def __call__(self, tokens, state):
            return torch.linspace(-7, -0.1, V)[tokens], state

    text = texts([20_000])[0]
    ((_, nats),) = token_nats(Table(), [text])
    assert score_texts(Table(), [text], chunk=64)[0].nats == pytest.approx(float(nats.sum()), rel=1e-6)
    assert nats.dtype == torch.float64


@pytest.mark.parametrize(
    ("context", "shapes"),
    [("carried", [(1, 3), (1, 2), (1, 2), (1, 3)]), ("article", [(2, 3), (2, 2), (1, 3)])],
)
def test_a_call_has_at_most_as_many_tokens_and_rows_as_chunk_and_batch_say(model, context, shapes):
    seen = []
    handle = model.register_forward_pre_hook(lambda _, inputs: seen.append(tuple(inputs[0].shape)))
    score_texts(model, texts([5, 2, 3]), context=context, chunk=3, batch=2)
    handle.remove()
    assert seen == shapes


def test_the_progress_counts_the_tokens_and_shows_the_perplexity_so_far(model):
    parts, seen = texts([5, 4]), []
    scores = score_texts(model, parts, chunk=3, progress=lambda *report: seen.append(report), total=9)
    first, both = scores[0].perplexity, sum(scores, Score()).perplexity
    assert seen == [
        ("evaluate", 3, 9, ""),  # within a text there is nothing new to show
        ("evaluate", 5, 9, f"perplexity {first:.2f}"),
        ("evaluate", 8, 9, f"perplexity {first:.2f}"),
        ("evaluate", 9, 9, f"perplexity {both:.2f}"),
    ]


class Elsewhere(torch.nn.Module):
    """A model on a device that has no numbers, which is in every machine: each word has probability 1."""

    def initial_state(self, batch_size):
        return torch.zeros(batch_size, device="meta")

    def forward(self, tokens, state):
        assert tokens.device == state.device
        return torch.zeros(tokens.shape), state


@pytest.mark.parametrize("context", ["carried", "article"])
def test_tokens_are_read_where_the_model_is(context):
    parts = texts([5, 2])
    scores = score_texts(Elsewhere(), parts, context=context, device="meta")
    assert [(score.nats, score.tokens) for score in scores] == [(0, 5), (0, 2)]
    assert read_up_to(Elsewhere(), parts[0].tokens, device="meta").device.type == "meta"
    with pytest.raises(AssertionError):
        score_texts(Elsewhere(), parts, context=context)
