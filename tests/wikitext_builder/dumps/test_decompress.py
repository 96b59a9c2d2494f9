"""Decompression: the same bytes whatever the format, in bounded pieces."""

import bz2
import gzip
import hashlib
import io
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tests.dumps import COMPRESSIONS
from wikitext_builder.dumps import decompress
from wikitext_builder.dumps.decompress import (
    MAX_CHUNK_BYTES,
    MAX_CHUNK_CONTENT,
    PIECE_BYTES,
    READ_BYTES,
    DumpFile,
    decompressed,
)
from wikitext_builder.errors import BuilderError
from wikitext_builder.limits import EXPANSION, EXPANSION_START


def unpacked(data: bytes) -> bytes:
    return b"".join(decompressed(DumpFile(io.BytesIO(data))))


SEVERAL = {
    "bzip2": lambda parts: b"".join(map(bz2.compress, parts)),
    "gzip": lambda parts: b"".join(map(gzip.compress, parts)),
    "zstandard": lambda parts: b"".join(map(zstandard.compress, parts)),
    # https://datatracker.ietf.org/doc/html/rfc8878#name-skippable-frames
    "skippable": lambda parts: b"\x50\x2a\x4d\x18\x03\0\0\0abc" + b"".join(map(zstandard.compress, parts)),
}


@pytest.mark.parametrize("several", SEVERAL.values(), ids=SEVERAL)
@given(parts=st.lists(st.binary(max_size=300), min_size=1, max_size=5))
def test_consecutive_streams_are_one_content(several, parts: list[bytes]) -> None:
    assert unpacked(several(parts)) == b"".join(parts)


@pytest.mark.parametrize("compression", ["plain", "bzip2", "gzip", "zstandard"])
def test_pieces_are_bounded_and_the_file_is_counted(compression: str) -> None:
    content = random.Random(1).randbytes(500_000) + b"<" * 5_000_000
    data = COMPRESSIONS[compression](content)
    source = DumpFile(io.BytesIO(data))
    pieces = list(decompressed(source))
    assert b"".join(pieces) == content
    assert max(map(len, pieces)) <= PIECE_BYTES
    assert source.taken == len(data)
    assert source.sha256 == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("compression", ["bzip2", "gzip", "zstandard"])
@pytest.mark.parametrize("length", [10, 5000])  # the head of the file, and more
def test_content_that_breaks_off_is_an_error_at_each_place(compression: str, length: int) -> None:
    data = COMPRESSIONS[compression](random.Random(2).randbytes(length))
    for end in {*range(8, len(data), 1 + len(data) // 40), len(data) - 1}:
        with pytest.raises(BuilderError, match="end too early"):
            unpacked(data[:end])


def test_only_a_stream_can_follow_a_stream_and_no_frame_needs_gigabytes_of_window() -> None:
    # https://datatracker.ietf.org/doc/html/rfc8878#name-window-descriptor: exponent 31, mantissa 0
    frame = b"\x28\xb5\x2f\xfd" + b"\x00" + bytes([21 << 3]) + b"\x01\x00\x00"
    followed = [COMPRESSIONS[name](b"a") + b"junk" for name in ("bzip2", "gzip", "zstandard")]
    for data, words in (*((data, "damaged") for data in followed), (frame, "Zstandard data are damaged")):
        with pytest.raises(BuilderError, match=words):
            unpacked(data)


# --- streams of bzip2 in parallel


def outcome(pieces: Iterator[bytes]) -> tuple[bytes, str]:
    """The bytes before an error, and the error."""
    content = bytearray()
    try:
        for piece in pieces:
            content += piece
    except (BuilderError, OSError) as error:
        return bytes(content), str(error)
    return bytes(content), ""


def simply(source: IO[bytes], step: int) -> Iterator[bytes]:
    """The reference: one stream after the other, in steps of so many bytes of the file."""
    left = source.read(step)
    while left:
        stream = bz2.BZ2Decompressor()
        while not stream.eof:
            try:
                yield stream.decompress(left, decompress.PIECE_BYTES)
            except (OSError, ValueError) as error:
                raise BuilderError("damaged") from error
            left = b""
            if stream.needs_input and not stream.eof and not (left := source.read(step)):
                raise BuilderError("end too early")
        left = stream.unused_data or source.read(step)


def check_against_the_reference(data: bytes) -> None:
    """Equal, except that of a damaged stream libbz2 gives up to a piece less than with the smallest steps."""
    content, found = outcome(decompressed(DumpFile(io.BytesIO(data)), threads=0))
    whole, error = outcome(simply(io.BytesIO(data), 1 if found else decompress.READ_BYTES))
    assert (error in found, bool(error)) == (True, bool(found))
    assert whole.startswith(content)
    assert len(whole) - len(content) < (decompress.PIECE_BYTES if error else 1)
    for threads in (1, 3):
        assert outcome(decompressed(DumpFile(io.BytesIO(data)), threads=threads)) == (content, found)


START = b"BZh91AY&SY"
CONTENTS = st.one_of(
    st.binary(max_size=100),
    st.integers(0, 300).map(lambda n: START * n),
    st.integers(0, 9999).map(lambda seed: random.Random(seed).randbytes(seed % 1200)),
)
JUNK = st.binary(max_size=3) | st.sampled_from([START, START[:7], bz2.compress(b"a"), b"\0" * 300])


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """Streams, some with bytes removed, added or changed anywhere, or without their end."""
    contents = draw(st.lists(CONTENTS, min_size=1, max_size=6))
    data = b"".join(map(bz2.compress, contents))
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(4, len(data)))
        data = data[:at] + draw(JUNK) + data[at + draw(st.integers(0, 4)) :]
    return data[: draw(st.integers(4, len(data)))] if draw(st.booleans()) else data


@contextmanager
def small_steps() -> Iterator[None]:
    """All limits a 256th, so that short files have many chunks."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("READ_BYTES", "PIECE_BYTES", "MAX_CHUNK_CONTENT"):
            patch.setattr(decompress, name, getattr(decompress, name) // 256)
        patch.setattr(decompress, "MAX_CHUNK_BYTES", 2 * decompress.READ_BYTES)  # the smallest that works
        yield


@given(data=files())
def test_threads_give_the_same_content(data: bytes) -> None:
    with small_steps():
        check_against_the_reference(data)


@small_steps()
@pytest.mark.parametrize("length", [300, 503, 509, 512, 513, 1024, 5000])
def test_bytes_inside_a_stream_that_look_like_another_are_not_one(length: int) -> None:
    inner = bz2.compress(b"inner")
    outer = bz2.compress(random.Random(length).randbytes(length))
    whole = inner + outer * 2 + inner
    assert unpacked(whole) == b"inner" + random.Random(length).randbytes(length) * 2 + b"inner"
    for at in (5, 100, 253, 256, len(outer) - 1):
        check_against_the_reference(inner + outer[:at] + inner + outer[at:] + inner)
        check_against_the_reference(inner + outer[:at] + START + outer[at:] + inner)
        check_against_the_reference(inner + outer[:at] + inner * 3)
        check_against_the_reference(whole[:-at])


def test_streams_longer_than_a_chunk_are_read_whole() -> None:
    content = random.Random(1).randbytes(MAX_CHUNK_BYTES + 200_000)
    long, short = bz2.compress(content), bz2.compress(b"short")
    assert len(long) > MAX_CHUNK_BYTES + 2 * READ_BYTES
    assert unpacked(short + long + short * 2) == b"short" + content + b"shortshort"


@small_steps()
def test_only_chunks_that_look_whole_are_unpacked_ahead() -> None:
    long, short = bz2.compress(random.Random(1).randbytes(1500)), bz2.compress(b"short")
    file = io.BytesIO(short + long + short)
    chunks = list(decompress._chunks(file.read(decompress.READ_BYTES), DumpFile(file)))
    assert [chunk.data for chunk in chunks if chunk.whole] == [short, short]
    assert len(chunks) > 4


def test_streams_that_unpack_to_much_are_not_held_in_memory() -> None:
    large = bz2.compress(b"a" * (MAX_CHUNK_CONTENT + 1))
    content, error = outcome(decompressed(DumpFile(io.BytesIO(large * 3 + bz2.compress(b"end"))), threads=2))
    assert decompress._decompress_whole(decompress._Chunk(end=len(large), data=large)) is None
    assert (len(content), content[-3:], error) == (3 * (MAX_CHUNK_CONTENT + 1) + 3, b"end", "")
    for threads in (0, 2):
        content, error = outcome(decompressed(DumpFile(io.BytesIO(large * 5)), threads=threads))
        assert "unpack to more than" in error
        most = EXPANSION_START + EXPANSION * len(large * 5)
        assert EXPANSION_START - PIECE_BYTES < len(content) <= most


class Breaking(io.BytesIO):
    """A disk with a bad place."""

    def read(self, size: int | None = -1, /) -> bytes:
        if self.tell() >= 10 * READ_BYTES:
            raise OSError(5, "Input/output error")
        return super().read(size)


def test_content_before_a_bad_place_of_the_disk_comes_before_the_error() -> None:
    data = b"".join(bz2.compress(random.Random(n).randbytes(250_000), 1) for n in range(4))
    content, error = outcome(simply(Breaking(data), READ_BYTES))
    assert (len(content) > 500_000, error) == (True, "[Errno 5] Input/output error")
    for threads in (0, 1, 4):
        assert outcome(decompressed(DumpFile(Breaking(data)), threads=threads)) == (content, error)


def test_no_thread_is_left_if_the_caller_stops() -> None:
    data = b"".join(bz2.compress(random.Random(n).randbytes(100_000)) for n in range(40))
    source = DumpFile(io.BytesIO(data))
    pieces = decompressed(source, threads=3)
    next(pieces)
    assert any(thread.name.startswith("bzip2") for thread in threading.enumerate())
    assert source.taken < len(data) / 2  # and little is read ahead
    pieces.close()
    assert not any(thread.name.startswith("bzip2") for thread in threading.enumerate())
