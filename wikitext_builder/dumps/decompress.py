"""Reads the content of a file in pieces: plain, or compressed with bzip2, gzip or Zstandard.

The streams of a multistream dump are decompressed in parallel: see `_bzip2`.
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
from typing import IO

import zstandard

from wikitext_builder.errors import BuilderError
from wikitext_builder.limits import EXPANSION, EXPANSION_START, ZSTANDARD_WINDOW
from wikitext_builder.processes import cores

READ_BYTES = 2**16  # of the file at a time
PIECE_BYTES = 2**18  # of content, at most
ZSTANDARD_READ_BYTES = 2**9  # of a Zstandard file at a time: they can hold 16 MB of content
THREADS = min(cores(), 8)  # about eight threads decompress as much as the parser can read
MAX_CHUNK_BYTES = 2**22  # of a bzip2 file; Wikimedia's streams, of 100 pages, are rarely as long
MAX_CHUNK_CONTENT = 2**24  # bytes of content of a chunk that is decompressed ahead
# A stream and its first block: https://en.wikipedia.org/wiki/Bzip2#File_format
STREAM_START = re.compile(rb"BZh[1-9]1AY&SY")
UNSUPPORTED = {b"7z\xbc\xaf\x27\x1c": "7-Zip", b"\xfd7zXZ\x00": "xz", b"PK\x03\x04": "ZIP"}


class DumpFile:
    """An open file, with the number and the digest of the bytes read so far."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._digest = hashlib.sha256()
        self.taken = 0

    def read(self) -> bytes:
        """Return the next bytes, at most `READ_BYTES`."""
        data = self._file.read(READ_BYTES)
        self._digest.update(data)
        self.taken += len(data)
        return data

    @property
    def sha256(self) -> str:
        """The SHA-256 of the bytes read so far, hexadecimal."""
        return self._digest.hexdigest()


PlacedPiece = tuple[int, bytes]  # the number of bytes of the file that were read for a piece, and the piece
Decompressor = Callable[[bytes, DumpFile], Iterator[PlacedPiece]]


def decompressed(file: DumpFile, *, threads: int = THREADS) -> Generator[bytes, None, None]:
    """Yield the content of a file in pieces of at most `PIECE_BYTES`.

    Content before a damaged place is yielded before the error. `threads` bzip2 streams are decompressed at
    once, which does not change the content; 0: only in the calling thread, which alone reads the file.
    """
    head = file.read()
    if not head:
        raise BuilderError("the file is empty; download it again")
    for magic, name in UNSUPPORTED.items():
        if head.startswith(magic):
            raise BuilderError(
                f"expected plain XML or JSON, bzip2, gzip or Zstandard, found {name}; unpack it first or"
                " take the .bz2 file"
            )
    decompressors: dict[bytes, Decompressor] = _DECOMPRESSORS | {b"BZh": partial(_bzip2, threads=threads)}
    decompress = next(
        (decompressor for magic, decompressor in decompressors.items() if head.startswith(magic)), _plain
    )
    size = 0
    for taken, piece in decompress(head, file):
        size += len(piece)
        if size > EXPANSION_START + EXPANSION * taken:
            raise BuilderError(
                f"{taken:,} bytes of the file unpack to more than {size:,}; this looks like a decompression"
                " bomb: get the dump from another source"
            )
        yield piece


def _plain(head: bytes, file: DumpFile) -> Iterator[PlacedPiece]:
    while head:
        yield file.taken, head
        head = file.read()


# --- bzip2


def _bzip2(head: bytes, file: DumpFile, threads: int) -> Iterator[PlacedPiece]:
    """Read consecutive streams, as in `…-multistream.xml.bz2`; threads decompress chunks that look whole.

    The result of a thread is used only if the previous chunk ended with the end of a stream, and so does this
    chunk. Otherwise the chunk is decompressed again in its turn: bytes that only look like the beginning of a
    stream cost time, but do no harm.
    """
    bzip2 = _Bzip2()
    with closing(_decompressed_ahead(_chunks(head, file), threads)) as chunks:
        for chunk, future in chunks:
            pieces = future.result() if future and bzip2.between_streams else None
            for piece in bzip2.decompress(chunk) if pieces is None else pieces:
                yield chunk.end, piece
    if not bzip2.between_streams:
        raise _breaks_off("bzip2", file.taken)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chunk:
    """Consecutive bytes of a file."""

    end: int  # position in the file after these bytes
    data: bytes
    whole: bool = False  # this chunk and the next look like beginnings of streams


def _chunks(head: bytes, file: DumpFile) -> Iterator[_Chunk]:
    """Cut the file before bytes that look like the beginning of a stream, and where a chunk gets too long."""
    buffer, end, searched, is_start = bytearray(head), 0, 1, True

    def cut(size: int, *, whole: bool) -> _Chunk:
        nonlocal end
        data, end = bytes(buffer[:size]), end + size
        del buffer[:size]
        return _Chunk(end=end, data=data, whole=whole)

    while True:
        if match := STREAM_START.search(buffer, searched):
            yield cut(match.start(), whole=is_start)
            searched, is_start = 1, True
        elif len(buffer) >= MAX_CHUNK_BYTES:
            yield cut(len(buffer) - READ_BYTES, whole=False)  # a beginning can lie across the end
            searched, is_start = 1, False
        else:
            searched = max(1, len(buffer) - 9)  # a byte less than the beginning of a stream has
            try:
                data = file.read()
            except OSError:
                yield cut(len(buffer), whole=False)
                raise
            if not data:
                yield cut(len(buffer), whole=is_start)
                return
            buffer += data


Pieces = Future[list[bytes] | None]


def _decompressed_ahead(
    chunks: Iterator[_Chunk], threads: int
) -> Generator[tuple[_Chunk, Pieces | None], None, None]:
    """Yield each chunk in order; if it looks whole, a thread decompresses it meanwhile."""
    if not threads:
        yield from ((chunk, None) for chunk in chunks)
        return
    waiting: deque[tuple[_Chunk, Pieces | None]] = deque()
    with ThreadPoolExecutor(threads, thread_name_prefix="bzip2") as pool:
        try:
            for chunk in chunks:
                waiting.append((chunk, pool.submit(_decompress_whole, chunk) if chunk.whole else None))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft()
        except OSError:
            yield from waiting
            raise
        else:
            yield from waiting
        finally:
            pool.shutdown(cancel_futures=True)


def _decompress_whole(chunk: _Chunk) -> list[bytes] | None:
    """Decompress a chunk; None if it does not consist of whole streams, or its content is too large."""
    bzip2, pieces, size = _Bzip2(), [], 0
    try:
        for piece in bzip2.decompress(chunk):
            pieces.append(piece)
            size += len(piece)
            if size > MAX_CHUNK_CONTENT:
                return None
    except BuilderError:
        return None  # a real error recurs when the chunk is decompressed in its turn
    return pieces if bzip2.between_streams else None


class _Bzip2:
    """Decompresses chunks in order; a stream can continue in the next chunk."""

    def __init__(self) -> None:
        self._stream: bz2.BZ2Decompressor | None = None

    @property
    def between_streams(self) -> bool:
        """True if the chunks so far ended with the end of a stream."""
        return self._stream is None

    def decompress(self, chunk: _Chunk) -> Iterator[bytes]:
        """Yield the pieces that this chunk completes."""
        data = chunk.data
        while data or (self._stream and not self._stream.needs_input):
            stream = self._stream = self._stream or bz2.BZ2Decompressor()
            try:
                piece = stream.decompress(data, PIECE_BYTES)
            except (OSError, ValueError) as error:
                raise _damaged("bzip2", chunk.end, error) from error
            if piece:
                yield piece
            data = stream.unused_data
            if stream.eof:
                self._stream = None


# --- gzip and Zstandard


def _gzip(head: bytes, file: DumpFile) -> Iterator[PlacedPiece]:
    """Read consecutive members, as `cat a.gz b.gz` makes them."""
    data = head
    while data:
        member = zlib.decompressobj(wbits=31)
        while not member.eof:
            try:
                piece = member.decompress(data, PIECE_BYTES)
            except zlib.error as error:
                raise _damaged("gzip", file.taken, error) from error
            if piece:
                yield file.taken, piece
            data = member.unconsumed_tail
            if not data and not member.eof and not (data := file.read()):
                raise _breaks_off("gzip", file.taken)
        data = member.unused_data or file.read()


def _zstandard(head: bytes, file: DumpFile) -> Iterator[PlacedPiece]:
    """Read consecutive frames, as `cat a.zst b.zst` makes them."""
    decompressor, data = zstandard.ZstdDecompressor(max_window_size=ZSTANDARD_WINDOW), head
    while data:
        frame = decompressor.decompressobj()
        while not frame.eof:
            part, data = data[:ZSTANDARD_READ_BYTES], data[ZSTANDARD_READ_BYTES:]
            try:
                content = frame.decompress(part)
            except zstandard.ZstdError as error:
                raise _damaged("Zstandard", file.taken, error) from error
            for start in range(0, len(content), PIECE_BYTES):
                yield file.taken, content[start : start + PIECE_BYTES]
            if not data and not frame.eof and not (data := file.read()):
                raise _breaks_off("Zstandard", file.taken)
        data = frame.unused_data + data or file.read()


DOWNLOAD_AGAIN = "download it again and run the import again to resume it"


def _damaged(compression: str, end: int, error: Exception) -> BuilderError:
    return BuilderError(
        f"the {compression} data are damaged in the first {end:,} bytes of the file ({error});"
        f" {DOWNLOAD_AGAIN}"
    )


def _breaks_off(compression: str, end: int) -> BuilderError:
    return BuilderError(f"the {compression} data end too early, after {end:,} bytes; {DOWNLOAD_AGAIN}")


_DECOMPRESSORS: dict[bytes, Decompressor] = {
    b"\x1f\x8b": _gzip,
    b"\x28\xb5\x2f\xfd": _zstandard,
    # skippable frames, as pzstd writes
    **{bytes((0x50 + n, 0x2A, 0x4D, 0x18)): _zstandard for n in range(16)},
}
