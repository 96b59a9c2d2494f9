"""Reads links: their text, in or out of a sentence, and the categories that they name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from wikitext_builder.extraction.lookups import words
from wikitext_builder.extraction.markers import BLOCK, GONE, MARGIN, add_seams
from wikitext_builder.wiki.classify import without_comments_and_verbatim
from wikitext_builder.wiki.languages import LANGUAGES, Language, language_of
from wikitext_builder.wiki.titles import tidy_title, title_fault

# Those of MediaWiki's $wgUrlProtocols; a link needs an address after one.
PROTOCOL = (
    r"(?:(?:https?|ftps?|ircs?|git|svn|gopher|mms|nntp|redis|sftp|ssh|telnet|worldwind)://|"
    r"(?:bitcoin|geo|magnet|mailto|matrix|news|sips?|sms|tel|urn|xmpp):|//)"
)
EXTERNAL = re.compile(rf"\[{PROTOCOL}[^\s\[\]<>\"]+[ \t\xa0]*([^\]\n]*)\]", re.IGNORECASE)
PIPE_TRICK = re.compile(r"^:?(?:[^:]*:)?(.*?)(?: ?\([^()]*\)|, .*)?$", re.DOTALL)

# Codes of Wikipedias: a link to one of them without a leading colon appears in the margin of the page.
INTERLANGUAGE = frozenset(words("interlanguage"))

# Options with which MediaWiki puts a picture in a block of its own: thumb, frame and the four places, in each
# language.
SET_APART = frozenset(option for one in LANGUAGES.values() for option in one.picture_options)


class LinkReader:
    """Reads the internal links of one Wikipedia. Called with the parts between the bars."""

    def __init__(self, language: Language) -> None:
        english = LANGUAGES["en"]  # English names work on every Wikipedia
        self.files = frozenset(map(str.lower, language.file_namespaces + english.file_namespaces))
        categories = language.category_namespaces + english.category_namespaces
        self.categories = frozenset(map(str.lower, categories))

    def __call__(self, parts: list[str]) -> str:
        """Return the text of a link in its sentence.

        >>> read = LinkReader(LANGUAGES["en"])
        >>> read(["Tokyo", "the city"]), read(["Mercury (planet)", ""]), read([":Category:Cities"])
        ('the city', 'Mercury', 'Category:Cities')
        >>> read(["File:a.jpg", "thumb", "A caption"]) == BLOCK, read(["File:a.jpg", "9px"]) == GONE
        (True, True)
        >>> read(["de:Tokio"]) == MARGIN
        True
        """
        if len(parts) == 1 and "|" in parts[0]:  # the bar comes from {{!}}
            parts = parts[0].split("|")
        target = parts[0].strip().replace("_", " ")
        if not target or "\n" in parts[0] or target.startswith("["):
            return _not_a_link(parts)
        if ":" in target:
            prefix = target.partition(":")[0].strip().lower()
            if prefix in self.files:
                return BLOCK if _is_set_apart(parts[1:]) else GONE
            if prefix in self.categories or prefix in INTERLANGUAGE:
                return MARGIN
        if len(parts) == 1:
            return parts[0].strip().lstrip(":").strip()  # underscores stay as in the page
        label = parts[1] if len(parts) == 2 else "|".join(parts[1:])
        if label.strip():
            return add_seams(label) if "'" in label else label
        match = PIPE_TRICK.match(target)
        return match[1] if match else target

    def is_picture(self, target: str) -> bool:
        """Return True if a link with this target is a picture; its caption follows the first bar."""
        prefix, colon, _ = target.partition(":")
        if not colon or "\n" in target:
            return False
        return prefix.strip().replace("_", " ").lower() in self.files


def _is_set_apart(options: list[str]) -> bool:
    return any(option.partition("=")[0].strip() in SET_APART for option in options)


def _not_a_link(parts: list[str]) -> str:
    """Double brackets around what cannot be a title are text; an external link in them is still a link."""
    text = "|".join(parts)
    if re.match(PROTOCOL, text.strip(), re.IGNORECASE):
        return f"[{text}]"
    return f"[[{text}]]"


def replace_external_links(text: str) -> str:
    r"""Return the text with labels in place of external links; a link without one shows only a number.

    >>> replace_external_links("see [http://example.org the map], [http://example.org] or http://example.org")
    'see the map, \x02 or http://example.org'
    """
    if "//" not in text and ":" not in text:
        return text
    # A label ends at the next bracket in its line: after the last bracket there is nothing to search.
    return "\n".join(_links_of_line(line) if "[" in line else line for line in text.split("\n"))


def _links_of_line(line: str) -> str:
    last = line.rfind("]") + 1
    return EXTERNAL.sub(lambda match: add_seams(match[1].strip()) or GONE, line[:last]) + line[last:]


def own_categories(wikitext: str, language: str = "en") -> tuple[str, ...]:
    """Return the categories of a page, without their namespace, each once and in the order of the wikitext.

    Categories that templates add are not among them: only the wiki knows these.

    Raises:
        BuilderError: The language is unknown.

    >>> own_categories("Tea [[:Category:Drinks]] [[Category:tea_culture|*]] <!-- [[Category:Old]] -->")
    ('Tea culture',)
    """
    return tuple(dict.fromkeys(_category_names(wikitext, _category_link(language))))


def _category_names(wikitext: str, link: re.Pattern[str]) -> Iterator[str]:
    for match in link.finditer(without_comments_and_verbatim(wikitext)):
        name = tidy_title(match[1])
        if name and not title_fault(name):
            yield name[0].upper() + name[1:]


@cache
def _category_link(language: str) -> re.Pattern[str]:
    """Return a link to a category; the lengths are bounded, so that a search is linear."""
    names = dict.fromkeys((*language_of(language).category_namespaces, "Category"))
    namespace = "|".join(re.escape(name) for name in names)
    space, name, sort_key = r"[ _\t]{0,9}", r"([^\[\]{}|<>#\n]{1,300})", r"(?:\|[^\[\]]{0,300})?"
    return re.compile(rf"\[\[{space}(?:{namespace}){space}:{name}{sort_key}\]\]", re.IGNORECASE)
