"""How far a run is: quiet lines for a file, bars for a terminal."""

import os
import pty
import re
from io import StringIO

from wikitext_builder.progress import QUIET_SECONDS, _quiet_lines, no_progress, shown_progress


def test_a_file_gets_a_line_at_the_start_each_ten_seconds_and_at_the_end() -> None:
    stream, now = StringIO(), [0.0]
    report = _quiet_lines(stream, lambda: now[0])
    for done in range(1, 101):
        report("extract", done, 100, f"{done // 50} rejected" if done >= 50 else "")
        now[0] += QUIET_SECONDS / 40
    assert stream.getvalue().splitlines() == [
        "extract: 1/100",
        "extract: 41/100",
        "extract: 81/100 1 rejected",
        "extract: 100/100 2 rejected",
    ]


def test_a_total_that_is_not_known_is_not_told() -> None:
    stream = StringIO()
    with shown_progress(stream) as report:
        report("listing", 7, None)
        report("listing", 9, None)
        report("fetching", 0, 0)
    assert stream.getvalue() == "listing: 7\nfetching: 0/0\n"
    assert no_progress("anything", 1, None) is None  # type: ignore[func-returns-value]


def test_a_terminal_gets_bars_with_counts_rate_and_remaining_time() -> None:
    ours, its = pty.openpty()
    with os.fdopen(its, "w") as terminal, shown_progress(terminal) as report:
        for done in range(0, 41, 10):
            report("extract", done, 40, "3 [rejected] pages")
        report("listing", 5, None)
    shown = os.read(ours, 1 << 20).decode()
    os.close(ours)
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
    assert "extract" in plain
    assert "40/40" in plain
    assert "left" in plain
    assert "3 [rejected] pages" in plain, "a note is text, not markup"
    assert "listing" in plain
