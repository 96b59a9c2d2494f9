"""LocalTemplates: the templates of one Wikipedia; and the macros that several Wikipedias need."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from wikitext_builder.extraction.listing import listed
from wikitext_builder.extraction.macros.call import Call, Macro
from wikitext_builder.extraction.macros.coordinates import coordinates
from wikitext_builder.extraction.macros.local.names import (
    country_names,
    country_names_by_english,
    short_country_names,
)
from wikitext_builder.extraction.markers import GONE

# Templates and functions that read numbers and names from another page or from Wikidata.
DATA = r"#property|#statements|#invoke:\s*wikidata|wikidata"
# What a link to a sound says if it does not repeat the word.
LISTEN = frozenset(
    listed(
        """
listen; pronunciation; play; audio; anhören; hören; aussprache; écouter; écoutez; prononciation; escuchar;
escucha; pronunciación; ascolta; pronuncia; beluister; luister; uitspraak; uitspraak beluisteren; posłuchaj;
wymowa; ouvir; ouça; escutar; pronúncia; произношение; слушать; послушать; прослушать; lyssna; uttal;
発音; 聞く; ヘルプ・ファイル; 音声; 聆听; 聆聽; 发音; 發音; 播放; 收听
"""
    )
)
PLAIN = re.compile(r"(?P<sign>[-−]?)(?P<whole>\d+)(?:[.,](?P<decimals>\d+))?")
NUMBER_FIRST = re.compile(r"([-−]?\d{1,60}(?:[.,]\d{1,60})?) +(\D.*)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalTemplates:
    """The templates of one Wikipedia: macros by name, and patterns of the names of other templates.

    `data` finds calls of templates with numbers from another page, such as `{{Metadaten Einwohnerzahl …}}`.
    """

    macros: Mapping[str, Macro] = field(default_factory=dict)
    functions: Mapping[str, Macro] = field(default_factory=dict)  # parser functions, by lower names
    removed: re.Pattern[str] = re.compile("(?!)")  # matches nothing
    data: re.Pattern[str] = re.compile("(?!)")


NO_TEMPLATES = LocalTemplates()


def removed(names: str) -> re.Pattern[str]:
    """The pattern of a list of names; an asterisk stands for any characters.

    >>> pattern = removed("Ficha de*; Referencias")
    >>> [pattern.fullmatch(name) is not None for name in ("Ficha de ciudad", "Referencias", "Referencias2")]
    [True, True, False]
    """
    patterns = [re.escape(name).replace(r"\*", ".*") for name in listed(names)]
    return re.compile("|".join(patterns), re.DOTALL)


def data(names: str = "") -> re.Pattern[str]:
    """The pattern of calls of templates with data, by the beginnings of their names.

    >>> bool(data("Metadaten").search("{{Rund|{{Metadaten Fläche|1}}}}")), bool(data().search("{{Datum}}"))
    (True, False)
    """
    starts = [DATA, *(re.escape(name).replace(r"\ ", "[ _]") for name in listed(names) if name)]
    return re.compile(rf"\{{\{{\s*(?:{'|'.join(starts)})", re.IGNORECASE)


def named(names: str) -> dict[str, str]:
    """The names of languages by code: `en=anglais; de=allemand`."""
    return dict(pair.split("=") for pair in listed(names))


def languages(
    names: Mapping[str, str], pattern: str, *, template: str = "Lang-{code}", meaning: str = ""
) -> dict[str, Macro]:
    """One macro per language: its name and the text, combined by the pattern.

    Args:
        names: The names by code.
        pattern: Of the name and the text.
        template: The name of the template.
        meaning: What follows for the second argument, a translation or a transcription.
    """
    return {
        template.format(code=code)[:1].upper() + template.format(code=code)[1:]: _labelled(
            name, pattern, meaning
        )
        for code, name in names.items()
    }


def _labelled(name: str, pattern: str, meaning: str) -> Macro:
    def macro(call: Call) -> str | None:
        value, more = call.get("1", "text", "texte"), call.get("2")
        after = meaning.format(meaning=more) if more else ""
        return pattern.format(name=name, text=value) + after if value else None

    return macro


def by_code(names: Mapping[str, str], pattern: str) -> Macro:
    """The macro of a template whose first argument is the code of the language."""

    def macro(call: Call) -> str | None:
        name, value = names.get(call.get("1")), call.get("2")
        return pattern.format(name=name, text=value) if name and value else value or None

    return macro


def grouped(value: str, *, group: str, point: str, least: int = 4) -> str:
    """A number with separators between thousands, from `least` digits on, and before decimals.

    Words after the number stay.

    >>> grouped("1234567.5", group=".", point=","), grouped("1234", group=" ", point=",", least=5)
    ('1.234.567,5', '1234')
    >>> grouped("25000 km", group=" ", point=",")
    '25 000 km'
    """
    match = PLAIN.fullmatch(value.replace(" ", ""))
    if match is None and (start := NUMBER_FIRST.match(value)):
        return f"{grouped(start[1], group=group, point=point, least=least)} {start[2]}"
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


def transcription(opening: str, closing: str, *names: str) -> Macro:
    """A pronunciation in IPA, between brackets if it has none of its own."""

    def macro(call: Call) -> str | None:
        value = call.get(*(names or ("1",)))
        if not value or value[0] in "[/&\\":
            return value or None
        return f"{opening}{value}{closing}"

    return macro


BRACKETED = transcription("&#91;", "&#93;")


def of_languages(template: str, names: Iterable[str], macro: Macro) -> dict[str, Macro]:
    """The same macro for a template of each language: `IPA-de`, `IPA-fr`."""
    return dict.fromkeys([template.format(code=code) for code in names], macro)


def sound(call: Call) -> str | None:
    """The word that the sound is for; a mark if the label only says that one can listen."""
    label = call.get("2")
    return GONE if not label or label.strip("'[]() .:").lower() in LISTEN else label


def beside_the_title(call: Call) -> str | None:
    """A mark if the coordinates are only beside the title; in text each Wikipedia writes them its own way."""
    return GONE if coordinates(call) == GONE else None


def located(north: str, south: str, east: str, west: str, *, form: str = "{angle}{letter}") -> Macro:
    """Coordinates in running text, with the letters of the language; a mark if they are beside the title."""
    letters = {"N": north, "S": south, "E": east, "W": west}

    def macro(call: Call) -> str | None:
        shown = coordinates(call)
        if shown is None or shown == GONE:
            return shown
        return " ".join(form.format(angle=one[:-1], letter=letters[one[-1]]) for one in shown.split(" "))

    return macro


def numbers(*, group: str, point: str, least: int = 4) -> dict[str, Macro]:
    """The parser function `formatnum` of a language: a number as it is written there, or back (`R`).

    >>> macro = numbers(group=".", point=",")["formatnum"]
    >>> calls = [{"1": "12345.6"}, {"1": "12.345,6", "2": "R"}, {"1": "12345", "2": "NOSEP"}]
    >>> [macro(Call(name="formatnum", arguments=one, page=None)) for one in calls]
    ['12.345,6', '12345.6', '12345']
    """
    separators = dict.fromkeys(map(ord, " \u00a0\u202f" if group == " " else group))
    back = {**separators, ord(point): ".", ord("−"): "-"}

    def macro(call: Call) -> str | None:
        value, flag = call.get("1"), call.get("2")
        if flag == "R":
            return value.translate(back)
        return value if flag == "NOSEP" else grouped(value, group=group, point=point, least=least)

    return {"formatnum": macro}


def plural(form: Callable[[int], int]) -> dict[str, Macro]:
    """The parser function `plural` of a language, by the rule that gives the form of a number.

    >>> macro = plural(lambda number: 0)["plural"]
    >>> macro(Call(name="plural", arguments={"1": "5", "2": "本"}, page=None))
    '本'
    """

    def macro(call: Call) -> str | None:
        number, *forms = call.positional() or [""]
        if not forms or not re.fullmatch(r"-?[0-9]{1,18}", number):
            return None
        return forms[min(form(abs(int(number))), len(forms) - 1)]

    return {"plural": macro}


def slavic_form(number: int, *, only_one: bool) -> int:
    """The first form for one, the second for a few, the third for many; 21 is as one in Russian only.

    >>> [slavic_form(number, only_one=False) for number in (1, 3, 5, 11, 21, 22)]
    [0, 1, 2, 2, 0, 1]
    """
    if number == 1 or (not only_one and number % 10 == 1 and number % 100 != 11):
        return 0
    return 1 if 2 <= number % 10 <= 4 and not 12 <= number % 100 <= 14 else 2


def words(call: Call) -> str | None:
    """All numbered arguments, with spaces: a number and its noun."""
    return "&nbsp;".join(value for value in call.positional() if value) or None


def columns(*names: str) -> Macro:
    """The text in columns, one after the other, each in a block of its own."""

    def macro(call: Call) -> str | None:
        values = [value for name in names if (value := call.get(name))] or call.positional()
        return "\n" + "\n".join(value for value in values if value) + "\n" if any(values) else None

    return macro


def countries(language: str, *, short: bool = False, text: str = "name") -> dict[str, Macro]:
    """Templates named after the code of a country, such as `{{ITA}}`: they show a flag and the name.

    Args:
        language: Code of the Wikipedia.
        short: The codes of two letters, too.
        text: The argument with another text than the name.
    """
    names = country_names(language) | (short_country_names(language) if short else {})
    return {code: _country(name, text) for code, name in names.items()}


def _country(name: str, text: str) -> Macro:
    def macro(call: Call) -> str | None:
        return "" if call.get("1") == "#" else call.get(text, "Ziel", "nome") or name

    return macro


def flagged(language: str) -> Macro:
    """The country of `{{Flag|ITA}}` or `{{Flag|Italy}}`, or the name in the call."""
    names = country_names_by_english(language) | country_names(language)

    def macro(call: Call) -> str | None:
        value = call.get("name", "nome", "1")
        return names.get(value, value) or None

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
