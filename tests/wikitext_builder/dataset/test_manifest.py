"""Manifests: they come back as they were, damaged ones are refused."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import each
from tests.conftest import ROOT
from wikitext_builder.dataset.counts import SplitCounts
from wikitext_builder.dataset.manifest import (
    FileEntry,
    Manifest,
    file_entry,
    read_manifest,
    write_manifest,
)
from wikitext_builder.dataset.recipes import RECIPES
from wikitext_builder.errors import BuilderError

REVISION_FILTERS = ROOT / "tests" / "cases" / "manifest.json"  # of the demo


def stored() -> dict[str, Any]:
    record: dict[str, Any] = json.loads(REVISION_FILTERS.read_text(encoding="utf-8"))
    return record


def read(folder: Path, record: dict[str, Any]) -> Manifest:
    (folder / "manifest.json").write_text(json.dumps(record), encoding="utf-8")
    manifest = read_manifest(folder)
    assert manifest is not None
    return manifest


def test_a_stored_manifest_is_read(tmp_path: Path) -> None:
    manifest = read(tmp_path, stored())
    assert manifest.recipe == RECIPES["demo"]
    assert manifest.splits["valid"].articles == 3
    assert asdict(manifest) == stored()


def test_a_manifest_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    outside = {"../x": {"sha256": "", "bytes": 0}}
    cases: list[tuple[dict[str, Any], str]] = [
        ({"format": 2}, r"format 2.*the version that wrote it"),
        ({"files": outside}, "leads out"),
    ]
    wrong = [(stored() | changes, words) for changes, words in cases]
    for name in ("recipe", "source", "files", "given", "types"):  # a field without a default is missing
        wrong.append((stored(), name))
        del (wrong[-1][0]["splits"]["test"] if name == "types" else wrong[-1][0])[name]
    for record, words in wrong:
        with pytest.raises(BuilderError, match=words):
            read(tmp_path, record)


digits, numbers = st.text("0123456789abcdef"), st.integers(0)
counts = st.builds(
    SplitCounts, articles=numbers, lines=numbers, tokens=numbers, unknown=numbers, types=numbers
)
manifests = st.builds(
    Manifest,
    recipe=st.sampled_from(list(RECIPES.values())),
    as_of=st.sampled_from(["", "2016-08-31T23:59:59Z"]),
    given=st.dictionaries(st.sampled_from(["valid", "test"]), st.lists(numbers).map(tuple)),
    source=digits,
    versions=st.dictionaries(st.text("abc-"), st.text("0123.")),
    sources=st.fixed_dictionaries({"rendered": numbers, "wikitext": numbers}),
    vocabulary=numbers,
    splits=st.fixed_dictionaries({"train": counts, "valid": counts, "test": counts}),
    files=st.dictionaries(st.text("abc", min_size=1), st.builds(FileEntry, sha256=digits, bytes=numbers)),
)


@given(manifests)
def test_a_manifest_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, manifest: Manifest
) -> None:
    directory = tmp_path_factory.mktemp("a")
    write_manifest(directory, manifest)
    assert read_manifest(directory) == manifest


SPLITLESS = '{"format": 1, "splits": {}, "files": {}}'


def test_a_damaged_manifest_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    for text in ("", "{}", "[1]", "null", '{"format": 2}', "{" * 100_000, SPLITLESS, '"\\ud800"'):
        (tmp_path / "manifest.json").write_text(text)
        with pytest.raises(BuilderError, match="Build the dataset again"):
            read_manifest(tmp_path)


def test_an_entry_is_the_sha256_that_other_programs_compute(tmp_path: Path) -> None:
    (tmp_path / "abc").write_bytes(b"abc")
    # FIPS 180-2, appendix B.1
    expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert file_entry(tmp_path / "abc") == FileEntry(sha256=expected, bytes=3)


@each("dataset", "place, value", "wrong values")
def test_a_value_of_another_type_is_refused_and_its_file_named(
    tmp_path: Path, place: tuple[str, ...], value: object
) -> None:
    record = stored()
    inner = record
    for name in place[:-1]:
        inner = inner[name]
    assert place[-1] in inner
    inner[place[-1]] = value
    with pytest.raises(BuilderError, match=r"manifest\.json: .*Build the dataset again"):
        read(tmp_path, record)
