"""Scores add up; a signature prints as one line and parses back."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ps_models.signature import Score, Signature, signature_value


@given(
    st.lists(
        st.builds(Score, st.integers(0, 700).map(float), st.integers(1, 50), st.integers(1, 99)), min_size=1
    )
)
def test_the_sum_of_scores_is_the_score_of_the_whole(scores):
    whole = sum(scores, Score())
    assert whole == Score(
        sum(s.nats for s in scores), sum(s.tokens for s in scores), sum(s.bytes for s in scores)
    )
    assert whole.perplexity == pytest.approx(math.exp(whole.nats / whole.tokens))


def test_perplexity_and_bits():
    assert Score(math.log(8) * 4, 4, 6).perplexity == pytest.approx(8)
    assert Score(math.log(2) * 4, 1, 2).bits_per_byte == pytest.approx(2)
    assert Score(1e9, 1).perplexity == math.inf
    with pytest.raises(ZeroDivisionError):
        _ = Score().perplexity


@given(
    st.dictionaries(
        st.builds(str.__add__, st.sampled_from("az"), st.text("az09_")),
        st.text("AZaz09_.+-", min_size=1),
        min_size=1,
    )
)
def test_a_signature_parses_back_in_order(fields):
    signature = Signature(**fields)
    assert Signature.parse(str(signature)) == signature
    assert list(Signature.parse(str(signature)).items()) == list(fields.items())


@pytest.mark.parametrize(
    "line", ["", "data", "data:", "data:a|data:b", "data:a b", "Data:a", "data:a|", "data:é"]
)
def test_a_line_that_is_not_a_signature_is_an_error(line):
    with pytest.raises(ValueError, match="signature"):
        Signature.parse(line)


@given(st.text())
def test_any_text_becomes_a_value(text):
    Signature(data=signature_value(text))
