"""The tokenizer against the official files, and against sacremoses with two differences corrected."""

from __future__ import annotations

import random
import re
import time
import unicodedata
from collections.abc import Iterable
from dataclasses import replace
from functools import cache

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from sacremoses import MosesTokenizer

from tests.cases import each, read, wrong
from tests.conftest import data
from tests.wikitext_builder.extraction.pages import real_pages
from wikitext_builder.article import Article
from wikitext_builder.tokens.detokenizer import detokenize_line
from wikitext_builder.tokens.tokenizer import (
    MAX_CACHED_CHARACTERS,
    Tokenizer,
    _nonbreaking_prefixes,
    tokenize,
    tokenize_article,
    tokenize_line,
)

LANGUAGES = ("en", "fr", "it", "de", "es", "pl", "ru", "zh")


def official_lines(name: str) -> list[str]:
    return data(name).read_text(encoding="utf-8").removesuffix("\n").split("\n")


# The oracle: sacremoses, line by line through all of its passes.


def apostrophes(*rules: tuple[str, str]) -> tuple[tuple[regex.Pattern[str], str], ...]:
    """Make rules with Perl's classes of characters."""
    classes = {"alpha": r"\p{Alphabetic}", "number": r"\p{N}"}
    return tuple(
        (regex.compile(re.sub("alpha|number", lambda m: classes[m[0]], rule)), to) for rule, to in rules
    )


class MendedMoses(MosesTokenizer):  # type: ignore[misc]  # sacremoses has no types
    """sacremoses with Perl's character classes, and without the rule of July 2016 for a line-final comma.

    Its tables do not have Han, Kana and Hangul, and have viramas and nuktas that Perl's do not have.
    """

    COMMA_SEPARATE_3 = re.compile(r"(?!)"), ""
    PAD_NOT_ISALNUM = regex.compile(r"([^\p{Alphabetic}\p{Nd}\s\.'\`\,\-])"), r" \1 "
    AGGRESSIVE_HYPHEN_SPLIT = (
        regex.compile(r"([\p{Alphabetic}\p{Nd}])\-(?=[\p{Alphabetic}\p{Nd}])"),
        r"\1 @-@ ",
    )
    COMMA_SEPARATE_1 = regex.compile(r"([^\p{N}])[,]"), r"\1 , "
    COMMA_SEPARATE_2 = regex.compile(r"[,]([^\p{N}])"), r" , \1"
    ENGLISH_SPECIFIC_APOSTROPHE = apostrophes(
        ("([^alpha])'([^alpha])", r"\1 ' \2"),
        ("([^alphanumber])'([alpha])", r"\1 ' \2"),
        ("([alpha])'([^alpha])", r"\1 ' \2"),
        ("([alpha])'([alpha])", r"\1 '\2"),
        ("([number])'([s])", r"\1 '\2"),
    )
    FR_IT_SPECIFIC_APOSTROPHE = apostrophes(
        ("([^alpha])'([^alpha])", r"\1 ' \2"),
        ("([^alpha])'([alpha])", r"\1 ' \2"),
        ("([alpha])'([^alpha])", r"\1 ' \2"),
        ("([alpha])'([alpha])", r"\1' \2"),
    )

    def __init__(self, language: str) -> None:
        super().__init__(lang=language)
        # For zh it makes its own classes, of Han and its tables.
        self.PAD_NOT_ISALNUM = MendedMoses.PAD_NOT_ISALNUM
        self.AGGRESSIVE_HYPHEN_SPLIT = MendedMoses.AGGRESSIVE_HYPHEN_SPLIT

    def islower(self, text: str) -> bool:
        return regex.fullmatch(r"\p{Lowercase}*", text) is not None

    def isanyalpha(self, text: str) -> bool:
        return regex.search(r"\p{Alphabetic}", text) is not None


@cache
def mended(language: str) -> MendedMoses:
    return MendedMoses(language)


def cleaned(line: str) -> str:
    """The steps before Moses: no control and no invisible characters, plain spaces, NFC."""
    seen = "\ufeff" + "".join(
        map(chr, (*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD))
    )
    kept = [
        " " if c.isspace() and c not in "\x1c\x1d\x1e\x1f" else c
        for c in line
        if not (c < " " and c not in "\t\n\v\f\r") and (unicodedata.category(c) != "Cf" or c in seen)
    ]
    return unicodedata.normalize("NFC", "".join(kept))


def slowly(line: str, language: str) -> str:
    """The recipe word for word. MULTI is hidden from sacremoses, which would turn DOTMULTI into a dot."""
    text = cleaned(line).replace("MULTI", "MULTЖ")
    moses = mended(language).tokenize(text, aggressive_dash_splits=True, escape=False, return_str=True)
    tokens = re.sub(" +", " ", moses).strip().replace("MULTЖ", "MULTI").replace("< formula >", "<formula>")
    return " ".join(
        re.sub("[,.]", r" @\g<0>@ ", token) if re.fullmatch(r"[0-9]+([,.][0-9]+)*[,.]?", token) else token
        for token in tokens.split(" ")
    )


# The official files.


def test_official_raw_lines_come_back_byte_for_byte() -> None:
    lines = official_lines("wikitext-2-raw/wiki.valid.raw")
    assert len(lines) == 3760
    for line in lines:
        tokens = tokenize_line(detokenize_line(line))
        assert f" {tokens} " == line if tokens else line == " "


def filled(tokens: list[str]) -> list[str]:
    """The tokens with a word in place of each <unk>, chosen to fit its neighbours.

    A digit next to the `@,@` of a number, a small letter after a dot that stayed on its word, else a name.
    """
    words = list(tokens)
    for index, token in enumerate(tokens):
        before, after = tokens[index - 1 : index], tokens[index + 1 : index + 2]
        if token == "<unk>":
            in_number = {"@,@", "@.@"} & {*before, *after}
            after_dot = before and len(before[0]) > 1 and before[0].endswith(".")
            words[index] = "7" if in_number else "kept" if after_dot else "Word"
    return words


@pytest.mark.parametrize(("split", "count"), [("test", 4358), ("valid", 3760)])
def test_lines_of_token_files_come_back(split: str, count: int) -> None:
    lines = official_lines(f"wikitext-103/wiki.{split}.tokens")
    assert len(lines) == count
    for line in lines:
        tokens = filled(line.split())  # these files have single spaces where the raw files have two
        assert tokenize_line(detokenize_line(" ".join(tokens))).split() == tokens


@pytest.mark.slow
def test_lines_of_the_train_file_come_back() -> None:
    lines = [line for line in official_lines("wikitext-2/wiki.train.tokens") if "<unk>" not in line]
    assert len(lines) == 22384
    for line in lines:
        assert tokenize_line(detokenize_line(line)).split() == line.split()


# The oracle.


@cache
def page_lines(month: str) -> tuple[str, ...]:
    """Lines of wikitext without the most frequent markup; the rest of it is good noise."""
    markup = re.compile(r"<ref[^>]*>[^<]*</ref>|<[^>]*>|'{2,}|\[\[(?:[^]|]*\|)?|]]")
    return tuple(line for one in real_pages(month) for line in markup.sub("", one.wikitext).split("\n"))


def differing(language: str, lines: Iterable[str]) -> list[str]:
    """The lines that the tokenizer and the oracle do not split alike."""
    return [line for line in lines if tokenize_line(line, language) != slowly(line, language)]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_sample_of_pages_equals_the_oracle(language: str) -> None:
    lines = page_lines("2016-04")
    assert differing(language, random.Random(language).sample(lines, 300)) == []


@pytest.mark.slow
@pytest.mark.parametrize(("language", "step"), [("en", 2), *((code, 16) for code in LANGUAGES[1:])])
def test_pages_equal_the_oracle(language: str, step: int) -> None:
    lines = [*page_lines("2016-04"), *page_lines("2018-06")]
    assert differing(language, lines[::step]) == []


PIECES = [piece for kind in read("tokenizer")["pieces of made lines"].values() for piece in kind]


@pytest.mark.parametrize("language", LANGUAGES)
@given(line=st.one_of(st.lists(st.sampled_from(PIECES), max_size=25).map("".join), st.text(max_size=30)))
def test_made_lines_equal_the_oracle(language: str, line: str) -> None:
    assert tokenize_line(line, language) == slowly(line, language)


@pytest.mark.parametrize("language", LANGUAGES)
def test_short_lines_of_the_hard_characters_equal_the_oracle(language: str) -> None:
    """All lines of up to four of the characters whose rules look at their neighbours."""
    lines = [""]
    for _ in range(4):
        lines += [line + c for line in lines for c in "a1.,' "]
    assert differing(language, random.Random(language).sample(sorted(set(lines)), 1000)) == []


def test_spaces_of_all_kinds_are_one() -> None:
    for space in ("\u00a0", "\u2003", "\t", " \u00a0 "):
        for line in ("1'{}'1", "''{}'' x.", "No.{}5"):
            assert tokenize_line(line.format(space)) == tokenize_line(line.format(" "))


# What differs from sacremoses and from Moses on purpose.


def plain_sacremoses(line: str) -> str:
    moses = MosesTokenizer("en")
    return str(moses.tokenize(line, aggressive_dash_splits=True, escape=False, return_str=True))


@each("tokenizer", "line, tokens, sacremoses", "differences")
def test_differences_from_sacremoses_are_these(line: str, tokens: str, sacremoses: str) -> None:
    assert tokenize_line(line) == tokens
    assert plain_sacremoses(line) == sacremoses
    assert tokens != sacremoses


def test_cases() -> None:
    def tokens(case: dict[str, str]) -> str:
        return tokenize_line(case["line"], case.get("language", "en"))

    assert wrong("tokenizer", "lines", "tokens", tokens) == []


def test_a_numeric_prefix_keeps_its_dot_before_each_digit_of_ascii() -> None:
    for following in "0123456789٣²Xx(-":
        kept = following in "0123456789x"  # a small letter keeps any dot
        assert tokenize_line(f"No. {following}") == f"No{'.' if kept else ' .'} {following}"


@pytest.mark.parametrize("language", [*LANGUAGES, "cs", "el", "pt", "sv"])  # some prefixes have spaces
def test_prefixes_are_those_of_the_language_in_sacremoses(language: str) -> None:
    moses = MosesTokenizer(language)
    always, before_digits = _nonbreaking_prefixes(language)
    assert before_digits == {*moses.NUMERIC_ONLY_PREFIXES}
    assert always == {*moses.NONBREAKING_PREFIXES} - before_digits


def test_a_wikipedia_of_another_code_is_tokenized_as_its_language() -> None:
    line = "Don't l'eau \u0915\u094d\u200d\u0937 a\u200cb"
    codes = {"simple": "en", "zh-yue": "yue", "zh-classical": "zh", "tet": "tdt"}
    for wikipedia, language in codes.items():
        assert _nonbreaking_prefixes(wikipedia) == _nonbreaking_prefixes(language)
        assert Tokenizer(wikipedia).tokenize_lines([line]) == Tokenizer(language).tokenize_lines([line])


# Interface.


def test_tokenize_article_keeps_all_but_the_lines() -> None:
    lines, when = ("", "= Don't =", "", "It's."), "2016-01-01T00:00:00Z"
    article = Article(title="Don't", page_id=1, revision_id=2, timestamp=when, lines=lines)
    tokens = tokenize_article(article)
    assert tokens == replace(article, lines=("", "= Don 't =", "", "It 's ."))
    assert tokenize_article(article, language="de").lines[1] == "= Don ' t ="


def test_a_text_gives_one_official_line_per_line() -> None:
    text = "Don't.\n\n1,500 km\n"
    assert tokenize(text) == "\n".join(map(tokenize_line, text.split("\n"))) == "Don 't .\n\n1 @,@ 500 km\n"
    assert tokenize("l'état", "fr") == "l' état"


def test_memory_is_bounded_and_forgotten_words_come_back() -> None:
    new = Tokenizer("en")
    for start in range(0, 400_000, 1000):
        assert new.tokenize_lines([f"w{start}-x again-st"]) == [f"w{start} @-@ x again @-@ st"]
        new.tokenize_lines([f"w{number}-x" for number in range(start, start + 1000)])
        assert sum(map(len, new._tokens_of)) <= MAX_CACHED_CHARACTERS + 2**15
    assert len(new._tokens_of) < 400_000


@given(lines=st.lists(st.lists(st.sampled_from([*PIECES, *"\n,. '"]), max_size=6).map("".join), max_size=8))
def test_lines_together_equal_each_alone(lines: list[str]) -> None:
    assert Tokenizer("en").tokenize_lines(lines) == [slowly(line, "en") for line in lines]


@each("tokenizer", "line", "hostile")
def test_hostile_lines_take_linear_time(line: str) -> None:
    started = time.perf_counter()
    assert tokenize_line(line)
    assert time.perf_counter() - started < 10  # each takes below 1 s; quadratic time would be minutes


def test_long_runs_of_marks_become_nfc() -> None:
    line = "a" + "\u0301\u0323\u0344\u0f73" * 100 + "b\u0301"
    assert tokenize_line(line) == slowly(line, "en")
