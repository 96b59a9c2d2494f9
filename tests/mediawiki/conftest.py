"""Fixtures: two prepared wikis per session, and running copies of them per worker."""

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

from tests.cases import FOLDER
from tests.conftest import DATA
from tests.mediawiki import exports, histories
from tests.mediawiki.differential.asking import SETS
from tests.mediawiki.wiki import LAB, Administrator, Wiki, cache, copy, missing_programs, start, unavailable

CASES = FOLDER / "expansion.json"
REAL = [DATA / "pages" / name for name in ("templates.xml.bz2", "pages-2016-04.xml.bz2")]
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
    """The same with the pages of `exports.py` and `histories.py`."""
    modules = [Path(str(module.__file__)) for module in (exports, histories)]
    tables = [FOLDER / "wiki_pages.json", FOLDER / "wiki.json"]
    sources = [empty.name.encode(), *(path.read_bytes() for path in (*modules, *tables, Path(__file__)))]
    return kept("prepared", sources, lambda folder: prepare(copy(empty, folder)))


@pytest.fixture(scope="session")
def real_of_today(empty: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wiki]:
    """A running wiki with the real templates of 2013 to 2015 and over them those of 2019 to 2026."""
    dumps = [*SETS["2026"][0]]

    def make(folder: Path) -> None:
        start(copy(empty, folder), dumps=dumps, links=False).stop()

    sources = [empty.name.encode(), *(path.read_bytes() for path in dumps)]
    yield from running_copy(kept("today", sources, make), tmp_path_factory)


@pytest.fixture(scope="session")
def real(empty: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wiki]:
    """A running wiki with the templates of the cases, and the real pages and templates where they are."""
    there = [path for path in REAL if path.exists()]

    def make(folder: Path) -> None:
        texts: dict[str, str] = json.loads(CASES.read_text("utf-8"))["templates"]
        pages = [exports.one(f"Template:{name}", text, namespace=10) for name, text in texts.items()]
        with tempfile.TemporaryDirectory() as work:
            dumps = exports.write_exports(Path(work), {"cases": pages})
            start(copy(empty, folder), dumps=[*dumps, *there], links=False).stop()

    sources = [empty.name.encode(), *(path.read_bytes() for path in (CASES, *there))]
    yield from running_copy(kept("real", sources, make), tmp_path_factory)


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
        files = {**exports.files(), "histories": histories.imported()}
        wiki = start(folder, dumps=exports.write_exports(Path(work), files))
    try:
        administrator = Administrator(wiki)
        administrator.delete("To be deleted")
        administrator.hide("Hidden old text", administrator.revision_ids("Hidden old text")[2])
        clock = histories.make(wiki)
    finally:
        wiki.stop()
    clock.set()


def running_copy(folder: Path, temporary: pytest.TempPathFactory) -> Iterator[Wiki]:
    wiki = start(copy(folder, temporary.mktemp("wiki") / "copy"))
    yield wiki
    wiki.stop()


@pytest.fixture(scope="session")
def running(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wiki]:
    """A running wiki, one per worker; use `wiki`, which undoes all changes."""
    yield from running_copy(prepared, tmp_path_factory)


@pytest.fixture
def wiki(running: Wiki) -> Iterator[Wiki]:
    running.heal()
    yield running
    running.heal()
