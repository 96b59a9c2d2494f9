"""Which servers we may ask, how we name ourselves, and what a wait in a header means."""

from typing import Any

import pytest

from tests.cases import cases, each, refusal, wrong
from wikitext_builder.wiki.client import Wikipedia, api_of
from wikitext_builder.wiki.http import (
    Reply,
    Token,
    asked_wait,
    checked_api,
    checked_contact,
    is_wikimedia,
    user_agent,
)
from wikitext_builder.wiki.languages import LANGUAGES
from wikitext_builder.wiki.responses import ApiError, read_answer

JANE = "jane@example.org"


def test_a_mail_address_or_a_url_is_a_contact_and_nothing_else() -> None:
    contacts = [case["contact"] for case in cases("wiki", "a mail address or a url is a contact")]
    assert [contact for contact in contacts if contact not in user_agent(checked_contact(contact))] == []
    others = [case["contact"] for case in cases("wiki", "other texts are not contacts")]
    said = "neither an email address nor a URL"
    assert [contact for contact in others if said not in refusal(checked_contact, contact)] == []


@each("wiki", "api", "wikimedia needs a contact")
def test_wikimedia_needs_a_contact(api: str) -> None:
    assert "--contact jane@example.org" in refusal(checked_api, api, "")
    assert checked_api(api, JANE) == api
    assert "--contact " in refusal(Wikipedia, api, language=LANGUAGES["en"])


def test_wrong_options_of_a_client_are_refused() -> None:
    for option, value, words in (
        ("parallel", 4, "1 to 3"),
        ("maxlag", -1.0, "maxlag"),
        ("maxlag", float("nan"), "maxlag"),
    ):
        options: dict[str, Any] = {option: value}
        assert words in refusal(Wikipedia, "http://127.0.0.1/api.php", language=LANGUAGES["en"], **options)


def test_wikimedia_is_asked_one_request_at_a_time_without_a_token() -> None:
    english: dict[str, Any] = {"language": LANGUAGES["en"], "contact": JANE, "parallel": 3}
    assert "WIKITEXT_BUILDER_TOKEN" in refusal(Wikipedia, api_of(LANGUAGES["en"]), **english)
    Wikipedia(api_of(LANGUAGES["en"]), token=Token("x" * 20), **english).close()
    Wikipedia("https://wiki.example/w/api.php", **english).close()


def test_this_machine_and_other_wikis_need_no_contact_and_other_addresses_are_refused() -> None:
    for case in cases("wiki", "this machine and other wikis need no contact"):
        assert checked_api(case["api"], "") == case["api"]
    addresses = cases("wiki", "other addresses are refused")
    assert [case for case in addresses if case["words"] not in refusal(checked_api, case["api"], JANE)] == []


def test_hosts_that_only_look_like_wikimedia() -> None:
    for host in ("wikipedia.org.example.com", "notwikipedia.org", "wikipedia.example", ""):
        assert not is_wikimedia(host)
    for language in LANGUAGES.values():
        assert checked_api(api_of(language), JANE)


def test_retry_after_is_seconds_or_a_date() -> None:
    def seconds(case: dict[str, str]) -> float | None:
        return asked_wait({"retry-after": case["value"]}, 100.0)

    assert wrong("wiki", "retry after is seconds or a date", "seconds", seconds) == []
    assert asked_wait({}, 100.0) is None


def test_an_error_without_a_code_is_an_error_with_one() -> None:
    """Where a reason is stored, an empty one means that there was no failure."""
    reply = Reply(status=200, headers={}, body=b'{"errors": [{"code": "", "text": "no"}]}')
    with pytest.raises(ApiError, match="no") as refused:
        read_answer("http://localhost/api.php", reply, 0.0)
    assert refused.value.code == "unnamed"
