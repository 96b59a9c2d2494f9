"""Each convention equals a loop in its tool's arithmetic: one call of the model per window, no batch.

The loops use `transformers` alone. They are written from the sources that the conventions name, in the tool's
order of operations, and share no code with the conventions.
"""

import importlib
import math
import re

import pytest
import torch
from lm_benchmarks.adapters.transformers import load_causal_model
from lm_benchmarks.choices import HarnessError
from lm_benchmarks.conventions.rules import REGISTRY
from lm_benchmarks.lm_eval import plain_text
from lm_benchmarks.measuring.passages import ScoreCache, measure_windows
from torch.nn.functional import cross_entropy

from tests.lm_benchmarks.conventions.conftest import MAKERS, make_text
from wikitext_builder.dataset.vocabulary import EOS, UNK, Vocabulary
from wikitext_builder.progress import no_progress


class Loop:
    """A model and its tokenizer, as a script would have them."""

    def __init__(self, folder):
        transformers = importlib.import_module("transformers")
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
        marks = (self.tokenizer.bos_token_id, self.tokenizer.eos_token_id)
        self.start = marks[0] if marks[0] is not None else marks[1]

    @torch.no_grad()
    def logits(self, ids):
        return self.model(torch.tensor([ids])).logits[0].double()

    @torch.no_grad()
    def loss(self, ids, labels):
        """The library's own loss: labels are shifted inside, -100 is left out."""
        return float(self.model(torch.tensor([ids]), labels=torch.tensor([labels])).loss)


def joined_rows(loop, text):
    """The pieces of all rows, of which blank ones are empty."""
    rows = [line if line.strip() else "" for line in text.splitlines(keepends=True)]
    return loop.tokenizer("\n\n".join(rows))["input_ids"]


def gptq(loop, text, length, _stride):
    ids = joined_rows(loop, text)
    chunks, total = len(ids) // length, 0.0
    for number in range(chunks):
        chunk = ids[number * length : (number + 1) * length]
        total += float(cross_entropy(loop.logits(chunk)[:-1], torch.tensor(chunk[1:]))) * length
    return math.exp(total / (chunks * length))


def hf_windows(loop, text, length, stride):
    """The loss of each window, and how many labels it has before the shift."""
    ids = joined_rows(loop, text)
    before = 0
    for begin in range(0, len(ids), stride):
        end = min(begin + length, len(ids))
        window = ids[begin:end]
        labels = list(window)
        for place in range(len(labels) - (end - before)):
            labels[place] = -100
        loss, count = loop.loss(window, labels), sum(label != -100 for label in labels)
        if math.isnan(loss):  # a last window of one piece has nothing to predict; ours leaves it out
            assert len(window) == 1
        else:
            yield loss, count
        before = end
        if end == len(ids):
            return


def hf_stride(loop, text, length, stride):
    found = list(hf_windows(loop, text, length, stride))
    return math.exp(sum(loss * (count - 1) for loss, count in found) / sum(count - 1 for _, count in found))


def llama_cpp(loop, text, length, _stride):
    """Without a stride; test_cases.py has numbers of the program, also with one."""
    text = text.removesuffix("\n")
    ids = loop.tokenizer(text)["input_ids"]
    adds_bos = loop.tokenizer("x")["input_ids"][0] == loop.tokenizer.bos_token_id
    nats, count = 0.0, 0
    for chunk in range(len(ids) // length):
        window = ids[chunk * length : (chunk + 1) * length]
        read = [loop.tokenizer.bos_token_id, *window[1:]] if adds_bos else window
        probabilities = loop.logits(read).softmax(-1)
        for place in range(length // 2, length - 1):
            nats -= math.log(probabilities[place, window[place + 1]])
            count += 1
    return math.exp(nats / count)


def pages(text):
    """From each line of the form `= Title =` to the next one."""
    return [page for page in re.split(r"\n(?= = [^=]*= \n)", text) if page.strip()]


def bits_per_byte(loop, text, length, _stride):
    nats, size = 0.0, 0
    for page in pages(text):
        ids = loop.tokenizer(page, add_special_tokens=False)["input_ids"]
        for begin in range(0, len(ids), length):
            chunk = [loop.start, *ids[begin : begin + length]]
            nats += float(cross_entropy(loop.logits(chunk[:-1]), torch.tensor(chunk[1:]), reduction="sum"))
        size += len(page.encode())
    return nats / math.log(2) / size


def lm_eval(loop, text, length, _stride):
    """Each page; the last window is filled up with pieces from before it."""
    nats, words = 0.0, 0
    for page in pages(text):
        ids = loop.tokenizer(plain_text(page))["input_ids"]
        for begin in range(0, len(ids), length):
            end = min(begin + length, len(ids))
            read = [loop.start, *ids][max(0, end - length) : end]
            scores = loop.logits(read).log_softmax(-1)[begin - end :]
            nats -= float(scores.gather(1, torch.tensor(ids[begin:end])[:, None]).sum())
        words += len(re.split(r"\s+", page))
    return math.exp(nats / words)


LOOPS = {
    "lm-eval": lm_eval,
    "gptq": gptq,
    "hf-stride": hf_stride,
    "llama.cpp": llama_cpp,
    "bits-per-byte": bits_per_byte,
}
WINDOWS, STRIDES = ((64, None), (16, None), (21, None)), ((32, 32), (32, 1), (32, 9))  # by kind of model


@pytest.fixture(scope="module")
def reader(folders, kind):
    vocabulary = Vocabulary((UNK, EOS, "the"))
    return ScoreCache(load_causal_model(str(folders[kind]), vocabulary)), Loop(folders[kind])


def measured(name, reader, path, window=None, stride=None):
    return measure_windows(REGISTRY[name], reader, path, window=window, stride=stride, progress=no_progress)


def test_every_convention_of_windows_has_a_loop():
    assert set(LOOPS) == {name for name, one in REGISTRY.items() if one.rule}


@pytest.mark.parametrize(
    ("name", "lines"), [*((name, 24) for name in LOOPS), ("gptq", 17), ("hf-stride", 17)]
)
def test_it_is_the_tools_number(reader, kind, raw, name, lines):
    """Two texts with tails of different lengths, windows that are even and odd, three kinds of marks."""
    model, loop = reader
    window, stride = (STRIDES if name == "hf-stride" else WINDOWS)[list(MAKERS).index(kind)]
    text = make_text(lines)
    ours = measured(name, model, raw(text), window, stride)
    assert ours.number == pytest.approx(LOOPS[name](loop, text, window, stride), rel=1e-6)
    assert sum(one.file_bytes for one in ours.articles) <= len(text.encode())


def test_the_comparison_can_fail(reader, raw):
    """A rule that is slightly different gives another number: window, tail, blank rows, weights."""
    model, loop = reader
    text, path = make_text(24), raw(24)
    right = measured("gptq", model, path, 21).number
    assert right != pytest.approx(gptq(loop, text, 20, None), rel=1e-5)
    assert right != pytest.approx(gptq(loop, text.replace(" \n \n", " \n"), 21, None), rel=1e-5)
    assert right != pytest.approx(llama_cpp(loop, text, 21, None), rel=1e-5)
    losses = [loss for loss, _ in hf_windows(loop, text, 32, 9)]
    weighed = measured("hf-stride", model, path, 32, 9).number
    assert weighed != pytest.approx(math.exp(sum(losses) / len(losses)), rel=1e-5)


@pytest.mark.parametrize(
    ("name", "window", "stride", "message"),
    [
        ("gptq", 16, 4, "its windows do not overlap; leave out the stride"),
        ("gptq", 1, None, "needs at least 2"),
        ("llama.cpp", 64, 20, "llama.cpp reads 256 tokens at once; the model reads 64"),
        ("llama.cpp", 60, None, "at least two chunks of 60"),
        ("gptq", 60, None, "drops a remainder"),
    ],
)
def test_what_does_not_fit_is_said(reader, raw, name, window, stride, message):
    path = raw(" = A = \n the cat \n" if message.startswith(("at least", "drops")) else 17)
    with pytest.raises(HarnessError, match=message):
        measured(name, reader[0], path, window, stride)
