"""Pages of a Wikimedia Enterprise snapshot: one JSON object per line, plain or in a tar archive.

The format is https://enterprise.wikimedia.com/docs/snapshot/ with the fields of
https://enterprise.wikimedia.com/docs/data-dictionary/ (read in November 2026); the older files of
https://dumps.wikimedia.org/other/enterprise_html/ have the same. Nothing is unpacked to the disk.
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
from wikitext_builder.dumps.decompress import PIECE
from wikitext_builder.errors import BuilderError, RejectedError, reject
from wikitext_builder.limits import HTML_BYTES, REJECTED_IN_A_ROW, TAG_BYTES, WIKITEXT_BYTES
from wikitext_builder.store.schema import Rejected
from wikitext_builder.wiki.dates import is_timestamp
from wikitext_builder.wiki.languages import code_of_wiki, names_in_dump

TOO_LARGE = f"its wikitext has more than {WIKITEXT_BYTES:,} bytes"
ID_EXPECTED = "an id of 1 to 18 digits, not 0"


@dataclass(slots=True, kw_only=True)
class DumpedSite:
    """What an export says about the wiki that it comes from."""

    xml_lang: str = ""
    dbname: str = ""  # enwiki; absent before export version 0.8
    base: str = ""  # https://en.wikipedia.org/wiki/Main_Page
    sitename: str = ""
    namespaces: dict[str, int] = field(default_factory=dict)

    @property
    def language(self) -> str:
        """The code of the Wikipedia, see `code_of_wiki`."""
        return code_of_wiki(self.base, self.dbname, self.xml_lang)

    @property
    def names(self) -> dict[str, Any]:
        """What it says, for `with_names`."""
        return names_in_dump(self.base, self.sitename, self.namespaces)


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpedPage:
    """A page of a dump, or why it cannot be used."""

    namespace: int
    redirect: bool  # the dump says so about the page's newest revision, and this is that revision
    content: Page | Rejected
    created: str = ""  # its first revision, ISO 8601 in UTC; empty: the dump does not have it
    # Of an HTML snapshot only:
    html: str | None = None
    wikidata_id: str = ""  # such as Q1490
    templates: tuple[str, ...] = ()  # all that the page uses, with the name of their namespace
    categories: tuple[str, ...] = ()


FILES = (tarfile.REGTYPE, tarfile.AREGTYPE)
HELD = (tarfile.DIRTYPE, tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME)  # in memory
ARTICLES = "take a snapshot of articles, such as enwiki_namespace_0.tar.gz of /v2/snapshots, or an XML dump"
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
    """The fields that are read; others are not decoded. Empty ones can be null or absent."""

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
    """Splits pieces of a file into lines and lines into pages; it holds one line, up to a limit.

    `site` is filled from the first record that can be read. Pages of later revisions than `as_of` are
    rejected.
    """

    def __init__(self, site: DumpedSite, as_of: str = "") -> None:
        self._site = site
        self._as_of = as_of
        self._decode = msgspec.json.Decoder(_Record).decode
        self._held: list[bytes] = []  # the beginning of a line
        self._size = 0
        self._number = 0  # of the record
        self._rejections = 0  # since the last record of a page

    def feed(self, piece: bytes, *, final: bool = False) -> Iterator[DumpedPage]:
        """Yield the pages whose lines end in this piece."""
        *lines, rest = piece.split(b"\n")
        for line in lines:
            self._hold(line)
            yield from self._end_line()
        self._hold(rest)
        if final:
            yield from self._end_line()
            if not self._number:
                raise BuilderError("it has no records; download it again")

    def _hold(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= HTML_BYTES:
            self._held.append(part)
        else:
            self._held.clear()

    def _end_line(self) -> Iterator[DumpedPage]:
        line, size = b"".join(self._held), self._size
        self._held, self._size = [], 0
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
        """Refuse a line that is no JSON: the file is damaged, or of another kind."""
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
                f"{REJECTED_IN_A_ROW:,} records in a row are of no article ({detail}); {ARTICLES}"
            )
        title = title.encode("utf-8", "replace").decode() or f"record {self._number}"
        content = Rejected(title=title, page_id=page_id, reason=reason, detail=detail)
        return DumpedPage(namespace=0, redirect=False, content=content)


def _code(code: _Code | None) -> str:
    return code.identifier if code else ""


def _page_of(record: _Record, as_of: str) -> Page:
    """Return the page of a record; RejectedError: it cannot be used."""
    wikitext, moment = record.article_body.wikitext, record.date_modified
    wrong = f"title {record.name!r}, timestamp {moment!r}; expected a title, a time, and {ID_EXPECTED}"
    reject(
        ("malformed", not record.name or not is_timestamp(moment), wrong),
        ("no-revision", bool(as_of) and moment > as_of, f"the snapshot has no revision up to {as_of}"),
        ("hidden", not wikitext and not record.article_body.html, "the record has neither text nor HTML"),
        ("too-large", len(wikitext.encode()) > WIKITEXT_BYTES, TOO_LARGE),
    )
    return Page(
        title=record.name,
        page_id=record.identifier,
        revision_id=record.version.identifier,
        timestamp=moment,
        wikitext=wikitext,
    )


def files_in_tar(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the content of the files in a tar archive, with a newline after each."""
    ended = False

    class Header(tarfile.TarInfo):
        @classmethod
        def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
            nonlocal ended
            ended = buf == bytes(tarfile.BLOCKSIZE)
            header = super().frombuf(buf, encoding, errors)
            most = TAG_BYTES if header.type in HELD else sys.maxsize
            if header.type not in (*FILES, *HELD) or not 0 <= header.size <= most:
                raise _no_file(header)
            return header

    stream: Any = SimpleNamespace(read=lambda _size: next(pieces, b""))
    try:
        with tarfile.open(fileobj=stream, mode="r|", tarinfo=Header, bufsize=PIECE) as archive:
            while member := archive.next():
                vars(archive)["members"].clear()  # it would keep all of them
                if member.issparse():  # its holes can have any size
                    raise _no_file(member)
                content = archive.extractfile(member)
                while content and (piece := content.read(PIECE)):
                    yield piece
                yield b"\n"
            more = False
            while rest := archive.fileobj.read(PIECE):  # padding, and checks at the end of what was packed
                more = more or bool(rest.strip(b"\0"))
    except (tarfile.TarError, ValueError) as error:
        raise BuilderError(f"the tar archive is damaged ({error}); download it again") from error
    if not ended:
        raise BuilderError("the tar archive is truncated; download it again to resume the import")
    if more:
        raise BuilderError("there is more after the end of the tar archive; import one archive per file")


def _no_file(header: tarfile.TarInfo) -> BuilderError:
    return BuilderError(
        f"the tar archive has {header.name[:100]!r} of type {header.type!r} and {header.size:,} bytes;"
        " expected plain files, without links, devices and holes: get the snapshot from its source"
    )
