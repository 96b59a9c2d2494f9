"""Reads links, and removes tags, tables, and HTML whose content is hidden or not running text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import groupby
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

# MediaWiki's $wgUrlProtocols; a link has an address after the protocol.
PROTOCOL = (
    r"(?:(?:https?|ftps?|ircs?|git|svn|gopher|mms|nntp|redis|sftp|ssh|telnet|worldwind)://|"
    r"(?:bitcoin|geo|magnet|mailto|matrix|news|sips?|sms|tel|urn|xmpp):|//)"
)
EXTERNAL = re.compile(rf"\[{PROTOCOL}[^\s\[\]<>\"]+[ \t\xa0]*([^\]\n]*)\]", re.IGNORECASE)
LABELLED = re.compile(rf"{PROTOCOL}\S+[ \t]", re.IGNORECASE)
PIPE_TRICK = re.compile(r"^:?(?:[^:]*:)?(.*?)(?: ?\([^()]*\)|, .*)?$", re.DOTALL)

# Codes of Wikipedias: a link to one of them appears in the margin of the page, unless it begins with a colon.
WIKIPEDIA_CODES = frozenset(words("interlanguage"))

# Options that make a picture a block: thumb, frame and the four places, in every language.
BLOCK_PICTURE_OPTIONS = frozenset(option for wiki in LANGUAGES.values() for option in wiki.picture_options)


class LinkReader:
    """Reads the internal links of one Wikipedia; call it with the parts between the bars."""

    def __init__(self, language: Language) -> None:
        english = LANGUAGES["en"]  # English names work on every Wikipedia
        files = language.file_namespaces + english.file_namespaces
        categories = language.category_namespaces + english.category_namespaces
        self.file_namespaces = frozenset(map(str.lower, files))
        self.category_namespaces = frozenset(map(str.lower, categories))
        self.block_options = BLOCK_PICTURE_OPTIONS.union(language.picture_options)

    def __call__(self, parts: list[str]) -> str:
        """Return the text that a link shows in its sentence.

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
            if prefix in self.file_namespaces:
                options = (part.partition("=")[0].strip() for part in parts[1:])
                return GONE if self.block_options.isdisjoint(options) else BLOCK
            if prefix in self.category_namespaces or prefix in WIKIPEDIA_CODES:
                return MARGIN
        if len(parts) == 1:
            if (":" in target or target[:2] == "//") and LABELLED.match(parts[0]):
                return f"[[{parts[0]}]]"  # an external link in brackets of the text
            text = parts[0].strip().lstrip(":").strip()  # MediaWiki shows underscores
            return _unquoted(text) if "%" in text else text
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
        return prefix.strip().replace("_", " ").lower() in self.file_namespaces


def _unquoted(target: str) -> str:
    """Return a target with percent encoding as a title, if a page can have that title."""
    title = unquote(target)
    return target if title_fault(title) or "\ufffd" in title else title


def _not_a_link(parts: list[str]) -> str:
    """Return double brackets as text: they hold no title, but perhaps an external link."""
    text = "|".join(parts)
    if re.match(PROTOCOL, text.strip(), re.IGNORECASE):
        return f"[{text}]"
    return f"[[{text}]]"


def replace_external_links(text: str) -> str:
    r"""Return the text with external links replaced by their labels; a link without one shows only a number.

    >>> replace_external_links("see [http://example.org the map], [http://example.org] or http://example.org")
    'see the map, \x02 or http://example.org'
    """
    return "\n".join(_with_labels(line) if "[" in line else line for line in text.split("\n"))


def _with_labels(line: str) -> str:
    end = line.rfind("]") + 1  # no link ends after the last bracket: the rest of a long line is not searched
    return EXTERNAL.sub(lambda match: add_seams(match[1].strip()) or GONE, line[:end]) + line[end:]


def own_categories(wikitext: str, language: str | Language = "en") -> tuple[str, ...]:
    """Return the different categories in a page's wikitext, without their namespace, in order.

    Categories that templates add are missing: only the wiki knows them.

    >>> own_categories("Tea [[:Category:Drinks]] [[Category:tea_culture|*]] <!-- [[Category:Old]] -->")
    ('Tea culture',)
    """
    link = _category_link(language_of(language))
    names = (tidy_title(match[1]) for match in link.finditer(without_comments_and_verbatim(wikitext)))
    return tuple(dict.fromkeys(with_first(name, upper=True) for name in names if not title_fault(name)))


@cache
def _category_link(language: Language) -> re.Pattern[str]:
    """Return a pattern for links to categories; lengths are bounded, so that a search takes linear time."""
    names = dict.fromkeys((*language.category_namespaces, "Category"))
    namespace = "|".join(re.escape(name) for name in names)
    space, name, sort_key = r"[ _\t]{0,9}", r"([^\[\]{}|<>#\n]{1,300})", r"(?:\|[^\[\]]{0,300})?"
    return re.compile(rf"\[\[{space}(?:{namespace}){space}:{name}{sort_key}\]\]", re.IGNORECASE)


TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)(?=[\s/>])([^<>]*)>")
REMOVED_TAGS = frozenset(["table", "style", "script"])
HIDING_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
CLASS_ATTRIBUTE = re.compile(r"class\s*=\s*[\"']?", re.IGNORECASE)
QUOTE_OR_END = re.compile(r"[\"']|\Z")
# Classes of boxes, notes for editors, pictures and hidden text.
REMOVED_CLASS = re.compile(
    r"\b(?:navbox|infobox|metadata|noprint|thumb|thumbinner|sortkey|gallery|error|toccolours|"
    r"refbegin|templatequotecite|geo-nondefault|geo-multi-punct|ambox|mw-editsection)\b",
    re.IGNORECASE,
)
BLOCK_TAGS = frozenset(words("block tags"))
INLINE_TAGS = frozenset(words("inline tags"))

# A line with such a tag is not in the paragraphs around it (MediaWiki's `BlockLevelPass`).
LINE_TAG = re.compile(r"</?(?:blockquote|center|div)\b", re.IGNORECASE)
APOSTROPHE_OR_TAG = frozenset("'<>")


def flatten_tags(text: str) -> str:
    r"""Return the text without HTML tags, and without the content of tags that contain no running text.

    >>> flatten_tags("H<sub>2</sub>O<span style='display:none'>key</span> <john> a<hr>b")
    'H2O <john> a\n\nb'
    """
    if LINE_TAG.search(text):
        by_tag = groupby(text.split("\n"), lambda line: LINE_TAG.search(line) is not None)
        text = "\n\n".join("\n".join(lines) for _, lines in by_tag)
    return "".join(_flattened(text, list(TAG.finditer(text))))


def _flattened(text: str, tags: list[re.Match[str]]) -> Iterator[str]:
    """Yield the pieces of text that stay between these tags."""
    position = index = 0
    open_poems = 0
    unclosed_names: set[str] = set()  # do not search for their closing tags again
    closing: dict[int, int] | None = None
    while index < len(tags):
        tag = tags[index]
        piece = text[position : tag.start()]
        yield piece.replace("\n", BREAK) if open_poems else piece
        name = tag[2].lower()
        position = tag.end()
        if name == "poem":
            open_poems = max(open_poems + (-1 if tag[1] else 1), 0)
        is_removed = _is_removed(tag, name)
        closing_index = None
        if is_removed and name not in unclosed_names:
            closing = _closing_indices(tags) if closing is None else closing
            closing_index = closing.get(index)
        if closing_index is None:
            unclosed_names.update([name] if is_removed else [])
            yield _text_of(tag, name) or _seam(text, tag)
        else:
            position, index = tags[closing_index].end(), closing_index
            yield "\n\n" if name in BLOCK_TAGS else ""
        index += 1
    yield text[position:]


def _is_removed(tag: re.Match[str], name: str) -> bool:
    if tag[1] or tag[3].endswith("/"):
        return False
    return name in REMOVED_TAGS or _remove_content(tag[3])


def _remove_content(attributes: str) -> bool:
    """Return True if the attributes hide a tag, or give it a class whose content is not running text."""
    if HIDING_STYLE.search(attributes):
        return True
    if not REMOVED_CLASS.search(attributes):
        return False
    end = -1
    for opening in CLASS_ATTRIBUTE.finditer(attributes):
        if opening.end() <= end:  # inside a value that was searched
            continue
        end = QUOTE_OR_END.search(attributes, opening.end()).start()  # type: ignore[union-attr]  # matches the end
        if REMOVED_CLASS.search(attributes, opening.end(), end):
            return True
    return False


def _closing_indices(tags: list[re.Match[str]]) -> dict[int, int]:
    """Return the index of the closing tag by the index of each tag that has one; tags may be nested."""
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
    if name in BLOCK_TAGS:
        return "\n\n"
    if name == "q":
        return '"'
    return "" if name in INLINE_TAGS else tag[0]


TABLE_START = re.compile(r"[ \t:*#;]*\{\|")
TABLE_END = re.compile(r"[ \t]*\|\}")
HEADING = re.compile(r"={2,6}[^=].*=[ \t]*$")
# A row of a table that a template began: only tables have such a start of a line.
STRAY_ROW = re.compile(
    r"[ \t]*(?:\|-|[|!] ?(?:align|style|rowspan|colspan|width|scope|class|bgcolor|valign|nowrap)\b|"
    r"![^!].*!!|\|.*\|\|)"
)


# Lines of a table begin with these: rows, cells, and templates, which may stand for rows and cells.
TABLE_LINE_STARTS = ("|", "!", BOX, GONE, UNKNOWN_START)


def remove_tables(text: str) -> str:
    r"""Return the text without its tables, also those that a template began.

    Text before the first cell of a row stays: browsers show it above the table. A table that is never closed
    ends at the first blank line after its last row or cell before the next heading.

    >>> remove_tables("a\n{| class=x\n|-\n| b\n{|\n| c\n|}\n|} d\ne").split()
    ['a', 'd', 'e']
    >>> remove_tables("{|\n* a\n|}\n{|\n|b\n\nc").split()
    ['*', 'a', 'c']
    """
    if "|" not in text:
        return text
    lines = text.split("\n")
    kept: list[str] = []
    in_cells: list[bool] = []  # for each open table, True after the first cell of a row
    cell_depth = start = 0  # the number of open tables that are True, and the line of the outermost
    for index, line in enumerate(lines):
        if TABLE_START.match(line):
            start = start if in_cells else index
            in_cells.append(False)
        elif (end := TABLE_END.match(line)) is not None:
            cell_depth -= in_cells.pop() if in_cells else 0
            if not in_cells:
                kept += ["", line[end.end() :]]
        elif in_cells and HEADING.match(line):
            kept += [*_after_rows(lines[start:index]), line]
            in_cells, cell_depth = [], 0
        elif in_cells:
            bare = line.lstrip()
            is_new_row = bare.startswith("|-")
            before = in_cells[-1]
            in_cells[-1] = not is_new_row and (before or bare.startswith(TABLE_LINE_STARTS))
            cell_depth += in_cells[-1] - before
            if not cell_depth:
                kept.append("" if is_new_row else line)
        elif "|" in line and STRAY_ROW.match(line):
            start, in_cells, cell_depth = index, [True], 1
        else:
            kept.append(line)
    if in_cells:
        kept += _after_rows(lines[start:])
    return "\n".join(kept)


def _after_rows(lines: list[str]) -> list[str]:
    """Return what follows the last row or cell of an unclosed table, from a blank line or a template on."""
    rows = (index for index, line in enumerate(lines) if line.lstrip().startswith(("|", "!", "{|")))
    end = max(rows, default=0) + 1
    while end < len(lines) and lines[end].strip() and not lines[end].startswith(BOX):
        end += 1
    return ["", *lines[end:]]
