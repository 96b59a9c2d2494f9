"""The queue: order, failures, stops; the children are real commands."""

import math
import signal
import threading
import time

import pytest
from lm_benchmarks.reproducing.queue import Step, run_steps

pytestmark = pytest.mark.slow  # each child imports torch


def run(tmp_path, steps, *, seconds=math.inf, workers=2, on_tick=lambda outcome, running: None):
    with (tmp_path / "lock").open("ab") as lock:
        return run_steps(steps, tmp_path, workers=workers, seconds=seconds, lock=lock, on_tick=on_tick)


def test_a_step_waits_for_what_it_needs_and_fails_with_it_and_the_others_are_done(tmp_path):
    seen = []
    steps = [
        Step(name="last", words=("lm-benchmarks", "list"), needs=frozenset({"first"})),
        Step(name="first", words=("lm-benchmarks", "list")),
        Step(name="wrong", words=("lm-benchmarks", "compare", "nowhere.jsonl", "a", "b")),
        Step(name="after wrong", words=("lm-benchmarks", "list"), needs=frozenset({"wrong"})),
    ]
    outcome = run(tmp_path, steps, workers=1, on_tick=lambda outcome, running: seen.extend(running))
    assert outcome.done == {"first", "last"}
    assert list(dict.fromkeys(seen)) == ["first", "last", "wrong"] or seen.index("first") < seen.index("last")
    assert "nowhere.jsonl" in outcome.failed["wrong"]
    assert outcome.failed["after wrong"] == "needs wrong"
    assert "kn-5" in (tmp_path / "first.log").read_text()


def test_time_that_is_up_stops_what_runs_and_starts_nothing_more(tmp_path):
    waits = Step(name="waits", words=("lm-benchmarks", "check", "command:sleep 60", "--data", "none"))
    outcome = run(tmp_path, [waits, Step(name="next", words=("lm-benchmarks", "list"))], seconds=0, workers=1)
    assert outcome.stopped
    assert outcome.done == set()


def test_the_queue_runs_outside_the_main_thread_too(tmp_path):
    found = []
    thread = threading.Thread(
        target=lambda: found.append(run(tmp_path, [Step(name="a", words=("ps-models", "list"))]))
    )
    thread.start()
    thread.join()
    assert found[0].done == {"a"}


def test_a_child_hears_that_it_is_to_stop_where_ctrl_c_is_ignored(tmp_path):
    (tmp_path / "wiki.test.tokens").write_text(" a \n")
    waits = ("lm-benchmarks", "run", "command:sleep 60", "--data", str(tmp_path / "wiki.test.tokens"))
    began = time.monotonic()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as for what a script starts in the background
    thread = threading.Thread(  # not the main one: there the queue handles signals, and children inherit that
        target=lambda: run(tmp_path, [Step(name="waits", words=waits)], seconds=4)
    )
    try:
        thread.start()
        thread.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - began < 50, (tmp_path / "waits.log").read_text()
