"""Nothing is dropped: every token is a target once, after all that it may look back on."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ps_models.batching import Rows, to_rows
from wikitext_builder.errors import BuilderError


def targets_of(rows: Rows, stride: int, lookback: int) -> list[int]:
    """The tokens that an epoch's chunks predict, checking what each looks back on."""
    seen: list[int] = []
    begin = 0
    for chunk in rows.chunks(stride=stride, lookback=lookback):
        assert torch.equal(chunk.tokens, rows.tokens[:, begin : begin + chunk.tokens.shape[1]])
        assert chunk.tokens.shape[1] - chunk.scored == min(
            lookback, begin + chunk.tokens.shape[1] - chunk.scored
        )
        for row, tokens in enumerate(chunk.tokens[:, -chunk.scored :]):
            for column, token in enumerate(tokens):
                only_this = torch.zeros(len(rows), chunk.scored)
                only_this[row, column] = 1.0
                seen += [int(token)] * int(chunk.total(only_this))
        assert chunk.total(torch.ones(len(rows), chunk.scored)) == chunk.targets
        begin += chunk.advance
    return seen


@given(
    length=st.integers(1, 60),
    batch_size=st.integers(1, 7),
    stride=st.integers(1, 12),
    lookback=st.integers(0, 12),
)
def test_every_token_is_a_target_exactly_once_an_epoch(length, batch_size, stride, lookback):
    if length < batch_size:
        return
    rows = to_rows(torch.arange(length), batch_size)
    assert rows.targets == length
    assert sorted(targets_of(rows, stride, lookback)) == list(range(length))


@given(length=st.integers(8, 60), ranks=st.sampled_from([1, 2, 4]), stride=st.integers(1, 9))
def test_the_rows_of_all_processes_are_all_rows_in_step(length, ranks, stride):
    rows = to_rows(torch.arange(length), 4)
    shares = [rows.of_rank(rank, ranks) for rank in range(ranks)]
    assert sorted(token for share in shares for token in targets_of(share, stride, 3)) == list(range(length))
    counts = {len(list(share.chunks(stride=stride, lookback=3))) for share in shares}
    assert counts == {rows.chunk_count(stride)}


def test_rows_are_consecutive_text():
    rows = to_rows(torch.arange(10), 3)
    assert rows.tokens.tolist() == [[0, 1, 2, 3], [4, 5, 6, 0], [7, 8, 9, 0]]
    assert rows.shorter.tolist() == [False, True, True]


def test_a_chunk_begun_in_the_middle_is_the_one_of_the_whole_epoch():
    rows = to_rows(torch.arange(50), 2)
    whole = list(rows.chunks(stride=4, lookback=5))
    for start in range(len(whole)):
        for chunk, expected in zip(
            rows.chunks(stride=4, lookback=5, start=start), whole[start:], strict=True
        ):
            assert torch.equal(chunk.tokens, expected.tokens)
            assert (chunk.scored, chunk.advance) == (expected.scored, expected.advance)


def test_what_cannot_be_cut_is_refused():
    with pytest.raises(BuilderError, match="3 tokens cannot fill 4 rows"):
        to_rows(torch.arange(3), 4)
    with pytest.raises(BuilderError, match="cannot be shared by 3 processes"):
        to_rows(torch.arange(8), 4).of_rank(0, 3)
