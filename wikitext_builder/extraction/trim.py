"""Cuts comments, references, galleries and similar tags from wikitext in one pass, before all other steps."""

from __future__ import annotations

import re

from wikitext_builder.errors import RejectedError
from wikitext_builder.extraction.macros import words
from wikitext_builder.extraction.markers import BLOCK, GONE, SEAM
from wikitext_builder.limits import WIKITEXT_BYTES
from wikitext_builder.wiki.classify import ClosingTags

# Extension tags whose content is not running text.
REMOVED_TAGS = frozenset(words("extension tags removed"))
# MediaWiki removes these, and comments (an empty name), before it looks at lines.
INVISIBLE_TAGS = frozenset({"", "includeonly"})
# These are a block on the page, and close the paragraph.
BLOCK_EXTENSIONS = frozenset(words("extension blocks"))
# Extension tags whose content is not wikitext: nothing inside them is markup.
OPAQUE_TAGS = frozenset(["ce", "chem", "math", "nowiki", "pre", "source", "syntaxhighlight"])

CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
ASCII_CONTROLS = bytes([*range(9), 11, 12, *range(14, 32), 127])
OTHER_CONTROLS = re.compile(
    rb"\xc2[\x80-\x9f]|\xed[\xa0-\xbf]|\xef\xbf[\xbe\xbf]"
)  # others of CONTROLS in UTF-8
OPENINGS, CLOSINGS = frozenset("([;,"), frozenset(")];,")
PUNCTUATION = frozenset(".,;:!?)")
LINE_START = frozenset({"", "\n"})  # the text before the first character of a line
_NAMES = "|".join(sorted(REMOVED_TAGS | OPAQUE_TAGS))
OPENING = re.compile(rf"<!--|<({_NAMES})(?=[\s/>])[^<>]*>", re.IGNORECASE)
# The tag of a reference without its last character: MediaWiki shows it, but it is an editor's slip. The
# quantifiers are possessive: without backtracking, a megabyte of spaces takes linear time.
UNENDED_TAG = re.compile(r"<ref\s++(?:name|group)\s*+=\s*+(?>\"[^\"<>\n]*+\"?|[^\s<>\"|{}]*)(?!\s*+/?>)")


def trim(wikitext: str) -> str:
    """Return the wikitext without control characters, comments and references; reject it if `too-large`.

    >>> trim("a<ref name=x>{{cite|b}}</ref> c<!-- d --><ref name=x /> <nowiki><ref></nowiki>")
    'a c <nowiki><ref></nowiki>'
    """
    encoded = wikitext.encode("utf-8", "surrogatepass")
    if len(encoded) > WIKITEXT_BYTES:
        detail = f"{len(encoded)} bytes of wikitext, expected at most {WIKITEXT_BYTES}"
        raise RejectedError("too-large", detail)
    text = wikitext.replace("\r\n", "\n").replace("\r", "\n") if "\r" in wikitext else wikitext
    if _has_controls(encoded):
        text = CONTROLS.sub("", text)
    kept = "".join(_kept_pieces(text))
    return UNENDED_TAG.sub("", kept) if "<ref" in kept else kept


def _has_controls(encoded: bytes) -> bool:
    """Return True if CONTROLS has a match; a search in bytes takes a tenth of the time."""
    rest = encoded.translate(None, delete=ASCII_CONTROLS)
    return len(rest) < len(encoded) or OTHER_CONTROLS.search(encoded) is not None


def _kept_pieces(text: str) -> list[str]:
    closing = ClosingTags(text)
    kept: list[str] = []
    position = 0
    match = OPENING.search(text)
    while match:
        start, end, keep = match.start(), *_extent(match, closing)
        name, before, after = (match[1] or "").lower(), text[start - 1 : start], text[end : end + 1]
        kept.append(text[position : end if keep else start])
        position = end
        if name in BLOCK_EXTENSIONS:
            # `select_sections` looks for the place of a list of references.
            kept.append(f"{BLOCK}{GONE}{BLOCK}" if name == "references" else BLOCK)
        elif name and not keep and before in OPENINGS and after in CLOSINGS:
            kept.append(GONE)  # `(<ref>…</ref>)`: the parentheses go too
        elif name and not keep and before == "'" == after:
            kept.append(SEAM)  # `''a''<ref>…</ref>''b''` is two texts in italics
        elif not keep and before in LINE_START and after == "\n":
            position += 1  # its line goes too: a blank line would end the paragraph
        elif name not in INVISIBLE_TAGS and not keep and before in LINE_START:
            kept.append(SEAM)  # as in MediaWiki, its line is running text: not blank, indented or a heading
        elif not keep and after in PUNCTUATION:
            close_gap(kept, " ,;" if after == ")" else " ")
            if after == "," and kept and kept[-1].endswith(","):
                position += 1  # of commas on both sides of a reference, one is an editor's slip
        match = OPENING.search(text, position)
    return [*kept, text[position:]]


def close_gap(kept: list[str], chars: str) -> None:
    """Remove these characters from the end: the space before a reference that punctuation follows."""
    while kept and not (stripped := kept[-1].rstrip(chars)):
        kept.pop()
    if kept:
        kept[-1] = stripped


def _extent(match: re.Match[str], closing: ClosingTags) -> tuple[int, bool]:
    """Return the end of the comment or tag, and True if it stays in the text; an unclosed tag goes alone."""
    name = (match[1] or "").lower()
    end = closing.end_of(match, name)
    if end < 0 or match[0].endswith("/>"):
        return match.end(), False
    return end, name in OPAQUE_TAGS
