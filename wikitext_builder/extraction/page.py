"""Extracts one article of lines from one page of wikitext.

The steps, in order: `trim` cuts comments and references, and `blocks` the text of lists of sources;
`preprocessor` replaces templates and links, the innermost first; `tags` removes HTML and tables; `blocks`
finds headings and paragraphs, and removes the sections that primarily feature lists; `polish` makes each
line fit for a corpus.
Each step is one pass over the text, in time that is linear in its length.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
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
from wikitext_builder.extraction.markup import LinkReader, flatten_tags, remove_tables
from wikitext_builder.extraction.polish import own_lines, polish, polish_heading
from wikitext_builder.extraction.preprocessor import resolve
from wikitext_builder.extraction.templates import TemplateReader, UserMacro, UserMacroError, user_macros
from wikitext_builder.extraction.trim import trim
from wikitext_builder.tokens.tokenizer import keeps_joiners
from wikitext_builder.wiki.classify import classifier
from wikitext_builder.wiki.languages import LANGUAGES, Language, language_of

# Text in more than one script, or not to be converted: `-{zh-hans:A; zh-hant:B}-`, `-{Homo sapiens}-`.
VARIANT = re.compile(r"-\{([^{}]{0,500})\}-")
# The languages whose text MediaWiki converts: $languagesWithVariants in LanguageConverter.php, and kk before.
CONVERTED = {
    "ban", "crh", "gan", "iu", "kk", "ku", "mni", "sh", "shi", "sr", "tg", "tly", "uz", "wuu", "zgh", "zh",
}  # fmt: skip
NESTED = 10  # rules within rules, as in MediaWiki
PREFERRED = ("zh-hans", "zh-cn", "zh", "zh-hant", "zh-tw", "zh-hk")  # simplified first, as most articles are
MAX_PASSES = 3  # the text of a call can show another one that it hid
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
        page: A page, or wikitext; wikitext has no revision, so ages count up to today.
        title: The title, if `page` is wikitext.
        language: Code of the Wikipedia, or its names.
        sections: `official` removes the heading and own text of list sections, as in the official files;
            `clean` also removes their subsections, and headings without text.
        incomplete: `cut` removes the smallest part (a clause, parentheses, a sentence) that needs the text of
            a call without one; `keep` leaves the gap.
        expansions: Texts of template calls, by their wikitext as in `Article.left_out`, as `expandtemplates`
            of the wiki's API gives them.
        templates: Wikitext of templates by name, such as `{"Distance": "{{#expr: {{{1}}} * 5}} leagues"}`,
            for calls that are still unknown; `open_templates` gives those of a store.
        macros: Functions by template name, which take precedence over ours. Each gets a call as an
            mwparserfromhell `Template`, in which nested calls are already text, and returns wikitext, or None
            if the text is unknown.

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
            raise BuilderError("wikitext alone names no title; give one: extract(wikitext, title='Tokyo')")
        page = Page(title=title, page_id=0, revision_id=0, timestamp="", wikitext=page)
    check_choices(sections, incomplete)
    own = user_macros(macros) if macros else {}
    way = _Way(language=language_of(language), sections=sections, incomplete=incomplete, own=own)
    if classifier(way.language).is_redirect(page.wikitext):
        raise RejectedError("redirect", "it only leads to another page")
    article = _extracted(page, way, expansions)
    return article if templates is None else _with_templates(article, page, way, expansions, templates)


def check_choices(sections: str, incomplete: str) -> None:
    """Raise a BuilderError if one of them is unknown."""
    for name, value, known in (("sections", sections, SECTIONS), ("incomplete", incomplete, INCOMPLETE)):
        if value not in known:
            raise BuilderError(f"{name}={value!r} is unknown; use one of {', '.join(known)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """How pages are extracted."""

    language: Language
    sections: str
    incomplete: str
    own: Mapping[str, Macro]  # macros of the user


def _extracted(page: Page, way: _Way, expansions: Mapping[str, str]) -> Article:
    names = way.language
    left_out = LeftOut()
    templates = _reader(page, way, expansions, left_out)
    links = templates.read_link
    text = cut_lists(trim(page.wikitext), names.removed_sections)
    text = resolve(text, read_template=templates, read_link=links, says_nothing=templates.says_nothing)
    if names.code in CONVERTED:
        text = choose_variant(text, names.code)
    switches = () if names.code in LANGUAGES else names.switches  # those of our table are known everywhere
    found = split_blocks(remove_tables(flatten_tags(text)), switches)
    kept = select_sections(found, removed=names.removed_sections, mode=way.sections)
    return lay_out(page, kept, left_out, names, sections=way.sections, incomplete=way.incomplete)


def _reader(page: Page, way: _Way, expansions: Mapping[str, str], left_out: LeftOut) -> TemplateReader:
    return TemplateReader(
        page=page, expansions=expansions, left_out=left_out, read_link=LinkReader(way.language),
        language=way.language, own=way.own,
    )  # fmt: skip


def _with_templates(
    article: Article, page: Page, way: _Way, expansions: Mapping[str, str], templates: Templates
) -> Article:
    """Return the article again, with the calls that it leaves out expanded from templates."""
    macros = _reader(page, way, NO_EXPANSIONS, LeftOut())
    expander = Expander(page, templates, language=way.language, macros=macros)
    reasons: dict[str, str] = {}
    expanded = 0
    for _ in range(MAX_PASSES):
        new = [call for call in article.left_out if call not in reasons]
        texts, failures = expander.expanded(new)
        reasons |= failures
        if not texts:
            break
        try:
            article = _extracted(page, way, {**expansions, **texts})
        except UserMacroError:
            raise
        except RejectedError:  # the page itself can be read
            break
        expansions = {**expansions, **texts}
        expanded += len(texts)
    why = tuple(reasons.get(call, "limit") for call in article.left_out)
    return replace(article, reasons=why, expanded=expanded)


def lay_out(
    page: Page, found: list[Block], left_out: LeftOut, language: Language, *, sections: str, incomplete: str
) -> Article:
    """Return the article of a page's blocks, with blank lines around headings and at the end.

    With official `sections` formulas are on lines of their own, except in `Article.plain_lines`.
    """
    # Equals signs at the ends of a title (the album `= (album)`) would change its level in the files.
    joiners = keeps_joiners(language.code)
    whole = ["", f"= {polish_heading(page.title, joiners=joiners)} =", ""]
    lines = whole.copy()
    unknown: list[str] = []
    cuts: list[str] = []
    lost: list[int] = []
    for block in found:
        text = block.text
        if UNKNOWN_START in text:
            if block.listed and left_out.is_source(text):
                continue
            calls = left_out.calls_in(text, alone=not block.level and not block.listed)
            cut = incomplete == "cut" and not block.level
            text, went, words = close_calls(text, listed=block.listed, cut=cut)
            unknown += calls
            cuts += went[: len(calls)]  # a block of calls alone, of which some do not count, loses nothing
            lost += map(add, map(lost_words, calls), words)
        if not block.level:
            paragraph = [line] if (line := polish(text, joiners=joiners)) else []
            whole += paragraph
            lines += own_lines(line) if line and sections == "official" else paragraph
        elif text := polish_heading(text, joiners=joiners):
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
        cuts=tuple(cuts),
        lost=tuple(lost),
        plain_lines=tuple(map(with_latex, [*whole, ""])),
        formulas=tuple(latex_of(mark) for line in whole for mark in FORMULA_MARK.findall(line)),
    )


def choose_variant(text: str, language: str = "zh") -> str:
    """Return the text with one script chosen where it gives several; rules that show nothing are removed.

    >>> choose_variant("-{zh-hans:计算机; zh-hant:電腦}-、-{只}-、-{H|zh-cn:a;zh-tw:b}-")
    '计算机、只、'
    >>> choose_variant("-{Homo -{sapiens}-}-, -{sr-ec:а; sr-el:a}-", "sr")
    'Homo sapiens, а'
    """
    code, between = _patterns(language)
    for _ in range(NESTED):
        before, text = text, VARIANT.sub(partial(_chosen, code=code, between=between), text)
        if text == before:
            break
    return text


@cache
def _patterns(language: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """The code of a variant, and what stands between two rules; codes of Inuktitut begin with ike."""
    code = rf"(?:{language}|ike)(?:-\w+)*"
    # A semicolon ends a rule only before the next one: it also ends entities.
    between = rf";\s*(?=(?:[^;]{{0,200}}=>\s*)?{code}\s*:|\Z)"
    return re.compile(code, re.IGNORECASE), re.compile(between, re.IGNORECASE)


def _chosen(match: re.Match[str], code: re.Pattern[str], between: re.Pattern[str]) -> str:
    flags, bar, rules = match[1].rpartition("|")
    if bar and {"H", "T", "-"} & {flag.strip() for flag in flags.split(";")}:
        return ""
    pairs = [rule.partition(":") for rule in between.split(rules)]
    named = {name.rpartition("=>")[2].strip().lower(): value.strip() for name, colon, value in pairs if colon}
    codes = [name for name in named if code.fullmatch(name)]
    return next((named[name] for name in (*PREFERRED, *codes) if name in named), rules.strip())
