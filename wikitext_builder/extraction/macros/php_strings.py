"""What parser functions do with texts: comparison, numbers, padding, titles, addresses."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import quote, quote_plus

from wikitext_builder.extraction.macros.expressions import evaluate
from wikitext_builder.extraction.macros.safe_int import at_most, whole_number

SPACES = " \t\n\r\0\x0b"  # what MediaWiki strips; other spaces, such as &nbsp;, are text
NUMERIC = re.compile(r"[-+]?(?:\d{1,300}(?:\.\d{0,300})?|\.\d{1,300})(?:[eE][-+]?\d{1,3})?", re.ASCII)
NUMBER_IN_TEXT = re.compile(r"(-(?=[\d.]))?(\d+|(?=\.\d))(\.\d*)?([Ee][-+]?\d+)?", re.ASCII)
ERROR = re.compile(r"<(?:strong|span|p|div)\s[^<>]*class=[\"']?(?:[^\"'<>]{0,200}\s)?error(?![\w-])")
MAX_PARTS = 25  # of a title
WIKI_SAFE = ";@$!*(),/~:"  # MediaWiki's wfUrlencode


def trimmed(text: str) -> str:
    """A text without outer spaces, as MediaWiki trims it."""
    return text.strip(SPACES)


def error(message: str) -> str:
    """An error as MediaWiki writes it into a page, which `#iferror` sees."""
    return f'<strong class="error">{message}</strong>'


def equal(left: str, right: str) -> bool:
    """Whether two texts are equal to `#ifeq` and `#switch`, that is to PHP: as numbers if both are.

    >>> equal("01", "1.0"), equal("1e3", "1000"), equal("a", "A"), equal("&amp;", "&")
    (True, True, False, True)
    """
    left, right = trimmed(unescape(left)), trimmed(unescape(right))
    if left == right:
        return True
    return bool(NUMERIC.fullmatch(left) and NUMERIC.fullmatch(right)) and float(left) == float(right)


def expression(text: str) -> str:
    """The value of an expression as PHP writes it, or an error.

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


def formatted_number(text: str, mode: str) -> str:
    """The numbers in a text with commas between thousands, or a number without them.

    >>> formatted_number("-1234.50", ""), formatted_number("1,234", "R"), formatted_number("1234 m", "")
    ('-1,234.50', '1234', '1,234 m')
    """
    if mode == "R":
        return text.replace(",", "").replace("−", "-")
    if mode == "NOSEP":
        return text

    def grouped(match: re.Match[str]) -> str:
        sign, whole, decimals, power = (group or "" for group in match.groups())
        ends = range(len(whole) % 3 or min(3, len(whole)), len(whole) + 1, 3)
        return f"{sign}{','.join(whole[max(0, end - 3) : end] for end in ends)}{decimals}{power}"

    return NUMBER_IN_TEXT.sub(grouped, text)


def is_one(text: str) -> bool:
    """Whether `plural` takes the singular: of 1 and -1, also with commas or decimals.

    >>> is_one("1"), is_one("-1.0"), is_one("1,000"), is_one("one")
    (True, True, False, False)
    """
    return equal(formatted_number(text, "R").removeprefix("-"), "1")


def padded(text: str, width: str, padding: str) -> str:
    """What `padleft` and `padright` add to a text.

    >>> padded("7", "3", "0"), padded("abc", "7", "xy")
    ('00', 'xyxy')
    """
    missing = max(0, (at_most(500, width) or 0) - len(text))  # MediaWiki's limit
    return (padding * missing)[:missing]


def title_parts(title: str, count: str, first: str) -> str:
    """Some parts of a title, which slashes separate.

    >>> title_parts("talk/A/b", "1", "2"), title_parts("A/b/c", "-1", ""), title_parts("a/b", "", "")
    ('A', 'A/b', 'A/b')
    """
    parts = (title[:1].upper() + title[1:]).replace("_", " ").split("/", MAX_PARTS - 1)
    start, number = _integer(first), _integer(count)
    parts = parts[start - 1 if start > 0 else start or 0 :]
    return "/".join(parts[:number] if number else parts)


def _integer(text: str) -> int:
    number = whole_number(text.lstrip("-"))
    return (-number if text.startswith("-") else number) if number is not None else 0


def encoded(text: str, mode: str = "QUERY") -> str:
    """A text as part of an address: in a query, in a path, or as a title.

    >>> encoded("a b/c"), encoded("a b/c", "PATH"), encoded("a b/c", "WIKI")
    ('a+b%2Fc', 'a%20b%2Fc', 'a_b/c')
    """
    if mode == "WIKI":
        return quote(text.replace(" ", "_"), safe=WIKI_SAFE)
    return quote(text, safe="") if mode == "PATH" else quote_plus(text)
