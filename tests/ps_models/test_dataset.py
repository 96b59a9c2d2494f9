"""A dataset's files as ids and as chunks: each token is a target once, after all that it can look back on."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ps_models.dataset import (
    Rows,
    even_ends,
    random_ends,
    read_stream,
    read_texts,
    to_rows,
    vocabulary_hash,
)
from ps_models.errors import ModelError
from wikitext_builder.dataset.load import load as load_dataset
from wikitext_builder.dataset.vocabulary import Vocabulary


def targets_of(rows: Rows, ends: list[int], lookback: int) -> list[int]:
    """The tokens that an epoch's chunks predict, checking what each looks back on."""
    seen: list[int] = []
    begin = 0
    for chunk in rows.chunks(ends=ends, lookback=lookback):
        assert torch.equal(chunk.tokens, rows.tokens[:, begin : begin + chunk.tokens.shape[1]].long())
        assert (chunk.tokens.dtype, rows.tokens.dtype) == (torch.int64, torch.int32)
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
    random=st.booleans(),
)
def test_every_token_is_a_target_exactly_once_per_epoch(length, batch_size, stride, lookback, random):
    if length < batch_size:
        return
    rows = to_rows(torch.arange(length), batch_size)
    time = rows.tokens.shape[1]
    ends = random_ends(time, stride, seed=1, epoch=length) if random else even_ends(time, stride)
    assert rows.targets == length
    assert sorted(targets_of(rows, ends, lookback)) == list(range(length))


@given(length=st.integers(8, 60), ranks=st.integers(1, 4), stride=st.integers(1, 9))
def test_the_rows_of_all_processes_are_all_rows_in_step(length, ranks, stride):
    rows = to_rows(torch.arange(length), 4)
    shares = [rows.of_rank(rank, ranks) for rank in range(ranks)]
    ends = even_ends(rows.tokens.shape[1], stride)
    assert sorted(token for share in shares for token in targets_of(share, ends, 3)) == list(range(length))
    counts = {len(list(share.chunks(ends=ends, lookback=3))) for share in shares}
    assert counts == {-(-rows.tokens.shape[1] // stride)}


@given(size=st.integers(1, 6), rows=st.integers(0, 7))
def test_parts_of_a_chunk_are_its_rows_in_order(size, rows):
    (whole,) = to_rows(torch.arange(7 * size - size // 2), size).chunks(ends=[7], lookback=3)
    parts = list(whole.parts(rows))
    assert torch.equal(torch.cat([part.tokens for _, part in parts]), whole.tokens)
    assert sum((part.shorter for _, part in parts), ()) == whole.shorter
    assert {(part.scored, part.advance) for _, part in parts} == {(whole.scored, whole.advance)}
    if not 0 < rows < size:
        assert parts == [(None, whole)]
        return
    assert max(len(part.tokens) for _, part in parts) == rows
    assert len(parts) == -(-size // rows)
    assert all(torch.equal(whole.tokens[some], part.tokens) for some, part in parts)


def test_random_lengths_are_those_of_the_paper_and_other_ones_each_epoch():
    ends = random_ends(1_000_000, 70, seed=1, epoch=0)
    lengths = torch.tensor(ends).diff().double()
    halves = (lengths < 52).double().mean().item()
    assert halves == pytest.approx(0.05, abs=0.01)
    assert lengths[lengths > 52].mean().item() == pytest.approx(69.5, abs=0.3)  # as a whole number below 70
    assert lengths[lengths > 52].std().item() == pytest.approx(5, abs=0.3)
    assert lengths[lengths < 52].mean().item() == pytest.approx(34.5, abs=0.3)
    assert ends[-1] == 1_000_000
    assert ends == random_ends(1_000_000, 70, seed=1, epoch=0)
    others = (random_ends(1_000_000, 70, seed=seed, epoch=epoch) for seed, epoch in ((1, 1), (2, 0)))
    assert ends not in others


def test_no_random_length_is_below_five_but_the_last():
    lengths = torch.tensor([0, *random_ends(1_003, 5, seed=1, epoch=0)]).diff()
    assert lengths[:-1].min() == 5
    assert lengths.sum() == 1_003


def test_rows_are_consecutive_text():
    rows = to_rows(torch.arange(10), 3)
    assert rows.tokens.tolist() == [[0, 1, 2, 3], [4, 5, 6, 0], [7, 8, 9, 0]]
    assert rows.shorter == (False, True, True)
    moved = rows.to(torch.device("meta"))
    assert moved.tokens.shape == rows.tokens.shape
    assert (moved.tokens.device.type, moved.shorter) == ("meta", rows.shorter)


def test_too_few_rows_or_tokens_are_errors():
    with pytest.raises(ModelError, match="3 tokens cannot fill 4 rows"):
        to_rows(torch.arange(3), 4)
    with pytest.raises(ModelError, match="batch_size=4: each of 5 processes needs a row"):
        to_rows(torch.arange(8), 4).of_rank(0, 5)


WIKITEXT = " \n = A = \n \n one two \n \n \n = B = \n \n one \n"


@pytest.fixture
def wikitext(tmp_path):
    for split in ("train", "valid"):
        (tmp_path / f"wiki.{split}.tokens").write_text(WIKITEXT)
    return load_dataset(tmp_path)


def test_articles_of_wikitext_are_texts_that_join_to_the_whole(wikitext):
    vocabulary = Vocabulary.of_file(wikitext.file("train"))
    texts = list(read_texts(wikitext, "train", vocabulary))
    words = [" ".join(vocabulary.decode(text.tokens.tolist())) for text in texts]
    assert words == ["<eos> = A = <eos> <eos> one two <eos> <eos>", "<eos> = B = <eos> <eos> one <eos>"]
    assert sum(text.bytes for text in texts) == sum(
        len(line.strip().encode()) + 1 for line in WIKITEXT.splitlines()
    )
    assert read_stream(wikitext, "train", vocabulary).tolist() == [
        t for text in texts for t in text.tokens.tolist()
    ]


def test_words_not_in_the_vocabulary_are_unknown(wikitext):
    text = next(read_texts(wikitext, "valid", Vocabulary(("<unk>", "<eos>", "two"))))
    assert text.tokens.tolist() == [1, 0, 0, 0, 1, 1, 0, 2, 1, 1]


def test_a_file_without_lines_is_an_error(tmp_path):
    (tmp_path / "empty.txt").write_text("")
    with pytest.raises(ModelError, match="it has no lines"):
        list(read_texts(load_dataset(tmp_path / "empty.txt"), "train", Vocabulary(("<unk>", "<eos>"))))


def test_the_hash_of_a_vocabulary_is_sha256_of_its_lines_and_depends_on_order():
    # printf '<unk>\n<eos>\na' | sha256sum
    found = vocabulary_hash(Vocabulary(("<unk>", "<eos>", "a")))
    assert found == "2130dd15ce6fad64c44984306c86815eb00dc02400cc4727018aa7ec105f978d"
    assert vocabulary_hash(Vocabulary(("<unk>", "<eos>", "a", "b"))) != vocabulary_hash(
        Vocabulary(("<unk>", "<eos>", "b", "a"))
    )
