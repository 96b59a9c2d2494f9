"""The index against an oracle of sets of tuples, however the documents are cut into pieces."""

from hypothesis import given, settings
from hypothesis import strategies as st

from wikitext_builder.text_overlap.ngrams import ParagraphIndex
from wikitext_builder.text_overlap.words import words_of


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
