"""The table of languages: complete, canonical, without contradictions."""

from dataclasses import fields

import pytest

from tests.cases import each
from wikitext_builder.errors import BuilderError
from wikitext_builder.wiki.languages import LANGUAGES, Language

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
