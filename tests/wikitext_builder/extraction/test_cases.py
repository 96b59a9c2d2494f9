"""Snippets of wikitext and the lines that a reader sees, each with its source."""

import pytest

from tests.wikitext_builder.extraction.pages import body, cases

ALL = [(family, case) for family in ("markup", "templates", "conversions") for case in cases(family)]


@pytest.mark.parametrize(("family", "case"), ALL, ids=[f"{family}: {case['label']}" for family, case in ALL])
def test_a_case_gives_its_lines(family, case):
    assert body(case["wikitext"]) == case["lines"]
