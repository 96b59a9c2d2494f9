"""Hostile wikitext: it is read or rejected, in time that is linear in its length."""

import time

import pytest

from tests.cases import each
from tests.wikitext_builder.extraction.pages import has_only_visible_characters, page
from wikitext_builder.article import heading_level
from wikitext_builder.errors import RejectedError
from wikitext_builder.extraction import preprocessor
from wikitext_builder.extraction.expander import redirect_target
from wikitext_builder.extraction.macros.php import ERROR
from wikitext_builder.extraction.page import extract
from wikitext_builder.wiki.classify import classifier
from wikitext_builder.wiki.languages import LANGUAGES

LETTERS = str.maketrans("0123456789", "abcdefghij")
SECONDS = 5  # of processor time, on the slowest machine; the worst of these takes half a second


def outcome(wikitext: str) -> str:
    """What happened to a page: `read`, or the reason why not."""
    started = time.process_time()
    try:
        lines = extract(page(wikitext)).lines
    except RejectedError as rejected:
        result = rejected.reason
    else:
        assert_clean(lines)
        result = "read"
    assert time.process_time() - started < SECONDS
    return result


def assert_clean(lines):
    for line in lines:
        assert line == line.strip()
        assert has_only_visible_characters(line)
        assert line.encode("utf-8").decode("utf-8") == line


@each("extract/hostile", "piece", "openers of pages")
@pytest.mark.parametrize("shape", ["{}", "{{{{a|{}}}}}", "{}}}}}]]"])
def test_fifty_thousand_openers(piece, shape):
    many = piece * 50_000 if shape == "{}" else shape.format(piece * 10_000)
    assert outcome(many) in {"read", "malformed", "too-deep"}


@pytest.mark.parametrize(("start", "many"), [("#REDIRECT", " "), ("#R [[", "a"), ("#R [[a", "|")])
def test_what_is_almost_a_redirect_takes_no_time(start, many):
    """`import` looks at each page and template, without a limit of time."""
    text, started = start + many * 10**6 + "x", time.process_time()
    assert not classifier(LANGUAGES["en"]).is_redirect(text)
    assert redirect_target(text) is None
    assert time.process_time() - started < SECONDS


@pytest.mark.parametrize("form", ["{{x*", "{{x*}}", "[[x*]]", "[[File:x*", "{{infobox*"])
def test_parts_are_rejected_by_number_and_not_by_memory(form, monkeypatch):
    """A million of them take a second and 100 MB; four million took 14 seconds and 1 GB."""
    monkeypatch.setattr(preprocessor, "MAX_PARTS", 1_000)
    assert outcome(form.replace("*", "|" * 999)) == "read"
    assert outcome(form.replace("*", "|" * 1_001)) == "malformed"


def test_parts_of_what_gives_no_text_are_not_counted(monkeypatch):
    monkeypatch.setattr(preprocessor, "MAX_PARTS", 10)
    assert outcome("{{infobox" + "|a={{!}}" * 20 + "}}") == "read"
    assert outcome("[[File:x" + "|[[a]]" * 20 + "]]") == "read"
    assert outcome("{{nowrap" + "|a={{!}}" * 20 + "}}") == "malformed"


def nested(depth: int) -> str:
    return "{{nowrap|" * depth + "x" + "}}" * depth


def test_openers_are_rejected_as_soon_as_they_cannot_all_be_closed():
    assert outcome("{{a|" * 1_000) == "read"
    assert outcome("{{a|" * 1_001) == "malformed"
    assert outcome("{{a|" * 1_000 + nested(100)) == "read"
    assert outcome("{{a|" * 1_000 + nested(103)) in {"malformed", "too-deep"}
    started = time.process_time()
    assert outcome("{{|" * 1_300_000) == "malformed"
    assert time.process_time() - started < 1  # it took 7 seconds and 1 GB


def test_calls_may_nest_a_hundred_deep():
    assert (outcome(nested(100)), outcome(nested(103))) == ("read", "too-deep")


@each("extract/hostile", "wikitext", "monotony")
def test_long_monotony(wikitext):
    """Some of these once took minutes, or as long as the time limit of a page."""
    assert outcome(wikitext) == "read"


@pytest.mark.parametrize("attributes", ["class=thumb", "style=display:none", "class=x"])
def test_many_different_tags(attributes):
    names = ("x" + str(index).translate(LETTERS) for index in range(40_000))
    assert outcome("".join(f"<{name} {attributes}>" for name in names)) == "read"


def test_a_tag_of_many_classes_is_searched_for_an_error_in_linear_time():
    assert not ERROR.search("<span class= " + "class= " * 250_000)
    assert ERROR.search('<span id="x" class="big error">')


def test_a_line_of_equals_signs_is_no_heading_in_linear_time():
    """Of 4,000 signs it once took five seconds, and eight times as long for twice as many."""
    assert heading_level("= " * 200_000 + "x") == 0
    assert heading_level("= = = = = = a = = = = = =") == 6


def test_controls_and_surrogates_leave_the_rest():
    lines = extract(page("before \x00after \ud800 &#xD800; &#0; \x1b[31m \u202eright\u2066 end")).lines
    assert lines[3].startswith("before after")
    assert lines[3].endswith("right end")
    assert_clean(lines)
