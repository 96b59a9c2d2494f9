"""What a page is: lists by their titles, redirects by their texts; marks are in dumps/test_importing."""

import pytest

from wikitext_builder.wiki.classify import classifier
from wikitext_builder.wiki.languages import LANGUAGES


@pytest.mark.parametrize(
    ("code", "title", "expected"),
    [
        ("en", "List of rivers", True),
        ("en", "Lists of rivers", True),
        ("en", "Schindler's List", False),
        ("pl", "Lista Schindlera", False),
        ("ru", "Список Шиндлера", False),
        ("fr", "Liste d’attente", True),  # a prefix says no more
        ("ja", "川の一覧", True),
        ("ja", "一覧表の作り方", False),
        ("nl", "Lijst van rivieren", True),
    ],
)
def test_titles_of_lists(code: str, title: str, expected: bool) -> None:
    assert classifier(LANGUAGES[code]).is_list(title) is expected


@pytest.mark.parametrize(
    ("language", "wikitext", "expected"),
    [
        ("en", "#REDIRECT [[A]]", True),
        ("en", " \n#redirect: [[A]]", True),
        ("en", "#REDIRECT A", False),
        ("en", "Text\n#REDIRECT [[A]]", False),
        ("de", "#WEITERLEITUNG [[A]]", True),
        ("de", "#REDIRECT [[A]]", True),
        ("en", "#WEITERLEITUNG [[A]]", False),
    ],
)
def test_redirects(language: str, wikitext: str, expected: bool) -> None:
    assert classifier(LANGUAGES[language]).is_redirect(wikitext) is expected
