"""A dataset's files as ids: WikiText's articles, Penn Treebank's one text, any file."""

import pytest

from ps_models.data.dataset import read_stream, read_texts, vocabulary_hash
from ps_models.errors import ModelError
from wikitext_builder.dataset.load import load as load_dataset
from wikitext_builder.dataset.vocabulary import Vocabulary
from wikitext_builder.errors import BuilderError

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


def test_missing_splits_and_folders_are_errors(wikitext, tmp_path):
    with pytest.raises(BuilderError, match="no test file; found train, valid"):
        wikitext.file("test")
    with pytest.raises(BuilderError, match="there is no such folder or file"):
        load_dataset(tmp_path / "nowhere")
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
