"""What is fuzzed: each reader of foreign bytes, with the errors that it may raise and the laws of its result.

A target takes bytes and returns nothing. It raises only if something is wrong: an error that the reader does
not document, or a law that its result breaks.
"""

from __future__ import annotations

import bz2
import gzip
import json
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import zstandard

from tests.wikitext_builder.extraction.pages import has_only_visible_characters, page
from wikitext_builder.dataset.manifest import read_manifest
from wikitext_builder.dumps.reader import read_pages
from wikitext_builder.errors import BuilderError, RejectedError, ToolkitError
from wikitext_builder.extraction.page import extract
from wikitext_builder.extraction.rendered import extract_rendered
from wikitext_builder.store.lock import read_lock
from wikitext_builder.tokens.detokenizer import detokenize
from wikitext_builder.tokens.tokenizer import Tokenizer
from wikitext_builder.wiki.http import Reply, TryAgainError
from wikitext_builder.wiki.languages import LANGUAGES
from wikitext_builder.wiki.responses import (
    Found,
    continuation,
    expected_fields,
    gather,
    page_of_answer,
    read_answer,
    site_of,
)

HERE: Final = Path(tempfile.mkdtemp(prefix="fuzz-"))
CODES: Final = sorted(LANGUAGES)
TOKENIZERS: Final = {code: Tokenizer(code) for code in CODES if code != "ja"}  # it has no spaces


@dataclass(frozen=True, kw_only=True)
class Target:
    """A reader of foreign bytes."""

    run: Callable[[bytes], None]
    seeds: tuple[bytes, ...]  # where mutations begin
    words: tuple[bytes, ...] = ()  # what mutations insert


def _text(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def _wikitext(content: bytes) -> None:
    code = CODES[content[0] % len(CODES)] if content else "en"
    with suppress(RejectedError):
        article = extract(page(_text(content[1:])), language=code)
        assert all(has_only_visible_characters(line) for line in article.lines)
        assert all(line == line.strip() for line in article.lines)


def _html(content: bytes) -> None:
    with suppress(RejectedError):
        article = extract_rendered(_text(content), page(""))
        assert all(has_only_visible_characters(line) for line in article.lines)


def _line(content: bytes) -> None:
    code = CODES[content[0] % len(CODES)] if content else "en"
    tokenizer = TOKENIZERS.get(code, TOKENIZERS["en"])
    line = _text(content[1:]).replace("\n", " ").replace("\r", " ")
    tokens = tokenizer.tokenize_line(line)
    assert "\n" not in tokens
    assert tokens == tokenizer.tokenize_line(line)
    assert "".join(detokenize(tokens).split()) == "".join(_plain(tokens).split())


def _plain(tokens: str) -> str:
    for mark in "-,.":
        tokens = tokens.replace(f" @{mark}@ ", mark)
    return tokens


def _dump(name: str) -> Callable[[bytes], None]:
    def run(content: bytes) -> None:
        path = HERE / name
        path.write_bytes(content)
        with suppress(BuilderError):
            for dumped in read_pages(path):
                dumped.content.title.encode()

    return run


def _answer(content: bytes) -> None:
    with suppress(BuilderError, TryAgainError):
        answer = read_answer("api", Reply(status=200, headers={}, body=content), 0.0)
        continuation("api", answer)
        found, pieces = Found(), dict[str, dict[str, object]]()
        with expected_fields("api"):
            gather(found, pieces, answer.get("query", {}))
            for piece in pieces.values():
                page_of_answer(piece)
            site_of(answer["query"])


def _lock(content: bytes) -> None:
    path = HERE / "a.lock"
    path.write_bytes(content)
    with suppress(BuilderError):
        for revision in read_lock(path, language="en"):
            revision.title.encode()


def _manifest(content: bytes) -> None:
    (HERE / "manifest.json").write_bytes(content)
    with suppress(BuilderError):
        read_manifest(HERE)


def _result(content: bytes) -> None:
    from lm_benchmarks.records.result import from_json, to_json

    with suppress(ValueError, RecursionError):  # `read_lines` makes one error of them
        result = from_json(_text(content))
        assert from_json(to_json(result)) == result


def _arpa(content: bytes) -> None:
    from lm_benchmarks.adapters.arpa import ArpaFile

    path = HERE / "a.arpa"
    path.write_bytes(content)
    with suppress(ToolkitError):
        ArpaFile(path)


def _checkpoint(content: bytes) -> None:
    from ps_models.training.checkpoint import read_checkpoint

    path = HERE / "a.safetensors"
    path.write_bytes(content)
    with suppress(ToolkitError):
        read_checkpoint(path, training=True)


def _saved() -> bytes:
    """A small whole checkpoint."""
    import torch

    from ps_models.training.checkpoint import Checkpoint, save_checkpoint
    from wikitext_builder.dataset.vocabulary import Vocabulary

    words = Vocabulary(("<unk>", "<eos>", "the"))
    training = {"position": {"update": 1}, "rng": torch.zeros(4, dtype=torch.uint8)}
    whole = Checkpoint(
        model="lstm", config={}, weights={"a": torch.ones(2)}, vocabulary=words, facts={}, training=training
    )
    path = HERE / "seed.safetensors"
    save_checkpoint(path, whole)
    return path.read_bytes()


DUMP: Final = b"""<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/" version="0.10" xml:lang="en">
<siteinfo><dbname>enwiki</dbname><namespaces><namespace key="0" case="first-letter" /></namespaces></siteinfo>
<page><title>Tea</title><ns>0</ns><id>1</id><revision><id>2</id><timestamp>2016-01-01T00:00:00Z</timestamp>
<model>wikitext</model><text bytes="3" sha1="0">'''Tea''' &amp; milk</text></revision></page></mediawiki>"""
WIKITEXT: Final = (
    b"\x01'''Tokyo''' is {{convert|10|km|mi}} away.<ref name=a>{{cite web|x}}</ref>\n== See also ==\n* [[A]]",
    b"\x01{|\n! a\n|-\n| b || c\n|}\n{{#if:{{{1|}}}|x|y}}<math>x^2</math><nowiki>[[</nowiki><!-- c -->",
    b"\x00[[Datei:A.jpg|mini|Text]] ''kursiv'' {{lang|fr|mot}} &nbsp; <div class=thumb>x</div>",
)
MARKS: Final = tuple(
    mark.encode()
    for mark in (
        *(
            "{{",
            "}}",
            "[[",
            "]]",
            "|",
            "=",
            "''",
            "\n* ",
            "\n==",
            "<ref>",
            "</ref>",
            "<ref name=",
            "<!--",
            "-->",
        ),
        *("{|\n", "\n|-\n", "\n|}", "<nowiki>", "</nowiki>", "<math>", "{{{", "}}}", "{{convert|", "{{val|"),
        *(
            "<div>",
            "</div>",
            "[http://a b]",
            "&amp;",
            "{{#switch:",
            "[[File:a|thumb|",
            "e\u0301",
            "\u200e",
            "−",
        ),
    )
)
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
ANSWER: Final = json.dumps(
    {
        "continue": {"a": "b"},
        "query": {
            "general": {"generator": "MediaWiki 1", "wikiid": "w", "lang": "en"},
            "namespaces": {"1": {"id": 1, "name": "x"}},
            "namespacealiases": [],
            "pages": [
                {"title": "A", "pageid": 1, "revisions": [{"revid": 2, "slots": {"main": {"content": ""}}}]}
            ],
        },
    }
).encode()
LOCK: Final = b"# wikitext-builder lock 1\ten\t-\nTea\t1\t2\t2016-01-01T00:00:00Z\t" + b"0" * 31 + b"\n"
RECORDS: Final = Path(__file__).parents[1] / "cases" / "records"
TARGETS: Final[dict[str, Target]] = {
    "wikitext": Target(run=_wikitext, seeds=WIKITEXT, words=MARKS),
    "html": Target(
        run=_html,
        seeds=(b"<p><b>Tokyo</b> is 10&#160;km<sup class='reference'>[1]</sup></p><h2>A</h2><ul><li>b</ul>",),
        words=(b"<p>", b"</p>", b"<table>", b"<span class='mwe-math-element'>", b"<h2>", b"<li>", b"&#0;"),
    ),
    "line": Target(
        run=_line,
        seeds=(b"\x01It's 1,500.5 km (a well-known \"fact\"), e.g. Mr. Smith's & co.; 50% @-@",),
        words=(b" ", b".", b",", b"-", b"'", b"\xe2\x80\x99s", b"@-@", b"1", b"&quot;", b"..."),
    ),
    "xml": Target(run=_dump("a.xml"), seeds=(DUMP,), words=XML),
    "bzip2": Target(run=_dump("a.xml.bz2"), seeds=(bz2.compress(DUMP), bz2.compress(DUMP) * 2)),
    "gzip": Target(run=_dump("a.xml.gz"), seeds=(gzip.compress(DUMP, mtime=0),)),
    "zstandard": Target(run=_dump("a.xml.zst"), seeds=(zstandard.compress(DUMP),)),
    "answer": Target(run=_answer, seeds=(ANSWER,), words=JSON),
    "lock": Target(run=_lock, seeds=(LOCK,), words=(b"\t", b"\n", b"9" * 20, b"2016-13-01T00:00:00Z")),
    "manifest": Target(
        run=_manifest,
        seeds=((Path(__file__).parents[1] / "cases" / "manifest.json").read_bytes(),),
        words=JSON,
    ),
    "result": Target(
        run=_result,
        seeds=tuple(
            line for path in sorted(RECORDS.glob("*.jsonl")) for line in path.read_bytes().splitlines()[:2]
        ),
        words=JSON,
    ),
    "arpa": Target(
        run=_arpa,
        seeds=(
            (
                b"\\data\\\nngram 1=2\nngram 2=1\n\n\\1-grams:\n-1.0\t<unk>\t-0.5\n-0.5\tthe\n\n"
                b"\\2-grams:\n-0.1\tthe the\n\n\\end\\\n"
            ),
        ),
        words=(b"inf", b"nan", b"\t", b"\\3-grams:", b"ngram 9=9", b"1e999"),
    ),
    "checkpoint": Target(run=_checkpoint, seeds=(_saved(),), words=JSON),
}
