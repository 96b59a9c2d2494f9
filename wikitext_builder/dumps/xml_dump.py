"""Streams pages of a MediaWiki XML export or dump, in memory that does not grow with the file.

`Dump` also reads HTML snapshots, see `snapshot.py`: a file is recognised by its content.

The format is https://www.mediawiki.org/xml/export-0.11/ and its predecessors since 0.3. Each page has one
revision: its newest, or its newest up to a date. Other modules decide which pages are articles.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from xml.parsers import expat

from wikitext_builder.article import Page
from wikitext_builder.dumps.decompress import THREADS, DumpFile, decompressed
from wikitext_builder.dumps.snapshot import (
    ID_EXPECTED,
    TOO_LARGE,
    DumpedPage,
    DumpedSite,
    SnapshotReader,
    files_in_tar,
)
from wikitext_builder.errors import BuilderError, RejectedError, reject
from wikitext_builder.limits import ELEMENT_DEPTH, FIELD_CHARACTERS, TAG_BYTES, WIKITEXT_BYTES
from wikitext_builder.store.lock import PAGE_OR_REVISION_ID
from wikitext_builder.store.schema import Rejected, sha1_of
from wikitext_builder.wiki.dates import is_timestamp

TAR_MAGIC = slice(257, 262)  # its place in the header of a tar archive
TEXT = "/page/revision/text"
PAGE_FIELDS = frozenset({"/page/title", "/page/ns", "/page/id"})
REVISION_FIELDS = frozenset(
    {f"/page/revision/{name}" for name in ("id", "parentid", "timestamp", "model", "text", "sha1")}
)
SITE_FIELDS = frozenset({"/siteinfo/dbname", "/siteinfo/base", "/siteinfo/sitename"})
FIELDS = PAGE_FIELDS | REVISION_FIELDS | SITE_FIELDS | {"/siteinfo/namespaces/namespace"}
NUMBER = re.compile(r"[0-9]{1,18}")
VERSION = re.compile(r"0\.([0-9]{1,4})")
FIRST_VERSION_WITH_PARENTS = 8  # 0.8; some exports of 0.7 have ids of parents, others not
SHA1_BASE_36 = re.compile(r"[0-9a-z]{1,31}")


class Dump:
    """A dump, which is read once from beginning to end.

    `as_of` is a time in ISO 8601, in UTC. `threads` decompress while the caller uses pages, see
    `decompressed`. The site is complete when the first page is yielded.
    """

    def __init__(self, path: Path, *, as_of: str = "", threads: int = THREADS) -> None:
        self.path = path
        self.site = DumpedSite()
        self.count = 0
        self._last_title = ""
        self._as_of = as_of
        self._threads = threads
        self._file: DumpFile | None = None

    @property
    def bytes_taken(self) -> int:
        """The bytes of the file read so far; bzip2 is read ahead of the pages."""
        return self._file.taken if self._file else 0

    @property
    def sha256(self) -> str:
        """The SHA-256 of the file, after all pages were read."""
        return self._file.sha256 if self._file else ""

    def pages(self) -> Generator[DumpedPage, None, None]:
        """Yield each page with its newest revision, or its newest up to `as_of`.

        Pages before a damaged place are yielded before the error.
        """
        try:
            with self.path.open("rb") as opened:
                self._file = DumpFile(opened)
                yield from self._parsed(self._file)
        except OSError as error:
            raise BuilderError(f"{self.path}: {error.strerror or error}") from error
        except BuilderError as error:
            read = f"; {self.count:,} pages were read before, the last is {self._last_title!r}"
            raise BuilderError(f"{self.path}: {error}{read if self.count else ''}") from error

    def _parsed(self, file: DumpFile) -> Iterator[DumpedPage]:
        with closing(decompressed(file, threads=self._threads)) as content:
            head = next(content, b"")
            pieces, reader = chain([head], content), self._reader(head)
            lines = files_in_tar(pieces) if head[TAR_MAGIC] == b"ustar" else pieces
            for page in chain(chain.from_iterable(map(reader.feed, lines)), reader.feed(b"", final=True)):
                self.count += 1
                self._last_title = page.content.title
                yield page

    def _reader(self, head: bytes) -> _Parser | SnapshotReader:
        """Return the reader for a file with this beginning, whatever its name."""
        if head[TAR_MAGIC] == b"ustar" or head.lstrip()[:1] == b"{":
            return SnapshotReader(self.site, self._as_of)
        return _Parser(self.site, self._as_of)


def read_pages(path: Path) -> Iterator[DumpedPage]:
    """Yield the pages of a dump, see `Dump.pages`."""
    return Dump(path).pages()


@dataclass(slots=True)
class _RevisionElement:
    """A revision as far as it is read: its fields, and why its text is missing."""

    fields: dict[str, str] = field(default_factory=dict)
    hidden: bool = False
    too_large: bool = False

    def get(self, name: str, default: str = "") -> str:
        return self.fields.get(f"/page/revision/{name}", default)

    @property
    def order(self) -> tuple[str, str]:
        return self.get("timestamp"), self.get("id").rjust(18, "0")


class _Parser:
    """Parses XML with expat, without document types and entities; everything held in memory has a limit."""

    def __init__(self, site: DumpedSite, as_of: str) -> None:
        self._site = site
        self._as_of = as_of
        self._paths: list[str] = []  # of the open elements: "", "/page", "/page/revision", …
        self._pieces: list[str] = []
        self._free_characters = 0  # of the open field
        self._namespace_key = ""
        self._page: dict[str, str] = {}
        self._redirect = False
        self._has_newer = False
        self._revision = _RevisionElement()
        self._newest: _RevisionElement | None = None
        self._oldest: tuple[str, str, bool] | None = None  # order, and whether it has a parent
        self._names_parents = False  # old exports do not name parents
        self._finished: list[DumpedPage] = []
        self._stub = False
        self._fed = 0
        self._expat = expat.ParserCreate("UTF-8")  # like all exports, whatever their first line says
        self._expat.buffer_text = True
        self._expat.buffer_size = 2**16
        self._expat.StartElementHandler = self._start
        self._expat.EndElementHandler = self._end
        self._expat.StartDoctypeDeclHandler = _refuse_doctype

    def feed(self, piece: bytes, *, final: bool = False) -> Iterator[DumpedPage]:
        """Yield the pages that end in this piece."""
        error: Exception | None = None
        try:
            self._expat.Parse(piece, final)
        except (expat.ExpatError, BuilderError) as raised:
            error = raised
        self._fed += len(piece)
        yield from self._finished
        self._finished.clear()
        if isinstance(error, expat.ExpatError):
            raise self._not_xml(error, final=final) from error
        if error:
            raise error
        if self._fed - self._expat.CurrentByteIndex > TAG_BYTES:
            raise BuilderError(
                f"a tag or comment of more than {TAG_BYTES:,} bytes; this is not a MediaWiki export"
            )

    def _not_xml(self, error: expat.ExpatError, *, final: bool) -> BuilderError:
        advice = "download it again and run the import again to resume it"
        if not self._fed:
            return BuilderError(f"it unpacks to nothing; {advice}")
        if final and self._paths:
            return BuilderError(f"the XML ends before </mediawiki>; {advice}")
        where = f"line {error.lineno:,}, column {error.offset:,}"
        return BuilderError(
            f"not the XML of a MediaWiki export in UTF-8 ({expat.ErrorString(error.code)}, {where}); {advice}"
        )

    # --- elements

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        path = f"{self._paths[-1]}/{name.rpartition(':')[2]}" if self._paths else ""
        if not self._paths:
            _check_root(name)
            self._site.xml_lang = attributes.get("xml:lang", "")
            version = VERSION.fullmatch(attributes.get("version", ""))
            self._names_parents = bool(version and int(version[1]) >= FIRST_VERSION_WITH_PARENTS)
        if len(self._paths) >= ELEMENT_DEPTH:
            raise BuilderError(f"found {ELEMENT_DEPTH} nested elements; a MediaWiki export has 6")
        self._paths.append(path)
        if path == "/page":
            self._page, self._newest, self._oldest = {}, None, None
            self._redirect, self._has_newer = False, False
        elif path == "/page/redirect":
            self._redirect = True
        elif path == "/page/revision":
            self._revision = _RevisionElement()
        elif path == TEXT:
            self._start_text(attributes)
        elif path in FIELDS:
            self._namespace_key = attributes.get("key", "")
            self._collect(FIELD_CHARACTERS)

    def _start_text(self, attributes: dict[str, str]) -> None:
        revision = self._revision
        revision.hidden = "deleted" in attributes
        if attributes.get("sha1"):  # also here since version 0.11, and only here for one of several slots
            revision.fields.setdefault("/page/revision/sha1", attributes["sha1"])
        if not revision.hidden and self._is_wanted(revision):
            # A stub refers to its text by an id (since 0.3) or a location (since 0.11).
            self._stub = "id" in attributes or "location" in attributes
            self._collect(WIKITEXT_BYTES)

    def _collect(self, limit: int) -> None:
        self._pieces, self._free_characters = [], limit
        self._expat.CharacterDataHandler = self._characters

    def _characters(self, data: str) -> None:
        self._free_characters -= len(data)
        if self._free_characters >= 0:
            self._pieces.append(data)
        else:
            self._pieces.clear()  # the handler stays, because expat would flush into it again

    def _end(self, _name: str) -> None:
        path = self._paths.pop()
        if path in FIELDS:
            self._end_field(path)
        elif path == "/page/revision":
            has_parent = self._revision.get("parentid", "0") != "0"
            self._names_parents |= has_parent
            revision = (*self._revision.order, has_parent or not self._names_parents)
            self._oldest = min(revision, self._oldest or revision)
            self._has_newer |= self._is_too_new(self._revision)
            if self._is_wanted(self._revision):
                self._newest = self._revision
        elif path == "/page":
            self._finished.append(self._dumped_page())

    def _end_field(self, path: str) -> None:
        self._expat.CharacterDataHandler = None
        value = "".join(self._pieces)
        self._pieces = []
        if path == TEXT:
            self._end_text(value)
        elif path in REVISION_FIELDS:
            self._revision.fields[path] = value.strip()
        elif path in PAGE_FIELDS:
            self._page[path] = value.strip()
        elif path in SITE_FIELDS:
            setattr(self._site, path.rpartition("/")[2], value.strip())
        elif NUMBER.fullmatch(self._namespace_key):
            self._site.namespaces[value.strip()] = int(self._namespace_key)

    def _end_text(self, value: str) -> None:
        if self._stub and not value and self._free_characters >= 0:
            raise BuilderError(
                "a stub dump, which has no texts; use pages-articles or pages-articles-multistream instead"
            )
        self._stub = False
        self._revision.too_large = self._free_characters < 0 or len(value.encode()) > WIKITEXT_BYTES
        self._revision.fields[TEXT] = "" if self._revision.too_large else value

    # --- pages

    def _is_wanted(self, revision: _RevisionElement) -> bool:
        """Return True if a revision is the newest so far, and not after the date."""
        if self._is_too_new(revision):
            return False
        return self._newest is None or revision.order >= self._newest.order

    def _is_too_new(self, revision: _RevisionElement) -> bool:
        return bool(self._as_of) and revision.order[0] > self._as_of

    def _dumped_page(self) -> DumpedPage:
        title = self._page.get("/page/title", "")
        namespace = self._page.get("/page/ns", "")
        content: Page | Rejected
        try:
            content = _page_of(self._page, self._newest, self._as_of)
        except RejectedError as error:
            ids = self._page.get("/page/id", ""), (self._newest or _RevisionElement()).get("id")
            page_id, revision_id = (int(digits) if NUMBER.fullmatch(digits) else 0 for digits in ids)
            content = Rejected.by(error, title, page_id=page_id, revision_id=revision_id)
        timestamp, _, has_parent = self._oldest or ("", "", True)  # the first has no parent
        # Exports before version 0.6 do not have the namespace.
        by_prefix = self._site.namespaces.get(title.partition(":")[0], 0) if ":" in title else 0
        return DumpedPage(
            namespace=int(namespace) if NUMBER.fullmatch(namespace) else by_prefix,
            redirect=self._redirect and not self._has_newer,
            content=content,
            created=timestamp if is_timestamp(timestamp) and not has_parent else "",
        )


def _refuse_doctype(*_declaration: object) -> None:
    raise BuilderError(
        "it declares a document type, as web pages do; MediaWiki exports have none, and it can do harm"
    )


def _check_root(name: str) -> None:
    if name.rpartition(":")[2] != "mediawiki":
        raise BuilderError(
            f"expected XML with <mediawiki>, found XML with <{name[:40]}>; take a dump named"
            " pages-articles, or the output of Special:Export or dumpBackup.php"
        )


def _page_of(page: dict[str, str], revision: _RevisionElement | None, as_of: str) -> Page:
    """Return the page at a revision; RejectedError: the page cannot be used."""
    title, page_id = page.get("/page/title", ""), page.get("/page/id", "")
    malformed_page = f"title {title!r}, page id {page_id!r}; expected a title, and {ID_EXPECTED}"
    no_revision = f"the dump has no revision {f'up to {as_of}' if as_of else 'of it'}"
    reject(
        ("malformed", not title or not PAGE_OR_REVISION_ID.fullmatch(page_id), malformed_page),
        ("no-revision", not revision, no_revision),
    )
    revision = revision or _RevisionElement()
    number, timestamp, model, sha1 = map(revision.get, ("id", "timestamp", "model", "sha1"))
    is_valid = PAGE_OR_REVISION_ID.fullmatch(number) and is_timestamp(timestamp)
    malformed_revision = (
        f"revision id {number!r}, timestamp {timestamp!r}; expected a time, and {ID_EXPECTED}"
    )
    reject(
        ("malformed", not is_valid, malformed_revision),
        ("not-wikitext", model not in ("", "wikitext"), f"its content model is {model}"),
        ("hidden", revision.hidden, "the text of this revision is hidden from the public"),
        ("too-large", revision.too_large, TOO_LARGE),
        ("malformed", TEXT not in revision.fields, "the revision has no text element"),
    )
    wikitext = revision.fields[TEXT]
    if sha1 and (not SHA1_BASE_36.fullmatch(sha1) or int(sha1, 36) != int(sha1_of(wikitext), 16)):
        raise RejectedError("damaged", f"its text does not match the dump's sha1, {sha1} (base 36)")
    return Page(
        title=title, page_id=int(page_id), revision_id=int(number), timestamp=timestamp, wikitext=wikitext
    )
