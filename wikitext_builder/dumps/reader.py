"""Pages of a MediaWiki XML export or dump, streamed: memory does not grow with the file.

The format is https://www.mediawiki.org/xml/export-0.11/ and its predecessors since 0.3. A page comes with one
revision: its newest, or the newest that is not after a date. Nothing here judges what a page is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit
from xml.parsers import expat

from wikitext_builder.article import Page
from wikitext_builder.dumps.decompress import THREADS, Source, decompressed
from wikitext_builder.errors import BuilderError, RejectedError
from wikitext_builder.store.store import Rejected, sha1_of
from wikitext_builder.wiki.dates import TIMESTAMP

TEXT_LIMIT = 2**22  # bytes of a page's wikitext; MediaWiki itself stops at 2 MiB ($wgMaxArticleSize)
FIELD_LIMIT = 2**12  # characters of any other field; a title has at most 255 bytes
TAG_LIMIT = 2**20  # bytes of one tag or comment, which expat holds whole; an export has tags of some hundred
DEPTH_LIMIT = 32  # elements within each other; an export has 6
NAMESPACE_LIMIT = 1000  # an export of the English Wikipedia lists 32

TEXT = "/page/revision/text"
PAGE_FIELDS = frozenset({"/page/title", "/page/ns", "/page/id"})
REVISION_FIELDS = frozenset(
    {f"/page/revision/{name}" for name in ("id", "timestamp", "model", "text", "sha1")}
)
SITE_FIELDS = frozenset({"/siteinfo/dbname", "/siteinfo/base", "/siteinfo/namespaces/namespace"})
FIELDS = PAGE_FIELDS | REVISION_FIELDS | SITE_FIELDS

NUMBER = re.compile(r"[0-9]{1,18}")
SHA1_BASE_36 = re.compile(r"[0-9a-z]{1,31}")
WIKIPEDIA_HOST = re.compile(r"([a-z-]+)\.(?:m\.)?wikipedia\.org")
# https://meta.wikimedia.org/wiki/Wikimedia_projects: their exports say xml:lang="en" too
SISTER_HOST = re.compile(
    r"(?:.+\.)?(?:mediawiki|wiktionary|wiki(?:media|data|books|quote|source|news|versity|voyage|functions))\.org"
)
SISTER_DATABASE = re.compile(r"\w+wik(?:tionary|ibooks|iquote|isource|inews|iversity|ivoyage)")


@dataclass(slots=True, kw_only=True)
class Site:
    """What an export says of the wiki that it comes from."""

    xml_lang: str = ""
    dbname: str = ""  # enwiki; absent before export version 0.8
    base: str = ""  # https://en.wikipedia.org/wiki/Main_Page
    namespaces: dict[str, int] = field(default_factory=dict)

    @property
    def language(self) -> str:
        """The code of the Wikipedia: by its address, else its database, else the language of its texts.

        A wiki of one's own counts by the language of its texts; a sister project of Wikipedia gets the name
        of its database, which no Wikipedia has.

        >>> Site(base="https://simple.wikipedia.org/wiki/Main_Page", xml_lang="en").language
        'simple'
        >>> Site(dbname="zh_min_nanwiki").language, Site(dbname="dewiktionary", xml_lang="de").language
        ('zh-min-nan', 'dewiktionary')
        >>> Site(base="https://commons.wikimedia.org/", dbname="commonswiki", xml_lang="en").language
        'commonswiki'
        >>> Site(base="http://127.0.0.1:8080/", dbname="mywiki", xml_lang="fr").language
        'fr'
        """
        host = urlsplit(self.base).hostname or ""
        if wikipedia := WIKIPEDIA_HOST.fullmatch(host):
            return wikipedia[1]
        if SISTER_HOST.fullmatch(host) or SISTER_DATABASE.fullmatch(self.dbname):
            return self.dbname or host
        if not self.base and self.dbname.endswith("wiki") and self.dbname != "wiki":
            return self.dbname.removesuffix("wiki").replace("_", "-")
        return self.xml_lang


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpedPage:
    """A page as it stands in a dump, or why it cannot be used."""

    namespace: int
    redirect: bool  # the dump says so of the page's newest revision, and it is the one here
    content: Page | Rejected


class Dump:
    """A dump being read, once, from its beginning to its end.

    `as_of` is a time in ISO 8601 and UTC; empty asks for the newest revisions. `threads` are those of
    `decompressed`: they unpack while the pages given are used.

    Attributes:
        site: Known in full when the first page comes.
        xml_bytes: Unpacked so far.
        count: Pages given so far.
    """

    def __init__(self, path: Path, *, as_of: str = "", threads: int = THREADS) -> None:
        if as_of and not TIMESTAMP.fullmatch(as_of):
            raise BuilderError(f"the date {as_of!r} is not of the form 2016-04-16T17:15:34Z, in UTC")
        self.path = path
        self.site = Site()
        self.xml_bytes = 0
        self.count = 0
        self._last_title = ""
        self._as_of = as_of
        self._threads = threads
        self._source: Source | None = None

    @property
    def bytes_taken(self) -> int:
        """Bytes of the file read so far; of bzip2 some ahead of the pages given."""
        return self._source.taken if self._source else 0

    @property
    def sha256(self) -> str:
        """Of the file, when all pages were read."""
        return self._source.sha256 if self._source else ""

    def pages(self) -> Iterator[DumpedPage]:
        """Each page with its newest revision, or the newest that is not after `as_of`.

        Pages that stand before a damaged spot come before the error.

        Raises:
            BuilderError: The file cannot be read, is no dump, has no texts, is damaged, or means harm.
        """
        try:
            with self.path.open("rb") as file:
                self._source = Source(file)
                yield from self._parsed(self._source)
        except OSError as error:
            raise BuilderError(f"{self.path}: {error.strerror or error}") from error
        except BuilderError as error:
            read = f"; {self.count:,} pages were read before, the last is {self._last_title!r}"
            raise BuilderError(f"{self.path}: {error}{read if self.count else ''}") from error

    def _parsed(self, source: Source) -> Iterator[DumpedPage]:
        parser = _Parser(self.site, self._as_of)
        with closing(decompressed(source, threads=self._threads)) as pieces:
            for piece in pieces:
                self.xml_bytes += len(piece)
                yield from self._counted(parser.feed(piece))
        yield from self._counted(parser.feed(b"", final=True))

    def _counted(self, pages: Iterator[DumpedPage]) -> Iterator[DumpedPage]:
        for page in pages:
            self.count += 1
            self._last_title = page.content.title
            yield page


def read_pages(path: Path, *, as_of: str = "") -> Iterator[DumpedPage]:
    """The pages of a dump, as `Dump.pages` gives them."""
    return Dump(path, as_of=as_of).pages()


@dataclass(slots=True)
class _Revision:
    """What was met of a revision: its fields, and why its text is not there."""

    fields: dict[str, str] = field(default_factory=dict)
    hidden: bool = False
    too_large: bool = False

    @property
    def order(self) -> tuple[str, str]:
        number = self.fields.get("/page/revision/id", "")
        return self.fields.get("/page/revision/timestamp", ""), number.rjust(18, "0")


class _Parser:
    """Expat with no document type, no entities of one's own and nothing held that has no bound."""

    def __init__(self, site: Site, as_of: str) -> None:
        self._site = site
        self._as_of = as_of
        self._paths: list[str] = []  # of the open elements: "", "/page", "/page/revision", …
        self._pieces: list[str] = []
        self._room = 0  # characters that the open field may still take
        self._namespace_key = ""
        self._page: dict[str, str] = {}
        self._redirect = False
        self._has_younger = False
        self._revision = _Revision()
        self._newest: _Revision | None = None
        self._finished: list[DumpedPage] = []
        self._stub = False
        self._fed = 0
        self._expat = expat.ParserCreate("UTF-8")  # all exports are, whatever their first line says
        self._expat.buffer_text = True
        self._expat.buffer_size = 2**16
        self._expat.StartElementHandler = self._start
        self._expat.EndElementHandler = self._end
        self._expat.StartDoctypeDeclHandler = _refuse_doctype

    def feed(self, piece: bytes, *, final: bool = False) -> Iterator[DumpedPage]:
        """The pages that end within this piece."""
        error: Exception | None = None
        try:
            self._expat.Parse(piece, final)
        except (expat.ExpatError, BuilderError) as found:
            error = found
        self._fed += len(piece)
        yield from self._finished
        self._finished.clear()
        if isinstance(error, expat.ExpatError):
            raise self._not_xml(error, final=final) from error
        if error:
            raise error
        if self._fed - self._expat.CurrentByteIndex > TAG_LIMIT:
            raise BuilderError(
                f"a tag or comment of more than {TAG_LIMIT:,} bytes; this is no MediaWiki export"
            )

    def _not_xml(self, error: expat.ExpatError, *, final: bool) -> BuilderError:
        again = "download it again and run the same command: it goes on"
        if not self._fed:
            return BuilderError(f"it unpacks to nothing; {again}")
        if final and self._paths:
            return BuilderError(f"the XML breaks off before </mediawiki>; {again}")
        where = f"line {error.lineno:,}, column {error.offset:,}"
        return BuilderError(
            f"not the XML of a MediaWiki export in UTF-8 ({expat.ErrorString(error.code)}, {where}); {again}"
        )

    # --- elements

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        path = f"{self._paths[-1]}/{name.rpartition(':')[2]}" if self._paths else ""
        if not self._paths:
            _check_root(name)
            self._site.xml_lang = attributes.get("xml:lang", "")
        if len(self._paths) >= DEPTH_LIMIT:
            raise BuilderError(f"{DEPTH_LIMIT} elements within each other; a MediaWiki export has 6")
        self._paths.append(path)
        if path == "/page":
            self._page, self._newest = {}, None
            self._redirect, self._has_younger = False, False
        elif path == "/page/redirect":
            self._redirect = True
        elif path == "/page/revision":
            self._revision = _Revision()
        elif path == TEXT:
            self._start_text(attributes)
        elif path in FIELDS:
            self._namespace_key = attributes.get("key", "")
            self._collect(FIELD_LIMIT)

    def _start_text(self, attributes: dict[str, str]) -> None:
        revision = self._revision
        revision.hidden = "deleted" in attributes
        if attributes.get("sha1"):  # since version 0.11 here too, and alone there for a slot of many
            revision.fields.setdefault("/page/revision/sha1", attributes["sha1"])
        if not revision.hidden and self._is_wanted(revision):
            # A stub points to its text by an id (since 0.3) or a location (since 0.11).
            self._stub = "id" in attributes or "location" in attributes
            self._collect(TEXT_LIMIT)

    def _collect(self, limit: int) -> None:
        self._pieces, self._room = [], limit
        self._expat.CharacterDataHandler = self._characters

    def _characters(self, data: str) -> None:
        self._room -= len(data)
        if self._room >= 0:
            self._pieces.append(data)
        else:
            self._pieces.clear()  # and no handler is unset here: expat would flush into it again

    def _end(self, _name: str) -> None:
        path = self._paths.pop()
        if path in FIELDS:
            self._end_field(path)
        elif path == "/page/revision":
            self._has_younger |= self._is_too_young(self._revision)
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
        elif path == "/siteinfo/dbname":
            self._site.dbname = value.strip()
        elif path == "/siteinfo/base":
            self._site.base = value.strip()
        elif NUMBER.fullmatch(self._namespace_key) and len(self._site.namespaces) < NAMESPACE_LIMIT:
            self._site.namespaces[value.strip()] = int(self._namespace_key)

    def _end_text(self, value: str) -> None:
        if self._stub and not value and self._room >= 0:
            raise BuilderError(
                "a stub dump, which has no texts; take pages-articles or pages-articles-multistream instead"
            )
        self._stub = False
        self._revision.too_large = self._room < 0 or len(value.encode()) > TEXT_LIMIT
        self._revision.fields[TEXT] = "" if self._revision.too_large else value

    # --- what they amount to

    def _is_wanted(self, revision: _Revision) -> bool:
        """Whether it is the newest so far, and not after the date asked for."""
        if self._is_too_young(revision):
            return False
        return self._newest is None or revision.order >= self._newest.order

    def _is_too_young(self, revision: _Revision) -> bool:
        return bool(self._as_of) and revision.order[0] > self._as_of

    def _dumped_page(self) -> DumpedPage:
        title = self._page.get("/page/title", "")
        namespace = self._page.get("/page/ns", "")
        content: Page | Rejected
        try:
            content = _page_of(self._page, self._newest, self._as_of)
        except RejectedError as error:
            revision = self._newest.fields.get("/page/revision/id", "") if self._newest else ""
            content = Rejected(
                title=title,
                page_id=_number_or_0(self._page.get("/page/id", "")),
                revision_id=_number_or_0(revision),
                reason=error.reason,
                detail=error.detail,
            )
        # Exports before version 0.6 do not say the namespace.
        by_prefix = self._site.namespaces.get(title.partition(":")[0], 0) if ":" in title else 0
        return DumpedPage(
            namespace=int(namespace) if NUMBER.fullmatch(namespace) else by_prefix,
            redirect=self._redirect and not self._has_younger,
            content=content,
        )


def _refuse_doctype(name: str, *_rest: object) -> None:
    if name.lower() == "html":
        raise BuilderError(
            "an HTML page, perhaps what a server said instead of the dump; look into it and download again"
        )
    raise BuilderError("it declares a document type, which MediaWiki exports do not and which can do harm")


def _check_root(name: str) -> None:
    if name.rpartition(":")[2] != "mediawiki":
        what = "an HTML page" if name.lower() == "html" else f"XML, but <{name[:40]}> instead of <mediawiki>"
        raise BuilderError(
            f"{what}; take a dump named pages-articles, or what Special:Export and dumpBackup.php write"
        )


def _page_of(page: dict[str, str], revision: _Revision | None, as_of: str) -> Page:
    """The page at this revision, if it is one that can be used."""
    title, page_id = page.get("/page/title", ""), page.get("/page/id", "")
    if not title or not NUMBER.fullmatch(page_id):
        raise RejectedError("malformed", f"title {title!r}, page id {page_id!r}")
    if revision is None:
        detail = f"the dump has none that is not after {as_of}" if as_of else "the dump has none of this page"
        raise RejectedError("no-revision", detail)
    number, timestamp, model, sha1 = (
        revision.fields.get(f"/page/revision/{name}", "") for name in ("id", "timestamp", "model", "sha1")
    )
    if not NUMBER.fullmatch(number) or not TIMESTAMP.fullmatch(timestamp):
        raise RejectedError("malformed", f"revision id {number!r}, timestamp {timestamp!r}")
    if model not in ("", "wikitext"):
        raise RejectedError("not-wikitext", f"its content model is {model}")
    if revision.hidden:
        raise RejectedError("hidden", "the text of this revision was hidden from the public")
    if revision.too_large:
        raise RejectedError("too-large", f"its wikitext has more than {TEXT_LIMIT:,} bytes")
    if TEXT not in revision.fields:
        raise RejectedError("malformed", "the revision has no text element")
    wikitext = revision.fields[TEXT]
    if sha1 and (not SHA1_BASE_36.fullmatch(sha1) or int(sha1, 36) != int(sha1_of(wikitext), 16)):
        raise RejectedError(
            "damaged", f"its text does not have the sha1 {sha1} (base 36) that the dump gives"
        )
    return Page(
        title=title, page_id=int(page_id), revision_id=int(number), timestamp=timestamp, wikitext=wikitext
    )


def _number_or_0(digits: str) -> int:
    return int(digits) if NUMBER.fullmatch(digits) else 0
