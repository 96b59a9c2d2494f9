"""The vocabulary: a word is in it when it is frequent enough in train."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wikitext_builder.dataset.vocabulary import EOS, UNK, Vocabulary, read_token_lines
from wikitext_builder.errors import BuilderError

words = st.text("abcd", min_size=1, max_size=2)


@given(st.lists(words), st.integers(1, 4))
def test_exactly_the_frequent_words_are_in_it(tokens: list[str], min_count: int) -> None:
    vocabulary = Vocabulary.of_counts(Counter(tokens), min_count=min_count)
    assert vocabulary.tokens[:2] == (UNK, EOS)
    assert set(vocabulary.tokens[2:]) == {token for token in tokens if tokens.count(token) >= min_count}
    assert len(set(vocabulary.tokens)) == len(vocabulary)
    assert all(word in vocabulary for word in vocabulary.tokens)
    assert "e" not in vocabulary


@given(st.lists(words))
def test_decoding_gives_back_what_is_known_and_unk_for_the_rest(tokens: list[str]) -> None:
    vocabulary = Vocabulary.of_counts(Counter(tokens), min_count=2)
    expected = [token if tokens.count(token) >= 2 else UNK for token in tokens]
    assert vocabulary.decode(vocabulary.encode(tokens)) == expected
    assert vocabulary.without_rare(" ".join(tokens)).split() == expected


@given(st.lists(words))
def test_the_order_of_the_text_does_not_matter(tokens: list[str]) -> None:
    assert Vocabulary.of_counts(Counter(tokens)) == Vocabulary.of_counts(Counter(reversed(tokens)))


def test_tokens_stand_by_frequency_and_those_of_one_frequency_by_name() -> None:
    counts = {"b": 3, UNK: 9, "é": 3, "a": 3, "c": 7, "B": 3, EOS: 9}
    assert Vocabulary.of_counts(counts).tokens == (UNK, EOS, "c", "B", "a", "b", "é")


def test_a_word_needs_three_occurrences_by_default_and_one_in_a_file(tmp_path: Path) -> None:
    assert Vocabulary.of_counts({"two": 2, "three": 3}).tokens == (UNK, EOS, "three")
    (tmp_path / "train").write_text(" once \n", encoding="utf-8")
    assert Vocabulary.of_file(tmp_path / "train").tokens == (UNK, EOS, "once")


def test_a_line_ends_at_a_newline_alone(tmp_path: Path) -> None:
    (tmp_path / "train").write_bytes(b" a\rb \r\n c\x0bd\n")
    assert list(read_token_lines(tmp_path / "train")) == [["a", "b"], ["c", "d"]]


def test_a_written_end_of_a_line_would_count_twice_and_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "train").write_text("a b\nc <eos>\n", encoding="utf-8")
    with pytest.raises(BuilderError, match="train, line 2: <eos> as a token; expected a text without it"):
        list(read_token_lines(tmp_path / "train"))
    (tmp_path / "train").write_text("a<eos>\n", encoding="utf-8")
    assert list(read_token_lines(tmp_path / "train")) == [["a<eos>"]]


def test_a_byte_order_mark_is_no_part_of_the_first_word(tmp_path: Path) -> None:
    (tmp_path / "train").write_text("a b\n\ufeffa\n", encoding="utf-8-sig")
    assert list(read_token_lines(tmp_path / "train")) == [["a", "b"], ["\ufeffa"]]


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b" caf\xe9 \n")
    for name in ("latin", "absent"):
        with pytest.raises(BuilderError, match=name):
            Vocabulary.of_file(tmp_path / name)


def test_ids_follow_from_the_tokens_and_are_not_shown() -> None:
    one, other = Vocabulary((UNK, EOS, "a")), Vocabulary((UNK, EOS, "a"))
    assert repr(one) == "Vocabulary(tokens=('<unk>', '<eos>', 'a'))"
    object.__setattr__(other, "ids", {})
    assert one == other
