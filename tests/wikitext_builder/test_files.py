"""Files that are complete or absent, under names that nobody can prepare."""

import secrets
from pathlib import Path

import pytest

from wikitext_builder.files import write_whole


def test_a_temporary_file_is_new_even_if_its_name_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secrets, "token_hex", lambda count: "0" * 2 * count)
    (tmp_path / "letters").write_text("mine")
    (tmp_path / f".{'0' * 16}.part").symlink_to("letters")
    with pytest.raises(FileExistsError):
        write_whole(tmp_path / "piece", b"ours")
    assert (tmp_path / "letters").read_text() == "mine"


def test_a_file_with_the_longest_name_is_replaced_and_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    path.write_bytes(b"old")
    path.chmod(0o640)
    write_whole(path, b"new")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"new", 0o640)
    assert [*tmp_path.iterdir()] == [path]
