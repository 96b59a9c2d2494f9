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


# What real lines of a language have.
TEXTS = [
    ("fr", "L'amitié d'enfance, 5 % : oui !"), ("fr", "Il dit « non » ; c’est aujourd’hui 3,5 km."),
    ("it", "Un po' dell'arte e l'acqua: il 5% di «tutto»."), ("ca", "L'aigua de l'Hospitalet, col·lecció."),
    ("de", "Das „Haus“ kostet 5 % – ja, um 12:30 Uhr."), ("de", "Die »Zeit« von 1990–2000 war ‚gut‘."),
    ("es", "¿Qué hay? ¡Nada! «Sí», el 5%."), ("cs", "Říká „ano“, 5%."), ("ru", "Он сказал «да» – и ушёл."),
    ("sv", "Han sade ”ja” om EU:s 5 %."), ("fi", "EU:n 5 % ja ”niin”."), ("pl", "Mówi „tak”, 5%."),
    ("hi", "क्या आप जानते हैं? हाँ।"), ("ta", "தமிழ் மொழி, இது."), ("bn", "বাংলা ভাষা কি?"), ("kn", "ಕನ್ನಡ ಭಾಷೆ."),
    ("fa", "می‌خواهم، بله؟"), ("ja", "東京は、日本の「首都」である。"), ("simple", "It's AT&T."),
    ("en", "R&B by AT&T for US$5, or $5 & more."), ("en", "It’s ‘fine’ at 12:30, O’Neill “said”."),
    ("en", "€50"), ("da", "Han sagde »ja« til det."), ("hu", "A »könyv« jó."),
    ("sl", "Rekel je »da« in šel."), ("hr", "Rekao je »da« i otišao."),
    ("de", "Er rief: „Das ist ‚gut’“ und ging."), ("ga", "Tá m'athair anseo."),
    ("pl", "To „a” i „b“, ‚c’ i ‚d‘, “e”, ‘f’, «g», ‹h› tu."), ("da", "Det »a« og ›b‹, „c“ og «d» her."),
    ("sv", "Det ”a” och »b» här."), ("sv", "Ett “ord” här, ‘ett annat’ där."),
    ("fr", "Un “a” et une ‘forme rare’ là."), ("de", "Eine ‘alte Form’ hier."),
    ("es", "Una ‘forma rara’ aquí."), ("da", "Det ‹a› her."), ("fi", "Sana „a“ ja ‚b‘ ja «c» ja ‹d› on."),
    ("en", "So ‘they’re here, I’ve one, I’ll go, he’d say, I’m in, we can’t’ now."),
]  # fmt: skip


@pytest.mark.parametrize(("language", "text"), TEXTS)
def test_a_line_of_a_language_comes_back(language: str, text: str) -> None:
    assert detokenize(tokenize(text, language), language) == text


# What decides each side of a mark, at its limits; not all of these lines are ones that the tokenizer makes.
MARKS = [
    ("fr", "= = L' amitié : oui = =", "== L'amitié : oui =="), ("fr", "Qui ? non !", "Qui ? non !"),
    ("fr", "l' U.S. Army", "l'U.S. Army"), ("fr", "l ’ A320", "l’A320"),
    ("de", "Hans ’ 5 Hunde", "Hans’ 5 Hunde"),
    ("en", "B2B ’ s", "B2B’s"), ("en", "the BOSS ’ office", "the BOSS’ office"),
    ("en", "the dogs ’ bones", "the dogs’ bones"), ("en", "‘ it ’ s fine ’", "‘it’s fine’"),
    ("de", "Rosie O ' Donnell , Sotheby ' s", "Rosie O'Donnell, Sotheby's"), ("en", "a · b", "a · b"),
    ("en", "Psalm : 23", "Psalm: 23"), ("en", "in the USA : cars", "in the USA: cars"),
    ("sv", "i Sverige : en", "i Sverige: en"), ("sv", "SvD : s", "SvD:s"), ("en", "AT & sons", "AT & sons"),
    ("en", "& B", "& B"), ("en", "R &", "R &"), ("en", "Paris – London", "Paris–London"),
    ("de", "1990 – heute", "1990 – heute"), ("de", "5 – 7", "5–7"), ("de", "S5 – 7a", "S5–7a"),
    (None, "1 @,@ 500 . . .", "1,500. . ."),
]  # fmt: skip


@pytest.mark.parametrize(("language", "tokens", "text"), MARKS)
def test_marks_at_the_limits_of_their_rules(language: str | None, tokens: str, text: str) -> None:
    assert detokenize_line(tokens, language) == text


@pytest.mark.parametrize("language", ["hi", "ta", "bn", "kn"])
def test_words_with_marks_stay_whole_as_in_sacremoses(language: str) -> None:
    moses = MosesTokenizer(language)
    for of, text in TEXTS:
        if of == language:
            assert tokenize(text, language).split() == moses.tokenize(text, escape=False)


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
