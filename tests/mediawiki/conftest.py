"""Fixtures: one prepared wiki per session, and a running copy of it per worker."""

import fcntl
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import DATA, ROOT
from tests.mediawiki import exports, histories
from tests.mediawiki.wiki import LAB, Administrator, Wiki, cache, copy, missing_programs, start, unavailable

CASES = ROOT / "tests" / "cases" / "expansion.json"
TEMPLATES = DATA / "pages" / "templates.xml.bz2"
KEPT_SECONDS = 24 * 60 * 60  # since the last use of a wiki that other sources make


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.mediawiki)
            item.add_marker(pytest.mark.timeout(900))  # the first one makes a wiki and imports its pages


@pytest.fixture(scope="session")
def empty() -> Path:
    """The folder of a stopped wiki without pages; made once, and kept next to the unpacked packages."""
    if missing := missing_programs():
        unavailable(f"no MediaWiki here: {missing} not found")
    sources = [path.read_bytes() for path in sorted(LAB.iterdir())]
    return kept("empty", sources, lambda folder: start(folder).stop())


@pytest.fixture(scope="session")
def prepared(empty: Path) -> Path:
    """The same with the pages of `exports.py`."""
    sources = [empty.name.encode(), Path(exports.__file__).read_bytes(), Path(__file__).read_bytes()]
    return kept("prepared", sources, lambda folder: prepare(copy(empty, folder)))


@pytest.fixture(scope="session")
def with_histories(prepared: Path) -> Path:
    """The same with the pages of `histories.py`."""
    sources = [prepared.name.encode(), Path(histories.__file__).read_bytes()]
    return kept("histories", sources, lambda folder: histories.make(copy(prepared, folder)))


@pytest.fixture(scope="session")
def with_templates(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wiki]:
    """A running wiki with the templates of the cases too, and the real ones where they are."""
    real = [TEMPLATES] if TEMPLATES.exists() else []

    def make(folder: Path) -> None:
        texts: dict[str, str] = json.loads(CASES.read_text("utf-8"))["templates"]
        pages = (exports.one(f"Template:{name}", text, namespace=10) for name, text in texts.items())
        with tempfile.TemporaryDirectory() as work:
            cases = Path(work) / "cases.xml"
            cases.write_text(exports.export(*pages), encoding="utf-8")
            start(copy(prepared, folder), dumps=[cases, *real], links=False).stop()

    sources = [prepared.name.encode(), *(path.read_bytes() for path in (CASES, *real))]
    wiki = start(copy(kept("templates", sources, make), tmp_path_factory.mktemp("templates") / "copy"))
    yield wiki
    wiki.stop()


def kept(kind: str, sources: list[bytes], make: Callable[[Path], None]) -> Path:
    """The folder that is made from some sources: once, and not again by other workers and later runs."""
    folder = cache() / kind / hashlib.sha256(b"".join(sources)).hexdigest()[:16]
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one worker makes it, the others wait
        if not folder.exists():
            for old in folder.parent.iterdir():  # another checkout may use those of today
                if old.is_dir() and (old.suffix or time.time() - old.stat().st_mtime > KEPT_SECONDS):
                    shutil.rmtree(old)
            try:
                make(folder.with_suffix(".part"))
            except RuntimeError as error:
                unavailable(str(error))
            folder.with_suffix(".part").rename(folder)
        os.utime(folder)
    return folder


def prepare(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as work:
        wiki = start(folder, dumps=exports.write_exports(Path(work)))
    try:
        administrator = Administrator(wiki)
        administrator.delete("To be deleted")
        administrator.hide("Hidden old text", administrator.revision_ids("Hidden old text")[2])
    finally:
        wiki.stop()


@pytest.fixture(scope="session")
def running(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wiki]:
    """A running wiki, one per worker; use `wiki`, which undoes all changes."""
    wiki = start(copy(prepared, tmp_path_factory.mktemp("wiki") / "copy"))
    yield wiki
    wiki.stop()


@pytest.fixture
def wiki(running: Wiki) -> Iterator[Wiki]:
    running.heal()
    yield running
    running.heal()
