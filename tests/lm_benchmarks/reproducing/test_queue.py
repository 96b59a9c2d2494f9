"""The queue: order, failures, stops; the children are real commands."""

import math
import signal
import threading
import time

import pytest
from lm_benchmarks.reproducing.queue import STOPPED, locked, run_commands

from wikitext_builder.progress import no_progress

pytestmark = pytest.mark.slow  # each child imports torch
LIST = ("lm-benchmarks", "list")


def run(tmp_path, ready, *, seconds=math.inf, workers=2):
    states: dict[str, str] = {}
    with locked(tmp_path / "lock", no_progress) as lock:
        stopped = run_commands(
            ready, states, tmp_path, workers=workers, seconds=seconds, lock=lock, on_tick=lambda: None
        )
    return states, stopped


def test_what_becomes_ready_runs_and_what_fails_runs_once_and_stops_no_other(tmp_path):
    def ready():
        after = {"last": LIST} if (tmp_path / "first.log").exists() else {}
        wrong = ("lm-benchmarks", "compare", "nowhere.jsonl", "a", "b")
        return {**after, "first": LIST, "wrong": wrong}

    states, stopped = run(tmp_path, ready, workers=1)
    assert list(states) == ["first", "last", "wrong"]
    assert (states["first"], states["last"], stopped) == ("done", "done", False)
    assert states["wrong"].startswith("failed: status 2; the end of ")
    assert "nowhere.jsonl" in states["wrong"]
    assert "kn-5" in (tmp_path / "first.log").read_text()


def test_time_that_is_up_starts_nothing(tmp_path):
    assert run(tmp_path, lambda: {"next": LIST}, seconds=0) == ({}, True)


def test_the_queue_runs_outside_the_main_thread_too(tmp_path):
    found = []
    thread = threading.Thread(
        target=lambda: found.append(run(tmp_path, lambda: {"a": ("ps-models", "list")}))
    )
    thread.start()
    thread.join()
    assert found == [({"a": "done"}, False)]


def test_a_child_hears_that_it_is_to_stop_where_ctrl_c_is_ignored(tmp_path):
    (tmp_path / "wiki.test.tokens").write_text(" a \n")
    waits = ("lm-benchmarks", "run", "command:sleep 60", "--data", str(tmp_path / "wiki.test.tokens"))
    began, found = time.monotonic(), []
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as for what a script starts in the background
    thread = threading.Thread(  # not the main one: there the queue handles signals, and children inherit that
        target=lambda: found.append(run(tmp_path, lambda: {"waits": waits}, seconds=4))
    )
    try:
        thread.start()
        thread.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - began < 50, (tmp_path / "waits.log").read_text()
    assert found == [({"waits": STOPPED}, True)]
