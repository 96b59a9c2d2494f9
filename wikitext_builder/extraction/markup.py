"""Reads links, and removes tables and HTML whose content is hidden or not running text; the rest stays."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import chain, pairwise
from urllib.parse import unquote

from wikitext_builder.extraction.macros import words
from wikitext_builder.extraction.markers import (
    BLOCK,
    BOX,
    BREAK,
    GONE,
    MARGIN,
    SEAM,
    UNKNOWN_START,
    add_seams,
)
from wikitext_builder.wiki.classify import tidy_title, title_fault, without_comments_and_verbatim
from wikitext_builder.wiki.languages import LANGUAGES, Language, language_of, with_first

# Those of MediaWiki's $wgUrlProtocols; a link needs an address after one.
PROTOCOL = (
    r"(?:(?:https?|ftps?|ircs?|git|svn|gopher|mms|nntp|redis|sftp|ssh|telnet|worldwind)://|"
    r"(?:bitcoin|geo|magnet|mailto|matrix|news|sips?|sms|tel|urn|xmpp):|//)"
)
EXTERNAL = re.compile(rf"\[{PROTOCOL}[^\s\[\]<>\"]+[ \t\xa0]*([^\]\n]*)\]", re.IGNORECASE)
LABELLED = re.compile(rf"{PROTOCOL}\S+[ \t]", re.IGNORECASE)
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
        self.set_apart = SET_APART.union(language.picture_options)

    def __call__(self, parts: list[str]) -> str:
        """Return the text of a link in its sentence.

        >>> read = LinkReader(LANGUAGES["en"])
        >>> read(["Tokyo", "the city"]), read(["Mercury (planet)", ""]), read([":Category:Cities"])
        ('the city', 'Mercury', 'Category:Cities')
        >>> read(["Caf%C3%A9"]), read(["100% free"]), read(["a%0A= b ="]), read(["%E9"])
        ('Café', '100% free', 'a%0A= b =', '%E9')
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
                names = (option.partition("=")[0].strip() for option in parts[1:])
                return BLOCK if any(name in self.set_apart for name in names) else GONE
            if prefix in self.categories or prefix in INTERLANGUAGE:
                return MARGIN
        if len(parts) == 1:
            if (":" in target or target[:2] == "//") and LABELLED.match(parts[0]):
                return f"[[{parts[0]}]]"  # an external link in brackets of the text
            shown = parts[0].strip().lstrip(":").strip()  # underscores stay as in the page
            return _unquoted(shown) if "%" in shown else shown
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


def _unquoted(target: str) -> str:
    """A target that is written as in an address, if a page can have that title."""
    title = unquote(target)
    return target if title_fault(title) or "\ufffd" in title else title


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


def own_categories(wikitext: str, language: str | Language = "en") -> tuple[str, ...]:
    """Return the categories of a page, without their namespace, each once and in the order of the wikitext.

    Categories that templates add are not among them: only the wiki knows these.

    >>> own_categories("Tea [[:Category:Drinks]] [[Category:tea_culture|*]] <!-- [[Category:Old]] -->")
    ('Tea culture',)
    """
    link = _category_link(language_of(language))
    names = (tidy_title(match[1]) for match in link.finditer(without_comments_and_verbatim(wikitext)))
    return tuple(dict.fromkeys(with_first(name, upper=True) for name in names if not title_fault(name)))


@cache
def _category_link(language: Language) -> re.Pattern[str]:
    """Return a link to a category; the lengths are bounded, so that a search is linear."""
    names = dict.fromkeys((*language.category_namespaces, "Category"))
    namespace = "|".join(re.escape(name) for name in names)
    space, name, sort_key = r"[ _\t]{0,9}", r"([^\[\]{}|<>#\n]{1,300})", r"(?:\|[^\[\]]{0,300})?"
    return re.compile(rf"\[\[{space}(?:{namespace}){space}:{name}{sort_key}\]\]", re.IGNORECASE)


TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)(?=[\s/>])([^<>]*)>")
REMOVED = frozenset(["table", "style", "script"])
HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
CLASS = re.compile(r"class\s*=\s*[\"']?", re.IGNORECASE)
QUOTE_OR_END = re.compile(r"[\"']|\Z")
# Boxes, marks for editors, pictures and hidden text.
REMOVED_CLASS = re.compile(
    r"\b(?:navbox|infobox|metadata|noprint|thumb|thumbinner|sortkey|gallery|error|toccolours|"
    r"refbegin|templatequotecite|geo-nondefault|geo-multi-punct|ambox|mw-editsection)\b",
    re.IGNORECASE,
)
BLOCKS = frozenset(words("block tags"))
INLINE = frozenset(words("inline tags"))

# With such a tag, a line is not in the paragraphs around it (MediaWiki's `BlockLevelPass`).
APART = re.compile(r"</?(?:blockquote|center|div)\b", re.IGNORECASE)
APOSTROPHE_OR_TAG = frozenset("'<>")


def flatten_tags(text: str) -> str:
    r"""Return the text without HTML tags, and without the content of tags that contain no running text.

    >>> flatten_tags("H<sub>2</sub>O<span style='display:none'>key</span> <john> a<hr>b")
    'H2O <john> a\n\nb'
    """
    if "<" not in text:
        return text
    if APART.search(text):
        text = _apart(text)
    return "".join(_pieces(text, list(TAG.finditer(text))))


def _apart(text: str) -> str:
    """Return the text with blank lines between lines that have a tag of APART and those that have none."""
    lines = text.split("\n")
    apart = [APART.search(line) is not None for line in lines]
    ends = ("\n" if one == other else "\n\n" for one, other in pairwise(apart))
    return "".join(chain.from_iterable(zip(lines, chain(ends, [""]), strict=True)))


def _pieces(text: str, tags: list[re.Match[str]]) -> Iterator[str]:
    position = index = 0
    poem = 0
    unclosed: set[str] = set()
    closing: dict[int, int] | None = None
    while index < len(tags):
        tag = tags[index]
        piece = text[position : tag.start()]
        yield piece.replace("\n", BREAK) if poem else piece
        name = tag[2].lower()
        position = tag.end()
        if name == "poem":
            poem += -1 if tag[1] else 1
            poem = max(poem, 0)
        removed = _is_removed(tag, name)
        end = None
        if removed and name not in unclosed:
            closing = _closing_indices(tags) if closing is None else closing
            end = closing.get(index)
        if end is None:
            unclosed.update([name] if removed else [])
            yield _text_of(tag, name) or _seam(text, tag)
        else:
            position, index = tags[end].end(), end
            yield "\n\n" if name in BLOCKS else ""
        index += 1
    yield text[position:]


def _is_removed(tag: re.Match[str], name: str) -> bool:
    if tag[1] or tag[3].endswith("/"):
        return False
    return name in REMOVED or _are_removed(tag[3])


def _are_removed(attributes: str) -> bool:
    """Return True if the attributes hide a tag, or give it a class whose content is not running text."""
    if HIDDEN.search(attributes):
        return True
    if not REMOVED_CLASS.search(attributes):
        return False
    end = -1
    for opening in CLASS.finditer(attributes):
        if opening.end() <= end:  # inside a value that was searched
            continue
        end = QUOTE_OR_END.search(attributes, opening.end()).start()  # type: ignore[union-attr]  # matches the end
        if REMOVED_CLASS.search(attributes, opening.end(), end):
            return True
    return False


def _closing_indices(tags: list[re.Match[str]]) -> dict[int, int]:
    """For the index of each tag that is closed, the index of its closing tag; nested tags match too."""
    closing: dict[int, int] = {}
    opened: dict[str, list[int]] = {}
    for index, tag in enumerate(tags):
        if tag[3].endswith("/"):
            continue
        stack = opened.setdefault(tag[2].lower(), [])
        if not tag[1]:
            stack.append(index)
        elif stack:
            closing[stack.pop()] = index
    return closing


def _seam(text: str, tag: re.Match[str]) -> str:
    """Return a mark if a tag separates apostrophes, alone or next to other tags: `''n''<sub>''i''</sub>`."""
    before, after = text[tag.start() - 1 : tag.start()], text[tag.end() : tag.end() + 1]
    return SEAM if before in APOSTROPHE_OR_TAG and after in APOSTROPHE_OR_TAG else ""


def _text_of(tag: re.Match[str], name: str) -> str:
    if name == "br":
        return BREAK
    if name in BLOCKS:
        return "\n\n"
    if name == "q":
        return '"'
    return "" if name in INLINE else tag[0]


START = re.compile(r"[ \t:*#;]*\{\|")
END = re.compile(r"[ \t]*\|\}")
HEADING = re.compile(r"={2,6}[^=].*=[ \t]*$")
# A row of a table that a template began: only tables have these at the start of a line.
STRAY_ROW = re.compile(
    r"[ \t]*(?:\|-|[|!] ?(?:align|style|rowspan|colspan|width|scope|class|bgcolor|valign|nowrap)\b|"
    r"![^!].*!!|\|.*\|\|)"
)


# Lines of a table: rows, cells, and templates, which may stand for rows and cells.
TABLE_LINE = ("|", "!", BOX, GONE, UNKNOWN_START)


def remove_tables(text: str) -> str:
    r"""Return the text without its tables, also those that a template began.

    Text before the first cell of a row is not in the table: browsers show it above. A table that is never
    closed ends with its last line of rows and cells before the next heading, at the next blank line.

    >>> remove_tables("a\n{| class=x\n|-\n| b\n{|\n| c\n|}\n|} d\ne").split()
    ['a', 'd', 'e']
    >>> remove_tables("{|\n* a\n|}\n{|\n|b\n\nc").split()
    ['*', 'a', 'c']
    """
    if "|" not in text:
        return text
    lines = text.split("\n")
    kept: list[str] = []
    cells: list[bool] = []  # of each open table: True after the first cell of a row
    inside = start = 0  # how many of them are True; the first line of the outermost table
    for index, line in enumerate(lines):
        if START.match(line):
            start = start if cells else index
            cells.append(False)
        elif (end := END.match(line)) is not None:
            inside -= cells.pop() if cells else 0
            if not cells:
                kept += ["", line[end.end() :]]
        elif cells and HEADING.match(line):
            kept += [*_after_rows(lines[start:index]), line]
            cells, inside = [], 0
        elif cells:
            bare = line.lstrip()
            new_row = bare.startswith("|-")
            before, cells[-1] = cells[-1], not new_row and (cells[-1] or bare.startswith(TABLE_LINE))
            inside += cells[-1] - before
            if not inside:
                kept.append("" if new_row else line)
        elif "|" in line and STRAY_ROW.match(line):
            start, cells, inside = index, [True], 1
        else:
            kept.append(line)
    if cells:
        kept += _after_rows(lines[start:])
    return "\n".join(kept)


def _after_rows(lines: list[str]) -> list[str]:
    """What follows the last row or cell of an unclosed table, from a blank line or a template on."""
    rows = (index for index, line in enumerate(lines) if line.lstrip().startswith(("|", "!", "{|")))
    last = max(rows, default=0)
    after = range(last + 1, len(lines))
    end = next((at for at in after if not lines[at].strip() or lines[at].startswith(BOX)), len(lines))
    return ["", *lines[end:]]
