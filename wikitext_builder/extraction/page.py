"""extract: one page of wikitext becomes one article of lines.

The steps, in order: `trim` cuts comments and references; `preprocessor` replaces templates and links,
the innermost first; `tags` and `tables` remove HTML and tables; `blocks` finds headings and paragraphs;
`sections` removes the sections that primarily featured lists; `polish` makes each line fit for a corpus.
Each step is one pass over the text, in time that is linear in its length.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from wikitext_builder.article import Article, Page
from wikitext_builder.errors import BuilderError
from wikitext_builder.extraction.blocks import Block, split_blocks
from wikitext_builder.extraction.links import LinkReader
from wikitext_builder.extraction.markers import FORMULA_MARK, LeftOut, latex_of, with_latex, without_latex
from wikitext_builder.extraction.polish import own_lines, polish, polish_heading
from wikitext_builder.extraction.preprocessor import resolve
from wikitext_builder.extraction.sections import SECTION_MODES, select_sections
from wikitext_builder.extraction.tables import remove_tables
from wikitext_builder.extraction.tags import flatten_tags
from wikitext_builder.extraction.templates import TemplateReader
from wikitext_builder.extraction.trim import trim
from wikitext_builder.extraction.variants import choose_variant
from wikitext_builder.wiki.languages import language_of

NO_EXPANSIONS: Mapping[str, str] = MappingProxyType({})


def extract(
    page: Page | str,
    *,
    title: str = "",
    language: str = "en",
    sections: str = "official",
    expansions: Mapping[str, str] = NO_EXPANSIONS,
) -> Article:
    """The article that a reader of a page sees: headings and paragraphs, one per line.

    Args:
        page: A page, or wikitext; wikitext has no revision, so templates with an age count up to today.
        title: The title, if `page` is wikitext.
        language: Code of the Wikipedia.
        sections: `official` removes the heading and the own text of a section of lists, as in the official
            files; `clean` also removes its sub-sections, and headings without text.
        expansions: For the wikitext of a template call, as in `Article.left_out`, what `expandtemplates` of
            the wiki's API gives for it.

    Raises:
        RejectedError: The page cannot be used; the reason is `too-large`, `malformed` or `too-deep`.
        BuilderError: The language or the kind of sections is unknown, or wikitext has no title.

    >>> extract("'''Tokyo''' is {{convert|10|km}} away.<ref>Map</ref>", title="Tokyo").lines
    ('', '= Tokyo =', '', 'Tokyo is 10 kilometres (6.2 mi) away.', '')
    """
    if isinstance(page, str):
        page = _page_of_wikitext(page, title)
    names = language_of(language)
    if sections not in SECTION_MODES:
        raise BuilderError(f"sections={sections!r} is unknown; use one of {', '.join(SECTION_MODES)}")
    left_out = LeftOut()
    links = LinkReader(names)
    templates = TemplateReader(
        page=page, expansions=expansions, left_out=left_out, read_link=links, language=language
    )
    text = resolve(
        trim(page.wikitext), read_template=templates, read_link=links, says_nothing=templates.says_nothing
    )
    if language == "zh":
        text = choose_variant(text)
    found = split_blocks(remove_tables(flatten_tags(text)))
    kept = select_sections(found, removed=names.removed_sections, mode=sections)
    return lay_out(page, kept, left_out=left_out, own_line_formulas=sections == "official")


def _page_of_wikitext(wikitext: str, title: str) -> Page:
    if not title:
        raise BuilderError("wikitext alone names no title; give one: extract(wikitext, title='Tokyo')")
    return Page(title=title, page_id=0, revision_id=0, timestamp="", wikitext=wikitext)


def lay_out(page: Page, found: list[Block], *, left_out: LeftOut, own_line_formulas: bool) -> Article:
    """The article of a page's blocks, with blank lines around headings and at the end.

    Args:
        page: Where the blocks come from.
        found: The blocks that stay.
        left_out: The unknown calls that the blocks have marks of.
        own_line_formulas: Formulas are on lines of their own, except in `Article.plain_lines`.
    """
    # Equals signs at the ends of a title (the album `= (album)`) would change its level in the files.
    whole = ["", f"= {polish_heading(page.title)} =", ""]
    lines = whole.copy()
    unknown: list[str] = []
    for block in found:
        unknown += left_out.calls_in(block.text, alone=not block.level)
        if not block.level:
            paragraph = [line] if (line := polish(block.text)) else []
            whole += paragraph
            lines += own_lines(line) if line and own_line_formulas else paragraph
        elif text := polish_heading(block.text):
            marks = "=" * block.level
            heading = ["", f"{marks} {text} {marks}", ""]
            whole += heading
            lines += heading
    return Article(
        title=page.title,
        page_id=page.page_id,
        revision_id=page.revision_id,
        timestamp=page.timestamp,
        lines=tuple(map(without_latex, [*lines, ""])),
        left_out=tuple(unknown),
        plain_lines=tuple(map(with_latex, [*whole, ""])),
        formulas=tuple(latex_of(mark) for line in whole for mark in FORMULA_MARK.findall(line)),
    )
