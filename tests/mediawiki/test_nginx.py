"""The same MediaWiki behind nginx: kept connections, gzip, a real rate limit, stuck and gone workers."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mediawiki.asking import FEATURED, GOOD, ask, stored
from tests.mediawiki.wiki import Wiki, copy, start, unavailable
from wikitext_builder.errors import BuilderError
from wikitext_builder.fetch import fetch
from wikitext_builder.transport import Patience

LIMIT = """
limit_req_zone $server_name zone=all:1m rate=5r/s; limit_req_status 429;
gzip on; gzip_types application/json;
"""
SERVER = """
limit_req zone=all burst=2 nodelay;
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


def test_a_real_rate_limit_is_kept_to_without_knowing_it(behind_nginx: Wiki, tmp_path: Path) -> None:
    # PHP would take 30 a second: with 5 allowed, most are refused until the client waits.
    with (
        stored(tmp_path) as store,
        ask(behind_nginx.api, sleep=time.sleep, clock=time.monotonic) as wikipedia,
    ):
        report = fetch(store, wikipedia, [FEATURED], as_of="2026-01-01T00:00:00Z", limit=14)
        assert report.fetched == 14
    assert lines(behind_nginx, "429") > 0


def children(pid: int) -> list[int]:
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True)
    return [int(child) for child in found.stdout.split()]


def php_master(wiki: Wiki) -> int:
    """The process whose children run PHP."""
    commands = {pid: Path(f"/proc/{pid}/cmdline").read_text() for pid in children(wiki.pid)}
    return next(pid for pid, command in commands.items() if "php-fpm" in command)


def test_stuck_workers_are_504_until_they_go_on_and_gone_ones_502(behind_nginx: Wiki) -> None:
    time.sleep(1)  # the rate limit's memory
    patience = Patience(attempts=2, first_wait=0.3)
    workers = children(php_master(behind_nginx))
    with ask(behind_nginx.api, patience=patience, sleep=time.sleep, clock=time.monotonic) as wikipedia:
        wikipedia.site()
        for pid in workers:
            os.kill(pid, signal.SIGSTOP)
        try:
            with pytest.raises(BuilderError, match=r"2 attempts \(status 504"):
                wikipedia.request(SITE)
        finally:
            for pid in workers:
                os.kill(pid, signal.SIGCONT)
        time.sleep(1)
        assert wikipedia.request(SITE)
        for pid in (php_master(behind_nginx), *workers):
            os.kill(pid, signal.SIGKILL)
        with pytest.raises(BuilderError, match=r"2 attempts \(status 502"):
            wikipedia.request(SITE)


def test_nginx_that_is_killed_in_mid_body_is_a_short_body(prepared: Path, tmp_path: Path) -> None:
    folder = copy(prepared, tmp_path / "wiki")
    (folder / "nginx-server.d.conf").write_text("limit_rate 200k;")
    try:
        wiki = start(folder, front="nginx")
    except RuntimeError as error:
        unavailable(str(error))
    try:
        patience = Patience(attempts=1, silence=5.0)
        killer = subprocess.Popen(["sh", "-c", f"sleep 1.5; pkill -KILL -g {wiki.pid} nginx"])
        with ask(wiki.api, patience=patience) as wikipedia, stored(tmp_path) as store:
            with pytest.raises(
                BuilderError, match=r"1 attempts \((IncompleteRead|ConnectionReset|RemoteDisc)"
            ):
                fetch(store, wikipedia, [GOOD, FEATURED])
            assert store.missing("en")
        killer.wait()
    finally:
        wiki.stop()
