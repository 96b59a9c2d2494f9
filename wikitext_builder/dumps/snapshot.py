"""Reads pages of a Wikimedia Enterprise snapshot: one JSON object per line, plain or in a tar archive.

The format is https://enterprise.wikimedia.com/docs/snapshot/ with the fields of
https://enterprise.wikimedia.com/docs/data-dictionary/ (read in November 2026); the older files of
https://dumps.wikimedia.org/other/enterprise_html/ have the same format. Nothing is unpacked to the disk.
"""

from __future__ import annotations

import json
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Annotated, Any, Self

import msgspec

from wikitext_builder.article import Page
from wikitext_builder.dumps.decompress import PIECE_BYTES
from wikitext_builder.errors import BuilderError, RejectedError, reject
from wikitext_builder.limits import HTML_BYTES, REJECTED_IN_A_ROW, TAG_BYTES, WIKITEXT_BYTES
from wikitext_builder.store.schema import Rejected
from wikitext_builder.wiki.dates import is_timestamp
from wikitext_builder.wiki.languages import code_of_wiki, names_in_dump

TOO_LARGE = f"its wikitext has more than {WIKITEXT_BYTES:,} bytes"
ID_EXPECTED = "an id of 1 to 18 digits, not 0"


@dataclass(slots=True, kw_only=True)
class DumpedSite:
    """The wiki of an export, as the export describes it."""

    xml_lang: str = ""
    dbname: str = ""  # enwiki; absent before export version 0.8
    base: str = ""  # such as https://en.wikipedia.org/wiki/Main_Page
    sitename: str = ""
    namespaces: dict[str, int] = field(default_factory=dict)

    @property
    def language(self) -> str:
        """The code of the Wikipedia, see `code_of_wiki`."""
        return code_of_wiki(self.base, self.dbname, self.xml_lang)

    @property
    def names(self) -> dict[str, Any]:
        """The names of the wiki, for `with_names`."""
        return names_in_dump(self.base, self.sitename, self.namespaces)


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpedPage:
    """A page of a dump, or the reason why it cannot be used."""

    namespace: int
    redirect: bool  # according to the dump; only of a page's newest revision
    content: Page | Rejected
    created: str = ""  # time of the first revision, ISO 8601 in UTC; empty if the dump lacks it
    # Only from an HTML snapshot:
    html: str | None = None
    wikidata_id: str = ""  # such as Q1490
    templates: tuple[str, ...] = ()  # all templates that the page uses, with the name of their namespace
    categories: tuple[str, ...] = ()


FILE_TYPES = (tarfile.REGTYPE, tarfile.AREGTYPE)
HEADER_TYPES = (tarfile.DIRTYPE, tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME)  # held in memory
ADVICE = "take a snapshot of articles, such as enwiki_namespace_0.tar.gz of /v2/snapshots, or an XML dump"
Id = Annotated[int, msgspec.Meta(ge=1, lt=10**18)]


class _Name(msgspec.Struct):
    name: str = ""


class _Code(msgspec.Struct):
    identifier: str = ""


class _Namespace(msgspec.Struct):
    identifier: int = 0


class _Version(msgspec.Struct):
    identifier: Id


class _Body(msgspec.Struct):
    html: str
    wikitext: str


class _Record(msgspec.Struct, kw_only=True):
    """The fields that are read; no others are decoded. Empty fields can be null or absent."""

    name: str
    identifier: Id
    version: _Version
    date_modified: str
    article_body: _Body
    url: str = ""
    date_created: str = ""
    in_language: _Code | None = None
    is_part_of: _Code | None = None
    namespace: _Namespace | None = None
    main_entity: _Code | None = None
    templates: list[_Name] | None = None
    categories: list[_Name] | None = None


class SnapshotReader:
    """Splits pieces of a file into lines, and reads a page from each line; holds one line, up to a limit.

    `site` is filled from the first readable record. Pages with a revision later than `as_of` are rejected.
    """

    def __init__(self, site: DumpedSite, as_of: str = "") -> None:
        self._site = site
        self._as_of = as_of
        self._decode = msgspec.json.Decoder(_Record).decode
        self._parts: list[bytes] = []  # of the current line
        self._size = 0
        self._number = 0  # of the current record
        self._rejections = 0  # since the last accepted record

    def feed(self, piece: bytes, *, final: bool = False) -> Iterator[DumpedPage]:
        """Yield the pages whose lines end in this piece."""
        *lines, incomplete_line = piece.split(b"\n")
        for line in lines:
            self._hold(line)
            yield from self._end_line()
        self._hold(incomplete_line)
        if final:
            yield from self._end_line()
            if not self._number:
                raise BuilderError("it has no records; download it again")

    def _hold(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= HTML_BYTES:
            self._parts.append(part)
        else:
            self._parts.clear()

    def _end_line(self) -> Iterator[DumpedPage]:
        line, size = b"".join(self._parts), self._size
        self._parts, self._size = [], 0
        if size > HTML_BYTES:
            self._number += 1
            yield self._rejected("too-large", f"a record of {size:,} bytes, expected at most {HTML_BYTES:,}")
        elif line and not line.isspace():
            self._number += 1
            yield self._page(line)

    def _page(self, line: bytes) -> DumpedPage:
        try:
            record = self._decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            self._expect_json(line)
            return self._rejected("malformed", f"record {self._number}: {error}")
        wiki, site = _code(record.is_part_of) or _code(record.in_language), self._site
        if not site.base:
            site.base, site.dbname = record.url, _code(record.is_part_of)
            site.xml_lang = _code(record.in_language)
        elif wiki != (site.dbname or site.xml_lang):
            detail = f"it is of {wiki!r}, the pages before of {site.dbname or site.xml_lang!r}"
            return self._rejected("other-wiki", detail, record.name, record.identifier)
        self._rejections = 0
        content: Page | Rejected
        try:
            content = _page_of(record, self._as_of)
        except RejectedError as error:
            number = record.version.identifier
            content = Rejected.by(error, record.name, page_id=record.identifier, revision_id=number)
        return DumpedPage(
            namespace=record.namespace.identifier if record.namespace else 0,
            redirect=False,
            content=content,
            created=record.date_created if is_timestamp(record.date_created) else "",
            html=record.article_body.html,
            wikidata_id=_code(record.main_entity),
            templates=tuple(template.name for template in record.templates or ()),
            categories=tuple(category.name for category in record.categories or ()),
        )

    def _expect_json(self, line: bytes) -> None:
        """Refuse a line that is not JSON: the file is damaged, or of another kind."""
        try:
            json.loads(line, parse_int=len)
        except RecursionError:
            return
        except ValueError as error:  # JSON or UTF-8
            raise BuilderError(
                f"record {self._number} is not JSON ({error}); expected a JSON object per line, as in"
                " snapshots of Wikimedia Enterprise; download it again and run the import again to resume it"
            ) from error

    def _rejected(self, reason: str, detail: str, title: str = "", page_id: int = 0) -> DumpedPage:
        self._rejections += 1
        if self._rejections > REJECTED_IN_A_ROW:
            raise BuilderError(
                f"{REJECTED_IN_A_ROW:,} records in a row are of no article ({detail}); {ADVICE}"
            )
        title = title.encode("utf-8", "replace").decode() or f"record {self._number}"
        content = Rejected(title=title, page_id=page_id, reason=reason, detail=detail)
        return DumpedPage(namespace=0, redirect=False, content=content)


def _code(code: _Code | None) -> str:
    return code.identifier if code else ""


def _page_of(record: _Record, as_of: str) -> Page:
    """Return the page of a record; RejectedError: the page cannot be used."""
    wikitext, timestamp = record.article_body.wikitext, record.date_modified
    malformed = f"title {record.name!r}, timestamp {timestamp!r}; expected a title, a time, and {ID_EXPECTED}"
    reject(
        ("malformed", not record.name or not is_timestamp(timestamp), malformed),
        ("no-revision", bool(as_of) and timestamp > as_of, f"the snapshot has no revision up to {as_of}"),
        ("hidden", not wikitext and not record.article_body.html, "the record has neither text nor HTML"),
        ("too-large", len(wikitext.encode()) > WIKITEXT_BYTES, TOO_LARGE),
    )
    return Page(
        title=record.name,
        page_id=record.identifier,
        revision_id=record.version.identifier,
        timestamp=timestamp,
        wikitext=wikitext,
    )


def files_in_tar(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the content of the files in a tar archive, with a newline after each."""
    has_end = False

    class Header(tarfile.TarInfo):
        @classmethod
        def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
            nonlocal has_end
            has_end = buf == bytes(tarfile.BLOCKSIZE)
            header = super().frombuf(buf, encoding, errors)
            max_size = TAG_BYTES if header.type in HEADER_TYPES else sys.maxsize
            is_known = header.type in (*FILE_TYPES, *HEADER_TYPES)
            if not is_known or not 0 <= header.size <= max_size:
                raise _unexpected_member(header)
            return header

    stream: Any = SimpleNamespace(read=lambda _size: next(pieces, b""))
    try:
        with tarfile.open(fileobj=stream, mode="r|", tarinfo=Header, bufsize=PIECE_BYTES) as archive:
            while member := archive.next():
                vars(archive)["members"].clear()  # it would keep all members
                if member.issparse():  # its holes can have any size
                    raise _unexpected_member(member)
                content = archive.extractfile(member)
                while content and (piece := content.read(PIECE_BYTES)):
                    yield piece
                yield b"\n"
            has_more = False
            while padding := archive.fileobj.read(PIECE_BYTES):  # also reads the checksums of the compression
                has_more = has_more or bool(padding.strip(b"\0"))
    except (tarfile.TarError, ValueError) as error:
        raise BuilderError(f"the tar archive is damaged ({error}); download it again") from error
    if not has_end:
        raise BuilderError("the tar archive is truncated; download it again to resume the import")
    if has_more:
        raise BuilderError("there is more after the end of the tar archive; import one archive per file")


def _unexpected_member(header: tarfile.TarInfo) -> BuilderError:
    return BuilderError(
        f"the tar archive has {header.name[:100]!r} of type {header.type!r} and {header.size:,} bytes;"
        " expected plain files, without links, devices and holes: get the snapshot from its source"
    )
