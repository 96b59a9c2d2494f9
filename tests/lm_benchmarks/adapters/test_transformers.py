"""A causal model of `transformers` with random weights, made here, as a language model over words."""

import math
import re
from dataclasses import replace
from typing import Any

import pytest
import torch
from lm_benchmarks.adapters.piece_model import WordPieces, page_nats
from lm_benchmarks.adapters.transformers import load_causal_model
from lm_benchmarks.choices import HarnessError
from lm_benchmarks.conventions.rules import CONVENTIONS
from lm_benchmarks.lm_eval import plain_text, read_pages
from lm_benchmarks.measuring.checks import INVARIANTS
from lm_benchmarks.measuring.measure import measure
from lm_benchmarks.measuring.models import open_model
from lm_benchmarks.measuring.run import Protocol, measure_loaded
from lm_benchmarks.metrics import METRICS

from ps_models.dataset import Text, read_stream
from ps_models.scoring import token_nats
from tests.lm_benchmarks.results import error_of
from tests.lm_benchmarks.tiny_causal import make_causal_model, make_sentence_model
from wikitext_builder.dataset.vocabulary import EOS

transformers: Any = pytest.importorskip("transformers", reason="needs the package transformers")

WINDOW = 24


@pytest.fixture(scope="module")
def folder(tmp_path_factory, data):
    return make_causal_model(tmp_path_factory.mktemp("causal"), data / "wiki.train.tokens", window=WINDOW)


def scored(model, tokens, **options):
    ((_, nats),) = token_nats(model, [Text(tokens, 0)], **options)
    return nats


@pytest.mark.parametrize("stride", [1, 5, WINDOW])
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


def test_a_window_of_the_whole_text_scores_text_and_words_alike(folder, inputs):
    """Where the tokenizer cuts a text as it cuts its words, both ways are the same number."""
    model = load_causal_model(str(folder), inputs.vocabulary)
    words = " the cat saw the dog"
    nats, pieces = page_nats(model, model.window, words)
    tokens = torch.tensor(inputs.vocabulary.encode(words.split()))
    assert pieces == model.piece_count(tokens)
    assert nats == pytest.approx(float(scored(model, tokens).sum()), abs=1e-5)


def test_measured_by_words_and_by_pages(folder, data, inputs):
    loaded = open_model(f"transformers:{folder}", inputs)
    words = measure_loaded(loaded, inputs, Protocol())
    assert words.signature["window"] == str(WINDOW)
    assert words.signature["stride"] == str(WINDOW // 2)
    assert words.signature["words"] == "open"
    assert words.signature["lines_cut_otherwise"] == "0"
    assert words.total.pieces > words.total.tokens
    assert words.checks == dict.fromkeys(INVARIANTS, "")
    with pytest.raises(HarnessError, match="needs the raw file"):
        measure_loaded(loaded, inputs, Protocol(convention="lm-eval"))
    (data / "wiki.test.raw").write_bytes((data / "wiki.test.tokens").read_bytes())
    try:
        pages = measure_loaded(loaded, inputs, Protocol(convention="lm-eval"))
    finally:
        (data / "wiki.test.raw").unlink()
    assert pages.signature["convention"] == CONVENTIONS["lm-eval"]
    assert pages.signature["text"] == "untokenized"
    assert pages.signature["windows"] == "disjoint-backfilled"
    assert "stride" not in pages.signature
    overlapping = replace(inputs, stride=WINDOW // 2)
    with pytest.raises(HarnessError, match="its windows do not overlap"):
        measure_loaded(loaded, overlapping, Protocol(convention="lm-eval"))
    read = list(read_pages(data / "wiki.test.tokens"))
    assert loaded.reader is not None
    nats = sum([page_nats(loaded.reader, WINDOW, plain_text(page))[0] for page in read])
    count = sum(len(page.split()) + 2 for page in read)
    found = METRICS["lm-eval-word-perplexity"].of(pages.total)
    assert found == pytest.approx(math.exp(nats / count), rel=1e-12)
    assert METRICS["perplexity"].of(pages.total) is None


@pytest.fixture(
    scope="module", params=[make_causal_model, make_sentence_model], ids=lambda make: make.__name__
)
def wide(request, tmp_path_factory, data, inputs):
    """A model with a window for a whole line, with each kind of tokenizer."""
    folder = request.param(tmp_path_factory.mktemp("wide"), data / "wiki.train.tokens", window=256)
    return load_causal_model(str(folder), inputs.vocabulary)


def test_the_words_of_a_line_sum_to_the_score_of_the_line_cut_as_a_whole(wide, data, inputs):
    """Each line through the tokenizer and the model at once; the newline as the tokenizer cuts it there."""
    tokenizer = wide._tokenizer
    line_starts_with_space = tokenizer.bos_token_id is None  # GPT-2's kind puts none there
    (newline,) = tokenizer.encode("the\n", add_special_tokens=False)[-1:]
    lines = (data / "wiki.test.tokens").read_text(encoding="utf-8").splitlines()
    assert sum(len(line.split()) > 3 for line in lines) > 5
    for words in map(str.split, lines):
        text = " " * (line_starts_with_space and bool(words)) + " ".join(words)
        pieces = [*(tokenizer.encode(text, add_special_tokens=False) if words else []), newline]
        read = torch.tensor([[wide._begin, *pieces]])
        logits = wide._module(read[:, :-1]).logits[0].detach().double().log_softmax(-1)
        whole = -float(logits.gather(1, read[0, 1:, None]).sum())
        tokens = torch.tensor(inputs.vocabulary.encode([*words, EOS]))
        assert wide.piece_count(tokens) == len(pieces)
        sums = [float(scored(wide, tokens, chunk=chunk).sum()) for chunk in (1, 3, 256)]
        assert sums == pytest.approx([whole] * 3, abs=1e-4)
    stream = read_stream(inputs.dataset, "test", inputs.vocabulary)
    assert wide.facts(stream) == {"lines_cut_otherwise": 0, "characters_lost": 0, "normalizes": "no"}


def test_a_tokenizer_like_sentencepieces_gets_no_mark_of_its_own(tmp_path, data, inputs):
    folder = make_sentence_model(tmp_path, data / "wiki.train.tokens")
    model = load_causal_model(str(folder), inputs.vocabulary)
    tokenizer = model._tokenizer
    tokens = inputs.vocabulary.encode(["the", "cat", EOS, EOS, "the", EOS])
    cut = [tokenizer.convert_ids_to_tokens(pieces) for pieces in model.words.of_words(tokens)]
    assert ["".join(pieces) for pieces in cut] == ["▁the", "▁cat", "<0x0A>", "<0x0A>", "▁the", "<0x0A>"]
    alone = [tokenizer.encode(text, add_special_tokens=False) for text in (" the", " cat", "\n")]
    assert sum(map(len, alone)) > sum(map(len, cut[:3]))  # cut by themselves


def test_words_that_would_change_the_pieces_before_them_are_cut_apart(inputs):
    """A tokenizer that merges a full stop with the newline after it, as some do."""
    parts: dict[int, str] = {}

    class Merges:
        eos_token_id = 0

        def decode(self, pieces, **_options):
            return "".join(map(parts.__getitem__, pieces))

        def __call__(self, texts, add_special_tokens):
            assert add_special_tokens is False
            cut = [re.findall(r" ?the\n| ?[^ \n]+|\n", text) for text in texts]
            parts.update({hash(part): part for found in cut for part in found})
            return {"input_ids": [[hash(part) for part in found] for found in cut]}

    pieces = WordPieces(Merges(), inputs.vocabulary)
    ids = inputs.vocabulary.encode(["the", EOS, "cat", EOS])
    assert pieces.of_words(ids) == [[hash(" the")], [hash("\n")], [hash(" cat")], [hash("\n")]]
    assert pieces.facts(ids) == {"lines_cut_otherwise": 0, "characters_lost": 0, "normalizes": "no"}


def test_what_is_no_model_and_windows_that_cannot_be_are_refused(folder, tmp_path, inputs):
    with pytest.raises(HarnessError, match="expected a folder or a name of a causal model"):
        open_model(f"transformers:{tmp_path}", inputs)
    with pytest.raises(HarnessError, match="stride 9; expected 1 to 8"):
        load_causal_model(str(folder), inputs.vocabulary, window=8, stride=9)


@pytest.mark.parametrize("make", [make_causal_model, make_sentence_model], ids=lambda make: make.__name__)
def test_a_tokenizer_that_is_damaged_missing_or_larger_than_the_model_is_named(make, tmp_path, data):
    """In one line, before anything is scored."""
    folder = make(tmp_path / "model", data / "wiki.train.tokens")
    size = len(transformers.AutoTokenizer.from_pretrained(folder))
    module = transformers.AutoModelForCausalLM.from_pretrained(folder)
    module.resize_token_embeddings(200)
    module.save_pretrained(folder)
    missing = "no tokenizer in this folder; expected .* with its tokenizer, such as tokenizer.json"
    faults = []
    for change, message in (
        (lambda file: None, f"the tokenizer has {size} tokens, the model 200; expected the tokenizer that"),
        (lambda file: file.write_text("{"), "transformers:.*; expected a folder or a name"),
        (lambda file: file.unlink() if file.name == "tokenizer.json" else None, missing),
        (lambda file: file.unlink(), missing),
    ):
        for file in folder.glob("*token*"):
            change(file)
        why = error_of(measure, f"transformers:{folder}", data)
        if not re.search(message, why) or "\n" in why:
            faults.append((message, why))
    assert faults == []


def test_another_weight_is_another_model(folder, inputs):
    model = load_causal_model(str(folder), inputs.vocabulary)
    before = model.digest
    assert load_causal_model(str(folder), inputs.vocabulary).digest == before
    with torch.no_grad():
        next(model._module.parameters())[0, 0] += 1
    assert model.digest != before
