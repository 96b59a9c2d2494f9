"""What macros claim: what shows their texts, and no guess if a call has a parameter that they do not read."""

import bz2
import re
from collections.abc import ItemsView
from functools import cache
from itertools import product
from typing import Any
from xml.etree.ElementTree import iterparse

from tests.cases import cases, read
from tests.conftest import data
from tests.wikitext_builder.extraction.pages import page
from wikitext_builder.extraction.expander import included
from wikitext_builder.extraction.macros import Call, read_table
from wikitext_builder.extraction.macros.registry import MACROS, REDIRECTS, UNREAD, authorities

CALLS = [case["arguments"] for case in cases("extract/calls")]
HARMLESS = {name: set(names.split("|")) for name, names in read("extract/harmless")["parameters"].items()}
SOURCES = ("pages/templates.xml.bz2", "pages-more/templates-modern.xml.bz2")
INVOKED = re.compile(r"#invoke:\s*([^|}]*?)\s*\|")
OF_WIKITEXT = re.compile(r"\{\{\{\s*([^{}|]+?)\s*[|}]")
OF_LUA = re.compile(r"\b[aA]rgs(?:\.([A-Za-z_]\w*)|\[\s*(?:'([^']+)'|\"([^\"]+)\")\s*\])")
SHARED = {"Arguments", "String", "Template wrapper", "TEMPLATENAME", "Convert", "Math"}  # not of one template


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


def source(title: str) -> str:
    return "\n".join(one["text"] for one in exported().get(title, ()))


def parameters_of(name: str) -> set[str]:
    """The parameters that the source of a template reads, and the modules that it calls."""
    wikitext = included(source(f"Template:{name}"))
    found = set(OF_WIKITEXT.findall(wikitext))
    for module in {one[:1].upper() + one[1:] for one in INVOKED.findall(wikitext)} - SHARED:
        found |= {"".join(names) for names in OF_LUA.findall(source(f"Module:{module}"))}
    return found


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


def test_a_call_with_an_unread_parameter_has_no_text() -> None:
    for row in read_table("unread"):
        parameters = row[1].split("|")
        names = [name for name, unread in UNREAD.items() if unread == parameters]
        assert names
        for name, parameter, arguments in product({*names[:3], *names[-3:]}, parameters, CALLS):
            call = Call(name=name, arguments={**arguments, parameter: "5"}, page=page("", "Tokyo"))
            assert MACROS[name](call) is None


def test_each_parameter_of_a_source_is_read_or_unread_or_harmless() -> None:
    """The harmless ones give the same text on a real MediaWiki: see docs/notes.md."""
    found = {}
    for name in sorted(title.removeprefix("Template:") for title in exported() if title[:9] == "Template:"):
        if name.startswith("Lang-") and name != "Lang-ru":
            continue  # a macro for all
        if name in MACROS and "all" not in (asked := asked_for(name)):
            known = asked | {*UNREAD.get(name, ())} | HARMLESS["*"] | HARMLESS.get(name, set())
            if unknown := parameters_of(name) - known:
                found[name] = unknown
    assert found == {}
