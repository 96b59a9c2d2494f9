"""Kept ids of train are those of its text, and are never taken for another text, or if damaged."""

import pytest
import torch

import ps_models.data.dataset as datasets
from ps_models.data.dataset import read_stream, read_train
from tests.ps_models.tiny import make_dataset
from wikitext_builder.dataset.load import load
from wikitext_builder.files import file_sha256


@pytest.fixture
def dataset(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(datasets, "LEAST", 0)
    return load(make_dataset(tmp_path))


def kept(tmp_path):
    return sorted((tmp_path / "cache" / "wikitext-builder" / "ids").iterdir())


def assert_right(dataset):
    vocabulary, stream = read_train(dataset, file_sha256(dataset.file("train")))
    fresh = load(dataset.path)
    assert vocabulary == fresh.vocabulary
    assert torch.equal(stream, read_stream(fresh, "train", fresh.vocabulary))


def test_ids_are_kept_once_and_read_without_counting_again(dataset, tmp_path, monkeypatch):
    assert_right(dataset)
    (path,) = kept(tmp_path)
    written = path.stat().st_mtime_ns
    assert_right(dataset)
    monkeypatch.setattr(datasets, "read_stream", None)  # it is not called
    read_train(load(dataset.path), file_sha256(dataset.file("train")))
    assert path.stat().st_mtime_ns == written


@pytest.mark.parametrize(
    "damage", [lambda old: old[:-1] + bytes([old[-1] ^ 1]), lambda old: old[:50], lambda _: b""]
)
def test_damaged_ids_are_written_anew(dataset, tmp_path, damage, caplog):
    assert_right(dataset)
    (path,) = kept(tmp_path)
    path.write_bytes(damage(path.read_bytes()))
    assert_right(dataset)
    assert "rewriting it" in caplog.text
    caplog.clear()
    assert_right(dataset)
    assert not caplog.text


def test_another_text_has_other_ids(dataset, tmp_path):
    assert_right(dataset)
    train = dataset.file("train")
    train.write_bytes(train.read_bytes() + b" new words come \n")
    assert_right(load(dataset.path))
    assert len(kept(tmp_path)) == 2


def test_a_folder_that_cannot_be_written_costs_only_time(dataset, tmp_path, caplog):
    (tmp_path / "cache").touch()
    assert_right(dataset)
    assert "cannot be written" in caplog.text


def test_small_files_are_not_kept(dataset, tmp_path, monkeypatch):
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert_right(dataset)
    assert not (tmp_path / "cache").exists()
