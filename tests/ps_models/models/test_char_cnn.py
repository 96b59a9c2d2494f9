"""The character-aware model against a plain loop over its equations; spellings; its sizes in the paper."""

import pytest
import torch

import ps_models as pm
from ps_models.configs import make_configs, make_model
from ps_models.errors import ModelError
from ps_models.models.char_cnn import CharCNN, CharCNNConfig, spelled
from ps_models.training.checkpoint import LAST, read_checkpoint
from ps_models.training.loop import RunLimits, StoppedError
from tests.ps_models.tiny import make_dataset, settings_of
from wikitext_builder.dataset.vocabulary import Vocabulary

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
    model = CharCNN(CONFIG).double()
    model.prepare(torch.arange(3), Vocabulary(WORDS), seed=1)
    return model


def vector_by_equations(model, word):
    words, widest = model.words, max(model.config.widths)
    codes = [0xFE, *word.encode()[: model.config.word_length], 0xFF]
    letters = [words.letters.weight[code] for code in codes] + [torch.zeros(3).double()] * widest
    y = []
    for bank in words.filters:
        for taps, b in zip(bank.weight, bank.bias, strict=True):
            w = taps.shape[1]
            f = [
                torch.tanh(sum((letters[i + j] * taps[:, j]).sum() for j in range(w)) + b)
                for i in range(len(letters) - w + 1)
            ]
            y.append(torch.stack(f).max())
    z = torch.stack(y)
    for highway in words.highways:
        t = torch.sigmoid(highway.gate.weight @ z + highway.gate.bias)
        z = t * torch.relu(highway.transform.weight @ z + highway.transform.bias) + (1 - t) * z
    return z


def test_the_vector_of_a_word_is_the_equations_and_so_is_its_gradient():
    torch.manual_seed(3)
    model = spelled_model()
    ours = model.words(torch.arange(len(WORDS))[None])[0]
    theirs = torch.stack([vector_by_equations(model, word) for word in WORDS])
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
    weights = torch.randn_like(ours)
    parameters = list(model.words.parameters())
    grads = [torch.autograd.grad((values * weights).sum(), parameters) for values in (ours, theirs)]
    for one, other in zip(*grads, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-11)


def test_the_model_is_an_lstm_over_these_vectors():
    torch.manual_seed(4)
    model = spelled_model().eval()
    tokens = torch.randint(len(WORDS), (1, 9))
    scores, _ = model(tokens, model.initial_state(1))
    h, c = ([torch.zeros(5).double()] * 2 for _ in range(2))
    read = 1
    for token, score in zip(tokens[0].tolist(), scores[0], strict=True):
        x = vector_by_equations(model, WORDS[read])
        for index, layer in enumerate(model.lstm.layers):
            i, f, g, o = (layer.weight_ih @ x + layer.weight_hh @ h[index] + layer.bias).chunk(4)
            c[index] = f.sigmoid() * c[index] + i.sigmoid() * g.tanh()
            h[index] = x = o.sigmoid() * c[index].tanh()
        logits = model.lstm.softmax.weight @ x + model.lstm.softmax.bias
        torch.testing.assert_close(score, logits.log_softmax(0)[token], rtol=0, atol=1e-12)
        read = token


def test_a_words_vector_does_not_depend_on_the_others_of_a_call():
    torch.manual_seed(5)
    model = spelled_model()
    together = model.words(torch.arange(len(WORDS))[None])[0]
    for word in range(len(WORDS)):
        torch.testing.assert_close(model.words(torch.tensor([[word]]))[0, 0], together[word])


def test_convolutions_are_computed_once_per_distinct_word():
    model = spelled_model()
    rows: list[int] = []
    model.words.letters.register_forward_hook(lambda module, args, output: rows.append(len(output)))
    model.words(torch.tensor([[3, 3, 4, 2], [4, 4, 3, 3]]))
    assert rows == [3]


def test_spellings_are_bytes_between_marks_and_are_cut_if_too_long():
    assert [bytes(row).strip(b"\0") for row in spelled(WORDS, 9).tolist()] == [
        b"\xfe<unk>\xff",
        b"\xfe<eos>\xff",
        b"\xfea\xff",
        b"\xfecat\xff",
        b"\xfecats\xff",
        b"\xfena\xc3\xafve\xff",
        b"\xfetac\xff",
        b"\xfeincompreh\xff",
    ]


def test_marks_are_in_no_word():
    every = "".join(chr(code) for code in range(1, 0x110000) if not 0xD800 <= code < 0xE000)
    assert {0, 0xFE, 0xFF}.isdisjoint(every.encode())


@pytest.mark.parametrize(
    ("preset", "hidden", "filters", "highways", "millions"),
    [
        ("kim-large", 650, [(w, min(50 * w, 200)) for w in range(1, 8)], 2, 19.37),
        ("kim-small", 300, [(w, 25 * w) for w in range(1, 7)], 1, 5.31),
    ],
)
def test_sizes_are_the_papers(preset, hidden, filters, highways, millions):
    """19 M and 5 M in its Table 3; 51 characters there, as its code counts them in Penn Treebank."""
    config, _ = make_configs("char-cnn", preset, [], vocab_size=10_000)
    with torch.device("meta"):
        model = make_model("char-cnn", config)
    k, h = sum(n for _, n in filters), hidden
    letters = sum(n * (15 * w + 1) for w, n in filters) + highways * 2 * (k * k + k)
    words = 4 * h * (k + h + 1) + 4 * h * (h + h + 1) + 10_000 * (h + 1)
    count = sum(parameter.numel() for parameter in model.parameters())
    assert count == 256 * 15 + letters + words
    assert count / 1e6 == pytest.approx(millions, abs=0.01)
    assert 256 * 15 - 51 * 15 == 3075  # what the alphabet of bytes adds


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


def test_scores_are_in_single_precision_under_bf16():
    model = spelled_model().float()
    exact, _ = model.eval()(torch.tensor([[2, 3, 7]]), model.initial_state(1))
    with torch.autocast("cpu", torch.bfloat16):
        scores, state = model(torch.tensor([[2, 3, 7]]), model.initial_state(1))
    assert scores.dtype == state.h_BLH.dtype == torch.float32
    torch.testing.assert_close(scores, exact, rtol=0, atol=0.05)


@pytest.mark.parametrize(
    ("fields", "message"), [({"tied": True}, "tied=no"), ({"widths": (1, 2)}, "as many")]
)
def test_impossible_configurations_are_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        CharCNN(CharCNNConfig(vocab_size=9, **fields))


def test_checkpoints_keep_spellings_and_a_stopped_run_resumes_to_the_same_result(tmp_path):
    dataset = make_dataset(tmp_path)
    settings = settings_of("char-cnn", "widths=1,3", "features=4,6", "word_length=7", "epochs=1")
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    pm.train("char-cnn", dataset, whole, settings=settings, device="cpu")
    with pytest.raises(StoppedError):
        pm.train(
            "char-cnn", dataset, parts, settings=settings, device="cpu", limits=RunLimits(max_updates=13)
        )
    pm.train("char-cnn", dataset, parts, settings=settings, device="cpu")
    saved = read_checkpoint(whole / LAST)
    assert saved.digest == read_checkpoint(parts / LAST).digest
    assert torch.equal(saved.weights["words.codes_VC"], spelled(saved.vocabulary.tokens, 7))
    with pytest.raises(ModelError, match="as many"):
        pm.train("char-cnn", dataset, tmp_path / "no", settings=[*settings, "widths=1"], device="cpu")
    found = pm.evaluate(whole, dataset, split="valid", device="cpu")
    assert found.score.perplexity < 60  # of about 50 words
