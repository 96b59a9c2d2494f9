"""Plain texts cut by real tokenizers: the bytes that each piece stands for, and the marks."""

from types import SimpleNamespace

import pytest
from lm_benchmarks.adapters.piece_model import TextPieces
from lm_benchmarks.choices import HarnessError

from tests.lm_benchmarks.tiny_causal import make_causal_model, make_sentence_model

TEXT = " the cat  saw — the café , naïve 猫 dog \n\n = A = \n end  "


@pytest.fixture(params=[make_causal_model, make_sentence_model], ids=lambda make: make.__name__)
def tokenizer(request, data, tmp_path):
    transformers = pytest.importorskip("transformers", reason="needs the package transformers")
    request.param(tmp_path, data / "wiki.train.tokens")
    return transformers.AutoTokenizer.from_pretrained(tmp_path)


@pytest.mark.parametrize("marks", [False, True])
def test_the_pieces_stand_for_all_bytes_of_the_text(tokenizer, marks):
    pieces = TextPieces(tokenizer)
    for text in (TEXT, "the cat", "é", "\n"):
        cut = pieces.cut(text, marks=marks)
        assert list(cut.pieces) == tokenizer.encode(text, add_special_tokens=marks)
        assert len(cut.ends) == len(cut.pieces)
        assert list(cut.ends) == sorted(cut.ends)
        assert cut.ends[-1] == len(text.encode())
        assert cut.ends[0] == 0 or not (marks and pieces.adds_bos)


def test_a_piece_of_a_word_stands_for_its_letters(tokenizer):
    cut = TextPieces(tokenizer).cut("the cat saw the cat", marks=False)
    spelled = tokenizer.convert_ids_to_tokens(list(cut.pieces))
    sizes = [end - begin for begin, end in zip((0, *cut.ends), cut.ends, strict=False)]
    plain = [piece.replace("Ġ", " ").replace("▁", " ") for piece in spelled]
    plain[0] = plain[0].lstrip()  # SentencePiece's kind puts a space before a text, which is not in it
    expected = [len(piece) for piece in plain]
    assert sizes[2:] == expected[2:]
    assert sum(sizes[:2]) == sum(expected[:2])  # the space that is not there can have the place of a letter


def test_a_tokenizer_without_places_gives_each_piece_the_same_share():
    class Slow:
        bos_token_id, eos_token_id, is_fast = 1, 2, False

        def encode(self, text, add_special_tokens):
            return [1, 7] if add_special_tokens else [7]

        def decode(self, pieces):
            return "<s>"

        def __call__(self, text, *, return_offsets_mapping, **_options):
            assert return_offsets_mapping is False
            return {"input_ids": [1, 7, 8, 9]}

    pieces = TextPieces(Slow())
    assert (pieces.bos, pieces.begin, pieces.begin_mark, pieces.adds_bos) == (1, 1, "<s>", True)
    assert pieces.cut("ten bytes!", marks=True).ends == (2, 5, 7, 10)


def test_a_tokenizer_without_marks_is_refused():
    with pytest.raises(HarnessError, match="neither a BOS nor an EOS token"):
        TextPieces(SimpleNamespace(bos_token_id=None, eos_token_id=None))
