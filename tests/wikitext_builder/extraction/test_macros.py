"""Every macro: none raises, with any arguments."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.cases import each, read
from tests.wikitext_builder.extraction.pages import page
from wikitext_builder.errors import RejectedError
from wikitext_builder.extraction.macros import Call
from wikitext_builder.extraction.macros.parser_functions import PARSER_FUNCTIONS
from wikitext_builder.extraction.macros.registry import MACROS
from wikitext_builder.extraction.markers import LeftOut
from wikitext_builder.extraction.page import extract
from wikitext_builder.extraction.preprocessor import Part
from wikitext_builder.extraction.templates import TemplateReader
from wikitext_builder.wiki.languages import LANGUAGES

# One name per function: {{lang-…}} alone has a name per language.
READER = TemplateReader(page(""), {}, LeftOut(), LANGUAGES["en"], {})
NAMES = [*{macro: name for name, macro in MACROS.items()}.values(), *PARSER_FUNCTIONS]


def call(name, arguments):
    if macro := MACROS.get(name):
        return macro(Call(name=name, arguments=arguments, page=page("")))
    values = [value for key, value in arguments.items() if key.isdecimal()]
    parts = [Part([value]) for value in values] or [Part([""])]
    try:
        return READER.function(f"{name}:{parts[0].text()}", parts)
    except RejectedError:
        return None


def failing(arguments):
    """The names that do not give a text or None."""
    return [name for name in NAMES if not isinstance(call(name, arguments), str | None)]


@each("extract/hostile", "arguments", "arguments")
def test_no_macro_raises(arguments):
    assert failing(arguments) == []


# Numbers as people and attackers write them: huge, tiny, infinite, in other scripts.
DIGITS = st.one_of(
    st.sampled_from([40, 80, 400, 4_300, 4_301, 10_000, 100_000]).map("9".__mul__),
    st.sampled_from([1, 9, 15, 40, 400, 10_000]).map(lambda count: "0" * count + "7"),
    st.integers(0, 10**6).map(str),
    st.text("0123456789", min_size=1, max_size=30),
    st.text("٠١٢٣०१²½Ⅷ߁𝟘", min_size=1, max_size=5),
)
SIGNS, BETWEEN, ENDS, WHOLE, WORDS, NAMES_OF_ARGUMENTS = (
    st.sampled_from(values)
    for values in read("extract/hostile")["numbers as people and attackers write them"].values()
)
NUMBERS = st.builds("{}{}{}{}{}".format, SIGNS, DIGITS, BETWEEN, DIGITS, ENDS) | DIGITS | WHOLE
PIECES = st.text("0123456789.,-+eE/½ abcmktfni%$²٣", max_size=12)


@settings(max_examples=60)
@given(
    st.lists(st.one_of(NUMBERS, NUMBERS, WORDS), max_size=7) | st.lists(PIECES, max_size=7),
    st.dictionaries(NAMES_OF_ARGUMENTS, st.one_of(NUMBERS, WORDS), max_size=4),
)
def test_no_macro_raises_for_any_number(values, named):
    assert failing({str(number): value for number, value in enumerate(values, 1)} | named) == []


@each("extract/hostile", "wikitext", "numbers")
def test_numbers_too_large_to_convert_are_no_error_of_ours(wikitext):
    assert extract(page(f"Before {wikitext} after."), incomplete="keep").lines[3].endswith(" after.")


CODES = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "e3", "e15", "e9e15"]),
    st.sampled_from(["", "k", "a", "E", "da"]),
    st.sampled_from(["m", "m3", "g", "W", "L", "Hz", "ft", "acre", "K", "mpgus"]),
    st.sampled_from(["", "", "/am3", "/e15Em3", "/e3ag", "/s", "/m/m", "/"]),
)


@given(st.lists(NUMBERS, min_size=1, max_size=2), CODES, CODES, st.sampled_from(["Convert", "Cvt"]))
def test_no_unit_is_too_large_or_too_small_to_compute_with(values, source, target, name):
    arguments = {str(number): value for number, value in enumerate([*values, source, target], 1)}
    assert isinstance(call(name, arguments), str | None)


def test_what_numbers_give_at_their_limits():
    for name, arguments, text in (
        ("padleft", ["a", "9" * 10_000], "0" * 499 + "a"),
        ("padleft", ["a", "501"], "0" * 499 + "a"),
        ("Spaces", ["9" * 10_000], "&nbsp;" * 20),
        ("Höhe", ["1493,5", "DE-NHN"], "1,493.5 m above sea level (NHN)"),
        ("US patent", ["1781541"], "U.S. Patent 1,781,541"),
        ("US patent", ["1" * 500], "U.S. Patent " + "1" * 500),
    ):
        assert call(name, {str(number): value for number, value in enumerate(arguments, 1)}) == text
