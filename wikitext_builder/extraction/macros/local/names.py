"""Names of countries and languages in the languages of the Wikipedias, from `names.tsv`.

The table is made from CLDR. A template can be named after an Olympic code, too: the codes of
`flags.COUNTRIES` that have the English name of an ISO code are aliases of it.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from wikitext_builder.extraction.macros.flags import COUNTRIES


@cache
def _rows() -> tuple[list[str], ...]:
    table = files("wikitext_builder.extraction.macros") / "names.tsv"
    lines = table.read_text(encoding="utf-8").splitlines()
    return tuple(line.split("\t") for line in lines if not line.startswith("#"))


def _names(kind: str, language: str, *, key: str = "code") -> dict[str, str]:
    head, *rows = _rows()
    code, name = head.index(key), head.index(language)
    return {row[code]: row[name] for row in rows if row[0] == kind}


def language_names(language: str) -> dict[str, str]:
    """The names of languages by their codes.

    >>> language_names("fr")["grc"]
    'grec ancien'
    """
    return _names("language", language)


def short_country_names(language: str) -> dict[str, str]:
    """The names of countries by codes of two letters.

    >>> short_country_names("nl")["FR"]
    'Frankrijk'
    """
    return _names("country", language, key="short")


def country_names(language: str) -> dict[str, str]:
    """The names of countries by codes of three letters, ISO's and the Olympic Committee's, and `PRC`, `ROC`.

    >>> names = country_names("es")
    >>> names["DEU"], names["GER"], "URS" in names
    ('Alemania', 'Alemania', False)
    """
    names = _names("country", language)
    iso = {COUNTRIES[code]: name for code, name in names.items() if code in COUNTRIES}
    aliases = {code: iso[english] for code, english in COUNTRIES.items() if english in iso and len(code) == 3}
    return aliases | names


def country_names_by_english(language: str) -> dict[str, str]:
    """The names of countries by their English names, as in `{{Flag|Germany}}`.

    >>> country_names_by_english("ja")["Germany"]
    'ドイツ'
    """
    codes = country_names(language)
    return {english: codes[code] for code, english in COUNTRIES.items() if code in codes}
