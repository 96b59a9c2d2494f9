"""The detokenizer: the text of tokens, and the round trip through the tokenizer."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from wikitext_builder.tokens.detokenizer import detokenize, detokenize_line
from wikitext_builder.tokens.tokenizer import tokenize, tokenize_line


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        ("", ""),
        ("= Robert <unk> =", "= Robert <unk> ="),
        ("= = = Awards = = =", "=== Awards ==="),
        ("Don 't , Kirby 's .", "Don't, Kirby's."),
        ('he said " no " and " yes "', 'he said "no" and "yes"'),
        ("the monitors ' hulls", "the monitors' hulls"),
        ("were ' monitors ' ,", "were 'monitors',"),
        ("Marx ' beard and Cruz ' hat", "Marx' beard and Cruz' hat"),
        ("Malcolm X ' alone '", "Malcolm X 'alone'"),
        ("1 @.@  hrvatski", "1. hrvatski"),
        ("no .. . no ... .", "no .. . no... ."),
        ("X marks X and X", "X marks X and X"),
        ("a 3 @.@ 5L engine", "a 3.5L engine"),
        ("in 1932 @,@", "in 1932,"),
        ("$ 1 @,@ 500 ( 34 % )", "$1,500 (34%)"),
        ("2000 – 2005 , 9 / 11", "2000–2005, 9/11"),
        ("ruler . .", "ruler. ."),
        ("would ... not", "would... not"),
    ],
)
def test_text_of_tokens(tokens: str, text: str) -> None:
    assert detokenize_line(tokens) == text


def test_a_text_of_many_lines_comes_back() -> None:
    text = "== Early life ==\n\nDon't stop at 1,500 km (932 mi).\n"
    assert detokenize(tokenize(text)) == text


@given(st.lists(st.sampled_from(["a", "Word", "7", ",", ".", "(", ")", "@-@", "%", "–", ";"]), max_size=12))
def test_nothing_but_spaces_is_lost(tokens: list[str]) -> None:
    text = detokenize_line(" ".join(tokens))
    assert text.replace(" ", "") == "".join(tokens).replace("@-@", "-")


@given(
    st.lists(
        st.sampled_from(["Paris", "was", "(", ")", ",", ";", "%", "/", "1 @,@ 500", "guest @-@ star"]),
        min_size=1,
    )
)
def test_plain_tokens_come_back(tokens: list[str]) -> None:
    assume(tokens[-2:] != ["1 @,@ 500", ","])  # at a line's end this comma is the number's: `1 @,@ 500 @,@ `
    line = " ".join(tokens)
    assert tokenize_line(detokenize_line(line)) == line
