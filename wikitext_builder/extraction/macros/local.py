"""Templates of the other Wikipedias, from `data/local.tsv`: those whose text a source shows.

A row has names, a kind, and what the kind needs, mostly a text as in `patterns.tsv`. A name that is in no
row is read as the English template if its text has no English words; if that is unknown too, the call is left
out, and a wiki can be asked for it.

Names can have a placeholder: `{code}` is the code of a language, `{ISO}` and `{iso}` are codes of countries
with three and two letters, `{country}` a country's name, `{number}` and `{numeral}` a number from 2 on,
`{month}` a month.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache

from wikitext_builder.extraction.macros import read_table, words
from wikitext_builder.extraction.macros.call import Call, Macro, series
from wikitext_builder.extraction.macros.convert import convert
from wikitext_builder.extraction.macros.entities import COUNTRIES
from wikitext_builder.extraction.macros.parser_functions import grouped
from wikitext_builder.extraction.macros.registry import pattern
from wikitext_builder.extraction.markers import GONE
from wikitext_builder.wiki.languages import LANGUAGES, Language

FRENCH_MONTHS = words("French months")
NUMERALS = words("Roman numerals")
WHOLE_DATE = re.compile(r"\d{3}|.[ /-].")
TO_THE_NUMERAL = re.compile(r"(?m:^)(.+? (?:[IVXL]+|Ier))\b.*| \([^()]*\)$")
SCALE = re.compile(r"(milli(?:on|ard)s?)⋅")
POWERS = {ord("²"): "2", ord("³"): "3"}
NOTHING = re.compile("(?!)")


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalTemplates:
    """The templates of one Wikipedia: macros by name, and a pattern of the names that give no text."""

    macros: Mapping[str, Macro] = field(default_factory=dict)
    removed: re.Pattern[str] = NOTHING


@dataclass(frozen=True, slots=True)
class Row:
    """One row of `local.tsv`."""

    language: Language
    names: tuple[str, ...]
    kind: str  # a key of KINDS, or `box`
    text: str  # what the kind needs


# --- kinds: how a row and what the placeholder of its name stands for become a macro


def of_text(row: Row, value: str) -> Macro:
    """A text as in `patterns.tsv`, in which `{name}` is what the placeholder stands for."""
    return pattern(row.text.replace("{name}", value.lower() if row.language.code == "de" else value))


def country(row: Row, value: str) -> Macro:
    """The name of a country or the argument of the row; a flag alone for `#`."""
    return lambda call: "" if call.get("1") == "#" else call.get(row.text) or value


def flag(row: Row, _value: str) -> Macro:
    """The country of `{{Flag|ITA}}` or `{{Flag|Italy}}`."""
    names = country_names(row.language.code)
    english = {name: names[code] for code, name in COUNTRIES.items() if code in names}
    return lambda call: names.get(call.get("1")) or english.get(call.get("1")) or call.get("1") or None


def transcription(row: Row, _value: str) -> Macro:
    """A pronunciation in IPA with its brackets; those of the row if it has none, None if the row has none."""
    bracketed = pattern(f"{row.text} ¦ ?") if row.text else lambda _call: None
    return lambda call: value if (value := call.get("1"))[:1] in {*"[/&\\"} else bracketed(call)


def quantity(row: Row, _value: str) -> Macro:
    """`10 000 km2`, `18 à 24 ans`: one or two numbers, then units, each with an optional exponent."""

    def macro(call: Call) -> str | None:
        value, *units = [*call.positional(), row.text] if row.text else call.positional() or [""]
        if not value:
            return None
        shown = grouped(value, row.language)
        if len(units) == 2 and units[0].lstrip("-").isdecimal():
            shown += f" à {grouped(units.pop(0), row.language)}"
        for word, between in (("à", " à "), ("et", " et "), ("–", "–")):
            shown += f"{between}{grouped(call.get(word), row.language)}" if call.get(word) else ""
        powers = ("" if power == "1" else power.replace("-", "−") for power in [*units[1::2], ""])
        pieces = [unit + power for unit, power in zip(units[::2], powers, strict=False) if unit]
        if exponent := call.get("e"):
            shown += f" × 10{exponent.replace('-', '−')}"
        return " ".join([shown, SCALE.sub(r"\1 ", "⋅".join(pieces)).translate(POWERS)]).strip()

    return macro


def french_date(call: Call) -> str | None:
    """`29 septembre 2019` of `{{date|29|9|2019}}` or `{{date|29 9 2019}}`, without parts like `2019-`."""
    parts = call.numbered(3)
    if WHOLE_DATE.search(parts[0]):  # the next argument is what it is a date of
        words = re.sub(r"(?<=\d)[/-](?=\d)", " ", parts[0]).split()
        parts = words if len(words) <= 3 else parts[:1]
    day, month, year = [*parts, "", ""][:3]
    month = month.lower() if day else month
    if re.fullmatch(r"[0-9]{1,2}", month) and 1 <= int(month) <= 12:
        month = FRENCH_MONTHS[int(month) - 1]
    if re.fullmatch(r"0?[0-9]{1,2}", day):
        day = "1er" if day.lstrip("0") == "1" else day.lstrip("0")
    return " ".join(part for part in (day, month, year) if part and not part.endswith("-")) or None


def french_century(row: Row, _value: str) -> Macro:
    """`XIXe siècle`, `IIIe et IXe siècles` of `{{s2|III|e|IX|e}}`, `Ve – IXe siècle` of `{{sp|V|-|IX}}`."""

    def macro(call: Call) -> str | None:
        values = [value for value in call.given() if value not in {"e", "er"}]
        if len(values) == 2:
            values = [values[0], "et", values[1], "s"]
        first, *last = (f"{one.upper()}{'er' if one == 'I' else 'e'}" for one in values[:3:2] or [""])
        between = ["–" if one == "-" else one for one in values[1:2]]
        return (
            f"{' '.join([first, *between, *last])} siècle{''.join(values[3:])}{row.text}" if values else None
        )

    return macro


def french_time(call: Call) -> str | None:
    """`20 h 50`, `4 min 16 s 37`: hours and minutes, or minutes, seconds and hundredths."""
    hours, minutes, seconds, rest = (one.lstrip("0") or one[:1] for one in call.numbered(4))
    if hours:
        return None if seconds else f"{hours} h {minutes}".strip()
    return f"{minutes} min {seconds} s {rest}".strip() if minutes and seconds else None


def french_sovereign(call: Call) -> str:
    """`Henri VIII d'Angleterre`, without what only the title of the article has after the numeral."""
    name, *rest = call.given() or [""]
    if call.get("pays").startswith("n"):
        del rest[1:]
    return " ".join([TO_THE_NUMERAL.sub(r"\1", name), *rest])


def spanish_century(call: Call) -> str | None:
    """`siglo XIX`, or the number alone if the call does not ask for the word."""
    words = {"s": "siglo ", "S": "Siglo "}
    if not call.get("1") or call.get("2") or call.get("3") not in {"", *words}:
        return None
    return words.get(call.get("3"), "") + call.get("1")


def italian_life(call: Call) -> str | None:
    """`Dante Alighieri (Firenze, 1265 – Ravenna, 1321) è stato un poeta italiano.`: the lead of a life."""
    shown = " ".join(filter(None, (call.get("Titolo"), call.get("Nome"), call.get("Cognome"))))
    after = call.get("PostCognome")
    comma = bool(after) and after[0] not in ",("
    shown += f"{', ' if comma else ' ' if after[:1] == '(' else ''}{after}"
    said = call.get("FineIncipit") or _profession(call)
    if not call.get("Nome") or not said:
        return None
    point = "" if call.get("Punto").lower() == "no" or said.endswith(".") else "."
    closed = "," if comma or after[:1] == "," else ""
    return f"{shown}{_life(call)}{closed} {said}{point}".replace(" ,", ",")


def _profession(call: Call) -> str:
    """`è stato un poeta, scrittore e politico italiano`."""
    done = [call.get(key) for key in ("Attività", "Attività2", "Attività3") if call.get(key)]
    if not done:
        return ""
    others = call.get("AttivitàAltre")
    works = ", ".join(done) if others else series(done, " e ")
    works += f"{'' if others[:1] == ',' else ' '}{others}" if others else ""
    woman = call.get("Sesso").upper() == "F"
    verb = ("è stata" if woman else "è stato") if call.get("AnnoMorte") else "è"
    nation = f"{call.get('Nazionalità')}{call.get('PostNazionalità')}"
    return f"{verb} {_article(done[0], woman=woman)}{works} {nation}".strip()


def _article(word: str, *, woman: bool) -> str:
    vowel = word[:1].lower() in "aeiou"
    if woman:
        return "un'" if vowel else "una "
    hard = word[:1].lower() in "zxy" or word[:2].lower() in {"gn", "ps", "pn"}
    impure = word[:1].lower() == "s" and word[1:2].lower() not in "aeiou"
    return "uno " if hard or impure else "un "


def _life(call: Call) -> str:
    dates = []
    for event in ("Nascita", "Morte"):
        day = f"{call.get(f'GiornoMese{event}')} {call.get(f'Anno{event}')}".strip()
        dates.append(", ".join(filter(None, (call.get(f"Luogo{event}"), day))))
    inside = "; ".join(filter(None, (call.get("PreData"), " – ".join(filter(None, dates)))))
    return f" ({inside})" if inside else ""


def symbols_of_units(call: Call) -> str | None:
    """A measure with symbols of units, which are those of English, but not with their names."""
    return convert(replace(call, name="Convert", arguments={**call.arguments, "abbr": "on"}))


def _always(macro: Macro) -> Callable[[Row, str], Macro]:
    return lambda _row, _value: macro


KINDS: dict[str, Callable[[Row, str], Macro]] = {
    "pattern": of_text,
    "mark": _always(lambda _call: GONE),
    "unknown": _always(lambda _call: None),
    "country": country,
    "flag": flag,
    "ipa": transcription,
    "number": lambda row, _value: lambda call: grouped(call.get("1"), row.language),
    "quantity": quantity,
    "french-date": _always(french_date),
    "french-century": french_century,
    "french-sovereign": _always(french_sovereign),
    "french-time": _always(french_time),
    "french-ship": _always(
        lambda call: {"2": call.get("1"), "6": f"{call.name} {call.get('1')}"}.get(call.get("3"))
    ),
    "french-aside": _always(lambda call: f"— {call.get('1')}" + ("" if call.get("2") else " —")),
    "spanish-century": _always(spanish_century),
    "italian-life": _always(italian_life),
    "symbols-of-units": _always(symbols_of_units),
}


# --- tables


_CLDR_HEAD, *_CLDR = read_table("names", head=True)


def _cldr(kind: str, language: str, *, key: str = "code") -> dict[str, str]:
    code, column = _CLDR_HEAD.index(key), _CLDR_HEAD.index(language)
    return {row[code]: row[column] for row in _CLDR if row[0] == kind}


def language_names(language: str) -> dict[str, str]:
    """The names of languages by their codes.

    >>> language_names("fr")["grc"]
    'grec ancien'
    """
    return _cldr("language", language)


def country_names(language: str) -> dict[str, str]:
    """The names of countries by codes of three letters, ISO's and the Olympic Committee's.

    >>> names = country_names("es")
    >>> names["DEU"], names["GER"], "URS" in names
    ('Alemania', 'Alemania', False)
    """
    names = _cldr("country", language)
    iso = {COUNTRIES[code]: value for code, value in names.items() if code in COUNTRIES}
    olympic = {code: iso[name] for code, name in COUNTRIES.items() if name in iso and len(code) == 3}
    return olympic | names


# What a placeholder in a name can be in a language, and what each stands for.
PLACEHOLDERS: dict[str, Callable[[str], dict[str, str]]] = {
    "code": language_names,
    "ISO": country_names,
    "iso": lambda language: _cldr("country", language, key="short"),
    "country": lambda language: {value: value for value in country_names(language).values()},
    "number": lambda _language: {str(number): "" for number in range(2, 101)},
    "numeral": lambda _language: dict.fromkeys(NUMERALS, ""),
    "month": lambda _language: dict.fromkeys(FRENCH_MONTHS, ""),
}


def _names(row: Row) -> Iterator[tuple[str, str]]:
    """The names of a row without placeholders, each with what its placeholder stands for."""
    for written in row.names:
        if match := re.search(r"\{(\w+)\}", written):
            for key, value in PLACEHOLDERS[match[1]](row.language.code).items():
                full = written.replace(match[0], key)
                yield full[:1].upper() + full[1:], value
        else:
            yield written, ""


def _any_of(names: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(re.escape(one).replace(r"\*", ".*") for one in names), re.DOTALL)


@cache
def local_templates(code: str) -> LocalTemplates:
    """The templates of the Wikipedia in this language; none for English and others without a table."""
    if code == "en" or (language := LANGUAGES.get(code)) is None:
        return LocalTemplates()
    rows = [
        Row(language, tuple(map(str.strip, names.split(";"))), kind, text)
        for of_code, names, kind, text, _source in read_table("local")
        if of_code == code
    ]
    marks = (language.good_marks, language.featured_marks, language.disambiguation_marks, language.stub_marks)
    boxes = [one for names in marks for one in names]
    macros: dict[str, Macro] = {}
    for row in rows:
        if row.kind == "box" or any("*" in one for one in row.names):
            boxes += row.names
        else:
            macros |= {full: KINDS[row.kind](row, value) for full, value in _names(row)}
    return LocalTemplates(macros=macros, removed=_any_of(boxes))
