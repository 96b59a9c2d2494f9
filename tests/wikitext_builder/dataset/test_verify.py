"""Verify finds each kind of damage, also where the hashes were made to agree with it."""

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cases import each
from tests.conftest import data
from tests.wikitext_builder.datasets import SPLITS, build, faults, verified
from wikitext_builder.dataset.manifest import MANIFEST, file_entry
from wikitext_builder.dataset.verify import verify


@pytest.fixture
def dataset(small: Path, tmp_path: Path) -> Path:
    """A copy of a dataset that is what it says, to be damaged."""
    return Path(shutil.copytree(small / "demo", tmp_path / "out"))


def rewrite(directory: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the manifest."""
    manifest = json.loads((directory / MANIFEST).read_text("utf-8"))
    change(manifest)
    (directory / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")


def forge(directory: Path, name: str, before: str, after: str, *, times: int = 1) -> None:
    """Change a file's text and let the manifest's hash agree."""
    path = directory / name
    text = path.read_bytes().decode()
    changed = re.sub(before, after, text, count=times, flags=re.MULTILINE)
    assert changed != text
    path.write_bytes(changed.encode())
    entry = file_entry(path)
    rewrite(directory, lambda m: m["files"][name].update(sha256=entry.sha256, bytes=entry.bytes))


KINDS = ("raw", "tokens")
READ = [f"wiki.{split}.{kind}" for split in SPLITS for kind in KINDS]
READ += [f"parquet/{kind}/{split}-00000-of-00001.parquet" for kind in KINDS for split in SPLITS]
READ += ["LICENSE", "README.md", "attribution.tsv", "croissant.json", "titles.lock"]
FILES = [*READ, "left_out.tsv", "rejected.jsonl", "wikitext-demo-v1.zip", "wikitext-demo-raw-v1.zip"]


def test_a_whole_dataset_passes_and_names_each_of_its_files(small: Path) -> None:
    whole = small / "demo"
    verified(whole)
    hashed = {check.name for check in verify(whole) if check.name.endswith("sha256")}
    assert hashed == {f"{name} sha256" for name in FILES}
    present = {path.relative_to(whole).as_posix() for path in whole.rglob("*") if path.is_file()}
    assert present == {*FILES, MANIFEST}


@pytest.mark.parametrize("name", FILES)
def test_a_flipped_bit_a_removed_file_and_a_pipe_in_its_place_are_found(dataset: Path, name: str) -> None:
    path = dataset / name
    content = bytearray(path.read_bytes())
    if content:
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
        assert f"{name} sha256" in faults(dataset)
    path.unlink()
    assert f"{name} sha256" in faults(dataset)
    os.mkfifo(path)  # a pipe that nobody writes
    assert f"{name} sha256" in faults(dataset)


def test_changed_counts_are_found(dataset: Path) -> None:
    manifest = (dataset / MANIFEST).read_text("utf-8")
    counts = [(split, count) for split in SPLITS for count in ("articles", "lines", "tokens", "unknown")]
    for split, count in counts:
        rewrite(dataset, lambda m: m["splits"][split].update({count: m["splits"][split][count] + 1}))  # noqa: B023
        assert faults(dataset) == [f"{split} counts"]
        (dataset / MANIFEST).write_text(manifest, encoding="utf-8")
    rewrite(dataset, lambda m: m.update(vocabulary=m["vocabulary"] + 1))
    assert faults(dataset) == ["vocabulary"]


def test_a_manifest_without_files_is_found(dataset: Path) -> None:
    rewrite(dataset, lambda manifest: manifest.update(files={}))
    assert set(faults(dataset)) >= set(READ)


def test_a_file_that_a_reader_of_the_folder_would_take_too_is_found(dataset: Path) -> None:
    for name in ("parquet/tokens/train-extra.parquet", "articles/train-00001-of-00002.parquet"):
        (dataset / name).parent.mkdir(exist_ok=True)
        shutil.copy(dataset / "parquet/tokens/test-00000-of-00001.parquet", dataset / name)
        assert faults(dataset) == [name]
        (dataset / name).unlink()


@each("dataset", "name, before, after, found", "forgeries")
def test_a_forgery_with_the_right_hash_is_found(
    dataset: Path, name: str, before: str, after: str, found: list[str]
) -> None:
    forge(dataset, name, before, after)
    assert set(faults(dataset)) >= set(found)
    assert f"{name} sha256" not in faults(dataset)


def test_a_frequent_word_that_is_unk_everywhere_is_found(dataset: Path) -> None:
    for split in SPLITS:
        forge(dataset, f"wiki.{split}.tokens", r"(?<= )river ", "<unk> ", times=0)
    compared = {f"wiki.{split}.raw against wiki.{split}.tokens" for split in SPLITS}
    assert set(faults(dataset)) == {"vocabulary", *(f"{split} counts" for split in SPLITS)} | compared


def test_a_manifest_that_is_gone_is_reported(small: Path, tmp_path: Path) -> None:
    """The paper's least count is then expected."""
    build("demo", small / "pages.store", dataset := tmp_path / "out", min_count=3)
    (dataset / MANIFEST).unlink()
    checks = {check.name: check for check in verify(dataset)}
    assert checks["hashes"].passed is None
    assert all(check.passed is not False for check in checks.values())


@pytest.mark.parametrize("name", ["wikitext-2", "wikitext-103"])
def test_the_official_files_pass(name: str) -> None:
    assert faults(data(name)) == []
    vocabulary = [check.found for check in verify(data(name)) if check.name == "vocabulary"]
    assert name != "wikitext-2" or vocabulary == ["33,278 types"]


def test_a_changed_official_file_does_not_pass(tmp_path: Path) -> None:
    official = data("wikitext-2")
    for split in SPLITS:
        shutil.copy(official / f"wiki.{split}.tokens", tmp_path)
    path = tmp_path / "wiki.valid.tokens"
    path.chmod(0o644)
    path.write_bytes(path.read_bytes().replace(b" the ", b" thhe ", 1))
    assert faults(tmp_path) == ["valid words"]


def test_a_split_that_is_not_there_is_reported(dataset: Path) -> None:
    for name in ("wiki.test.tokens", MANIFEST):
        (dataset / name).unlink()
    (found,) = [check for check in verify(dataset) if check.name == "wiki.test.tokens format"]
    assert (found.passed, found.found) == (None, "the file is not here")
