"""Topics of RNN-LDA against their updates written out, and against planted ones."""

import random
from collections import Counter

import pytest
import torch

from ps_models.models.rnn import ALPHA, ETA, RNNLDA, RNNLDAConfig, topics_of_words
from wikitext_builder.dataset.vocabulary import EOS, UNK, Vocabulary

ANIMALS, METALS = ("cat", "dog", "hen", "cow"), ("iron", "gold", "zinc", "lead")
VOCABULARY = Vocabulary((UNK, EOS, "the", *ANIMALS, *METALS))


def planted_text(seed=3, articles=60):
    """Articles of two lines each, about animals or about metals, with "the" in both."""
    generator = random.Random(seed)
    words = []
    for article in range(articles):
        theme = (ANIMALS, METALS)[article % 2]
        for _ in range(2):
            words += [generator.choice(("the", *theme, *theme)) for _ in range(12)] + [EOS]
    return torch.tensor(VOCABULARY.encode(words))


def lda_written_out(stream, vocab_size, config, seed):
    """The same updates, word by word, from the same start."""
    documents: list[Counter[int]] = [Counter()]
    line = 0
    for word in stream.tolist():
        if line == config.document_lines:
            documents.append(Counter())
            line = 0
        documents[-1][word] += 1
        line += word == 1
    generator = torch.Generator().manual_seed(seed)
    counts = torch.bincount(stream, minlength=vocab_size).double()
    start = 0.5 + torch.rand(config.topics, vocab_size, generator=generator).double()
    made = counts / config.topics * start
    gammas = [torch.full((config.topics,), ALPHA + d.total() / config.topics) for d in documents]
    for _ in range(config.lda_passes):
        parameters = ETA + made
        words = (parameters.digamma() - parameters.sum(1, keepdim=True).digamma()).exp()
        made = torch.zeros_like(made)
        for place, document in enumerate(documents):
            gamma = gammas[place].double()
            shares = (gamma.digamma() - gamma.sum().digamma()).exp()
            gammas[place] = torch.full((config.topics,), ALPHA).double()
            for word, count in document.items():
                phi = shares * words[:, word]
                phi = count * phi / phi.sum()
                gammas[place] += phi
                made[:, word] += phi
    return made.t()


def test_topics_are_those_of_the_updates_written_out(monkeypatch):
    stream = planted_text(articles=7)
    config = RNNLDAConfig(vocab_size=len(VOCABULARY), topics=3, document_lines=3, lda_passes=6)
    expected = lda_written_out(stream, len(VOCABULARY), config, seed=1)
    for block in (2**23, 30):  # all documents at once, or a few
        monkeypatch.setattr("ps_models.models.rnn.BLOCK_COUNTS", block)
        found = topics_of_words(stream, len(VOCABULARY), config, seed=1)
        torch.testing.assert_close(found.double(), expected, rtol=1e-4, atol=1e-4)


def prepared(seed=1, **fields):
    model = RNNLDA(
        RNNLDAConfig(vocab_size=11, hidden_size=4, topics=2, document_lines=2, lda_passes=30, **fields)
    )
    model.prepare(planted_text(), VOCABULARY, seed)
    return model.log_topics_VK.exp()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_planted_topics_are_found(seed):
    topics = prepared(seed)
    animals, metals = (topics[VOCABULARY.encode(words)] for words in (ANIMALS, METALS))
    about = int(animals.sum(dim=0).argmax())
    assert animals[:, about].min() > 0.95
    assert metals[:, 1 - about].min() > 0.95
    assert 0.3 < topics[VOCABULARY.ids["the"], 0] < 0.7
    torch.testing.assert_close(topics[VOCABULARY.ids[UNK]], torch.tensor([0.5, 0.5]))  # never seen


def test_the_same_seed_gives_the_same_topics():
    assert torch.equal(prepared(5), prepared(5))
    assert not torch.equal(prepared(5), prepared(6))


def test_a_smoothing_of_more_counts_makes_topics_more_alike():
    assert prepared(smoothing=100.0).std() < prepared(smoothing=0.1).std()
