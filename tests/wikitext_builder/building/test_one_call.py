"""`wb.build`: a dataset by one call, the same as by the stages, and arguments that it refuses."""

from pathlib import Path
from typing import Any

import pytest

import wikitext_builder as wb
from tests.cases import each
from tests.wikitext_builder.building.test_build import PAGES, digests, plan_of, store_of
from wikitext_builder.building.build import carry_out
from wikitext_builder.dataset.recipes import RECIPES, Recipe
from wikitext_builder.errors import BuilderError

SOME = PAGES[:12]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return store_of(tmp_path_factory.mktemp("front") / "pages.store", SOME)


def test_one_call_builds_what_the_stages_build(store: Path, tmp_path: Path) -> None:
    stages: list[str] = []
    report = wb.build(
        "demo",
        str(store),
        str(tmp_path / "a"),
        workers=1,
        progress=lambda stage, done, total, note="": stages.append(stage),
    )
    carry_out(plan_of(store, tmp_path / "b", recipe=RECIPES["demo"]))
    assert digests(tmp_path / "a") == digests(tmp_path / "b")
    assert list(dict.fromkeys(stages)) == ["extract", "count", "write", "join", "export"]
    assert (report.pages, report.older, report.warnings) == (12, 0, ())
    assert wb.build("demo", store, tmp_path / "a").already_built


def test_a_set_without_train_has_every_word_whatever_the_least_count(store: Path, tmp_path: Path) -> None:
    wb.build("live", store, tmp_path / "a", min_count=3)
    assert "<unk>" not in (tmp_path / "a" / "wiki.test.tokens").read_text("utf-8")


def test_arguments_change_fields_of_the_recipe(store: Path, tmp_path: Path) -> None:
    recipe = Recipe(name="mine", train_articles=None, valid_articles=2, test_articles=2)
    report = wb.build(recipe, store, tmp_path / "a", valid_articles=1, min_count=2, seed="x")
    found = report.manifest.recipe
    assert (found.name, found.valid_articles, found.test_articles) == ("mine", 1, 2)
    assert (found.min_count, found.seed) == (2, "x")
    assert report.manifest.splits["valid"].articles == 1


def test_splits_that_are_too_small_are_in_the_report(store: Path, tmp_path: Path) -> None:
    sizes: dict[str, Any] = {"valid_articles": 4, "test_articles": 4}
    report = wb.build("wikitext-2", store, tmp_path / "a", **sizes)
    assert report.warnings == ("train has 4 articles, but wikitext-2 expects 600: the store has too few",)
    assert wb.build("wikitext-2", store, tmp_path / "a", **sizes).warnings == report.warnings


@each("building", "changes, message", "arguments that cannot be are refused by their names")
def test_arguments_that_cannot_be_are_refused_by_their_names(
    store: Path, tmp_path: Path, changes: dict[str, str | int], message: str
) -> None:
    arguments: dict[str, Any] = {"recipe": "demo", "store": store, "out": tmp_path / "a", **changes}
    with pytest.raises(BuilderError, match=message.replace("(", r"\(")):
        wb.build(**arguments)
    assert list(tmp_path.iterdir()) == []


def test_names_that_no_folder_can_have_are_refused_before_the_build(store: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name, words in (("link", "is a link to nothing"), ("é" * 124, "has more than 246 bytes")):
        with pytest.raises(BuilderError, match=words):
            wb.build("demo", store, tmp_path / name, workers=1)
