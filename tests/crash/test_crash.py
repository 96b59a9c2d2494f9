"""Kills, full disks, unreadable files, short memory, two at once: the same command gives the same result.

One point of each fault for each program; `make crash` tries all of them.
"""

from dataclasses import replace

import pytest

from tests.crash.conftest import MakeBench
from tests.crash.harness import Run
from tests.crash.programs import PROGRAMS, nearly_the_same

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]
PLACES = {"kill": 1 / 2, "full disk": 2 / 3, "unreadable": 1 / 3}  # of the calls
PAIRS = [*((name, name) for name in PROGRAMS), ("import", "fetch")]
WAIT = "30"  # the call at which the first one waits for the second


@pytest.mark.parametrize("how", PLACES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_command_again_gives_the_same_result(name: str, how: str, bench: MakeBench) -> None:
    tried = bench(name, how)
    assert len(tried.calls) > 8
    point = round(1 + (len(tried.calls) - 1) * PLACES[how])
    assert not [point for point in tried.points([point]) if point.wrong]


@pytest.mark.parametrize("name", PROGRAMS)
def test_memory_that_runs_out_loses_nothing(name: str, bench: MakeBench) -> None:
    assert not [point for point in bench(name, "short memory").points([8]) if point.wrong]


def test_results_that_are_nearly_the_same_differ_in_last_bits_only() -> None:
    result = ({"w": [[0.25, -3e-05], [1.0, 2.0]]}, [{"epoch": "1", "valid": "97.3125"}])
    close = ({"w": [[0.25 + 4e-9, -3e-05], [1.0, 2.0]]}, [{"epoch": "1", "valid": "97.31250001"}])
    assert nearly_the_same(result, close)
    assert not nearly_the_same(result, ({"w": [[0.2501, -3e-05], [1.0, 2.0]]}, result[1]))
    assert not nearly_the_same(result, ({"w": [[0.25, -3e-05], [1.0]]}, result[1]))
    assert not nearly_the_same(result, ({"v": result[0]["w"]}, result[1]))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_clock_that_jumps_changes_nothing(name: str, bench: MakeBench) -> None:
    tried = bench(name, "kill")
    tried.afresh()
    assert tried.run({"CRASH_CLOCK": "1"}).returncode == 0
    assert tried.program.result(tried.here) == tried.wanted


@pytest.mark.parametrize("names", PAIRS, ids="+".join)
def test_two_at_once_lose_nothing(names: tuple[str, str], bench: MakeBench) -> None:
    tried, (first, second) = bench(names[0], "kill"), [PROGRAMS[name] for name in names]
    alone = [Run(words=tried.words_of(one)) for one in (first, second)]

    def one_by_one() -> object:
        assert [tried.starter.run_together([run], tried.folder)[0].returncode for run in alone] == [0, 0]
        return second.result(tried.here)

    tried.afresh()
    wanted = tried.wanted if first is second else one_by_one()
    tried.afresh()
    pauses = {**tried.variables, "CRASH_HOW": "pause", "CRASH_AT": WAIT}
    ended = tried.starter.run_together([replace(alone[0], variables=pauses), alone[1]], tried.folder)
    assert 0 in [one.returncode for one in ended]
    for one in ended:
        assert one.returncode in (0, 1), one.stdout
        assert "Traceback" not in one.stdout
        assert one.returncode == 0 or "another" in one.stdout, one.stdout
    assert one_by_one() == wanted
