"""Which servers we may ask, how we name ourselves, and what a wait in a header means."""

from typing import Any

import pytest

from tests.cases import each
from wikitext_builder.errors import BuilderError
from wikitext_builder.wiki.client import Wikipedia, api_of
from wikitext_builder.wiki.http import (
    Reply,
    asked_wait,
    checked_api,
    checked_contact,
    is_wikimedia,
    user_agent,
)
from wikitext_builder.wiki.languages import LANGUAGES
from wikitext_builder.wiki.responses import ApiError, read_answer

JANE = "jane@example.org"


@each("wiki", "contact", "a mail address or a url is a contact")
def test_a_mail_address_or_a_url_is_a_contact(contact: str) -> None:
    assert contact in user_agent(checked_contact(contact))


@each("wiki", "contact", "other texts are not contacts")
def test_other_texts_are_not_contacts(contact: str) -> None:
    with pytest.raises(BuilderError, match="neither an email address nor a URL"):
        checked_contact(contact)


@each("wiki", "api", "wikimedia needs a contact")
def test_wikimedia_needs_a_contact(api: str) -> None:
    with pytest.raises(BuilderError, match=r"--contact jane@example\.org"):
        checked_api(api, "")
    assert checked_api(api, JANE) == api
    with pytest.raises(BuilderError, match="--contact "):
        Wikipedia(api, language=LANGUAGES["en"])


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [("parallel", 4, "1 to 3"), ("maxlag", -1.0, "maxlag"), ("maxlag", float("nan"), "maxlag")],
)
def test_wrong_options_of_a_client_are_refused(option: str, value: Any, words: str) -> None:
    with pytest.raises(BuilderError, match=words):
        Wikipedia("http://127.0.0.1/api.php", language=LANGUAGES["en"], **{option: value})


@each("wiki", "api", "this machine and other wikis need no contact")
def test_this_machine_and_other_wikis_need_no_contact(api: str) -> None:
    assert checked_api(api, "") == api


@each("wiki", "api, words", "other addresses are refused")
def test_other_addresses_are_refused(api: str, words: str) -> None:
    with pytest.raises(BuilderError, match=words):
        checked_api(api, JANE)


def test_hosts_that_only_look_like_wikimedia() -> None:
    for host in ("wikipedia.org.example.com", "notwikipedia.org", "wikipedia.example", ""):
        assert not is_wikimedia(host)
    for language in LANGUAGES.values():
        assert checked_api(api_of(language), JANE)


@each("wiki", "value, seconds", "retry after is seconds or a date")
def test_retry_after_is_seconds_or_a_date(value: str, seconds: float | None) -> None:
    assert asked_wait({"retry-after": value}, 100.0) == seconds
    assert asked_wait({}, 100.0) is None


def test_an_error_without_a_code_is_an_error_with_one() -> None:
    """Where a reason is stored, an empty one means that there was no failure."""
    reply = Reply(status=200, headers={}, body=b'{"errors": [{"code": "", "text": "no"}]}')
    with pytest.raises(ApiError, match="no") as refused:
        read_answer("http://localhost/api.php", reply, 0.0)
    assert refused.value.code == "unnamed"
