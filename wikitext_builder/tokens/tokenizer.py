"""Splits text into the tokens of the official WikiText files: Moses' tokens, with numbers split.

The recipe: Moses' `tokenizer.perl -l LANGUAGE -a -no-escape`, as it was between May 2015 and February 2016,
on a whole paragraph; then `< formula >` becomes `<formula>` again; then the commas and dots of numbers become
`@,@` and `@.@`.

Nearly every rule of Moses looks at one word between two spaces, so the tokens of each word are cached; a word
of letters alone is one token. A pass takes many lines: words that contain anything but letters are cut out of
the text, those without cached tokens are tokenized together, and the text is joined again.

Control characters, which clean text does not contain, mark the exceptions: a comma or an apostrophe at the
start or the end of a line adds a mark to its word, two words separated by `' '` count as one word, and a
final dot that depends on the next word is a mark in the tokens of its word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Final

import regex

from wikitext_builder.article import Article
from wikitext_builder.wiki.languages import LANGUAGES, language_of

# Marks in words: no space before the word, no space after it, two words in one.
FIRST, LAST, GLUE = "\x00", "\x01", "\x02"
# Marks in tokens: a dot that stays on its word if a lower-case letter follows. A second character means that
# it also stays before a digit, or that the word is a number, whose dot becomes `@.@`.
DOT, OF_NUMERIC_PREFIX, OF_NUMBER = "\x03", "\x04", "\x05"

LINES_PER_PASS: Final = 256  # more are not faster
MAX_CACHED_CHARACTERS: Final = 1 << 21  # of the words; beyond, the cache is emptied

EDGE_MARKS: Final = (",", "'")  # Moses' rules for these need a character on both sides
LETTERS: Final = "".join(filter(str.isalpha, map(chr, range(0x530))))  # Latin, Greek and Cyrillic
NOT_ONLY_LETTERS: Final = re.compile(f"( [{LETTERS}]*+[^{LETTERS} \n][^ \n]*)")
"""A word that can have several tokens, with the space before it; words of other scripts mostly match too."""

# Perl's \p{IsAlnum} is Alphabetic and Nd, Han and Kana included, unlike the table of sacremoses. The Unicode
# version of `regex` decides: between 14 and 17 some 40 combining marks (U+0363 and on) became Alphabetic.
SYMBOL: Final = regex.compile(r"([^\p{Alphabetic}\p{Nd}\s.'`,\-])")
HYPHEN: Final = regex.compile(r"([\p{Alphabetic}\p{Nd}])-(?=[\p{Alphabetic}\p{Nd}])")
# The same for languages whose marks (viramas, nuktas) and joiners belong to their word.
SYMBOL_NOT_MARK: Final = regex.compile(r"([^\p{Alphabetic}\p{Nd}\p{M}\u200C\u200D\s.'`,\-])")
HYPHEN_OF_MARKS: Final = regex.compile(r"([\p{Alphabetic}\p{Nd}\p{M}])-(?=[\p{Alphabetic}\p{Nd}])")
DOTS: Final = regex.compile(r"(\.{2,})")
COMMA_AFTER: Final = regex.compile(r"(\P{N}),")
COMMA_BEFORE: Final = regex.compile(r",(\P{N})")
ALPHABETIC: Final = regex.compile(r"\p{Alphabetic}")
TRAILING_DOT_APOSTROPHE: Final = re.compile(r"\.'$")

Rule = tuple[regex.Pattern[str], str]
ENGLISH: Final[tuple[Rule, ...]] = (  # contractions are split to the right: Don 't, the 1990 's
    (regex.compile(r"(\P{Alphabetic})'(\P{Alphabetic})"), r"\1 ' \2"),
    (regex.compile(r"([^\p{Alphabetic}\p{N}])'(\p{Alphabetic})"), r"\1 ' \2"),
    (regex.compile(r"(\p{Alphabetic})'(\P{Alphabetic})"), r"\1 ' \2"),
    (regex.compile(r"(\p{Alphabetic})'(\p{Alphabetic})"), r"\1 '\2"),
    (regex.compile(r"(\p{N})'(s)"), r"\1 '\2"),
)
FRENCH_AND_ITALIAN: Final[tuple[Rule, ...]] = (  # contractions are split to the left: l' état
    (regex.compile(r"(\P{Alphabetic})'(\P{Alphabetic})"), r"\1 ' \2"),
    (regex.compile(r"(\P{Alphabetic})'(\p{Alphabetic})"), r"\1 ' \2"),
    (regex.compile(r"(\p{Alphabetic})'(\P{Alphabetic})"), r"\1 ' \2"),
    (regex.compile(r"(\p{Alphabetic})'(\p{Alphabetic})"), r"\1' \2"),
)
APOSTROPHES: Final = {"en": ENGLISH, **dict.fromkeys(("fr", "it", "ca", "ga"), FRENCH_AND_ITALIAN)}
OTHER_APOSTROPHES: Final[tuple[Rule, ...]] = ((regex.compile("'"), " ' "),)

NUMBER: Final = re.compile(r"[0-9]++(?:[,.][0-9]++)*+[,.]?")  # possessive: linear on long runs of digits
SEPARATOR: Final = re.compile("[,.]")
SPACES: Final = re.compile(" {2,}")
FINAL_DOT_OR_NUMBER: Final = re.compile(r" ([^ \n]*\.|[0-9]++[,.][0-9,.]*)(?![^ \n])")
NUMERIC_ONLY: Final = " #NUMERIC_ONLY#"  # in Moses' tables, after a prefix
PENDING_DOT: Final = re.compile(f"{DOT}([{OF_NUMERIC_PREFIX}{OF_NUMBER}]?)(?=(?: (.))?)")

JUNK: Final = re.compile(r"[\x00-\x08\x0e-\x1f]+")  # Moses deletes \000-\037 except Perl's \s
SPACE: Final = re.compile(r"\s+")
# Visible marks (U+0600, U+06DD) are kept, and U+FEFF, which is a token 36 times in WikiText-2's train file.
INVISIBLE: Final = regex.compile(r"(?V1)[\p{Cf}--\p{Prepended_Concatenation_Mark}--\uFEFF]+")
NOT_JOINERS: Final = regex.compile(r"(?V1)[\p{Cf}--\p{Prepended_Concatenation_Mark}--[\uFEFF\u200C\u200D]]+")
MANY_MARKS: Final = regex.compile(r"(?V1)[\P{ccc=0}\u0F73\u0F75\u0F81]{32,}")


def keeps_joiners(language: str) -> bool:
    """Return True if marks and joiners (U+200C, U+200D) belong to their word.

    In the languages of `languages.toml` they do not, as in the official English files.

    >>> keeps_joiners("fa"), keeps_joiners("simple")
    (True, False)
    """
    return MOSES_CODES.get(language, language) not in LANGUAGES


class Tokenizer:
    """Tokenizes one language, and caches the tokens of words.

    Raises:
        BuilderError: The language is neither one of Moses nor one of Wikipedia.
    """

    def __init__(self, language: str) -> None:
        self._prefixes, self._numeric_prefixes = _nonbreaking_prefixes(language)
        self._apostrophes = APOSTROPHES.get(MOSES_CODES.get(language, language), OTHER_APOSTROPHES)
        keeps_marks = keeps_joiners(language)
        self._symbol, self._hyphen = (SYMBOL_NOT_MARK, HYPHEN_OF_MARKS) if keeps_marks else (SYMBOL, HYPHEN)
        self._invisible = NOT_JOINERS if keeps_marks else INVISIBLE
        self._tokens_of: dict[str, str] = {}  # words and tokens, each after a space
        self._cached_characters = 0  # of these words

    def tokenize_lines(self, lines: Sequence[str]) -> list[str]:
        """Return the tokens of each line; see the function `tokenize_line`."""
        starts = range(0, len(lines), LINES_PER_PASS)
        passes = (self._tokenize_pass(lines[start : start + LINES_PER_PASS]) for start in starts)
        return [line for tokenized in passes for line in tokenized]

    def _tokenize_pass(self, lines: Sequence[str]) -> list[str]:
        if self._cached_characters > MAX_CACHED_CHARACTERS:
            self._tokens_of, self._cached_characters = {}, 0
        text = "\n ".join(["", *map(self._spaced, lines)])
        parts = NOT_ONLY_LETTERS.split(text)
        words = parts[1::2]
        if new_words := set(words).difference(self._tokens_of):
            self._learn(new_words)
        parts[1::2] = map(self._tokens_of.__getitem__, words)
        text = "".join(parts)[2:].replace("\n ", "\n")
        return PENDING_DOT.sub(_settle_dot, text).replace("< formula >", "<formula>").split("\n")

    def _spaced(self, line: str) -> str:
        """Return a clean line with one space between words, and marks where Moses' rules need them."""
        if not line.isprintable() or not (line.isascii() or unicodedata.is_normalized("NFC", line)):
            line = _clean(line, self._invisible)
        if "  " in line or line[:1] == " " or line[-1:] == " ":
            line = " ".join(line.split())
        # A comma before a space is always a token; splitting it here leaves fewer words to cache.
        line = line.replace(", ", " , ").replace("  ,", " ,").removeprefix(" ")
        if "' '" in line:  # replaced twice, because such pairs overlap
            line = line.replace("' '", f"'{GLUE}'").replace("' '", f"'{GLUE}'")
        before = FIRST if line.startswith(EDGE_MARKS) else ""
        return f"{before}{line}{LAST}" if line.endswith(EDGE_MARKS) else before + line

    def _learn(self, words: set[str]) -> None:
        """Cache the tokens of words; words and tokens begin with a space."""
        at_edges = [word for word in words if word[1] == FIRST or word[-1] == LAST]
        for word in at_edges:
            self._tokens_of[word] = self._tokens(f"{word} ".replace(f" {FIRST}", "").replace(f"{LAST} ", ""))
        inner = list(words.difference(at_edges))
        # No rule looks beyond the space on either side of a word.
        tokens = self._tokens(" \n".join(inner) + " ").split(" \n") if inner else []
        self._tokens_of.update(zip(inner, tokens, strict=True))
        self._cached_characters += sum(map(len, words))

    def _tokens(self, words: str) -> str:
        """Return the tokens of words, each token after a space."""
        spaced = SPACES.sub(" ", self._space(words)).strip(" ")
        return FINAL_DOT_OR_NUMBER.sub(self._finish_token, f" {spaced}")

    def _space(self, text: str) -> str:
        """Add the spaces of Moses' rules, except those before final dots."""
        text = self._symbol.sub(r" \1 ", text.replace(GLUE, " "))
        if "-" in text:
            text = self._hyphen.sub(r"\1 @-@ ", text)
        if ".." in text:
            text = DOTS.sub(r" \1 ", text)
        if "," in text:
            text = COMMA_BEFORE.sub(r" , \1", COMMA_AFTER.sub(r"\1 , ", text))
        if "'" in text:
            for pattern, spaced in self._apostrophes:
                text = pattern.sub(spaced, text)
        return TRAILING_DOT_APOSTROPHE.sub(" . '", text)  # only at a line's end: other texts end in a space

    def _finish_token(self, match: re.Match[str]) -> str:
        """Split the number and final dot of a token; a dot that depends on the next word becomes a mark."""
        token, prefix = match[1], match[1][:-1]
        if token[-1] != "." or not prefix.strip("."):  # no final dot, or only dots
            return f" {_split_number(token)}"
        if prefix in self._numeric_prefixes:
            return f" {prefix}{DOT}{OF_NUMERIC_PREFIX}"
        if prefix in self._prefixes or ("." in prefix and ALPHABETIC.search(prefix)):
            return f" {_split_number(token)}"
        return f" {_split_number(prefix)}{DOT}{OF_NUMBER}" if NUMBER.fullmatch(token) else f" {prefix}{DOT}"


def _settle_dot(pending: re.Match[str]) -> str:
    """Return the final dot of a word, on the word or as a separate token; the next word decides."""
    kind, following = pending[1], pending[2] or ""
    if following.islower():
        return " @.@ " if kind == OF_NUMBER else "."
    return "." if kind == OF_NUMERIC_PREFIX and following in set("0123456789") else " ."


def _split_number(token: str) -> str:
    """Return a number with its commas and dots as `@,@` and `@.@`; any other token unchanged.

    >>> _split_number("1,500"), _split_number("1."), _split_number("12.2M")
    ('1 @,@ 500', '1 @.@ ', '12.2M')
    """
    return SEPARATOR.sub(r" @\g<0>@ ", token) if NUMBER.fullmatch(token) else token


def _clean(line: str, invisible: regex.Pattern[str]) -> str:
    """Return a line in NFC with plain spaces, without control characters and invisible characters."""
    line = SPACE.sub(" ", JUNK.sub("", line))
    return unicodedata.normalize("NFC", MANY_MARKS.sub(sort_marks, invisible.sub("", line)))


def sort_marks(marks: regex.Match[str]) -> str:
    """Sort a long run of combining marks canonically, for which `unicodedata` takes quadratic time."""
    parts = "".join(unicodedata.normalize("NFD", mark) for mark in marks[0])
    return "".join(sorted(parts, key=unicodedata.combining))


# Codes of Wikipedias whose code in sacremoses' tables differs.
MOSES_CODES: Final = {"simple": "en", "zh-yue": "yue", "zh-classical": "zh", "tet": "tdt"}


def _nonbreaking_prefixes(language: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return Moses' words that keep their dot, and those that keep it only before a digit.

    They stand in sacremoses' tables. A language without a table gets the English one, as in Moses.

    Raises:
        BuilderError: The language is neither one of Moses nor one of Wikipedia.
    """
    from sacremoses.corpus import NonbreakingPrefixes  # imported here, because it takes 0.4 s

    tables = NonbreakingPrefixes()
    code = MOSES_CODES.get(language, language)
    if code not in tables.available_langs.values():
        language_of(code)  # refuses an unknown language
        code = "en"
    lines = frozenset(tables.words(code))
    numeric = frozenset(line.removesuffix(NUMERIC_ONLY) for line in lines if line.endswith(NUMERIC_ONLY))
    return lines - numeric, numeric


@cache
def tokenizer(language: str) -> Tokenizer:
    """Return the tokenizer of a language, which is created once per process."""
    return Tokenizer(language)


def tokenize_line(line: str, language: str = "en") -> str:
    """Return the tokens of a line, as in an official raw file without the line's first and last space.

    After a number that ends in a separator there is a double space, or a space at the end of the line, as in
    the official files. Spaces of all kinds become one space; invisible characters (ZWSP, soft hyphen, marks
    of direction) are removed; the text becomes NFC.

    Moses turns the word DOTMULTI into a dot; here it is kept. `@-@` in a text becomes `@ - @`, as in Moses,
    so it does not look like a split hyphen. As in the official files, marks that are not Alphabetic, such as
    viramas, are separate tokens in English and the other languages of `languages.toml`; in all others, such
    as Hindi, they and the two joiners belong to their word.

    >>> tokenize_line("Don't, 1,500.")
    "Don 't , 1 @,@ 500 ."
    >>> tokenize_line("== Early life ==")
    '= = Early life = ='
    >>> tokenize_line("a guest-starring role in the U.S. (1. hrvatski)")
    'a guest @-@ starring role in the U.S. ( 1 @.@  hrvatski )'
    """
    return tokenize_lines([line], language)[0]


def tokenize_lines(lines: Sequence[str], language: str = "en") -> list[str]:
    """Return the tokens of each line; see `tokenize_line`. Many lines in one call are faster."""
    return tokenizer(language).tokenize_lines(lines)


def tokenize(text: str, language: str = "en") -> str:
    r"""Return the tokens of a text, one line per line, without the outer spaces that a file has.

    Args:
        text: One or more lines.
        language: Code of the language; without a table of Moses it gets the English prefixes.

    >>> tokenize("Don't stop:\n1,500 guest-stars.")
    "Don 't stop :\n1 @,@ 500 guest @-@ stars ."
    """
    return "\n".join(tokenize_lines(text.split("\n"), language))


def tokenize_article(article: Article, *, language: str = "en") -> Article:
    """Return the article with its lines tokenized."""
    return replace(article, lines=tuple(tokenize_lines(article.lines, language)))
