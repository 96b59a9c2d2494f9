"""Two programs at once on one store or one output: each ends well or with a clear error; nothing is lost."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.crash.conftest import Ready
from tests.crash.harness import Run, Starter
from tests.crash.programs import PROGRAMS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]
PAIRS = [*((name, name) for name in PROGRAMS), ("import", "fetch")]
PLACES = (4, 30)  # calls at which the first one waits for the second


def words_of(names: Sequence[str], here: Path, api: str) -> list[list[str]]:
    return [[word.format(here=here, api=api) for word in PROGRAMS[name].words] for name in names]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("names", PAIRS, ids="+".join)
def test_two_at_once_lose_nothing(
    names: tuple[str, str],
    place: int,
    starter: Starter,
    ready: Ready,
    api: str,
    tmp_path: Path,
) -> None:
    alone, here = tmp_path / "alone", tmp_path / "here"
    for folder in (alone, here):
        shutil.copytree(ready(names[0]), folder)
    for words in words_of(names, alone, api):
        assert starter.run(words, tmp_path).status == 0
    pauses = {"CRASH_UNDER": f"{here}/", "CRASH_HOW": "pause", "CRASH_AT": str(place)}
    both = words_of(names, here, api)
    ended = starter.run_together([Run(words=both[0], variables=pauses), Run(words=both[1])], tmp_path)
    assert 0 in [one.status for one in ended]
    for one in ended:
        assert one.status in (0, 1), one.printed
        assert "Traceback" not in one.printed
        assert one.status == 0 or "another" in one.printed, one.printed
    for words in both:
        assert starter.run(words, tmp_path).status == 0
    assert PROGRAMS[names[1]].result(here) == PROGRAMS[names[1]].result(alone)
