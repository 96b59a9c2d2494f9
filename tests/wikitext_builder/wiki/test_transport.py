"""Which servers we may ask, how we name ourselves, and what a wait in a header means."""

import pytest

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


@pytest.mark.parametrize(
    "contact",
    ["jane@example.org", "j.d+wiki@mail.example.co.uk", "https://example.org/~jane", "https://meta.wikimedia.org/wiki/User:Jane"],
)  # fmt: skip
def test_a_mail_address_or_a_url_is_a_contact(contact: str) -> None:
    assert contact in user_agent(checked_contact(contact))


@pytest.mark.parametrize(
    "contact",
    ["", "jane", "jane@", "jane@localhost", "@example.org", "a@b.org) evil/1.0", "a@b.org\r\nX: y", "ftp://example.org",
     "https://", "jané@example.org", "https://example.org/a b", "jane@example.org "],
)  # fmt: skip
def test_other_texts_are_not_contacts(contact: str) -> None:
    with pytest.raises(BuilderError, match="neither a mail address nor a URL"):
        checked_contact(contact)


@pytest.mark.parametrize(
    "api",
    ["https://en.wikipedia.org/w/api.php", "https://EN.Wikipedia.ORG/w/api.php", "https://en.wikipedia.org./w/api.php",
     "https://en.wiktionary.org/w/api.php", "https://wiki.toolforge.org/w/api.php"],
)  # fmt: skip
def test_wikimedia_needs_a_contact(api: str) -> None:
    with pytest.raises(BuilderError, match=r"--contact jane@example\.org"):
        checked_api(api, "")
    assert checked_api(api, JANE) == api
    with pytest.raises(BuilderError, match="--contact "):
        Wikipedia(api, language=LANGUAGES["en"])


@pytest.mark.parametrize(
    "api",
    ["http://127.0.0.1:8899/w/api.php", "http://localhost/w/api.php", "http://[::1]:80/api.php", "https://wiki.example/api.php"],
)  # fmt: skip
def test_this_machine_and_other_wikis_need_no_contact(api: str) -> None:
    assert checked_api(api, "") == api


@pytest.mark.parametrize(
    ("api", "words"),
    [
        ("http://en.wikipedia.org/w/api.php", "not begin with https"),
        ("http://127.0.0.1.example.org/w/api.php", "not begin with https"),
        ("http://127.0.0.1@example.org/w/api.php", "is not like"),
        ("http://10.0.0.1/w/api.php", "not begin with https"),
        ("ftp://en.wikipedia.org/w/api.php", "not begin with https"),
        ("file:///etc/passwd", "is not like"),
        ("en.wikipedia.org/w/api.php", "is not like"),
        ("https://en.wikipedia.org/w/api.php?action=query", "is not like"),
        ("https://jane:secret@en.wikipedia.org/w/api.php", "is not like"),
        ("https://[::1/w/api.php", "cannot be read"),
        ("https://example.org:99999/w/api.php", "cannot be read"),
        ("https://example.org/w/\napi.php", "is not like"),
        ("", "is not like"),
    ],
)
def test_other_addresses_are_refused(api: str, words: str) -> None:
    with pytest.raises(BuilderError, match=words):
        checked_api(api, JANE)


def test_hosts_that_only_look_like_wikimedia() -> None:
    for host in ("wikipedia.org.example.com", "notwikipedia.org", "wikipedia.example", ""):
        assert not is_wikimedia(host)
    for language in LANGUAGES.values():
        assert checked_api(api_of(language), JANE)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0),
        ("120", 120.0),
        (" 5 ", 5.0),
        ("Thu, 01 Jan 1970 00:02:00 GMT", 20.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        ("-5", None),
        ("1.5", None),
        ("soon", None),
        ("٥", None),
        ("", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str, seconds: float | None) -> None:
    assert asked_wait({"retry-after": value}, 100.0) == seconds
    assert asked_wait({}, 100.0) is None


def test_an_error_without_a_code_is_an_error_with_one() -> None:
    """Where a reason is stored, an empty one means that there was no failure."""
    reply = Reply(status=200, headers={}, body=b'{"errors": [{"code": "", "text": "no"}]}')
    with pytest.raises(ApiError, match="no") as refused:
        read_answer("http://localhost/api.php", reply, 0.0)
    assert refused.value.code == "unnamed"
