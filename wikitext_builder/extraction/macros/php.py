"""What MediaWiki and PHP do with numbers and texts: `#expr`, comparison, padding, titles, addresses, times.

Whole numbers from arguments are bounded, because Python converts 4,300 digits at most, and dates fewer.
"""

from __future__ import annotations

import math
import operator
import re
from calendar import isleap, monthrange
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from html import unescape
from typing import NamedTuple

from wikitext_builder.errors import RejectedError
from wikitext_builder.extraction.macros import lookup, read_table

TOKEN = re.compile(r"\s*(\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+|<=|>=|!=|<>|[-+*/^()<>=]|[a-z]+)")
MAX_LENGTH = 500


def _rounded(value: float, decimals: int) -> float:
    """Round to this number of decimals, halves away from zero; more than 15 decimals change nothing."""
    if decimals > 15 or decimals < -300:
        return value if decimals > 0 else 0.0
    factor = 10.0**decimals
    return math.copysign(math.floor(abs(value) * factor + 0.5) / factor, value)


# Operator: (precedence, function). From MediaWiki's ParserFunctions, ExprParser.
OPERATORS: dict[str, tuple[int, Callable[[float, float], float]]] = {
    "or": (2, lambda a, b: float(bool(a) or bool(b))),
    "and": (3, lambda a, b: float(bool(a) and bool(b))),
    "=": (4, lambda a, b: float(a == b)),
    "!=": (4, lambda a, b: float(a != b)),
    "<>": (4, lambda a, b: float(a != b)),
    "<": (4, lambda a, b: float(a < b)),
    ">": (4, lambda a, b: float(a > b)),
    "<=": (4, lambda a, b: float(a <= b)),
    ">=": (4, lambda a, b: float(a >= b)),
    "round": (5, lambda a, b: _rounded(a, int(b))),
    "+": (6, operator.add),
    "-": (6, operator.sub),
    "*": (7, operator.mul),
    "/": (7, operator.truediv),
    "div": (7, operator.truediv),
    "fmod": (7, math.fmod),
    "mod": (7, lambda a, b: math.fmod(int(a), int(b))),
    "^": (8, operator.pow),
}
FUNCTIONS: dict[str, Callable[[float], float]] = {
    "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc, "abs": abs, "sqrt": math.sqrt,
    "not": lambda a: float(not a), "ln": math.log, "exp": math.exp, "sin": math.sin, "cos": math.cos,
    "tan": math.tan, "asin": math.asin, "acos": math.acos, "atan": math.atan,
}  # fmt: skip
CONSTANTS = {"pi": math.pi, "e": math.e}


def evaluate(text: str) -> float | None:
    """Return the value of an expression, None if it is not one.

    >>> evaluate("2 + 3 * (4 - 1)"), evaluate("7 / 2 round 0"), evaluate("one"), evaluate("1/0")
    (11.0, 4.0, None, None)
    """
    text = text.replace("−", "-").replace("&minus;", "-").lower()
    tokens = TOKEN.findall(text) if len(text) <= MAX_LENGTH else []
    if not tokens or "".join(tokens) != "".join(text.split()):
        return None
    try:
        value, rest = _operation(tokens, 0, 0)
    except (ValueError, ArithmeticError, IndexError, TypeError, RecursionError):
        return None  # MediaWiki also shows an error for it
    return value if rest == len(tokens) and isinstance(value, float) and math.isfinite(value) else None


def _operation(tokens: list[str], position: int, strength: int) -> tuple[float, int]:
    value, position = _operand(tokens, position)
    while position < len(tokens) and tokens[position] in OPERATORS:
        binding, function = OPERATORS[tokens[position]]
        if binding <= strength:
            break
        other, position = _operation(tokens, position + 1, binding)
        value = float(function(value, other))
    return value, position


def _operand(tokens: list[str], position: int) -> tuple[float, int]:
    word = tokens[position]
    if word in {"-", "+"}:
        value, after = _operand(tokens, position + 1)
        return (-value if word == "-" else value), after
    if word == "(":
        value, after = _operation(tokens, position + 1, 0)
        if tokens[after] != ")":
            raise ValueError(f"expected a closing bracket, found {tokens[after]!r}")
        return value, after + 1
    if word in FUNCTIONS:
        value, after = _operand(tokens, position + 1)
        return float(FUNCTIONS[word](value)), after
    if word in CONSTANTS:
        return CONSTANTS[word], position + 1
    return float(word), position + 1


MAX_DIGITS = 9  # of a number that something is computed from: it fits into 32 bits


def whole_number(text: str, *, digits: int = MAX_DIGITS) -> int | None:
    """Return the whole number of a text of decimal digits; None if it has more digits, or other characters.

    >>> whole_number("2016"), whole_number("10000", digits=4), whole_number("²"), whole_number("")
    (2016, None, None, None)
    """
    return int(text) if len(text) <= digits and text.isdecimal() else None


def at_most(limit: int, text: str) -> int | None:
    """Return the whole number that a text of decimal digits stands for, or the limit if it is larger.

    >>> at_most(20, "3"), at_most(20, "9" * 10_000), at_most(20, "many")
    (3, 20, None)
    """
    if not text.isdecimal():
        return None
    number = whole_number(text)
    return limit if number is None else min(number, limit)


SPACES = " \t\n\r\0\x0b"  # what MediaWiki strips; other spaces, such as &nbsp;, are text
NUMERIC = re.compile(r"[-+]?(?:\d{1,300}(?:\.\d{0,300})?|\.\d{1,300})(?:[eE][-+]?\d{1,3})?", re.ASCII)
NUMBER_IN_TEXT = re.compile(r"(-(?=[\d.]))?(\d+|(?=\.\d))(\.\d*)?([Ee][-+]?\d+)?", re.ASCII)
ERROR = re.compile(r"<(?:strong|span|p|div)\s[^<>]*class=[\"']?(?:[^\"'<>]{0,200}\s)?error(?![\w-])")


def trimmed(text: str) -> str:
    """Return a text without outer spaces, as MediaWiki trims it."""
    return text.strip(SPACES)


def error(message: str) -> str:
    """Return an error as MediaWiki writes it into a page, which `#iferror` sees."""
    return f'<strong class="error">{message}</strong>'


def equal(left: str, right: str) -> bool:
    """Return True if two texts are equal to `#ifeq` and `#switch`, that is to PHP: as numbers if both are.

    >>> equal("01", "1.0"), equal("1e3", "1000"), equal("a", "A"), equal("&amp;", "&")
    (True, True, False, True)
    """
    left, right = trimmed(unescape(left)), trimmed(unescape(right))
    if left == right:
        return True
    return bool(NUMERIC.fullmatch(left) and NUMERIC.fullmatch(right)) and float(left) == float(right)


def expression(text: str) -> str:
    """Return the value of an expression as PHP writes it, or an error.

    >>> expression("1/3"), expression("10^15"), expression("2 > 1"), expression("")
    ('0.33333333333333', '1.0E+15', '1', '')
    """
    if not trimmed(text):
        return ""
    value = evaluate(text.replace("&lt;", "<").replace("&gt;", ">"))
    if value is None:
        return error("Expression error")
    mantissa, exponent, power = f"{value:.14G}".partition("E")
    if not exponent:
        return mantissa
    return f"{mantissa}{'' if '.' in mantissa else '.0'}E{power[0]}{power[1:].lstrip('0')}"


def thousands(digits: str, separator: str = ",", group: int = 3) -> str:
    """Return digits in groups: the last of three, those before it also, or of another length.

    >>> thousands("0012345"), thousands("12"), thousands(""), thousands("1234567", group=2)
    ('0,012,345', '12', '', '12,34,567')
    """
    starts = range(len(digits) - 3, -group, -group)
    groups = [digits[max(start, 0) : start + group] for start in starts[1:]]
    return separator.join([*reversed(groups), digits[-3:]])


class Separators(NamedTuple):
    """How a wiki writes numbers, as the head of `data/separators.tsv` says."""

    thousands: str
    decimal: str
    least: int
    group: int


ENGLISH = Separators(",", ".", 4, 3)


@cache
def separators() -> dict[str, Separators]:
    """How each Wikipedia writes numbers, by its code; those with digits of their own are absent."""
    rows = read_table("separators")
    styles = [Separators(row[0].replace("␣", "\xa0"), row[1], int(row[2]), int(row[3])) for row in rows]
    return {code: style for row, style in zip(rows, styles, strict=True) for code in row[4].split()}


def formatted_number(text: str, mode: str, style: Separators = ENGLISH) -> str:
    """Return the numbers in a text with marks between thousands, or a number without them.

    >>> formatted_number("-1234.50", ""), formatted_number("1,234", "R"), formatted_number("1234 m", "")
    ('-1,234.50', '1234', '1,234 m')
    >>> german = separators()["de"]
    >>> formatted_number("12345.6", "", german), formatted_number("1.234,5", "R", german)
    ('12.345,6', '1234.5')
    """
    if mode == "R":
        return text.replace(style.thousands, "").replace(style.decimal, ".").replace("−", "-")
    if mode == "NOSEP":
        return text

    def grouped(match: re.Match[str]) -> str:
        sign, whole, decimals, power = (group or "" for group in match.groups())
        sign = sign if style is ENGLISH else sign.replace("-", "−")
        if len(whole) >= style.least:
            whole = thousands(whole, style.thousands, style.group)
        return f"{sign}{whole}{decimals.replace('.', style.decimal)}{power}"

    return NUMBER_IN_TEXT.sub(grouped, text)


ENGLISH_FORMATS = "FMlD"  # they give names, which other languages write differently
UNKNOWN_FORMATS = "creIOPTZo"  # time zones and the like; other letters stand for themselves
NOT_ENGLISH = UNKNOWN_FORMATS + ENGLISH_FORMATS
PIECE = re.compile(r"\"([^\"]*)\"|\\(.)|(x.?.?)|([A-Za-z])|(.)", re.DOTALL)
LETTERS = lookup("time letter")  # of #time: what str.format writes for a moment t


def revision_time(timestamp: str) -> datetime:
    """Return the time of a revision; the current time for wikitext without one."""
    return datetime.fromisoformat(timestamp) if timestamp else datetime.now(UTC)


def formatted_time(pattern: str, moment: datetime, language: str = "en") -> str:
    r"""Return a time in the letters of `#time`; reject unknown letters, and names in other languages.

    >>> formatted_time('j F Y, H:i "UTC" \\a', datetime(2016, 8, 3, 9, 5, tzinfo=UTC))
    '3 August 2016, 09:05 UTC a'
    """
    pieces = []
    yearday = moment.timetuple().tm_yday - 1
    for quoted, escaped, extended, letter, other in PIECE.findall(pattern):
        if extended or (letter and letter in (UNKNOWN_FORMATS if language == "en" else NOT_ENGLISH)):
            raise RejectedError("function", f"#time with {extended or letter}")
        rest = {
            "U": int(moment.timestamp()),
            "z": yearday,
            "t": monthrange(moment.year, moment.month)[1],
            "L": int(isleap(moment.year)),
        }
        written = LETTERS[letter].format(t=moment) if letter in LETTERS else str(rest.get(letter, letter))
        written = written.lower() if letter == "a" else written
        pieces.append(written or quoted or escaped or other)
    return "".join(pieces)
