"""Templates of the other Wikipedias."""

import re

import pytest

from tests.cases import each
from tests.conftest import ROOT
from tests.wikitext_builder.extraction.pages import page
from wikitext_builder.extraction.macros.call import Call, template_name
from wikitext_builder.extraction.macros.local import KINDS, LocalTemplates, local_templates
from wikitext_builder.extraction.macros.registry import COPIED
from wikitext_builder.extraction.page import extract
from wikitext_builder.wiki.languages import LANGUAGES

TABLE = (ROOT / "wikitext_builder/extraction/macros/data/local.tsv").read_text("utf-8").splitlines()
LOCAL = sorted({*LANGUAGES} - {"en"})
LONG = "9" * 400
ENTITY = re.compile("&[a-z]+;|<[^>]*>")


@each("extract/local", "language, wikitext, lines")
def test_a_case_gives_its_lines(language, wikitext, lines):
    found = extract(page(wikitext), language=language, incomplete="keep").lines[3:]
    assert [line for line in found if line] == lines


def test_every_language_but_english_has_a_table():
    assert all(local_templates(language).macros for language in LOCAL)
    assert local_templates("en") == local_templates("xx") == LocalTemplates()


def test_rows_are_whole_and_each_source_is_named():
    comments = [line.removeprefix("# ").partition(":")[0] for line in TABLE if line.startswith("#")]
    head, *rows = [line.split("\t") for line in TABLE if not line.startswith("#")]
    assert head == ["language", "names", "kind", "text", "source"]
    named = set()
    for language, names, kind, _text, source in rows:
        assert language in LOCAL
        assert kind in {*KINDS, "box"}
        assert set(source.split(", ")) <= set(comments), source
        for name in names.split("; "):
            assert (language, name) not in named, name
            named.add((language, name))
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)


@pytest.mark.parametrize("language", LOCAL)
def test_no_macro_raises_and_each_name_is_as_the_reader_asks_for_it(language):
    table = local_templates(language)
    for name, macro in table.macros.items():
        assert template_name(name) == name
        for value in ("", "1", LONG, "²", "-1.5e3"):
            call = Call(name=name, arguments={str(n): value for n in range(1, 7)}, page=page(""))
            assert isinstance(macro(call), str | None)
        for missing in range(1, 6):  # the first arguments
            arguments = {str(n): "1" for n in range(missing + 1, 7)}
            assert isinstance(macro(Call(name=name, arguments=arguments, page=page(""))), str | None)
        assert isinstance(macro(Call(name=name, arguments={}, page=page(""))), str | None)


def test_a_copied_template_has_no_english_words_of_its_own():
    words = set()
    for name, macro in COPIED.items():
        for number in range(4):
            arguments = {str(n): "ж" for n in range(1, number + 1)}
            shown = ENTITY.sub("", macro(Call(name=name, arguments=arguments, page=page(""))) or "")
            words |= set(re.findall("[A-Za-z]{3,}", shown))
    # Names of identifiers and of a currency; "sic" is Latin.
    names = "ISBN ISSN OCLC JSTOR PMID PMC BWV Bibcode doi hdl arXiv CHF sic"
    assert words == set(names.split())


@pytest.mark.parametrize("language", LOCAL)
def test_english_words_do_not_stand_in_other_languages(language):
    calls = "{{convert|3|mi}} {{circa|1}} {{birth date|2000|1|2}} {{USS|X}} {{as of|2010}} {{age|1900|1|2}}"
    article = extract(page(f"a {calls} {{{{GBR}}}} {{{{IPA-de|x}}}}"), language=language)
    assert not re.search("miles|kilomet|c\\.|January|As of|United|pronounced|German", article.lines[3])


@pytest.mark.parametrize("language", LOCAL)
def test_calls_that_no_table_knows_are_left_out(language):
    article = extract(page("a {{Zyzzyva|1}} b"), language=language)
    assert article.left_out == ("{{Zyzzyva|1}}",)
    assert not re.search("Zyzzyva", article.lines[3])
