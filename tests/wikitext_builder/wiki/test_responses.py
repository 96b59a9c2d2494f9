"""Answers of the API without a wiki; the rest is in tests/mediawiki."""

import pytest

from wikitext_builder.wiki.http import Reply
from wikitext_builder.wiki.responses import ApiError, read_answer


def test_an_error_without_a_code_is_an_error_with_one() -> None:
    """Where a reason is stored, an empty one means that there was no failure."""
    reply = Reply(status=200, headers={}, body=b'{"errors": [{"code": "", "text": "no"}]}')
    with pytest.raises(ApiError, match="no") as refused:
        read_answer("http://localhost/api.php", reply, 0.0)
    assert refused.value.code == "unnamed"
