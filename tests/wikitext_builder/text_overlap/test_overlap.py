"""overlap: what was copied into other text is found, whatever its form, the memory, and the workers."""

import csv
import errno
import gzip
import io
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

import wikitext_builder as wb
from tests.command import done, refused
from tests.conftest import data
from tests.wikitext_builder.datasets import PAGES, build, store_of
from wikitext_builder.cli import cli
from wikitext_builder.dataset.vocabulary import UNK
from wikitext_builder.errors import BuilderError
from wikitext_builder.sample import SAMPLE_DUMP
from wikitext_builder.text_overlap.result import as_text


@pytest.fixture
def built(sample: Path) -> Path:
    return sample / "demo"


def plain_text(dataset: Path, split: str) -> str:
    """The articles of a split as anyone may have them: no tokens, other case, other line ends."""
    lines = (wb.detokenize(line) for line in wb.load(dataset).lines(split, raw=True) if line)
    return "\n".join(lines).upper().replace(". ", ".\n")


def test_a_dataset_overlaps_itself_in_everything(built: Path) -> None:
    found = wb.overlap(built, against=built)
    for split in found.splits:
        assert split.shared == split.ngrams
        assert split.paragraphs == split.duplicate_paragraphs == split.near_duplicate_paragraphs > 0
        assert split.near_duplicates == split.articles
    for one in found.articles:
        assert one.nearest == f"{built}: {one.title}"
        assert one.nearest_shared == one.ngrams[8]
        assert one.stretch_in.startswith(f"{built}: ")
    assert sum(one.articles for one in found.splits) == 28


def test_without_other_text_a_dataset_is_compared_with_its_train(built: Path) -> None:
    found = wb.overlap(built)
    assert found == wb.overlap(built, against=built / "wiki.train.raw", splits=["valid", "test"])
    found = wb.overlap(data("wikitext-2"))
    assert found.against == (str(data("wikitext-2/wiki.train.tokens")),)
    valid, test = found.splits
    assert (valid.split, test.split) == ("valid", "test")
    assert valid.duplicate_paragraphs == test.duplicate_paragraphs == test.near_duplicate_paragraphs == 0
    most = max(found.articles, key=lambda one: one.shared[13])
    assert (most.title, most.nearest.rpartition(": ")[2]) == ("The Boat Race 2008", "The Boat Race 1999")


def test_what_was_copied_is_found_in_every_form(built: Path, tmp_path: Path) -> None:
    (tmp_path / "copy.txt.gz").write_bytes(gzip.compress(plain_text(built, "test").encode()))
    found = {one.split: one for one in wb.overlap(built, against=tmp_path / "copy.txt.gz").splits}
    assert found["test"].shared == found["test"].ngrams
    assert found["test"].duplicate_paragraphs == found["test"].paragraphs
    assert found["train"].shared[13] == 0
    assert found["train"].duplicate_paragraphs == 0
    store = built.with_name("pages.store")
    for source in (store, SAMPLE_DUMP):
        of_pages = wb.overlap(built, against=source)
        shares = [one.shared[8] / one.ngrams[8] for one in of_pages.splits]
        assert min(shares) > 0.99, source
    with pytest.raises(BuilderError, match="no text was found up to 2001-01-01"):
        wb.overlap(built, against=store, as_of="2001-01-01")


def test_official_files_with_other_rare_words_overlap() -> None:
    """WikiText-103's valid is WikiText-2's, with other words as `<unk>`."""
    found = wb.overlap(data("wikitext-103"), against=data("wikitext-2"), splits=["valid"]).splits[0]
    assert found.articles >= found.near_duplicates > 55
    raw = wb.overlap(data("wikitext-2"), against=data("wikitext-2-raw/wiki.valid.raw"), splits=["valid"])
    assert raw.splits[0].shared == raw.splits[0].ngrams
    assert UNK not in raw.articles[0].stretch


@pytest.fixture
def others(built: Path, tmp_path: Path) -> list[Path]:
    folder = tmp_path / "texts"
    folder.mkdir()
    text = plain_text(built, "valid")
    (folder / "b.txt").write_text(text, encoding="utf-8")
    (folder / "a.txt").write_text(text, encoding="utf-8")
    (folder / "c.jsonl").write_text(json.dumps({"text": text[5000:]}) + "\n{", encoding="utf-8")
    return [folder, folder / "a.txt", built / "titles.lock"]


def test_the_result_depends_on_nothing_but_the_texts(built: Path, others: list[Path]) -> None:
    whole = wb.overlap(built, against=others)
    ways: list[dict[str, Any]] = [{"memory": 3, "workers": 2}, {"memory": 1}]
    for options in ways:
        assert wb.overlap(built, against=others[::-1], **options) == whole, options
    assert [one.reason for one in whole.rejected] == ["not-json"]
    assert {one.nearest for one in whole.articles if one.split == "valid"} == {f"{others[0]}/a.txt"}


def test_lock_files(built: Path, tmp_path: Path) -> None:
    lock = tmp_path / "a.lock"
    shutil.copy(built / "titles.lock", lock)
    assert {one.listed for one in wb.overlap(built, against=lock).articles} == {"revision"}
    first, *others = (one.title for one in wb.load(built).articles("test", raw=True))
    pages = [replace(PAGES[0], title=first, page_id=10**9, revision_id=10**9)]
    lock.write_text(wb.lock(store_of(tmp_path / "other.store", pages)), encoding="utf-8")
    found = wb.overlap(built, against=lock)
    listed = {one.title: one.listed for one in found.articles if one.listed}
    assert others
    assert listed == {first: "page"}
    assert found.splits[0].longest == 0


def test_titles_that_differ_in_marks_or_case_are_other_pages(tmp_path: Path) -> None:
    pages = [replace(PAGES[n], title=title) for n, title in enumerate(("C++", "The who", "Go"))]
    listed = [replace(PAGES[50 + n], title=title) for n, title in enumerate(("C", "The Who", "Go"))]
    lock, store = tmp_path / "a.lock", store_of(tmp_path / "a.store", pages)
    lock.write_text(wb.lock(store_of(tmp_path / "other.store", listed)), encoding="utf-8")
    build("live", store, tmp_path / "set")
    found = {one.title: one.listed for one in wb.overlap(tmp_path / "set", against=lock).articles}
    assert found == {"C + +": "", "The who": "", "Go": "page"}
    (tmp_path / "set" / "attribution.tsv").unlink()
    found = {one.title: one.listed for one in wb.overlap(tmp_path / "set", against=lock).articles}
    assert set(found.values()) == {"page"}  # all that is known are words


def test_nothing_in_a_folder_is_passed_over_in_silence(built: Path, tmp_path: Path) -> None:
    """Links are read or named, and a lock file of another language does not stop the others."""
    folder, elsewhere = tmp_path / "texts", tmp_path / "elsewhere"
    for one in (folder, elsewhere):
        one.mkdir()
    (elsewhere / "copy.txt").write_text(plain_text(built, "test"), encoding="utf-8")
    (folder / "other.lock").write_text("# wikitext-builder lock 1; language de; wiki -\n", encoding="utf-8")
    (folder / "titles.lock").symlink_to(built / "titles.lock")
    links = {"to-folder": elsewhere, "to-itself": folder, "to-nothing": tmp_path / "absent", "set": built}
    for name, target in links.items():
        (folder / name).symlink_to(target)
    found = wb.overlap(built, against=folder, workers=2)
    rejected = [(Path(one.source).name, one.reason) for one in found.rejected]
    unread = [(name, "unreadable") for name in ("to-folder", "to-itself", "to-nothing")]
    assert rejected == [("other.lock", "lock-file"), *unread]
    assert "found one of 'de'" in found.rejected[0].detail
    assert {one.nearest.partition(": ")[0] for one in found.articles} == {f"{folder}/set"}
    assert all(one.listed == one.articles for one in found.splits)


def test_a_folder_that_cannot_be_read_is_an_error(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As root can read everything, the system's answer to others is given here."""
    closed, scan = tmp_path / "texts" / "closed", os.scandir
    closed.mkdir(parents=True)
    (tmp_path / "texts" / "a.txt").write_text("words", encoding="utf-8")

    def scandir(path: str) -> object:
        if Path(path) == closed:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return scan(path)

    monkeypatch.setattr("os.scandir", scandir)
    with pytest.raises(BuilderError, match="closed: Permission denied"):
        wb.overlap(built, against=tmp_path / "texts")


def test_a_table_says_too_what_was_not_read(built: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text("no JSON\n", encoding="utf-8")
    (tmp_path / "good.txt").write_text("words\n", encoding="utf-8")
    words = ["overlap", str(built), "--split", "test", "--csv"]
    words += [f"--against={tmp_path / name}" for name in ("bad.jsonl", "good.txt")]
    found = CliRunner().invoke(cli, words)
    assert "bad.jsonl: not-json (1)" in found.stderr
    assert "bad.jsonl" not in found.stdout


def test_other_text_of_which_nothing_is_read_is_an_error(built: Path, tmp_path: Path) -> None:
    """Else a damaged file would look like no overlap."""
    (tmp_path / "bad.jsonl").write_text("no JSON\n", encoding="utf-8")
    with pytest.raises(BuilderError, match=r"no text was found(.|\n)*bad.jsonl: not-json, line 1"):
        wb.overlap(built, against=tmp_path / "bad.jsonl")


def test_a_dataset_without_words_overlaps_with_nothing(built: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text(" \n", encoding="utf-8")
    with pytest.raises(BuilderError, match=r"empty\.txt: no words in test to compare"):
        wb.overlap(tmp_path / "empty.txt", against=built)


def test_train_is_not_compared_with_itself(built: Path) -> None:
    with pytest.raises(BuilderError, match="--split train: the other splits"):
        wb.overlap(built, splits=["test", "train"])


def test_parquet_is_read_below_any_path(built: Path, tmp_path: Path) -> None:
    """Linux allows bytes that are not UTF-8 in a path."""
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    rows = [article.lines for article in wb.load(built).articles("test", raw=True)]
    pd.DataFrame({"text": ["\n".join(lines) for lines in rows]}).to_parquet(tmp_path / "a.parquet")
    (tmp_path / "a.parquet").rename(folder / "a.parquet")
    assert not (found := wb.overlap(built, against=folder, splits=["test"])).rejected
    assert found.splits[0].articles == found.splits[0].near_duplicates


def csv_rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_the_command_prints_what_the_library_finds(built: Path, others: list[Path]) -> None:
    words = ["overlap", built, *(word for one in others for word in ("--against", one))]
    found = wb.overlap(built, against=others)
    assert done(*words) == as_text(found)
    as_json = json.loads(done(*words, "--json"))
    assert as_json["splits"][1]["shared"] == {str(n): count for n, count in found.splits[1].shared.items()}
    rows = csv_rows(done(*words, "--csv"))
    assert [row["title"] for row in rows] == [one.title for one in found.articles]
    assert [int(row["shared_13"]) for row in rows] == [one.shared[13] for one in found.articles]
    only = json.loads(done(*words, "--split", "test", "--words", "5", "--json"))
    assert [one["split"] for one in only["splits"]] == ["test"]
    assert list(only["articles"][0]["ngrams"]) == ["5"]
    assert "is not a date" in refused(*words, "--as-of", "soon")


def test_the_card_says_it_and_the_dataset_stays_valid(
    built: Path, others: list[Path], tmp_path: Path
) -> None:
    copy = tmp_path / "demo"
    shutil.copytree(built, copy)
    before = (copy / "README.md").read_text(encoding="utf-8")
    manifest = (copy / "manifest.json").read_bytes()
    for against in (others[0], others[1]):
        done("overlap", copy, "--against", against, "--card")
        text = (copy / "README.md").read_text(encoding="utf-8")
        assert text.startswith(before)
        assert text.count("## Overlap with other text") == 1
        assert str(against) in text
        assert all(check.passed for check in wb.verify(copy))
        assert (copy / "manifest.json").read_bytes() == manifest
        rows = csv_rows((copy / "overlap.csv").read_text(encoding="utf-8"))
        found = wb.overlap(copy, against=against)
        assert [int(row["shared_8"]) for row in rows] == [one.shared[8] for one in found.articles]
        stored = json.loads((copy / "overlap.json").read_text(encoding="utf-8"))
        sizes = {
            str(one): one.stat().st_size for one in (against.iterdir() if against.is_dir() else [against])
        }
        assert dict(zip(stored["against"], stored["bytes"], strict=True)) == sizes
    odd = tmp_path / os.fsdecode(b"b\xff.txt")
    shutil.copy(others[1], odd)
    done("overlap", copy, "--against", odd, "--card")
    assert all(check.passed for check in wb.verify(copy))
    (copy / "README.md").write_text("changed", encoding="utf-8")
    assert "manifest" in refused("overlap", copy, "--against", others[0], "--card")
    assert (copy / "README.md").read_text(encoding="utf-8") == "changed"


def test_names_do_not_steer_the_terminal(tmp_path: Path) -> None:
    text = " \n = Tea\x1b[2J \u202e = \n \n a b c d e f g h i \n"
    (tmp_path / "wiki.test.tokens").write_text(text, encoding="utf-8")
    steering, binary = tmp_path / "b\x1b]0;c.txt", tmp_path / "\x1b.txt"
    steering.write_text("a b c d e f g h i", encoding="utf-8")
    binary.write_bytes(b"\0")
    printed = done("overlap", tmp_path, "--against", steering, "--against", binary)
    assert "\x1b" not in printed
    assert "\u202e" not in printed
    assert "Tea\\x1b[2J \\u202e (test); nearest: " in printed
    assert "/b\\x1b]0;c.txt: a b c" in printed
    assert "/\\x1b.txt: binary (1)" in printed


def test_bad_arguments(built: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.lock").write_text("# wikitext-builder lock 1; language de; wiki -\n", encoding="utf-8")
    bad: list[tuple[str, dict[str, Any]]] = [
        ("absent", {"against": tmp_path / "absent"}),
        ("expected 1 or more", {"against": built, "words": [0]}),
        ("no valid2 file", {"against": built, "splits": ["valid2"]}),
        ("expected a lock file", {"against": tmp_path / "bad.lock"}),
    ]
    for words, options in bad:
        with pytest.raises(BuilderError, match=words):
            wb.overlap(built, **options)
    (tmp_path / "wiki.test.tokens").write_text(" \n = A = \n \n A word . \n", encoding="utf-8")
    for alone in (tmp_path, tmp_path / "wiki.test.tokens"):
        assert "has no train to compare with; name other text with --against" in refused("overlap", alone)
    said = refused("overlap", tmp_path, "--against", tmp_path, "--card", "--as-of", "soon")
    assert "has no card" in said  # the date is read when the comparison begins
