"""Progress: lines for a file, bars for a terminal."""

import contextlib
import logging
import os
import pty
import re
import threading
from collections.abc import Iterator
from io import StringIO

import pytest

from wikitext_builder.progress import SECONDS_BETWEEN_LINES, _lines, set_verbosity, show_progress


def test_a_file_gets_a_line_at_the_start_each_ten_seconds_for_a_note_and_at_the_end() -> None:
    stream, now = StringIO(), [0.0]
    report = _lines(stream, lambda: now[0])
    for done in range(1, 101):
        report("extract", done, 100, f"{done // 50} rejected" if done >= 50 else "")
        now[0] += SECONDS_BETWEEN_LINES / 40
    for note in ("", "waiting 5 s", "waiting 5 s", ""):
        report("fetching", 50, 1200, note)
    report("fetching", 1, 1200)  # it begins again
    assert stream.getvalue().splitlines() == [
        "extract: 1/100",
        "extract: 41/100",
        "extract: 81/100, 1 rejected",
        "extract: 100/100, 2 rejected",
        "fetching: 50/1,200",
        *["fetching: 50/1,200, waiting 5 s"] * 2,
        "fetching: 1/1,200",
    ]


@pytest.mark.parametrize(("quiet", "shown"), [(False, "listing: 7\nfetching: 0/0\n"), (True, "")])
def test_an_unknown_total_is_not_reported_and_who_wants_it_quiet_gets_nothing(
    quiet: bool, shown: str
) -> None:
    stream = StringIO()
    set_verbosity(False if quiet else None)
    with show_progress(stream) as report:
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


def test_a_terminal_gets_bars_with_counts_and_time() -> None:
    with (
        on_terminal() as (end, pieces),
        os.fdopen(end, "w") as terminal,
        show_progress(terminal) as report,
    ):
        for done in range(0, 41, 10):
            report("extract", done, 40, "3 [rejected] pages")
        report("listing", 5, None)
        for done in (3, 1):  # it begins again
            report("valid", done, 10)
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", b"".join(pieces).decode())
    for words in ("extract", "40/40", "0:00:0", "listing", "1/10"):
        assert words in plain
    assert "3 [rejected] pages" in plain, "a note is text, not markup"


def test_a_line_of_the_log_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    set_verbosity(None)
    logging.getLogger("wikitext_builder.try").warning("skipped %s", "a page\x1b]0;mine\x07")
    assert capsys.readouterr().err == "skipped a page\\x1b]0;mine\\x07\n"
