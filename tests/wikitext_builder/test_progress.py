"""Progress: lines for a file, bars for a terminal."""

import contextlib
import json
import logging
import os
import pty
import re
import threading
import time
from collections.abc import Iterator
from io import StringIO

import pytest
from rich.console import Console

from wikitext_builder.progress import (
    QUIET_SECONDS,
    _bars,
    _quiet_lines,
    set_verbosity,
    shown_progress,
)


def test_a_file_gets_a_line_at_the_start_each_ten_seconds_for_a_note_and_at_the_end() -> None:
    stream, now = StringIO(), [0.0]
    report = _quiet_lines(stream, lambda: now[0])
    for done in range(1, 101):
        report("extract", done, 100, f"{done // 50} rejected" if done >= 50 else "")
        now[0] += QUIET_SECONDS / 40
    for note in ("", "waiting 5 s", "waiting 5 s", ""):
        report("fetching", 50, 120, note)
    assert stream.getvalue().splitlines() == [
        "extract: 1/100 pages",
        "extract: 41/100 pages, 4.0 pages/s, 15 s left",
        "extract: 81/100 pages, 4.0 pages/s, 5 s left, 1 rejected",
        "extract: 100/100 pages, 4.0 pages/s, 2 rejected",
        "fetching: 50/120 pages",
        *["fetching: 50/120 pages, waiting 5 s"] * 2,
    ]


def test_a_log_gets_objects() -> None:
    stream, now = StringIO(), [5.0]
    report = _quiet_lines(stream, lambda: now[0], as_json=True)
    report("extract", 0, 2)
    now[0] = 8.5
    report("extract", 2, 2, "1 rejected")
    assert [json.loads(line) for line in stream.getvalue().splitlines()] == [
        {"stage": "extract", "done": 0, "total": 2, "note": "", "seconds": 0.0},
        {"stage": "extract", "done": 2, "total": 2, "note": "1 rejected", "seconds": 3.5},
    ]


@pytest.mark.parametrize(
    ("quiet", "shown"), [(False, "listing: 7 titles\nfetching: 0/0 pages\n"), (True, "")]
)
def test_an_unknown_total_is_not_reported_and_who_wants_it_quiet_gets_nothing(
    quiet: bool, shown: str
) -> None:
    stream = StringIO()
    set_verbosity(False if quiet else None)
    with shown_progress(stream) as report:
        report("listing", 7, None)
        report("listing", 9, None)
        report("fetching", 0, 0)
    set_verbosity(None)
    assert stream.getvalue() == shown


@contextlib.contextmanager
def on_terminal() -> Iterator[tuple[int, list[bytes]]]:
    """The side of a terminal that a program writes to, and what the terminal got when that is closed."""
    ours, its = pty.openpty()
    pieces: list[bytes] = []

    def read() -> None:
        with contextlib.suppress(OSError):  # the other side is closed
            while piece := os.read(ours, 1 << 16):
                pieces.append(piece)

    reader = threading.Thread(target=read)
    reader.start()
    yield its, pieces
    with contextlib.suppress(OSError):
        os.close(its)
    reader.join()
    os.close(ours)


def test_a_terminal_gets_bars_with_counts_rate_and_remaining_time() -> None:
    with (
        on_terminal() as (end, pieces),
        os.fdopen(end, "w") as terminal,
        shown_progress(terminal) as report,
    ):
        for done in range(0, 41, 10):
            report("extract", done, 40, "3 [rejected] pages")
        report("listing", 5, None)
        report("import", 2_500_000, 7_000_000)
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", b"".join(pieces).decode())
    for words in ("extract", "40/40 pages", "2.5/7.0 MB", "took 0:00:0", "listing"):
        assert words in plain
    assert "3 [rejected] pages" in plain, "a note is text, not markup"


def test_numbers_and_note_have_room_on_a_narrow_terminal_too() -> None:
    stream, note = StringIO(), "epoch 4 loss 4.650 perplexity 104.6 rate 0.003 valid 108.4"
    console = Console(file=stream, width=80, force_terminal=True, color_system=None)
    with _bars(console) as report:
        for done in range(3):
            report("train", done * 2500, 8366301, note)
            time.sleep(0.15)  # a rate is known from the second showing on
    last = stream.getvalue().split("\r")[-1]
    assert re.search(r"train .* 5000/8366301 tokens +[\d.]+ tokens/s +\d+:\d\d:\d\d left", last)
    assert note in last
    assert "…" not in last


def test_a_stage_that_begins_again_has_its_own_time() -> None:
    stream = StringIO()
    with _bars(Console(file=stream, width=80, force_terminal=True, color_system=None)) as report:
        for done in (0, 10, 1):
            report("valid", done, 10)
            time.sleep(1.1 if done == 0 else 0.3)  # bars are drawn ten times per second
    shown = stream.getvalue().split("\r")
    assert any(re.search(r"10/10 tokens .*took 0:00:0\d", line) for line in shown)
    assert "1/10 tokens" in shown[-1]
    assert "0:00:00 elapsed" in shown[-1]


def test_a_line_of_the_log_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    set_verbosity(None)
    logging.getLogger("wikitext_builder.try").warning("skipped %s", "a page\x1b]0;mine\x07")
    assert capsys.readouterr().err == "skipped a page\\x1b]0;mine\\x07\n"
