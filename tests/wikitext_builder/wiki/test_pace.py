"""A pace on a clock of its own: never too fast, at most a hundredth too slow, slower after refusals."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import refusal
from wikitext_builder.wiki.http import FASTER, MARGIN, MAX_INTERVAL, PER_MINUTE, SLOWER, Pace, pace_of


class Clock:
    """A clock that only moves when somebody waits."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def asked(pace: Pace, clock: Clock, late: float = 0.0) -> float:
    """Wait as a client does, perhaps longer; returns when the request goes."""
    while (wait := pace.wait()) > 0:
        clock.now += wait + late
    return clock.now


@given(
    st.integers(1, 6000),
    st.lists(st.tuples(st.floats(0, 0.1), st.floats(0, 3)), min_size=2, max_size=60),
)
def test_requests_are_never_nearer_than_the_pace(per_minute: int, times: list[tuple[float, float]]) -> None:
    clock = Clock()
    pace = Pace(per_minute, clock)
    went = []
    for late, answer in times:
        went.append(asked(pace, clock, late))
        clock.now += answer  # what the server takes
        pace.answered()
    least = 60 / per_minute * (1 - 1e-6)  # floating point
    assert all(after - before >= 0.9 * least for before, after in pairwise(went))
    assert all(after - before >= 10 * least for before, after in zip(went, went[10:], strict=False))


def test_the_margin_is_all_that_a_pace_costs() -> None:
    clock = Clock()
    pace = Pace(400, clock)
    went = [asked(pace, clock)]
    pace.answered()
    went += [asked(pace, clock) for _ in range(99)]
    assert went[-1] - went[0] == pytest.approx(99 * 60 / 400 * MARGIN)
    assert MARGIN <= 1.02


def test_refusals_make_it_slower_and_answers_faster_again() -> None:
    clock = Clock()
    pace = Pace(400, clock)
    usual = pace.seconds
    for _ in range(3):  # that several requests met at once
        pace.hold(5.0, refused=True)
    assert pace.seconds == pytest.approx(usual * SLOWER)
    assert asked(pace, clock) == 1005.0
    pace.hold(1.0, refused=False)  # a lost connection is no refusal
    assert pace.seconds == pytest.approx(usual * SLOWER)
    pace.answered()
    assert pace.seconds == pytest.approx(usual * SLOWER * FASTER)
    for _ in range(300):
        pace.answered()
    assert pace.seconds == usual
    for _ in range(100):
        clock.now += 10
        pace.hold(1.0, refused=True)
    assert pace.seconds == MAX_INTERVAL


def test_a_wiki_that_allows_less_refuses_few() -> None:
    """The server counts in a window, and allows a third of the pace."""
    clock = Clock()
    pace = Pace(600, clock)
    window: list[float] = []
    refusals = []
    for number in range(3000):
        now = asked(pace, clock)
        window = [one for one in window if now - one < 3]
        if len(window) >= 10:  # 200 per minute
            refusals.append(number)
            pace.hold(window[0] + 3 - now, refused=True)
        else:
            window.append(now)
            pace.answered()
    assert len(refusals) < 3000 / 100
    assert len([one for one in refusals if one > 1000]) < 2000 / 150


def test_the_usual_pace() -> None:
    for api, given_one, expected in (
        ("https://en.wikipedia.org/w/api.php", None, PER_MINUTE),
        ("https://wiki.example/api.php", None, PER_MINUTE),
        ("http://127.0.0.1:80/api.php", None, None),
        ("http://localhost/api.php", 400, 400),
        ("https://en.wikipedia.org/w/api.php", 2000, 2000),
    ):
        assert pace_of(api, given_one) == expected
    error = refusal(pace_of, "http://127.0.0.1/api.php", 0)
    assert "--per-minute 0: give 1 or more; 200 is usual" in error
