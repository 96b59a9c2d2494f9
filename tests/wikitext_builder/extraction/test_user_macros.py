"""Macros of the user come before ours, get a Template of mwparserfromhell, and reject a page if they fail."""

import subprocess
import sys

import pytest
from mwparserfromhell.nodes import Template

from tests.cases import refusal
from tests.wikitext_builder.extraction.pages import page
from wikitext_builder.errors import RejectedError
from wikitext_builder.extraction.page import extract


def shown(wikitext: str, macros, **options) -> str:
    return extract(page(wikitext), macros=macros, **options).lines[3]


def first(template: Template) -> str:
    return str(template.get(1).value)


def test_a_macro_gives_the_text():
    for macros, wikitext, text in (
        ({"New": first}, "A {{new|b}} c.", "A b c."),  # unknown to us
        ({"convert": first}, "A {{Convert|5|m}}.", "A 5."),  # before ours; small first letter
        ({"Convert": first}, "A {{conv|5|m}}.", "A 5."),  # a redirect
        ({"Convert": first, "Conv": lambda _: "x"}, "A {{conv|5|m}}.", "A x."),  # a redirect's own
        ({"Infobox ship": first}, "A {{Infobox ship|b}}.", "A b."),  # one that is removed
        ({"Template:My_own": first}, "A {{my own|b}}.", "A b."),  # a title
        ({"New": first}, "A {{new|{{convert|5|km}} [[b|c]]}}.", "A 5 kilometres (3.1 mi) c."),  # nested calls
        ({"New": lambda t: "; ".join(map(str, t.params))}, "A {{new|b|x = c |1=d}}.", "A d; x=c."),
    ):
        assert shown(wikitext, macros) == text


def test_a_call_without_text_is_left_out():
    article = extract(page("A {{convert|5|m}} b."), macros={"Convert": lambda _: None})
    assert article.left_out == ("{{convert|5|m}}",)


def test_templates_call_macros_of_the_user():
    templates = {"Outer": "{{new|{{{1}}}}}", "New": "wrong"}
    assert shown("A {{outer|b}}.", {"New": first}, templates=templates) == "A b."
    assert shown("A {{outer|b}}.", {"New": lambda _: None}, templates=templates) == "A wrong."


def test_macros_come_before_those_of_a_language():
    for language in ("en", "de"):
        wikitext = "A {{nowrap|b}} {{lang|de|c}}."
        assert shown(wikitext, {"Nowrap": lambda _: "x"}, language=language) == "A x c."


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda t: t.get(5), "macro: the macro of 'convert' failed: ValueError: 5"),
        (lambda _: 5, "macro: the macro of 'convert' returned 5; expected a str or None"),
    ],
)
@pytest.mark.parametrize("templates", [None, {"Outer": "{{convert|1|m}}"}])
def test_a_macro_that_fails_rejects_the_page(function, message, templates):
    wikitext = "A {{outer}}." if templates else "A {{convert|1|m}}."
    with pytest.raises(RejectedError, match="convert") as caught:
        shown(wikitext, {"convert": function}, templates=templates)
    assert (str(caught.value), caught.value.reason) == (message, "macro")


def test_a_value_that_is_not_a_function_is_refused():
    assert "`macros`: 'Convert' is 'x'; expected a function" in refusal(shown, "A.", {"Convert": "x"})


def test_extraction_without_macros_imports_no_second_parser():
    code = (
        "import sys, wikitext_builder as wb; wb.extract('A {{convert|1|m}}', title='A'); print(*sys.modules)"
    )
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "wikitext_builder.extraction.templates" in modules
    assert "mwparserfromhell" not in modules
