"""Dates: what is one, in which zone, and what is not one."""

import pytest

from tests.cases import each
from wikitext_builder.errors import BuilderError
from wikitext_builder.wiki.dates import parse_date


@each("wiki", "text, moment", "dates")
def test_dates(text: str, moment: str) -> None:
    assert parse_date(text) == moment


@each("wiki", "text", "other texts are not dates")
def test_other_texts_are_not_dates(text: str) -> None:
    with pytest.raises(BuilderError, match="is not a date"):
        parse_date(text)
