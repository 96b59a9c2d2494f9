"""The dataset's files: what is written is read back, and the official files are of the format."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import data
from wikitext_builder.dataset.manifest import file_line, read_articles, read_lines
from wikitext_builder.errors import BuilderError

token = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=6).filter(
    lambda t: "=" not in t
)
line = st.lists(token, min_size=1, max_size=5).map(" ".join)
heading = st.builds(
    lambda text, level: ("", f"{'= ' * level}{text}{' =' * level}", ""), line, st.integers(2, 5)
)
body = st.lists(line.map(lambda text: (text,)) | heading, max_size=6)
article = st.builds(
    lambda title, parts: ("", f"= {title} =", "", *(one for part in parts for one in part), ""), line, body
)


def write(path: Path, articles: list[tuple[str, ...]]) -> Path:
    text = "".join(file_line(one) for lines in articles for one in lines)
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


@given(st.lists(article, min_size=1, max_size=4))
def test_articles_and_lines_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, articles: list[tuple[str, ...]]
) -> None:
    path = write(tmp_path_factory.getbasetemp() / "wiki.test.tokens", articles)
    assert list(read_articles(path)) == articles
    assert list(read_lines(path)) == [one for lines in articles for one in lines]


@pytest.mark.parametrize(
    ("name", "articles"),
    [
        ("wikitext-2/wiki.train.tokens", 600),
        ("wikitext-2/wiki.valid.tokens", 60),
        ("wikitext-2/wiki.test.tokens", 60),
        ("wikitext-2-raw/wiki.valid.raw", 60),
    ],
)
def test_the_official_files_are_of_the_format(name: str, articles: int) -> None:
    found = list(read_articles(data(name)))
    assert len(found) == articles  # a pattern on titles alone finds 62 in test: two paragraphs look like one
    assert "".join(file_line(one) for lines in found for one in lines) == data(name).read_text("utf-8")


TITLED = " \n = A = \n \n"


def test_a_file_of_another_format_is_an_error_that_says_where(tmp_path: Path) -> None:
    path = tmp_path / "wiki.test.tokens"
    lines = ("no space at the start \n", " no space at the end\n", "\n", "  two \n", " no newline", " a \r\n")
    starts = (" A text \n with no title \n at all \n \n", " one  line \n", " \n two \n")
    for text, words in (
        *((TITLED + line, "line 4") for line in lines),
        *((s, "begins with") for s in starts),
    ):
        path.write_text(text, encoding="utf-8", newline="\n")
        with pytest.raises(BuilderError, match=words):
            list(read_articles(path))
