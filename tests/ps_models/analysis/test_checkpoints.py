"""Looking inside: the components of a prediction add up to the model's own, and buckets divide the words."""

import math
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import colors as mcolors
from matplotlib.patches import Rectangle

import ps_models as pm
from ps_models.analysis.figure import colour_of, draw_sentence, save_picture
from ps_models.analysis.frequency import buckets_of, compare_by_frequency, pointing, save_figure
from ps_models.analysis.predictions import (
    _distribution,
    best_start,
    gains,
    passage_end,
    predictions,
)
from ps_models.dataset import Text
from ps_models.errors import ModelError
from ps_models.models.lstm import LSTM, LSTMConfig
from ps_models.models.pointer_sentinel import PointerSentinelConfig, PointerSentinelLSTM
from ps_models.scoring import token_nats
from ps_models.trained_model import draw_words
from tests.ps_models.tiny import make_dataset
from wikitext_builder.dataset.vocabulary import Vocabulary

WORDS = Vocabulary(("<unk>", "<eos>", "$", "<b>", "a_b", "the", "cat", "dog", "naïve", "\\frac", "^"))
V = len(WORDS)


@pytest.fixture(scope="module")
def pointer():
    torch.manual_seed(3)
    return PointerSentinelLSTM(PointerSentinelConfig(vocab_size=V, hidden_size=6, init=0.7, window=9)).eval()


@pytest.fixture(scope="module")
def lstm():
    torch.manual_seed(3)
    return LSTM(LSTMConfig(vocab_size=V, hidden_size=6, init=0.7)).eval()


TOKENS = torch.randint(V, (100,), generator=torch.Generator().manual_seed(5))


@pytest.mark.parametrize("name", ["lstm", "pointer"])
def test_predictions_are_the_models_own(request, name):
    model = request.getfixturevalue(name)
    found = list(predictions(model, TOKENS))
    ((_, nats),) = token_nats(model, [Text(TOKENS, 0)])
    assert [-math.log(p.probability) for p in found] == pytest.approx(nats.tolist(), rel=1e-4)
    for prediction in found:
        shares = [share for _, share in prediction.mixture.top]
        assert shares == sorted(shares, reverse=True)
        assert {prediction.gate is None, prediction.gain is None} == {name == "lstm"}


def test_gate_and_attention_make_one_and_point_at_the_window(pointer):
    for place, prediction in enumerate(predictions(pointer, TOKENS)):
        read = [1, *TOKENS[:place].tolist()]  # <eos> before the text
        assert list(prediction.window) == read[-9:]
        assert prediction.gate is not None
        assert prediction.gate + sum(share for _, share in prediction.attention) == pytest.approx(1, abs=0.02)
        assert prediction.pointer is not None
        assert sum((share for _, share in prediction.pointer.top), 0.0) <= 1 + 1e-6
        pointed = {prediction.window[-back] for back, _ in prediction.attention}
        assert {word for word, share in prediction.pointer.top if share > 0.01} <= pointed
        assert (prediction.pointer.rank is None) == (prediction.word not in prediction.window)


def test_the_gain_is_the_mixture_against_the_vocabulary_part_alone(pointer):
    found = list(predictions(pointer, TOKENS))
    torch.testing.assert_close(
        torch.tensor([one.gain for one in found]).double(), gains(pointer, TOKENS), atol=1e-4, rtol=0
    )
    for one in found:
        assert one.vocabulary is not None
        assert one.pointer is not None
        assert one.gate is not None
        assert one.gain is not None
        rest = one.gate * one.vocabulary.probability + (1 - one.gate) * one.pointer.probability
        assert one.probability == pytest.approx(rest, rel=1e-4)
        assert one.from_pointer == pytest.approx((1 - one.gate) * one.pointer.probability, rel=1e-3, abs=1e-7)
        assert one.gain >= math.log(one.gate) - 1e-5  # the most that the pointer can take away
        if one.word not in one.window:
            assert one.gain == pytest.approx(math.log(one.gate), abs=1e-5)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=9), st.integers(0, 4))
def test_the_rank_is_one_more_than_the_likelier_words(weights, word):
    probabilities = torch.bincount(torch.tensor([*weights, 4]), minlength=5).double()
    found = _distribution(probabilities / probabilities.sum(), word)
    likelier = sorted(probabilities.tolist(), reverse=True).index(float(probabilities[word]))
    assert found.rank == (likelier + 1 if word in (*weights, 4) else None)
    assert all(share for _, share in found.top)


TEXT = "= the cat = <eos> the dog . the cat the cat . <b> <eos> <unk> <unk> <unk> . <eos>"


def test_the_best_passage_is_where_the_pointer_helped_known_words():
    words = Vocabulary(("<unk>", "<eos>", ".", "=", "the", "cat", "dog", "<b>"))
    tokens = torch.tensor(words.encode(TEXT.split()))

    def best(gain, length):
        start = best_start(tokens, torch.tensor(gain).double(), words, length)
        return TEXT.split()[start : passage_end(tokens, words, start, length)]

    known = [0, 0, 3, 0, 0, 0, 0, 0, 2, 2, 0, 2, 0, 0, 0, 9, 9, 9, 0, 0]
    assert best(known, None) == ["the", "cat", "the", "cat", "."]
    assert best(known, 5) == ["the", "dog", ".", "the", "cat"]  # begins with a line; <unk> does not count
    assert best(known, 99) == TEXT.split()
    assert best([-1.0] * 20, 4) == ["<unk>", "<unk>", "<unk>", "."]
    assert passage_end(tokens, words, 0, None) == 5
    assert passage_end(tokens, words, 18, 50) == len(tokens)


def test_generation_follows_its_seed_and_temperature(pointer, lstm):
    def drawn(model, seed, words=9, **options):
        generator = torch.Generator().manual_seed(seed)
        return list(draw_words(model, WORDS, generator=generator, words=words, **options))

    for model in (pointer, lstm):
        assert drawn(model, 1) == drawn(model, 1) != drawn(model, 2)
        assert drawn(model, 1, temperature=0) == drawn(model, 2, temperature=0)
        assert "<unk>" in drawn(model, 1, 40, temperature=9)  # then nearly all words are equally likely
        assert "<unk>" not in drawn(model, 1, 40, temperature=9, unknown=False)
    with pytest.raises(ModelError, match="temperature"):
        drawn(lstm, 1, temperature=-1)


def test_generation_continues_its_prompt(pointer, lstm):
    prompt = ["the"] * 9  # a window full of it
    for model in (pointer, lstm):
        _, state = model(torch.tensor([WORDS.encode(prompt)]), model.initial_state(1))
        likeliest = WORDS.tokens[int(model.next_log_probs(state)[0].argmax())]
        drawn = draw_words(model, WORDS, generator=torch.Generator(), prompt=prompt, words=1, temperature=0)
        assert list(drawn) == [likeliest]


def test_generation_draws_what_the_model_says(lstm):
    log_probs = lstm.next_log_probs(lstm.initial_state(1))

    class Same:
        """Predicts every word as the LSTM predicts the first."""

        def initial_state(self, batch_size):
            return torch.zeros(batch_size, 0)

        def __call__(self, tokens, state):
            return log_probs[0][tokens], state

        def next_log_probs(self, state):
            return log_probs

    first = next(draw_words(lstm, WORDS, generator=torch.Generator().manual_seed(0), words=1))
    drawn = list(draw_words(Same(), WORDS, generator=torch.Generator().manual_seed(0), words=1500))
    assert drawn[0] == first
    shares = torch.tensor([drawn.count(token) / 1500 for token in WORDS.tokens])
    assert (shares - log_probs[0].exp()).abs().max() < 0.05  # about four standard deviations


def test_buckets_divide_the_words_by_frequency():
    counts = torch.tensor([0, 5, 100, 7, 3, 50])
    assert buckets_of(counts, 3).tolist() == [2, 1, 0, 1, 2, 0]
    for number in range(1, 7):
        parted = buckets_of(counts, number)
        assert sorted(parted.unique().tolist()) == list(range(number))
        assert max(parted.bincount()) - min(parted.bincount()) <= 1
    with pytest.raises(ModelError, match="expected 1 to 6"):
        buckets_of(counts, 7)


def test_differences_add_up_to_the_whole(lstm, pointer):
    ((_, first),) = token_nats(lstm, [Text(TOKENS, 0)])
    ((_, second),) = token_nats(pointer, [Text(TOKENS, 0)])
    gates = torch.linspace(0, 1, 100).double()
    buckets = compare_by_frequency(TOKENS, first, second, torch.bincount(TOKENS), number=4, gates=gates)
    assert sum(bucket.tokens for bucket in buckets) == 100
    total = sum((bucket.difference or 0) * bucket.tokens for bucket in buckets)
    assert total == pytest.approx(float((second - first).sum()))
    assert sum((bucket.gate or 0) * bucket.tokens for bucket in buckets) == pytest.approx(50)
    assert [bucket.least for bucket in buckets] == sorted((b.least for b in buckets), reverse=True)


def test_where_the_pointer_looks_is_what_the_predictions_say(pointer, lstm):
    found = pointing(pointer, TOKENS)
    assert found is not None
    back, right = torch.zeros(9).double(), torch.zeros(9).double()
    for prediction in predictions(pointer, TOKENS):
        for distance, share in prediction.attention:
            back[distance - 1] += share
            if prediction.window[-distance] == prediction.word:
                right[distance - 1] += share
    torch.testing.assert_close(found.back, back, rtol=0.02, atol=0.2)
    torch.testing.assert_close(found.right, right, rtol=0.02, atol=0.2)
    assert float(found.back.sum() + found.gates.sum()) == pytest.approx(100, rel=1e-5)
    assert 1 <= found.half <= 9
    assert pointing(lstm, TOKENS) is None


@pytest.mark.parametrize("ending", [".png", ".svg", ".pdf"])
def test_pictures_show_words_literally_and_are_the_same_each_time(pointer, lstm, tmp_path, ending):
    for name, model in (("pointer", pointer), ("lstm", lstm))[: 2 if ending == ".svg" else 1]:
        found = list(predictions(model, TOKENS[:20]))
        for shown in (found[-1:], found[5:])[: 2 if (ending, name) == (".svg", "pointer") else 1]:
            paths = [tmp_path / f"{name}{len(shown)}{number}{ending}" for number in range(2)]
            for path in paths:
                save_picture(path, shown, WORDS)
            assert paths[0].read_bytes() == paths[1].read_bytes()
            if ending == ".svg" and name == "pointer":
                assert "&lt;b&gt;" in paths[0].read_text()
                assert "<b>" not in paths[0].read_text()
    with pytest.raises(ModelError, match=r"gif: expected a name that ends in \.png"):
        save_picture(tmp_path / "x.gif", found, WORDS)
    with pytest.raises(ModelError, match=r"--words 80.*1 to 60"):
        save_picture(tmp_path / "x.png", found * 4, WORDS)


def test_a_sentence_is_drawn_with_its_window_inside_the_page(pointer):
    found = list(predictions(pointer, torch.cat([TOKENS[:30], torch.tensor([5] * 30)])))[20:80]
    names = [f"{'w' * 50}{number}" for number in range(9 + len(found))]  # all of them too long
    (axes,) = draw_sentence(found, WORDS, names).axes
    assert len(axes.texts) == 9 + len(found) + 1  # words, and the key
    right, low = (max(values) for values in zip(*[one.get_position() for one in axes.texts], strict=True))
    assert right < 6.5 * 72 - 50
    assert low < axes.get_ylim()[0]
    known = [one for one in found if one.word]
    boxed = max((one for one in known if one.word != 1), key=lambda one: one.gain or 0)
    assert f"gate {boxed.gate:.2f}" in axes.texts[-1].get_text()
    colours = [mcolors.to_hex(box.get_facecolor()) for box in axes.patches if isinstance(box, Rectangle)]
    assert colours[: len(known)] == [colour_of(one) for one in known]
    assert colours[len(known) + 1 :] == ["#d55e00"] * len(boxed.attention)


def test_a_sentence_of_a_model_without_a_pointer_shows_its_surprise(lstm):
    found = list(predictions(lstm, TOKENS[:20]))
    (axes,) = draw_sentence(found, WORDS).axes
    known = [one for one in found if one.word]
    colours = [mcolors.to_hex(box.get_facecolor()) for box in axes.patches]
    assert colours == [colour_of(one) for one in known]
    assert {colour_of(one) == "#ffffff" for one in known} == {one.probability > 0.1 for one in known}
    assert axes.texts[-1].get_text().startswith("Orange: a probability of at most one in 10, 100, 1,000.")


def test_the_figure_is_drawn(pointer, lstm, tmp_path):
    nats = torch.rand(100).double()
    for model in (pointer, lstm):
        found = pointing(model, TOKENS)
        gates = None if found is None else found.gates
        buckets = compare_by_frequency(TOKENS, nats, nats, torch.bincount(TOKENS), number=3, gates=gates)
        save_figure(tmp_path / "figure.svg", buckets, found, ("lstm", "a_$pointer"))
        drawn = (tmp_path / "figure.svg").read_text()
        for text in (
            "a_$pointer minus lstm",
            "0: a_$pointer is better",
            "0: lstm is better",
            "nats per token",
        ):
            assert text in drawn
        assert ("Gate of a_$pointer" in drawn) == (found is not None)
    with pytest.raises(ModelError, match=r"gif: expected a name that ends in \.png"):
        save_figure(tmp_path / "x.gif", buckets, None, ("a", "b"))


@given(
    st.lists(st.integers(0, 12), min_size=1, max_size=40).filter(any),
    st.integers(1, 40),
)
def test_no_count_is_in_two_groups(counts, number):
    """Ties at the edges of groups gave 10-11052, 5-10, 3-5 and 3-3."""
    words = torch.tensor(counts)
    nats = torch.zeros(len(words)).double()
    number = min(number, len(words))
    found = compare_by_frequency(torch.arange(len(words)), nats, nats, words, number=number)
    assert 1 <= len(found) <= number
    ends = [(one.most, one.least) for one in found]
    assert all(most >= least for most, least in ends)
    assert all(least > most for (_, least), (most, _) in pairwise(ends))
    assert sum(one.types for one in found) == sum(one.tokens for one in found) == len(words)
    assert {one.least for one in found} | {one.most for one in found} <= set(counts)


def test_words_of_one_count_are_in_the_group_of_the_first():
    counts = torch.tensor([11052, 90, 12, 10, 10, 7, 5, 5, 4, 3, 3, 3, 3, 3, 3, 3])
    nats = torch.zeros(len(counts)).double()
    found = compare_by_frequency(torch.arange(len(counts)), nats, nats, counts, number=4)
    assert [(one.label, one.types) for one in found] == [("10–11,052", 5), ("5–7", 3), ("3–4", 8)]


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("pointer-sentinel-awd-lstm", ["embedding_size=6", "hidden_size=8"]),
        ("pointer-sentinel-transformer", ["hidden_size=8", "heads=2", "layers=1", "inner_size=8"]),
    ],
)
def test_pointers_of_other_models_are_explained(tmp_path: Path, name: str, settings: list[str]) -> None:
    dataset, out = make_dataset(tmp_path), tmp_path / "run"
    pm.train(name, dataset, out, preset="small", settings=[*settings, "epochs=2"], device="cpu")
    explained = pm.explain(out, dataset, split="valid", words=5)
    assert all(one.gate is not None and 0 < one.gate < 1 for one in explained.predictions)
