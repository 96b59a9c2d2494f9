"""Abbreviations, short fixed phrases and names of things."""

from __future__ import annotations

import re

from wikitext_builder.extraction.listing import listed
from wikitext_builder.extraction.macros.call import Call, Macro, around, first, text
from wikitext_builder.extraction.macros.wrappers import second_or_first


def identifier(label: str) -> Macro:
    """`ISBN 978-…`: a label and the number."""
    return around(f"{label} ", "")


def identifiers(label: str) -> Macro:
    """`ISBN 978-…, 979-…`: a label and all the numbers."""
    return lambda call: f"{label} {', '.join(call.positional())}" if call.get("1") else ""


def bible(call: Call) -> str | None:
    """`1 Corinthians 13:1`: number, book and verses (which begin with a digit), or their label.

    Older calls have the number as an argument of its own. The translation and the label follow the verses.
    """
    values = call.positional()
    verses = next((place for place, value in enumerate(values) if place and value[:1].isdecimal()), 2)
    label = values[verses + 2 : verses + 3]
    return "".join(label) or " ".join(value for value in values[: verses + 1] if value)


def bible_verses(call: Call) -> str | None:
    """`13:1`: the verses alone."""
    return next((value for value in call.positional()[1:3] if value[:1].isdecimal()), call.get("2"))


def mormon(call: Call) -> str | None:
    """`Alma 32:35`: book, its abbreviation in links, chapter and verse; the book may be missing."""
    chapter, verses = call.get("3"), "–".join(call.get(number) for number in "45" if call.get(number))
    place = f"{chapter}:{verses}" if verses else chapter
    return f"{call.get('1')} {place}".strip() or None


def source_text(call: Call) -> str | None:
    """`Matthew 3:14–15`: the book and the place in it."""
    if not call.get("book"):
        return second_or_first(call)
    place = call.get("chapter") + (f":{call.get('verse')}" if call.get("verse") else "")
    return f"{call.get('book')} {place}".strip() + (f"–{call.get('range')}" if call.get("range") else "")


def url(call: Call) -> str | None:
    """The label of a web address, or the address without its protocol, as Module:URL shows it.

    >>> url(Call(name="URL", arguments={"1": "https://www.Example.org/A/?"}, page=None))
    'www.example.org/A/'
    """
    if call.get("2") or not call.get("1"):
        return call.get("2")
    address = re.sub("(?i)^https?:/{0,2}", "", call.get("1"))
    host, slash, path = re.sub("[?#]$", "", address).partition("/")
    return host.lower() + (slash + path if path else "")


def post_nominals(call: Call) -> str | None:
    """Letters after a name, as in `CB CBE`."""
    values = [value for value in call.positional() if value]
    return call.get("list") or (call.get("sep") or " ").join(values)


def usc(call: Call) -> str | None:
    """`8 U.S.C. § 1101a`."""
    return f"{call.get('1')} U.S.C. § {call.get('2')}"


def name_and_sort_key(call: Call) -> str | None:
    """`First Last` of `{{sortname|First|Last}}`."""
    return f"{call.get('1')} {call.get('2')}".strip()


ABBREVIATIONS: dict[str, Macro] = {
    **dict.fromkeys(
        listed(
            """
Abbr; Abbrv; Define; Initialism; Acronym; Abbreviation; Acr; Abbrlink; Define abbr; Abbr link
"""
        ),
        first,
    ),
    "No.": text("No."),
    "Numero": around("No. ", ""),
    "ISBN": identifiers("ISBN"),
    "Isbn": identifiers("ISBN"),
    "ISBNT": first,
    "ISSN": identifiers("ISSN"),
    "OCLC": identifiers("OCLC"),
    "ASIN": identifier("ASIN"),
    "LCCN": identifier("LCCN"),
    "Oclc": identifiers("OCLC"),
    "JSTOR": identifier("JSTOR"),
    "Bibcode": around("Bibcode: ", ""),
    "Hdl": around("hdl:", ""),
    "MR": identifier("MR"),
    "Zbl": identifier("Zbl"),
    "BWV": identifier("BWV"),
    "HWV": identifier("HWV"),
    "DOI": identifier("doi:"),
    "Doi": around("doi:", ""),
    "PMID": identifier("PMID"),
    "PMC": around("PMC ", ""),
    "ArXiv": around("arXiv:", ""),
    "Arxiv": around("arXiv:", ""),
    "OEIS": around("(sequence ", " in the OEIS)", "1", "id"),
    "Oeis": around("(sequence ", " in the OEIS)", "1", "id"),
    "Bibleref2c": bible,
    "Bibleref2c-nb": bible_verses,
    "Post nominals": post_nominals,
    "Tag": lambda call: f"&lt;{call.get('1')}&gt;" if call.get("1") else None,
    "OEIS2C": first,
    "Bibleverse": bible,
    "Bibleref": bible,
    "Bibleref2": bible,
    "Bibleverse-lb": bible,
    "Bibleverse-nb": bible_verses,
    "Bibleref2-nb": bible_verses,
    "Bible": bible,
    "Sourcetext": source_text,
    "Qref": lambda call: f"{call.get('1')}:{call.get('2')}",
    "Cite quran": lambda call: f"{call.get('1')}:{call.get('2')}",
    "URL": url,
    "Url": url,
    "Post-nominals": post_nominals,
    "Postnominals": post_nominals,
    "USC": usc,
    "Usc": usc,
    "UnitedStatesCode": usc,
    "Sortname": name_and_sort_key,
    "Sort": lambda call: call.get("2", "1"),
    "Srt": lambda call: call.get("2", "1"),
    "Hidden sort key": lambda _call: "",
    "Vol.": around("Vol. ", ""),
    "Kia": text("(KIA)"),
    "KIA": text("(KIA)"),
    "POW": text("(POW)"),
    "MIA": text("(MIA)"),
    "WIA": text("(WIA)"),
    "N/a": lambda call: call.get("1") or "N/A",
    "N/A": lambda call: call.get("1") or "N/A",
    "Na": lambda call: call.get("1") or "N/A",
    "Nom": lambda call: call.get("1") or "Nominated",
    "Won": lambda call: call.get("1") or "Won",
    "Yes": lambda call: call.get("1") or "Yes",
    "Yes2": lambda call: call.get("1"),
    "No": lambda call: call.get("1") or "No",
    "No2": lambda call: call.get("1"),
    "Tba": text("TBA"),
    "TBA": text("TBA"),
    "TBD": text("TBD"),
    "Success": lambda call: call.get("1") or "Success",
    "Failure": lambda call: call.get("1") or "Failure",
    "Unknown": lambda call: call.get("1") or "Unknown",
    "Dunno": text("?"),
    "?": text("?"),
    "Included": text("Included"),
    "Dropped": text("Dropped"),
    "Lds": mormon,
    "LDS": text("LDS"),
    "U.S.": text("U.S."),
    "AD": around("AD ", ""),
    "BCE": around("", " BCE"),
    "CE": around("", " CE"),
    "BC": around("", " BC"),
    "CO2": text("CO2"),
    "Co2": text("CO2"),
    "H2O": text("H2O"),
    "O2": text("O2"),
    **dict.fromkeys(["Not a typo", "As written"], lambda call: "".join(call.positional()[:2])),
    "Key press": lambda call: "+".join(call.positional()),
    "Keypress": lambda call: "+".join(call.positional()),
    "Button": first,
}
