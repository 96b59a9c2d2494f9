"""Every macro: none raises, with any arguments; and each name is registered in its normal form."""

from collections import Counter
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.wikitext_builder.extraction.pages import page
from wikitext_builder.extraction import macros
from wikitext_builder.extraction.macros import MACROS, PARSER_FUNCTIONS
from wikitext_builder.extraction.macros.call import Call
from wikitext_builder.extraction.macros.spelling import in_words, ordinal_in_words
from wikitext_builder.extraction.names import template_name

LONG = "9" * 400
HOSTILE = [
    {},
    {"1": ""},
    {str(number): "" for number in range(1, 9)},
    {str(number): LONG for number in range(1, 9)},
    {str(number): "-" + LONG for number in range(1, 9)},
    {str(number): "²" for number in range(1, 9)},
    {str(number): "٣" for number in range(1, 9)},
    {"1": "1", "2": "m", "3": LONG},
    {"1": "1e99", "2": "m"},
    {"1": "1", "2": "30"},
    {"1": "1", "2": "m", "sigfig": "²", "frac": "٣", "round": "25"},
    {"1": "1", "2": "0", "3": "0", "4": "0", "5": "0", "6": "0", "7": "0"},
    {"1": "2016", "2": "2", "3": "31", "4": "9999", "5": "12", "6": "31"},
    {"m": LONG, "cm": LONG, "ft": LONG, "in": LONG, "e": LONG, "u": "m", "w": "1", "l": LONG},
]
NAMES = [*MACROS, *PARSER_FUNCTIONS]


def call(name, arguments):
    macro = MACROS.get(name) or PARSER_FUNCTIONS[name]
    return macro(Call(name=name, arguments=arguments, page=page("")))


@pytest.mark.parametrize("arguments", HOSTILE, ids=range(len(HOSTILE)))
def test_no_macro_raises(arguments):
    for name in NAMES:
        assert isinstance(call(name, arguments), str | None), name


@settings(max_examples=150, deadline=None)
@given(st.lists(st.text("0123456789.,-+eE/½ abcmktfni%$²٣", max_size=12), max_size=7))
def test_no_macro_raises_for_any_arguments(values):
    arguments = {str(number): value for number, value in enumerate(values, 1)}
    for name in NAMES:
        assert isinstance(call(name, arguments), str | None), name


def test_no_template_is_in_two_families():
    """The later one would win silently: lists in columns were once lost this way."""
    families = [
        family
        for name, family in vars(macros).items()
        if name.isupper() and name not in {"MACROS", "PARSER_FUNCTIONS"}
    ]
    assert len(families) > 15
    assert [name for name, count in Counter(chain.from_iterable(families)).items() if count > 1] == []


def test_names_are_as_the_reader_asks_for_them():
    assert [name for name in MACROS if template_name(name) != name] == []


@given(st.integers(0, 10**15 - 1))
def test_numbers_in_words_are_words(number):
    words = in_words(str(number))
    assert not any(char.isdigit() for char in words)
    assert "  " not in words
    assert ordinal_in_words(number % 1000)[-2:] in {"st", "nd", "rd", "th"}
