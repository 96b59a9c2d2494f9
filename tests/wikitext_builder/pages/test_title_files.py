"""Files of titles."""

from pathlib import Path

import pytest

from wikitext_builder.errors import BuilderError
from wikitext_builder.pages.lock import read_titles


def test_a_file_of_titles_and_its_wrong_lines(tmp_path: Path) -> None:
    path = tmp_path / "titles.txt"
    lines = [
        "AT&T",
        "",
        "# a comment",
        "  New_York  ",
        "AT&T\r",
        "../x",
        "A|B",
        "100 %",
        "A\u2028B",
        "x" * 300,
    ]
    path.write_bytes(("\ufeff" + "\n".join(lines)).encode())
    titles, rejected = read_titles(path)
    assert titles == ["AT&T", "New York", "100 %", "A B"]
    assert [(one.title[:9], one.reason) for one in rejected] == [
        ("../x", "invalid-title"),
        ("A|B", "invalid-title"),
        ("x" * 9, "invalid-title"),
    ]
    assert rejected[1].detail == "titles.txt, line 7: no page can have this title, it contains '|'"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "titles.txt"
    with pytest.raises(BuilderError, match=r"titles\.txt: No such file"):
        read_titles(path)
    path.write_bytes(b"AT&T\n\xff\n")
    with pytest.raises(BuilderError, match="not UTF-8 at byte 5"):
        read_titles(path)
