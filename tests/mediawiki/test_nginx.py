"""The same MediaWiki behind nginx: kept connections, gzip, a real rate limit, stuck and gone workers."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mediawiki.asking import FEATURED, ask, fetch_pages, stored
from tests.mediawiki.wiki import Wiki, copy, halted, start, unavailable
from wikitext_builder.errors import BuilderError
from wikitext_builder.wiki.http import Patience

LIMIT = """
map $http_user_agent $eager { "~eager@" 1; default ""; }
limit_req_zone $eager zone=eager:1m rate=1r/s; limit_req_status 429;
gzip on; gzip_types application/json;
"""
SERVER = """
limit_req zone=eager;
error_page 429 @busy;
location @busy { add_header Retry-After 1 always; return 429 "slow down"; }
"""
SITE = {"action": "query", "meta": "siteinfo"}


@pytest.fixture(scope="module")
def behind_nginx(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wiki]:
    folder = copy(prepared, tmp_path_factory.mktemp("nginx") / "wiki")
    (folder / "nginx-http.d.conf").write_text(LIMIT)
    (folder / "nginx-server.d.conf").write_text(SERVER)
    try:
        wiki = start(folder, front="nginx", environment={"MEDIAWIKI_LAB_FASTCGI_TIMEOUT": "1s"})
    except RuntimeError as error:
        unavailable(str(error))
    yield wiki
    wiki.stop()


def lines(wiki: Wiki, status: str) -> int:
    log = (wiki.folder / "log" / "nginx-access.log").read_text().splitlines()
    return sum(f'" {status} ' in line for line in log)


def test_a_real_rate_limit_is_kept_without_knowing_it(behind_nginx: Wiki, tmp_path: Path) -> None:
    # A client of this name has one request per second: most are refused until it waits.
    with (
        stored(tmp_path) as store,
        ask(behind_nginx.api, contact="eager@example.org", really=True) as wikipedia,
    ):
        report = fetch_pages(store, wikipedia, [FEATURED], as_of="2026-01-01T00:00:00Z", limit=5)
        assert report.fetched == 5
    assert lines(behind_nginx, "429") > 0


def children(pid: int) -> list[int]:
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True)
    return [int(child) for child in found.stdout.split()]


def php_master(wiki: Wiki) -> int:
    """The process whose children run PHP."""
    commands = {pid: Path(f"/proc/{pid}/cmdline").read_text() for pid in children(wiki.pid)}
    return next(pid for pid, command in commands.items() if "php-fpm" in command)


def test_stuck_workers_give_504_until_they_continue_and_killed_ones_502(behind_nginx: Wiki) -> None:
    patience = Patience(attempts=2, first_wait=0.3)
    workers = children(php_master(behind_nginx))
    with ask(behind_nginx.api, patience=patience, really=True) as wikipedia:
        wikipedia.site()
        with halted(workers), pytest.raises(BuilderError, match=r"2 attempts \(status 504"):
            wikipedia.request(SITE)
        time.sleep(1)
        assert wikipedia.request(SITE)
        for pid in (php_master(behind_nginx), *workers):
            os.kill(pid, signal.SIGKILL)
        with pytest.raises(BuilderError, match=r"2 attempts \(status 502"):
            wikipedia.request(SITE)
