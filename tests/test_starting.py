"""Ctrl-C at many moments while a program starts: one line and status 130, never a traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, SOURCES, hear_control_c

# At each so-many-th import, code of a module, and opened file a copy of the process gets Ctrl-C.
CHILD = """
import os, signal, sys
from wikitext_builder import programs

program, every, report = sys.argv[1], int(sys.argv[2]), open(sys.argv[3], "a")
sys.argv = sys.argv[3:]
count, is_copying = 0, False

def look(event, _):
    global count, is_copying
    if is_copying or event not in ("import", "exec", "open"):
        return
    count += 1
    if count % every:
        return
    is_copying = True
    if copy := os.fork():
        print(os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]), file=report, flush=True)
        is_copying = False
    else:
        os.kill(os.getpid(), signal.SIGINT)

sys.addaudithook(look)
getattr(programs, program)()
"""


@pytest.mark.parametrize(
    ("program", "words", "every"),
    [
        ("wikitext_builder", ("stats", "nowhere"), 101),
        ("ps_models", ("list",), 47),
        ("lm_benchmarks", ("list",), 211),
        pytest.param("ps_models", ("evaluate", "README.md", "README.md"), 401, marks=pytest.mark.slow),
    ],
)
def test_control_c_at_any_moment_of_the_start_is_no_traceback(
    program: str, words: tuple[str, ...], every: int, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CHILD, program, str(every), str(tmp_path / "report"), *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": SOURCES},
        preexec_fn=hear_control_c,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    statuses = (tmp_path / "report").read_text().split()
    assert len(statuses) >= 5
    assert set(statuses) == {"130"}
    assert "Traceback" not in done.stderr
    assert done.stderr.count(f"{program.replace('_', '-')}: stopped") == len(statuses)
