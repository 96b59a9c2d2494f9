"""`wikitext-builder demo` in an empty folder, without torch; CI also runs `make demo`, with a model."""

import subprocess
import sys
from pathlib import Path

from tests.command import forked
from wikitext_builder.cli import main


def demo(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    def without_torch() -> None:
        sys.modules["torch"] = None  # type: ignore[assignment]
        sys.argv = ["wikitext-builder", "demo", *arguments]
        main()

    return forked(without_torch, folder)


def test_the_demo_shows_each_command_and_can_be_repeated(tmp_path: Path) -> None:
    first = demo(tmp_path)
    assert first.returncode == 0, first.stderr
    shown = [line.split() for line in first.stdout.splitlines() if line.startswith("$ ")]
    assert [words[2] for words in shown] == ["import", "build", "verify", "stats", "plot"]
    assert " checks passed, none skipped" in first.stdout
    assert "OoV rate" in first.stdout
    assert "pip install 'wikitext-builder[models]'" in first.stdout
    assert (tmp_path / "demo" / "zipf.png").stat().st_size > 1000
    again = demo(tmp_path, "--quiet")
    assert "demo/wikitext-demo: already built" in again.stdout
    assert again.stderr == ""


def test_a_folder_that_is_not_of_a_demo_stays_as_it_is(tmp_path: Path) -> None:
    for name in ("sample.xml", "zipf.png"):
        (tmp_path / name[:4]).mkdir()
        (tmp_path / name[:4] / name).write_text("mine")
        found = demo(tmp_path, "--out", name[:4])
        assert found.returncode == 1
        assert f"{name[:4]}: is not empty, and not of a demo" in found.stderr
        assert (tmp_path / name[:4] / name).read_text() == "mine"
    (tmp_path / "file").touch()
    assert "another --out" in demo(tmp_path, "--out", "file/demo").stderr


def test_the_demo_stops_at_the_first_error_with_its_status(tmp_path: Path) -> None:
    demo(tmp_path)
    (tmp_path / "demo" / "wikitext-demo" / "wiki.test.tokens").unlink()
    found = demo(tmp_path)
    assert found.returncode == 1
    assert "its files were changed" in found.stderr
    assert "$ wikitext-builder verify" not in found.stdout
