"""The words that a reader of HTML sees: which they are, which of them are lost, and how few on real pages."""

import bz2
from collections import Counter, defaultdict

from click.testing import CliRunner
from extraction_eval.seen import difference, seen, seen_sections

from tests.cases import each
from tests.conftest import data

PAGE = "<p>It is very old.</p><h2>Works</h2><ul><li>A long one</li></ul><h2>Notes</h2><p>Many of them.</p>"


@each("extraction_eval", "page_html, words, left_out", "seen")
def test_words_are_seen_or_counted_as_left_out(page_html, words, left_out):
    counted = Counter[str]()
    sections = seen_sections(page_html, counted)
    assert (" ".join(word for section in sections for word in section.words), counted) == (words, left_out)


def test_lost_and_invented_words_and_removed_sections(monkeypatch):
    class Article:
        lines = ("", "= A =", "", "It is the old.", "", "== Works ==", "", "A one <formula>", "")

    monkeypatch.setattr("extraction_eval.seen.extract_rendered", lambda *_, **__: Article)
    found = difference("A", PAGE, "en")
    assert (found.words, found.removed, found.invented) == (8, (("Notes", 4),), ("the",))
    assert found.lost == (("", "very"), ("Works", "long"))


def test_the_command_counts_by_language(tmp_path):
    (tmp_path / "de-A.html").write_text(PAGE, "utf-8")
    (tmp_path / "en-A.html").write_text(PAGE, "utf-8")
    shown = CliRunner().invoke(seen, [str(tmp_path)], catch_exceptions=False).output.splitlines()
    assert [line.split()[:3] for line in shown if line[:3] in {"de ", "en "}] == [
        ["de", "1", "12"],
        ["en", "1", "8"],
    ]
    assert "  removed, 4 words: Notes" in shown


def test_pages_that_nobody_had_seen_lose_next_to_nothing() -> None:
    """At most 3 words per 10,000 in English and 5 in other languages, and hardly any is made up."""
    totals, lost, invented = Counter[str](), Counter[str](), Counter[str]()
    runs = defaultdict[str, list[tuple[str, str]]](list)
    for file in sorted(data("pages-unseen/html").glob("*.html.bz2")):
        language = file.name.partition("-")[0]
        page = difference(file.name, bz2.decompress(file.read_bytes()).decode(), language)
        totals[language] += page.words
        lost[language] += sum(len(run.split()) for _, run in page.lost)
        invented[language] += sum(len(run.split()) for run in page.invented)
        runs[language] += page.lost
    assert len(totals) > 5
    for language, words in totals.items():
        assert 1e4 * lost[language] / words <= (3 if language == "en" else 5), runs[language]
        assert 1e4 * invented[language] / words <= 1
