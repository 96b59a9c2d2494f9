"""What a page is: lists by their titles, redirects by their texts; marks are in dumps/test_importing."""

from tests.cases import each
from wikitext_builder.wiki.classify import classifier, template_call
from wikitext_builder.wiki.languages import LANGUAGES


def test_braces_before_many_spaces_take_linear_time() -> None:
    """Of 20,000 spaces it once took 0.4 seconds, and four times as long for twice as many."""
    assert not template_call(("*-stub",)).search("{{" + " " * 1_000_000)
    assert template_call(("*-stub", "stub-*")).search("{{ Peru-stub }}")


@each("wiki", "code, title, expected", "titles of lists")
def test_titles_of_lists(code: str, title: str, expected: bool) -> None:
    assert classifier(LANGUAGES[code]).is_list(title) is expected


@each("wiki", "language, wikitext, expected", "redirects")
def test_redirects(language: str, wikitext: str, expected: bool) -> None:
    assert classifier(LANGUAGES[language]).is_redirect(wikitext) is expected
