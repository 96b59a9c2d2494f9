"""The detokenizer: the text of tokens, and the round trip through the tokenizer."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from tests.cases import each
from wikitext_builder.tokens.detokenizer import detokenize, detokenize_line
from wikitext_builder.tokens.tokenizer import tokenize, tokenize_line


@each("tokenizer", "tokens, text", "detokenized")
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
