"""Extracts the article of one page as MediaWiki renders it, with the lines that its wikitext gives.

It reads the output of the classic parser (`action=parse`, or a whole page with its skin) and of Parsoid.
libxml2 reports tags and texts one by one: there is no tree and no recursion, so time and memory are linear in
the length of the HTML.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from lxml import etree

from wikitext_builder.article import Article, Page
from wikitext_builder.errors import RejectedError
from wikitext_builder.extraction.blocks import Block, select_sections
from wikitext_builder.extraction.macros import words
from wikitext_builder.extraction.macros.registry import is_removed
from wikitext_builder.extraction.markers import BREAK, FORMULA, GONE, LeftOut, formula
from wikitext_builder.extraction.markup import BLOCKS, HIDDEN
from wikitext_builder.extraction.page import (
    CONVERTED,
    NESTED,
    PREFERRED,
    check_choices,
    choose_variant,
    lay_out,
)
from wikitext_builder.extraction.trim import CONTROLS, POINTS, REMOVED_TAGS, close_gap
from wikitext_builder.limits import HTML_BYTES, HTML_DEPTH
from wikitext_builder.wiki.languages import LANGUAGES, Language, language_of

PIECE = 1 << 16  # characters; libxml2 reads a piece to its end even if the walker rejects it

REMOVED_ELEMENTS = frozenset(words("rendered tags removed"))
REMOVED_CLASSES = frozenset(words("rendered classes removed"))
REMOVED_IDS = frozenset(["contentSub", "coordinates", "siteNotice", "siteSub", "toc"])
REMOVED_ROLES = frozenset(["navigation", "note"])  # a list of links, a hatnote
REFERENCE = frozenset(["reference", "mw-ref"])
REFERENCE_LISTS = frozenset(["references", "mw-references-wrap", "reflist", "refbegin"])
FORMULA_CLASS = "mwe-math"  # how the names of a formula's classes begin
FORMULAS = frozenset(["tex", "texhtml-formula", "texerror"])  # the last: one that the wiki could not draw
DISPLAY_STYLE = "{\\displaystyle"  # MediaWiki puts it around the LaTeX, up to a closing brace
FORMULA_TAGS = frozenset(["math", "chem"])
HEADINGS = {f"h{level}": max(level, 2) for level in range(1, 7)}  # level 1 is for the title only
# {{'}} and similar templates put thin spaces around an apostrophe; they do not separate words.
PADDED = re.compile("\u200d?\u200a(['\"]+)\u200b?")
LISTEN = re.compile(rf"\([\s{GONE}]*listen[\s{GONE}]*\)|ⓘ")  # links to sounds beside pronunciations
# What the text of a block stands in, and whether it has a picture. With only these marks outside of its
# citations an item of a list is a source, and outside of its links it only leads to other pages.
PLAIN, LINK, EXTERNAL, CITATION, PICTURE = 1, 2, 4, 8, 16
AROUND = " \t\n\xa0.,;"
WORD = re.compile(r"[^\W\d_]{3}")  # in superscript brackets: a note of editors, as in `[citation needed]`
DASHES = "–—― \xa0"  # before a capital: so begins a paragraph with the author of the quotation before it
AUTHOR: Final = 200  # characters at most
EXTENSION, TRANSCLUSION = "mw:Extension/", "mw:Transclusion"  # what an element is of, in Parsoid's `typeof`
TARGET = re.compile(r'"wt":\s*"([^"|{}\\<]+)')  # the name of a template, in Parsoid's `data-mw`
NOT_THERE = re.compile(r" \([^()]*\)$")  # of the title of a red link: `Template:A (page does not exist)`
# The element of the article in a page with its skin: the first of these that the HTML has.
ROOTS = (("class", "mw-parser-output"), ("id", "mw-content-text"))
ROOT = r"""\s{}=["']?[^"'<>]*\b{}\b"""  # not only the name, which style sheets have too


def extract_rendered(
    page_html: str,
    page: Page,
    *,
    language: str | Language = "en",
    sections: str = "official",
    incomplete: str = "cut",
) -> Article:
    """Return the article that a reader of a rendered page sees: headings and paragraphs, one per line.

    If all templates of the page are known, its lines are those that `extract` gives for the page's wikitext.

    Args:
        page_html: What MediaWiki rendered for the page.
        page: The page; its wikitext is not read.
        language: Code of the Wikipedia, or its names.
        sections: Which sections to remove, see `extract`.
        incomplete: What to do, as in `extract`, with a call of a template that the wiki does not have (a red
            link) or that Parsoid marks as an error.

    Raises:
        RejectedError: The HTML cannot be used; the reason is `too-large` or `too-deep`.
        BuilderError: The language, `sections` or `incomplete` is unknown.

    >>> page = Page(title="Tokyo", page_id=1, revision_id=1, timestamp="2016-04-16T17:15Z", wikitext="")
    >>> html = "<p><b>Tokyo</b> is 10&#160;km away.<sup class='reference'>[1]</sup></p>"
    >>> extract_rendered(html, page).lines
    ('', '= Tokyo =', '', 'Tokyo is 10 km away.', '')
    """
    names = language_of(language)
    check_choices(sections, incomplete)
    left_out = LeftOut()
    found = split_rendered_blocks(page_html, names, left_out)
    by_content = names.code != "en"  # WikiText is English: there names decide, as in the official files
    kept = select_sections(found, removed=names.removed_sections, mode=sections, marked=by_content)
    article = lay_out(page, kept, left_out, names, sections=sections, incomplete=incomplete)
    reasons = ("error" if call in left_out.errors else "no-template" for call in article.left_out)
    return replace(article, reasons=tuple(reasons))


def split_rendered_blocks(
    page_html: str, names: Language = LANGUAGES["en"], left_out: LeftOut | None = None, *, nested: int = 0
) -> list[Block]:
    """Return the headings and paragraphs of rendered HTML, in order; `left_out` gets missing templates.

    >>> found = split_rendered_blocks("<h2>A</h2><ul><li>b<ul><li>c</li></ul></li></ul>")
    >>> [(one.level, one.text) for one in found]
    [(2, 'A'), (0, 'b'), (0, 'c')]
    """
    size = len(page_html.encode("utf-8", "replace"))
    if size > HTML_BYTES:
        raise RejectedError("too-large", f"{size} bytes of HTML, expected at most {HTML_BYTES}")
    text = CONTROLS.sub("", page_html)
    if not text.strip():
        return []
    root = next((one for one in ROOTS if re.search(ROOT.format(*one), page_html)), None)
    walker = _Walker(root, names, LeftOut() if left_out is None else left_out, nested)
    target: Any = walker  # lxml's types only describe targets for XML
    parser = etree.HTMLParser(target=target, encoding="utf-8", huge_tree=True)
    for start in range(0, len(text), PIECE):
        parser.feed(text[start : start + PIECE].encode())
    parser.close()
    return walker.found


class _Walker:
    """Receives tags and texts in order, and joins the texts that stay into blocks."""

    def __init__(self, root: tuple[str, str] | None, names: Language, left_out: LeftOut, nested: int) -> None:
        self.root = root
        self.names = names
        self.left_out = left_out
        self.nested = nested  # how deep the HTML is in rules for scripts
        self.outside = 1 if root else 0  # 0 inside the root, otherwise 1
        self.found: list[Block] = []
        self.pieces: list[str] = []
        self.depth = 0
        self.removed_at = 0  # depth of the outermost removed element that is open; 0 if none is
        self.in_formula = False  # the removed element is a formula, whose LaTeX is in an attribute
        self.displayed = False  # and it is a paragraph of its own
        self.root_at = 0
        self.heading = 0
        self.preformatted = 0
        self.items = 0  # open items of lists
        self.after_reference = False
        self.kind, self.kind_at = PLAIN, 0  # of the text; the depth of the open link or citation
        self.kinds = 0  # of the texts of the block, together
        self.raised = 0, 0  # depth of the open superscript, and the pieces before it
        self.latex_at = 0  # depth of the element in the formula whose text is LaTeX
        self.latex: list[str] = []
        self.quoted = 0  # the blocks up to the end of a quotation that no other block follows
        self.variant = 0, 0, ""  # of the open element: its depth, the pieces before it, its text

    # --- called by libxml2

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Open an element."""
        self.depth += 1
        if self.depth > HTML_DEPTH:
            raise RejectedError("too-deep", f"elements nested over {HTML_DEPTH} deep in the HTML")
        if self.removed_at:
            if self.in_formula:
                self.read_latex(attributes)
                self.latex_at = self.latex_at or self.depth * (tag == "annotation")
            return
        if self.outside and not self.enters(attributes):
            return
        mark = _replacement(tag, attributes)
        if mark is None and attributes:
            mark = self.unshown(attributes)
        if mark is not None:
            self.remove(tag, mark, attributes.get("class", "").split())
            if self.in_formula:
                self.read_latex(attributes)
        elif tag in HEADINGS:
            self.flush()
            self.heading = HEADINGS[tag]
        elif tag in BLOCKS:
            self.flush()
            self.preformatted += tag == "pre"
            self.items += tag == "li"
        elif tag == "br":
            self.pieces.append(BREAK)
        elif tag == "q":
            self.pieces.append('"')
        elif tag == "cite" and self.kind != CITATION and "citation" in attributes.get("class", "").split():
            self.kind, self.kind_at = CITATION, self.depth
        elif tag == "a" and self.kind == PLAIN:
            leads_out = "external" in attributes.get("class", "") or "mw:ExtLink" in attributes.get("rel", "")
            self.kind, self.kind_at = EXTERNAL if leads_out else LINK, self.depth
        elif tag == "sup":
            self.raised = self.depth, len(self.pieces)
        if mark is None and "data-mw-variant" in attributes:
            chosen = _variant(attributes["data-mw-variant"]) if self.nested < NESTED else ""
            found = split_rendered_blocks(chosen, self.names, self.left_out, nested=self.nested + 1)
            self.variant = self.depth, len(self.pieces), " ".join(block.text for block in found)

    def end(self, tag: str) -> None:
        """Close an element."""
        depth, self.depth = self.depth, self.depth - 1
        if self.removed_at:
            if depth == self.latex_at:
                self.latex_at = 0
                self.read_latex({"alt": "".join(self.latex).strip().strip("$").strip()})
            if depth == self.removed_at:
                self.removed_at, self.in_formula = 0, False
                if self.displayed:
                    self.flush()
            return
        if self.outside:
            return
        if depth == self.kind_at:
            self.kind, self.kind_at = PLAIN, 0
        if depth == self.variant[0] and len(self.pieces) == self.variant[1]:
            self.pieces.append(self.variant[2])
        if tag in HEADINGS or tag in BLOCKS:
            self.flush()
            self.preformatted -= tag == "pre"
            self.items -= tag == "li"
            self.quoted = len(self.found) if tag == "blockquote" else self.quoted
        elif tag == "q":
            self.pieces.append('"')
        elif tag == "sup" and depth == self.raised[0]:
            raised = "".join(self.pieces[self.raised[1] :]).strip()
            if raised.startswith("[") and raised.endswith("]") and WORD.search(raised):
                self.pieces[self.raised[1] :] = [GONE]
        if depth == self.root_at:
            self.flush()
            self.outside, self.root_at = 1, 0

    def data(self, text: str) -> None:
        """Text, perhaps only a piece of what belongs together."""
        if self.removed_at or self.outside:
            if self.latex_at and self.in_formula:
                self.latex.append(text)
            return
        if self.after_reference and text[0] in POINTS:
            close_gap(self.pieces, " ,;" if text[0] == ")" else " ")
        self.after_reference = False
        if text.strip(AROUND):
            self.kinds |= self.kind
        if "&" in text:
            text = text.replace("&", "&amp;")  # as a reader sees it: polishing would decode an entity
        self.pieces.append(text.replace("\n", BREAK) if self.preformatted else text)

    def comment(self, text: str) -> None:
        """Ignore a comment."""

    def close(self) -> None:
        """End the last block."""
        self.flush()

    # --- what it does with them

    def enters(self, attributes: Mapping[str, str]) -> bool:
        """Return True if this element is the root, which contains the article."""
        key, name = self.root or ("", "")
        if name not in attributes.get(key, "").split():
            return False
        self.outside, self.root_at = 0, self.depth
        return True

    def remove(self, tag: str, mark: str, classes: list[str]) -> None:
        """Leave out an element, with a mark in its place."""
        self.in_formula = mark == FORMULA
        self.latex, self.latex_at = [], self.depth * ("tex" in classes)
        self.kinds |= PICTURE * (tag == "img") | CITATION * ("Z3988" in classes)
        if tag in BLOCKS and tag != "figure":
            self.flush()
            if mark == FORMULA:
                self.pieces.append(mark)
                self.displayed = True
        elif mark:
            self.pieces.append(mark)
        else:
            self.after_reference = True
        if not REFERENCE_LISTS.isdisjoint(classes):
            self.flush()
            self.found.append(Block(text="", source=True))
        self.removed_at = self.depth

    def unshown(self, attributes: Mapping[str, str]) -> str | None:
        """Return the mark for what the wiki could not show; None for any other element.

        That is a red link to a missing template or picture, or in Parsoid's HTML a call, a tag with text or a
        picture. A link to the page of a missing picture has a label; that of the picture itself leads to an
        upload.
        """
        names, kinds = attributes.get("class", ""), attributes.get("typeof", "")
        if "new" in names and "new" in names.split():
            if "wpDestFile=" in attributes.get("href", ""):
                return GONE
            title = attributes.get("title", "")
            namespace, _, name = (title if "rel" in attributes else NOT_THERE.sub("", title)).partition(":")
            return self.unknown(name) if namespace in self.names.template_namespaces else None
        if "mw:Error" not in kinds:
            return None
        if tags := [kind.removeprefix(EXTENSION) for kind in kinds.split() if kind.startswith(EXTENSION)]:
            return GONE if tags[0] in REMOVED_TAGS else self.unknown(f"#tag:{tags[0]}", is_error=True)
        target = TARGET.search(attributes.get("data-mw", ""))
        name = target[1] if target else attributes.get("about", "")
        return self.unknown(name, is_error=True) if TRANSCLUSION in kinds else GONE

    def unknown(self, name: str, *, is_error: bool = False) -> str:
        """Return the mark for a call of this name that has no text here."""
        if is_removed(name):
            return GONE
        call = f"{{{{{name}|…}}}}"  # nobody knows its arguments
        self.left_out.errors.update([call] if is_error else [])
        return self.left_out.mark(call)

    def read_latex(self, attributes: Mapping[str, str]) -> None:
        """Give the formula that is being left out its LaTeX, if an element of it has that as another text."""
        latex = attributes.get("alttext") or attributes.get("alt") or ""
        if latex:
            if latex.startswith(DISPLAY_STYLE) and latex.endswith("}"):
                latex = latex.removeprefix(DISPLAY_STYLE).removesuffix("}")
            self.pieces[-1], self.in_formula = formula(latex), False
            self.latex_at = 0

    def flush(self) -> None:
        """End a heading, or a paragraph per line."""
        text = PADDED.sub(r"\1", LISTEN.sub(GONE, "".join(self.pieces)))
        if "-{" in text and self.names.code in CONVERTED:
            text = choose_variant(text, self.names.code)
        level, self.heading = self.heading, 0
        kinds, self.kinds = self.kinds, 0
        self.pieces, self.after_reference, self.displayed = [], False, False
        if level:
            self.found.append(Block(text=text.replace(BREAK, " ").strip(), level=level))
        elif not text or text.isspace():
            return
        elif self.items and kinds & ~PICTURE == CITATION:
            self.found.append(Block(text="", listed=True, source=True))
        elif self.quoted == len(self.found) > 0 and _names_author(text.strip()):
            self.quoted = 0
        else:
            source = kinds & (CITATION | EXTERNAL) > 0 and (self.items > 0 or not kinds & PLAIN)
            for line in text.split(BREAK):
                if kept := line.strip().lstrip(": "):
                    block = Block(text=kept, listed=self.items > 0, source=source, linked=kinds == LINK)
                    self.found.append(block)


def _names_author(paragraph: str) -> bool:
    name = paragraph.lstrip(DASHES)
    return len(name) < len(paragraph) <= AUTHOR and not name[:1].islower()


def _variant(data: str) -> str:
    """Return the HTML that Parsoid's `data-mw-variant` has for an empty element; empty if it is no such data.

    >>> _variant('{"twoway": [{"l": "zh-tw", "t": "電腦"}, {"l": "zh-cn", "t": "<b>电脑</b>"}]}')
    '<b>电脑</b>'
    """
    try:
        rule = json.loads(data)
        ways = [text for way in ("twoway", "oneway") for text in rule.get(way, ())]
        texts = {text["l"]: text["t"] for text in reversed(ways)}  # the first one of a script
        chosen = next((texts[code] for code in (*PREFERRED, *reversed(texts)) if code in texts), "")
        return str(next((rule[flag]["t"] for flag in ("disabled", "filter") if flag in rule), chosen))
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        return ""


def _replacement(tag: str, attributes: Mapping[str, str]) -> str | None:
    """Return the mark for an element that is left out: empty for a reference; None if the element stays.

    >>> _replacement("sup", {"class": "reference"}), _replacement("b", {}), _replacement("table", {}) == GONE
    ('', None, True)
    """
    names = attributes.get("class", "")
    classes = names.split() if names else ()
    if tag in FORMULA_TAGS or (names and (FORMULA_CLASS in names or not FORMULAS.isdisjoint(classes))):
        return FORMULA
    if tag in REMOVED_ELEMENTS or tag == "img":
        return GONE
    if not attributes:
        return None
    if names:
        if tag in {"sup", "span"} and not REFERENCE.isdisjoint(classes):
            return ""
        if tag != "code" and not REMOVED_CLASSES.isdisjoint(classes):  # in a line it is text, with colours
            return GONE
    if attributes.get("id") in REMOVED_IDS or attributes.get("role") in REMOVED_ROLES:
        return GONE
    hidden = "style" in attributes and tag != "section" and HIDDEN.search(attributes["style"])
    return GONE if hidden else None
