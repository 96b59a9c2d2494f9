"""A wiki that makes us wait is not silent: the real command and a real server, with a log and a terminal."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from tests.command import run
from tests.mediawiki.loopback import send, server

FAULTS: list[tuple[int, dict[str, str]]] = [
    (503, {}),
    (429, {"Retry-After": "2"}),
]  # then no such wiki
WAITS = ["waiting 1 s (503), attempt 2 of 8", "waiting 2 s (429), attempt 3 of 8"]


@pytest.fixture
def api() -> Iterator[str]:
    """A server that is busy twice, and then answers with an error that does not pass."""
    left = list(FAULTS)

    def busy(handler: BaseHTTPRequestHandler, _: dict[str, str]) -> None:
        status, headers = left.pop(0) if left else (404, {})
        send(handler, "", status=status, headers=headers)

    with server(busy) as url:
        yield url


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
