"""Languages: the table, complete and without contradictions; what a wiki says of itself, and what counts."""

from dataclasses import fields
from typing import Any

import msgspec
import pytest

from tests.cases import each
from wikitext_builder.dumps.snapshot import DumpedSite
from wikitext_builder.errors import BuilderError
from wikitext_builder.extraction.page import extract
from wikitext_builder.wiki.languages import (
    CODES,
    LANGUAGES,
    OTHER_NAMES,
    OTHERS,
    Language,
    language_of,
    names_in_answer,
    names_said,
    with_names,
)
from wikitext_builder.wiki.responses import Query

ROWS = [pytest.param(language, id=code) for code, language in LANGUAGES.items()]
TEMPLATES = ("good_marks", "featured_marks", "disambiguation_marks")
NAMESPACES = ("file_namespaces", "category_namespaces", "template_namespaces")
PATTERNS = ("copied_summary",)
OF_THE_WIKI = ("index", "wiki", "redirects")  # what only a wiki itself says
# What a Wikipedia does not have, or what titles do not show: see the comments in the table.
MAY_BE_EMPTY = {
    ("nl", "good_category"),
    ("nl", "good_marks"),
    ("pl", "list_title_prefixes"),
    ("ru", "list_title_prefixes"),
    *((code, "stub_marks") for code in ("de", "es", "pl")),  # the condition is refused there
    *((code, "switches") for code in ("en", "it")),
    *((code, name) for code in LANGUAGES for name in ("sources", *PATTERNS, *OF_THE_WIKI)),
}
IN_ANY_FORM = {"list_title_prefixes", "picture_options", "code", "sources", "redirects"}


def test_the_wikipedias() -> None:
    assert set(LANGUAGES) >= {"en", "de", "fr", "es", "it", "pt", "nl", "pl", "ru", "ja", "zh"}
    assert all(code == language.code for code, language in LANGUAGES.items())


@pytest.mark.parametrize("language", ROWS)
def test_a_row_is_complete(language: Language) -> None:
    empty = {field.name for field in fields(language) if not getattr(language, field.name)}
    if language.list_title_prefixes or language.list_title_suffixes:
        empty -= {"list_title_prefixes", "list_title_suffixes"}
    empty -= {"list_title_suffixes"}
    assert {(language.code, name) for name in empty} <= MAY_BE_EMPTY


@pytest.mark.parametrize("language", ROWS)
def test_names_are_canonical_and_there_once(language: Language) -> None:
    for field in fields(language):
        value = getattr(language, field.name) if field.name not in PATTERNS + OF_THE_WIKI else ()
        names = value if isinstance(value, tuple) else (value,) if isinstance(value, str) else ()
        assert len(set(names)) == len(names), field.name
        for name in names:
            assert name, field.name
            assert name[0] == name[0].upper() or field.name in IN_ANY_FORM, name
            assert "_" not in name or field.name == "switches"
            assert "  " not in name
            assert name == name.strip() or field.name in IN_ANY_FORM, name
            assert not set(name) & set("[]{}|#<>\n"), name


@pytest.mark.parametrize("language", ROWS)
def test_a_mark_means_one_thing(language: Language) -> None:
    marks = [mark for name in TEMPLATES for mark in getattr(language, name)]
    assert len(set(marks)) == len(marks)
    assert language.good_category != language.featured_category
    namespaces = [prefix for name in NAMESPACES for prefix in getattr(language, name)]
    assert len(set(namespaces)) == len(namespaces)


@pytest.mark.parametrize("language", ROWS)
def test_english_names_hold_everywhere(language: Language) -> None:
    assert {"File", "Image"} <= set(language.file_namespaces)  # MediaWiki falls back to English
    assert "Category" in language.category_namespaces
    assert "Template" in language.template_namespaces
    assert "REDIRECT" in language.redirect_words


def test_chinese_is_in_both_scripts() -> None:
    chinese = LANGUAGES["zh"]
    assert {"參考文獻", "参考文献", "外部連結", "外部链接"} <= set(chinese.removed_sections)
    assert {"分類", "分类"} <= set(chinese.category_namespaces)
    assert {"檔案", "文件"} <= set(chinese.file_namespaces)


@pytest.mark.parametrize("language", ROWS)
def test_a_source_is_one_of_a_field(language: Language) -> None:
    assert set(language.sources) <= {field.name for field in fields(Language)} - {"sources"}
    assert set(language.sources.values()) == {text for text in language.sources.values() if len(text) > 3}


@each("wiki", "table, said", "a wrong table is refused")
def test_a_wrong_table_is_refused(table: dict[str, object], said: str) -> None:
    with pytest.raises(BuilderError, match=said):
        Language.from_table("xx", table)


# --- what a wiki says of itself


CATALAN_ANSWER: dict[str, Any] = {
    "general": {
        "generator": "MediaWiki 1.45",
        "wikiid": "cawiki",
        "lang": "ca",
        "sitename": "Viquipèdia",
        "server": "//ca.wikipedia.org",
        "script": "/w/index.php",
        "base": "https://ca.wikipedia.org/wiki/Portada",
    },
    "namespaces": {
        "0": {"id": 0, "name": ""},
        "6": {"id": 6, "name": "Fitxer", "canonical": "File"},
        "10": {"id": 10, "name": "Plantilla", "canonical": "Template"},
        "14": {"id": 14, "name": "Categoria", "canonical": "Category"},
    },
    "namespacealiases": [{"id": 6, "alias": "Imatge"}],
    "magicwords": [
        {"name": "redirect", "aliases": ["#REDIRECCIÓ", "#REDIRECT"]},
        {"name": "img_thumbnail", "aliases": ["miniatura", "thumb"]},
        {"name": "notoc", "aliases": ["__CAPTAULA__", "__NOTOC__"]},
        {"name": "img_manualthumb", "aliases": ["thumb=$1"]},
    ],
}
CATALAN = msgspec.convert(CATALAN_ANSWER, Query)


def test_every_wikipedia_has_a_code() -> None:
    assert len(set(CODES.values())) > 350
    assert {"simple", "zh-yue", "be-tarask", "ca", "ko", *LANGUAGES} <= set(CODES.values())
    for code in CODES:
        assert language_of(code).code == CODES[code]
    assert language_of("yue").code == "zh-yue"


@pytest.mark.parametrize(
    ("given", "near"), [("caa", "ca"), ("EN", "en"), ("zh_yue", "zh-yue"), ("simpel", "simple")]
)
def test_an_unknown_code_is_refused_with_the_nearest_ones(given: str, near: str) -> None:
    with pytest.raises(BuilderError, match=rf"{given} is unknown; expected .*\b{near}\b"):
        language_of(given)


def test_what_an_api_says() -> None:
    catalan = with_names(Language(code="ca"), names_in_answer(CATALAN))
    assert catalan.file_namespaces == ("Fitxer", "Imatge", "File", "Image")
    assert catalan.category_namespaces == ("Categoria", "Category")
    assert catalan.redirect_words == ("REDIRECCIÓ", "REDIRECT")
    assert catalan.picture_options == ("miniatura", "thumb")
    assert catalan.wiki == "Viquipèdia"
    assert catalan.index == ""  # the address of the Wikipedia is known without asking
    assert catalan.index_address == "https://ca.wikipedia.org/w/index.php"
    catalan = with_names(language_of("ca"), names_in_answer(CATALAN))
    assert with_names(language_of("ca"), names_said(catalan)) == catalan  # what a store and a lock file keep


def test_its_names_decide_text() -> None:
    text = "__CAPTAULA__Té [[Imatge:a.jpg|Una tassa]] i cafè. [[Categoria:Begudes]]"
    bare = Language(code="ca")
    catalan = with_names(bare, names_in_answer(CATALAN))
    lines = [extract(text, title="Te", language=one).lines[3] for one in (bare, catalan)]
    assert "tassa" in lines[0]
    assert "tassa" not in lines[1]
    assert "CAPTAULA" in lines[0]
    assert "CAPTAULA" not in lines[1]
    assert "Begudes" not in lines[1]


@pytest.mark.parametrize(
    ("code", "picture", "category", "redirect", "option"),
    [
        ("ca", "Imatge", "Categoria", "REDIRECCIÓ", "miniatura"),
        ("ko", "그림", "분류", "넘겨주기", "섬네일"),
        ("tr", "Resim", "KAT", "YÖNLENDİRME", "küçükresim"),
        ("hi", "चित्र", "श्र", "पुनर्प्रेषित", "अंगूठाकार"),
    ],
)
def test_second_names_are_known_that_a_dump_leaves_out(
    code: str, picture: str, category: str, redirect: str, option: str
) -> None:
    said = {"file_namespaces": ["Fitxer"], "category_namespaces": ["Temes"]}  # as a dump does, one of each
    known = with_names(language_of(code), said)
    assert {"Fitxer", picture, "File", "Image"} <= set(known.file_namespaces)
    assert {"Temes", category, "Category"} <= set(known.category_namespaces)
    assert redirect in known.redirect_words
    text = f"Tea [[{picture}:a.jpg|{option}|A cup]] and coffee. [[{category}:Drinks]]"
    assert extract(text, title="Tea", language=known).lines[3:5] == ("Tea", "and coffee.")


def test_other_names_are_of_wikipedias_without_a_table() -> None:
    assert set(OTHERS) <= set(CODES.values()) - set(LANGUAGES)
    for code, language in OTHERS.items():
        for name in OTHER_NAMES:
            names = getattr(language, name)
            assert len(set(names)) == len(names), (code, name)
            assert all(one.strip() == one and not set(one) & set("[]{}|#<>") for one in names), (code, name)


def test_an_export_says_namespaces_and_the_address() -> None:
    spaces = {"": 0, "Fitxer": 6, "Plantilla": 10, "Categoria": 14}
    site = DumpedSite(base="https://ca.wikipedia.org/wiki/Portada", sitename="Viquipèdia", namespaces=spaces)
    found = with_names(language_of(site.language), site.names)
    assert (found.wiki, found.index, found.file_namespaces[0]) == ("Viquipèdia", "", "Fitxer")


def test_a_wikipedia_with_a_table_stays_as_the_table_has_it() -> None:
    says = {**names_in_answer(CATALAN), "index": "https://de.wikipedia.org/w/index.php"}
    assert with_names(language_of("de"), says) == language_of("de")
    own = with_names(language_of("de"), {**says, "index": "http://127.0.0.1:8080/index.php"})
    assert own.index_address == "http://127.0.0.1:8080/index.php"  # another wiki in German
    assert own.file_namespaces == ("Fitxer", "Imatge", "Datei", "Bild", "File", "Image")


@pytest.mark.parametrize(
    "index", ["javascript:alert(1)", "http://a b/index.php", "https://x@y/w", "/w/index.php", "x"]
)
def test_an_address_that_is_none_is_not_taken(index: str) -> None:
    assert with_names(language_of("ca"), {"index": index}).index == ""


def test_simple_english_is_english() -> None:
    text = "It is {{convert|10|km}} away."
    assert extract(text, title="A", language="simple").lines == extract(text, title="A").lines
    assert isinstance(language_of("simple"), Language)
