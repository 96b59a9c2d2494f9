"""A fetch that is killed at any moment resumes where it stopped."""

import signal
import time
from pathlib import Path

import pytest

from tests.cases import each
from tests.mediawiki.asking import DATE, GOOD, child, fetched, lock_text, stored, wait_for
from tests.mediawiki.wiki import Wiki

LIMITS = {"": 0, DATE: 50}  # at a date each page is one request


@pytest.fixture(scope="module")
def whole(running: Wiki, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The lock files of fetches that nothing disturbed: of the newest revisions and as of a date."""
    texts = {}
    for as_of, limit in LIMITS.items():
        with stored(tmp_path_factory.mktemp("whole")) as store:
            fetched(running.api, store, GOOD, as_of=as_of, limit=limit or None)
            texts[as_of] = lock_text(store)
    return texts


@each("wiki", "stage, least, as_of, parallel", "places of a kill")
def test_a_kill_loses_nothing_and_repeats_at_most_the_batches_of_the_moment(
    wiki: Wiki, tmp_path: Path, whole: dict[str, str], stage: str, least: int, as_of: str, parallel: int
) -> None:
    wiki.fail(
        {"match": "rvprop=|list=", "delay_ms": 400 if not as_of else 20}
    )  # so that the kill comes in time
    process = child(wiki.api, tmp_path / "a.store", as_of=as_of, limit=LIMITS[as_of], parallel=parallel)
    wait_for(process, stage, least)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    wiki.heal()
    with stored(tmp_path) as store:
        before = len(store.revisions("en"))
        settled = store.wanted_count("en") - len(store.missing("en"))
        assert settled >= (least if stage == "fetching" else 0)
        assert settled == before + len(store.rejected("en"))
        report = fetched(wiki.api, store, GOOD, as_of=as_of, limit=LIMITS[as_of] or None)
        assert lock_text(store) == whole[as_of]
        assert report.present == settled
        assert report.fetched == len(store.revisions("en")) - before
        assert 0 < settled < report.selected or stage != "fetching"


def test_control_c_ends_at_once_and_loses_nothing(wiki: Wiki, tmp_path: Path, whole: dict[str, str]) -> None:
    # Only the first four batches are answered: three threads take them before the first one is stored.
    wiki.fail({"match": "rvprop=", "times": 4, "delay_ms": 1}, {"match": "rvprop=", "status": 503})
    process = child(wiki.api, tmp_path / "a.store", parallel=3)
    wait_for(process, "fetching", 50)
    time.sleep(0.5)  # now it waits for a busy server
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, complaint = process.communicate(timeout=60)
    assert time.monotonic() - begin < 30  # the waits that it was in would take two minutes
    assert process.returncode != 0
    assert "KeyboardInterrupt" in complaint
    wiki.heal()
    with stored(tmp_path) as store:
        assert 50 <= len(store.revisions("en")) <= 200
        fetched(wiki.api, store, GOOD)
        assert lock_text(store) == whole[""]
