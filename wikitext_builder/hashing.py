"""What identifies files and lines (SHA-256), and the running code (its commit)."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

UNDECIDING = ("cli", "sample", "stats", "text_overlap", "webpages")  # rooms that change no dataset
PACKAGES = ("wikitext_builder", "ps_models", "benchmarks")  # the folders whose code decides numbers


def file_sha256(path: Path) -> str:
    """SHA-256 of the bytes of a file, hexadecimal; the file is read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def lines_sha256(lines: Iterable[str]) -> str:
    r"""SHA-256 over lines in UTF-8, each with a newline, hexadecimal.

    >>> lines_sha256(["abc"])[:12]
    'edeaaff3f177'
    """
    digest = hashlib.sha256()
    for line in lines:
        digest.update(f"{line}\n".encode())
    return digest.hexdigest()


@cache
def code_hash() -> str:
    """What the code and tables that decide the bytes of a dataset are: 16 hexadecimal digits of SHA-256.

    All files of this package count, but those of rooms that only show and compare.
    """
    package = Path(__file__).parent
    files = (path for path in package.rglob("*") if path.suffix in (".py", ".tsv", ".toml", ".txt", ".jinja"))
    names = sorted(path.relative_to(package).as_posix() for path in files)
    deciding = (name for name in names if name.partition("/")[0] not in UNDECIDING)
    return lines_sha256(f"{name} {file_sha256(package / name)}" for name in deciding)[:16]


@cache
def commit() -> str:
    """The commit of the running code; "" where nothing says it.

    A git work tree says it, with `+changed` behind it if a file of the code differs, and so does an
    installation by pip from a repository.
    """
    package = Path(__file__).parent
    return _of_work_tree(package) or _of_installation(package)


def _of_work_tree(package: Path) -> str:
    """The commit that a work tree has out, if the package is tracked in it and not only lies there."""
    folders = [name for name in PACKAGES if (package.parent / name).is_dir()]
    if not _git(package.parent, "ls-files", f"{package.name}/__init__.py"):
        return ""
    head = _git(package.parent, "rev-parse", "HEAD")
    changed = _git(package.parent, "status", "--porcelain", "--untracked-files=no", "--", *folders)
    return f"{head}+changed" if head and changed else head


def _git(folder: Path, *words: str) -> str:
    """What git prints; "" if it is not there or refuses."""
    git = shutil.which("git")
    if git is None:
        return ""
    try:
        done = subprocess.run(  # noqa: S603 - our own words
            [git, "--no-optional-locks", "-C", str(folder), *words],
            capture_output=True,
            check=True,
            text=True,
            timeout=30,
        )
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return ""
    return done.stdout.strip()


def _of_installation(package: Path) -> str:
    """The commit that pip installed, as `direct_url.json` of PEP 610 has it."""
    try:
        found = distribution("wikitext-builder")
        origin = json.loads(found.read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, OSError, ValueError):
        return ""
    ours = Path(str(found.locate_file(package.name))) == package
    return str(origin.get("vcs_info", {}).get("commit_id", "")) if ours else ""
