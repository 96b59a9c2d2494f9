"""Words and hashes by numpy against a regular expression; the index against an oracle of sets of tuples."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import each
from tests.conftest import data
from wikitext_builder.stats.ngrams import (
    ParagraphIndex,
    all_ngrams,
    ngrams_at,
    prefix_sums,
    word_hashes,
    words_of,
)

TRICKY = "ab1Z \x01\x02\t-–‘東京あカ、。々é·×÷−½™ῶﬁßİΣσ\u0301\U0001f600²ª،ي।ि־א՞ֆ\u200c\u200e\ufeff\ud800"
TEXT = st.text(st.one_of(st.sampled_from(TRICKY), st.characters()))


def test_marks_out_of_order_take_linear_time() -> None:
    """Of 131,000 characters it once took eight seconds, and four times as long for twice as many."""
    assert len(words_of("a" + "\u0316\u0301" * 300_000)) == 1


@each("tokenizer", "tokens, plain", "same words")
def test_tokens_and_plain_text_have_the_same_words(tokens: str, plain: str) -> None:
    assert words_of(tokens) == words_of(plain)
    assert (word_hashes(tokens) == word_hashes(plain)).all()


@given(TEXT)
def test_numpy_finds_the_same_words(text: str) -> None:
    words, hashes = words_of(text), word_hashes(text).tolist()
    assert len(words) == len(hashes)
    by_word = dict(zip(words, hashes, strict=True))
    assert [by_word[word] for word in words] == hashes
    assert len(set(by_word.values())) == len(by_word)
    assert all(word_hashes(word).tolist() == [found] for word, found in by_word.items())


@given(st.lists(st.integers(0, 2**64 - 1), max_size=30), st.integers(1, 15))
def test_equal_ngrams_have_equal_hashes(values: list[int], length: int) -> None:
    words = np.array([*values, *values], np.uint64)
    sums = prefix_sums(words)
    found = all_ngrams(sums, length).tolist()
    ngrams = [tuple(words[at : at + length].tolist()) for at in range(len(words) - length + 1)]
    assert len(found) == max(0, len(ngrams))
    assert len(set(found)) == len(set(ngrams))
    assert len(set(zip(found, ngrams, strict=True))) == len(set(ngrams))
    assert ngrams_at(sums, np.arange(len(found)), length).tolist() == found


def test_no_two_ngrams_of_real_text_share_a_hash() -> None:
    """All words and 8-grams of WikiText-2's valid and test."""
    for split in ("valid", "test"):
        text = data(f"wikitext-2/wiki.{split}.tokens").read_text(encoding="utf-8")
        words, hashes = words_of(text), word_hashes(text)
        assert len(set(words)) == len(set(hashes.tolist()))
        ngrams = {tuple(words[at : at + 8]) for at in range(len(words) - 7)}
        assert len(ngrams) == len(set(all_ngrams(prefix_sums(hashes), 8).tolist()))


def grams(words: list[str], length: int) -> list[tuple[str, ...]]:
    return [tuple(words[at : at + length]) for at in range(len(words) - length + 1)]


def counts(index: ParagraphIndex, length: int) -> list[tuple[int, int]]:
    ngrams, shared = index.counts(length)
    return list(zip(ngrams.tolist(), shared.tolist(), strict=True))


def words_from(letters: str, most: int) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(letters), max_size=most)


@settings(max_examples=80)
@given(st.data())
def test_it_finds_what_the_oracle_finds(data: st.DataObject) -> None:
    letters = data.draw(st.sampled_from(["ab", "abc", "abcdefgh"]))
    paragraphs = [" ".join(words) for words in data.draw(st.lists(words_from(letters, 20), max_size=8))]
    documents = data.draw(st.lists(words_from(letters, 60), max_size=4))
    lengths = data.draw(st.sampled_from([(2,), (2, 4), (3, 5), (1, 2, 6)]))
    size = data.draw(st.integers(1, 20))
    index = ParagraphIndex(paragraphs, lengths)
    for words in documents:
        index.look_up(" ".join([*words[at : at + size], ""]) for at in range(0, len(words), size))
    for length in lengths:
        other = {gram for words in documents for gram in grams(words, length)}
        expected = [grams(words_of(paragraph), length) for paragraph in paragraphs]
        assert counts(index, length) == [(len(own), sum(gram in other for gram in own)) for own in expected]


def test_unknown_words_are_equal_to_nothing() -> None:
    index = ParagraphIndex(["a b <unk> c d e", "e f"], (2,))
    index.look_up(["a b <unk> c d e f"])
    assert counts(index, 2) == [(3, 3), (1, 1)]
    assert index.words.tolist() == [6, 2]
