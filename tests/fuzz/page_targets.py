"""Targets: pages, lines, dumps and answers of a wiki."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Final

import zstandard

from tests.dumps import ndjson, numbered_page, record, tar
from tests.fuzz.target import Target, target, text_of, written
from tests.wikitext_builder.extraction.pages import has_only_visible_characters, page
from wikitext_builder.dumps.xml_dump import read_pages
from wikitext_builder.errors import BuilderError, RejectedError
from wikitext_builder.extraction.page import extract
from wikitext_builder.extraction.rendered import extract_rendered
from wikitext_builder.fetching.expansions import failure_of, split_at_marks
from wikitext_builder.tokens.detokenizer import detokenize
from wikitext_builder.tokens.tokenizer import Tokenizer
from wikitext_builder.wiki.client import FoundPages, gather, site_of
from wikitext_builder.wiki.http import Reply, TryAgainError
from wikitext_builder.wiki.languages import LANGUAGES
from wikitext_builder.wiki.responses import read_answer

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
    (tokens,) = tokenizer.tokenize_lines([line])
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


def _snapshot(content: bytes) -> str:
    """Records, or an archive of them; from a first byte of 128 on they are put into an archive."""
    packed = content[1:]
    return _dump("a.ndjson")(packed) if content[:1] < b"\x80" else _dump("a.tar")(tar(packed, b""))


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
    found = FoundPages()
    gather(found, answer.query)
    site = site_of("api", answer.query) if answer.query.general else None
    return f"{answer.continuation} {found} {site}"


def _marks(content: bytes) -> str:
    text = text_of(content)
    parts = split_at_marks(text, 2)
    assert parts is None or len(parts) == 2
    return f"{parts} {failure_of(text, ['template', 'vorlage'])}"


DUMP: Final = b"""<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/" version="0.10" xml:lang="en">
<siteinfo><dbname>enwiki</dbname><namespaces><namespace key="0" case="first-letter" /></namespaces></siteinfo>
<page><title>Tea</title><ns>0</ns><id>1</id><revision><id>2</id><timestamp>2016-01-01T00:00:00Z</timestamp>
<model>wikitext</model><text bytes="3" sha1="0">'''Tea''' &amp; milk</text></revision></page></mediawiki>"""
TEA: Final = numbered_page(1, "'''Tea''' & milk")
RECORDS: Final = ndjson([record(TEA, "<p>Tea</p>", templates=[{"name": "Template:A"}]), record(TEA)])
BEFORE, SECOND, AFTER = DUMP.partition(b"<page>")
MULTISTREAM: Final = b"".join(bz2.compress(part) for part in (BEFORE, SECOND + AFTER[:-12], AFTER[-12:]))
WIKITEXT: Final = (
    ENGLISH
    + b"'''Tokyo''' is {{convert|10|km|mi}} away.<ref name=a>{{cite web|x}}</ref>\n== See also ==\n* [[A]]",
    ENGLISH
    + b"It\n{|\n! a\n|-\n| b || c\n|}\n{{#if:{{{1|}}}|x|y}}<math>x^2</math><nowiki>[[</nowiki><!-- c -->",
    GERMAN + b"[[Datei:A.jpg|mini|Text]] ''kursiv'' {{lang|fr|mot}} &nbsp; <div class=thumb>x</div>",
)
LINE: Final = ENGLISH + b"It's 1,500.5 km (a well-known \"fact\"), e.g. Mr. Smith's & co.; 50% @-@"
REJECTS: Final = (RejectedError,)
PREFIXES: Final = tuple(bytes((kind + 128 * (cut % 2), cut, cut)) for kind in range(3) for cut in (0, 99))
TARGETS: Final[dict[str, Target]] = {
    "wikitext": target("wikitext", _wikitext, *WIKITEXT, refuses=REJECTS),
    "html": target("html", _html, refuses=REJECTS),
    "line": target("line", _line, LINE, refuses=()),
    "xml": target("xml", _dump("a.xml"), DUMP),
    "bzip2": target("bzip2", _dump("a.xml.bz2"), bz2.compress(DUMP), MULTISTREAM, words=(MULTISTREAM,)),
    "gzip": target("gzip", _dump("a.xml.gz"), PACKERS["gz"](DUMP)),
    "zstandard": target("zstandard", _dump("a.xml.zst"), zstandard.compress(DUMP)),
    "snapshot": target("snapshot", _snapshot, b"\x00" + RECORDS, b"\xff" + RECORDS, b"\x00" + tar(RECORDS)),
    "damaged": target("damaged", _damaged, *(prefix + DUMP for prefix in PREFIXES), refuses=()),
    "answer": target("answer", _answer, refuses=(BuilderError, TryAgainError)),
    "marks": target("marks", _marks, refuses=()),
}
