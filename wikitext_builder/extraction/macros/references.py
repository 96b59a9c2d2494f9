"""References in sentences: identifiers of works, verses, laws, and pages of other sites."""

from __future__ import annotations

import re

from wikitext_builder.extraction.macros import lookup
from wikitext_builder.extraction.macros.call import Call, macro
from wikitext_builder.extraction.macros.php import whole_number

BILLS = lookup("bill")
EXCHANGES = lookup("exchange")


@macro("ISBN", "ISSN", "OCLC", shared=True)
def identifiers(call: Call) -> str | None:
    """`ISBN 978-…, 979-…`: the name of the template and all the numbers."""
    return f"{call.name.upper()} {', '.join(call.positional())}" if call.get("1") else ""


@macro(*EXCHANGES)
def stock_symbol(call: Call) -> str | None:
    """`NYSE: BRK.A, BRK.B`: the exchange and the symbols of up to three classes of stock."""
    signs = ", ".join(sign for sign in call.positional()[:3] if sign)
    return f"{EXCHANGES[call.name]}: {signs}" if signs else EXCHANGES[call.name]


@macro("Bibleverse", "Bibleref", "Bibleref2", "Bibleref2c")
def bible(call: Call) -> str | None:
    """`1 Corinthians 13:1`: number, book and verses (which begin with a digit), or their label.

    Older calls have the number as an argument of its own. The translation and the label follow the verses.
    """
    values = call.positional()
    verses = next((place for place, value in enumerate(values) if place and value[:1].isdecimal()), 2)
    label = values[verses + 2 : verses + 3]
    return "".join(label) or " ".join(value for value in values[: verses + 1] if value)


@macro("Bibleverse-nb", "Bibleref2-nb", "Bibleref2c-nb")
def bible_verses(call: Call) -> str | None:
    """`13:1`: the verses alone."""
    return next((value for value in call.positional()[1:3] if value[:1].isdecimal()), call.get("2"))


@macro("Lds")
def mormon(call: Call) -> str | None:
    """`Alma 32:35`: book, its abbreviation in links, chapter and verse; the book may be missing."""
    chapter, verses = call.get("3"), "–".join(call.get(number) for number in "45" if call.get(number))
    place = f"{chapter}:{verses}" if verses else chapter
    return f"{call.get('1')} {place}".strip() or None


@macro("Sourcetext")
def source_text(call: Call) -> str | None:
    """`Matthew 3:14–15`: the book and the place in it."""
    if not call.get("book"):
        return call.get("2", "1")
    place = call.get("chapter") + (f":{call.get('verse')}" if call.get("verse") else "")
    return f"{call.get('book')} {place}".strip() + (f"–{call.get('range')}" if call.get("range") else "")


@macro("URL", shared=True)
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


@macro("Post-nominals")
def post_nominals(call: Call) -> str | None:
    """Letters after a name, as in `CB CBE`."""
    return call.get("list") or (call.get("sep") or " ").join(call.given())


@macro("Ussc")
def supreme_court(call: Call) -> str | None:
    """`372 U.S. 335 (1963)`: volume, page and year, in order or by name."""
    name = call.get("name", "case")
    volume, page, year = call.get("volume", "vol", "1"), call.get("page", "2"), call.get("year", "3")
    if not volume or not page:
        return None
    citation = f"{volume} U.S. {page}" + (f" ({year})" if year else "")
    return f"{name}, {citation}" if name else citation


@macro("Uscsub")
def code_section(call: Call) -> str | None:
    """`18 U.S.C. § 3553(a)`."""
    title, section, *parts = [*call.positional(), "", ""]
    if not title or not section:
        return None
    return f"{title} U.S.C. § {section}" + "".join(f"({part})" for part in parts if part)


@macro("USBill")
def bill(call: Call) -> str | None:
    """`H.R. 2203`; the number of the congress is only in the link."""
    kind = call.get("2").replace(".", "").replace(" ", "").upper()
    return f"{BILLS[kind]} {call.get('3')}" if kind in BILLS else None


@macro("US patent")
def patent(call: Call) -> str | None:
    """`U.S. Patent 1,781,541`."""
    number = call.get("2", "1")
    plain = whole_number(number, digits=11)
    return f"U.S. Patent {number if plain is None else f'{plain:,}'}" if number else None


# The texts of the sites below are from the documentation of the templates, read on 2026-11-22.
@macro("IMDb title", "IMDb name", "IMDb episode", "IMDb character", "IMDb company")
def imdb(call: Call) -> str | None:
    """`Title at the Internet Movie Database`; `on IMDb` since 2017."""
    site = "on IMDb" if call.page.timestamp >= "2017" else "at the Internet Movie Database"
    return f"{call.get('2', 'title', 'name') or call.page.title.partition(' (')[0]} {site}"


@macro("Google books")
def google_books(call: Call) -> str | None:
    """`Title, p. 5, at Google Books`, or the text of the call."""
    if call.get("plainurl").lower() in {"y", "yes"}:
        return None
    title = call.get("2", "title") or call.page.title
    page = f", p. {call.get('page')}," if call.get("page") else ""
    return call.get("text") or f"{title}{page} at Google Books"


@macro("YouTube")
def youtube(call: Call) -> str | None:
    """`Title on YouTube`; `Title's channel on YouTube`."""
    kinds = ((("user", "u", "channel"), "'s channel"), (("s", "show", "sid", "showid"), " show"))
    for names, kind in kinds:
        if call.get(*names):
            return f"{call.get('title', '1') or call.page.title}{kind} on YouTube"
    return f"{call.get('title', '2') or 'Video'} on YouTube"


@macro("Official website")
def official(call: Call) -> str | None:
    """`Official website`, or the name that the call gives; perhaps also one for telephones."""
    mobile = " (Mobile)" if call.get("mobile") else ""
    return (call.get("2", "name") or "Official website") + mobile


@macro("ICD10")
def disease(call: Call) -> str | None:
    """`A12.3`: the code of a disease."""
    return call.get("1") + call.get("2") + (f".{call.get('3')}" if call.get("3") else "")
