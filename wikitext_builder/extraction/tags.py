"""HTML in wikitext: hidden content and content that is not running text is removed, the rest stays."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wikitext_builder.extraction.listing import listed
from wikitext_builder.extraction.markers import BREAK, SEAM

TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)(?=[\s/>])([^<>]*)>")
MAX_ATTRIBUTES = 1_000  # characters looked at: the search for a class takes quadratic time
REMOVED = frozenset(["table", "style", "script"])
# By class or style: tables' kin, marks for editors, pictures and what no reader sees.
REMOVED_ATTRIBUTES = re.compile(
    r"""display\s*:\s*none|class\s*=\s*["']?[^"'>]*\b(?:"""
    r"navbox|infobox|metadata|noprint|thumb|thumbinner|sortkey|gallery|error|toccolours|"
    r"geo-nondefault|geo-multi-punct|ambox|mw-editsection)\b",
    re.IGNORECASE,
)
BLOCKS = frozenset(
    listed(
        """
address; article; aside; blockquote; caption; center; dd; details; div; dl; dt; fieldset;
figcaption; figure; footer; form; h1; h2; h3; h4; h5; h6; header; hr; legend; li; main; nav; ol;
p; poem; pre; section; summary; table; tbody; td; tfoot; th; thead; tr; ul
"""
    )
)
INLINE = frozenset(
    listed(
        """
a; abbr; acronym; b; bdi; bdo; big; cite; code; data; del; dfn; em; embed; font; i; img; ins; kbd;
mark; nobr; onlyinclude; noinclude; includeonly; q; rb; rp; rt; rtc; ruby; s; samp; small; span;
strike; strong; sub; sup; time; tt; u; var; wbr; nowiki; ref; references; math; chem; ce; source;
syntaxhighlight; gallery; timeline; score; templatestyles; section; noexpand; input; label; o;
imagemap; graph; hiero; indicator; inputbox; mapframe; maplink; categorytree; charinsert; style;
script
"""
    )
)

APOSTROPHE_OR_TAG = frozenset("'<>")


def flatten_tags(text: str) -> str:
    r"""The text without HTML tags, and without the content of tags that contain no running text.

    >>> flatten_tags("H<sub>2</sub>O<span style='display:none'>key</span> <john> a<hr>b")
    'H2O <john> a\n\nb'
    """
    if "<" not in text:
        return text
    return "".join(_pieces(text, list(TAG.finditer(text))))


def _pieces(text: str, tags: list[re.Match[str]]) -> Iterator[str]:
    position = index = 0
    poem = 0
    unclosed: set[str] = set()
    while index < len(tags):
        tag = tags[index]
        piece = text[position : tag.start()]
        yield piece.replace("\n", BREAK) if poem else piece
        name = tag[2].lower()
        position = tag.end()
        if name == "poem":
            poem += -1 if tag[1] else 1
            poem = max(poem, 0)
        end = None if name in unclosed or not _is_removed(tag, name) else _closing_index(tags, index, name)
        if end is None:
            unclosed.update([name] if _is_removed(tag, name) else [])
            yield _text_of(tag, name) or _seam(text, tag)
        else:
            position, index = tags[end].end(), end
            yield "\n\n" if name in BLOCKS else ""
        index += 1
    yield text[position:]


def _is_removed(tag: re.Match[str], name: str) -> bool:
    if tag[1] or tag[3].endswith("/"):
        return False
    return name in REMOVED or bool(tag[3] and REMOVED_ATTRIBUTES.search(tag[3][:MAX_ATTRIBUTES]))


def _closing_index(tags: list[re.Match[str]], index: int, name: str) -> int | None:
    """Where the tag that closes another stands, those inside it counted; None if nothing closes it."""
    depth = 0
    for position in range(index, len(tags)):
        if tags[position][2].lower() == name and not tags[position][3].endswith("/"):
            depth += -1 if tags[position][1] else 1
            if depth == 0:
                return position
    return None


def _seam(text: str, tag: re.Match[str]) -> str:
    """A mark where a tag parts apostrophes, alone or among other tags: `''n''<sub>''i''</sub>`."""
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
