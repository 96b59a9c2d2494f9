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
    assert not (b"\x00" in content and b"<" in content[content.index(b"\x00") :])
    return ""


def test_a_finding_is_made_smaller() -> None:
    target = Target(run=fragile, refuses=(), seeds=(b"some words\x00 and a long text",), words=(b"<",))
    assert failure(target, target.seeds[0]) is None
    _, finding = fuzz(target, seed=1, keep_on=lambda tried: tried < 10_000)
    assert finding is not None
    assert finding.startswith("b'\\x00<'")
