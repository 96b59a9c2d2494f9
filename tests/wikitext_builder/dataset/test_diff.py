"""diff: what was done to a dataset is what it finds, and what the files do not say it does not claim."""

import json
import math
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wikitext_builder as wb
from tests.command import done, refused
from tests.conftest import data
from tests.wikitext_builder.datasets import LATER, PAGES, build, store_of, titles_file
from wikitext_builder.article import Page
from wikitext_builder.dataset.diff import as_text, log_likelihood_ratio
from wikitext_builder.errors import BuilderError

OLD = PAGES[:30]
NEWER = replace(OLD[4], revision_id=9004, wikitext="It has quite '''another''' text.", timestamp=LATER)
TOUCHED = replace(OLD[5], revision_id=9005, timestamp=LATER)  # the same text
RENAMED = replace(OLD[6], title="A new title", revision_id=9006, timestamp=LATER)
RECREATED = replace(OLD[7], page_id=777, revision_id=9007)  # another page with the title
ZEBRA = replace(PAGES[50], wikitext=" ".join(["zebra"] * 300))
NEW = [*OLD[:4], NEWER, TOUCHED, RENAMED, RECREATED, *OLD[9:], ZEBRA, PAGES[51]]  # OLD[8] is gone


def built(folder: Path, pages: list[Page], *, test: list[Page], **options: Any) -> Path:
    """A dataset of some pages with the given titles as its test split."""
    folder.mkdir()
    given, store = titles_file(folder / "test.txt", *(one.title for one in test)), folder / "pages.store"
    build("demo", store_of(store, pages), folder / "out", test_titles=given, **options)
    return folder / "out"


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("diff")
    options = {"valid_articles": 2, "seed": "x"}
    old = built(folder / "old", OLD, test=[OLD[10], OLD[11]], **options)
    return old, built(folder / "new", NEW, test=[OLD[11], OLD[12]], min_count=2, **options)


def titles(versions) -> set[str]:
    return {one.title for one in versions}


def test_it_finds_what_was_done(pair: tuple[Path, Path]) -> None:
    found = wb.diff(*pair, names=("old", "new"))
    assert found.names == ("old", "new")
    assert found.articles == (30, 31)
    assert titles(found.gone) == {"Title 9"}
    assert titles(found.added) == {"Title 51", "Title 52"}
    assert {(one.before.title, one.after.title) for one in found.changed} == {
        ("Title 5", "Title 5"),
        ("Title 6", "Title 6"),
        ("Title 7", "A new title"),
        ("Title 8", "Title 8"),
    }
    (touched,) = [one for one in found.changed if one.after.title == "Title 6"]
    assert (touched.before.revision_id, touched.after.revision_id) == (1006, 9005)
    assert touched.before.digest == touched.after.digest
    moved = {(one.after.title, one.before.split, one.after.split) for one in found.moved}
    assert {("Title 11", "test", "train"), ("Title 13", "train", "test")} <= moved
    assert found.recipe == {"min_count": (3, 2)}
    assert found.unknown == ()
    both = {one.after.title for one in (*found.changed, *found.moved)}
    assert found.same == 31 - 2 - len(both)
    assert found.most_changed[0].word == "zebra"
    assert (found.most_changed[0].counts, found.most_changed[0].articles) == ((0, 300), (0, 1))
    assert wb.diff(*pair, words=0).most_changed == ()


def test_both_directions_say_the_same_and_itself_differs_in_nothing(pair: tuple[Path, Path]) -> None:
    there, back = wb.diff(*pair), wb.diff(pair[1], pair[0])
    assert (titles(there.added), titles(there.gone)) == (titles(back.gone), titles(back.added))
    changes = {(one.after.title, one.before.title) for one in back.changed}
    assert {(one.before.title, one.after.title) for one in there.changed} == changes
    assert there.same == back.same
    for one, other in zip(there.most_changed, back.most_changed, strict=True):
        assert (one.word, one.counts) == (other.word, other.counts[::-1])
        assert one.g2 == pytest.approx(other.g2)
    same = wb.diff(pair[0], pair[0], names=("a", "b"))
    assert (same.added, same.gone, same.changed, same.moved, same.most_changed) == ((), (), (), (), ())
    assert same.same == 30


def test_the_counts_are_those_of_the_raw_files(pair: tuple[Path, Path]) -> None:
    found = wb.diff(*pair)
    texts = ["".join(path.read_text("utf-8") for path in one.glob("wiki.*.raw")) for one in pair]
    words = [Counter(text.split()) for text in texts]
    assert found.words == tuple(one.total() for one in words)
    for one in found.most_changed:
        assert one.counts == tuple(count[one.word] for count in words)
        assert one.per_million == tuple(1e6 * count[one.word] / count.total() for count in words)


def copy_of(dataset: Path, folder: Path, *kinds: str) -> Path:
    """A dataset with some of its files."""
    folder.mkdir()
    for path in (path for kind in kinds for path in dataset.glob(kind)):
        shutil.copy(path, folder)
    return folder


def test_the_official_layout_says_less_and_so_does_diff(pair: tuple[Path, Path], tmp_path: Path) -> None:
    official = copy_of(pair[1], tmp_path / "official", "wiki.*.tokens")
    found = wb.diff(pair[0], official, names=("ours", "theirs"))
    assert found.changed == ()
    assert all(one.after.revision_id is None for one in found.moved)
    assert [sentence.partition(":")[0] for sentence in found.unknown][:2] == [
        "theirs has no attribution.tsv",
        "theirs has no raw files",
    ]
    assert not any("<unk>" in (one.word) for one in found.most_changed)
    with_raw = copy_of(pair[1], tmp_path / "raw", "wiki.*")
    found = wb.diff(pair[0], with_raw, names=("ours", "theirs"))
    assert titles(one.after for one in found.changed) == {"Title 5"}  # of the others the text is the same
    assert titles(found.added) == {"A new title", "Title 51", "Title 52"}
    assert len(found.unknown) == 1


def test_titles_with_unk_are_not_compared(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        text = " \n = <unk> Tea = \n \n one \n \n \n = Chess = \n \n two \n \n"
        (tmp_path / name / "wiki.train.tokens").write_text(text, encoding="utf-8")
    found = wb.diff(tmp_path / "a", tmp_path / "b")
    assert (titles(found.added), titles(found.gone), found.same) == ({"<unk> Tea"}, {"<unk> Tea"}, 1)
    assert "a has 1 titles with <unk>, which count as articles of a alone" in found.unknown
    assert "a has no valid and no test" in found.unknown
    assert "1 the same, as far as is known" in as_text(found)
    (tmp_path / "b" / "wiki.train.tokens").write_text(" \n = Go\x1b[2J = \n \n two \n \n", encoding="utf-8")
    assert "Go\\x1b[2J (train)" in as_text(wb.diff(tmp_path / "a", tmp_path / "b"))  # not to the terminal


def test_what_has_no_articles_is_compared_by_words(pair: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "ptb.train.txt").write_text(" no it was n't <unk> \n" * 100, encoding="utf-8")
    found = wb.diff(tmp_path, pair[0], names=("ptb", "ours"))
    assert (found.articles, found.added, found.gone) == ((0, 30), (), ())
    assert found.unknown == ("ptb has no articles: only words are compared",)
    assert found.words[0] == 400
    assert "only in" not in as_text(found)


def test_a_dataset_that_is_not_what_it_says_is_an_error(pair: tuple[Path, Path], tmp_path: Path) -> None:
    broken = copy_of(pair[0], tmp_path / "broken", "wiki.*", "attribution.tsv")
    rows = (broken / "attribution.tsv").read_text("utf-8").splitlines(keepends=True)
    for wrong in ([*rows[:-1]], [*rows, rows[-1]]):
        (broken / "attribution.tsv").write_text("".join(wrong), encoding="utf-8")
        with pytest.raises(BuilderError, match=r"articles than attribution\.tsv; see `.* verify`"):
            wb.diff(broken, pair[1])
    (broken / "attribution.tsv").unlink()
    raw = broken / "wiki.train.raw"
    *_, last = wb.load(broken).articles("train", raw=True)
    raw.write_text(raw.read_text("utf-8").partition(f" = {last.title} = \n")[0], encoding="utf-8")
    with pytest.raises(BuilderError, match=r"raw file of train has too few articles; see `.* verify`"):
        wb.diff(broken, copy_of(pair[1], tmp_path / "elsewhere", "wiki.*.tokens"))


# --- the measure

COUNTS = st.integers(0, 10**6)


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_g2_is_twice_the_gain_of_two_rates_over_one(a: int, b: int, rest_a: int, rest_b: int) -> None:
    """Dunning's definition: the likelihoods of binomials with one rate for both, or one for each."""
    total_a, total_b = a + rest_a, b + rest_b

    def log_likelihood(hits: int, total: int, rate: float) -> float:
        return sum(count * math.log(p) for count, p in ((hits, rate), (total - hits, 1 - rate)) if count)

    if not total_a or not total_b:
        return
    same = (a + b) / (total_a + total_b)
    gain = log_likelihood(a, total_a, a / total_a) + log_likelihood(b, total_b, b / total_b)
    gain -= log_likelihood(a, total_a, same) + log_likelihood(b, total_b, same)
    found = log_likelihood_ratio(a, b, total_a, total_b)
    assert found == pytest.approx(2 * gain, rel=1e-6, abs=1e-3)
    assert found == pytest.approx(log_likelihood_ratio(b, a, total_b, total_a), rel=1e-9, abs=1e-6)


# --- the command


def test_the_command_prints_text_or_json(pair: tuple[Path, Path]) -> None:
    names = ("--name", "2016", "--name", "today")
    text = done("diff", *pair, *names, "--titles", 1, "--words", 3)
    assert text.splitlines()[0].startswith("2016 ")
    assert "1 only in 2016\n  Title 9 (" in text
    assert "2 only in today\n" in text
    assert "  and 1 more\n" in text
    assert "recipe: min_count 3 → 2" in text
    found = json.loads(done("diff", *pair, *names, "--json", "--words", 3))
    assert [one["title"] for one in found["gone"]] == ["Title 9"]
    assert found["most_changed"][0]["word"] == "zebra"
    assert found["names"] == ["2016", "today"]
    assert "two datasets have the name" in refused("diff", pair[0], pair[0])


@pytest.mark.slow
def test_the_official_files_can_be_compared() -> None:
    found = wb.diff(data("wikitext-2"), data("wikitext-103"))
    assert len(found.moved) == 0
    assert found.articles == (720, 120)
    # Valid and test have the same articles, but the smaller vocabulary hides words of more titles.
    assert found.same == 51
    assert len(found.added) == 120 - 51
