"""Each test begins with a tokenizer that remembers no word, so that it runs all that it is about."""

import pytest

from wikitext_builder.tokens.tokenizer import tokenizer


@pytest.fixture(autouse=True)
def forgetful() -> None:
    """Also mutants need it: they run in a process in which the tests have run before."""
    tokenizer.cache_clear()
