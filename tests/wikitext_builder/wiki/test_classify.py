"""Titles, dates, and what a page is by its title or text; marks are in dumps/test_importing."""

from tests.cases import cases, refusal, wrong
from wikitext_builder.wiki.classify import classifier, template_call, tidy_title, title_fault
from wikitext_builder.wiki.dates import parse_date
from wikitext_builder.wiki.languages import LANGUAGES


def test_braces_before_many_spaces_take_linear_time() -> None:
    """Of 20,000 spaces it once took 0.4 seconds, and four times as long for twice as many."""
    assert not template_call(("*-stub",)).search("{{" + " " * 1_000_000)
    assert template_call(("*-stub", "stub-*")).search("{{ Peru-stub }}")


def test_titles_of_lists() -> None:
    def is_list(case: dict[str, str]) -> bool:
        return classifier(LANGUAGES[case["code"]]).is_list(case["title"])

    assert wrong("wiki", "titles of lists", "expected", is_list) == []


def test_redirects() -> None:
    def is_redirect(case: dict[str, str]) -> bool:
        return classifier(LANGUAGES[case["language"]]).is_redirect(case["wikitext"])

    assert wrong("wiki", "redirects", "expected", is_redirect) == []


def test_dates() -> None:
    assert wrong("wiki", "dates", "moment", lambda case: parse_date(case["text"])) == []
    texts = [case["text"] for case in cases("wiki", "other texts are not dates")]
    assert [text for text in texts if "is not a date" not in refusal(parse_date, text)] == []


def test_tidy() -> None:
    assert wrong("wiki", "tidy titles", "title", lambda case: tidy_title(case["text"])) == []


def test_texts_that_can_be_titles() -> None:
    table = "texts that can be titles, and others"
    assert wrong("wiki", table, "fault", lambda case: bool(title_fault(case["title"]))) == []
