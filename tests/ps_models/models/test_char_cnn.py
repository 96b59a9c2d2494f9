"""The character-aware model: spellings, what is computed once, checkpoints."""

import pytest
import torch

import ps_models as pm
from ps_models.errors import ModelError
from ps_models.models.char_cnn import CharCNN, CharCNNConfig, spelled
from tests.ps_models import tiny
from tests.ps_models.tiny import assert_resumes, make_dataset, settings_of

WORDS = ("<unk>", "<eos>", "a", "cat", "cats", "naïve", "tac", "incomprehensible")
CONFIG = CharCNNConfig(
    vocab_size=len(WORDS),
    hidden_size=5,
    init=0.7,
    character_size=3,
    widths=(1, 2, 4),
    features=(2, 3, 4),
    word_length=9,
)


def spelled_model():
    return tiny.spelled(CONFIG, WORDS).double()


def test_convolutions_are_computed_once_per_distinct_word():
    model = spelled_model()
    rows: list[int] = []
    model.words.letters.register_forward_hook(lambda module, args, output: rows.append(len(output)))
    model.words(torch.tensor([[3, 3, 4, 2], [4, 4, 3, 3]]))
    assert rows == [3]


def test_words_of_a_gpu_are_not_looked_at_and_have_the_same_vectors(monkeypatch):
    words, ids = spelled_model().words, torch.randint(len(WORDS), (3, 7))
    wanted = words(ids)
    monkeypatch.setattr("ps_models.models.char_cnn.reads_without_waiting", lambda _: False)
    torch.testing.assert_close(words(ids), wanted)


def test_the_fill_letter_stays_a_vector_of_zeros():
    model = spelled_model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    for _ in range(3):
        nats, _ = model.loss(torch.tensor([[2, 3, 7]]), model.initial_state(1))
        optimizer.zero_grad()
        nats.sum().backward()
        optimizer.step()
    assert model.words.letters.weight[0].abs().max() == 0
    assert model.words.letters.weight[0xFE].abs().min() > 0


def test_highways_carry_most_at_first():
    model = CharCNN(CharCNNConfig(vocab_size=9))
    for name, parameter in model.words.highways.named_parameters():
        assert parameter.mean().item() == pytest.approx(-2 if name.endswith("gate.bias") else 0, abs=0.01)


def test_checkpoints_keep_spellings_and_a_stopped_run_resumes_to_the_same_result(tmp_path):
    dataset = make_dataset(tmp_path)
    settings = settings_of("char-cnn", "widths=1,3", "features=4,6", "word_length=7", "epochs=1")
    saved = assert_resumes("char-cnn", dataset, tmp_path, settings, 13)
    assert torch.equal(saved.weights["words.codes_VC"], spelled(saved.vocabulary.tokens, 7))
    with pytest.raises(ModelError, match="the same number"):
        pm.train("char-cnn", dataset, tmp_path / "no", settings=[*settings, "widths=1"], device="cpu")
    found = pm.evaluate(tmp_path / "whole", dataset, split="valid", device="cpu")
    assert found.score.perplexity < 60  # of about 50 words
