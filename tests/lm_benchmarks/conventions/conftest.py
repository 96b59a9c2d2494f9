"""A small text with rows of every kind, and tiny models with each kind of mark."""

import importlib
import random

import pytest
from lm_benchmarks.adapters.transformers import CausalModel

from tests.lm_benchmarks.tiny_causal import make_causal_model, make_sentence_model


def make_text(lines):
    """Articles with blank rows, tokenized punctuation, letters of several bytes, and a last blank row."""
    generator = random.Random(11)
    words = ["the", "a", "cat", "café", "dog", "saw", "— met", "1 @,@ 500", '" so "', "( it )", "and", "N"]
    text = ""
    for number in range(lines):
        if number % 5 == 0:
            text += f" \n = Article {number} = \n \n"
        else:
            count = generator.randrange(3, 9)
            text += f" {' '.join(generator.choice(words) for _ in range(count))} . \n"
    return text + " \n"


def write_dataset(folder, lines):
    """A folder with the test split of such a text, raw and tokenized alike."""
    folder.mkdir()
    for name in ("wiki.test.raw", "wiki.test.tokens"):
        (folder / name).write_text(make_text(lines), encoding="utf-8")
    return folder


def make_marked_model(folder, text, *, window=64, pieces=300):
    """GPT-2's kind: there is a mark of a start, but the tokenizer does not add it."""
    transformers = importlib.import_module("transformers")
    make_causal_model(folder, text, window=window, pieces=pieces)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokenizer.bos_token = tokenizer.eos_token
    tokenizer.save_pretrained(folder)
    return folder


MAKERS = {"no-bos": make_causal_model, "bos-not-added": make_marked_model, "bos-added": make_sentence_model}


@pytest.fixture(scope="package")
def dataset(tmp_path_factory):
    """A folder with a raw test file, and a file of tokens that differs from it."""
    folder = write_dataset(tmp_path_factory.mktemp("data") / "tiny", 60)
    (folder / "wiki.test.tokens").write_text(make_text(60).replace("café", "<unk>"), encoding="utf-8")
    return folder


@pytest.fixture(scope="package")
def folders(tmp_path_factory, dataset):
    """The folder of a model by its kind of mark."""
    pytest.importorskip("transformers", reason="needs the package transformers")
    made = {}
    for name, make in MAKERS.items():
        made[name] = tmp_path_factory.mktemp(name)
        make(made[name], dataset / "wiki.test.tokens", window=64)
    return made


@pytest.fixture(scope="package", params=list(MAKERS))
def kind(request):
    return request.param


@pytest.fixture
def counted(monkeypatch):
    """How many windows the model has read, by call."""
    read: list[int] = []
    whole = CausalModel.window_nats

    def count(self, windows):
        read.append(len(windows))
        return whole(self, windows)

    monkeypatch.setattr(CausalModel, "window_nats", count)
    return read


@pytest.fixture
def raw(tmp_path):
    """Writes a raw file with a text of so many lines, or with a text of its own."""
    path = tmp_path / "wiki.test.raw"

    def write(text):
        path.write_text(text if isinstance(text, str) else make_text(text), encoding="utf-8")
        return path

    return write
