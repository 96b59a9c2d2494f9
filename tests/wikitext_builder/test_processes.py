"""Tasks in processes: results are complete whatever dies, and what takes too long is stopped."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command import environment, forked
from wikitext_builder.errors import BuilderError, RejectedError
from wikitext_builder.processes import ProcessPool, Serial, cores, time_limit


def die(_number: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_the_first_time(path: Path) -> str:
    if not path.exists():
        path.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return path.name


def refuse(number: int) -> int:
    raise BuilderError(f"task {number} cannot be done")


OF_THE_FOLDER = """
import sys
from pathlib import Path
from wikitext_builder.processes import ProcessPool

with ProcessPool(2) as pool:
    assert sorted(pool.map(len, ["a", "ab"])) == [1, 2]
"""


def test_modules_that_lie_in_the_current_folder_are_not_run(tmp_path: Path) -> None:
    """It can be a stranger's dataset."""
    for name in ("multiprocessing", "msgspec", "pickle", "pyarrow"):
        (tmp_path / f"{name}.py").write_text("open('it-ran', 'w')\n")
    command = [sys.executable, "-P", "-c", OF_THE_FOLDER]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, check=True)
    assert done.stderr == b""
    assert not (tmp_path / "it-ran").exists()


def test_only_the_cores_that_this_process_may_use_are_counted(tmp_path: Path) -> None:
    may_use = os.sched_getaffinity(0)
    assert cores() == len(may_use)

    def with_one_core() -> None:
        os.sched_setaffinity(0, {min(may_use)})
        assert cores() == 1

    assert forked(with_one_core, tmp_path).returncode == 0


def test_each_task_gives_one_result(tmp_path: Path) -> None:
    assert list(Serial().map(pow, range(5), 2)) == [0, 1, 4, 9, 16]
    with ProcessPool(2) as processes:
        assert list(processes.map(pow, range(50), 2)) == [n * n for n in range(50)]
        assert list(processes.map(pow, [], 2)) == []
        assert list(processes.map(pow, [3], 2)) == [9], "the pool is there for the next stage"
        # each of these kills its worker once, and what other workers had begun is done again
        paths = [tmp_path / name for name in "abc"]
        assert list(processes.map(die_the_first_time, paths)) == ["a", "b", "c"]


def test_tasks_are_made_when_a_worker_is_about_to_need_them() -> None:
    taken: list[int] = []

    def tasks() -> Iterator[int]:
        for number in range(1000):
            taken.append(number)
            yield number

    with ProcessPool(2) as processes:
        results = processes.map(pow, tasks(), 2)
        assert next(results) == 0
        assert len(taken) < 20


def test_workers_that_always_die_end_the_run_and_say_what_to_do() -> None:
    with (
        ProcessPool(2) as processes,
        pytest.raises(BuilderError, match=r"fewer --workers.*run it again to resume") as error,
    ):
        list(processes.map(die, [1, 2, 3]))
    assert "at least 3 tasks are not done" in str(error.value)


@pytest.mark.parametrize("runner", [Serial(), ProcessPool(1)])
def test_an_error_of_a_task_is_the_run_s_error(runner: Serial | ProcessPool) -> None:
    with pytest.raises(BuilderError, match="task 7 cannot be done"):
        list(runner.map(refuse, [7]))
    if isinstance(runner, ProcessPool):
        runner.__exit__(None, None, None)


def busy(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_what_takes_too_long_is_cut_off_and_nothing_of_it_stays() -> None:
    before = signal.getsignal(signal.SIGPROF)
    started = time.process_time()
    with pytest.raises(RejectedError, match=r"too-slow: took longer than 0\.2 s"), time_limit(0.2):
        busy(20)
    assert time.process_time() - started < 2
    with time_limit(0.2):
        busy(0.01)
    with pytest.raises(ZeroDivisionError), time_limit(0.2):
        _ = 1 // 0
    assert signal.getsignal(signal.SIGPROF) is before
    assert signal.getitimer(signal.ITIMER_PROF) == (0, 0)
    busy(0.4)  # no alarm is left


class Slow:
    """Something whose end takes long and in which exceptions are lost, as Python has it."""

    def __del__(self) -> None:
        busy(0.6)


def busy_after_losing_one() -> None:
    Slow()
    busy(20)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_limit_that_is_lost_in_a_finalizer_is_raised_again() -> None:
    started = time.process_time()
    with pytest.raises(RejectedError, match="too-slow"), time_limit(0.2):
        busy_after_losing_one()
    assert time.process_time() - started < 5


def many_limits() -> None:
    for _ in range(60):
        with time_limit(5):
            busy(0.05)


def test_a_limit_within_a_limit_leaves_the_outer_one_as_it_was() -> None:
    with pytest.raises(RejectedError, match=r"longer than 0\.3 s"), time_limit(0.3):
        many_limits()
    with time_limit(5):
        with pytest.raises(RejectedError, match=r"longer than 0\.1 s"), time_limit(0.1):
            busy(1)
        busy(0.2)


def test_waiting_is_no_work() -> None:
    with time_limit(0.1):
        time.sleep(0.4)


def test_a_thread_has_no_limit_but_runs() -> None:
    found: list[int] = []

    def limited() -> None:
        with time_limit(0.05):
            busy(0.2)
            found.append(1)

    thread = threading.Thread(target=limited)
    thread.start()
    thread.join()
    assert found == [1]
