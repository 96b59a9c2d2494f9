"""Statistics of the official files against Table 1 of the paper, and of small files made for the purpose."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
import pytest

from tests.cases import each
from tests.conftest import data
from wikitext_builder.dataset.counts import count
from wikitext_builder.dataset.load import load_named
from wikitext_builder.dataset.manifest import read_tokens
from wikitext_builder.errors import BuilderError
from wikitext_builder.stats.portrait import portrait
from wikitext_builder.stats.statistics import (
    PUBLISHED,
    as_text,
    corpus_statistics,
    statistics,
    to_records,
)

TABLE_1 = """
Penn Treebank | - - -        | 929,590 73,761 82,431       | 10,000  | 4.8
WikiText-2    | 600 60 60    | 2,088,628 217,646 245,569   | 33,278  | 2.6
WikiText-103  | 28,475 60 60 | 103,227,021 217,646 245,569 | 267,735 | 0.4
"""  # Merity et al. 2016: articles and tokens of train, valid and test; vocabulary; percent of unknown words
PAPER = {
    name.strip(): [cell.replace(",", "").split() for cell in cells]
    for name, *cells in (line.split("|") for line in TABLE_1.strip().split("\n"))
}


def official(folder: str, name: str) -> pd.DataFrame:
    table = statistics(data(folder))
    assert set(table.corpus) == {name}
    return table.set_index("split")


def test_published_numbers_are_those_of_table_1() -> None:
    assert PUBLISHED.keys() == PAPER.keys()
    for name, (articles, tokens, (vocabulary,), (percent,)) in PAPER.items():
        published = {key: value for key, value in PUBLISHED[name].items() if key != "note"}
        assert list(published) == ["train", "valid", "test", "all"]
        *splits, _ = published.values()
        assert [str(split.get("articles", "-")) for split in splits] == articles
        assert [str(split["tokens"]) for split in splits] == tokens
        assert {str(part["vocabulary"]) for part in published.values()} == {vocabulary}
        rates = [round(100 * part.get("oov_rate", 0), 9) for part in published.values()]
        assert rates == [float(percent), 0, 0, 0]
        assert ("note" in PUBLISHED[name]) == (name == "Penn Treebank")


def test_wikitext_2_is_the_papers_table() -> None:
    table = official("wikitext-2", "WikiText-2")
    articles, tokens, (vocabulary,), (percent,) = PAPER["WikiText-2"]
    assert list(table.index) == ["train", "valid", "test", "all"]
    assert list(table.articles) == [*map(int, articles), 720]
    assert list(table.tokens[:3]) == list(table.paper_tokens[:3]) == [*map(int, tokens)]
    assert set(table.vocabulary) == set(table.paper_vocabulary) == {int(vocabulary)}
    assert f"{table.oov_rate['train']:.1%}" == f"{table.paper_oov_rate['train']:.1%}" == f"{percent}%"
    assert set(table.note) == {""}


def test_penn_treebank_is_the_papers_table_but_for_one_eos() -> None:
    table = official("ptb", "Penn Treebank")
    _, tokens, (vocabulary,), (percent,) = PAPER["Penn Treebank"]
    assert list(table.tokens[:3]) == [int(number) - 1 for number in tokens]
    assert list(table.paper_tokens[:3]) == [*map(int, tokens)]
    assert all("<eos>" in note for note in table.note[:3])
    assert table.articles.isna().all()
    assert set(table.vocabulary) == {int(vocabulary)}
    assert f"{table.oov_rate['train']:.1%}" == f"{percent}%"
    # The denominator: tokens with <eos>. The words alone would give the rate that the paper does not have.
    assert f"{table.unknown['train'] / (table.tokens['train'] - table.lines['train']):.1%}" == "5.1%"


def test_wikitext_103_without_train_shows_what_is_there() -> None:
    table = official("wikitext-103", "WikiText-103")
    assert list(table.index) == ["valid", "test", "all"]
    assert list(table.articles) == [60, 60, 120]
    assert list(table.tokens) == [217_646, 245_569, 463_215]
    assert table.vocabulary.isna().all()


ARTICLES = " \n = One = \n \n a b <unk> \n \n = = Part = = \n \n = k = \n \n = Two = \n \n b c \n \n"


def test_counts_of_a_small_file(tmp_path: Path) -> None:
    path = tmp_path / "wiki.train.tokens"
    path.write_text(ARTICLES, encoding="utf-8")
    totals, counts = count(path)
    assert totals.articles == 3  # a paragraph between blank lines cannot be told from a title
    assert totals.lines == 13
    assert totals.tokens == 13 + 19
    assert counts["<eos>"] == 13
    assert totals.oov_rate == 1 / totals.tokens
    assert list(read_tokens(path)).count("<eos>") == 13


@each("dataset", "text, articles", "articles")
def test_what_is_an_article(tmp_path: Path, text: str, articles: int) -> None:
    (tmp_path / "file").write_text(text, encoding="utf-8")
    assert count(tmp_path / "file")[0].articles == articles


def test_each_line_has_an_end(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("a b\nc", encoding="utf-8")
    totals, counts = count(tmp_path / "train.txt")
    assert (totals.tokens, counts["<eos>"]) == (5, 2)


def test_empty_file_has_no_rate(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("", encoding="utf-8")
    table = statistics(tmp_path)
    assert list(table.tokens) == [0, 0]
    assert table.oov_rate.isna().all()
    assert "-" in as_text(table)


def folders(tmp_path: Path, *names: str, below: Sequence[str] = ("wikitext-2", "wikitext-2")) -> list[Path]:
    """Datasets of one title, in folders of other names above."""
    found = [tmp_path / name / one for name, one in zip(names, below, strict=True)]
    for number, folder in enumerate(found, start=1):
        folder.mkdir(parents=True)
        (folder / "wiki.train.tokens").write_text("a b <unk>\n" * number, encoding="utf-8")
    return found


def test_datasets_of_one_title_are_named_by_what_differs(tmp_path: Path) -> None:
    both = folders(tmp_path, "2016", "today")
    table = statistics(*both)
    assert list(dict.fromkeys(table["corpus"])) == ["2016/wikitext-2", "today/wikitext-2"]
    assert table["lines"].tolist() == [1, 1, 2, 2]
    assert table["paper_vocabulary"].tolist() == [33_278] * 4  # still found by the title
    assert table.index.tolist() == [0, 1, 2, 3]
    assert set(statistics(*both, names=["old", "new"])["corpus"]) == {"old", "new"}
    # A build has the recipe's name, wikitext-2, and the official files have the paper's.
    table = statistics(*folders(tmp_path, "official", "mine", below=("wikitext", "WikiText")))
    assert list(dict.fromkeys(table["corpus"])) == ["official/wikitext", "mine/WikiText"]


def test_what_cannot_be_counted_is_said(tmp_path: Path) -> None:
    first, second = folders(tmp_path, "2016", "today")
    binary = tmp_path / "train.txt"
    binary.write_bytes(b"a \xff\n")
    calls: dict[str, Callable[[], object]] = {
        "expected a folder": lambda: statistics(first / "wiki.train.tokens"),
        "at least one": statistics,
        "--name: 1 for 2 datasets": lambda: statistics(first, second, names=["old"]),
        "two datasets have the name 'old'": lambda: statistics(first, second, names=["old", "old"]),
        "give each folder once": lambda: statistics(first, first),
        r"train\.txt.*UTF-8": lambda: corpus_statistics("x", {"train": binary}),
        "missing": lambda: corpus_statistics("x", {"train": tmp_path / "missing"}),
    }
    for says, call in calls.items():
        with pytest.raises(BuilderError, match=says):
            call()


def test_table_and_records_of_two_corpora(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("a b <unk>\n" * 500, encoding="utf-8")
    (tmp_path / "wiki.test.tokens").write_text(ARTICLES, encoding="utf-8")
    tables = [
        corpus_statistics("mine", {"train": tmp_path / "train.txt"}),
        corpus_statistics("WikiText-2", {"test": tmp_path / "wiki.test.tokens"}),
    ]
    both = pd.concat(tables, ignore_index=True)
    assert as_text(tables[0]).splitlines() == [
        "mine         Train     All",
        "--------------------------",
        "Articles         -       -",
        "Tokens       2,000   2,000",
        "Vocab size       4",
        "OoV rate    25.00%  25.00%",
    ]
    assert as_text(both).splitlines() == [
        "              mine          WikiText-2",
        "             Train     All        Test    All",
        "---------------------------------------------",
        "Articles         -       -           3      3",
        "  paper          -       -          60      -",
        "Tokens       2,000   2,000          32     32",
        "  paper          -       -     245,569      -",
        "Vocab size       4                   -",
        "  paper          -              33,278",
        "OoV rate    25.00%  25.00%       3.12%  3.12%",
    ]
    records = json.loads(json.dumps(to_records(both)))
    assert [record["corpus"] for record in records] == ["mine", "mine", "WikiText-2", "WikiText-2"]
    assert records[0]["tokens"] == 2000
    assert records[0]["paper_tokens"] is None
    assert [record["paper_articles"] for record in records] == [None, None, 60, None]
    assert records[2]["vocabulary"] is None
    words = ARTICLES.split()
    counted = {
        "lines": ARTICLES.count("\n"),
        "types": len({*words, "<eos>"}),
        "unknown": words.count("<unk>"),
    }
    assert counted.items() <= records[2].items()
    assert {"lines": 500, "types": 4, "unknown": 500}.items() <= records[0].items()


def test_the_papers_rate_of_train_stands_below_ours(tmp_path: Path) -> None:
    (tmp_path / "wiki.train.tokens").write_text("a b <unk>\n", encoding="utf-8")
    table = corpus_statistics("mine", {"train": tmp_path / "wiki.train.tokens"}, title="WikiText-2")
    assert as_text(table).splitlines()[-2:] == [
        "OoV rate       25.00%  25.00%",
        "  paper          2.6%       -",
    ]


def test_types_of_all_splits_are_counted_once(tmp_path: Path) -> None:
    for split, text in (("train", "a b\n"), ("test", "b c\n")):
        (tmp_path / f"{split}.txt").write_text(text, encoding="utf-8")
    table = statistics(tmp_path).set_index("split")
    assert table["types"].to_dict() == {"train": 3, "test": 3, "all": 4}  # with <eos>


def test_measures_are_those_of_the_portrait(small: Path) -> None:
    whole = small / "demo"
    for raw in (False, True):
        table = statistics(whole, measures=["spectrum"], raw=raw)
        pd.testing.assert_frame_equal(table, portrait(load_named([whole]), ["spectrum"], raw=raw))
    assert not statistics(whole, measures=["spectrum"]).equals(table)


def test_a_note_explains_one_eos_too_few_and_no_other_difference(tmp_path: Path) -> None:
    """Notes stand below the tables, in the order of the datasets."""
    (tmp_path / "test.txt").write_text("a\n" * 41_215, encoding="utf-8")  # 82,430 tokens; the paper: 82,431
    (tmp_path / "valid.txt").write_text("a\n", encoding="utf-8")
    files = {split: tmp_path / f"{split}.txt" for split in ("valid", "test")}
    tables = [corpus_statistics(name, files, title="Penn Treebank") for name in ("z", "a")]
    assert [bool(note) for note in tables[0]["note"]] == [False, True, False]
    note = "the paper has one <eos> more than the file has lines, as if it ended in an empty line"
    assert as_text(pd.concat(tables)).endswith(f"\n\nz: {note}.\n\na: {note}.\n")
