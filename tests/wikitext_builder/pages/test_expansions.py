"""Expansions without a wiki; the rest is in tests/mediawiki."""

from wikitext_builder.pages.expansions import marked, split_at_marks


def test_many_calls_are_told_apart_in_linear_time() -> None:
    """Of 16,000 calls it once took 2 seconds, and four times as long for twice as many."""
    calls = [f"{{{{{number}}}}}" for number in range(50_000)]
    assert split_at_marks(marked(calls), len(calls)) == calls
    assert split_at_marks(marked(calls)[:-1], len(calls)) is None
