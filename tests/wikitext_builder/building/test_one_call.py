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
from wikitext_builder.store.store import Store


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
        fewer = "train has 4 articles, fewer than valid and test together (8); fetch more"
        assert report.warnings == (fewer, warning)


def test_too_few_pages_are_an_error_before_any_is_extracted(store: Path, tmp_path: Path) -> None:
    stages: list[str] = []
    with pytest.raises(
        BuilderError, match="12 articles are too few for wikitext-2: valid takes 12, test 0, and"
    ):
        build("wikitext-2", store, tmp_path / "a", progress=lambda stage, *_, **__: stages.append(stage))
    assert stages == []


@pytest.mark.parametrize(
    ("language", "options", "name"),
    [
        ("pt", {}, "wikitext-demo-pt"),
        ("simple", {}, "wikitext-demo-simple"),
        ("pt", {"name": "wikitext-pt-2026"}, "wikitext-pt-2026"),
        ("en", {}, "wikitext-demo"),
        ("en", {"name": "mine"}, "mine"),
    ],
)
def test_the_name_of_a_dataset_has_its_language(
    tmp_path: Path, language: str, options: dict[str, Any], name: str
) -> None:
    with Store.create(tmp_path / "pages.store") as opened:
        plain = [
            replace(page, wikitext=page.wikitext.replace("{{convert|5|km}}", "long")) for page in PAGES[:12]
        ]
        opened.add(language, plain, origin="test")
    build("demo", tmp_path / "pages.store", tmp_path / "a", **options)
    assert (tmp_path / "a" / f"{name}-v1.zip").is_file()
    assert f'config_name: "{name}-raw-v1"' in (tmp_path / "a" / "README.md").read_text("utf-8")
    build(tmp_path / "a" / "manifest.json", tmp_path / "pages.store", tmp_path / "b" / "a")
    assert digests(tmp_path / "a") == digests(tmp_path / "b" / "a")


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
        with pytest.raises(BuilderError, match="cannot be the name of a new folder; give another name"):
            build("demo", store, out)
    with pytest.raises(BuilderError, match="File name too long"):
        build("demo", store, tmp_path / ("é" * 124))
