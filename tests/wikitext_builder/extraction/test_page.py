"""extract: the layout of the lines, the kinds of sections, what is left out, what the API expanded."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.wikitext_builder.extraction.pages import body, page
from wikitext_builder.article import heading_level
from wikitext_builder.errors import BuilderError, RejectedError
from wikitext_builder.extraction.page import extract

SECTIONS = "Lead.\n==Career==\n{|\n|a\n|}\n==Notes==\na\n===Journals===\nb\n==After==\nc"


def test_the_layout_is_that_of_the_official_files():
    lines = extract(page("Lead.\n\nMore.\n== A ==\n=== B ===\nText.\n== C ==")).lines
    lead, nested, last = (
        ("Lead.", "More."),
        ("", "== A ==", "", "", "=== B ===", "", "Text."),
        ("", "== C ==", ""),
    )
    assert lines == ("", "= Tokyo =", "", *lead, *nested, *last, "")


def test_the_article_keeps_what_identifies_the_page():
    article = extract(page("Text."))
    assert (article.title, article.page_id, article.revision_id, article.timestamp) == (
        "Tokyo",
        1,
        1,
        "2016-04-16T17:15:34Z",
    )


def test_wikitext_alone_needs_a_title():
    article = extract("'''Tokyo''' is [[big]].", title="Tokyo")
    assert article.lines == extract(page("'''Tokyo''' is [[big]].")).lines
    assert (article.page_id, article.revision_id, article.timestamp) == (0, 0, "")
    assert extract("[[Datei:a.jpg|b]]", title="A", language="de").lines == ("", "= A =", "", "")
    with pytest.raises(BuilderError, match="title="):
        extract("a")


def test_wikitext_alone_is_of_today():
    before = datetime.now(UTC).year
    shown = extract("It is {{CURRENTYEAR}}, {{age|1900|1|1}} years.", title="A").lines[3]
    years = range(before, datetime.now(UTC).year + 1)
    assert shown in {f"It is {year}, {year - 1900} years." for year in years}


def test_official_sections_leave_orphans_and_empty_headings():
    assert [line for line in extract(page(SECTIONS)).lines if line] == [
        "= Tokyo =", "Lead.", "== Career ==", "=== Journals ===", "b", "== After ==", "c",
    ]  # fmt: skip


def test_clean_sections_leave_neither():
    article = extract(page(SECTIONS), sections="clean")
    assert [line for line in article.lines if line] == ["= Tokyo =", "Lead.", "== After ==", "c"]


def test_formulas_stay_in_their_sentence_where_sections_are_clean():
    article = extract(page("where <math>E</math> is."), sections="clean")
    assert article.lines[3] == "where <formula> is."


def test_calls_that_nobody_knew_are_left_out_in_order():
    article = extract(page("It is {{mystery|1}} and {{riddle|a=b|[[c]]}} and {{mystery|1}}."))
    assert article.left_out == ("{{mystery|1}}", "{{riddle|a=b|[[c]]}}", "{{mystery|1}}")
    assert article.lines[3] == "It is and and."


def test_a_call_that_is_repeated_gives_the_same_text_and_is_left_out_each_time():
    call = "{{nowrap|a {{mystery}}}} {{convert|1|m}}"
    article = extract(page(f"It is {call} b {call} c."))
    assert article.left_out == ("{{mystery}}", "{{mystery}}")
    assert article.lines[3] == "It is a 1 metre (3 ft 3 in) b a 1 metre (3 ft 3 in) c."


def test_text_of_other_pages_and_modules_is_left_out_but_not_citations():
    calls = ("{{#invoke:Age|main|1}}", "{{#section::Page|part}}", "{{:Another page}}")
    assert extract(page(f"It is {' '.join(calls)} a.{{{{#invoke:cite news||title=x}}}}")).left_out == calls


def test_what_is_removed_on_purpose_is_not_left_out():
    boxes = "{{Infobox|a={{mystery|b}}}}\n{{Greek religion}}\n{|\n|{{mystery|b}}\n|}\n"
    wikitext = boxes + "Text.{{sfn|A}}\n==References==\n{{mystery|b}}"
    assert extract(page(wikitext)).left_out == ()


def test_an_expansion_stands_where_the_call_stood():
    expansions = {"{{mystery|1}}": "''[[a|b]]''<ref>c</ref> <span>d</span>"}
    article = extract(page("It is {{mystery|1}}, {{small|{{mystery|1}}}}."), expansions=expansions)
    assert article.lines[3] == "It is b d, b d."
    assert article.left_out == ()


def test_left_out_calls_are_keys_of_expansions_after_trimming():
    wikitext = "It is {{mystery|1<ref>a</ref>|<!-- b -->2}}."
    (call,) = extract(page(wikitext)).left_out
    assert extract(page(wikitext), expansions={call: "text"}).lines[3] == "It is text."


def test_an_expansion_that_is_a_table_gives_no_text():
    assert extract(page("A.\n{{mystery|1}}\nB."), expansions={"{{mystery|1}}": "{|\n|c\n|}"}).lines[3:5] == (
        "A.",
        "B.",
    )


@pytest.mark.parametrize(
    ("language", "wikitext"), [("de", "== Weblinks ==\na"), ("fr", "[[Fichier:a.jpg|vignette|b]]")]
)
def test_other_languages_have_names_of_their_own(language, wikitext):
    assert [line for line in extract(page(wikitext), language=language).lines if line] == ["= Tokyo ="]


def test_chinese_text_keeps_one_script():
    assert extract(page("-{zh-hans:计算机; zh-hant:電腦}-。"), language="zh").lines[3] == "计算机。"


def test_a_language_that_is_not_known_is_an_error_that_lists_those_known():
    with pytest.raises(BuilderError, match=r"--language tlh.*en"):
        extract(page(""), language="tlh")


def test_a_kind_of_sections_that_is_not_known_is_an_error():
    with pytest.raises(BuilderError, match=r"'neat'.*official"):
        extract(page(""), sections="neat")


def test_wikitext_over_four_mebibytes_is_rejected():
    with pytest.raises(RejectedError) as rejected:
        extract(page("a" * (4 * 2**20 + 1)))
    assert rejected.value.reason == "too-large"


def test_a_paragraph_is_never_a_heading_even_after_tokenization():
    assert not any(heading_level(line) for line in body(":= x =\n:=x=\n:==x==\n: == y =="))


def test_no_call_may_grow_without_end():
    doubled = "{{sfrac|1" * 60 + "|2}}" * 60
    assert sum(map(len, body(doubled))) < 20_000


def test_the_tests_of_extraction_name_no_path_of_a_machine():
    for path in Path(__file__).parent.glob("*.py"):
        assert "/" + "work/" not in path.read_text("utf-8")
