"""A finished dataset as a user reads it: ours, the official files, the Penn Treebank, a file."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wikitext_builder as wb
from wikitext_builder.dataset.counts import count
from wikitext_builder.dataset.load import DatasetArticle, load
from wikitext_builder.dataset.manifest import read_manifest, read_tokens
from wikitext_builder.errors import BuilderError

WIKITEXT = " \n = A b = \n \n one two \n \n = = C = = \n \n one \n \n \n = D = \n \n three \n \n"


@pytest.mark.parametrize("layout", ["wiki.{}.tokens", "ptb.{}.txt", "{}.txt"])
def test_each_layout_is_found(tmp_path: Path, layout: str) -> None:
    for split in ("valid", "train"):
        (tmp_path / layout.format(split)).write_text(" a \n", encoding="utf-8")
    dataset = load(str(tmp_path))
    assert dataset.files == {split: tmp_path / layout.format(split) for split in ("train", "valid")}
    assert list(dataset.lines("valid")) == ["a"]
    with pytest.raises(BuilderError, match="no test file; found train, valid"):
        dataset.lines("test")
    (tmp_path / "empty").mkdir()
    with pytest.raises(BuilderError, match=r"wiki\.train\.tokens, ptb\.train\.txt, train\.txt"):
        load(tmp_path / "empty")
    with pytest.raises(BuilderError, match="there is no such folder or file; expected a dataset"):
        load(tmp_path / "missing")


def test_articles_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.tokens"
    path.write_text(WIKITEXT, encoding="utf-8")
    dataset = load(path)
    first, second = dataset.articles("test")
    assert (first.title, second.title) == ("A b", "D")
    assert first.paragraphs == ("one two", "one")
    assert first.tokens[:8] == ("<eos>", "=", "A", "b", "=", "<eos>", "<eos>", "one")
    assert (*first.lines, *second.lines) == tuple(dataset.lines("train"))
    assert (dataset.name, dataset.title, dataset.layout, dataset.manifest) == ("mine", "mine", "file", None)
    assert list(dataset.articles("valid")) == [first, second]


def test_a_text_without_articles_is_one(tmp_path: Path) -> None:
    (tmp_path / "ptb.train.txt").write_text(" no it was n't <unk> \n a b \n", encoding="utf-8")
    dataset = load(tmp_path)
    assert list(dataset.articles("train")) == [DatasetArticle("", ("no it was n't <unk>", "a b"))]
    assert len(dataset.vocabulary) == 8
    with pytest.raises(BuilderError, match="no raw train file"):
        dataset.lines("train", raw=True)


BARE = "\n".join(line.strip() for line in WIKITEXT.split("\n"))  # without the spaces around lines


@pytest.mark.parametrize("layout", ["ptb.{}.txt", "{}.txt", ""])
@pytest.mark.parametrize(
    "text", [BARE, BARE.replace("\n", "\r\n"), BARE.replace(" ", "\t "), BARE.rstrip("\n")]
)
def test_an_own_text_is_read_without_spaces_around_lines(tmp_path: Path, layout: str, text: str) -> None:
    own, official = tmp_path / (layout.format("train") or "mine"), tmp_path / "official" / "wiki.train.tokens"
    official.parent.mkdir()
    own.write_text(text, encoding="utf-8", newline="")
    official.write_text(WIKITEXT.rstrip("\n ") + " \n" if text[-1] != "\n" else WIKITEXT, encoding="utf-8")
    found, expected = load(tmp_path if layout else own), load(official.parent)
    assert list(found.lines("train")) == list(expected.lines("train"))
    assert list(found.articles("train")) == list(expected.articles("train"))
    assert found.vocabulary == expected.vocabulary
    official.write_text(BARE, encoding="utf-8")
    with pytest.raises(BuilderError, match=r"line 1: '.*' is not a line of WikiText"):
        list(expected.lines("train"))


@given(st.text(st.sampled_from("ab \t\r\n\x1c\u2028\u00a0<>=")))
def test_the_tokens_of_an_own_text_are_those_that_statistics_count(text: str) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, "train.txt")
        path.write_bytes(text.encode())
        tokens = [token for one in load(folder).articles("train") for token in one.tokens]
        assert tokens == list(read_tokens(path))
        assert count(path)[0].tokens == len(tokens)


def test_a_dataset_that_was_built_here(small: Path) -> None:
    dataset = wb.load(small / "demo")
    manifest = dataset.manifest
    assert manifest is not None
    assert manifest == read_manifest(small / "demo")
    assert dataset.title == "wikitext-demo"
    assert len(dataset.vocabulary) == manifest.vocabulary
    for split, counts in manifest.splits.items():
        assert sum(len(article.tokens) for article in dataset.articles(split)) == counts.tokens
        assert len(list(dataset.articles(split, raw=True))) == counts.articles
    table = dataset.to_pandas()
    assert list(table.columns) == ["split", "title", "text", "paragraphs", "tokens"]
    tokens = {split: counts.tokens for split, counts in manifest.splits.items()}
    assert table.groupby("split").tokens.sum().to_dict() == tokens
    assert "<unk>" not in "".join(dataset.to_pandas(raw=True).text)
