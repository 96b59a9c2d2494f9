"""The registry of macros: what each name gives for some calls, as on the day when names became tables.

`tests/cases/macros.tsv` has, per digest of the texts, the names that give them. A new macro needs no row; if
the text of an old one changes on purpose, write the file again:
`python -m tests.wikitext_builder.extraction.test_registry > tests/cases/macros.tsv`.
"""

import hashlib
import re
import sys
from typing import Any

import pytest

from tests.cases import cases, wrong
from tests.conftest import ROOT
from tests.wikitext_builder.extraction.pages import page
from wikitext_builder.extraction import macros
from wikitext_builder.extraction.macros import Call, macro, read_table, registry, template_name
from wikitext_builder.extraction.macros.parser_functions import call_name
from wikitext_builder.extraction.macros.registry import COPIED, MACROS, REMOVED, is_removed, pattern
from wikitext_builder.extraction.page import extract
from wikitext_builder.wiki.languages import LANGUAGES

SNAPSHOT = ROOT / "tests" / "cases" / "macros.tsv"
# Families with a name per language: one digest for all of each.
PER_LANGUAGE = {"Lang-": "Lang-*", "IPA-": "IPA-*", " icon": "* icon"}
OF_ANY_FUNCTION = {"Flag": ["Fb", "Fb-rt"], "Age": ["Birth date and age", "Death date and age"]}
CALLS = [case["arguments"] for case in cases("extract/calls")]
ENTITY = re.compile("&[a-z]+;|<[^>]*>")


def texts(name: str, calls: list[dict[str, str]]) -> str:
    """What a name gives for these calls, with single spaces and none at its ends."""
    found = (MACROS[name](Call(name=name, arguments=one, page=page("", "Tokyo (city)"))) for one in calls)
    return "\x1f".join("?" if text is None else re.sub(" +", " ", text).strip(" ") for text in found)


def digests() -> dict[str, str]:
    """The digest of each name, or of a family of names."""
    given: dict[str, list[str]] = {}
    for name in sorted(MACROS):
        family = next((family for mark, family in PER_LANGUAGE.items() if mark in name), "")
        given.setdefault(family or name, []).append(texts(name, CALLS[::6] if family else CALLS))
    return {key: hashlib.sha256("\x1e".join(one).encode()).hexdigest()[:10] for key, one in given.items()}


def test_every_name_gives_its_text() -> None:
    now = digests()
    rows = (line.split("\t") for line in SNAPSHOT.read_text("utf-8").splitlines())
    before = {name: digest for digest, names in rows for name in names.split("|")}
    assert len(before) > 2_000
    assert {name: now.get(name) for name in before if now.get(name) != before[name]} == {}


@pytest.mark.parametrize(("module", "function", "template"), [row[:3] for row in read_table("modules")])
def test_a_function_of_a_module_gives_the_text_of_its_template(
    module: str, function: str, template: str
) -> None:
    """Of each template that a module makes; a function that is any has the name of its template."""
    found = [template] if function != "*" else OF_ANY_FUNCTION[module]
    for name in found:
        pages = []
        for head in (name, f"#invoke:{module}|{function.replace('*', name.lower())}"):
            calls = ("|".join([head, *(f"{key}={value}" for key, value in one.items())]) for one in CALLS)
            pages.append("\n\n".join(f"A {{{{{call}}}}} b." for call in calls))
        first, second = (extract(one, title="A") for one in pages)
        assert is_removed(name) or name in MACROS
        assert second.lines == first.lines
        assert len(second.left_out) == len(first.left_out)


def test_no_name_has_two_macros() -> None:
    """The later one would win silently: lists in columns were once lost this way."""
    with pytest.raises(ValueError, match="two macros for Convert"):
        macro("New one", "Convert", reads="1")(MACROS["Convert"])
    assert "New one" not in MACROS


def test_names_of_macros_and_of_removed_templates_do_not_contradict() -> None:
    faults = [name for name in MACROS if template_name(name) != name]  # as the reader asks for them
    faults += [name for name in REMOVED if name in MACROS or registry.REMOVED_FAMILIES.fullmatch(name)]
    faults += [name for name in COPIED if is_removed(name) or COPIED[name] is not MACROS[name]]
    assert faults == []
    assert len(COPIED) > 1_000


def test_a_copied_template_has_no_english_words_of_its_own() -> None:
    words = set()
    for name, known in COPIED.items():
        for number in range(4):
            arguments = {str(n): "ж" for n in range(1, number + 1)}
            shown = ENTITY.sub("", known(Call(name=name, arguments=arguments, page=page(""))) or "")
            words |= set(re.findall("[A-Za-z]{3,}", shown))
    # Names of identifiers and of a currency; "sic" is Latin.
    names = "ISBN ISSN OCLC JSTOR PMID PMC BWV Bibcode doi hdl arXiv CHF sic"
    assert words == set(names.split())


def test_a_pattern_gives_its_text() -> None:
    def text(case: dict[str, Any]) -> str | None:
        call = Call(name="T", arguments=case["arguments"], page=page("", "Tokyo (city)"))
        return pattern(case["written"])(call)

    assert wrong("extract/patterns", "cases", "text", text) == []


def test_a_table_with_too_many_cells_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "t.tsv").write_text("# a comment\na\tb\n1\n\n", "utf-8")
    monkeypatch.setattr("wikitext_builder.extraction.macros.files", lambda _package: tmp_path)
    with pytest.raises(ValueError, match=r"t\.tsv: expected a name and at most 2 cells: \[''\]"):
        read_table("t")
    (tmp_path / "data" / "t.tsv").write_text("a\tb\n1\n", "utf-8")
    assert read_table("t") == [["1", ""]]


def test_all_spellings_are_one_name_everywhere():
    for case in cases("extract/names", "spellings"):
        call = f"{{{{{case['written']}|US}}}}"
        (left_out,) = extract(page(f"a {call} b")).left_out
        assert (call_name(call), call_name(left_out)) == ("Inflation", "Inflation"), call


def test_names_of_calls():
    assert wrong("extract/names", "calls", "name", lambda case: call_name(case["call"])) == []


def test_every_name_of_the_namespace_is_known():
    for code, language in LANGUAGES.items():
        for name in language.template_namespaces:
            assert template_name(f"{name}:infobox") == "Infobox"
            article = extract(page(f"a {{{{{name}:Infobox x|b}}}} {{{{{name}:!}}}}"), language=code)
            assert article.left_out == ()


def test_names_longer_than_a_title_are_not_kept_in_memory():
    for function, memo in ((template_name, macros._template_name), (is_removed, registry._is_removed)):
        before = memo.cache_info().currsize
        function("Infobox " + "x" * 1_000_000)
        assert memo.cache_info().currsize == before


def test_a_comment_without_an_end_runs_to_the_end():
    assert template_name("lang-de<!-- x --> b<!-- c") == "Lang-de b"


if __name__ == "__main__":
    now = digests()
    for digest in sorted({*now.values()}):
        sys.stdout.write(f"{digest}\t{'|'.join(name for name in now if now[name] == digest)}\n")
