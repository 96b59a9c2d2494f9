"""The detokenizer: the text of tokens, and the round trip through the tokenizer."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st
from sacremoses import MosesTokenizer

from tests.cases import cases, wrong
from wikitext_builder.tokens.detokenizer import detokenize, detokenize_line
from wikitext_builder.tokens.tokenizer import tokenize, tokenize_line


def test_text_of_tokens() -> None:
    """Also of lines that the tokenizer does not make: they are at the limits of the rules."""
    faults = wrong("tokenizer", "detokenized", "text", lambda case: detokenize_line(case["tokens"]))
    table = "marks at the limits of their rules"
    faults += wrong(
        "tokenizer", table, "text", lambda case: detokenize_line(case["tokens"], case["language"])
    )
    assert faults == []


def test_a_text_comes_back() -> None:
    def again(case: dict[str, str]) -> str:
        return detokenize(tokenize(case["text"], case["language"]), case["language"])

    assert wrong("tokenizer", "texts that come back", "text", again) == []


def test_words_with_marks_stay_whole_as_in_sacremoses() -> None:
    for case in cases("tokenizer", "words with marks"):
        words = MosesTokenizer(case["language"]).tokenize(case["text"], escape=False)
        assert tokenize(case["text"], case["language"]).split() == words


def test_metrics_count_the_text_that_tokens_alone_give() -> None:
    assert detokenize_line("R & B for US $ 5", None) == "R & B for US $5"


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
