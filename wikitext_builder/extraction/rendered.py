"""Extracts the article of one page from its rendered HTML, with the same lines as from its wikitext.

The HTML is that of the classic parser (`action=parse`, or a whole page with its skin) or of Parsoid. libxml2
reports tags and texts one by one: there is no tree and no recursion, so time and memory are linear in the
length of the HTML.
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
from wikitext_builder.extraction.blocks import Block, split_lines
from wikitext_builder.extraction.macros import words
from wikitext_builder.extraction.macros.registry import is_removed
from wikitext_builder.extraction.markers import BREAK, FORMULA, GONE, LeftOut, formula
from wikitext_builder.extraction.markup import BLOCK_TAGS, HIDING_STYLE
from wikitext_builder.extraction.page import MAX_RULE_DEPTH, PREFERRED_CODES, Options, choose_variant, lay_out
from wikitext_builder.extraction.trim import CONTROLS, PUNCTUATION, REMOVED_TAGS, close_gap
from wikitext_builder.limits import HTML_BYTES, HTML_DEPTH
from wikitext_builder.wiki.languages import LANGUAGES, Language, language_of

CHUNK_CHARACTERS = 1 << 16  # libxml2 reads a chunk to its end even if the walker rejects the page

REMOVED_ELEMENTS = frozenset(words("rendered tags removed"))
REMOVED_CLASSES = frozenset(words("rendered classes removed"))
REMOVED_IDS = frozenset(["contentSub", "coordinates", "siteNotice", "siteSub", "toc"])
REMOVED_ROLES = frozenset(["navigation", "note"])  # boxes of links, hatnotes
REFERENCE_CLASSES = frozenset(["reference", "mw-ref"])
REFERENCE_LIST_CLASSES = frozenset(["references", "mw-references-wrap", "reflist", "refbegin"])
FORMULA_CLASS_PREFIX = "mwe-math"
FORMULA_CLASSES = frozenset(["tex", "texhtml-formula", "texerror"])  # texerror: the wiki could not draw it
DISPLAY_STYLE = "{\\displaystyle"  # MediaWiki puts this and a closing brace around the LaTeX
FORMULA_TAGS = frozenset(["math", "chem"])
HEADING_LEVELS = {f"h{level}": max(level, 2) for level in range(1, 7)}  # level 1 is only for the title
# {{'}} and similar templates put thin spaces around an apostrophe, which do not separate words.
PADDED_APOSTROPHE = re.compile("\u200d?\u200a(['\"]+)\u200b?")
LISTEN_LINK = re.compile(rf"\([\s{GONE}]*listen[\s{GONE}]*\)|ⓘ")  # a sound beside a pronunciation
# Bits for the kinds of text in a block, except SEPARATORS, and for a picture: a list item of nothing but
# citations is a source, and one of nothing but links leads to other pages.
PLAIN, LINK, EXTERNAL, CITATION, PICTURE = 1, 2, 4, 8, 16
SEPARATORS = " \t\n\xa0.,;"
EDITORS_NOTE_WORD = re.compile(r"[^\W\d_]{3}")  # superscript brackets with a word: `[citation needed]`
AUTHOR_DASHES = "–—― \xa0"  # with these and a capital begins the paragraph that names a quotation's author
MAX_AUTHOR_CHARACTERS: Final = 200
EXTENSION_TYPE, TRANSCLUSION_TYPE = "mw:Extension/", "mw:Transclusion"  # in Parsoid's `typeof`
TEMPLATE_NAME = re.compile(r'"wt":\s*"([^"|{}\\<]+)')  # in Parsoid's `data-mw`
MISSING_PAGE_NOTE = re.compile(r" \([^()]*\)$")  # in a red link's title: `Template:A (page does not exist)`
# The attribute of the element that holds the article, in a page with its skin: the first one that occurs.
ROOTS = (("class", "mw-parser-output"), ("id", "mw-content-text"))
# The whole attribute, because style sheets contain the name too.
ROOT_ATTRIBUTE = r"""\s{}=["']?[^"'<>]*\b{}\b"""


def extract_rendered(
    page_html: str,
    page: Page,
    *,
    language: str | Language = "en",
    sections: str = "official",
    incomplete: str = "cut",
) -> Article:
    """Return the article that a reader of a rendered page sees: headings and paragraphs, one per line.

    If all templates of the page are known, `extract` returns the same lines for the page's wikitext.

    Args:
        page_html: What MediaWiki rendered for the page.
        page: The page; its wikitext only says whether it is a redirect.
        language: Code of the Wikipedia, or its names.
        sections: Which sections to remove, as in `extract`.
        incomplete: What to do, as in `extract`, with a call of a template that the wiki lacks (a red link) or
            that Parsoid marks as an error.

    Raises:
        RejectedError: The page cannot be used; the reason is `redirect`, `too-large` or `too-deep`.
        BuilderError: The language, `sections` or `incomplete` is unknown.

    >>> page = Page(title="Tokyo", page_id=1, revision_id=1, timestamp="2016-04-16T17:15Z", wikitext="")
    >>> html = "<p><b>Tokyo</b> is 10&#160;km away.<sup class='reference'>[1]</sup></p>"
    >>> extract_rendered(html, page).lines
    ('', '= Tokyo =', '', 'Tokyo is 10 km away.', '')
    """
    options = Options(language_of(language), sections, incomplete, {})
    options.refuse_redirect(page)
    left_out = LeftOut()
    blocks = split_rendered_blocks(page_html, options.language, left_out)
    # WikiText is English: there only the names of sections decide, as in the official files.
    article = lay_out(page, blocks, left_out, options, sources_marked=options.language.code != "en")
    reasons = ("error" if call in left_out.errors else "no-template" for call in article.left_out)
    return replace(article, reasons=tuple(reasons))


def split_rendered_blocks(
    page_html: str, language: Language = LANGUAGES["en"], left_out: LeftOut | None = None, *, depth: int = 0
) -> list[Block]:
    """Return the headings and paragraphs of rendered HTML, in order; `left_out` collects missing templates.

    `depth` counts the rules for scripts around the HTML.

    >>> blocks = split_rendered_blocks("<h2>A</h2><ul><li>b<ul><li>c</li></ul></li></ul>")
    >>> [(block.level, block.text) for block in blocks]
    [(2, 'A'), (0, 'b'), (0, 'c')]
    """
    size = len(page_html.encode("utf-8", "replace"))
    if size > HTML_BYTES:
        raise RejectedError("too-large", f"{size} bytes of HTML, expected at most {HTML_BYTES}")
    text = CONTROLS.sub("", page_html)
    if not text.strip():
        return []
    root = next((root for root in ROOTS if re.search(ROOT_ATTRIBUTE.format(*root), page_html)), None)
    walker = _Walker(root, language, LeftOut() if left_out is None else left_out, depth)
    target: Any = walker  # lxml's types only describe targets for XML
    parser = etree.HTMLParser(target=target, encoding="utf-8", huge_tree=True)
    for start in range(0, len(text), CHUNK_CHARACTERS):
        parser.feed(text[start : start + CHUNK_CHARACTERS].encode())
    parser.close()
    return walker.blocks


class _Walker:
    """Receives tags and texts in order, and joins the texts that stay into blocks.

    Attributes that end in `_depth` hold the depth of an open element; 0 if there is none.
    """

    def __init__(
        self, root: tuple[str, str] | None, language: Language, left_out: LeftOut, rule_depth: int
    ) -> None:
        self.root = root
        self.language = language
        self.left_out = left_out
        self.rule_depth = rule_depth  # the number of rules for scripts around the HTML
        self.outside_root = root is not None
        self.blocks: list[Block] = []
        self.pieces: list[str] = []  # of the text of the open block
        self.depth = 0
        self.root_depth = 0
        self.removed_depth = 0  # of the outermost removed element
        self.latex_wanted = False  # the removed element is a formula whose LaTeX is still unknown
        self.is_displayed = False  # the formula is a paragraph of its own
        self.latex_depth = 0  # of the element in the formula whose text is LaTeX
        self.latex_pieces: list[str] = []
        self.heading_level = 0
        self.open_preformatted = 0
        self.open_items = 0
        self.after_reference = False
        self.text_kind, self.kind_depth = PLAIN, 0  # of the text here, and of the open link or citation
        self.block_kinds = 0  # kinds of all texts of the block
        self.superscript = 0, 0  # its depth, and the number of pieces before it
        self.quotation_end = 0  # the number of blocks when a quotation ended, for the paragraph after it
        self.variant = 0, 0, ""  # of a rule for scripts: its depth, the number of pieces before it, its text

    # --- called by libxml2

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Open an element."""
        self.depth += 1
        if self.depth > HTML_DEPTH:
            raise RejectedError("too-deep", f"elements nested over {HTML_DEPTH} deep in the HTML")
        if self.removed_depth:
            if self.latex_wanted:
                self.read_latex(attributes)
                self.latex_depth = self.latex_depth or self.depth * (tag == "annotation")
            return
        if self.outside_root:
            key, name = self.root or ("", "")
            if name not in attributes.get(key, "").split():
                return
            self.outside_root, self.root_depth = False, self.depth
        mark = _mark_of_removed(tag, attributes)
        if mark is None and attributes:
            mark = self.mark_of_missing(attributes)
        if mark is not None:
            self.remove(tag, mark, attributes.get("class", "").split())
            if self.latex_wanted:
                self.read_latex(attributes)
        elif tag in HEADING_LEVELS:
            self.flush()
            self.heading_level = HEADING_LEVELS[tag]
        elif tag in BLOCK_TAGS:
            self.flush()
            self.open_preformatted += tag == "pre"
            self.open_items += tag == "li"
        elif tag == "br":
            self.pieces.append(BREAK)
        elif tag == "q":
            self.pieces.append('"')
        elif (
            tag == "cite" and self.text_kind != CITATION and "citation" in attributes.get("class", "").split()
        ):
            self.text_kind, self.kind_depth = CITATION, self.depth
        elif tag == "a" and self.text_kind == PLAIN:
            leads_out = "external" in attributes.get("class", "") or "mw:ExtLink" in attributes.get("rel", "")
            self.text_kind, self.kind_depth = EXTERNAL if leads_out else LINK, self.depth
        elif tag == "sup":
            self.superscript = self.depth, len(self.pieces)
        if mark is None and attributes and "data-mw-variant" in attributes:
            rule = _variant_html(attributes["data-mw-variant"]) if self.rule_depth < MAX_RULE_DEPTH else ""
            blocks = split_rendered_blocks(rule, self.language, self.left_out, depth=self.rule_depth + 1)
            self.variant = self.depth, len(self.pieces), " ".join(block.text for block in blocks)

    def end(self, tag: str) -> None:
        """Close an element."""
        depth, self.depth = self.depth, self.depth - 1
        if self.removed_depth:
            if depth == self.latex_depth:
                self.latex_depth = 0
                self.read_latex({"alt": "".join(self.latex_pieces).strip().strip("$").strip()})
            if depth == self.removed_depth:
                self.removed_depth, self.latex_wanted = 0, False
                if self.is_displayed:
                    self.flush()
            return
        if self.outside_root:
            return
        if depth == self.kind_depth:
            self.text_kind, self.kind_depth = PLAIN, 0
        if depth == self.variant[0] and len(self.pieces) == self.variant[1]:
            self.pieces.append(self.variant[2])
        if tag in HEADING_LEVELS or tag in BLOCK_TAGS:
            self.flush()
            self.open_preformatted -= tag == "pre"
            self.open_items -= tag == "li"
            self.quotation_end = len(self.blocks) if tag == "blockquote" else self.quotation_end
        elif tag == "q":
            self.pieces.append('"')
        elif tag == "sup" and depth == self.superscript[0]:
            text = "".join(self.pieces[self.superscript[1] :]).strip()
            if text.startswith("[") and text.endswith("]") and EDITORS_NOTE_WORD.search(text):
                self.pieces[self.superscript[1] :] = [GONE]
        if depth == self.root_depth:
            self.flush()
            self.outside_root, self.root_depth = True, 0

    def data(self, text: str) -> None:
        """Add text; libxml2 may report one text in several pieces."""
        if self.removed_depth or self.outside_root:
            if self.latex_depth and self.latex_wanted:
                self.latex_pieces.append(text)
            return
        if self.after_reference and text[0] in PUNCTUATION:
            close_gap(self.pieces, " ,;" if text[0] == ")" else " ")
        self.after_reference = False
        if not self.block_kinds & self.text_kind and text.strip(SEPARATORS):
            self.block_kinds |= self.text_kind
        if "&" in text:
            text = text.replace("&", "&amp;")  # it is the reader's text already: `polish` decodes entities
        self.pieces.append(text.replace("\n", BREAK) if self.open_preformatted else text)

    def close(self) -> None:
        """End the last block."""
        self.flush()

    # --- what the methods above share

    def remove(self, tag: str, mark: str, classes: list[str]) -> None:
        """Leave out an element, with a mark in its place."""
        self.latex_wanted = mark == FORMULA
        self.latex_pieces, self.latex_depth = [], self.depth * ("tex" in classes)
        self.block_kinds |= PICTURE * (tag == "img") | CITATION * ("Z3988" in classes)
        if tag in BLOCK_TAGS and tag != "figure":
            self.flush()
            if mark == FORMULA:
                self.pieces.append(mark)
                self.is_displayed = True
        elif mark:
            self.pieces.append(mark)
        else:
            self.after_reference = True
        if not REFERENCE_LIST_CLASSES.isdisjoint(classes):
            self.flush()
            self.blocks.append(Block(text="", source=True))
        self.removed_depth = self.depth

    def mark_of_missing(self, attributes: Mapping[str, str]) -> str | None:
        """Return the mark for an element that the wiki could not show; None for any other element.

        That is a red link to a missing template or picture, or in Parsoid's HTML an error in place of a call,
        a tag or a picture. The red link of a missing picture leads to an upload; an ordinary link to the page
        of a missing picture does not, and its label is text.
        """
        classes, types = attributes.get("class", ""), attributes.get("typeof", "")
        if "new" in classes and "new" in classes.split():
            if "wpDestFile=" in attributes.get("href", ""):
                return GONE
            title = attributes.get("title", "")
            if "rel" not in attributes:
                title = MISSING_PAGE_NOTE.sub("", title)
            namespace, _, name = title.partition(":")
            return self.mark_call(name) if namespace in self.language.template_namespaces else None
        if "mw:Error" not in types:
            return None
        for element_type in types.split():
            if element_type.startswith(EXTENSION_TYPE):
                tag = element_type.removeprefix(EXTENSION_TYPE)
                return GONE if tag in REMOVED_TAGS else self.mark_call(f"#tag:{tag}", is_error=True)
        match = TEMPLATE_NAME.search(attributes.get("data-mw", ""))
        name = match[1] if match else attributes.get("about", "")
        return self.mark_call(name, is_error=True) if TRANSCLUSION_TYPE in types else GONE

    def mark_call(self, name: str, *, is_error: bool = False) -> str:
        """Return the mark for a call whose text the HTML lacks; its arguments are unknown."""
        if is_removed(name):
            return GONE
        call = f"{{{{{name}|…}}}}"
        if is_error:
            self.left_out.errors.add(call)
        return self.left_out.mark(call)

    def read_latex(self, attributes: Mapping[str, str]) -> None:
        """Add LaTeX to the mark of the removed formula, if this element of it has an alternative text."""
        latex = attributes.get("alttext") or attributes.get("alt") or ""
        if latex:
            if latex.startswith(DISPLAY_STYLE) and latex.endswith("}"):
                latex = latex.removeprefix(DISPLAY_STYLE).removesuffix("}")
            self.pieces[-1], self.latex_wanted = formula(latex), False
            self.latex_depth = 0

    def flush(self) -> None:
        """End the open block: a heading, or a paragraph per line."""
        if not self.pieces and not self.heading_level:  # most tags of blocks follow another one
            self.block_kinds, self.after_reference, self.is_displayed = 0, False, False
            return
        text = PADDED_APOSTROPHE.sub(r"\1", LISTEN_LINK.sub(GONE, "".join(self.pieces)))
        text = choose_variant(text, self.language.code)
        level, self.heading_level = self.heading_level, 0
        kinds, self.block_kinds = self.block_kinds, 0
        self.pieces, self.after_reference, self.is_displayed = [], False, False
        if level:
            self.blocks.append(Block(text=text.replace(BREAK, " ").strip(), level=level))
        elif not text or text.isspace():
            return
        elif self.open_items and kinds & ~PICTURE == CITATION:
            self.blocks.append(Block(text="", listed=True, source=True))
        elif self.quotation_end == len(self.blocks) > 0 and _names_author(text.strip()):
            self.quotation_end = 0
        else:
            listed, linked = self.open_items > 0, kinds == LINK
            source = kinds & (CITATION | EXTERNAL) > 0 and (listed or not kinds & PLAIN)
            self.blocks += split_lines(text, listed=listed, source=source, linked=linked)


def _names_author(paragraph: str) -> bool:
    name = paragraph.lstrip(AUTHOR_DASHES)
    return len(name) < len(paragraph) <= MAX_AUTHOR_CHARACTERS and not name[:1].islower()


def _variant_html(data: str) -> str:
    """Return the HTML that `data-mw-variant` holds in the preferred script; empty if the data are malformed.

    >>> _variant_html('{"twoway": [{"l": "zh-tw", "t": "電腦"}, {"l": "zh-cn", "t": "<b>电脑</b>"}]}')
    '<b>电脑</b>'
    """
    try:
        rule = json.loads(data)
        versions = [version for key in ("twoway", "oneway") for version in rule.get(key, ())]
        texts = {version["l"]: version["t"] for version in reversed(versions)}  # the first one of a script
        codes = (*PREFERRED_CODES, *reversed(texts))
        preferred = next((texts[code] for code in codes if code in texts), "")
        return str(next((rule[flag]["t"] for flag in ("disabled", "filter") if flag in rule), preferred))
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        return ""


def _mark_of_removed(tag: str, attributes: Mapping[str, str]) -> str | None:
    """Return the mark for an element that is left out: empty for a reference; None if the element stays.

    >>> _mark_of_removed("sup", {"class": "reference"}), _mark_of_removed("table", {}) == GONE
    ('', True)
    """
    names = attributes.get("class", "")
    classes = names.split() if names else ()
    if tag in FORMULA_TAGS:
        return FORMULA
    if names and (FORMULA_CLASS_PREFIX in names or not FORMULA_CLASSES.isdisjoint(classes)):
        return FORMULA
    if tag in REMOVED_ELEMENTS or tag == "img":
        return GONE
    if tag in {"sup", "span"} and not REFERENCE_CLASSES.isdisjoint(classes):
        return ""
    # Code within a line is text, although its colours have a removed class.
    if tag != "code" and not REMOVED_CLASSES.isdisjoint(classes):
        return GONE
    if attributes.get("id") in REMOVED_IDS or attributes.get("role") in REMOVED_ROLES:
        return GONE
    is_hidden = "style" in attributes and tag != "section" and HIDING_STYLE.search(attributes["style"])
    return GONE if is_hidden else None
