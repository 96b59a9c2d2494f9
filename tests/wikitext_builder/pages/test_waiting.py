"""A wiki that makes us wait is not silent: the real command and a real server, with a log and a terminal."""

import re
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from tests.command import COMMAND, environment, run
from tests.wikitext_builder.test_progress import on_terminal

FAULTS = [(503, ""), (429, "2")]  # status, Retry-After; after them there is no such wiki
WAITS = ["waiting 1 s (503), attempt 2 of 8", "waiting 2 s (429), attempt 3 of 8"]


@pytest.fixture
def api() -> Iterator[str]:
    """A server that is busy twice, and then answers with an error that does not pass."""
    left = list(FAULTS)

    class Busy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, retry_after = left.pop(0) if left else (404, "")
            self.send_response(status)
            if retry_after:
                self.send_header("Retry-After", retry_after)
            self.end_headers()

        def log_message(self, *_arguments: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Busy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/w/api.php"
        server.shutdown()


def test_a_log_gets_a_line_for_each_wait(api: str, tmp_path: Path) -> None:
    done = run("fetch", "--store", tmp_path / "pages.store", "--api", api)
    *waits, error = done.stderr.splitlines()
    assert waits == [f"connecting: 0, {wait}" for wait in WAITS]
    assert "404" in error


def test_quiet_is_silent_but_for_the_error_and_verbose_says_each_request(api: str, tmp_path: Path) -> None:
    quiet = run("fetch", "--quiet", "--store", tmp_path / "pages.store", "--api", api)
    assert [line.partition(": ")[0] for line in quiet.stderr.splitlines()] == ["wikitext-builder"]
    verbose = run("fetch", "-v", "--store", tmp_path / "pages.store", "--api", api)
    assert (
        "query meta=siteinfo siprop=general|namespaces|namespacealiases|magicwords: 404, 0 bytes"
        in verbose.stderr
    )


@pytest.mark.parametrize("columns", [80, 200])
def test_the_bar_of_a_terminal_says_how_long_and_why(api: str, tmp_path: Path, columns: int) -> None:
    command = [*COMMAND, "fetch", "--store", str(tmp_path / "pages.store"), "--api", api]
    size = environment(COLUMNS=str(columns), TERM="xterm")
    with on_terminal() as (end, pieces):
        subprocess.run(command, env=size, stdin=end, stdout=end, stderr=end, check=False, timeout=60)
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", b"".join(pieces).decode())
    for wait in WAITS:
        assert wait in plain
