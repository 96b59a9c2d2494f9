"""extract: one page of wikitext becomes one article of lines.

The way is straight: `trim` cuts comments and references, `expand` works templates and links out from the
inside to the outside, `tags` and `tables` take HTML and tables away, `blocks` finds headings and paragraphs,
`sections` removes those that primarily featured lists, and `polish` makes each line fit for a corpus. Every
step is one pass over the text, in time that grows with its length and with nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from wikitext_builder.article import Article, Page
from wikitext_builder.errors import BuilderError
from wikitext_builder.extraction.blocks import Block, blocks
from wikitext_builder.extraction.links import LinkReader
from wikitext_builder.extraction.markers import LeftOut
from wikitext_builder.extraction.polish import polish, polish_heading
from wikitext_builder.extraction.preprocessor import expand
from wikitext_builder.extraction.sections import SECTION_MODES, select
from wikitext_builder.extraction.tables import without_tables
from wikitext_builder.extraction.tags import flatten_tags
from wikitext_builder.extraction.templates import TemplateReader
from wikitext_builder.extraction.trim import trim
from wikitext_builder.extraction.variants import one_variant
from wikitext_builder.wiki.languages import LANGUAGES, Language

NO_EXPANSIONS: Mapping[str, str] = MappingProxyType({})


def extract(
    page: Page,
    *,
    language: str = "en",
    sections: str = "official",
    expansions: Mapping[str, str] = NO_EXPANSIONS,
) -> Article:
    """The article that a reader of the page sees, headings and paragraphs one a line.

    `sections` is `official` (a removed section takes its heading and its own text along, as in the official
    files) or `clean` (its sub-sections too, and headings without text). `expansions` maps the wikitext of a
    template call, as `Article.left_out` gave it, to what the API's `expandtemplates` gave for it.

    Raises:
        RejectedError: the page cannot be used; the reason is `too-large`, `malformed` or `too-deep`.
        BuilderError: the language or the kind of sections is not known.

    >>> wikitext = "'''Tokyo''' is {{convert|10|km}} away.<ref>Map</ref>"
    >>> page = Page(title="Tokyo", page_id=1, revision_id=1, timestamp="2016-04-16T17:15Z", wikitext=wikitext)
    >>> extract(page).lines
    ('', '= Tokyo =', '', 'Tokyo is 10 kilometres (6.2 mi) away.', '')
    """
    names = language_of(language)
    if sections not in SECTION_MODES:
        raise BuilderError(f"sections={sections!r} is not known; use one of {', '.join(SECTION_MODES)}")
    left_out = LeftOut()
    links = LinkReader(names)
    templates = TemplateReader(
        page=page, expansions=expansions, left_out=left_out, read_link=links, language=language
    )
    expanded = expand(
        trim(page.wikitext), read_template=templates, read_link=links, says_nothing=templates.says_nothing
    )
    if language == "zh":
        expanded = one_variant(expanded)
    found = blocks(without_tables(flatten_tags(expanded)))
    kept = select(found, removed=names.removed_sections, mode=sections)
    lines, unknown = layout(page.title, kept, left_out=left_out, own_line_formulas=sections == "official")
    return Article(
        title=page.title,
        page_id=page.page_id,
        revision_id=page.revision_id,
        timestamp=page.timestamp,
        lines=tuple(lines),
        left_out=tuple(unknown),
    )


def language_of(code: str) -> Language:
    """The local names of one Wikipedia, or an error that lists those known."""
    if code not in LANGUAGES:
        raise BuilderError(
            f"language {code!r} is not known; add it to languages.py or use one of {', '.join(LANGUAGES)}"
        )
    return LANGUAGES[code]


def layout(
    title: str, found: list[Block], *, left_out: LeftOut, own_line_formulas: bool
) -> tuple[list[str], list[str]]:
    """The lines of an article, blank ones around headings and at its end, and what is missing from them."""
    # Outer equals signs of a title (the album `= (album)`) would make another level of it in the files.
    lines = ["", f"= {polish_heading(title)} =", ""]
    unknown: list[str] = []
    for block in found:
        unknown += left_out.standing_in(block.text, alone=not block.level)
        if block.level:
            text = polish_heading(block.text)
            lines += ["", f"{'=' * block.level} {text} {'=' * block.level}", ""] if text else []
        else:
            lines += polish(block.text, own_line_formulas=own_line_formulas)
    return [*lines, ""], unknown
