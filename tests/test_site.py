"""The built pages as a reader uses them, in a real browser; `make docs` builds them."""

import functools
import http.server
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import ROOT

SITE = ROOT / "build" / "site"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    if not (SITE / "index.html").exists():
        pytest.skip("needs the built pages: make docs")
    handler = functools.partial(Quiet, directory=str(SITE))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def copied(browser: Any, address: str, first_command: str) -> str:
    """What the clipboard holds after a click on the button of the example that begins so."""
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    try:
        page = context.new_page()
        page.goto(address)
        block = page.locator(".highlight", has_text=first_command).first
        block.hover()
        block.locator("button.md-clipboard, .md-code__button[data-md-type=copy]").first.click()
        page.wait_for_timeout(200)
        text: str = page.evaluate("navigator.clipboard.readText()")
        return text
    finally:
        context.close()


def test_the_button_of_an_example_copies_commands_without_prompts_and_outputs(
    browser: Any, address: str
) -> None:
    assert copied(browser, f"{address}/tutorial/", "make demo") == "make demo"
    text = copied(browser, f"{address}/tutorial/", "wikitext-builder import")
    assert [line.split()[0] for line in text.splitlines() if line] == ["wikitext-builder"] * 2
    assert "$" not in text


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_a_page_follows_the_readers_scheme_and_fits(
    browser: Any, address: str, scheme: str, width: int
) -> None:
    page = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 800})
    page.goto(address)
    page.wait_for_timeout(200)
    red, *_ = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g)")
    assert (int(red) > 200) == (scheme == "light")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()
