"""What a wiki says of itself: namespaces, words, name and address, for languages without a table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from wikitext_builder.wiki.classify import with_first
from wikitext_builder.wiki.languages import LANGUAGES, OTHER_NAMES, WIKIPEDIA_HOST, Language, language_of

if TYPE_CHECKING:
    from wikitext_builder.wiki.responses import General, Query

NAMESPACES: Final = {"file_namespaces": 6, "category_namespaces": 14, "template_namespaces": 10}
SAID: Final = ("index", "wiki", *OTHER_NAMES)
REDIRECTS: Final = "redirects"  # said of any language, also of those with a table
# The magic words that put a picture in a block of its own: thumb, frame and the four places.
PLACES: Final = ("thumbnail", "framed", "left", "right", "center", "none")
INDEX = re.compile(r"https?://[^\s/?#@|]{1,255}/[^\s?#|]{0,255}")
LONGEST_NAME = 200  # characters


def with_names(language: Language, said: Mapping[str, Any]) -> Language:
    """A language with what its wiki says of itself.

    The Wikipedia of a language with a table stays as the table has it: its names are MediaWiki's own, and so
    the same pages give the same text wherever they come from.

    >>> with_names(language_of("ca"), {"file_namespaces": ["Fitxer"]}).file_namespaces
    ('Fitxer', 'Imatge', 'File', 'Image')
    >>> with_names(language_of("de"), {"wiki": "Wikipedia"}) == language_of("de")
    True
    """
    table = {name: said[name] for name in (*SAID, REDIRECTS) if said.get(name)}
    given = Language.from_table(language.code, table)
    if given.redirects:
        language = replace(language, redirects={**language.redirects, **given.redirects})
    index = given.index if INDEX.fullmatch(given.index) else ""
    if index == replace(language, index="").index_address:
        index = ""
    index = index or language.index
    if language.code in LANGUAGES and not index:
        return language
    lists: dict[str, Any] = {
        name: _possible(getattr(given, name) * (name in said) + getattr(language, name))
        for name in OTHER_NAMES
    }
    wiki = " ".join(given.wiki.split())[:LONGEST_NAME]
    return replace(language, index=index, wiki=wiki or language.wiki, **lists)


def _possible(names: Iterable[str]) -> tuple[str, ...]:
    """The names that a wiki can have, each once."""
    return tuple(name for name in dict.fromkeys(names) if name.strip() and len(name) <= LONGEST_NAME)


def names_said(language: Language) -> dict[str, Any]:
    """What a language has from its wiki, beyond what is known without it: for JSON, in a fixed order."""
    known = language_of(language.code)
    values = {name: getattr(language, name) for name in (*SAID, REDIRECTS)}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in values.items()
        if value != getattr(known, name)
    }


def names_in_answer(query: Query) -> dict[str, Any]:
    """What the answer to `meta=siteinfo` says: `siprop=general|namespaces|namespacealiases|magicwords`."""
    rows = [(space.name, space.id) for space in query.namespaces.values()]
    rows += [(space.alias, space.id) for space in query.namespacealiases]
    words = {word.name: word.aliases for word in query.magicwords}
    options = [word for name in PLACES for word in words.get(f"img_{name}", ()) if "$" not in word]
    return {
        "index": _index_in(query.general) if query.general else "",
        "wiki": query.general.sitename if query.general else "",
        "redirect_words": [word.lstrip("#") for word in words.get("redirect", ())],
        "picture_options": options,
        "switches": [word.strip("_") for names in words.values() for word in names if word.startswith("__")],
        **_names_of(rows),
    }


def _index_in(general: General) -> str:
    """The address of index.php; empty if the wiki does not say it."""
    server, kind = general.server, general.base.partition("://")[0]  # the server can be `//host`
    address = f"{kind or 'https'}:{server}" if server.startswith("//") else server
    return address + general.script if address and general.script else ""


def names_in_dump(base: str, sitename: str, namespaces: Mapping[str, int]) -> dict[str, Any]:
    """What the `<siteinfo>` of an export says.

    >>> names_in_dump("http://wiki.example.org/wiki/Main_Page", "Our wiki", {"Fitxer": 6})["index"]
    'http://wiki.example.org/w/index.php'
    """
    return {"index": _index_of(base), "wiki": sitename, **_names_of(namespaces.items())}


def _index_of(base: str) -> str:
    """The address of index.php by that of the main page; empty if it is not known."""
    start, found, _ = base.partition("/index.php")
    try:
        parts = urlsplit(base)
        host = parts.hostname or ""
    except ValueError:  # it is no address
        return ""
    if wikipedia := WIKIPEDIA_HOST.fullmatch(host):
        return f"https://{wikipedia[1]}.wikipedia.org/w/index.php"
    if found:
        return f"{start}/index.php"
    # where Wikimedia has it, and MediaWiki's manual of short addresses
    return f"{parts.scheme}://{parts.netloc}/w/index.php" if host else ""


def _names_of(rows: Iterable[tuple[str, int]]) -> dict[str, list[str]]:
    rows = list(rows)
    return {
        kind: [with_first(name, upper=True) for name, number in rows if number == wanted and name]
        for kind, wanted in NAMESPACES.items()
    }
