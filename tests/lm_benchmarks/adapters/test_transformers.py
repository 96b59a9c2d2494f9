"""A causal model of `transformers` with random weights, made here, as a language model over words."""

import math
from dataclasses import replace

import pytest
import torch
from lm_benchmarks.adapters.transformers import CausalModel, load_causal_model
from lm_benchmarks.choices import CONVENTIONS
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.lm_eval import plain_text, read_pages
from lm_benchmarks.measuring.check import LAWS, check_model
from lm_benchmarks.measuring.models import Inputs, of_causal_model, open_model
from lm_benchmarks.measuring.run import Protocol, measure_opened
from lm_benchmarks.metrics import METRICS

from ps_models.data.dataset import Text, read_stream
from ps_models.evaluation.evaluate import token_nats
from tests.lm_benchmarks.tiny_causal import make_causal_model
from wikitext_builder.dataset.vocabulary import EOS

pytest.importorskip("transformers", reason="needs the package transformers")

WINDOW = 24


@pytest.fixture(scope="module")
def folder(tmp_path_factory, data):
    return make_causal_model(tmp_path_factory.mktemp("causal"), data / "wiki.train.tokens", window=WINDOW)


@pytest.fixture(scope="module")
def model(folder, inputs):
    return load_causal_model(str(folder), inputs.vocabulary)


@pytest.fixture(scope="module")
def stream(inputs):
    return read_stream(inputs.dataset, "test", inputs.vocabulary)


def scored(model, tokens, **options):
    ((_, nats),) = token_nats(model, [Text(tokens, 0)], **options)
    return nats


def test_it_keeps_the_laws(model, inputs, stream):
    opened = of_causal_model("tiny", model, inputs.vocabulary)
    assert check_model(opened, stream[:150]) == dict.fromkeys(LAWS, "")


@pytest.mark.parametrize("stride", [1, 5, 12, WINDOW])
def test_a_word_is_the_sum_of_its_pieces_in_the_stated_window(folder, inputs, stream, stride):
    """Told again by hand: each piece alone, with the very pieces that the window holds for it."""
    model = load_causal_model(str(folder), inputs.vocabulary, stride=stride)
    words = inputs.vocabulary.decode(stream[:60].tolist())
    tokenizer, module = model._tokenizer, model._module
    pieces = [
        tokenizer.encode("\n" if word == EOS else f" {word}", add_special_tokens=False) for word in words
    ]
    assert max(map(len, pieces)) > 1
    known, expected = [tokenizer.eos_token_id], []
    for parts in pieces:
        nats = 0.0
        for piece in parts:
            number = len(known)  # of this piece, from 1
            block_end = math.ceil(number / stride) * stride
            context = known[max(0, block_end - WINDOW) :]
            logits = module(torch.tensor([context])).logits[0, -1].detach().double()
            nats -= float(logits.log_softmax(-1)[piece])
            known.append(piece)
        expected.append(nats)
    assert len(known) > 2 * WINDOW
    assert scored(model, stream[:60]).tolist() == pytest.approx(expected, abs=1e-5)
    assert scored(model, stream[:60], chunk=3).tolist() == pytest.approx(expected, abs=1e-5)


def test_a_window_of_the_whole_text_scores_text_and_words_alike(folder, inputs, tmp_path):
    """Where the tokenizer cuts a text as it cuts its words, both ways are the same number."""
    model = load_causal_model(str(folder), inputs.vocabulary)
    words = " the cat saw the dog"
    nats, pieces = model.text_nats(words)
    tokens = torch.tensor(inputs.vocabulary.encode(words.split()))
    assert pieces == model.piece_count(tokens)
    assert nats == pytest.approx(float(scored(model, tokens).sum()), abs=1e-5)


def test_measured_by_words_and_by_pages(folder, data, inputs, tmp_path):
    opened = open_model(f"transformers:{folder}", inputs)
    words = measure_opened(opened, inputs, Protocol())
    assert words.signature["window"] == str(WINDOW)
    assert words.signature["stride"] == str(WINDOW // 2)
    assert words.signature["words"] == "open"
    assert words.total.pieces > words.total.tokens
    assert not words.broken
    with pytest.raises(HarnessError, match="needs the raw file"):
        measure_opened(opened, inputs, Protocol(convention="lm-eval"))
    (data / "wiki.test.raw").write_bytes((data / "wiki.test.tokens").read_bytes())
    try:
        pages = measure_opened(opened, inputs, Protocol(convention="lm-eval"))
    finally:
        (data / "wiki.test.raw").unlink()
    assert pages.signature["convention"] == CONVENTIONS["lm-eval"]
    assert pages.signature["text"] == "untokenized"
    assert pages.signature["windows"] == "disjoint-backfilled"
    assert "stride" not in pages.signature
    overlapping = replace(inputs, stride=WINDOW // 2)
    with pytest.raises(HarnessError, match="its windows do not overlap"):
        measure_opened(opened, overlapping, Protocol(convention="lm-eval"))
    read = list(read_pages(data / "wiki.test.tokens"))
    assert opened.text_nats is not None
    nats = sum([opened.text_nats(plain_text(page))[0] for page in read])
    count = sum(len(page.split()) + 2 for page in read)
    found = METRICS["lm-eval-word-perplexity"].of(pages.total)
    assert found == pytest.approx(math.exp(nats / count), rel=1e-12)
    assert METRICS["perplexity"].of(pages.total) is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window": 99}, "window 99; expected 1 to 24"),
        ({"window": 8, "stride": 9}, "stride 9; expected 1 to 8"),
    ],
)
def test_windows_that_cannot_be_are_refused(folder, inputs, options, message):
    with pytest.raises(HarnessError, match=message):
        load_causal_model(str(folder), inputs.vocabulary, **options)


def test_a_folder_without_a_model_is_refused(tmp_path, inputs):
    with pytest.raises(HarnessError, match="expected a folder or a name of a causal model"):
        open_model(f"transformers:{tmp_path}", inputs)


def test_another_weight_is_another_model(model, inputs):
    before = model.digest
    weights = next(model._module.parameters())
    with torch.no_grad():
        weights[0, 0] += 1
    assert model.digest != before
    with torch.no_grad():
        weights[0, 0] -= 1
    assert isinstance(model, CausalModel)
    assert Inputs(dataset=inputs.dataset, vocabulary=inputs.vocabulary).window is None
