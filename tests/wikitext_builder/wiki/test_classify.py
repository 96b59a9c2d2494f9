"""What a page is: lists by their titles, redirects by their texts; marks are in dumps/test_importing."""

import pytest

from wikitext_builder.wiki.classify import classifier, template_call
from wikitext_builder.wiki.languages import LANGUAGES


def test_braces_before_many_spaces_take_linear_time() -> None:
    """Of 20,000 spaces it once took 0.4 seconds, and four times as long for twice as many."""
    assert not template_call(["*-stub"]).search("{{" + " " * 1_000_000)
    assert template_call(["*-stub", "stub-*"]).search("{{ Peru-stub }}")


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


@pytest.mark.parametrize(
    ("code", "marked", "others"),
    [
        ("en", ["{{GA|date=2017}}", "{{Article history|currentstatus = FA}}"],
         ["{{GAN}}", "currentstatus=FFA"]),
        ("fr", ["{{Wikiprojet|Chimie|maximum|avancement=AdQ}}", "{{wikiprojet|avancement = BA |x}}"],
         ["{{Wikiprojet|Chimie|avancement=B}}", "{{Wikiprojet|avancement=Ébauche}} BA"]),
        ("pt", ["{{Marca de projeto|5|Rios|3}}", "{{Marca de projeto|rev=x|qualidade=AD}}"],
         ["{{Marca de projeto|4|Rios|5}}", "{{Marca de projeto|qualidade=4}}"]),
        ("ru", ["{{Статья проекта Россия|важность=|уровень=ИС}}", "{{статья проекта|уровень = хс}}"],
         ["{{Статья проекта Россия|уровень=ДС}}", "{{Статья проекта Россия|уровень=II|ИС}}"]),
        ("de", [], ["{{GA}}", "{{Lesenswert}}"]),
    ],
)  # fmt: skip
def test_what_talk_pages_say(code: str, marked: list[str], others: list[str]) -> None:
    known = classifier(LANGUAGES[code])
    assert known.knows_talk_marks == bool(marked)
    assert [text for text in [*marked, *others] if known.is_marked_talk(text)] == marked
    assert not known.is_marked_talk("".join(f"<!-- {text} -->" for text in marked))


def test_a_portuguese_talk_page_of_many_spaces_takes_linear_time() -> None:
    """Of 8,000 spaces it once took 0.26 seconds, and four times as long for twice as many."""
    portuguese, spaces = classifier(LANGUAGES["pt"]), " " * 1_000_000
    assert not portuguese.is_marked_talk("{{marca de projeto|" + spaces)
    assert portuguese.is_marked_talk(f"{{{{marca de projeto|{spaces}A|{spaces}qualidade = 5}}}}")
