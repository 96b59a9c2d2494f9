"""Packed values are the values that were put in, in memory and on the disk."""

import resource

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wikitext_builder.errors import BuilderError
from wikitext_builder.pages import packed
from wikitext_builder.pages.packed import Packed, in_order
from wikitext_builder.pages.store import Wanted

WANTED = st.builds(Wanted, title=st.text(), as_of=st.text(), revision_id=st.integers(0, 99))


@given(st.lists(WANTED, max_size=20), st.integers(0, 200), st.integers(-25, 25), st.integers(-25, 25))
def test_a_packed_sequence_is_as_a_list(values: list[Wanted], limit: int, start: int, stop: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packed, "IN_MEMORY", limit)
        there = Packed(Wanted, values)
    assert list(there) == values
    assert there == values
    assert there[start:stop] == values[start:stop]
    if -len(values) <= start < len(values):
        assert there[start] == values[start]
    else:
        with pytest.raises(IndexError):
            there[start]


@given(st.lists(WANTED, max_size=40), st.integers(1, 9))
def test_in_order_sorts_as_sorted_does(values: list[Wanted], run: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packed, "RUN", run)
        found = list(in_order(Wanted, values, lambda one: one.revision_id))
    assert found == sorted(values, key=lambda one: one.revision_id)  # equal ones stay in their order


def test_a_disk_that_is_full_is_named_with_what_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, "IN_MEMORY", 0)
    _, hard = before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(BuilderError, match=r"/.*: File too large; make room there, or .* in TMPDIR$"):
            Packed(Wanted, [Wanted(title="a" * 50)] * 9)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
