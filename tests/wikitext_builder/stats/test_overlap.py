"""overlap: what was copied into other text is found, whatever its form."""

import csv
import errno
import gzip
import io
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import wikitext_builder as wb
from tests.command import done, refused
from tests.conftest import data
from tests.wikitext_builder.datasets import SPLITS
from wikitext_builder.cli import cli
from wikitext_builder.errors import BuilderError
from wikitext_builder.stats.overlap import Overlap, as_text


@pytest.fixture
def built(sample: Path) -> Path:
    return sample / "demo"


def plain_text(dataset: Path, split: str) -> str:
    """The articles of a split as anyone may have them: no tokens, other case, other line ends."""
    lines = (wb.detokenize(line) for line in wb.load(dataset).lines(split, raw=True) if line)
    return "\n".join(lines).upper().replace(". ", ".\n")


def shares(overlap: Overlap, length: int) -> dict[str, float]:
    """The share of each split."""
    articles = {
        split: [article for article in overlap.articles if article.split == split] for split in SPLITS
    }
    return {
        split: sum(one.shared[length] for one in some) / sum(one.ngrams[length] for one in some)
        for split, some in articles.items()
        if some
    }


def test_a_dataset_overlaps_itself_in_everything(built: Path) -> None:
    overlap = wb.overlap(built, against=built, splits=SPLITS)
    for article in overlap.articles:
        assert article.shared == article.ngrams
        assert article.near_duplicates == article.paragraphs > 0
        assert article.is_near_duplicate
    assert len(overlap.articles) == 28


def test_without_other_text_a_dataset_is_compared_with_its_train(built: Path) -> None:
    overlap = wb.overlap(built)
    assert overlap.against == (str(built / "wiki.train.raw"),)
    assert {article.split for article in overlap.articles} == {"valid", "test"}
    assert overlap.articles == wb.overlap(built, against=built / "wiki.train.raw").articles
    official = wb.overlap(data("wikitext-2"))
    assert sum(article.near_duplicates for article in official.articles if article.split == "test") == 0
    assert max(official.articles, key=lambda article: article.shared[13]).title == "The Boat Race 2008"


def test_what_was_copied_is_found_in_plain_text(built: Path, tmp_path: Path) -> None:
    (tmp_path / "copy.txt.gz").write_bytes(gzip.compress(plain_text(built, "test").encode()))
    overlap = wb.overlap(built, against=tmp_path / "copy.txt.gz", splits=SPLITS)
    found = shares(overlap, 13)
    assert (found["train"], found["test"]) == (0, 1)


def test_official_files_with_other_rare_words_overlap() -> None:
    """WikiText-103's valid is WikiText-2's, with other words as `<unk>`."""
    overlap = wb.overlap(data("wikitext-103"), against=data("wikitext-2"), splits=["valid"])
    assert sum(article.is_near_duplicate for article in overlap.articles) > 55
    raw = wb.overlap(data("wikitext-2"), against=data("wikitext-2-raw/wiki.valid.raw"), splits=["valid"])
    assert shares(raw, 8) == {"valid": 1}


def test_half_of_the_ngrams_is_enough(tmp_path: Path) -> None:
    """16 words have ten 7-grams, and the first 11 of them five."""
    words = [f"w{number}" for number in range(16)]
    text = f" \n = Tea = \n \n {' '.join(words)} \n"
    (tmp_path / "wiki.test.tokens").write_text(text, encoding="utf-8")
    for copied, near in ((10, 0), (11, 1), (16, 1)):
        (tmp_path / "other.txt").write_text(" ".join(words[:copied]), encoding="utf-8")
        (article,) = wb.overlap(tmp_path, against=tmp_path / "other.txt", words=[7]).articles
        assert (article.ngrams, article.shared) == ({7: 10}, {7: copied - 6})
        assert (article.near_duplicates, article.is_near_duplicate) == (near, bool(near))


def test_nothing_in_a_folder_is_passed_over_in_silence(built: Path, tmp_path: Path) -> None:
    """What cannot be read is listed, up to its damage it counts, and the other files are read."""
    folder = tmp_path / os.fsdecode(b"caf\xe9")  # Linux allows bytes that are not UTF-8 in a path
    (folder / "below").mkdir(parents=True)
    text = plain_text(built, "test").encode()
    (folder / "below" / "good.txt").write_bytes(text)
    (folder / "binary.store").write_bytes(b"SQLite format 3\0")
    (folder / "cut.txt.gz").write_bytes(gzip.compress(text)[:-9])
    (folder / "latin.txt").write_bytes("déjà".encode("latin-1"))
    (folder / "to-nothing").symlink_to(tmp_path / "absent")
    overlap = wb.overlap(built, against=folder)
    unread = {Path(one.path).name: one.reason for one in overlap.unread}
    assert unread == {
        "binary.store": "binary",
        "cut.txt.gz": "damaged",
        "latin.txt": "not-utf-8",
        "to-nothing": "unreadable",
    }
    assert shares(overlap, 8)["test"] == 1


def test_a_folder_that_cannot_be_read_is_an_error(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As root can read everything, the system's answer to others is given here."""
    closed, scan = tmp_path / "texts" / "closed", os.scandir
    closed.mkdir(parents=True)

    def scandir(path: str) -> object:
        if Path(path) == closed:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return scan(path)

    monkeypatch.setattr("os.scandir", scandir)
    with pytest.raises(BuilderError, match="closed: Permission denied"):
        wb.overlap(built, against=tmp_path / "texts")


def test_the_command_prints_what_the_library_finds(built: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(plain_text(built, "test"), encoding="utf-8")
    (tmp_path / "b.txt").write_bytes(b"\0")
    words = ["overlap", built, "--against", tmp_path / "a.txt", "--against", tmp_path / "b.txt"]
    overlap = wb.overlap(built, against=[tmp_path / "b.txt", tmp_path / "a.txt"])
    assert done(*words) == as_text(overlap)
    assert json.loads(done(*words, "--json"))["characters"] == overlap.characters
    printed = CliRunner().invoke(cli, [*map(str, words), "--csv"])
    rows = list(csv.DictReader(io.StringIO(printed.stdout)))
    assert [row["title"] for row in rows] == [article.title for article in overlap.articles]
    assert [int(row["shared_13"]) for row in rows] == [article.shared[13] for article in overlap.articles]
    assert "b.txt: binary, found a zero byte" in printed.stderr
    only = json.loads(done(*words, "--split", "test", "--words", "5", "--json"))
    assert {article["split"] for article in only["articles"]} == {"test"}
    assert list(only["articles"][0]["ngrams"]) == ["5"]


def test_names_do_not_steer_the_terminal(tmp_path: Path) -> None:
    text = " \n = Tea\x1b[2J \u202e = \n \n a b c d e f g h i \n"
    (tmp_path / "wiki.test.tokens").write_text(text, encoding="utf-8")
    steering, binary = tmp_path / "b\x1b]0;c.txt", tmp_path / "\x1b.txt"
    steering.write_text("a b c d e f g h i", encoding="utf-8")
    binary.write_bytes(b"\0")
    printed = done("overlap", tmp_path, "--against", steering, "--against", binary)
    assert "\x1b" not in printed
    assert "\u202e" not in printed
    assert "100.00%  Tea\\x1b[2J \\u202e (test)" in printed
    assert "/\\x1b.txt: binary" in printed


def test_bad_arguments(built: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text(" \n", encoding="utf-8")
    (tmp_path / "binary.txt").write_bytes(b"\0")
    (tmp_path / "empty").mkdir()
    bad: list[tuple[str, Path, dict[str, Any]]] = [
        ("absent: is no file", built, {"against": tmp_path / "absent"}),
        ("empty: has no files", built, {"against": tmp_path / "empty"}),
        ("expected 1 to 1,000", built, {"words": [0]}),
        ("expected 1 to 1,000", built, {"words": [8, 1001]}),
        ("no valid2 file", built, {"against": built, "splits": ["valid2"]}),
        ("empty.txt: no words to compare", tmp_path / "empty.txt", {"against": built}),
        # else a damaged file would look like no overlap
        ("no text was found(.|\n)*binary.txt: binary", built, {"against": tmp_path / "binary.txt"}),
    ]
    for words, dataset, options in bad:
        with pytest.raises(BuilderError, match=words):
            wb.overlap(dataset, **options)
    alone = Path(shutil.copy(built / "wiki.test.tokens", tmp_path))
    for dataset in (tmp_path, alone):
        assert "has no train to compare with; name other text with --against" in refused("overlap", dataset)
