"""Languages: the table, complete and without contradictions; what a wiki says of itself, and what counts."""

import re
from collections.abc import Iterator
from dataclasses import fields

import msgspec

from tests.cases import each, read, refusal
from wikitext_builder.dumps.snapshot import DumpedSite
from wikitext_builder.extraction.page import extract
from wikitext_builder.wiki.languages import (
    CODES,
    LANGUAGES,
    NAME_FIELDS,
    OTHER_LANGUAGES,
    Language,
    language_of,
    names_in_answer,
    reported_names,
    with_names,
)
from wikitext_builder.wiki.responses import Query

TAGS = [  # BCP 47, ISO 639-3
    ("por", "pt"), ("pt-BR", "pt"), ("PT-br", "pt"), ("deu", "de"), ("zh-Hant", "zh"), ("zh-Hant-TW", "zh"),
    ("es-419", "es"),
    ("nob", "no"), ("yue", "zh-yue"), ("als", "als"), ("zh-min-nan", "zh-min-nan"), ("hbs", "sh"),
]  # fmt: skip


def test_tags_of_languages_are_understood_and_nothing_else() -> None:
    assert [(tag, language_of(tag).code) for tag, _ in TAGS] == TAGS
    for code in ("xx", "zh-yeu", "pt-BRA", "portuguese", "", "p"):
        assert "is unknown; expected the code of a Wikipedia" in refusal(language_of, code)


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


def faults_of_names(field: str, value: object) -> Iterator[str]:
    """Names that are not canonical, or there twice."""
    names = value if isinstance(value, tuple) else (value,) if isinstance(value, str) else ()
    if len(set(names)) != len(names):
        yield f"{field}: a name is there twice"
    for name in names:
        canonical = field in IN_ANY_FORM or (name[:1] == name[:1].upper() and name == name.strip())
        spaced = "  " not in name and ("_" not in name or field == "switches")
        if not (name and canonical and spaced) or set(name) & set("[]{}|#<>\n"):
            yield f"{field}: {name!r}"


def faults_of(language: Language) -> Iterator[str]:
    """What is missing in a row of the table, or contradicts the rest of it."""
    values = {field.name: getattr(language, field.name) for field in fields(language)}
    empty = {name for name, value in values.items() if not value} - {"list_title_suffixes"}
    if language.list_title_suffixes:
        empty -= {"list_title_prefixes"}
    yield from (f"{name} is empty" for name in empty if (language.code, name) not in MAY_BE_EMPTY)
    for name in values.keys() - {*PATTERNS, *OF_THE_WIKI}:
        yield from faults_of_names(name, values[name])
    for kind in (TEMPLATES, NAMESPACES):
        names = [name for field in kind for name in values[field]]
        if len(set(names)) != len(names):
            yield f"a name of {kind} means two things"
    if language.good_category == language.featured_category:
        yield "one category means two things"
    english = {"file_namespaces": {"File", "Image"}, "category_namespaces": {"Category"}}
    english |= {"template_namespaces": {"Template"}, "redirect_words": {"REDIRECT"}}
    # MediaWiki falls back to these.
    yield from (f"{field}: no {names}" for field, names in english.items() if not names <= {*values[field]})
    yield from (f"{name} is no field" for name in language.sources if name not in values or name == "sources")
    yield from (f"{text!r} is no source" for text in language.sources.values() if len(text) <= 3)


def test_the_table_is_complete_and_without_contradictions() -> None:
    assert set(LANGUAGES) >= {"en", "de", "fr", "es", "it", "pt", "nl", "pl", "ru", "ja", "zh"}
    assert [code for code, language in LANGUAGES.items() if code != language.code] == []
    assert [(code, fault) for code in LANGUAGES for fault in faults_of(LANGUAGES[code])] == []


def test_chinese_is_in_both_scripts() -> None:
    chinese = LANGUAGES["zh"]
    assert {"參考文獻", "参考文献", "外部連結", "外部链接"} <= set(chinese.removed_sections)
    assert {"分類", "分类"} <= set(chinese.category_namespaces)
    assert {"檔案", "文件"} <= set(chinese.file_namespaces)


@each("wiki", "table, said", "a wrong table is refused")
def test_a_wrong_table_is_refused(table: dict[str, object], said: str) -> None:
    assert said in refusal(Language.from_table, "xx", table)


# --- what a wiki says of itself


CATALAN = msgspec.convert(read("wiki")["what the Catalan wiki says of itself"], Query)


def test_every_wikipedia_has_a_code() -> None:
    assert len(set(CODES.values())) > 350
    assert {"simple", "zh-yue", "be-tarask", "ca", "ko", *LANGUAGES} <= set(CODES.values())
    for code in CODES:
        assert language_of(code).code == CODES[code]
    assert language_of("yue").code == "zh-yue"


@each("wiki", "code, near", "codes near to unknown ones")
def test_an_unknown_code_is_refused_with_the_nearest_ones(code: str, near: str) -> None:
    assert re.search(rf"{code} is unknown; expected .*\b{near}\b", refusal(language_of, code))


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
    assert (
        with_names(language_of("ca"), reported_names(catalan)) == catalan
    )  # what a store and a lock file keep


def test_its_names_decide_text() -> None:
    text = "__CAPTAULA__Té [[Imatge:a.jpg|Una tassa]] i cafè. [[Categoria:Begudes]]"
    bare = Language(code="ca")
    named = with_names(bare, names_in_answer(CATALAN))
    without, line = (extract(text, title="Te", language=one).lines[3] for one in (bare, named))
    assert [word in without for word in ("CAPTAULA", "tassa")] == [True, True]
    assert [word in line for word in ("CAPTAULA", "tassa", "Begudes")] == [False, False, False]


@each("wiki", "code, picture, category, redirect, option", "second names that a dump leaves out")
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
    assert set(OTHER_LANGUAGES) <= set(CODES.values()) - set(LANGUAGES)
    for code, language in OTHER_LANGUAGES.items():
        for name in NAME_FIELDS:
            names = getattr(language, name)
            strange = [one for one in names if one.strip() != one or set(one) & set("[]{}|#<>")]
            assert (len(set(names)), strange) == (len(names), []), (code, name)


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


def test_an_address_that_is_none_is_not_taken() -> None:
    wrong = ("javascript:alert(1)", "http://a b/index.php", "https://x@y/w", "/w/index.php", "x")
    assert [index for index in wrong if with_names(language_of("ca"), {"index": index}).index] == []


def test_simple_english_is_english() -> None:
    text = "It is {{convert|10|km}} away."
    assert extract(text, title="A", language="simple").lines == extract(text, title="A").lines
    assert isinstance(language_of("simple"), Language)
