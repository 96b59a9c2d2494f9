"""The style of a conversion: the named arguments of `{{convert}}`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from wikitext_builder.extraction.macros.bounded import whole_number
from wikitext_builder.extraction.macros.call import Call
from wikitext_builder.extraction.macros.convert.measures import Measure
from wikitext_builder.extraction.macros.convert.units import Unit

ABBREVIATED = frozenset(["Cvt", "Convert abbreviated"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How to show a conversion."""

    abbreviation: str  # in, out, on or off: whose unit is a symbol
    explicit: str  # the abbreviation in the call, empty without one
    adjective: bool
    middle: str
    display: str
    flipped: bool
    american: bool
    precision: int | None
    significant: int | None
    multiple_of: int  # 5 or 25: round to a multiple
    denominator: int  # of the fractions that the output is rounded to; 0 for decimals
    custom: tuple[str, str]  # the text before and after the output if display is x
    spelled: str  # in, on, In, On: values in words; the outputs only with `on`

    def by_name(self, measure: Unit, side: str) -> bool:
        """True if the unit is shown by its name, not by its symbol."""
        if measure.named:
            return True
        if not self.explicit and self.display in {"or", "br", "slash", "s", "/"} and not measure.symbolic:
            return True
        if not self.explicit and measure.symbolic:
            return False
        return self.abbreviation not in {"on", side}


def parse_style(call: Call, measure: Measure) -> Style | None:
    """The style of one call; None if this package does not support it."""
    precision = next(
        (int(value) for value in measure.rest[:2] if re.fullmatch(r"[-−]?\d", value.replace("−", "-"))), None
    )
    if all(name.isdecimal() for name in call.arguments):  # the most frequent case
        return _plain_style(abbreviated=call.name in ABBREVIATED, precision=precision)
    abbreviation = {"unit": "on", "none": "off", "no": "off", "values": "off"}.get(
        call.get("abbr"), call.get("abbr")
    )
    display, adjective = call.get("disp"), call.get("adj")
    display = {
        "out": "output only",
        "output": "output only",
        "number": "output number only",
        "num": "output number only",
        "sqbr-sp": "sqbr",
    }.get(display, display)
    if display in {"unit", "preunit"} or (call.get("frac") and not call.get("frac").isdecimal()):
        return None  # rare
    abbreviation = abbreviation if abbreviation in {"on", "off", "in", "out"} else ""
    if call.name in ABBREVIATED and not abbreviation:
        abbreviation = "on"
    flipped = "flip" in (display, call.get("order"), adjective)
    middle = (
        next((value for value in measure.rest[1:] if not re.fullmatch(r"[-−]?\d", value)), "")
        if adjective == "mid"
        else ""
    )
    significant = whole_number(call.get("sigfig"), digits=2)
    round_to = call.get("round")
    return Style(
        abbreviation=abbreviation or ("in" if flipped else "out"),
        explicit=abbreviation,
        adjective=adjective in {"on", "mid", "flip"} or (call.get("sing") in {"on", "yes"} and not adjective),
        middle=middle if middle.startswith("-") or not middle else f" {middle}",
        display=display,
        flipped=flipped,
        american=call.get("sp").lower() == "us",
        precision=precision,
        significant=significant if significant and significant < 15 else None,
        denominator=min(whole_number(call.get("frac"), digits=4) or 0, 1_000),
        custom=_custom(call) if display == "x" else ("", ""),
        spelled=call.get("spell") if call.get("spell").lower() in {"in", "on"} else "",
        multiple_of=int(round_to) if round_to in {"5", "25"} else 5 if display == "5" else 0,
    )


@lru_cache(maxsize=64)
def _plain_style(*, abbreviated: bool, precision: int | None) -> Style:
    """The style of a call without named arguments."""
    return Style(
        abbreviation="on" if abbreviated else "out",
        explicit="on" if abbreviated else "",
        adjective=False,
        middle="",
        display="",
        flipped=False,
        american=False,
        precision=precision,
        significant=None,
        denominator=0,
        custom=("", ""),
        spelled="",
        multiple_of=0,
    )


def _custom(call: Call) -> tuple[str, str]:
    """The last two numbered arguments with their spaces: `disp=x| (about |)`. One alone is the first."""
    values = [call.arguments[str(number)] for number in range(1, len(call.positional()) + 1)]
    return (values[-2], values[-1]) if len(values) > 4 else (values[-1], "")
