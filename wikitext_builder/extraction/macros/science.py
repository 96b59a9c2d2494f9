"""Chemistry, mathematics, physics, biology, music and geology."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal

from wikitext_builder.extraction.macros import lookup
from wikitext_builder.extraction.macros.call import Call, macro
from wikitext_builder.extraction.markers import formula

ELEMENTS = lookup("element")
PARTICLES = lookup("particle")
MUSIC = lookup("music")
STARTS = lookup("geology")
CHARGE = re.compile(r"\(?([0-9]*)-\)?")
# In one text, as in {{chem2|SO4(2-)}}: a charge in parentheses or at the end of a formula, arrows, isotopes.
CHARGE_IN_PARENTHESES = re.compile(r"\(([0-9]*[-+−])\)")
CHARGE_AT_END = re.compile(r"(?<=[\w)\]])-(?=$|[ ,;])")
REACTIONS = {"<=>": "⇌", "<->": "↔", "->": "→", "<-": "←", "*": "·", "\\s": "–", "\\d": "=", "\\t": "≡"}
ISOTOPES = str.maketrans("", "", "^_{}")
SAME = {"early": "lower", "mid": "middle", "late": "upper"}
NUMBER = re.compile(r"\d{1,6}(?:\.\d{1,6})?")


@macro("Chem", shared=True)
def chemical(call: Call) -> str | None:
    """`SO42−` of `{{chem|SO|4|2-}}`: without spaces, as in the official files; a charge has a minus sign."""
    values = [CHARGE.sub(r"\1−", value) if CHARGE.fullmatch(value) else value for value in call.positional()]
    return "".join(values) or None


@macro("Chem2", shared=True)
def chemical_text(call: Call) -> str | None:
    """`SO42−` of `{{chem2|SO4(2-)}}`."""
    values = call.positional()
    if len(values) > 1:
        return chemical(call)
    shown = CHARGE_AT_END.sub("−", CHARGE_IN_PARENTHESES.sub(r"\1", "".join(values)))
    for mark, sign in REACTIONS.items():
        shown = shown.replace(mark, sign)
    return shown.translate(ISOTOPES) or None


@macro("Chemical formula", shared=True)
def chemical_formula(call: Call) -> str | None:
    """`C2H6O` of counts named by element, or of alternating symbols and counts."""
    counts = {key: value for key, value in call.arguments.items() if not key.isdecimal()}
    shown = "".join(f"{key}{'' if value == '1' else value}" for key, value in counts.items())
    return shown or chemical(call)


@macro("Nuclide", "SimpleNuclide", "ComplexNuclide", shared=True)
def nuclide(call: Call) -> str | None:
    """`14C` of an element and a mass number."""
    values = call.positional()
    if len(values) < 2:
        return values[0] if values else None
    name, mass = (values[0], values[1]) if not values[0].isdecimal() else (values[1], values[0])
    return f"{mass}{ELEMENTS.get(name.lower(), name)}"


# With an argument, the name of the template is a colour.
@macro(*map(str.capitalize, ELEMENTS), shared=True)
def element(call: Call) -> str | None:
    """The symbol of an element by the name of the template, or the argument."""
    return call.get("1") or ELEMENTS[call.name.lower()]


@macro("Math", "Bigmath", "Bmath", shared=True)
def mathematics(call: Call) -> str | None:
    """The expression in text; a formula if it is LaTeX."""
    value = call.get("1")
    return formula(value) if "\\" in value else value


@macro("Overunderset", "Underoverset", shared=True)
def above_and_below(call: Call) -> str | None:
    """What stands above, in and below a line; the second template has the order reversed."""
    order = "213" if call.name == "Overunderset" else "312"
    return " ".join(call.get(number) for number in order if call.get(number))


@macro("Subatomic particle", shared=True)
def particle(call: Call) -> str | None:
    """The symbol of a common particle."""
    return PARTICLES.get(call.get("1").lower())


@macro("Music")
def music_symbol(call: Call) -> str | None:
    """`♭` and other symbols in sentences."""
    values = call.positional()
    shown = [MUSIC.get(value.lower(), value) for value in values]
    if values and values[0].lower() in {"chord", "scale"}:
        return "".join(shown[1:])
    if values and values[0].lower() == "time" and len(values) > 2:
        return f"{values[1]}/{values[2]}"
    return "".join(shown)


@macro("Mp", "Mpl-", "Minor planet", shared=True)
def minor_planet(call: Call) -> str | None:
    """`2004 MN4`, and `(15760) 1992 QB1` with a number; from the documentation of {{mp}}."""
    values = call.given()
    number = f"({values.pop(0)}) " if len(values) > 1 and values[0].isdecimal() else ""
    return number + "".join(values) or None


@macro("Math theorem", "Math proof")
def theorem(call: Call) -> str | None:
    """`Theorem (Name). The statement.`, a paragraph of its own."""
    kind = call.get("title") or ("Proof" if call.name.endswith("proof") else "Theorem")
    name, statement = call.get("name"), call.get("math_statement", "proof", "1")
    return f"\n\n{name or kind}. {statement}\n\n" if statement else None


@macro("Fossil range")
def fossil_range(call: Call) -> str | None:
    """`100–66 Ma`."""
    span = "–".join(filter(None, call.positional()[:2]))
    return f"{span} Ma" if span else None


@macro("RA", "DEC", shared=True)
def sky_position(call: Call) -> str | None:
    """Hours, minutes and seconds of a right ascension; degrees of a declination."""
    marks = "hms" if call.name == "RA" else "°′″"
    pairs = zip(call.positional(), marks, strict=False)
    return " ".join(f"{value}{mark}" for value, mark in pairs if value)


def age_of(name: str, places: str) -> str | None:
    """Millions of years of a number or a period, rounded to decimal places if these are given."""
    first, space, rest = name.lower().partition(" ")
    value = name if NUMBER.fullmatch(name) else STARTS.get(SAME.get(first, first) + space + rest)
    if value is None or not places:
        return value
    if not re.fullmatch(r"-?\d", places):
        return None
    step = Decimal(1).scaleb(-int(places))
    rounded = (Decimal(value) / step).quantize(Decimal(1), rounding=ROUND_HALF_UP) * step
    return f"{rounded.normalize():f}"


@macro("Ma")
def millions_of_years(call: Call) -> str | None:
    """`66 million years ago`, `100 to 66 million years ago`, `508 million years`; None if it is unknown."""
    start = age_of(call.get("1"), call.get("round"))
    error = call.get("error")
    if start is None or (error and not NUMBER.fullmatch(error)):
        return None
    start += f" ± {error}" if error else ""
    second = call.get("2")
    if end := age_of(second, call.get("round")):
        return f"{start} to {end} million years ago"
    return f"{start} {second or 'million years ago'}"
