"""What macros claim: what shows their texts, and no guess if a call has a parameter that they do not read."""

import bz2
from collections.abc import ItemsView
from functools import cache
from itertools import product
from typing import Any
from xml.etree.ElementTree import iterparse

from tests.cases import cases
from tests.conftest import data
from tests.wikitext_builder.extraction.pages import page
from wikitext_builder.extraction.macros import READS, Call, read_table
from wikitext_builder.extraction.macros.registry import (
    HARMLESS,
    MACROS,
    PAGE,
    REDIRECTS,
    authorities,
    is_read,
)
from wikitext_builder.extraction.page import extract

CALLS = [case["arguments"] for case in cases("extract/calls")]
SOURCES = ("pages/templates.xml.bz2", "pages-more/templates-modern.xml.bz2")


class Asked(dict[str, str]):
    """Arguments that note which of them a macro asks for; with `all` it goes through them."""

    def __init__(self, arguments: dict[str, str]) -> None:
        super().__init__(arguments)
        self.asked: set[str] = set()

    def get(self, key: str, default: Any = None) -> Any:
        self.asked.add(key)
        return super().get(key, default)

    def __contains__(self, key: object) -> bool:
        self.asked.add(str(key))
        return super().__contains__(key)

    def items(self) -> ItemsView[str, str]:  # type: ignore[override]
        self.asked.add("all")
        return super().items()


def asked_for(name: str) -> set[str]:
    """The parameters that a macro looks at in some calls."""
    found: set[str] = set()
    for arguments in CALLS:
        given = Asked(arguments)
        MACROS[name](Call(name=name, arguments=given, page=page("", "Tokyo")))
        found |= given.asked
    return found


@cache
def exported() -> dict[str, list[dict[str, str]]]:
    """All that is known of templates and modules, of any date, by title."""
    pages: dict[str, list[dict[str, str]]] = {}
    for name in SOURCES:
        with bz2.open(data(name)) as file:
            for _, one in iterparse(file):
                if one.tag.rpartition("}")[2] == "page":
                    found = {part.tag.rpartition("}")[2]: part.text or "" for part in one.iter()}
                    pages.setdefault(found["title"], []).append(found)
    return pages


def test_macros_without_authority_become_fewer() -> None:
    """A wiki is asked for them first. Lower the number, never raise it."""
    assert {*authorities()} <= {*MACROS}
    assert len(MACROS) - len(authorities()) <= 656


def test_authorities_are_what_the_sources_are() -> None:
    """A module with its date, a template with its year; printed texts are not looked up."""
    for authority, names in read_table("authorities"):
        what, _, when = authority.rpartition(", ")
        titles = [what] if what[:7] == "Module:" else [f"Template:{name}" for name in names.split("|")]
        for title in titles if what != "Wikipedia's text of real calls" else []:
            found = [title, *(f"Template:{other}" for other, name in REDIRECTS.items() if title[9:] == name)]
            assert any(when in one["timestamp"] for title in found for one in exported().get(title, ())), (
                title,
                when,
            )


def test_a_macro_reads_what_it_declares() -> None:
    """Names that a macro asks for and does not declare would make calls unknown that it knows."""
    read = {
        name: asked_for(name) - {"all", "", *PAGE} for name, declared in READS.items() if "**" not in declared
    }
    wrong = {
        name: unknown
        for name, asked in read.items()
        if (unknown := {key for key in asked if not (key.isdecimal() or is_read(name, {key: "5"}))})
    }
    assert wrong == {}


def test_a_harmless_parameter_is_one_that_its_macro_does_not_read() -> None:
    rows = [row for row in read_table("harmless") if row[0] != "*"]
    twice = [
        (name, key)
        for names, keys, _source in rows
        for name, key in product(names.split("|"), keys.split("|"))
        if name[-1] != "*" and (key in HARMLESS["*"] or key in READS[name])
    ]
    assert twice == []


def test_a_call_with_an_unread_parameter_is_left_out() -> None:
    calls = [case["wikitext"] for case in cases("extract/templates", "unread parameters")]
    assert [call for call in calls if extract(page(f"It is {call} of old.")).left_out != (call,)] == []
