"""`wb.build`: a dataset by one call, the same as by the stages, and arguments that it refuses."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import wikitext_builder as wb
from tests.cases import each
from tests.wikitext_builder.datasets import PAGES, build, built, digests, store_of
from wikitext_builder.dataset.recipes import Recipe
from wikitext_builder.errors import BuilderError


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return store_of(tmp_path_factory.mktemp("front") / "pages.store", PAGES[:12])


def test_one_call_builds_what_the_stages_build(store: Path, tmp_path: Path) -> None:
    stages: list[str] = []
    report = build("demo", store, tmp_path / "a", progress=lambda stage, *_, **__: stages.append(stage))
    built(store, tmp_path / "b")
    assert digests(tmp_path / "a") == digests(tmp_path / "b")
    assert list(dict.fromkeys(stages)) == [
        "extract",
        "count",
        "write train",
        "write valid",
        "write test",
        "export",
    ]
    assert (report.pages, report.older, report.warnings) == (12, 0, ())
    assert wb.build("demo", str(store), str(tmp_path / "a")).already_built


def test_arguments_change_fields_of_the_recipe(store: Path, tmp_path: Path) -> None:
    recipe = Recipe(name="mine", train_articles=None, valid_articles=2, test_articles=2)
    report = build(recipe, store, tmp_path / "a", valid_articles=1, min_count=2, seed="x")
    assert report.manifest.recipe == replace(recipe, valid_articles=1, min_count=2, seed="x")
    assert report.manifest.splits["valid"].articles == 1
    # a set without train has every word, whatever the least count
    build("live", store, tmp_path / "live", min_count=3)
    assert "<unk>" not in (tmp_path / "live" / "wiki.test.tokens").read_text("utf-8")


def test_splits_that_are_too_small_are_in_the_report(store: Path, tmp_path: Path) -> None:
    for _ in range(2):  # when it is built, and when it is there
        report = build("wikitext-2", store, tmp_path / "a", valid_articles=4, test_articles=4)
        warning = "train has 4 articles, but wikitext-2 expects 600: the store has too few"
        assert report.warnings == (warning,)


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
    for out in (tmp_path / "link", Path(), Path("..")):
        with pytest.raises(BuilderError, match="is not a name of a new folder; name another one"):
            build("demo", store, out)
    with pytest.raises(BuilderError, match="File name too long"):
        build("demo", store, tmp_path / ("é" * 124))
