"""Kills, full disks, unreadable files, short memory: the same command again gives the same result.

A few points of each program, spread over the whole run; `make crash` tries all of them.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.crash.conftest import MakeBench, Ready
from tests.crash.harness import OWN_DISKS, Bench, Starter
from tests.crash.programs import PROGRAMS, nearly_the_same

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]
POINTS = 3


def chosen(count: int) -> list[int]:
    """Some of the calls of a run, from 1."""
    return sorted({round(1 + (count - 1) * number / (POINTS - 1)) for number in range(POINTS)})


@pytest.mark.parametrize("how", ["kill", "full disk", "unreadable"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_command_again_gives_the_same_result(name: str, how: str, bench: MakeBench) -> None:
    tried = bench(name, how)
    assert len(tried.calls) > 8
    assert not [point for point in tried.points(chosen(len(tried.calls))) if point.wrong]


@pytest.mark.parametrize("name", PROGRAMS)
def test_memory_that_runs_out_loses_nothing(name: str, bench: MakeBench) -> None:
    assert not [point for point in bench(name, "short memory").points((1, 8)) if point.wrong]


def test_results_that_are_nearly_the_same_differ_in_last_bits_only() -> None:
    result = ({"w": [[0.25, -3e-05], [1.0, 2.0]]}, [{"epoch": "1", "valid": "97.3125"}])
    close = ({"w": [[0.25 + 4e-9, -3e-05], [1.0, 2.0]]}, [{"epoch": "1", "valid": "97.31250001"}])
    assert nearly_the_same(result, close)
    assert not nearly_the_same(result, ({"w": [[0.2501, -3e-05], [1.0, 2.0]]}, result[1]))
    assert not nearly_the_same(result, ({"w": [[0.25, -3e-05], [1.0]]}, result[1]))
    assert not nearly_the_same(result, ({"v": result[0]["w"]}, result[1]))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_clock_that_jumps_changes_nothing(
    name: str, starter: Starter, ready: Ready, api: str, tmp_path: Path
) -> None:
    program, results = PROGRAMS[name], []
    for clock in (None, {"CRASH_CLOCK": "1"}):
        here = tmp_path / ("jumps" if clock else "runs")
        shutil.copytree(ready(name), here)
        words = [word.format(here=here, api=api) for word in program.words]
        assert starter.run(words, tmp_path, clock).status == 0
        results.append(program.result(here))
    assert results[0] == results[1]


@pytest.mark.parametrize("name", ["import", "build"])
def test_a_small_disk_can_be_made_larger(
    name: str, library: Path, ready: Ready, api: str, tmp_path: Path
) -> None:
    if subprocess.run([*OWN_DISKS, "true"], check=False, capture_output=True).returncode:
        pytest.skip("needs a system that lets a user mount a disk in memory")
    with Starter(library, before=OWN_DISKS) as starter:
        tried = Bench(
            program=PROGRAMS[name],
            how="small disk",
            ready=ready(name),
            folder=tmp_path,
            starter=starter,
            api=api,
        )
        assert not [point for point in tried.points((1, 20, 60)) if point.wrong]
