"""The build on a Dask cluster of real processes: the same bytes, whatever dies."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from tests.command import environment
from tests.conftest import ROOT
from tests.wikitext_builder.building.test_build import TEMPLATES, at_report, with_templates
from tests.wikitext_builder.datasets import built, digests
from wikitext_builder.building import extracting
from wikitext_builder.building.dask import ChildDiedError, Cluster, run_in_child
from wikitext_builder.errors import BuilderError

pytestmark = pytest.mark.slow


def address_in(file: Path) -> str:
    """What a scheduler writes about itself when it listens."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        with contextlib.suppress(FileNotFoundError, ValueError, KeyError):  # absent or incomplete
            return str(json.loads(file.read_text())["address"])
        time.sleep(0.05)
    raise AssertionError("the scheduler did not start")


# What a worker and its children run first. No code can take an audit hook back.
SEALED = """
import sys
from pathlib import Path

def refuse(event, words):
    if event in ("open", "os.listdir", "os.scandir", "sqlite3.connect") and {folder!r} in str(words[0]):
        raise PermissionError(13, "a worker does not reach the coordinator's disk", str(words[0]))

sys.addaudithook(refuse)
"""


class RealCluster:
    """A scheduler and two workers, each a process that can be killed.

    The workers run in an empty folder and cannot open any file below `hidden`, see `SEALED`.
    """

    def __init__(self, folder: Path, hidden: Path) -> None:
        (folder / "empty").mkdir(parents=True)
        (folder / "sitecustomize.py").write_text(SEALED.format(folder=str(hidden)))
        self._folder, file = folder, folder / "scheduler.json"
        self._log = (folder / "dask.log").open("w")
        here = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
        self.scheduler = self._start("scheduler", *here)
        self.address = address_in(file)
        options = ("--nthreads", "1", "--no-dashboard", "--local-directory", str(folder), "--no-nanny")
        self.workers = [self._start("worker", self.address, *options) for _ in range(2)]

    def _start(self, *command: str) -> subprocess.Popen[bytes]:
        path = environment()["PYTHONPATH"]
        return subprocess.Popen(
            [sys.executable, "-m", "dask", *command],
            stdout=self._log,
            stderr=self._log,
            cwd=self._folder / "empty",
            env=environment(PYTHONPATH=f"{self._folder}{os.pathsep}{path}{os.pathsep}{ROOT}"),
        )

    def stop(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()
        self._log.close()


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """The coordinator's folder, which workers do not reach."""
    (tmp_path / "mine").mkdir()
    return tmp_path / "mine"


@pytest.fixture
def cluster(tmp_path: Path, mine: Path) -> Iterator[RealCluster]:
    started = RealCluster(tmp_path / "theirs", mine)
    yield started
    started.stop()


def test_workers_that_do_not_see_the_store_give_the_same_bytes_though_one_is_killed(
    cluster: RealCluster, mine: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One worker is killed after five of 20 shards. Pages call templates that only the store has."""
    monkeypatch.setattr(extracting, "PAGES_PER_SHARD", 2)
    store = with_templates(mine / "pages.store", **TEMPLATES)
    built(store, mine / "here")
    with Cluster(cluster.address) as runner:
        for path in (store, mine / "here" / "wiki.train.raw"):
            with pytest.raises(BuilderError, match="does not reach the coordinator's disk"):
                list(runner.map(read, [str(path)]))
        report = built(store, mine / "far", runner=runner, progress=at_report(5, cluster.workers[0].kill))
        assert cluster.workers[0].wait() == -signal.SIGKILL
        for _ in range(600):  # the scheduler's event can come after the last shard
            if "lost the Dask worker" in caplog.text:
                break
            time.sleep(0.1)
    assert re.search(r"lost the Dask worker tcp://\S+, 1 remain: others do its tasks again", caplog.text)
    assert report.expanded == 40
    assert digests(mine / "far") == digests(mine / "here")


def test_without_its_scheduler_a_build_stops_and_can_resume(
    small: Path, cluster: RealCluster, mine: Path
) -> None:
    store, out = small / "pages.store", mine / "out"
    with Cluster(cluster.address) as runner, pytest.raises(BuilderError, match="run it again to resume"):
        built(store, out, runner=runner, progress=at_report(1, cluster.scheduler.kill))
    assert not out.exists()
    assert built(store, out).shards_found >= 1
    assert digests(out) == digests(small / "demo")


def test_results_are_in_order_and_errors_are_those_of_the_tasks(cluster: RealCluster) -> None:
    with Cluster(cluster.address) as runner:
        assert list(runner.map(plus, range(200), 1000, {"a": 7})) == list(range(1007, 1207))
        with pytest.raises(BuilderError, match=r"child process ended.* memory. Run it again to resume"):
            list(runner.map(die, [1]))
        with pytest.raises(BuilderError, match="no 7"):
            list(runner.map(refuse, [7]))


def test_an_address_where_no_scheduler_is_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wikitext_builder.building.dask.SECONDS_TO_CONNECT", 1)
    with socket.socket() as bound:  # and it does not listen
        bound.bind(("127.0.0.1", 0))
        with pytest.raises(BuilderError, match="no Dask scheduler answers"):
            Cluster(f"tcp://127.0.0.1:{bound.getsockname()[1]}")


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")  # of a client that waits
def test_what_is_no_address_of_a_scheduler_says_so() -> None:
    for address in ("127.0.0.1:8786x", "tcp://host:port", "foo", "http://localhost:1"):
        words = rf"--scheduler {address}: not an address; expected one like tcp://HOST:8786"
        with pytest.raises(BuilderError, match=words):
            Cluster(address)


# --- the child of a worker's thread


def double(number: int) -> int:
    return 2 * number


def die(number: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return number


def hang(number: int) -> int:
    time.sleep(600)
    return number


def refuse(number: int) -> int:
    raise BuilderError(f"no {number}")


def plus(number: int, more: int, table: dict[str, int]) -> int:
    return number + more + table["a"]


def read(path: str) -> int:
    try:
        return len(Path(path).read_bytes())
    except PermissionError as error:
        raise BuilderError(str(error)) from error


def test_a_child_answers_from_any_thread_and_is_used_again() -> None:
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(partial(run_in_child, double), range(4))) == [0, 2, 4, 6]
    with pytest.raises(BuilderError, match="no 3"):
        run_in_child(refuse, 3)


def test_a_child_that_dies_or_hangs_is_reported_and_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ChildDiedError):
        run_in_child(die, 1)
    monkeypatch.setattr("wikitext_builder.building.dask.SECONDS_PER_TASK", 1.0)
    started = time.monotonic()
    with pytest.raises(ChildDiedError):
        run_in_child(hang, 1)
    assert time.monotonic() - started < 60  # not the ten minutes of its sleep
    monkeypatch.undo()  # on a busy machine a child needs more than a second to start
    assert run_in_child(double, 4) == 8
