"""A template has one name, for every spelling of a call and everywhere it is counted."""

import pytest

from tests.cases import each
from tests.wikitext_builder.extraction.pages import page
from wikitext_builder.extraction.macros import call as calls
from wikitext_builder.extraction.macros import registry
from wikitext_builder.extraction.macros.call import template_name
from wikitext_builder.extraction.macros.parser_functions import call_name
from wikitext_builder.extraction.macros.registry import is_removed
from wikitext_builder.extraction.page import extract
from wikitext_builder.wiki.languages import LANGUAGES


@each("extract/names", "written", "spellings")
def test_all_spellings_are_one_name_everywhere(written):
    call = f"{{{{{written}|US}}}}"
    assert call_name(call) == "Inflation"
    assert [call_name(one) for one in extract(page(f"a {call} b")).left_out] == ["Inflation"]


@each("extract/names", "call, name", "calls")
def test_names_of_calls(call, name):
    assert call_name(call) == name


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_name_of_the_namespace_is_known(language):
    for namespace in LANGUAGES[language].template_namespaces:
        assert template_name(f"{namespace}:infobox") == "Infobox"
        article = extract(page(f"a {{{{{namespace}:Infobox x|b}}}} {{{{{namespace}:!}}}}"), language=language)
        assert article.left_out == ()


def test_names_longer_than_a_title_are_not_kept_in_memory():
    for function, memo in ((template_name, calls._template_name), (is_removed, registry._is_removed)):
        before = memo.cache_info().currsize
        function("Infobox " + "x" * 1_000_000)
        assert memo.cache_info().currsize == before


def test_a_comment_without_an_end_runs_to_the_end():
    assert template_name("lang-de<!-- x --> b<!-- c") == "Lang-de b"
