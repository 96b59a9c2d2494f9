"""Small inputs that failed on pages that nobody here had seen, and those of public bug reports; the pages."""

import ast
import bz2
import json
from collections import Counter

import pytest
from extraction_eval import seen

from tests.conftest import data
from wikitext_builder.article import Article, Page
from wikitext_builder.dumps.xml_dump import read_pages
from wikitext_builder.extraction.page import extract

# A citation alone in an item is a source: docs/decisions.md.
DECIDED = {"en-cite-arxiv-class-1": ""}


def rows(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in data(name).read_text("utf-8").splitlines()]


def article_of(row: dict[str, str]) -> Article:
    when = f"{row['date']}T00:00:00Z"
    page = Page(title="Test", page_id=1, revision_id=1, timestamp=when, wikitext=row["wikitext"])
    return extract(page, language=row["language"])


def shown(article: Article) -> str:
    return "\n".join(line for line in article.lines[2:] if line)


def test_english_is_right_and_other_languages_are_right_or_counted():
    unseen = [row for row in rows("cases-unseen.jsonl") if row["call"] == "extract"]
    found = {row["id"]: (row, article_of(row)) for row in unseen}
    counted = {label for label, (_, article) in found.items() if article.left_out}
    wrong = {
        label for label, (row, article) in found.items() if shown(article) != DECIDED.get(label, row["want"])
    }
    assert wrong - counted == set()
    assert {label for label in wrong if found[label][0]["language"] == "en"} == {"named-block-silent-1"}
    assert len(unseen) > 50


@pytest.mark.parametrize("number", ["113", "114"])
def test_what_was_reported_is_right_or_counted(number):
    for row in rows("cases-reports.jsonl"):
        if row["id"] == number:
            call = ast.parse(row["call"], mode="eval").body
            assert isinstance(call, ast.Call)
            options = {str(option.arg): ast.literal_eval(option.value) for option in call.keywords}
            article = extract(ast.literal_eval(call.args[0]), **options)
            assert shown(article) == row["want"] or (number == "114" and article.left_out == (row["input"],))


# Words of legends of tables and of citations alone in an item, which go on purpose: of one page.
ON_PURPOSE = 22


def test_words_that_wikitext_loses_are_few_in_english_and_counted_everywhere(monkeypatch):
    """Compared with the words that a reader of the HTML of the same revision sees; counts are estimates."""
    totals, lost = Counter[str](), Counter[str]()
    uncounted = []
    for file in sorted(data("pages-unseen/html").glob("*.html.bz2")):
        name = file.name.removesuffix(".html.bz2")
        language = name.partition("-")[0]
        (dumped,) = read_pages(data(f"pages-unseen/{name}.xml.bz2"))
        assert isinstance(dumped.content, Page)
        article = extract(dumped.content, language=language)
        monkeypatch.setattr(seen, "extract_rendered", lambda *_, shown=article, **__: shown)
        page = seen.difference(name, bz2.decompress(file.read_bytes()).decode(), language)
        count = sum(len(run.split()) for _, run in page.lost)
        totals[language] += page.words
        lost[language] += count
        uncounted += [(name, page.lost)] if count > 1.1 * sum(article.lost) + ON_PURPOSE else []
    assert uncounted == []
    assert 1e4 * lost["en"] / totals["en"] <= 20
