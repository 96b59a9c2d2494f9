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

from tests.wikitext_builder.building.test_build import at_report
from tests.wikitext_builder.datasets import built, digests
from wikitext_builder.errors import BuilderError
from wikitext_builder.runners.dask import ChildDiedError, Cluster, run_in_child

pytestmark = pytest.mark.slow


def address_in(file: Path) -> str:
    """What a scheduler writes about itself when it listens."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        with contextlib.suppress(FileNotFoundError, ValueError, KeyError):  # absent or incomplete
            return str(json.loads(file.read_text())["address"])
        time.sleep(0.05)
    raise AssertionError("the scheduler did not start")


class RealCluster:
    """A scheduler and two workers, each a process that can be killed."""

    def __init__(self, folder: Path) -> None:
        log, file = (folder / "dask.log").open("w"), folder / "scheduler.json"
        here = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
        self.scheduler = self._start(log, "scheduler", *here)
        self.address = address_in(file)
        options = ("--nthreads", "1", "--no-dashboard", "--local-directory", str(folder), "--no-nanny")
        self.workers = [self._start(log, "worker", self.address, *options) for _ in range(2)]

    def _start(self, log, *command: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-m", "dask", *command], stdout=log, stderr=log)

    def stop(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[RealCluster]:
    started = RealCluster(tmp_path)
    yield started
    started.stop()


def test_workers_without_the_stores_disk_give_the_same_bytes_and_say_what_a_task_meets(
    small: Path, cluster: RealCluster, tmp_path: Path
) -> None:
    url = f"file://{tmp_path}/bucket"  # through fsspec, as s3:// would be
    with Cluster(cluster.address) as runner:
        built(small / "pages.store", tmp_path / "out", work_url=url, runner=runner)
        assert digests(tmp_path / "out") == digests(small / "demo")
        assert not [path for path in (tmp_path / "bucket").rglob("*") if path.is_file()]  # removed
        with pytest.raises(BuilderError, match=r"child process ended.* memory. Run it again to resume"):
            list(runner.map(die, [1]))
        with pytest.raises(BuilderError, match="no 7"):
            list(runner.map(refuse, [7]))
        with pytest.raises(FileNotFoundError, match="No such file or directory: '/absent/3'"):
            list(runner.map(write, [3]))


def test_a_killed_worker_does_no_harm_and_without_its_scheduler_a_build_can_resume(
    small: Path, cluster: RealCluster, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store, other = small / "pages.store", tmp_path / "other"
    with Cluster(cluster.address) as runner:
        built(store, tmp_path / "out", runner=runner, progress=at_report(1, cluster.workers[0].kill))
    assert cluster.workers[0].wait() == -signal.SIGKILL
    assert re.search(r"lost the Dask worker tcp://\S+, 1 remain: others do its tasks again", caplog.text)
    assert digests(tmp_path / "out") == digests(small / "demo")
    with Cluster(cluster.address) as runner, pytest.raises(BuilderError, match="run it again to resume"):
        built(store, other, runner=runner, progress=at_report(1, cluster.scheduler.kill))
    assert not other.exists()
    assert built(store, other).shards_found >= 1
    assert digests(other) == digests(small / "demo")


def test_an_address_where_no_scheduler_is_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wikitext_builder.runners.dask.SECONDS_TO_CONNECT", 1)
    with socket.socket() as bound:  # and it does not listen
        bound.bind(("127.0.0.1", 0))
        with pytest.raises(BuilderError, match="no Dask scheduler answers"):
            Cluster(f"tcp://127.0.0.1:{bound.getsockname()[1]}")


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")  # of a client that waits
@pytest.mark.parametrize("address", ["127.0.0.1:8786x", "tcp://host:port", "foo", "http://localhost:1"])
def test_what_is_no_address_of_a_scheduler_says_so(address: str) -> None:
    with pytest.raises(
        BuilderError, match=rf"--scheduler {address}: no address; expected one as tcp://HOST:8786"
    ):
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


def write(number: int) -> None:
    Path(f"/absent/{number}").write_text("")


def test_a_child_answers_from_any_thread_and_is_used_again() -> None:
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(partial(run_in_child, double), range(4))) == [0, 2, 4, 6]
    with pytest.raises(BuilderError, match="no 3"):
        run_in_child(refuse, 3)


def test_a_child_that_dies_or_hangs_is_reported_and_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ChildDiedError):
        run_in_child(die, 1)
    monkeypatch.setattr("wikitext_builder.runners.dask.SECONDS_PER_TASK", 1.0)
    started = time.monotonic()
    with pytest.raises(ChildDiedError):
        run_in_child(hang, 1)
    assert time.monotonic() - started < 60  # not the ten minutes of its sleep
    monkeypatch.undo()  # on a busy machine a child needs more than a second to start
    assert run_in_child(double, 4) == 8
