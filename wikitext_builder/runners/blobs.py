"""Intermediate results as files that are complete or absent, on a disk or where fsspec reaches.

A location is a path; or a URL such as `s3://bucket/folder`, if the machines of a cluster do not share a disk.
A URL needs the package fsspec and its part for that kind of URL (extra `cluster`).
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from wikitext_builder.errors import BuilderError


def is_url(location: str) -> bool:
    """Returns True for a URL, which needs fsspec."""
    return "://" in location


def exists(location: str) -> bool:
    """Returns True if something is there."""
    if is_url(location):
        filesystem, path = _filesystem(location)
        return bool(filesystem.exists(path))
    return Path(location).exists()


@contextmanager
def new_file(location: str) -> Iterator[IO[bytes]]:
    """Open a file for writing. A reader sees all of it after the block, or nothing if the block fails.

    The folder is made if it is missing; what was there before gives the new file its permissions.
    """
    mark = f".{secrets.token_hex(8)}.part"
    if is_url(location):
        filesystem, target = _filesystem(location)
        filesystem.makedirs(target.rpartition("/")[0], exist_ok=True)
        with filesystem.open(target + mark, "wb") as file:
            yield file
        filesystem.mv(target + mark, target)
        return
    path = Path(location)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(mark)  # a name of its own: one with ours could be too long
    try:
        with part.open("xb") as file:
            if path.is_file():
                os.fchmod(file.fileno(), stat.S_IMODE(path.stat().st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def write(location: str, data: bytes) -> None:
    """Write data in one step, see `new_file`."""
    with new_file(location) as file:
        file.write(data)


def move(location: str, path: Path) -> None:
    """Give a file of a location a place on this disk; a URL keeps it too."""
    if is_url(location):
        filesystem, source = _filesystem(location)
        filesystem.get_file(source, str(path))
    else:
        shutil.move(location, path)  # --work can be on another disk


def read(location: str, start: int = 0, end: int | None = None) -> bytes:
    """The bytes there, or those from `start` up to, but not including, `end`."""
    if is_url(location):
        filesystem, path = _filesystem(location)
        data: bytes = filesystem.cat_file(path, start=start, end=end)
        return data
    with Path(location).open("rb") as file:
        file.seek(start)
        return file.read(-1 if end is None else end - start)


def remove_folder(location: str) -> None:
    """Remove a folder and everything in it, if it is there."""
    if is_url(location):
        filesystem, path = _filesystem(location)
        if filesystem.exists(path):
            filesystem.rm(path, recursive=True)
        return
    shutil.rmtree(location, ignore_errors=True)


def count_files(location: str) -> int:
    """The number of complete files in a folder, without its subfolders; 0 if there is no folder."""
    if is_url(location):
        filesystem, path = _filesystem(location)
        names = filesystem.ls(path, detail=False) if filesystem.exists(path) else []
    else:
        names = [path.name for path in Path(location).iterdir()] if Path(location).is_dir() else []
    return sum(not name.endswith(".part") for name in names)


def _filesystem(location: str) -> tuple[Any, str]:
    try:
        import fsspec
    except ImportError as error:
        raise BuilderError(f"{location}: needs fsspec; pip install 'wikitext-builder[cluster]'") from error
    try:
        filesystem, path = fsspec.core.url_to_fs(location)
    except (ImportError, ValueError) as error:
        raise BuilderError(f"{location}: {error}; install fsspec's part for this kind of URL") from error
    return filesystem, str(path)
