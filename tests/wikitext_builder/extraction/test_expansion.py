"""Calls of plain wikitext templates: MediaWiki's texts, reasons why there is none, limits."""

import sys
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import cases, each, read, wrong
from wikitext_builder.article import Page
from wikitext_builder.errors import RejectedError
from wikitext_builder.extraction import expander
from wikitext_builder.extraction.expander import Braced, Expander, Nodes, included, parse
from wikitext_builder.extraction.macros import template_name
from wikitext_builder.extraction.macros.dates import parsed_time
from wikitext_builder.extraction.macros.php import equal, expression
from wikitext_builder.extraction.page import extract

TEMPLATES = {template_name(name): text for name, text in read("expansion")["templates"].items()}
TOKYO = Page(title="Tokyo", page_id=7, revision_id=9, timestamp="2016-04-16T17:15:34Z", wikitext="")
SECONDS = 10  # of processor time, on the slowest machine; the worst of these takes two


def expand(call: str, templates: dict[str, str] = TEMPLATES, page: Page = TOKYO) -> str:
    return Expander(page, templates).expand(call)


def why_not(call: str, templates: dict[str, str] = TEMPLATES) -> str:
    """Why a call has no text; it must be known soon."""
    started = time.process_time()
    with pytest.raises(RejectedError) as error:
        expand(call, templates)
    assert time.process_time() - started < SECONDS
    return error.value.reason


def test_mediawikis_texts() -> None:
    assert wrong("expansion", "cases", "text", lambda case: expand(case["call"])) == []


def test_reasons() -> None:
    assert wrong("expansion", "failures", "reason", lambda case: why_not(case["call"])) == []


def test_dates_are_those_of_the_revision() -> None:
    for calls, text in {
        "{{CURRENTYEAR}}-{{CURRENTMONTH}}-{{CURRENTDAY2}} {{LOCALMONTHNAME}}": "2016-04-16 April",
        "{{#time:j F Y, H:i}} {{CURRENTTIME}} {{CURRENTDAYNAME}}": "16 April 2016, 17:15 17:15 Saturday",
        "{{REVISIONID}} {{PAGEID}} {{REVISIONYEAR}} {{CURRENTTIMESTAMP}}": "9 7 2016 20160416171534",
    }.items():
        assert expand(calls) == text


def test_names_and_plurals_are_known_in_english_only() -> None:
    russian = Expander(TOKYO, {}, language="ru")
    known = "{{formatnum:12345|NOSEP}} {{CURRENTYEAR}} {{#time:d.m.Y|2012-03-04}} {{#time:F|2012-03-04|en}}"
    assert russian.expand(known) == "12345 2016 04.03.2012 March"
    for name in ("SITENAME", "TALKPAGENAME", "ns:14", "plural:5|a|b", "CURRENTMONTHNAME"):
        with pytest.raises(RejectedError, match="function"):
            russian.expand(f"{{{{{name}}}}}")
    assert expand("{{SITENAME}}{{ns:0}}", {}) == "Wikipedia"


@each("expansion", "language, texts", "numbers of languages")
def test_numbers_are_those_of_the_wiki(language: str, texts: list[str]) -> None:
    numbers = ("1234", "12345", "1234567.89", "0.5", "-5")
    expander = Expander(TOKYO, {}, language=language)
    shown = [expander.expand(f"{{{{formatnum:{number}}}}}") for number in numbers]
    assert shown == texts
    assert [expander.expand(f"{{{{formatnum:{text}|R}}}}") for text in texts] == list(numbers)


def test_numbers_with_digits_of_a_language_are_unknown() -> None:
    with pytest.raises(RejectedError, match="function"):
        Expander(TOKYO, {}, language="hi").expand("{{formatnum:5}}")


@given(st.text("{}[]|=<>x \n!-/nowik", max_size=60))
def test_nothing_is_lost_when_wikitext_is_read(text: str) -> None:
    def written(nodes: Nodes) -> str:
        return "".join(braced(node) if isinstance(node, Braced) else node for node in nodes)

    def braced(node: Braced) -> str:
        closer = {"{": "}", "[": "]"}[node.opener]
        inner = "|".join(written(part.pieces) for part in node.parts)
        return node.opener * node.width + inner + closer * node.width

    assert written(parse(text)) == text


@given(st.text("ab<!->/ \nnoinclude", max_size=60))
def test_text_without_marks_is_included_as_it_is(text: str) -> None:
    if "<!--" not in text and "<noinclude" not in text:
        assert included(text) == text


@given(st.integers(-(10**9), 10**9), st.integers(1, 10**4), st.sampled_from("+-*"))
def test_arithmetic(left: int, right: int, operator: str) -> None:
    result = {"+": left + right, "-": left - right, "*": left * right}[operator]
    assert expression(f"({left}) {operator} {right}") == str(result)
    assert equal(f"{left}", f"{left}.0")


@given(st.datetimes(datetime(1000, 1, 1), datetime(2999, 12, 31), timezones=st.just(UTC)))  # noqa: DTZ001
def test_times_are_read_as_they_are_written(moment: datetime) -> None:
    moment = moment.replace(microsecond=0)
    for form in ("%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%SZ", "%d %B %Y %H:%M:%S", "%B %d, %Y %H:%M:%S"):
        assert parsed_time(moment.strftime(form), datetime(2016, 4, 16, tzinfo=UTC)) == moment


# --- bombs


def chain(last: str, link: str) -> dict[str, str]:
    """Templates of which each calls the next one lower."""
    return {"D0": last, **{f"D{n}": link.format(n - 1) for n in range(1, 40)}}


BOMB = "{{D39|xx}}", chain("{{{1}}}", "{{{{D{}|{{{{{{1}}}}}}{{{{{{1}}}}}}}}}}")
CHAINS = {
    "doubling argument": BOMB,
    "doubling call": ("{{D39}}", chain("x", "{{{{D{0}}}}}{{{{D{0}}}}}")),
    "both": ("{{D39|x}}", chain("x", "{{{{D{0}|{{{{D{0}}}}}}}}}{{{{D{0}}}}}")),
    **{one["label"]: (one["call"], one["templates"]) for one in cases("extract/hostile", "bombs")},
}


@pytest.mark.parametrize(("call", "templates"), CHAINS.values(), ids=CHAINS)
def test_bombs_end_soon(call: str, templates: dict[str, str]) -> None:
    assert why_not(call, templates) in {"limit", "error"}


@each("extract/hostile", "piece", "pieces")
def test_hostile_templates_take_linear_time(piece: str) -> None:
    started = time.process_time()
    texts, reasons = Expander(TOKYO, {"A": piece * 100_000}).expanded(["{{A}}"])
    assert len(texts) + len(reasons) == 1
    assert time.process_time() - started < SECONDS


def test_the_deepest_calls_fit_into_pythons_stack() -> None:
    """What is refused must not depend on how deep the caller is: our runners use some 50 frames."""

    def below(frames: int) -> str:
        return below(frames - 1) if frames else expand(deepest)

    deepest = "{{#if:x|" * (expander.MAX_DEPTH - 1) + "y" + "}}" * (expander.MAX_DEPTH - 1)
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)  # Python's own: torch's compiler, if imported before, doubles it
    try:
        assert below(250) == "y"
        assert expand("{{A|" * 48 + "y" + "}}" * 48, {"A": "{{{1}}}"}) == "y"
    finally:
        sys.setrecursionlimit(before)


def test_one_bomb_uses_up_the_page_and_the_order_decides() -> None:
    bomb, templates = BOMB
    calls = ["{{case one|a}}", bomb, "{{case one|b}}"]
    texts, reasons = Expander(TOKYO, TEMPLATES | templates).expanded(calls)
    assert (texts, reasons) == ({"{{case one|a}}": "[a]"}, {bomb: "limit", "{{case one|b}}": "limit"})


# --- in an article


def test_a_template_that_cannot_be_read_does_not_reject_its_page() -> None:
    """More unclosed openers than a page can have, but no more than a template."""
    templates = {"Bad": "{{x|" * 1_050, "Sea": "the sea"}
    article = extract("A {{bad|1}} b {{sea|1}}.", title="T", templates=templates, incomplete="keep")
    assert article.lines[3] == "A b."
    assert (article.reasons, article.expanded) == (("limit", "limit"), 0)


def test_parts_of_titles() -> None:
    assert (
        wrong(
            "expansion",
            "parts of titles",
            "text",
            lambda case: expand(f"{{{{#titleparts:{case['call']}}}}}", {}),
        )
        == []
    )
