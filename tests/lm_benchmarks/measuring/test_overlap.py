"""Overlap of test with train against sets of n-grams, copies that are found, and what WikiText-2 has."""

import random
from pathlib import Path

import pytest
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.measuring.overlap import find_overlap, totals

from wikitext_builder.dataset.files import file_line
from wikitext_builder.dataset.load import load as load_dataset
from wikitext_builder.errors import BuilderError

Article = tuple[str, list[str]]


def lines_of(seed: int, count: int = 6, words: int = 20, types: int = 400) -> list[str]:
    generator = random.Random(seed)
    return [" ".join(f"w{generator.randrange(types)}" for _ in range(words)) for _ in range(count)]


def write(folder: Path, **splits: list[Article]) -> Path:
    for split, articles in splits.items():
        lines = [line for title, body in articles for line in ("", f"= {title} =", "", *body, "")]
        text = "".join(file_line(line) for line in lines)
        (folder / f"wiki.{split}.tokens").write_text(text, encoding="utf-8")
    return folder


def overlap_of(folder: Path, **settings):
    return find_overlap(load_dataset(folder), **{"splits": ["test"], **settings})


def ngrams_of(body: list[str], n: int) -> set[tuple[str, ...]]:
    words = [line.split() for line in body]
    return {tuple(line[i : i + n]) for line in words for i in range(len(line) - n + 1)}


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("without_unknown", [False, True])
def test_shared_ngrams_are_those_of_sets(tmp_path, n, without_unknown):
    bodies = [[line.replace("w7", "<unk>") for line in lines_of(seed, types=30)] for seed in range(9)]
    articles = [(f"Article {seed}", body) for seed, body in enumerate(bodies)]
    folder = write(tmp_path, train=articles[:5], test=articles[5:])
    found = overlap_of(folder, words=n, without_unknown=without_unknown)

    def grams(body):
        return {gram for gram in ngrams_of(body, n) if not (without_unknown and "<unk>" in gram)}

    train = [grams(body) for body in bodies[:5]]
    for one, body in zip(found, bodies[5:], strict=True):
        own = grams(body)
        assert (one.ngrams, one.shared) == (len(own), len(own & set().union(*train)))
        assert one.nearest_shared == max(len(own & other) for other in train)
        number = int(one.nearest.removeprefix("Article "))
        assert len(own & train[number]) == one.nearest_shared
    assert sum(one.shared for one in found) > 0


def test_a_copied_article_is_a_duplicate_whatever_its_title(tmp_path):
    copy, other = lines_of(1), lines_of(2)
    folder = write(tmp_path, train=[("Old", copy)], test=[("New", copy), ("Other", other)])
    new, fresh = overlap_of(folder)
    assert new.is_duplicate
    assert new.is_near_duplicate
    assert (new.title, new.nearest, new.share, new.duplicate_lines) == ("New", "Old", 1.0, 6)
    assert not fresh.is_duplicate
    assert not fresh.is_near_duplicate
    assert (fresh.nearest, fresh.share, fresh.duplicate_lines) == ("", 0.0, 0)


def test_an_edited_article_is_a_near_duplicate(tmp_path):
    body = lines_of(1)
    edited = [*body[:4], *lines_of(2, count=2)]
    folder = write(tmp_path, train=[("A", lines_of(3)), ("B", body)], test=[("B", edited)])
    (found,) = overlap_of(folder)
    assert not found.is_duplicate
    assert found.is_near_duplicate
    assert (found.nearest, found.duplicate_lines) == ("B", 4)
    assert found.share == pytest.approx(4 / 6)


def test_pieces_of_many_articles_are_no_near_duplicate(tmp_path):
    bodies = [lines_of(seed) for seed in range(6)]
    test = [("Test", [body[0] for body in bodies])]
    folder = write(tmp_path, train=[(f"Train {n}", body) for n, body in enumerate(bodies)], test=test)
    (found,) = overlap_of(folder)
    assert found.share == 1
    assert not found.is_near_duplicate


def test_ngrams_stay_within_lines_and_in_order(tmp_path):
    words = [f"w{n}" for n in range(13)]
    cut = [" ".join(words[:6]), " ".join(words[6:])]
    turned = [" ".join([words[1], words[0], *words[2:]])]
    train = [("Train", [" ".join(words)])]
    folder = write(tmp_path, train=train, test=[("Cut", cut), ("Turned", turned)])
    cut_found, turned_found = overlap_of(folder)
    assert (cut_found.ngrams, cut_found.lines, cut_found.share) == (0, 0, 0.0)
    assert not cut_found.is_near_duplicate
    assert (turned_found.ngrams, turned_found.shared) == (1, 0)


def test_totals_are_sums_of_each_part(tmp_path):
    body = lines_of(1)
    test = [("Copy", body), ("Half", [*body[:3], *lines_of(4, count=3)]), ("Other", lines_of(2))]
    folder = write(tmp_path, train=[("A", body)], valid=[("Other", lines_of(5))], test=test)
    valid, found = totals(find_overlap(load_dataset(folder)))
    assert (valid.split, valid.articles, valid.shared, valid.duplicates) == ("valid", 1, 0, 0)
    assert (found.articles, found.duplicates, found.near_duplicates) == (3, 1, 2)
    assert (found.lines, found.duplicate_lines, found.ngrams, found.shared) == (18, 9, 144, 72)


def test_a_file_without_articles_is_read_in_blocks(tmp_path):
    lines = lines_of(1, count=150)
    for split, text in (("train", lines[100:]), ("test", lines)):
        content = "".join(file_line(line) for line in text)
        (tmp_path / f"ptb.{split}.txt").write_text(content, encoding="utf-8")
    first, second = overlap_of(tmp_path)
    assert (first.title, first.share) == ("lines 1 to 100", 0.0)
    assert (second.title, second.share, second.nearest) == ("lines 101 to 150", 1.0, "lines 1 to 50")
    assert second.is_duplicate


def test_n_below_1_is_refused(tmp_path):
    folder = write(tmp_path, train=[("A", lines_of(1))], test=[("B", lines_of(2))])
    with pytest.raises(HarnessError, match="n-grams of 0 words; expected 1 or more"):
        overlap_of(folder, words=0)


def test_a_missing_part_is_refused(tmp_path):
    folder = write(tmp_path, test=[("B", lines_of(2))])
    with pytest.raises(BuilderError, match="no train file"):
        overlap_of(folder)


def test_wikitext_2(wikitext_2):
    found = find_overlap(load_dataset(wikitext_2))
    valid, test = totals(found)
    assert (valid.articles, valid.duplicates, valid.near_duplicates, valid.duplicate_lines) == (60, 0, 0, 0)
    assert (test.articles, test.duplicates, test.near_duplicates, test.duplicate_lines) == (60, 0, 0, 0)
    assert (valid.ngrams, valid.shared) == (187_814, 475)
    assert (test.ngrams, test.shared) == (211_285, 162)
    most = max(found, key=lambda one: one.share)
    assert (most.title, most.nearest, most.shared) == ("The Boat Race 2008", "The Boat Race 1999", 185)
