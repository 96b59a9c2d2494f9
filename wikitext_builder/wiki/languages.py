"""The local names of each Wikipedia: categories, marks, namespaces, removed sections, numbers.

`wikipedias.txt` beside this module has the codes of all Wikipedias. `languages.toml` has one table per
language that we know more of, with its sources; of the others the wiki itself says its names (`with_names`),
and `other_names.tsv` has those that a dump leaves out, such as the second names of namespaces.
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
OTHER_NAMES = (
    "file_namespaces", "category_namespaces", "template_namespaces", "redirect_words", "picture_options",
    "switches",
)  # fmt: skip
# A language with its script, its region or both: BCP 47, section 2.1
TAG = re.compile(r"([a-z]{2,3})(?:-[a-z]{4})?(?:-(?:[a-z]{2}|[0-9]{3}))?", re.IGNORECASE)
WIKIPEDIA_HOST = re.compile(r"([a-z-]+)\.(?:m\.)?wikipedia\.org")
# https://meta.wikimedia.org/wiki/Wikimedia_projects: their exports have xml:lang="en" too
SISTER_HOST = re.compile(
    r"(?:.+\.)?(?:mediawiki|wiktionary|wiki(?:media|data|books|quote|source|news|versity|voyage|functions))\.org"
)
SISTER_DATABASE = re.compile(r"\w+wik(?:tionary|ibooks|iquote|isource|inews|iversity|ivoyage)")
NAMESPACES: Final = {"file_namespaces": 6, "category_namespaces": 14, "template_namespaces": 10}
SAID: Final = ("index", "wiki", *OTHER_NAMES)
REDIRECTS: Final = "redirects"  # said of any language, also of those with a table
# The magic words that put a picture in a block of its own: thumb, frame and the four places.
PLACES: Final = ("thumbnail", "framed", "left", "right", "center", "none")
INDEX = re.compile(r"https?://[^\s/?#@|]{1,255}/[^\s?#|]{0,255}")
LONGEST_NAME = 200  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """The local names of one Wikipedia.

    Names of templates, categories and namespaces have a capital first letter, and spaces in place of
    underscores. Bring a name into this form before you look it up.
    """

    code: str  # of the Wikipedia: en of en.wikipedia.org
    index: str = ""  # address of its index.php; empty: that of the Wikipedia of this code
    wiki: str = ""  # the name that the wiki gives itself; empty: Wikipedia
    good_category: str | None = None  # without its namespace; None if this Wikipedia has no Good articles
    featured_category: str | None = None
    good_marks: Names = ()  # templates in an article's own wikitext that mark it as Good
    featured_marks: Names = ()
    disambiguation_marks: Names = ()
    copied_summary: str = ""  # pattern of summaries of edits that name the page whose text was copied
    stub_marks: Names = ()  # templates of articles that are too short; * is for any characters
    list_title_prefixes: Names = ()  # a title that begins like this is a list: "List of "
    list_title_suffixes: Names = ()  # in languages where the word for a list comes last
    file_namespaces: Names = ("File", "Image")  # all names of the namespace of pictures
    category_namespaces: Names = ("Category",)
    template_namespaces: Names = ("Template",)
    redirect_words: Names = ("REDIRECT",)  # after the #
    removed_sections: Names = ()  # exact headings of the sections that are mostly lists
    switches: Names = ()  # behaviour switches between double underscores, other than the English ones
    picture_options: Names = ()  # options that put a picture in a block of its own, such as thumb
    # Of fields, if not the usual ones.
    sources: Mapping[str, str] = field(default_factory=dict, compare=False)
    # Names of templates that the wiki says lead to one that we know: see `known_redirects`.
    redirects: Mapping[str, str] = field(default_factory=dict, compare=False)

    @classmethod
    def from_table(cls, code: str, table: Mapping[str, Any]) -> Language:
        """Make a language from names in a table, as in `languages.toml`; what is absent is as in English.

        >>> Language.from_table("cs", {"file_namespaces": ["Soubor", "File", "Image"]}).file_namespaces
        ('Soubor', 'File', 'Image')
        """
        kinds = {field.name: str(field.type) for field in fields(cls) if field.name != "code"}
        expected = {"Names": list, "Mapping[str, str]": dict}
        for name, value in table.items():
            if name not in kinds:
                raise BuilderError(f"language {code}: unknown name {name!r}; use one of {', '.join(kinds)}")
            inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
            fits = isinstance(value, expected.get(kinds[name], str))
            if not fits or not all(isinstance(text, str) for text in inner):
                raise BuilderError(f"language {code}: {name} is {value!r}, expected {kinds[name]}")
        lists = {name: tuple(value) for name, value in table.items() if isinstance(value, list)}
        return cls(code=code, **{**table, **lists})

    @property
    def text_language(self) -> str:
        """The language of its pages; those of `simple` are in English, with the English templates."""
        return "en" if self.code == "simple" else self.code

    @property
    def is_english(self) -> bool:
        """True if its pages are in English."""
        return self.text_language == "en"

    @property
    def index_address(self) -> str:
        """The address of the wiki's index.php, which shows pages and revisions."""
        return self.index or f"https://{self.code}.wikipedia.org/w/index.php"

    @property
    def categories(self) -> Names:
        """The categories of Good and of Featured articles, if the Wikipedia has them."""
        return tuple(name for name in (self.good_category, self.featured_category) if name is not None)


def _lines(name: str) -> list[str]:
    text = (files("wikitext_builder.wiki") / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if not line.startswith("#")]


def _with_other_names(code: str, cells: list[str]) -> Language:
    english = Language(code=code)
    given: dict[str, Any] = {
        name: (*filter(None, cell.split("|")), *getattr(english, name))
        for name, cell in zip(OTHER_NAMES, cells, strict=True)
    }
    return replace(english, **given)


LANGUAGES: dict[str, Language] = {  # those with a table
    code: Language.from_table(code, table)
    for code, table in tomllib.loads("\n".join(_lines("languages.toml"))).items()
}
OTHERS: dict[str, Language] = {
    code: _with_other_names(code, cells)
    for code, *cells in (line.split("\t") for line in _lines("other_names.tsv"))
}
# Every code of a Wikipedia and its other codes → the code that we use.
CODES: dict[str, str] = {
    name: codes[0] for codes in map(str.split, _lines("wikipedias.txt")) for name in codes
}


def language_of(code: str | Language) -> Language:
    """Return the local names of one Wikipedia, as far as they are known without asking it.

    >>> language_of("yue").code, language_of("ca").file_namespaces
    ('zh-yue', ('Fitxer', 'Imatge', 'File', 'Image'))
    >>> language_of("por").code, language_of("pt-BR").code, language_of("zh-Hant-TW").code
    ('pt', 'pt', 'zh')
    """
    if isinstance(code, Language):
        return code
    tag = TAG.fullmatch(code)
    if (known := CODES.get(code.lower()) or (CODES.get(tag[1].lower()) if tag else None)) is None:
        near = get_close_matches(code.lower(), {*CODES.values()}, n=5, cutoff=0.5) or ["en", "de", "simple"]
        raise BuilderError(
            f"--language {code} is unknown; expected the code of a Wikipedia, such as {', '.join(near)}"
        )
    return LANGUAGES.get(known) or OTHERS.get(known) or Language(code=known)


def code_of_language(lang: str) -> str:
    """Return the code of the Wikipedia of a language as MediaWiki calls it; a variant is of its language.

    >>> code_of_language("en-GB"), code_of_language("nb"), code_of_language("zh-yue"), code_of_language("tlh")
    ('en', 'no', 'zh-yue', 'tlh')
    """
    name = lang.lower()
    return CODES.get(name) or CODES.get(name.partition("-")[0]) or lang


def code_of_wiki(base: str, dbname: str, lang: str) -> str:
    """Return the code of a Wikipedia by its address or database; of a private wiki the language of its texts.

    For a sister project of Wikipedia it is the name of its database, which is the code of no Wikipedia.

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
    except ValueError:  # it is no address
        host = ""
    if wikipedia := WIKIPEDIA_HOST.fullmatch(host):
        return CODES.get(wikipedia[1], wikipedia[1])
    if SISTER_HOST.fullmatch(host) or SISTER_DATABASE.fullmatch(dbname):
        return dbname or host
    if not base and dbname.endswith("wiki") and dbname != "wiki":
        code = dbname.removesuffix("wiki").replace("_", "-")
        return CODES.get(code, code)
    return code_of_language(lang)


# --- what a wiki says of itself


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


def with_first(text: str, *, upper: bool) -> str:
    """A text with its first letter in upper or lower case, as MediaWiki writes it.

    >>> [with_first(text, upper=True) for text in ("été", "ßx", "თბ")]  # Georgian titles have no capitals
    ['Été', 'ßx', 'თბ']
    """
    first = text[:1]
    cased = first.lower() if not upper else first if first.title() == first else first.upper()
    return cased + text[1:] if len(cased) == 1 else text  # MediaWiki leaves `ß`: no `SS`
