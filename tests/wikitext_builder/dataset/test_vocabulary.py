"""The vocabulary: a word is in it when it is frequent enough in train."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wikitext_builder.dataset.vocabulary import EOS, UNK, Vocabulary
from wikitext_builder.errors import BuilderError

words = st.text("abcd", min_size=1, max_size=2)


@given(st.lists(words), st.integers(1, 4))
def test_exactly_the_frequent_words_are_in_it(tokens: list[str], min_count: int) -> None:
    vocabulary = Vocabulary.of_counts(Counter(tokens), min_count=min_count)
    assert vocabulary.tokens[:2] == (UNK, EOS)
    assert set(vocabulary.tokens[2:]) == {token for token in tokens if tokens.count(token) >= min_count}
    assert len(set(vocabulary.tokens)) == len(vocabulary)


@given(st.lists(words))
def test_decoding_gives_back_what_is_known_and_unk_for_the_rest(tokens: list[str]) -> None:
    vocabulary = Vocabulary.of_counts(Counter(tokens), min_count=2)
    expected = [token if tokens.count(token) >= 2 else UNK for token in tokens]
    assert vocabulary.decode(vocabulary.encode(tokens)) == expected
    assert vocabulary.without_rare(" ".join(tokens)).split() == expected


@given(st.lists(words))
def test_the_order_of_the_text_does_not_matter(tokens: list[str]) -> None:
    assert Vocabulary.of_counts(Counter(tokens)) == Vocabulary.of_counts(Counter(reversed(tokens)))


def test_the_official_file_has_the_papers_vocabulary(wikitext_2: Path) -> None:
    assert len(Vocabulary.of_file(wikitext_2 / "wiki.train.tokens")) == 33_278  # Table 1


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b" caf\xe9 \n")
    for name in ("latin", "absent"):
        with pytest.raises(BuilderError, match=name):
            Vocabulary.of_file(tmp_path / name)
