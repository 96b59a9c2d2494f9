"""Targets: pages, lines, dumps and answers of a wiki."""

from __future__ import annotations

import bz2
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec
import zstandard

from tests.fuzz.target import Target, text_of, written
from tests.wikitext_builder.extraction.pages import has_only_visible_characters, page
from wikitext_builder.errors import BuilderError, RejectedError
from wikitext_builder.extraction.page import extract
from wikitext_builder.extraction.rendered import extract_rendered
from wikitext_builder.pages.expansions import failure_of, split_at_marks
from wikitext_builder.pages.xml_dump import read_pages
from wikitext_builder.tokens.detokenizer import detokenize
from wikitext_builder.tokens.tokenizer import Tokenizer
from wikitext_builder.wiki.client import Found, gather, site_of
from wikitext_builder.wiki.http import Reply, TryAgainError
from wikitext_builder.wiki.languages import LANGUAGES
from wikitext_builder.wiki.responses import (
    FoundPage,
    continuation,
    expected_fields,
    read_answer,
)

CODES: Final = sorted(LANGUAGES)
ENGLISH: Final = bytes((CODES.index("en"),))
GERMAN: Final = bytes((CODES.index("de"),))
TOKENIZERS: Final = {code: Tokenizer(code) for code in CODES if code != "ja"}  # it has no spaces


def _code(content: bytes) -> str:
    """The language that the first byte chooses."""
    return CODES[content[0] % len(CODES)] if content else "en"


def _lines(lines: tuple[str, ...]) -> str:
    assert all(has_only_visible_characters(line) for line in lines)
    assert all(line == line.strip() for line in lines)
    return "\n".join(lines)


def _wikitext(content: bytes) -> str:
    return _lines(extract(page(text_of(content[1:])), language=_code(content)).lines)


def _html(content: bytes) -> str:
    return _lines(extract_rendered(text_of(content), page("")).lines)


def _line(content: bytes) -> str:
    tokenizer = TOKENIZERS.get(_code(content), TOKENIZERS["en"])
    line = text_of(content[1:]).replace("\n", " ").replace("\r", " ")
    tokens = tokenizer.tokenize_line(line)
    assert "\n" not in tokens
    assert has_only_visible_characters(tokens) or not has_only_visible_characters(line)
    plain = detokenize(tokens)
    assert "".join(plain.split()) == "".join(_plain(tokens).split())
    return f"{tokens}\n{plain}"


def _plain(tokens: str) -> str:
    for mark in "-,.":
        tokens = tokens.replace(f" @{mark}@ ", mark)
    return tokens


def _pages(path: Path) -> list[str]:
    """The pages of a dump; the last one is the error, if there is one."""
    found = []
    try:
        for dumped in read_pages(path):
            dumped.content.title.encode()
            found.append(f"{dumped!r}\n")
    except BuilderError as error:
        found.append(f"refused: {error}")
    return found


def _dump(name: str) -> Callable[[bytes], str]:
    def run(content: bytes) -> str:
        found = _pages(written(name, content))
        if found and found[-1].startswith("refused: "):
            raise BuilderError("".join(found))
        return "".join(found)

    return run


PACKERS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "bz2": bz2.compress,
    "gz": lambda content: gzip.compress(content, mtime=0),
    "zst": zstandard.compress,
}


def _damaged(content: bytes) -> str:
    """XML in an archive that breaks off: the pages before the place, then an error.

    The first byte chooses the kind of archive and whether it is in two parts, the next two where it ends.
    """
    kind, where, xml = content[:1], content[1:3], content[3:]
    suffix = sorted(PACKERS)[kind[0] % 3] if kind else "gz"
    parts = (xml[: len(xml) // 2], xml[len(xml) // 2 :]) if kind and kind[0] & 128 else (xml,)
    packed = b"".join(map(PACKERS[suffix], parts))
    whole = _pages(written(f"b.xml.{suffix}", packed))
    cut = packed[: int.from_bytes(where, "big") % len(packed)]
    found = _pages(written(f"b.xml.{suffix}", cut))
    assert found[-1].startswith("refused: ")
    assert found[:-1] == whole[: len(found) - 1]
    return "".join([*whole, *found])


def _answer(content: bytes) -> str:
    answer = read_answer("api", Reply(status=200, headers={}, body=content), 0.0)
    more = continuation("api", answer)
    found, pieces = Found(), dict[str, dict[str, object]]()
    with expected_fields("api"):
        gather(found, pieces, answer.get("query", {}))
        pages = [msgspec.convert(piece, FoundPage) for piece in pieces.values()]
        site = site_of(answer["query"]) if "general" in answer.get("query", {}) else None
    return f"{more} {found.renamed} {pages} {site}"


def _marks(content: bytes) -> str:
    text = text_of(content)
    parts = split_at_marks(text, 2)
    assert parts is None or len(parts) == 2
    return f"{parts} {failure_of(text, ['template', 'vorlage'])}"


DUMP: Final = b"""<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/" version="0.10" xml:lang="en">
<siteinfo><dbname>enwiki</dbname><namespaces><namespace key="0" case="first-letter" /></namespaces></siteinfo>
<page><title>Tea</title><ns>0</ns><id>1</id><revision><id>2</id><timestamp>2016-01-01T00:00:00Z</timestamp>
<model>wikitext</model><text bytes="3" sha1="0">'''Tea''' &amp; milk</text></revision></page></mediawiki>"""
BEFORE, SECOND, AFTER = DUMP.partition(b"<page>")
MULTISTREAM: Final = b"".join(bz2.compress(part) for part in (BEFORE, SECOND + AFTER[:-12], AFTER[-12:]))
WIKITEXT: Final = (
    ENGLISH
    + b"'''Tokyo''' is {{convert|10|km|mi}} away.<ref name=a>{{cite web|x}}</ref>\n== See also ==\n* [[A]]",
    ENGLISH
    + b"It\n{|\n! a\n|-\n| b || c\n|}\n{{#if:{{{1|}}}|x|y}}<math>x^2</math><nowiki>[[</nowiki><!-- c -->",
    GERMAN + b"[[Datei:A.jpg|mini|Text]] ''kursiv'' {{lang|fr|mot}} &nbsp; <div class=thumb>x</div>",
)
MARKS: Final = tuple(
    mark.encode()
    for mark in (
        "{{", "}}", "[[", "]]", "|", "=", "''", "\n* ", "\n==", "<ref>", "</ref>", "<ref name=", "<!--",
        "-->",
        "{|\n", "\n|-\n", "\n|}", "<nowiki>", "</nowiki>", "<math>", "{{{", "}}}", "{{convert|", "{{val|",
        "<div>", "</div>", "[http://a b]", "&amp;", "{{#switch:", "[[File:a|thumb|", "e\u0301", "\u200e", "−",
    )
)  # fmt: skip
XML: Final = (
    b"<page>",
    b"</page>",
    b"<revision>",
    b"<text>",
    b"<![CDATA[",
    b"&#0;",
    b"<!DOCTYPE a>",
    b"&lt;",
)
JSON: Final = (b"null", b"1e999", b"[]", b"{}", b'"\\ud800"', b"-1", b"9" * 30, b"true", b'"a"', b",", b":")
REVISION: Final = {"revid": 2, "timestamp": "2020-01-01T00:00:00Z", "slots": {"main": {"content": "x"}}}
ANSWERS: Final = (
    {
        "query": {
            "general": {"generator": "MediaWiki 1", "wikiid": "w", "lang": "en", "server": "//w"},
            "namespaces": {"1": {"id": 1, "name": "x"}},
            "namespacealiases": [{"id": 1, "alias": "y"}],
        }
    },
    {
        "continue": {"a": "b"},
        "query": {
            "normalized": [{"from": "a", "to": "A"}],
            "badrevids": {"7": {}},
            "pages": [{"title": "A", "pageid": 1, "ns": 0, "revisions": [REVISION]}],
        },
    },
    {"expandtemplates": {"wikitext": "%((0))%42%((1))%"}},
    {"parse": {"pageid": 1, "revid": 2, "text": "<p>A</p>"}},
)
DUMP_ERRORS: Final = (BuilderError,)
TARGETS: Final[dict[str, Target]] = {
    "wikitext": Target(run=_wikitext, refuses=(RejectedError,), seeds=WIKITEXT, words=MARKS),
    "html": Target(
        run=_html,
        refuses=(RejectedError,),
        seeds=(b"<p><b>Tokyo</b> is 10&#160;km<sup class='reference'>[1]</sup></p><h2>A</h2><ul><li>b</ul>",),
        words=(b"<p>", b"</p>", b"<table>", b"<span class='mwe-math-element'>", b"<h2>", b"<li>", b"&#0;"),
    ),
    "line": Target(
        run=_line,
        refuses=(),
        seeds=(ENGLISH + b"It's 1,500.5 km (a well-known \"fact\"), e.g. Mr. Smith's & co.; 50% @-@",),
        words=(b" ", b".", b",", b"-", b"'", b"\xe2\x80\x99s", b"@-@", b"1", b"&quot;", b"..."),
    ),
    "xml": Target(run=_dump("a.xml"), refuses=DUMP_ERRORS, seeds=(DUMP,), words=XML),
    "bzip2": Target(
        run=_dump("a.xml.bz2"),
        refuses=DUMP_ERRORS,
        seeds=(bz2.compress(DUMP), MULTISTREAM),
        words=(MULTISTREAM,),
    ),
    "gzip": Target(run=_dump("a.xml.gz"), refuses=DUMP_ERRORS, seeds=(PACKERS["gz"](DUMP),)),
    "zstandard": Target(run=_dump("a.xml.zst"), refuses=DUMP_ERRORS, seeds=(zstandard.compress(DUMP),)),
    "damaged": Target(
        run=_damaged,
        refuses=(),
        seeds=tuple(bytes((kind + 128 * (cut % 2), cut, cut)) + DUMP for kind in range(3) for cut in (0, 99)),
        words=XML,
    ),
    "answer": Target(
        run=_answer,
        refuses=(BuilderError, TryAgainError),
        seeds=tuple(json.dumps(answer).encode() for answer in ANSWERS),
        words=JSON,
    ),
    "marks": Target(
        run=_marks,
        refuses=(),
        seeds=(b"%((0))%1&nbsp;km%((1))%[[:Template:A]]%((2))%", b'<strong class="error">x</strong>'),
        words=(b"%((0))%", b"%((1))%", b"%((2))%", b"[[:", b"]]", b"<strong", b"class=", b"error"),
    ),
}
