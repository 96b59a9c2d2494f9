"""The index against an oracle of sets of tuples: whatever the chunks, the documents and the n-grams."""

from itertools import groupby

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wikitext_builder.text_overlap.index import PLACES, Index, Scan, chunks_of
from wikitext_builder.text_overlap.sources import Piece
from wikitext_builder.text_overlap.words import words_of

Articles = list[list[str]]


def grams(words: list[str], length: int) -> list[tuple[str, ...]]:
    return [tuple(words[at : at + length]) for at in range(len(words) - length + 1)]


def searched(articles: Articles, pieces: list[Piece], lengths: tuple[int, ...], size: int) -> Index:
    index = Index(articles, lengths)
    scan = Scan(index)
    for chunk in chunks_of(pieces, size):
        scan.add(chunk)
    scan.close()
    return index


def test_documents_without_text_fill_a_chunk_too() -> None:
    chunks = list(chunks_of((Piece(document=str(number), text="") for number in range(100)), 10))
    assert max(len(chunk.documents) for chunk in chunks) <= 12


def texts(letters: str, most: int) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(letters), max_size=most).map(" ".join)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Articles, list[Piece], tuple[int, ...], int]:
    letters = draw(st.sampled_from(["ab", "abc", "abcdefgh"]))
    articles = draw(st.lists(st.lists(texts(letters, 20), max_size=3), max_size=3))
    pieces = [
        Piece(document=name, text=f"{text} ")
        for name, text in draw(st.lists(st.tuples(st.sampled_from("xyz"), texts(letters, 60)), max_size=5))
    ]
    lengths = draw(st.sampled_from([(2,), (2, 4), (3, 5), (1, 2, 6)]))
    return articles, pieces, lengths, draw(st.sampled_from([3, 10, 50, 1000]))


@settings(max_examples=80)
@given(cases())
def test_it_finds_what_the_oracle_finds(case: tuple[Articles, list[Piece], tuple[int, ...], int]) -> None:
    articles, pieces, lengths, _size = case
    index = searched(*case)
    documents = [
        (name, words_of("".join(one.text for one in group)))
        for name, group in groupby(pieces, key=lambda one: one.document)
    ]
    there = {n: {gram for _, words in documents for gram in grams(words, n)} for n in range(1, 21)}
    counts = {n: index.ngrams_of_lines(n) for n in lengths}
    line = 0
    for number, article in enumerate(articles):
        found, shortest, longest = index.found[number], lengths[0], 0
        for words in map(words_of, article):
            for n in lengths:
                expected = grams(words, n)
                assert counts[n][0][line] == len(expected)
                assert counts[n][1][line] == sum(gram in there[n] for gram in expected)
            whole = len(words) >= shortest and tuple(words) in there[len(words)]
            assert bool(index.whole[line]) == whole
            common = [n for n in range(shortest, 21) if set(grams(words, n)) & there[n]]
            longest = max(longest, *common, 0)
            line += 1
        assert found.longest == longest
        flat = [gram for words in map(words_of, article) for gram in grams(words, shortest)]
        shared = {
            name: max(
                sum(gram in set(grams(words, shortest)) for gram in flat)
                for other, words in documents
                if other == name
            )
            for name, _ in documents
        }
        best = max(shared.values(), default=0)
        expected_best = best if best >= max(1, 0.05 * len(flat)) else 0
        assert found.nearest_shared == expected_best
        if expected_best:
            assert found.nearest == min(name for name, count in shared.items() if count == best)


def test_the_stretch_is_where_it_says() -> None:
    article = ["one two three four five six", "seven eight nine ten eleven twelve"]
    pieces = [
        Piece(document="a", text="x nine ten eleven y "),
        Piece(document="b", text="four five six seven"),
    ]
    found = searched([article], pieces, (3,), 5).found[0]
    assert (found.longest, found.where, found.begin) == (3, "a", 8)


def test_unknown_words_are_equal_to_nothing() -> None:
    index = searched([["a b <unk> c d e"]], [Piece(document="x", text="a b <unk> c d e")], (2,), 100)
    assert [int(one[0]) for one in index.ngrams_of_lines(2)] == [3, 3]
    assert not index.whole[0]
    assert index.found[0].longest == 3


@pytest.mark.parametrize("words", [10, PLACES + 10])
def test_a_text_that_repeats_itself_costs_bounded_work(words: int) -> None:
    """Of an n-gram at very many places the first count for stretches; all n-grams are counted."""
    index = searched([["ha " * words]], [Piece(document="x", text="ha " * 5000)], (3,), 2**10)
    assert [int(one[0]) for one in index.ngrams_of_lines(3)] == [words - 2, words - 2]
    assert index.found[0].longest == min(words, PLACES + 2)
