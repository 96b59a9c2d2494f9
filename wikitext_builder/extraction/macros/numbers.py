"""Numbers, fractions, percentages and money."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

from wikitext_builder.extraction.listing import listed
from wikitext_builder.extraction.macros.call import Call, Macro, around, first
from wikitext_builder.extraction.macros.safe_int import whole_number
from wikitext_builder.extraction.macros.spelling import in_words, ordinal_in_words

MAX_CHARACTERS = 1_000  # of a number: far more digits than articles have
EXPONENT = re.compile(r"[eE]([-+−]?[0-9]{1,4})$")
DIGITS = re.compile(r"-?[0-9]{1,2}")  # decimals to round to
PLAIN = re.compile(r"[-−+]?\d+(?:\.\d+)?")


def grouped(value: str) -> str:
    """A plain number with commas between thousands; any other text unchanged.

    >>> grouped("1334815"), grouped("-1234.50"), grouped("about 5")
    ('1,334,815', '−1,234.50', 'about 5')
    """
    if not PLAIN.fullmatch(value):
        return value
    sign = {"-": "−", "−": "−", "+": "+"}.get(value[0], "")
    whole, point, decimals = value.lstrip("-−+").partition(".")
    return f"{sign}{int(whole):,}{point}{decimals}" if len(whole) < 400 else value


def number(value: str) -> Decimal | None:
    """The number in a text, which may have commas; None if it has too many characters."""
    if len(value) > MAX_CHARACTERS:
        return None
    try:
        result = Decimal(value.replace(",", "").replace("−", "-").replace("&minus;", "-").strip())
    except InvalidOperation:
        return None
    return result if result.is_finite() and abs(result.adjusted()) < 30 else None


def round_half_up(value: Decimal, digits: str) -> Decimal | None:
    """A number with this many decimals, halves away from zero; None for more digits than a Decimal has.

    >>> round_half_up(Decimal("2.5"), "0"), round_half_up(Decimal(21069), "-2"), round_half_up(Decimal(1), "")
    (Decimal('3'), Decimal('2.11E+4'), None)
    """
    if not DIGITS.fullmatch(digits) or value.adjusted() + int(digits) > 26:
        return None
    return value.quantize(Decimal(1).scaleb(-int(digits)), ROUND_HALF_UP)


def fraction(call: Call) -> str | None:
    """`3⁄4` of two numbers, `43 1⁄3` of three, with a space between the tokens."""
    values = [value for value in call.positional()[:3] if value]
    if len(values) == 3:
        return f"{values[0]} {values[1]}⁄{values[2]}"
    if len(values) == 2:
        return f"{values[0]}⁄{values[1]}"
    return f"1⁄{values[0]}" if values else None


def value_with_uncertainty(call: Call) -> str | None:
    """`(1.2±0.1)×103 kg` of `{{val}}`; gaps between thousands come from the style."""
    main, inner_exponent = EXPONENT.sub("", call.get("1")), EXPONENT.search(call.get("1"))
    if number(main) is None and main:
        return None
    plain = main.replace(",", "").replace("-", "−")
    shown = grouped(main.replace(",", "")) if call.get("fmt") == "commas" else plain
    power = inner_exponent[1] if inner_exponent else call.get("e")
    if plus := call.get("2"):
        minus = call.get("3")
        apart = not minus and not plus.startswith("(")
        shown += f"+{plus}−{minus}" if minus else f"±{plus}" if apart else plus
        shown = f"({shown})" if apart and power else shown
    shown = call.get("p") + shown + call.get("end")
    if power:
        exponent = f"10{power.replace('-', '−')}"
        shown = f"{shown}×{exponent}" if main else exponent
    unit = call.get("u", "ul", "up").replace(".", "⋅")
    per = call.get("upl", "up")
    if unit and per and unit != per:
        unit = f"{unit}/{per}"
    return f"{shown}{'' if unit.startswith(('%', '°')) else ' '}{unit}".strip() + call.get("s")


def power_of_ten(call: Call) -> str | None:
    """`×106` of `{{e|6}}`: without a caret, as in the official files."""
    return f"×10{call.get('1').replace('-', '−')}"


def scientific(call: Call) -> str | None:
    """Digits in groups, as `{{gaps}}` shows them with thin gaps."""
    digits = "".join(call.positional())
    exponent = call.get("e")
    return (
        digits
        + (f"×10{exponent.replace('-', '−')}" if exponent else "")
        + (" " + call.get("u") if call.get("u") else "")
    )


def percentage(call: Call) -> str | None:
    """`33%` of a part and a whole, which is 100 if it is not given; zeros at the end only if asked for."""
    part, whole = number(call.get("1")), number(call.get("2") or "100")
    if part is None or not whole:
        return None
    result = round_half_up(part / whole * 100, call.get("3") or "0")
    if result is None:
        return None
    shown = f"{result:f}" if call.get("pad") else f"{result.normalize():f}"
    return shown.replace("-", "−") + (call.get("%") or "%")


def money(symbol: str) -> Macro:
    """`US$1,500`: the symbol and the amount."""
    return lambda call: f"{symbol}{grouped(call.get('1'))}"


def rounded(call: Call) -> str | None:
    """A number rounded to the given number of decimals."""
    value = number(call.get("1"))
    result = None if value is None else round_half_up(value, call.get("2") or "0")
    return None if result is None else grouped(f"{result:f}")


def ordinal(call: Call) -> str | None:
    """`21st`."""
    value = call.get("1")
    if not value.isdecimal():
        return None
    last = 0 if value[-2:] in {"11", "12", "13"} else int(value[-1])
    return value + {1: "st", 2: "nd", 3: "rd"}.get(last, "th")


def words_of_number(call: Call) -> str | None:
    """`twenty-one`."""
    return in_words(call.get("1")) or None


def words_of_ordinal(call: Call) -> str | None:
    """`twenty-first`."""
    value = call.get("1")
    plain = whole_number(value, digits=15) if value.isascii() else None
    return None if plain is None else ordinal_in_words(plain)


def indian_rupees(call: Call) -> str | None:
    """`₹15 crore`, without the conversion: its rate is not in the page."""
    size = {"b": " billion", "m": " million", "c": " crore", "l": " lakh", "k": "000"}.get(call.get("2"), "")
    return f"₹{grouped(call.get('1'))}{size}"


CURRENCY_SIGNS = {"USD": "US$", "GBP": "£", "EUR": "€", "AUD": "A$", "CAD": "C$", "": "$"}


def currency(call: Call) -> str | None:
    """`£1,500` of an amount and the code of a currency."""
    code = call.get("2")
    return CURRENCY_SIGNS.get(code, f"{code} ") + grouped(call.get("1"))


NUMBERS: dict[str, Macro] = {
    **dict.fromkeys(listed("Frac; Fraction; Sfrac; Fract; Ifrac; Dfrac; Tfrac"), fraction),
    "Frac2-": fraction,
    "Val": value_with_uncertainty,
    **dict.fromkeys(listed("E; Esp; Exp10"), power_of_ten),
    "Gaps": scientific,
    **dict.fromkeys(
        listed(
            """
Nts; Formatnum; Format number; Number table sorting; Nts2; Digits; Commas; Comma; Formatnum:
"""
        ),
        lambda call: grouped(call.get("1")),
    ),
    "Percentage": percentage,
    "Percent": percentage,
    "Pct": percentage,
    "Round": rounded,
    "Rnd": rounded,
    "Decimals": rounded,
    **dict.fromkeys(listed("Number to word; Numtext; Spellnum; Spell number"), words_of_number),
    "Ordinal to word": words_of_ordinal,
    "Ordinal": ordinal,
    "Ord": ordinal,
    **dict.fromkeys(listed("US$; USD; US dollar; US dollars; USdol"), money("US$")),
    **dict.fromkeys(listed("A$; AUD; AU$"), money("A$")),
    **dict.fromkeys(listed("C$; CAD; CA$; CAN$"), money("C$")),
    **dict.fromkeys(listed("NZ$; NZD"), money("NZ$")),
    "HK$": money("HK$"),
    "HKD": money("HK$"),
    **dict.fromkeys(listed("£; GBP; Pound sterling; Pound; Gbp"), money("£")),
    **dict.fromkeys(listed("€; EUR; Euro; Eur"), money("€")),
    **dict.fromkeys(listed("¥; JPY; Yen"), money("¥")),
    "CNY": money("CN¥"),
    "₹": money("₹"),
    "INR": money("₹"),
    "Indian Rupee": money("₹"),
    "Indian rupee": money("₹"),
    "Rs": money("₹"),
    "INRConvert": indian_rupees,
    "PHP": money("₱"),
    "Philippine peso": money("₱"),
    "KRW": money("₩"),
    "₩": money("₩"),
    "RUB": money("₽"),
    "₽": money("₽"),
    "₪": money("₪"),
    "ILS": money("₪"),
    "Swiss franc": money("CHF "),
    "CHF": money("CHF "),
    **dict.fromkeys(listed("Indian Rupee symbol; Indian rupee symbol; Indian rupees"), money("₹")),
    **dict.fromkeys(listed("₱; Peso; Php; Philippine pesos"), money("₱")),
    **dict.fromkeys(listed("SGD; S$"), money("S$")),
    **dict.fromkeys(listed("BRL; R$; Brazilian real"), money("R$")),
    **dict.fromkeys(listed("BDT; ৳"), money("৳")),
    **dict.fromkeys(listed("NIS; Shekel; Sheqel"), money("₪")),
    **dict.fromkeys(listed("Ruble; Russian ruble"), money("₽")),
    **dict.fromkeys(listed("SK won; South Korean won"), money("₩")),
    **dict.fromkeys(listed("₺; Turkish lira"), money("₺")),
    **dict.fromkeys(listed("₦; Naira"), money("₦")),
    **dict.fromkeys(listed("₴; Hryvnia"), money("₴")),
    "Currency": currency,
    "Formatnum-": first,
    "Roman-": first,
    "£sd": lambda call: _pounds(call),
    "1/2": lambda _call: "1⁄2",
    "1/4": lambda _call: "1⁄4",
    "3/4": lambda _call: "3⁄4",
    "°C": around("", " °C"),
    "°F": around("", " °F"),
}


def _pounds(call: Call) -> str | None:
    """`£1 2s 3d`."""
    pounds, shillings, pence = (
        call.get(name, number) for name, number in (("l", "1"), ("s", "2"), ("d", "3"))
    )
    pieces = [
        f"£{pounds}" if pounds else "",
        f"{shillings}s" if shillings else "",
        f"{pence}d" if pence else "",
    ]
    return " ".join(piece for piece in pieces if piece)
