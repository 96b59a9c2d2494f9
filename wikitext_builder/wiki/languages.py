"""Knows the local names of each Wikipedia: categories, marks, namespaces, removed sections.

`wikipedias.txt` beside this module has the codes of all Wikipedias. `languages.toml` has a table for each
language that we know well, with its sources; in other languages the wiki reports its names (`with_names`),
and `other_names.tsv` has the names that a dump leaves out, such as the aliases of namespaces.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from wikitext_builder.errors import BuilderError

if TYPE_CHECKING:
    from wikitext_builder.wiki.responses import General, Query

Names = tuple[str, ...]
NAME_FIELDS = (
    "file_namespaces", "category_namespaces", "template_namespaces", "redirect_words", "picture_options",
    "switches",
)  # fmt: skip
# A language with its script, its region or both: BCP 47, section 2.1
TAG = re.compile(r"([a-z]{2,3})(?:-[a-z]{4})?(?:-(?:[a-z]{2}|[0-9]{3}))?", re.IGNORECASE)
WIKIPEDIA_HOST = re.compile(r"([a-z-]+)\.(?:m\.)?wikipedia\.org")
# https://meta.wikimedia.org/wiki/Wikimedia_projects; their exports can also have xml:lang="en"
SISTER_HOST = re.compile(
    r"(?:.+\.)?(?:mediawiki|wiktionary|wiki(?:media|data|books|quote|source|news|versity|voyage|functions))\.org"
)
SISTER_DATABASE = re.compile(r"\w+wik(?:tionary|ibooks|iquote|isource|inews|iversity|ivoyage)")
NAMESPACES: Final = {"file_namespaces": 6, "category_namespaces": 14, "template_namespaces": 10}
REPORTED_FIELDS: Final = ("index", "wiki", *NAME_FIELDS)
REDIRECTS: Final = "redirects"  # reported for any language, even one with a table
# The magic words that put a picture in a separate block: thumb, frame and the four positions.
PICTURE_POSITIONS: Final = ("thumbnail", "framed", "left", "right", "center", "none")
INDEX_URL = re.compile(r"https?://[^\s/?#@|]{1,255}/[^\s?#|]{0,255}")
MAX_NAME_CHARACTERS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """The local names of a Wikipedia.

    Names of templates, categories and namespaces have a capital first letter, and spaces in place of
    underscores. Convert a name to this form before looking it up.
    """

    code: str  # of the Wikipedia: en of en.wikipedia.org
    index: str = ""  # URL of its index.php; empty for the Wikipedia with this code
    wiki: str = ""  # the name that the wiki reports; empty for Wikipedia
    good_category: str | None = None  # without its namespace; None if this Wikipedia has no Good articles
    featured_category: str | None = None
    good_marks: Names = ()  # templates in an article's own wikitext that mark it as Good
    featured_marks: Names = ()
    disambiguation_marks: Names = ()
    copied_summary: str = ""  # pattern of edit summaries that name the page whose text was copied
    stub_marks: Names = ()  # templates of articles that are too short; * stands for any characters
    list_title_prefixes: Names = ()  # a title that begins like this is a list: "List of "
    list_title_suffixes: Names = ()  # for languages where the word for a list comes last
    file_namespaces: Names = ("File", "Image")  # all names of the namespace of pictures
    category_namespaces: Names = ("Category",)
    template_namespaces: Names = ("Template",)
    redirect_words: Names = ("REDIRECT",)  # after the #
    removed_sections: Names = ()  # exact headings of the sections that are mostly lists
    switches: Names = ()  # behaviour switches between double underscores, besides the English ones
    picture_options: Names = ()  # options that put a picture in a separate block, such as thumb
    # By field, if a source differs from the usual one.
    sources: Mapping[str, str] = field(default_factory=dict, compare=False)
    # Names of templates that redirect to a template that we know: see `known_redirects`.
    redirects: Mapping[str, str] = field(default_factory=dict, compare=False)

    @classmethod
    def from_table(cls, code: str, table: Mapping[str, Any]) -> Language:
        """Make a language from a table of names, as in `languages.toml`; absent names are as in English.

        >>> Language.from_table("cs", {"file_namespaces": ["Soubor", "File", "Image"]}).file_namespaces
        ('Soubor', 'File', 'Image')
        """
        field_types = {field.name: str(field.type) for field in fields(cls) if field.name != "code"}
        value_types = {"Names": list, "Mapping[str, str]": dict}
        for name, value in table.items():
            if name not in field_types:
                raise BuilderError(
                    f"language {code}: unknown name {name!r}; use one of {', '.join(field_types)}"
                )
            items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
            has_type = isinstance(value, value_types.get(field_types[name], str))
            if not has_type or not all(isinstance(item, str) for item in items):
                raise BuilderError(f"language {code}: {name} is {value!r}, expected {field_types[name]}")
        lists = {name: tuple(value) for name, value in table.items() if isinstance(value, list)}
        return cls(code=code, **{**table, **lists})

    @property
    def text_language(self) -> str:
        """The language of the pages; those of `simple` are in English, with the English templates."""
        return "en" if self.code == "simple" else self.code

    @property
    def is_english(self) -> bool:
        """True if the pages are in English."""
        return self.text_language == "en"

    @property
    def index_address(self) -> str:
        """The URL of the wiki's index.php, which shows pages and revisions."""
        return self.index or f"https://{self.code}.wikipedia.org/w/index.php"

    @property
    def categories(self) -> Names:
        """The categories of Good and Featured articles, if the Wikipedia has them."""
        return tuple(name for name in (self.good_category, self.featured_category) if name is not None)


def _lines(name: str) -> list[str]:
    text = (files("wikitext_builder.wiki") / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if not line.startswith("#")]


def _with_other_names(code: str, cells: list[str]) -> Language:
    english = Language(code=code)
    local_names: dict[str, Any] = {
        name: (*filter(None, cell.split("|")), *getattr(english, name))
        for name, cell in zip(NAME_FIELDS, cells, strict=True)
    }
    return replace(english, **local_names)


LANGUAGES: dict[str, Language] = {  # languages with a table
    code: Language.from_table(code, table)
    for code, table in tomllib.loads("\n".join(_lines("languages.toml"))).items()
}
OTHER_LANGUAGES: dict[str, Language] = {
    code: _with_other_names(code, cells)
    for code, *cells in (line.split("\t") for line in _lines("other_names.tsv"))
}
# Every code of a Wikipedia, with its aliases → the code that we use.
CODES: dict[str, str] = {
    name: codes[0] for codes in map(str.split, _lines("wikipedias.txt")) for name in codes
}


def language_of(code: str | Language) -> Language:
    """Return the local names of a Wikipedia, as far as they are known without asking the wiki.

    >>> language_of("yue").code, language_of("ca").file_namespaces
    ('zh-yue', ('Fitxer', 'Imatge', 'File', 'Image'))
    >>> language_of("por").code, language_of("pt-BR").code, language_of("zh-Hant-TW").code
    ('pt', 'pt', 'zh')
    """
    if isinstance(code, Language):
        return code
    tag = TAG.fullmatch(code)
    wikipedia = CODES.get(code.lower()) or (CODES.get(tag[1].lower()) if tag else None)
    if wikipedia is None:
        similar = get_close_matches(code.lower(), {*CODES.values()}, n=5, cutoff=0.5) or [
            "en",
            "de",
            "simple",
        ]
        raise BuilderError(
            f"--language {code} is unknown; expected the code of a Wikipedia, such as {', '.join(similar)}"
        )
    return LANGUAGES.get(wikipedia) or OTHER_LANGUAGES.get(wikipedia) or Language(code=wikipedia)


def code_of_language(lang: str) -> str:
    """Return the code of the Wikipedia for MediaWiki's name of a language; a variant counts as its language.

    >>> code_of_language("en-GB"), code_of_language("nb"), code_of_language("zh-yue"), code_of_language("tlh")
    ('en', 'no', 'zh-yue', 'tlh')
    """
    name = lang.lower()
    return CODES.get(name) or CODES.get(name.partition("-")[0]) or lang


def code_of_wiki(base: str, dbname: str, lang: str) -> str:
    """Return the code of a Wikipedia from its URL or database; for a private wiki, its language.

    For a sister project of Wikipedia, returns the name of its database, which is not the code of any
    Wikipedia.

    >>> code_of_wiki("https://simple.wikipedia.org/wiki/Main_Page", "", "en")
    'simple'
    >>> code_of_wiki("", "zh_min_nanwiki", ""), code_of_wiki("", "dewiktionary", "de")
    ('zh-min-nan', 'dewiktionary')
    >>> code_of_wiki("https://commons.wikimedia.org/", "commonswiki", "en")
    'commonswiki'
    >>> code_of_wiki("http://127.0.0.1:8080/", "mywiki", "pt-BR")
    'pt'
    """
    try:
        host = urlsplit(base).hostname or ""
    except ValueError:  # not a URL
        host = ""
    if wikipedia := WIKIPEDIA_HOST.fullmatch(host):
        return CODES.get(wikipedia[1], wikipedia[1])
    if SISTER_HOST.fullmatch(host) or SISTER_DATABASE.fullmatch(dbname):
        return dbname or host
    if not base and dbname.endswith("wiki") and dbname != "wiki":
        code = dbname.removesuffix("wiki").replace("_", "-")
        return CODES.get(code, code)
    return code_of_language(lang)


# --- names that a wiki reports


def with_names(language: Language, reported: Mapping[str, Any]) -> Language:
    """Return a language with the names that its wiki reports.

    The Wikipedia of a language with a table keeps the table's names, which are MediaWiki's, so that the same
    pages give the same text wherever they come from.

    >>> with_names(language_of("ca"), {"file_namespaces": ["Fitxer"]}).file_namespaces
    ('Fitxer', 'Imatge', 'File', 'Image')
    >>> with_names(language_of("de"), {"wiki": "Wikipedia"}) == language_of("de")
    True
    """
    table = {name: reported[name] for name in (*REPORTED_FIELDS, REDIRECTS) if reported.get(name)}
    local = Language.from_table(language.code, table)
    if local.redirects:
        language = replace(language, redirects={**language.redirects, **local.redirects})
    index = local.index if INDEX_URL.fullmatch(local.index) else ""
    if index == replace(language, index="").index_address:
        index = ""
    index = index or language.index
    if language.code in LANGUAGES and not index:
        return language
    lists: dict[str, Any] = {
        name: _possible_names(getattr(local, name) * (name in reported) + getattr(language, name))
        for name in NAME_FIELDS
    }
    wiki = " ".join(local.wiki.split())[:MAX_NAME_CHARACTERS]
    return replace(language, index=index, wiki=wiki or language.wiki, **lists)


def _possible_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct names that a wiki can have."""
    return tuple(name for name in dict.fromkeys(names) if name.strip() and len(name) <= MAX_NAME_CHARACTERS)


def reported_names(language: Language) -> dict[str, Any]:
    """Return the names that a language has only from its wiki: for JSON, in a fixed order."""
    without_wiki = language_of(language.code)
    values = {name: getattr(language, name) for name in (*REPORTED_FIELDS, REDIRECTS)}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in values.items()
        if value != getattr(without_wiki, name)
    }


def names_in_answer(query: Query) -> dict[str, Any]:
    """Return the names in an answer to `meta=siteinfo`; `Wikipedia.site` has the parameters."""
    rows = [(space.name, space.id) for space in query.namespaces.values()]
    rows += [(space.alias, space.id) for space in query.namespacealiases]
    words = {word.name: word.aliases for word in query.magicwords}
    options = [word for name in PICTURE_POSITIONS for word in words.get(f"img_{name}", ()) if "$" not in word]
    return {
        "index": _index_in(query.general) if query.general else "",
        "wiki": query.general.sitename if query.general else "",
        "redirect_words": [word.lstrip("#") for word in words.get("redirect", ())],
        "picture_options": options,
        "switches": [word.strip("_") for names in words.values() for word in names if word.startswith("__")],
        **_names_of(rows),
    }


def _index_in(general: General) -> str:
    """Return the URL of index.php; empty if the wiki does not report it."""
    server, scheme = general.server, general.base.partition("://")[0]  # the server can be `//host`
    url = f"{scheme or 'https'}:{server}" if server.startswith("//") else server
    return url + general.script if url and general.script else ""


def names_in_dump(base: str, sitename: str, namespaces: Mapping[str, int]) -> dict[str, Any]:
    """Return the names in the `<siteinfo>` of an export.

    >>> names_in_dump("http://wiki.example.org/wiki/Main_Page", "Our wiki", {"Fitxer": 6})["index"]
    'http://wiki.example.org/w/index.php'
    """
    return {"index": _index_of(base), "wiki": sitename, **_names_of(namespaces.items())}


def _index_of(base: str) -> str:
    """Return the URL of index.php from that of the main page; empty if unknown."""
    start, separator, _ = base.partition("/index.php")
    try:
        parts = urlsplit(base)
        host = parts.hostname or ""
    except ValueError:  # not a URL
        return ""
    if wikipedia := WIKIPEDIA_HOST.fullmatch(host):
        return f"https://{wikipedia[1]}.wikipedia.org/w/index.php"
    if separator:
        return f"{start}/index.php"
    # The place on Wikimedia's wikis and in MediaWiki's manual of short URLs.
    return f"{parts.scheme}://{parts.netloc}/w/index.php" if host else ""


def _names_of(rows: Iterable[tuple[str, int]]) -> dict[str, list[str]]:
    rows = list(rows)
    return {
        field_name: [with_first(name, upper=True) for name, number in rows if number == namespace and name]
        for field_name, namespace in NAMESPACES.items()
    }


def with_first(text: str, *, upper: bool) -> str:
    """Return a text with its first letter in upper or lower case, as MediaWiki writes it.

    >>> [with_first(text, upper=True) for text in ("été", "ßx", "თბ")]  # Georgian titles have no capitals
    ['Été', 'ßx', 'თბ']
    """
    first = text[:1]
    cased = first.lower() if not upper else first if first.title() == first else first.upper()
    return cased + text[1:] if len(cased) == 1 else text  # like MediaWiki, `ß` does not become `SS`
