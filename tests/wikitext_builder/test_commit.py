"""The commit of the code: in a real git work tree, beside one, and after an installation by pip."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.cases import each
from wikitext_builder.hashing import _of_installation, _of_work_tree


def git(folder: Path, *words: str) -> str:
    named = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    return subprocess.run(
        ["git", "-C", folder, *named, *words], check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A work tree with a package of our name."""
    folder = tmp_path / "wikitext_builder"
    folder.mkdir()
    (folder / "__init__.py").write_text("A = 1\n")
    (tmp_path / "README.md").write_text("About\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "one")
    return folder


def test_is_that_of_the_work_tree_and_says_if_code_differs(package: Path):
    head = git(package, "rev-parse", "HEAD")
    assert len(head) == 40
    assert _of_work_tree(package) == head
    (package.parent / "README.md").write_text("More\n")
    assert _of_work_tree(package) == head
    (package / "__init__.py").write_text("A = 2\n")
    assert _of_work_tree(package) == f"{head}+changed"


def test_is_unknown_without_git_a_work_tree_or_one_of_its_own(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = package.parent / ".venv" / "wikitext_builder"  # in the work tree of a user's own project
    installed.mkdir(parents=True)
    (installed / "__init__.py").write_text("A = 1\n")
    assert _of_work_tree(installed) == ""
    monkeypatch.setenv("PATH", str(package))
    assert _of_work_tree(package) == ""
    monkeypatch.undo()
    (package.parent / ".git").rename(package.parent / "gone")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(package.parent.parent))
    assert _of_work_tree(package) == ""


@each("commands", "origin, expected", "is the commit that pip installed")
def test_is_the_commit_that_pip_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, origin: object, expected: str
):
    folder = tmp_path / "wikitext_builder-0.1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: wikitext-builder\nVersion: 0.1.0\n")
    if origin is not None:
        (folder / "direct_url.json").write_text(json.dumps(origin))
    monkeypatch.syspath_prepend(tmp_path)
    assert _of_installation(tmp_path / "wikitext_builder") == expected
    assert _of_installation(tmp_path / "elsewhere" / "wikitext_builder") == ""
