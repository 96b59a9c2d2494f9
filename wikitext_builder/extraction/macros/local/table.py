"""LocalTemplates: the templates of one Wikipedia; and the macros that several Wikipedias need."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from wikitext_builder.extraction.listing import listed
from wikitext_builder.extraction.macros.call import Call, Macro

PLAIN = re.compile(r"(?P<sign>[-−]?)(?P<whole>\d+)(?:[.,](?P<decimals>\d+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalTemplates:
    """The templates of one Wikipedia: macros by name, and a pattern of the names of removed templates."""

    macros: Mapping[str, Macro] = field(default_factory=dict)
    removed: re.Pattern[str] = re.compile("(?!)")  # matches nothing


NO_TEMPLATES = LocalTemplates()


def removed(names: str) -> re.Pattern[str]:
    """The pattern of a list of names; an asterisk stands for any characters.

    >>> pattern = removed("Ficha de*; Referencias")
    >>> [pattern.fullmatch(name) is not None for name in ("Ficha de ciudad", "Referencias", "Referencias2")]
    [True, True, False]
    """
    patterns = [re.escape(name).replace(r"\*", ".*") for name in listed(names)]
    return re.compile("|".join(patterns), re.DOTALL)


def named(names: str) -> dict[str, str]:
    """The names of languages by code: `en=anglais; de=allemand`."""
    return dict(pair.split("=") for pair in listed(names))


def languages(names: Mapping[str, str], pattern: str, *, template: str = "Lang-{code}") -> dict[str, Macro]:
    """One macro per language: its name and the text, combined by the pattern."""
    return {
        template.format(code=code)[:1].upper() + template.format(code=code)[1:]: _labelled(name, pattern)
        for code, name in names.items()
    }


def _labelled(name: str, pattern: str) -> Macro:
    def macro(call: Call) -> str | None:
        value = call.get("1", "text", "texte")
        return pattern.format(name=name, text=value) if value else None

    return macro


def by_code(names: Mapping[str, str], pattern: str) -> Macro:
    """The macro of a template whose first argument is the code of the language."""

    def macro(call: Call) -> str | None:
        name, value = names.get(call.get("1")), call.get("2")
        return pattern.format(name=name, text=value) if name and value else value or None

    return macro


def grouped(value: str, *, group: str, point: str, least: int = 4) -> str:
    """A number with separators between thousands, from `least` digits on, and before decimals.

    >>> grouped("1234567.5", group=".", point=","), grouped("1234", group=" ", point=",", least=5)
    ('1.234.567,5', '1234')
    """
    match = PLAIN.fullmatch(value.replace(" ", ""))
    if match is None or len(match["whole"]) > 60:
        return value
    whole = match["whole"]
    shown = f"{int(whole):,}".replace(",", group) if len(whole) >= least else whole
    decimals = point + match["decimals"] if match["decimals"] else ""
    return match["sign"].replace("-", "−") + shown + decimals


def quantity(*, group: str, point: str, least: int = 4) -> Macro:
    """`10 000 km2`: a number, then units, each with an optional exponent."""

    def macro(call: Call) -> str | None:
        value, *units = call.positional() or [""]
        if not value:
            return None
        shown = grouped(value, group=group, point=point, least=least)
        pieces = []
        for unit, power in zip(units[::2], [*units[1::2], ""], strict=False):
            if unit:
                pieces.append(unit + ("" if power in {"", "1"} else power.replace("-", "−")))
        if exponent := call.get("e"):
            shown += f" × 10{exponent.replace('-', '−')}"
        return " ".join([shown, "⋅".join(pieces)]).strip()

    return macro


def quoted(opening: str, closing: str, *names: str) -> Macro:
    """A text between quotation marks."""

    def macro(call: Call) -> str | None:
        value = call.get(*(names or ("1", "texte", "text", "Text")))
        return f"{opening}{value}{closing}" if value else None

    return macro


def paragraph(*names: str) -> Macro:
    """A quotation in a block of its own."""

    def macro(call: Call) -> str | None:
        value = call.get(*(names or ("1", "text")))
        return f"\n\n{value}\n\n" if value else None

    return macro


def dated(months: tuple[str, ...], pattern: str, *, first_day: str = "") -> Macro:
    """A date of day, month (a number or a name) and year, combined by the pattern."""

    def macro(call: Call) -> str | None:
        day, month, year = (call.get(str(number)) for number in range(1, 4))
        if re.fullmatch(r"[0-9]{1,2}", month) and 1 <= int(month) <= 12:
            month = months[int(month) - 1]
        if re.fullmatch(r"0?[0-9]{1,2}", day):
            day = first_day if day.lstrip("0") == "1" and first_day else day.lstrip("0")
        return " ".join(pattern.format(day=day, month=month, year=year).split()) or None

    return macro
