"""What a template page gives to the pages that call it."""

from __future__ import annotations

import re

from wikitext_builder.extraction.trim import CONTROLS, OPAQUE_TAGS, REMOVED_TAGS

# Extension tags whose content is no template code. `section` marks a part of a page, which is ordinary text.
EXTENSION_TAGS = (REMOVED_TAGS | OPAQUE_TAGS) - {"includeonly", "section"}
NAMES = "|".join(sorted(EXTENSION_TAGS))
ONLY_START, ONLY_END = "<onlyinclude>", "</onlyinclude>"
MARK = re.compile(
    rf"<!--|<(?P<without>noinclude)(?:\s[^<>]*|/)?>|</?includeonly(?:\s[^<>]*|/)?>|"
    rf"<(?P<name>{NAMES})(?=[\s/>])[^<>]*>",
    re.IGNORECASE,
)
MAX_INDENT = 100  # spaces before a comment that has its line alone
COMMENTS = re.compile(r"(?:<!--(?:(?!-->).)*+-->[ \t]*)*+\n", re.DOTALL)
REDIRECT = re.compile(r"\s*[#＃][^\s\[\]]+\s*:?\s*\[\[([^\[\]|{}#\n]+)[^\[\]\n]*\]\]")


def included(wikitext: str) -> str:
    """The part of a template page that a call of the template stands for, without comments.

    Follows MediaWiki's preprocessor: an unclosed comment or `<noinclude>` runs to the end, and a comment that
    has lines of its own takes them with it.

    >>> included("a<noinclude>b</noinclude><includeonly>c</includeonly><!-- d -->e")
    'ace'
    >>> included("a<onlyinclude>b</onlyinclude>c<onlyinclude>d</onlyinclude>")
    'bd'
    """
    text = CONTROLS.sub("", wikitext.replace("\r\n", "\n").replace("\r", "\n"))
    if ONLY_START in text and ONLY_END in text:
        after = text.split(ONLY_START)[1:]
        return "".join(_without_marks(piece.split(ONLY_END, 1)[0]) for piece in after)
    return _without_marks(text)


def _without_marks(text: str) -> str:
    kept: list[str] = []
    unclosed: set[str] = set()
    position = 0
    while match := MARK.search(text, position):
        start, after = match.span()
        kept.append(text[position:start])
        position = after
        name = (match["name"] or match["without"] or "").lower()
        if match[0] == "<!--":
            position = _end_of_comment(text, start, kept)
        elif match[0].endswith("/>") or not name:
            kept.append(match[0] if match["name"] else "")
        elif name in unclosed or not (closing := closing_tag(name).search(text, after)):
            unclosed.add(name)
            position = len(text) if match["without"] else after
            kept.append("" if match["without"] else match[0])
        else:
            position = closing.end()
            kept.append("" if match["without"] else text[start:position])
    return "".join([*kept, text[position:]])


def _end_of_comment(text: str, start: int, kept: list[str]) -> int:
    """Where the text continues after a comment; spaces before it are removed if it has its line alone."""
    end = text.find("-->", start + 4)
    if end < 0:
        return len(text)
    before = text[max(0, start - MAX_INDENT) : start].rstrip(" \t")
    if before.endswith("\n") and (rest := COMMENTS.match(text, start)):
        kept[-1] = kept[-1].rstrip(" \t")
        return rest.end()
    return end + 3


def closing_tag(name: str) -> re.Pattern[str]:
    """The pattern of the end of an extension tag."""
    return _CLOSING[name]


_CLOSING = {name: re.compile(rf"</{name}\s*>", re.IGNORECASE) for name in {*EXTENSION_TAGS, "noinclude"}}


def redirect_target(wikitext: str) -> str | None:
    """The title that a redirect leads to; None if a page is not a redirect.

    >>> redirect_target("#REDIRECT [[Template:Citation needed]] {{R from shortcut}}")
    'Template:Citation needed'
    >>> redirect_target("#WEITERLEITUNG [[Vorlage:Dokumentation]]"), redirect_target("# a [list]")
    ('Vorlage:Dokumentation', None)
    """
    match = REDIRECT.match(wikitext)
    return match[1].strip() if match else None
