"""Dates: what is one, in which zone, and what is not one."""

import pytest

from wikitext_builder.errors import BuilderError
from wikitext_builder.wiki.dates import parse_date


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2016-08-31", "2016-08-31T23:59:59Z"),
        ("2016-02-29", "2016-02-29T23:59:59Z"),
        ("2016-08-31T12:00:00", "2016-08-31T12:00:00Z"),
        ("2016-08-31T12:00:00Z", "2016-08-31T12:00:00Z"),
        ("2016-08-31T00:30:00+02:00", "2016-08-30T22:30:00Z"),
        ("2016-08-31 12:00", "2016-08-31T12:00:00Z"),
    ],
)
def test_dates(text: str, moment: str) -> None:
    assert parse_date(text) == moment


NO_DATES = [
    "", "now", "2016", "2016-13-01", "2015-02-29", "31.08.2016", "2016-08-31T25:00:00", "٢٠١٦-08-31",
    "0001-01-01T00:00:00+10:00", "20160831", "2016-W35-3",
]  # fmt: skip


@pytest.mark.parametrize("text", NO_DATES)
def test_other_texts_are_not_dates(text: str) -> None:
    with pytest.raises(BuilderError, match="is not a date"):
        parse_date(text)
