"""The detokenizer: the text of tokens, and the round trip through the tokenizer."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sacremoses import MosesTokenizer

from tests.cases import each
from wikitext_builder.tokens.detokenizer import detokenize, detokenize_line
from wikitext_builder.tokens.tokenizer import tokenize, tokenize_line


@each("tokenizer", "tokens, text", "detokenized")
def test_text_of_tokens(tokens: str, text: str) -> None:
    assert detokenize_line(tokens) == text


# What real lines have.
TEXTS = [
    "It's AT&T.", "R&B by AT&T for US$5, or $5 & more.", "It’s ‘fine’ at 12:30, O’Neill “said”.", "€50",
    "So ‘they’re here, I’ve one, I’ll go, he’d say, I’m in, we can’t’ now.",
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_a_line_comes_back(text: str) -> None:
    assert detokenize(tokenize(text)) == text


OTHERS = [
    ("fr", "L'amitié d'enfance, 1,5 km : oui."), ("it", "L'acqua e l'arte."), ("ru", "Он сказал: да."),
    ("de", "Das Haus kostet 5.000 Mark."), ("hi", "क्या आप जानते हैं? हाँ"), ("cs", "Říká ano, dobře."),
]  # fmt: skip


@pytest.mark.parametrize(("language", "text"), OTHERS)
def test_other_languages_have_the_rules_of_moses(language: str, text: str) -> None:
    assert detokenize(tokenize(text, language), language) == text


# What decides each side of a mark, at its limits; not all of these lines are ones that the tokenizer makes.
MARKS = [
    ("en", "B2B ’ s", "B2B’s"), ("en", "the BOSS ’ office", "the BOSS’ office"),
    ("en", "the dogs ’ bones", "the dogs’ bones"), ("en", "‘ it ’ s fine ’", "‘it’s fine’"),
    ("en", "a · b", "a · b"), ("en", "Psalm : 23", "Psalm: 23"),
    ("en", "in the USA : cars", "in the USA: cars"),
    ("en", "AT & sons", "AT & sons"), ("en", "& B", "& B"), ("en", "R &", "R &"),
    ("en", "Paris – London", "Paris–London"), (None, "1 @,@ 500 . . .", "1,500. . ."),
    ("de", "= = 1 @.@ 500 Jahre = =", "== 1.500 Jahre =="),
]  # fmt: skip


@pytest.mark.parametrize(("language", "tokens", "text"), MARKS)
def test_marks_at_the_limits_of_their_rules(language: str | None, tokens: str, text: str) -> None:
    assert detokenize_line(tokens, language) == text


WORDS = [("hi", "क्या आप जानते हैं? हाँ।"), ("ta", "தமிழ் மொழி, இது."), ("bn", "বাংলা ভাষা কি?"), ("kn", "ಕನ್ನಡ ಭಾಷೆ.")]


@pytest.mark.parametrize(("language", "text"), WORDS)
def test_words_with_marks_stay_whole_as_in_sacremoses(language: str, text: str) -> None:
    assert tokenize(text, language).split() == MosesTokenizer(language).tokenize(text, escape=False)


def test_metrics_count_the_text_that_tokens_alone_give() -> None:
    assert detokenize_line("R & B for US $ 5", None) == "R & B for US $5"


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
