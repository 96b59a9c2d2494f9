"""Normalises titles as MediaWiki does; tells redirects, lists, disambiguations and Good articles."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from wikitext_builder.limits import TITLE_BYTES
from wikitext_builder.wiki.languages import Language, Names

ILLEGAL = re.compile(r"[\x00-\x1f\x7f#<>\[\]|{}\ufffd\ud800-\udfff]|~~~|%[0-9A-Fa-f]{2}")
RELATIVE = re.compile(r"\.\.?|\.\.?/.*|.*/\.\.?/.*|.*/\.\.?", re.DOTALL)
SPACES = re.compile(r"[ _\u00a0\u1680\u180e\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
BIDI_MARKS = re.compile(r"[\u200e\u200f\u202a-\u202e]")


def tidy_title(text: str) -> str:
    """Return a title as MediaWiki writes it, except for the case of its first letter.

    >>> tidy_title(" Łódź_(city) ")
    'Łódź (city)'
    """
    # Only the start of a long text, because NFC takes quadratic time on unordered combining marks.
    start = SPACES.sub(" ", text)[: 4 * TITLE_BYTES]
    return SPACES.sub(" ", BIDI_MARKS.sub("", unicodedata.normalize("NFC", start))).strip(" ")


def title_fault(title: str) -> str:
    """Return why no page can have a title; empty if a page can.

    >>> title_fault("../x"), title_fault("A|B"), title_fault("AT&T"), title_fault("100 %")
    ('it is a relative path', "it contains '|'", '', '')
    """
    if not title.strip(" _:"):
        return "it is empty"
    if match := ILLEGAL.search(title):
        return f"it contains {match[0]!r}"
    if len(title.encode()) > TITLE_BYTES:
        return f"it is longer than {TITLE_BYTES} bytes"
    return "it is a relative path" if RELATIVE.fullmatch(title) else ""


COMMENT_OR_VERBATIM = re.compile(
    r"<!--|<(nowiki|pre|syntaxhighlight|source|math)(?:\s[^<>]*)?>", re.IGNORECASE
)
COMMENT_IN_NAME = re.compile(r"\{\{[^{}|]{0,200}<!--")
MAX_SUMMARY_CHARACTERS = 1_000  # MediaWiki keeps 500; the pattern takes cubic time on long ones
WILDCARD = r"[^{}|\[\]\n]*"  # the meaning of * in the name of a template
DISAMBIGUATION_SWITCH = "__DISAMBIG__"  # of the extension Disambiguator; the same in all our languages


class Classifier:
    """Tells articles of a Wikipedia from other pages, and Good and Featured articles from other articles.

    >>> from wikitext_builder.wiki.languages import LANGUAGES
    >>> english = classifier(LANGUAGES["en"])
    >>> english.is_list("List of anthropologists"), english.is_list("Listeria")
    (True, False)
    >>> english.is_redirect("#redirect [[AT&T]]"), english.is_redirect("A # REDIRECT.")
    (True, False)
    >>> english.is_marked("{{Featured article}} '''Tea''' is a drink.")
    True
    """

    def __init__(self, language: Language) -> None:
        self.language = language
        words = "|".join(map(re.escape, language.redirect_words))
        self._redirect = re.compile(rf"\s*+[#＃](?:{words})\s*+:?\s*+\[\[", re.IGNORECASE)
        self._copied = re.compile(language.copied_summary or "(?!)", re.IGNORECASE)

    def is_redirect(self, wikitext: str) -> bool:
        """Return True if a text is a redirect."""
        return self._redirect.match(wikitext) is not None

    def is_list(self, title: str) -> bool:
        """Return True if the title is that of a list."""
        language = self.language
        return title.startswith(language.list_title_prefixes) or title.endswith(language.list_title_suffixes)

    def is_disambiguation(self, wikitext: str) -> bool:
        """Return True if the text marks a disambiguation page."""
        has_switch = DISAMBIGUATION_SWITCH in wikitext
        if has_switch and DISAMBIGUATION_SWITCH in without_comments_and_verbatim(wikitext):
            return True
        return self.calls(self.language.disambiguation_marks, wikitext)

    def quality(self, wikitext: str) -> str:
        """Return the quality that the text claims: `featured`, `good` or empty.

        >>> from wikitext_builder.wiki.languages import LANGUAGES
        >>> [classifier(LANGUAGES["de"]).quality(text) for text in ("{{Lesenswert|1. Mai 2018}}", "Tee")]
        ['good', '']
        """
        marks = {"featured": self.language.featured_marks, "good": self.language.good_marks}
        return next((name for name, names in marks.items() if self.calls(names, wikitext)), "")

    def is_marked(self, wikitext: str) -> bool:
        """Return True if the text calls a template of Good or Featured, outside comments and nowiki."""
        return self.calls(self.language.good_marks + self.language.featured_marks, wikitext)

    def calls(self, names: Names, wikitext: str) -> bool:
        """Return True if the text calls one of the templates, outside comments and nowiki.

        >>> from wikitext_builder.wiki.languages import LANGUAGES
        >>> english, marks = classifier(LANGUAGES["en"]), LANGUAGES["en"].stub_marks
        >>> [english.calls(marks, text) for text in ("{{Peru-river-stub}}", "{{Stubble}}")]
        [True, False]
        """
        pattern = template_call(names, self.language.template_namespaces)
        if not pattern.search(wikitext) and not COMMENT_IN_NAME.search(wikitext):
            return False  # most texts have no such call, and need no cleaning
        return bool(pattern.search(without_comments_and_verbatim(wikitext)))

    def copied_from(self, summary: str) -> str:
        """Return the words of an edit's summary that name the page whose text was copied, or an empty text.

        >>> from wikitext_builder.wiki.languages import LANGUAGES
        >>> classifier(LANGUAGES["en"]).copied_from("Contents [[WP:SPLIT|split]] from [[Tea]]; see there")
        'Contents [[WP:SPLIT|split]] from [[Tea]]'
        >>> classifier(LANGUAGES["en"]).copied_from("Created page with 'Text from [[Tea]]'")
        ''
        """
        match = self._copied.search(summary[:MAX_SUMMARY_CHARACTERS])
        return match[0] if match else ""


@cache
def classifier(language: Language) -> Classifier:
    """Return the classifier of a Wikipedia, which is created once."""
    return Classifier(language)


def without_comments_and_verbatim(wikitext: str) -> str:
    """Remove comments and the content of `<nowiki>` and similar tags, in one pass.

    A comment without an end reaches to the end of the text; a tag without an end is plain text, as in
    MediaWiki.

    >>> without_comments_and_verbatim("a<!-- {{good article}} -->b<nowiki>{{x}}</nowiki>c<nowiki />d")
    'abcd'
    """
    kept: list[str] = []  # parts of the text
    closing, position = ClosingTags(wikitext), 0
    while opening := COMMENT_OR_VERBATIM.search(wikitext, position):
        end = closing.end_of(opening, (opening[1] or "").lower())
        kept.append(wikitext[position : opening.start() if end >= 0 else opening.end()])
        position = end if end >= 0 else opening.end()
    return "".join((*kept, wikitext[position:]))


class ClosingTags:
    """Finds closing tags, and notes names without further ones, so that all searches together are linear."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.exhausted: set[str] = set()

    def end_after(self, name: str, position: int) -> int:
        """Return the end of the next `</name>`, or -1 if the text has no further one."""
        if name in self.exhausted:
            return -1
        match = _closing(name).search(self.text, position)
        if match is None:
            self.exhausted.add(name)
            return -1
        return match.end()

    def end_of(self, opening: re.Match[str], name: str) -> int:
        """Return where a comment, which has no name, or a tag with its content ends; -1 for an open tag."""
        if not name:
            end = self.text.find("-->", opening.end())
            return len(self.text) if end < 0 else end + len("-->")
        return opening.end() if opening[0].endswith("/>") else self.end_after(name, opening.end())


@cache
def _closing(name: str) -> re.Pattern[str]:
    return re.compile(rf"</{name}\s*>", re.IGNORECASE)


@cache
def template_call(names: Names, namespaces: Names = ("Template",)) -> re.Pattern[str]:
    """Return a pattern that matches the beginning of a call of any of these templates.

    The case of the first letter, underscores in place of spaces and the name of the namespace make no
    difference.

    >>> bool(template_call(("Good article",)).search("{{good_article}}"))
    True
    >>> bool(template_call(("Good article",)).search("{{Good articles}}"))
    False
    >>> bool(template_call(("*-stub",)).search("{{Peru-river-stub}}"))  # * stands for any characters
    True
    """
    any_of = "|".join(_name_pattern(name) for name in names) or r"(?!)"
    namespace = "|".join(re.escape(name) for name in namespaces)
    return re.compile(rf"\{{\{{[\s_]*+(?:(?i:{namespace})[\s_]*+:[\s_]*+)?(?:{any_of})[\s_]*+(?:\||\}}\}})")


def _name_pattern(name: str) -> str:
    first, rest = name[0], name[1:]
    letters = "".join(sorted({first.lower(), first.upper()})) if len(first.upper()) == 1 else first
    begin = WILDCARD if first == "*" else f"[{re.escape(letters)}]"
    return begin + r"[ _]+".join(WILDCARD.join(map(re.escape, word.split("*"))) for word in rest.split(" "))
