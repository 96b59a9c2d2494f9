"""The bytes of a file in pieces, whether it is plain or compressed with bzip2, gzip or Zstandard.

The streams of a multistream dump are unpacked side by side: see `_bzip2`.
"""

from __future__ import annotations

import bz2
import hashlib
import re
import zlib
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import IO, cast

import zstandard

from wikitext_builder.errors import BuilderError
from wikitext_builder.runners.processes import cores

READ = 2**16  # bytes of the file taken at a time
PIECE = 2**18  # bytes given at a time, at most
EXPANSION_LIMIT = 2**26  # bytes that READ bytes of a file may become: 1,024 to 1; text stays below 100 to 1
WINDOW_LIMIT = 2**27  # bytes of memory of a Zstandard frame; `zstd -d` itself refuses more without --long
THREADS = min(cores(), 8)  # the parser takes what some eight unpack
PART_LIMIT = 2**22  # bytes of a part of a bzip2 file; 100 pages, a stream of Wikimedia's, seldom come near
UNPACKED_LIMIT = 2**24  # bytes that a part may become ahead of its turn
# A stream and its first block: https://en.wikipedia.org/wiki/Bzip2#File_format
STREAM_START = re.compile(rb"BZh[1-9]1AY&SY")
KNOWN_BUT_NOT_READ = {
    b"7z\xbc\xaf\x27\x1c": "7-Zip",
    b"\xfd7zXZ\x00": "xz",
    b"PK\x03\x04": "ZIP",
}


class Source:
    """A file being read, with the count and the digest of the bytes taken so far."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self.taken = 0

    def read(self, size: int = READ) -> bytes:
        """The next bytes, `READ` at most, so that a piece given can be set against the bytes taken for it."""
        data = self._file.read(min(size, READ) if size > 0 else READ)
        self._digest.update(data)
        self.taken += len(data)
        return data

    @property
    def sha256(self) -> str:
        """Of the bytes taken so far, hexadecimal."""
        return self._digest.hexdigest()


Placed = tuple[int, bytes]  # a piece, and the READ bytes of the file that it comes from, by their number
Way = Callable[[bytes, Source], Iterator[Placed]]


def decompressed(source: Source, *, threads: int = THREADS) -> Generator[bytes, None, None]:
    """The content of a file in pieces of at most `PIECE` bytes.

    What can be unpacked before a damaged spot comes before the error. The number of threads makes no
    difference to what comes.

    Args:
        source: The file, read by the calling thread alone; of bzip2 some parts ahead of the pieces given.
        threads: How many streams of bzip2 are unpacked at a time; 0: in the calling thread, no part ahead.

    Raises:
        BuilderError: The file is empty, of a compression that is not read here, damaged, breaks off, or
            unpacks to more than any text does.
    """
    head = source.read()
    if not head:
        raise BuilderError("the file is empty; download it again")
    for magic, name in KNOWN_BUT_NOT_READ.items():
        if head.startswith(magic):
            raise BuilderError(
                f"a file compressed with {name}; plain XML, bzip2, gzip and Zstandard are read:"
                " unpack it first or take the .bz2 file"
            )
    ways: dict[bytes, Way] = _WAYS | {b"BZh": partial(_bzip2, threads=threads)}
    unpack = next((way for magic, way in ways.items() if head.startswith(magic)), _plain)
    last, given = -1, 0
    for place, piece in unpack(head, source):
        last, given = place, (given if place == last else 0) + len(piece)
        if given > EXPANSION_LIMIT:
            raise BuilderError(
                f"{READ:,} bytes of the file unpack to more than {EXPANSION_LIMIT:,}: no text does,"
                " such files are made to fill memory and disk; get the dump from another place"
            )
        yield piece


def _plain(head: bytes, source: Source) -> Iterator[Placed]:
    while head:
        yield source.taken, head
        head = source.read()


# --- bzip2


def _bzip2(head: bytes, source: Source, threads: int) -> Iterator[Placed]:
    """Streams one after the other, as in `…-multistream.xml.bz2`; parts that look like whole ones ahead.

    What a part was unpacked to ahead is used only if the part before it ended with the end of a stream, and
    it too. Else it is unpacked in its turn: a beginning of a stream that is none costs time, nothing more.
    """
    bzip2 = _Bzip2()
    with closing(_ahead(_parts(head, source), threads)) as parts:
        for part, unpacked in parts:
            ready = unpacked.result() if unpacked and bzip2.between_streams else None
            yield from bzip2.unpack(part) if ready is None else ready
    if not bzip2.between_streams:
        raise _breaks_off("bzip2", source.taken)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """Consecutive bytes of a file."""

    offset: int
    data: bytes
    whole: bool = False  # it looks like the beginning of a stream, and so does what follows it

    def slices(self) -> Iterator[tuple[int, bytes]]:
        """Its bytes, cut where the file is at a multiple of READ, with the number of the multiple."""
        start = 0
        while start < len(self.data):
            place = (self.offset + start) // READ
            end = (place + 1) * READ - self.offset
            yield place, self.data[start:end]
            start = end


def _parts(head: bytes, source: Source) -> Iterator[_Part]:
    """The file cut before whatever looks like the beginning of a stream, and where a part gets too long."""
    held, offset, searched = bytearray(head), 0, 1
    starts = True
    while True:
        if found := STREAM_START.search(held, searched):
            cut = found.start()
        elif len(held) >= PART_LIMIT:
            cut = (offset + len(held)) // READ * READ - READ - offset  # a beginning may lie across the end
        else:
            searched = max(1, len(held) - 9)  # one byte less than a beginning has
            try:
                data = source.read()
            except OSError:
                yield _Part(offset=offset, data=bytes(held))
                raise
            if not data:
                yield _Part(offset=offset, data=bytes(held), whole=starts)
                return
            held += data
            continue
        yield _Part(offset=offset, data=bytes(held[:cut]), whole=starts and found is not None)
        del held[:cut]
        offset, searched, starts = offset + cut, 1, found is not None


Unpacked = Future[list[Placed] | None]


def _ahead(parts: Iterator[_Part], threads: int) -> Generator[tuple[_Part, Unpacked | None], None, None]:
    """Each part in order, with what it is unpacked to meanwhile if it looks whole."""
    if not threads:
        yield from ((part, None) for part in parts)
        return
    waiting: deque[tuple[_Part, Unpacked | None]] = deque()
    with ThreadPoolExecutor(threads, thread_name_prefix="bzip2") as pool:
        try:
            for part in parts:
                waiting.append((part, pool.submit(_unpacked_whole, part) if part.whole else None))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft()
        except OSError:
            yield from waiting
            raise
        else:
            yield from waiting
        finally:
            pool.shutdown(cancel_futures=True)


def _unpacked_whole(part: _Part) -> list[Placed] | None:
    """What a part is unpacked to; None if it is not just some whole streams, or too large to hold."""
    bzip2, pieces, size = _Bzip2(), [], 0
    try:
        for placed in bzip2.unpack(part):
            pieces.append(placed)
            size += len(placed[1])
            if size > UNPACKED_LIMIT:
                return None
    except BuilderError:
        return None  # it comes again, if it is one, when the part is unpacked in its turn
    return pieces if bzip2.between_streams else None


class _Bzip2:
    """Unpacks parts given in order; a stream may go on from one to the next."""

    def __init__(self) -> None:
        self._stream: bz2.BZ2Decompressor | None = None

    @property
    def between_streams(self) -> bool:
        """Whether what was given so far ended with the end of a stream."""
        return self._stream is None

    def unpack(self, part: _Part) -> Iterator[Placed]:
        """The pieces that can be made with this part."""
        for place, data in part.slices():
            left = data
            while left or (self._stream and not self._stream.needs_input):
                stream = self._stream = self._stream or bz2.BZ2Decompressor()
                try:
                    piece = stream.decompress(left, PIECE)
                except (OSError, ValueError) as error:
                    end = min((place + 1) * READ, part.offset + len(part.data))
                    raise _damaged("bzip2", end, error) from error
                if piece:
                    yield place, piece
                left = stream.unused_data
                if stream.eof:
                    self._stream = None


# --- the others


def _gzip(head: bytes, source: Source) -> Iterator[Placed]:
    """Members one after the other, as `cat a.gz b.gz` makes them."""
    data = head
    while data:
        member = zlib.decompressobj(wbits=31)
        while not member.eof:
            try:
                piece = member.decompress(data, PIECE)
            except zlib.error as error:
                raise _damaged("gzip", source.taken, error) from error
            if piece:
                yield source.taken, piece
            data = member.unconsumed_tail
            if not data and not member.eof and not (data := source.read()):
                raise _breaks_off("gzip", source.taken)
        data = member.unused_data or source.read()


def _zstandard(head: bytes, source: Source) -> Iterator[Placed]:
    """Frames one after the other.

    A frame that breaks off just ends here; the XML in it is not closed then, and the parser says so.
    """
    decompressor = zstandard.ZstdDecompressor(max_window_size=WINDOW_LIMIT)
    with decompressor.stream_reader(
        cast("IO[bytes]", _Joined(head, source)), read_across_frames=True
    ) as stream:
        while True:
            try:
                piece = stream.read(PIECE)
            except zstandard.ZstdError as error:
                raise _damaged("Zstandard", source.taken, error) from error
            if not piece:
                return
            yield source.taken, piece


class _Joined:
    """The head of a file put back before the rest of it."""

    def __init__(self, head: bytes, source: Source) -> None:
        self._head = head
        self._source = source

    def read(self, size: int = READ) -> bytes:
        """The head in parts of the size asked for, then the rest."""
        if not self._head:
            return self._source.read(size)
        data, self._head = self._head[:size], self._head[size:]
        return data


def _damaged(compression: str, end: int, error: Exception) -> BuilderError:
    return BuilderError(
        f"the {compression} data are damaged within the first {end:,} bytes of the file ({error});"
        " download it again and run the same command: it goes on"
    )


def _breaks_off(compression: str, end: int) -> BuilderError:
    return BuilderError(
        f"the {compression} data break off at the end of the file after {end:,} bytes;"
        " download it again and run the same command: it goes on"
    )


_WAYS: dict[bytes, Way] = {
    b"\x1f\x8b": _gzip,
    b"\x28\xb5\x2f\xfd": _zstandard,
    **{
        bytes((0x50 + n, 0x2A, 0x4D, 0x18)): _zstandard for n in range(16)
    },  # skippable frames, as pzstd writes
}
