"""A token goes to the wiki, and nowhere else: not into a store, a log, an error, a repr or a traceback."""

import traceback
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from tests.command import run
from tests.mediawiki.load import LoadedWiki
from tests.mediawiki.loopback import send, server
from wikitext_builder.errors import BuilderError
from wikitext_builder.wiki.client import Wikipedia
from wikitext_builder.wiki.http import ACCOUNT_VARIABLE, Token, is_trusted, read_token
from wikitext_builder.wiki.languages import LANGUAGES

SECRET = "eyJ0eXAiOiJKV1QiLCJhbGciOiJSUzI1NiJ9.c2VjcmV0-_~+/x"  # of nobody
AUTHORIZATION = f"Bearer {SECRET}"


class ListeningWiki(LoadedWiki):
    """Counts the tokens that it gets."""

    def __call__(self, handler: BaseHTTPRequestHandler, query: dict[str, str]) -> None:
        self.given.update([str(handler.headers["Authorization"])])
        send(handler, self.answer(query))


def test_a_token_is_sent_and_is_in_nothing_that_is_written(tmp_path: Path) -> None:
    file, folder = tmp_path / "token.txt", tmp_path / "work"
    file.write_text(f"{SECRET}\n", encoding="ascii")
    folder.mkdir()
    wiki = ListeningWiki(pages=60)
    with server(wiki) as api:
        words = ("fetch", "-v", "--store", folder / "a.store", "--api", api)
        done = run(*words, "--select", "category:X", "--token-file", file)
    (folder / "printed").write_text(done.stdout + done.stderr, encoding="utf-8")
    assert set(wiki.given) == {AUTHORIZATION}
    assert "60 fetched" in done.stdout
    names = {path.name for path in folder.rglob("*")}
    assert names == {"a.store", "printed"}
    assert SECRET.encode() not in b"".join((folder / name).read_bytes() for name in names)
    assert SECRET not in f"{Token(SECRET)} {Token(SECRET)!r}"


@pytest.mark.parametrize(
    "answer", ["no", {"errors": [{"code": "mwoauth-invalid-authorization", "text": "No."}]}]
)
def test_no_error_and_no_traceback_has_it(answer: object) -> None:
    with (
        server(lambda handler, _: send(handler, answer)) as api,
        Wikipedia(api, language=LANGUAGES["en"], token=Token(SECRET)) as wikipedia,
        pytest.raises(BuilderError) as refused,
    ):
        wikipedia.site()
    assert SECRET not in "".join(traceback.format_exception(refused.value))


def test_it_goes_to_wikimedia_and_this_machine_and_elsewhere_only_from_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for api, trusted in (
        ("https://ca.wikipedia.org/w/api.php", True),
        ("http://127.0.0.1:8080/api.php", True),
        ("https://wikipedia.org.example.com/w/api.php", False),
    ):
        assert is_trusted(api) is trusted
    assert read_token(None, trusted=True) is None
    monkeypatch.setenv(ACCOUNT_VARIABLE, SECRET)
    assert read_token(None, trusted=False) is None
    assert read_token(None, trusted=True)
    (tmp_path / "file").write_text(SECRET, encoding="ascii")
    assert read_token(tmp_path / "file", trusted=False)
    wiki = ListeningWiki(pages=1)
    with server(wiki) as api:
        run("fetch", "--store", tmp_path / "a.store", "--api", api, "--select", "category:X")
    assert set(wiki.given) == {AUTHORIZATION}


@pytest.mark.parametrize(
    "text", ["", "short", f"{SECRET}\n{SECRET}", f"Bearer {SECRET}", f"{SECRET}\xe9", "{}"]
)
def test_what_is_no_token_is_refused_and_not_shown(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text(text, encoding="utf-8")
    with pytest.raises(BuilderError, match="expected one OAuth 2 access token") as refused:
        read_token(tmp_path / "file", trusted=True)
    assert SECRET not in str(refused.value)
    with pytest.raises(BuilderError, match=r"--token-file .*: No such file"):
        read_token(tmp_path / "absent", trusted=True)
    if text:
        monkeypatch.setenv(ACCOUNT_VARIABLE, text)
        with pytest.raises(BuilderError, match=ACCOUNT_VARIABLE):
            read_token(None, trusted=True)


def test_no_proxy_sees_what_goes_to_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    proxied, wiki = ListeningWiki(pages=1), ListeningWiki(pages=1)
    with server(proxied) as proxy, server(wiki) as api:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.partition("/w/")[0])
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        for address in (api, api.replace("127.0.0.1", "localhost")):
            with Wikipedia(address, language=LANGUAGES["en"], token=Token(SECRET)) as wikipedia:
                assert wikipedia.site()
                assert wikipedia.request({"action": "query", "meta": "x" * 3000})  # by POST
    assert proxied.given == {}
    assert wiki.given == {AUTHORIZATION: 4}


def test_no_password_of_the_user_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "netrc").write_text("default login joe password hunter2\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    wiki = ListeningWiki(pages=1)
    with server(wiki) as api, Wikipedia(api, language=LANGUAGES["en"]) as wikipedia:
        assert wikipedia.site()
    assert set(wiki.given) == {"None"}
