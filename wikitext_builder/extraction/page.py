"""Extracts one article of lines from one page of wikitext.

The steps, in order: `trim` cuts comments and references, and `blocks` the text of lists of sources;
`preprocessor` replaces templates and links, the innermost first; `markup` removes tags and tables; `blocks`
splits the rest into headings and paragraphs, and removes the sections that primarily feature lists; `polish`
cleans each line. Each step is one pass over the text, in time that is linear in its length.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from operator import add
from types import MappingProxyType

from wikitext_builder.article import INCOMPLETE, SECTIONS, Article, Page
from wikitext_builder.errors import BuilderError, RejectedError
from wikitext_builder.extraction.blocks import Block, cut_lists, select_sections, split_blocks
from wikitext_builder.extraction.expander import Expander, Templates
from wikitext_builder.extraction.macros import Macro
from wikitext_builder.extraction.markers import (
    FORMULA_MARK,
    UNKNOWN_START,
    LeftOut,
    close_calls,
    latex_of,
    lost_words,
    with_latex,
    without_latex,
)
from wikitext_builder.extraction.markup import flatten_tags, remove_tables
from wikitext_builder.extraction.polish import own_lines, polish, polish_heading
from wikitext_builder.extraction.preprocessor import resolve
from wikitext_builder.extraction.templates import TemplateReader, UserMacro, UserMacroError, user_macros
from wikitext_builder.extraction.trim import trim
from wikitext_builder.tokens.tokenizer import keeps_joiners
from wikitext_builder.wiki.classify import classifier
from wikitext_builder.wiki.languages import LANGUAGES, Language, language_of

# Text in several scripts, or in none of them: `-{zh-hans:A; zh-hant:B}-`, `-{Homo sapiens}-`.
VARIANT_RULE = re.compile(r"-\{([^{}]{0,500})\}-")
# $languagesWithVariants in MediaWiki's LanguageConverter.php, and kk, which was in it earlier.
CONVERTED_LANGUAGES = {
    "ban", "crh", "gan", "iu", "kk", "ku", "mni", "sh", "shi", "sr", "tg", "tly", "uz", "wuu", "zgh", "zh",
}  # fmt: skip
MAX_RULE_DEPTH = 10  # rules within rules, as in MediaWiki
PREFERRED_CODES = (
    "zh-hans",
    "zh-cn",
    "zh",
    "zh-hant",
    "zh-tw",
    "zh-hk",
)  # most articles are in simplified characters
MAX_PASSES = 3  # the text of a call can contain calls that are new
NO_EXPANSIONS: Mapping[str, str] = MappingProxyType({})
NO_MACROS: Mapping[str, UserMacro] = MappingProxyType({})


def extract(
    page: Page | str,
    *,
    title: str = "",
    language: str | Language = "en",
    sections: str = "official",
    incomplete: str = "cut",
    expansions: Mapping[str, str] = NO_EXPANSIONS,
    templates: Templates | None = None,
    macros: Mapping[str, UserMacro] = NO_MACROS,
) -> Article:
    """Return the article that a reader of a page sees: headings and paragraphs, one per line.

    Args:
        page: A page, or wikitext; wikitext has no date, so ages are today's.
        title: The title, if `page` is wikitext.
        language: Code of the Wikipedia, or its names.
        sections: `official` removes the heading and own text of list sections, as in the official files;
            `clean` also removes their subsections, and headings without text.
        incomplete: `cut` removes the smallest part (a clause, parentheses, a sentence) that needs the missing
            text of a call; `keep` leaves the gap.
        expansions: Texts of template calls, by their wikitext as in `Article.left_out`, as `expandtemplates`
            of the wiki's API gives them.
        templates: Wikitext of templates by name, such as `{"Distance": "{{#expr: {{{1}}} * 5}} leagues"}`,
            for calls that are still unknown; `open_templates` gives those of a store.
        macros: Functions by template name, which take precedence over ours. Each gets a call as an
            mwparserfromhell `Template`, whose nested calls are already text, and returns wikitext, or None if
            the text is unknown.

    Raises:
        RejectedError: The page cannot be used; the reason is `redirect`, `too-large`, `malformed` or
            `too-deep`, or `macro` if one of `macros` failed.
        BuilderError: The language, `sections` or `incomplete` is unknown, wikitext has no title, or a value
            of `macros` is not a function.

    >>> extract("'''Tokyo''' is {{convert|10|km}} away.<ref>Map</ref>", title="Tokyo").lines
    ('', '= Tokyo =', '', 'Tokyo is 10 kilometres (6.2 mi) away.', '')
    >>> def opening(template):
    ...     return f"the {template.get(1).value} gambit"
    >>> extract("It is {{chess opening|king's}}.", title="A", macros={"Chess opening": opening}).lines[3]
    "It is the king's gambit."
    """
    if isinstance(page, str):
        if not title:
            raise BuilderError("wikitext has no title; give one: extract(wikitext, title='Tokyo')")
        page = Page(title=title, page_id=0, revision_id=0, timestamp="", wikitext=page)
    own = user_macros(macros) if macros else {}
    options = Options(language_of(language), sections, incomplete, own)
    options.refuse_redirect(page)
    article = _article(page, options, expansions)
    return article if templates is None else _expanded(article, page, options, expansions, templates)


@dataclass(frozen=True, slots=True)
class Options:
    """How pages are extracted, see `extract`."""

    language: Language
    sections: str
    incomplete: str
    macros: Mapping[str, Macro]  # the user's

    def __post_init__(self) -> None:
        """Raise a BuilderError if a choice is unknown."""
        for name, choices in (("sections", SECTIONS), ("incomplete", INCOMPLETE)):
            if (value := getattr(self, name)) not in choices:
                raise BuilderError(f"{name}={value!r} is unknown; use one of {', '.join(choices)}")

    def refuse_redirect(self, page: Page) -> None:
        """Raise a RejectedError if a page only leads to another one."""
        if classifier(self.language).is_redirect(page.wikitext):
            raise RejectedError("redirect", "it only leads to another page")


def _article(page: Page, options: Options, expansions: Mapping[str, str]) -> Article:
    language = options.language
    left_out = LeftOut()
    reader = TemplateReader(page, expansions, left_out, language, options.macros)
    text = cut_lists(trim(page.wikitext), language.removed_sections)
    text = resolve(text, reader, reader.read_link, reader.gives_no_text)
    text = choose_variant(text, language.code)
    switches = () if language.code in LANGUAGES else language.switches  # those of LANGUAGES need no mention
    return lay_out(page, split_blocks(remove_tables(flatten_tags(text)), switches), left_out, options)


def _expanded(
    article: Article, page: Page, options: Options, expansions: Mapping[str, str], templates: Templates
) -> Article:
    """Return the article again, with the calls that it leaves out expanded from templates."""
    reader = TemplateReader(page, NO_EXPANSIONS, LeftOut(), options.language, options.macros)
    expander = Expander(page, templates, language=options.language, macros=reader)
    reasons: dict[str, str] = {}
    expanded = 0
    for _ in range(MAX_PASSES):
        new_calls = [call for call in article.left_out if call not in reasons]
        texts, failures = expander.expanded(new_calls)
        reasons |= failures
        if not texts:
            break
        expansions = {**expansions, **texts}
        try:
            article = _article(page, options, expansions)
        except UserMacroError:
            raise
        except RejectedError:  # without these texts the page was accepted
            break
        expanded += len(texts)
    call_reasons = tuple(reasons.get(call, "limit") for call in article.left_out)
    return replace(article, reasons=call_reasons, expanded=expanded)


def lay_out(
    page: Page, blocks: list[Block], left_out: LeftOut, options: Options, *, sources_marked: bool = False
) -> Article:
    """Return the article of a page's blocks, with blank lines around headings and at the end.

    With official `sections` formulas are on lines of their own, except in `Article.plain_lines`.
    `sources_marked` is that of `select_sections`.
    """
    joiners = keeps_joiners(options.language.code)
    plain_lines = ["", f"= {polish_heading(page.title, joiners=joiners)} =", ""]
    lines = plain_lines.copy()
    unknown_calls: list[str] = []
    cuts: list[str] = []
    lost: list[int] = []
    names, mode = options.language.removed_sections, options.sections
    for block in select_sections(blocks, names=names, mode=mode, sources_marked=sources_marked):
        text = block.text
        if UNKNOWN_START in text:
            if block.listed and left_out.is_source(text):
                continue
            calls = left_out.calls_in(text, alone=not block.level and not block.listed)
            cut = options.incomplete == "cut" and not block.level
            text, block_cuts, cut_words = close_calls(text, listed=block.listed, cut=cut)
            unknown_calls += calls
            cuts += block_cuts[: len(calls)]  # calls that do not count are alone in a block, which is not cut
            lost += map(add, map(lost_words, calls), cut_words)
        if not block.level:
            paragraph = [line] if (line := polish(text, joiners=joiners)) else []
            plain_lines += paragraph
            lines += own_lines(line) if line and mode == "official" else paragraph
        elif text := polish_heading(text, joiners=joiners):
            marks = "=" * block.level
            heading = ["", f"{marks} {text} {marks}", ""]
            plain_lines += heading
            lines += heading
    return Article(
        title=page.title,
        page_id=page.page_id,
        revision_id=page.revision_id,
        timestamp=page.timestamp,
        lines=tuple(map(without_latex, [*lines, ""])),
        left_out=tuple(unknown_calls),
        cuts=tuple(cuts),
        lost=tuple(lost),
        plain_lines=tuple(map(with_latex, [*plain_lines, ""])),
        formulas=tuple(latex_of(mark) for line in plain_lines for mark in FORMULA_MARK.findall(line)),
    )


def choose_variant(text: str, language: str = "zh") -> str:
    """Return the text with one script chosen where rules give several, and without rules that show nothing.

    >>> choose_variant("-{zh-hans:计算机; zh-hant:電腦}-、-{只}-、-{H|zh-cn:a;zh-tw:b}-")
    '计算机、只、'
    >>> choose_variant("-{Homo -{sapiens}-}-, -{sr-ec:а; sr-el:a}-", "sr")
    'Homo sapiens, а'
    """
    if "-{" not in text or language not in CONVERTED_LANGUAGES:
        return text
    code_pattern, separator = _rule_patterns(language)

    def chosen(match: re.Match[str]) -> str:
        flags, bar, rule = match[1].rpartition("|")
        if bar and {"H", "T", "-"} & {flag.strip() for flag in flags.split(";")}:
            return ""
        variants = {}
        for variant in separator.split(rule):
            code, colon, variant_text = variant.partition(":")
            if colon:
                variants[code.rpartition("=>")[2].strip().lower()] = variant_text.strip()
        codes = (*PREFERRED_CODES, *filter(code_pattern.fullmatch, variants))
        return next((variants[code] for code in codes if code in variants), rule.strip())

    for _ in range(MAX_RULE_DEPTH):
        before, text = text, VARIANT_RULE.sub(chosen, text)
        if text == before:
            break
    return text


@cache
def _rule_patterns(language: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return patterns for the code of a variant, and for what separates variants in a rule."""
    code = rf"(?:{language}|ike)(?:-\w+)*"  # ike: Inuktitut
    # A semicolon separates only before a code or at the end: it also ends entities.
    separator = rf";\s*(?=(?:[^;]{{0,200}}=>\s*)?{code}\s*:|\Z)"
    return re.compile(code, re.IGNORECASE), re.compile(separator, re.IGNORECASE)
