"""A wiki that makes us wait is not silent: the real command and a real server."""

from http.server import BaseHTTPRequestHandler
from pathlib import Path

from tests.command import run
from tests.mediawiki.loopback import send, server


def test_a_log_gets_a_line_for_each_wait_unless_it_is_quiet_and_verbose_says_each_request(
    tmp_path: Path,
) -> None:
    faults: list[tuple[int, dict[str, str]]] = []

    def busy(handler: BaseHTTPRequestHandler, _: dict[str, str]) -> None:
        status, headers = faults.pop(0) if faults else (404, {})  # an error that does not pass
        send(handler, "", status=status, headers=headers)

    with server(busy) as api:
        fetch = ("fetch", "--store", tmp_path / "pages.store", "--api", api)
        for options in ((), ("--quiet",)):
            faults += [(503, {}), (429, {"Retry-After": "2"})]
            *waits, error = run(*fetch, *options).stderr.splitlines()
            expected = ["waiting 1 s (503), attempt 2 of 8", "waiting 2 s (429), attempt 3 of 8"]
            assert waits == ([] if options else [f"connecting: 0, {wait}" for wait in expected])
            assert error.startswith("wikitext-builder: ")
            assert "404" in error
        verbose = run(*fetch, "-v").stderr
    query = "query meta=siteinfo siprop=general|namespaces|namespacealiases|magicwords: 404, 0 bytes"
    assert query in verbose
