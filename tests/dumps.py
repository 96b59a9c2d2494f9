"""MediaWiki exports written for tests, and the same in every compression."""

import bz2
import gzip
import io
import json
import tarfile
from collections.abc import Callable, Iterable
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import zstandard

from wikitext_builder.article import Page
from wikitext_builder.store.schema import sha1_of

END = b"</mediawiki>\n"
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def numbered_page(number: int, wikitext: str = "text", title: str = "", **fields: Any) -> Page:
    """A page whose ids, and title if none is given, come from a number, unless fields say otherwise."""
    ids: dict[str, Any] = {"page_id": number, "revision_id": 1000 + number}
    dated = ids | {"timestamp": "2016-04-16T17:15:34Z"} | fields
    return Page(title=title or f"Page {number}", wikitext=wikitext, **dated)


def base_36(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = DIGITS[digit] + digits
    return digits.rjust(31, "0")


def escaped(text: str) -> str:
    return escape(text, {"\r": "&#13;"})  # a bare one is read as a line feed


def text_xml(wikitext: str) -> str:
    return f'<text bytes="{len(wikitext.encode())}" xml:space="preserve">{escaped(wikitext)}</text>'


def revision_xml(
    page: Page, *, text: str | None = None, sha1: str | None = None, model: str = "wikitext"
) -> str:
    sha1 = base_36(int(sha1_of(page.wikitext), 16)) if sha1 is None else sha1
    return (
        f"<revision><id>{page.revision_id}</id><parentid>1</parentid><timestamp>{page.timestamp}</timestamp>"
        "<contributor><username>A</username><id>3</id></contributor><comment>c</comment>"
        f"<model>{model}</model><format>text/x-wiki</format>"
        f"{text_xml(page.wikitext) if text is None else text}<sha1>{sha1}</sha1></revision>"
    )


def page_xml(page: Page, *revisions: str, namespace: int | None = 0, redirect: str = "") -> str:
    ns = "" if namespace is None else f"<ns>{namespace}</ns>"
    to = f"<redirect title={quoteattr(redirect)} />" if redirect else ""
    return (
        f"<page><title>{escaped(page.title)}</title>{ns}<id>{page.page_id}</id>{to}"
        f"{''.join(revisions or [revision_xml(page)])}</page>\n"
    )


def export_xml(
    pages: Iterable[str], *, version: str = "0.11", language: str = "en", site: str | None = None
) -> bytes:
    if site is None:
        site = (
            f"<siteinfo><sitename>Wikipedia</sitename><dbname>{language}wiki</dbname>"
            f"<base>https://{language}.wikipedia.org/wiki/Main_Page</base><namespaces>"
            '<namespace key="0" case="first-letter" /><namespace key="1" case="first-letter">Talk</namespace>'
            '<namespace key="10" case="first-letter">Template</namespace></namespaces></siteinfo>'
        )
    head = (
        f'<mediawiki xmlns="http://www.mediawiki.org/xml/export-{version}/" version="{version}"'
        f' xml:lang="{language}">\n{site}\n'
    )
    return f"{head}{''.join(pages)}".encode() + END


def multistream(data: bytes) -> bytes:
    """As Wikimedia makes it: one stream for the head, one per some pages, here three, one for the end."""
    content, end = data[: -len(END)], data[-len(END) :]
    head, *pages = content.split(b"<page>")
    parts = [b"<page>" + b"<page>".join(pages[n : n + 3]) for n in range(0, len(pages), 3)]
    return b"".join(map(bz2.compress, [head, *parts, end]))


COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "bzip2": bz2.compress,
    "multistream": multistream,
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "zstandard": zstandard.ZstdCompressor(level=3, write_checksum=True).compress,
}


# --- snapshots of Wikimedia Enterprise, with the fields of its data dictionary


def record(page: Page, html: str = "", **fields: Any) -> dict[str, Any]:
    """A page as a snapshot has it, some fields changed."""
    return {
        "name": page.title,
        "identifier": page.page_id,
        "date_modified": page.timestamp,
        "version": {"identifier": page.revision_id, "comment": "c", "tags": ["visualeditor"]},
        "url": f"https://en.wikipedia.org/wiki/{page.title.replace(' ', '_')}",
        "namespace": {"identifier": 0},
        "in_language": {"identifier": "en"},
        "is_part_of": {"identifier": "enwiki"},
        "main_entity": {"identifier": f"Q{page.page_id}"},
        "article_body": {"html": html or f"<p>{page.wikitext}</p>", "wikitext": page.wikitext},
        "license": [{"identifier": "CC-BY-SA-4.0"}],
    } | fields


def ndjson(records: Iterable[Any]) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in records)


def tar(*files: bytes, form: int = tarfile.PAX_FORMAT, **fields: Any) -> bytes:
    """An archive of files, the first of them with some fields of its header changed."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=form) as archive:
        for number, file in enumerate(files):
            info = tarfile.TarInfo(f"enwiki_namespace_0_{number}.ndjson")
            info.size = len(file)
            for name, value in fields.items():
                setattr(info, name, value)
            archive.addfile(info, io.BytesIO(file))
            fields = {}
    return packed.getvalue()
