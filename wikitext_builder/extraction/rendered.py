"""extract_rendered: one page as MediaWiki renders it becomes one article, the same lines as from wikitext.

Read are both the parser's classic output (`action=parse`, whole pages of a skin too) and Parsoid's. libxml2
tells of tags and texts as they come: no tree is built and nothing recurses, so that time and memory grow with
the length of the HTML and with nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lxml import etree

from wikitext_builder.article import Article, Page
from wikitext_builder.errors import BuilderError, RejectedError
from wikitext_builder.extraction.blocks import Block
from wikitext_builder.extraction.listing import listed
from wikitext_builder.extraction.markers import BREAK, FORMULA, GONE, LeftOut
from wikitext_builder.extraction.page import language_of, layout
from wikitext_builder.extraction.sections import SECTION_MODES, select
from wikitext_builder.extraction.tags import BLOCKS
from wikitext_builder.extraction.trim import CONTROLS, POINTS
from wikitext_builder.wiki.languages import LANGUAGES

MAX_HTML_BYTES = 32 * 2**20  # the largest of the shared pages has 1.4 MB for 0.2 MB of wikitext
PIECE = 1 << 16  # characters: libxml2 reads a piece to its end before the walker's refusal is heard
MAX_HTML_DEPTH = 1_000  # elements inside each other; the shared pages have 28 at most

REMOVED_TAGS = frozenset(
    listed(
        """
audio; button; figure; figure-inline; form; head; input; label; link; map; meta; nav; noscript; object;
script; select; style; svg; table; template; textarea; title; video
"""
    )
)
REMOVED_CLASSES = frozenset(
    listed(
        """
ambox; asbox; autonumber; catlinks; citation; dablink; error; external-media; floatleft; floatnone;
floatright; gallery; geo-multi-punct; geo-nondefault; hatnote; infobox; metadata; mw-broken-media;
mw-cite-backlink; mw-editsection; mw-editsection-like; mw-empty-elt; mw-ext-cite-error; mw-highlight;
mw-indicators; mw-jump-link; mw-references-wrap; navbox; navigation-not-searchable; noprint;
pcs-collapse-table-container; portal;
printfooter; quotebox; references; reflist; rellink; scribunto-error; shortdescription; sidebar;
sistersitebox; sortkey; tmbox; thumb; thumbinner; toc; toccolours; vertical-navbox; Z3988
"""
    )
)
REMOVED_IDS = frozenset(
    ["contentSub", "coordinates", "pcs-edit-section-title-description", "siteNotice", "siteSub", "toc"]
)
HIDDEN = re.compile(r"display\s*:\s*none", re.IGNORECASE)
REFERENCE = frozenset(["reference", "mw-ref"])
FORMULAS = frozenset(
    ["mwe-math-element", "mwe-math-fallback-image-inline", "tex", "texhtml-formula", "texerror"]
)  # the last: one that the wiki could not draw
FORMULA_TAGS = frozenset(["math", "chem"])
HEADINGS = {f"h{level}": max(level, 2) for level in range(1, 7)}  # level 1 is the title's alone
NO_CONTENT = frozenset(["br", "hr", "img", "wbr"])
# What {{'}} and its kin put around an apostrophe, which is no space between words.
PADDED = re.compile("\u200d?\u200a(['\"]+)\u200b?")
LISTEN = re.compile(rf"\([\s{GONE}]*listen[\s{GONE}]*\)|ⓘ")  # links to sounds beside pronunciations
TEMPLATES = tuple(sorted({f"{name}:" for one in LANGUAGES.values() for name in one.template_namespaces}))
# Where the article stands in a page with a skin around it: the first of these that the HTML has.
ROOTS = (("class", "mw-parser-output"), ("id", "mw-content-text"))


def extract_rendered(
    page_html: str, page: Page, *, language: str = "en", sections: str = "official"
) -> Article:
    """The article that a reader of a rendered page sees: headings and paragraphs, one per line.

    If all templates of the page are known, its lines are those that `extract` gives for the page's wikitext.

    Args:
        page_html: What MediaWiki rendered for the page.
        page: The page; its wikitext is not read.
        language: Code of the Wikipedia.
        sections: Which sections to remove, see `extract`.

    Raises:
        RejectedError: The HTML cannot be used; the reason is `too-large` or `too-deep`.
        BuilderError: The language or the kind of sections is unknown.

    >>> page = Page(title="Tokyo", page_id=1, revision_id=1, timestamp="2016-04-16T17:15Z", wikitext="")
    >>> html = "<p><b>Tokyo</b> is 10&#160;km away.<sup class='reference'>[1]</sup></p>"
    >>> extract_rendered(html, page).lines
    ('', '= Tokyo =', '', 'Tokyo is 10 km away.', '')
    """
    names = language_of(language)
    if sections not in SECTION_MODES:
        raise BuilderError(f"sections={sections!r} is not known; use one of {', '.join(SECTION_MODES)}")
    kept = select(rendered_blocks(page_html), removed=names.removed_sections, mode=sections)
    lines, _ = layout(page.title, kept, left_out=LeftOut(), own_line_formulas=sections == "official")
    return Article(
        title=page.title,
        page_id=page.page_id,
        revision_id=page.revision_id,
        timestamp=page.timestamp,
        lines=tuple(lines),
    )


def rendered_blocks(page_html: str) -> list[Block]:
    """The headings and paragraphs of rendered HTML, in order.

    >>> [(one.level, one.text) for one in rendered_blocks("<h2>A</h2><ul><li>b<ul><li>c</li></ul></li></ul>")]
    [(2, 'A'), (0, 'b'), (0, 'c')]
    """
    size = len(page_html.encode("utf-8", "replace"))
    if size > MAX_HTML_BYTES:
        raise RejectedError("too-large", f"{size} bytes of HTML, expected at most {MAX_HTML_BYTES}")
    text = CONTROLS.sub("", page_html)
    if not text.strip():
        return []
    root = next(((key, name) for key, name in ROOTS if name in page_html), None)
    walker = Walker(root)
    target: Any = walker  # what lxml's types say of targets is of their XML kind
    parser = etree.HTMLParser(target=target, encoding="utf-8", huge_tree=True)
    for start in range(0, len(text), PIECE):
        parser.feed(text[start : start + PIECE].encode())
    parser.close()
    return walker.found


class Walker:
    """Hears of tags and texts in their order, and puts the texts that stay together into blocks."""

    def __init__(self, root: tuple[str, str] | None) -> None:
        self.root = root
        self.outside = 1 if root else 0  # 0 inside the root; else one more than the elements around
        self.found: list[Block] = []
        self.pieces: list[str] = []
        self.depth = 0
        self.removed_at = 0  # depth of the outermost removed element that is open; 0: none is
        self.root_at = 0
        self.heading = 0
        self.preformatted = 0
        self.after_reference = False

    # --- called by libxml2

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """An element begins."""
        self.depth += 1
        if self.depth > MAX_HTML_DEPTH:
            raise RejectedError("too-deep", f"elements nested over {MAX_HTML_DEPTH} deep in the HTML")
        if self.removed_at:
            return
        if self.outside and not self.enters(attributes):
            return
        if (mark := replacement(tag, attributes)) is not None:
            self.remove(tag, mark)
        elif tag in HEADINGS:
            self.flush()
            self.heading = HEADINGS[tag]
        elif tag in BLOCKS:
            self.flush()
            self.preformatted += tag == "pre"
        elif tag == "br":
            self.pieces.append(BREAK)
        elif tag == "q":
            self.pieces.append('"')

    def end(self, tag: str) -> None:
        """An element ends."""
        depth, self.depth = self.depth, self.depth - 1
        if self.removed_at:
            self.removed_at = 0 if depth == self.removed_at else self.removed_at
            return
        if self.outside:
            return
        if tag in HEADINGS or tag in BLOCKS:
            self.flush()
            self.preformatted -= tag == "pre"
        elif tag == "q":
            self.pieces.append('"')
        if depth == self.root_at:
            self.flush()
            self.outside, self.root_at = 1, 0

    def data(self, text: str) -> None:
        """Text comes, maybe a part of what stands together."""
        if self.removed_at or self.outside:
            return
        if self.after_reference and text[0] in POINTS:
            self.close_gap(" ,;" if text[0] == ")" else " ")
        self.after_reference = False
        if "&" in text:
            text = text.replace("&", "&amp;")  # what a reader sees; polishing reads entities
        self.pieces.append(text.replace("\n", BREAK) if self.preformatted else text)

    def comment(self, text: str) -> None:
        """A comment is no text."""

    def close(self) -> None:
        """All has come."""
        self.flush()

    # --- what it makes of them

    def enters(self, attributes: Mapping[str, str]) -> bool:
        """Whether this element is the root, inside of which the article stands."""
        key, name = self.root or ("", "")
        if name not in attributes.get(key, "").split():
            return False
        self.outside, self.root_at = 0, self.depth
        return True

    def remove(self, tag: str, mark: str) -> None:
        """Leaves an element out, with a mark where it stood."""
        if tag in BLOCKS and tag != "figure":
            self.flush()
            if mark == FORMULA:  # displayed: a paragraph of its own
                self.pieces.append(mark)
                self.flush()
        elif mark:
            self.pieces.append(mark)
        else:
            self.after_reference = True
        self.removed_at = self.depth

    def close_gap(self, chars: str) -> None:
        """Takes away the space that stood before a reference, now that a point follows."""
        while self.pieces and not (stripped := self.pieces[-1].rstrip(chars)):
            self.pieces.pop()
        if self.pieces:
            self.pieces[-1] = stripped

    def flush(self) -> None:
        """What has come is a heading, or a paragraph for each of its lines."""
        text = PADDED.sub(r"\1", LISTEN.sub(GONE, "".join(self.pieces)))
        level, self.heading = self.heading, 0
        self.pieces, self.after_reference = [], False
        if level:
            self.found.append(Block(text=text.replace(BREAK, " ").strip(), level=level))
        elif text and not text.isspace():
            for line in text.split(BREAK):
                if kept := line.strip().lstrip(": "):
                    self.found.append(Block(text=kept))


def replacement(tag: str, attributes: Mapping[str, str]) -> str | None:
    """What stands for an element that is left out: nothing for a reference; None where it stays.

    >>> replacement("sup", {"class": "reference"}), replacement("b", {}), replacement("table", {}) == GONE
    ('', None, True)
    """
    classes = attributes.get("class", "").split()
    if tag in FORMULA_TAGS or not FORMULAS.isdisjoint(classes):
        return FORMULA
    if tag in REMOVED_TAGS or tag == "img":
        return GONE
    if not attributes:
        return None
    if not REFERENCE.isdisjoint(classes) and tag in {"sup", "span"}:
        return ""
    if not REMOVED_CLASSES.isdisjoint(classes) or attributes.get("id") in REMOVED_IDS:
        return GONE
    if classes == ["noexcerpt"]:  # a loudspeaker; with other classes beside it, it is pronunciation
        return GONE
    if "style" in attributes and tag != "section" and HIDDEN.search(attributes["style"]):
        return GONE
    return GONE if "new" in classes and stands_for_what_is_missing(attributes) else None


def stands_for_what_is_missing(attributes: Mapping[str, str]) -> bool:
    """Whether a red link stands for a template or a picture which the wiki does not have.

    A link to the page of a missing picture has a label; only that of the picture itself leads to an upload.
    """
    return attributes.get("title", "").startswith(TEMPLATES) or "wpDestFile=" in attributes.get("href", "")
