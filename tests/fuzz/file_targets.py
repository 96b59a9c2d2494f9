"""Targets: locks, stores, datasets and text to compare with."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from tests.fuzz.page_targets import DUMP
from tests.fuzz.target import HERE, Target, target, written
from wikitext_builder.dataset.load import load
from wikitext_builder.dataset.manifest import read_manifest
from wikitext_builder.dataset.verify import verify
from wikitext_builder.dumps.importing import import_dump
from wikitext_builder.progress import no_progress
from wikitext_builder.stats.overlap import _text_of_file, _TextReader
from wikitext_builder.store.lock import language_in_lock, read_attribution, read_lock, read_titles
from wikitext_builder.store.reading import status_of, stored_pages
from wikitext_builder.store.store import Store
from wikitext_builder.wiki.classify import title_fault
from wikitext_builder.wiki.languages import language_of

CASES: Final = Path(__file__).parents[1] / "cases"
DATASET: Final = {  # its smallest: each split has one article
    "wiki.train.tokens": " \n = Tea = \n \n Tea is a <unk> . \n \n",
    "wiki.train.raw": " \n = Tea = \n \n Tea is a drink . \n \n",
    "wiki.valid.tokens": " \n = Tea = \n \n a Tea . \n \n",
    "wiki.test.tokens": " \n = <unk> = \n \n = = Tea = = \n \n is . \n \n",
    "attribution.tsv": "split\ttitle\tpage_id\trevision_id\ttimestamp\turl\n"
    "train\tTea\t1\t2\t2016-01-01T00:00:00Z\thttps://en.wikipedia.org/w/index.php?oldid=2\n",
}
NAMES: Final = tuple(DATASET)


def _lock(content: bytes) -> str:
    revisions = read_lock(written("a.lock", content), language="en")
    assert not any(title_fault(revision.title) for revision in revisions)
    return f"{revisions}"


def _titles(content: bytes) -> str:
    titles, rejected = read_titles(written("titles.txt", content))
    assert not any(title_fault(title) for title in titles)
    assert len(set(titles)) == len(titles)
    return f"{titles} {rejected}"


def _manifest(content: bytes) -> str:
    return f"{read_manifest(written('manifest.json', content).parent)}"


def _dataset(content: bytes) -> str:
    """A dataset with one file replaced; the first byte says which."""
    folder = HERE / "dataset"
    if not folder.exists():
        folder.mkdir()
        for name, text in DATASET.items():
            (folder / name).write_text(text)
    name = NAMES[content[0] % len(NAMES)] if content else NAMES[0]
    (folder / name).write_bytes(content[1:])
    try:
        checks = verify(folder)
        dataset = load(folder)
        articles = [article for split in dataset.files for article in dataset.articles(split)]
        return f"{checks} {articles} {[*read_attribution(folder)]} {dataset.vocabulary}"
    finally:
        (folder / name).write_text(DATASET[name])


def _other(content: bytes) -> str:
    """Text to compare with."""
    path, reader = written("other/a.txt", content), _TextReader(no_progress)
    return f"{[*reader.read(path, _text_of_file(path))]} {reader.unread}"


def _names(content: bytes) -> str:
    """What a lock file says of its wiki."""
    head = b"# wikitext-builder lock 1; language ca; wiki -\n# names "
    return f"{language_in_lock(written('names.lock', head + content), language_of('ca'))}"


def _store(content: bytes) -> str:
    with Store.open(written("b.store", content)) as store:
        found: list[object] = []
        for language in store.languages():
            revisions = store.all_revisions(language)
            found += [status_of(store, language), revisions, store.rejected(language)]
            found += stored_pages(store, language, [one.revision_id for one in revisions])
        return f"{found}"


def _small_store() -> bytes:
    """A store with one page, in small pages of SQLite."""
    path = HERE / "seed.store"
    dump = DUMP.replace(b"'''Tea'''", b"{{good article}} '''Tea'''").replace(b' sha1="0"', b"")
    assert import_dump(path, written("seed.xml", dump)).kept == 1
    with closing(sqlite3.connect(path)) as store:
        store.executescript("PRAGMA journal_mode = delete; PRAGMA page_size = 512; VACUUM;")
    return path.read_bytes()


TARGETS: Final[dict[str, Target]] = {
    "lock": target("lock", _lock),
    "titles": target("titles", _titles),
    "manifest": target("manifest", _manifest, (CASES / "manifest.json").read_bytes()),
    "dataset": target(
        "dataset", _dataset, *(bytes((n,)) + t.encode() for n, t in enumerate(DATASET.values()))
    ),
    "other": target("other", _other, b"Tea is a drink.\n"),
    "names": target("names", _names),
    "store": target("store", _store, _small_store(), longest=1 << 16),
}
