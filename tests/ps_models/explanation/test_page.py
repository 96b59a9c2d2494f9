"""The page in a real Chromium: words are text, hovering shows predictions, nothing is loaded."""

import importlib.util
import os
import re
import shutil

import pytest
import torch

from ps_models.explanation.page import page
from ps_models.explanation.predictions import predictions
from ps_models.models.lstm import LSTM, LSTMConfig
from ps_models.models.pointer_sentinel import PointerSentinelConfig, PointerSentinelLSTM
from wikitext_builder.dataset.vocabulary import Vocabulary

NASTY = (
    "</script><script>document.title='taken'</script>",
    "<img/src=x/onerror=document.title='taken'>",
    "&lt;b&gt;",
    "<!--",
    "@DATA@",
    '"\\',
    "\u2028",
    "naïve",
)
WORDS = Vocabulary(("<unk>", "<eos>", *NASTY, "the", "cat"))
TOKENS = torch.arange(40) % len(WORDS)


def made(model, start=0):
    state = None
    if start:
        model.eval()
        _, state = model(TOKENS[None, :start], model.initial_state(1))
    found = list(predictions(model, TOKENS[start:], state))
    return page("<i>title</i> & more", "summary <u>x</u>", found, WORDS), found


@pytest.fixture(scope="module")
def pointer():
    torch.manual_seed(0)
    return PointerSentinelLSTM(
        PointerSentinelConfig(vocab_size=len(WORDS), hidden_size=8, window=10, init=0.5)
    )


@pytest.fixture(scope="module")
def lstm():
    torch.manual_seed(0)
    return LSTM(LSTMConfig(vocab_size=len(WORDS), hidden_size=8, init=0.5))


def test_no_word_becomes_markup(pointer):
    text, _ = made(pointer)
    assert len(re.findall("<script", text)) == 2
    assert "<i>title" not in text
    assert "<u>" not in text
    assert "<img" not in text
    assert not re.search(r"(src|href)\s*=\s*[\"']?http", text)
    assert "default-src &#x27;none&#x27;" in text


@pytest.fixture(scope="module")
def browser():
    chromium = shutil.which("chromium")
    if chromium is None or importlib.util.find_spec("playwright") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("CI must have Debian's chromium and playwright's Python package")
        pytest.skip("needs Debian's chromium and playwright's Python package")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def opened(browser, tmp_path):
    complaints = []
    tab = browser.new_page(viewport={"width": 1200, "height": 800})
    tab.on("console", lambda message: complaints.append(message.text))
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    requests = []
    tab.on("request", lambda request: requests.append(request.url))

    def open_text(text):
        (tmp_path / "page.html").write_text(text, encoding="utf-8")
        tab.goto((tmp_path / "page.html").as_uri())
        return tab

    yield open_text
    tab.close()
    assert complaints == []
    assert [url for url in requests if not url.startswith("file:")] == []


def test_the_words_are_read_as_they_are(pointer, opened):
    text, _ = made(pointer)
    tab = opened(text)
    assert tab.title() == "<i>title</i> & more"
    shown = [span.text_content() for span in tab.locator("#text span").all()]
    assert shown == WORDS.decode(TOKENS.tolist())
    assert tab.locator("img").count() == 0


def test_hovering_a_word_shows_its_prediction(pointer, opened):
    text, found = made(pointer)
    tab = opened(text)
    for index in (3, 25):
        tab.locator("#text span").nth(index).hover()
        panel = tab.locator("#panel")
        assert panel.locator("h2").text_content() == WORDS.tokens[int(TOKENS[index])]
        assert f"gate {found[index].gate:.3f}" in (panel.text_content() or "")
        assert [title.text_content() for title in panel.locator("h3").all()] == [
            "Mixture",
            "Softmax",
            "Pointer",
            "Attention in the window",
        ]
        likeliest = panel.locator("table").first.locator("tr").first.locator("td").first.text_content()
        assert likeliest == WORDS.tokens[found[index].mixture[0][0]]
        assert tab.locator("#text span.window").count() == min(index, 10)
        back = next(back for back, _ in found[index].attention if back <= index)
        colour = tab.locator("#text span").nth(index - back)
        assert "235, 155, 45" in (colour.get_attribute("style") or "")


def test_words_before_the_passage_are_named_in_the_window(pointer, opened):
    text, found = made(pointer, start=20)
    tab = opened(text)  # the first word is chosen
    rows = [
        row.locator("td").first.text_content() for row in tab.locator("#panel table").last.locator("tr").all()
    ]
    expected = [f"{WORDS.tokens[int(TOKENS[20 - back])]} ({back} back)" for back, _ in found[0].attention]
    assert rows == expected


def test_a_click_keeps_a_word_and_keys_move_to_the_next(pointer, opened):
    text, _ = made(pointer)
    tab = opened(text)
    tab.locator("#text span").nth(5).click()
    tab.locator("#text span").nth(9).hover()
    assert tab.locator("#text span.chosen").get_attribute("data-index") == "5"
    tab.locator("#text").press("ArrowRight")
    assert tab.locator("#text span.chosen").get_attribute("data-index") == "6"


def test_a_model_without_a_pointer_has_a_page_too(lstm, opened):
    text, found = made(lstm)
    tab = opened(text)
    tab.locator("#text span").nth(3).hover()
    assert tab.locator("#panel h3").all_text_contents() == ["Most likely"]
    assert "gate" not in (tab.locator("#panel").text_content() or "")
    assert f"{-torch.tensor(found[3].probability).log():.2f} nats" in (
        tab.locator("#panel").text_content() or ""
    )
