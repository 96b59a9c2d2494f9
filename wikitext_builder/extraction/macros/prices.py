"""Prices: sums in the money of another year, and sums in words."""

from __future__ import annotations

from decimal import Decimal

from wikitext_builder.extraction.macros.call import Call, Macro
from wikitext_builder.extraction.macros.numbers import grouped, number, round_half_up

# Consumer prices of the United States in 1800, 1801, …, one decade per line: the table behind
# `{{Inflation|US|…}}`. Source: Federal Reserve Bank of Minneapolis, "Consumer Price Index, 1800-".
FIRST_YEAR = 1800
UNITED_STATES = """
51 50 43 45 45 45 47 44 48 47
47 50 51 58 63 55 51 48 46 46
42 40 40 36 33 34 34 34 33 32
32 32 30 29 30 31 33 34 32 32
30 31 29 28 28 28 27 28 26 25
25 25 25 25 27 28 27 28 26 27
27 27 30 37 47 46 44 42 40 40
38 36 36 36 34 33 32 32 29 28
29 29 29 28 27 27 27 27 27 27
27 27 27 27 26 25 25 25 25 25
25 25 26 27 27 27 27 28 27 27
28 28 29 29.7 30.1 30.4 32.7 38.5 45.2 52.1
60.2 53.6 50.3 51.2 51.5 52.7 53.2 52.2 51.6 51.6
50.2 45.7 41 38.9 40.2 41.2 41.7 43.2 42.3 41.8
42.1 44.2 49.1 52 52.9 54.1 58.6 67.1 72.2 71.5
72.3 78 79.8 80.4 80.7 80.5 81.7 84.4 86.7 87.6
88.9 89.8 90.9 92 93.2 94.7 97.5 100.2 104.5 110.2
116.7 121.7 125.7 133.4 148.2 161.7 171 182.1 196 218.1
247.6 273.2 290 299.3 312.2 323.2 329.4 341.4 355.4 372.5
392.6 409.3 421.7 434.1 445.4 457.9 471.3 482.4 489.8 500.6
517.5 532.1 540.5 552.8 567.6 586.9 605.8 623.1 647 644.7
655.3 676 689.9 700
"""
# The last year of the template in 2016. Its number was an estimate; sums of the official files give it:
# `$ 7 @,@ 500 ( $ 190 @,@ 473 in current dollar terms )` of 1911. The numbers of 2014 and 2015 are unknown.
LAST_YEAR, LAST_INDEX = "2016", Decimal("711.1")
INDEX = {str(year): Decimal(one) for year, one in enumerate(UNITED_STATES.split(), FIRST_YEAR)}
INDEX[LAST_YEAR] = LAST_INDEX
NAMES = {"US", "USD"}  # of this index
SIZES = (
    "", " thousand", " million", " billion", " trillion", " quadrillion", " quintillion", " sextillion",
    " septillion",
)  # fmt: skip


def year_of_prices(call: Call) -> str | None:
    """The year whose dollars `{{Inflation}}` converts to. The table changes each year; only 2016 is known."""
    known = call.get("1", "index").upper() in NAMES and call.page.timestamp.startswith(LAST_YEAR)
    return LAST_YEAR if known else None


def inflated(call: Call) -> str | None:
    """`25396` of `{{Inflation|US|1000|1911}}`: the sum of a year in dollars of the year 4, else of 2016.

    It is rounded to `r` decimals. `fmt=c` writes commas, `fmt=eq` words: `equivalent to $25,396 in 2016`.
    """
    last = call.get("4", "end_year") or year_of_prices(call) or ""
    start, end = INDEX.get(call.get("3", "start_year")), INDEX.get(last)
    value = number(call.get("2", "value"))
    if year_of_prices(call) is None or value is None or start is None or end is None:
        return None
    result = round_half_up(value * end / start, call.get("r") or "0")
    if result is None:
        return None
    amount = f"{result.normalize():f}"
    if call.get("fmt") == "eq":
        return f"equivalent to {call.get('cursign') or '$'}{grouped(amount)} in {last}"
    return grouped(amount) if call.get("fmt") == "c" else amount


def price(call: Call) -> str | None:
    """`1.23 million` of 1234567: three digits in all; below one thousand two decimals. `2` rounds before."""
    amount = number(call.get("1"))
    if amount is None or amount < 0:
        return None
    digits = call.get("2") or "2"
    if amount < 1000:
        small = round_half_up(amount, digits)
        return None if small is None else grouped(f"{small:.2f}" if int(digits) > 0 else f"{small:f}")
    amount = round_half_up(amount, str(2 - amount.adjusted())) or amount
    size = amount.adjusted() // 3
    return f"{amount.scaleb(-3 * size).normalize():f}{SIZES[size]}" if size < len(SIZES) else None


PRICES: dict[str, Macro] = {
    "Inflation": inflated,
    "Inflation-year": year_of_prices,
    **dict.fromkeys(("Formatprice", "Format price"), price),
}
