"""A dataset carries what it takes to build it again: the line of its card gives the same bytes."""

import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import wikitext_builder as wb
from tests.command import done
from tests.wikitext_builder.building.test_build import TEMPLATES, add_template, with_templates
from tests.wikitext_builder.datasets import LATER, PAGES, build, digests, store_of, titles_file, verified
from wikitext_builder.dataset.recipes import Recipe
from wikitext_builder.errors import BuilderError
from wikitext_builder.store.lock import read_lock
from wikitext_builder.store.store import Store

MINE = Recipe(name="mine", train_articles=None, valid_articles=2, test_articles=2, seed='it\'s "mine" \\ {x}')
FEW = {"train_articles": 9, "valid_articles": 2, "test_articles": 1, "min_count": 2, "sections": "clean"}
VARIANTS: dict[str, tuple[str | Recipe, dict[str, Any]]] = {
    "a recipe as it is": ("demo", {}),
    "changed fields": ("wikitext-2", FEW),
    "a test set of some words, without its export": ("live", {"test_words": 700, "articles": False}),
    "a recipe of one's own": (MINE, {"source": "wikitext"}),
}
NEWER = [
    replace(one, revision_id=one.revision_id + 10**6, timestamp=LATER, wikitext="Other text.")
    for one in PAGES[:5]
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return store_of(tmp_path_factory.mktemp("rebuild") / "pages.store", PAGES[:40])


def follow_the_card(dataset: Path) -> None:
    """Do what the card says, in the folder of the dataset: the same bytes."""
    text = (dataset / "README.md").read_text("utf-8")
    ((program, *words),) = [shlex.split(line) for line in re.findall(r"^\$ (.*build.*)$", text, re.MULTILINE)]
    assert program == "wikitext-builder"
    done(*words, cwd=dataset)
    assert digests(dataset.with_name("again")) == digests(dataset)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_line_of_the_card_builds_the_same_bytes(store: Path, tmp_path: Path, variant: str) -> None:
    """It does so from a store that holds other pages too, and newer revisions of the same ones."""
    recipe, options = VARIANTS[variant]
    build(recipe, store, tmp_path / "first", **options)
    another = replace(NEWER[0], title="Another", page_id=10**6, revision_id=10**7)
    with Store.create(store_of(tmp_path / "pages.store", [*NEWER, another], copy=store)) as opened:
        opened.expect_wiki("en", "enwiki", "test")
    follow_the_card(tmp_path / "first")


def test_given_titles_are_part_of_the_dataset(store: Path, tmp_path: Path) -> None:
    own, first = store_of(tmp_path / "pages.store", [], copy=store), tmp_path / "first"
    valid = titles_file(tmp_path / "valid.txt", "Title 7", "Title 3")
    test = titles_file(tmp_path / "test.txt", "# mine", "title_30")
    given = build("demo", own, first, valid_titles=valid, test_titles=test).manifest.given
    assert given == {"valid": (3, 7), "test": (30,)}
    follow_the_card(first)
    verified(first)
    # options change what a manifest says, as they do of a recipe
    build(first / "manifest.json", own, tmp_path / "other", min_count=2)
    changed = build(first / "manifest.json", own, tmp_path / "titles", valid_titles=test, test_titles=valid)
    assert changed.manifest.given == {"valid": (30,), "test": (3, 7)}
    raw = [(tmp_path / name / "wiki.train.raw").read_bytes() for name in ("first", "other", "titles")]
    assert len(set(raw)) == 1


def test_templates_of_a_date_are_taken_again(tmp_path: Path) -> None:
    """A lock file does not name templates, but the manifest has their date."""
    own = with_templates(tmp_path / "pages.store", **TEMPLATES)
    build("demo", own, tmp_path / "first", as_of="2016-06-01")
    add_template(own, "Unit", 9, LATER, "miles")
    follow_the_card(tmp_path / "first")


def test_a_given_title_that_is_not_there_says_why(store: Path, tmp_path: Path) -> None:
    given = titles_file(tmp_path / "test.txt", "Title 3")
    for name, why in (("Title 3", "left out by --include or --exclude"), ("Title 3000", "not in the store")):
        titles_file(given, name)
        with pytest.raises(BuilderError, match=f"1 of its titles are missing: '{name}' is {why}"):
            build("demo", store, tmp_path / "out", test_titles=given, exclude=f"titles:{given}")
    titles_file(given, "Title 3")
    with pytest.raises(BuilderError, match=r"--valid-titles and --test-titles: both name 1 of the articles"):
        build("demo", store, tmp_path / "out", test_titles=given, valid_titles=given)


def test_the_lock_file_has_all_that_could_be_chosen(store: Path, tmp_path: Path) -> None:
    build("wikitext-2", store, tmp_path / "a", train_articles=5, valid_articles=2, test_articles=2)
    with Store.open(store) as opened:
        revisions = sorted(opened.revisions("en"), key=lambda one: one.title)
    assert read_lock(tmp_path / "a" / "titles.lock", language="en") == revisions
    assert (tmp_path / "a" / "titles.lock").read_text("utf-8") == wb.lock(store)


def test_a_lock_without_revisions_or_with_two_of_a_page_is_refused(store: Path, tmp_path: Path) -> None:
    """The order of its lines would decide which of two is taken."""
    own, before = store_of(tmp_path / "a.store", NEWER[:1], copy=store), wb.lock(store)
    lock, head = tmp_path / "titles.lock", "".join(before.splitlines(keepends=True)[:2])
    (line,) = set(wb.lock(own).splitlines()) - set(before.splitlines())
    for text, words in (
        (head, "names no revision; expected at least one"),
        (f"{before}{line}\n", r"titles\.lock: names several revisions of a page"),
    ):
        lock.write_text(text, encoding="utf-8")
        with pytest.raises(BuilderError, match=words):
            build("demo", own, tmp_path / "out", lock=lock)


def test_a_lock_from_before_or_after_a_page_was_renamed_is_built(store: Path, tmp_path: Path) -> None:
    """A revision keeps its number and text, and a store keeps the title under which it came first."""
    moved = store_of(tmp_path / "moved.store", [replace(PAGES[0], title="Renamed"), *PAGES[1:40]])
    lock = tmp_path / "titles.lock"
    lock.write_text(wb.lock(moved), encoding="utf-8")
    for name, pages in (("one", moved), ("other", store)):
        build("demo", pages, tmp_path / name, lock=lock)
    assert digests(tmp_path / "one") == digests(tmp_path / "other")
