"""A fetch that is stopped at any moment resumes where it was; tests/crash kills it at any call."""

from pathlib import Path

import pytest

from tests.cases import each
from tests.mediawiki.asking import (
    DATE,
    GOOD,
    StoppedError,
    ask,
    fetch_pages,
    fetched,
    interrupted_at,
    lock_text,
    stored,
)
from tests.mediawiki.wiki import Wiki

LIMITS = {"": None, DATE: 50}  # at a date each page is one request


@pytest.fixture(scope="module")
def whole(running: Wiki, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The lock files of fetches that nothing disturbed: of the newest revisions and as of a date."""
    texts = {}
    for as_of, limit in LIMITS.items():
        with stored(tmp_path_factory.mktemp("whole")) as store:
            fetched(running.api, store, GOOD, as_of=as_of, limit=limit)
            texts[as_of] = lock_text(store)
    return texts


@each("wiki", "stage, least, as_of, parallel", "places of a kill")
def test_a_stop_loses_nothing_and_repeats_at_most_the_batches_of_the_moment(
    wiki: Wiki, tmp_path: Path, whole: dict[str, str], stage: str, least: int, as_of: str, parallel: int
) -> None:
    stop, limit = interrupted_at(stage, least), LIMITS[as_of]
    with stored(tmp_path) as store:
        with ask(wiki.api, parallel=parallel) as wikipedia, pytest.raises(StoppedError):
            fetch_pages(store, wikipedia, [GOOD], as_of=as_of, limit=limit, progress=stop)
        before = len(store.revisions("en"))
        settled = store.wanted_count("en") - len(store.missing("en"))
        assert settled >= (least if stage == "fetching" else 0)
        assert settled == before + len(store.rejected("en"))
        report = fetched(wiki.api, store, GOOD, as_of=as_of, limit=limit)
        assert lock_text(store) == whole[as_of]
        assert report.present == settled
        assert report.fetched == len(store.revisions("en")) - before
        assert 0 < settled < report.selected or stage != "fetching"
