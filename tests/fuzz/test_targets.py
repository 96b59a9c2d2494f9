"""A short run of each fuzz target, the same in each test: `make fuzz` runs them for an hour."""

import pytest

from tests.fuzz import file_targets, model_targets, page_targets
from tests.fuzz.mutate import failure, fuzz
from tests.fuzz.target import Target, outcome

# Without the native readers, each of whose inputs takes a process.
TARGETS = {**page_targets.TARGETS, **file_targets.TARGETS, **model_targets.TARGETS}
INPUTS = 400


@pytest.mark.parametrize("name", TARGETS)
def test_the_seeds_of_a_target_are_read(name: str) -> None:
    assert TARGETS[name].seeds
    for seed in TARGETS[name].seeds:
        assert not outcome(TARGETS[name], seed).startswith("refused")


@pytest.mark.slow
@pytest.mark.parametrize("name", TARGETS)
def test_mutated_seeds_break_nothing(name: str) -> None:
    tried, finding = fuzz(TARGETS[name], seed=1, keep_on=lambda tried: tried < INPUTS)
    assert finding is None, finding
    assert tried == INPUTS


def fragile(content: bytes) -> str:
    """Fails at two bytes in this order."""
    assert b"<" not in content.partition(b"\x00")[2]
    return ""


def test_a_finding_is_shown_with_its_input() -> None:
    target = Target(run=fragile, refuses=(), seeds=(b"some words\x00 and a long text",), words=(b"<",))
    assert failure(target, target.seeds[0]) is None
    tried, finding = fuzz(target, seed=1, keep_on=lambda tried: tried < 10_000)
    assert 1 < tried < 10_000
    assert "AssertionError" in (finding or "")
