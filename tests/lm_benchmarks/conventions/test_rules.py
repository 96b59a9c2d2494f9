"""The pure functions of conventions: which pieces are scored, after which inputs, and for how many bytes."""

import itertools

from hypothesis import given
from hypothesis import strategies as st
from lm_benchmarks.conventions import Cut, Lengths, Rule
from lm_benchmarks.conventions.rules import CONVENTIONS, REGISTRY, joined_rows, rows_of

BOS = -1


class Letters:
    """A tokenizer whose pieces are letters: their place is their id."""

    bos: int | None = BOS
    begin = BOS
    begin_mark = "<s>"
    adds_bos = False

    def cut(self, text, *, marks):
        ends = itertools.accumulate(len(letter.encode()) for letter in text)
        return Cut(tuple(range(len(text))), tuple(ends))


def rule_of(name) -> Rule:
    rule = REGISTRY[name].rule
    assert rule is not None
    return rule


def targets_of(name, length, window, stride=None):
    lengths = REGISTRY[name].lengths(None, window, stride)
    return list(rule_of(name).windows("é" * length, Letters(), lengths))


@given(st.integers(2, 70), st.integers(2, 20), st.data())
def test_rules_that_score_all_pieces_score_each_once(length, window, data):
    stride = data.draw(st.integers(1, window))
    for name, first in (("lm-eval", 0), ("bits-per-byte", 0), ("hf-stride", 1)):
        found = targets_of(name, length, window, stride if first else None)
        scored = [piece for one in found for piece in one.targets]
        missing = set(range(first, length)) - set(scored)
        assert scored == sorted(set(scored))
        starts = set(range(0, length, window)) if name == "hf-stride" and stride == window else set()
        assert missing <= starts  # without overlap the first piece of a window is not predicted
        assert sum(one.text_bytes for one in found) == 2 * len(scored)


@given(st.sampled_from([*CONVENTIONS][1:]), st.integers(0, 70), st.integers(3, 20))
def test_inputs_fit_the_window_and_end_before_the_last_target(name, length, window):
    if name == "llama.cpp" and length < 2 * window:
        return
    stride = min(3, window) if REGISTRY[name].stride else None
    for one in rule_of(name).windows("x" * length, Letters(), Lengths(window, stride)):
        assert 1 <= len(one.targets) <= len(one.inputs) <= window
        whole = [*one.inputs[1:], one.targets[-1]]  # a mark can stand at the start only
        assert whole == list(range(whole[0], whole[0] + len(whole)))
        assert list(one.targets) == whole[len(whole) - len(one.targets) :]


def test_rows_are_lines_and_blank_ones_are_empty():
    text = " \n = Tea = \n \n Tea is a drink . \n\n\t\n no newline"
    assert rows_of(text) == ["", " = Tea = \n", "", " Tea is a drink . \n", "", "", " no newline"]
    assert joined_rows(" a \n \n b \n")[0].text == " a \n\n\n\n\n b \n"
    assert rows_of("") == []


def test_the_length_is_the_rules_or_the_models_or_the_users():
    gptq, stride = REGISTRY["gptq"], REGISTRY["hf-stride"]
    assert [gptq.lengths(longest).window for longest in (None, 1024, 4096)] == [2048, 1024, 2048]
    assert gptq.lengths(4096, 4096) == Lengths(4096, None, 4096)
    assert stride.lengths(16) == Lengths(16, 16, 16)
    assert stride.lengths(1024, None, 64).stride == 64
