"""Decompression: the same bytes whatever the format, in bounded pieces."""

import bz2
import gzip
import hashlib
import io
import random
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tests.dumps import COMPRESSIONS
from wikitext_builder.decompress import PIECE, Source, decompressed, sha256_of_file
from wikitext_builder.errors import BuilderError


def unpacked(data: bytes) -> bytes:
    return b"".join(decompressed(Source(io.BytesIO(data))))


SEVERAL = {
    "bzip2": lambda parts: b"".join(map(bz2.compress, parts)),
    "gzip": lambda parts: b"".join(map(gzip.compress, parts)),
    "zstandard": lambda parts: b"".join(map(zstandard.compress, parts)),
    # https://datatracker.ietf.org/doc/html/rfc8878#name-skippable-frames
    "skippable": lambda parts: b"\x50\x2a\x4d\x18\x03\0\0\0abc" + b"".join(map(zstandard.compress, parts)),
}


@pytest.mark.parametrize("several", SEVERAL.values(), ids=SEVERAL)
@given(parts=st.lists(st.binary(max_size=300), min_size=1, max_size=5))
def test_streams_after_each_other_are_one_content(several, parts: list[bytes]) -> None:
    assert unpacked(several(parts)) == b"".join(parts)


@pytest.mark.parametrize("compression", ["plain", "bzip2", "gzip", "zstandard"])
def test_pieces_are_bounded_and_the_file_is_counted(compression: str) -> None:
    content = random.Random(1).randbytes(500_000) + b"<" * 5_000_000
    data = COMPRESSIONS[compression](content)
    source = Source(io.BytesIO(data))
    pieces = list(decompressed(source))
    assert b"".join(pieces) == content
    assert max(map(len, pieces)) <= PIECE
    assert source.taken == len(data)
    assert source.sha256 == hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize("compression", ["bzip2", "gzip"])
def test_what_follows_a_stream_must_be_one(compression: str) -> None:
    with pytest.raises(BuilderError, match="damaged"):
        unpacked(COMPRESSIONS[compression](b"a") + b"junk")


def test_a_frame_that_wants_gigabytes_of_window_is_refused() -> None:
    # https://datatracker.ietf.org/doc/html/rfc8878#name-window-descriptor: exponent 31, mantissa 0
    frame = b"\x28\xb5\x2f\xfd" + b"\x00" + bytes([21 << 3]) + b"\x01\x00\x00"
    with pytest.raises(BuilderError, match="Zstandard data are damaged"):
        unpacked(frame)


def test_the_digest_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"abc")
    assert sha256_of_file(path) == hashlib.sha256(b"abc").hexdigest()
