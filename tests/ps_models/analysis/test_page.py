"""The page in a real Chromium: words are text, taps and keys show predictions, nothing is loaded."""

import math
import re

import pytest
import torch

from ps_models.analysis.figure import level_of
from ps_models.analysis.page import page
from ps_models.analysis.predictions import predictions
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
TOKENS = torch.cat([torch.arange(12), torch.arange(28) // 2 % 12])  # each word once, then twice
SIGNATURE = "data:<b>|" + "model:a-very-long-name+66eda38d|" * 9  # no place to break a line


def made(model, start=0, originals=()):
    state = None
    if start:
        model.eval()
        _, state = model(TOKENS[None, :start], model.initial_state(1))
    found = list(predictions(model, TOKENS[start:], state))
    return page("<i>title</i> & more", "summary <u>x</u>", SIGNATURE, found, WORDS, originals), found


@pytest.fixture(scope="module")
def pointer():
    torch.manual_seed(0)
    return PointerSentinelLSTM(
        PointerSentinelConfig(vocab_size=len(WORDS), hidden_size=8, window=10, init=1.5)
    )


@pytest.fixture(scope="module")
def lstm():
    torch.manual_seed(0)
    return LSTM(LSTMConfig(vocab_size=len(WORDS), hidden_size=8, init=0.5))


def test_no_word_becomes_markup(pointer):
    text, _ = made(pointer)
    assert len(re.findall("<script", text)) == 2
    assert not re.search(r"<i>title|<u>|<b>|<img|(src|href)\s*=\s*[\"']?http", text)
    assert "default-src &#39;none&#39;" in text


@pytest.fixture
def shown(pointer, opened):
    """The page of the pointer model in a tab, and its predictions."""
    text, found = made(pointer)
    return opened(text), found


def test_the_words_are_read_as_they_are(shown):
    tab, _ = shown
    assert tab.title() == "<i>title</i> & more"
    assert [span.text_content() for span in tab.locator("#text span").all()] == WORDS.decode(TOKENS.tolist())
    assert tab.locator("img").count() == 0


def test_hovering_a_word_shows_its_prediction(shown):
    tab, found = shown
    for index in (3, 25):
        one = found[index]
        tab.locator("#text span").nth(index).hover()
        panel = tab.locator("#panel")
        assert panel.locator("h2").text_content() == WORDS.tokens[int(TOKENS[index])]
        assert f"rank {one.mixture.rank} of {len(WORDS)}" in panel.locator(".probability").text_content()
        headings = panel.locator("h3").all_text_contents()
        assert headings == ["Mixture", "Vocabulary", "Pointer", "Attention and gate"]
        likeliest = panel.locator("table").first.locator("td.word").first.text_content()
        assert likeliest == WORDS.tokens[one.mixture.top[0][0]]
        assert tab.locator("#text span.window").count() == min(index, 10)
        for back in (back for back, _ in one.attention if back <= index):
            assert "shadow" in tab.locator("#text span").nth(index - back).get_attribute("style")


def test_the_true_word_has_a_row_wherever_it_is(lstm, pointer, opened):
    for model in (lstm, pointer):
        text, found = made(model)
        tab = opened(text)
        seen = [(at, one.mixture) for at, one in enumerate(found) if WORDS.tokens[one.word].isprintable()]
        outside = next(at for at, mixture in seen if mixture.rank > len(mixture.top))
        inside = next(at for at, mixture in seen if mixture.rank <= 2)
        for index in (outside, inside):
            tab.locator("#text span").nth(index).hover()
            row = tab.locator("#tables table").first.locator("tr.true")
            assert row.locator(".rank").text_content() == str(found[index].mixture.rank)
            assert row.locator(".word").text_content() == WORDS.tokens[int(TOKENS[index])]


def test_all_bars_have_one_scale(shown):
    tab, found = shown
    tab.locator("#text span").nth(25).hover()
    for track, share in (
        (tab.locator("#tables table").nth(1).locator("tr").first, found[25].vocabulary.top[0][1]),
        (tab.locator("#tables table").nth(3).locator("tr").first, found[25].gate),
    ):
        full = track.locator(".track").bounding_box()["width"]
        assert track.locator("i").bounding_box()["width"] == pytest.approx(share * full, abs=1)


def test_colour_means_what_the_pointer_added(shown):
    tab, found = shown
    kinds = set()
    for place, (span, one) in enumerate(zip(tab.locator("#text span").all(), found, strict=True)):
        names = (span.get_attribute("class") or "").split()
        kind = [name for name in names if name.startswith(("help", "harm"))]
        step = level_of(one.gain) if WORDS.tokens[one.word] != "<unk>" else 0
        assert kind == ([f"{'help' if step > 0 else 'harm'}{abs(step)}"] if step else []), place
        kinds.update(kind)
    assert len(kinds) > 2
    tab.locator("#text span[class*=help]").first.click()
    assert "helped" in tab.locator("#panel .gain").text_content()


def test_words_before_the_passage_are_named_in_the_window(pointer, opened):
    text, found = made(pointer, start=21)
    tab = opened(text)
    tab.locator("#text span").first.hover()
    rows = tab.locator("#panel table").last.locator("tr").all()[1:]  # the first row is the gate
    shown = [(row.locator(".rank").text_content(), row.locator(".word").text_content()) for row in rows]
    assert shown == [
        (f"{back} back", WORDS.tokens[int(TOKENS[21 - back])]) for back, _ in found[0].attention[:8]
    ]


def test_words_that_the_model_does_not_know_are_shown(pointer, opened):
    names = ["<eos>"] + [
        f"<s>{at}" if one == "<unk>" else one for at, one in enumerate(WORDS.decode(TOKENS.tolist()))
    ]
    text, _ = made(pointer, originals=names)
    tab = opened(text)
    assert tab.locator("#text span").all_text_contents() == names[1:]
    assert tab.locator("#text .unknown").all_text_contents() == [
        name for name in names if name.startswith("<s>")
    ]
    tab.locator("#text .unknown").nth(1).hover()
    assert "The model reads <unk>." in tab.locator("#facts").text_content()


def test_a_click_keeps_a_word_and_keys_move_to_others(shown):
    tab, found = shown
    spans, words = tab.locator("#text span"), tab.locator("#text")

    def pressed(key):
        words.press(key)
        assert words.get_attribute("aria-activedescendant") == tab.locator(".chosen").get_attribute("id")
        assert tab.locator("[aria-selected=true]").count() == 1
        return int(tab.locator(".chosen").get_attribute("data-index"))

    spans.nth(5).click()
    spans.nth(9).hover()
    assert tab.locator("#text span.chosen").get_attribute("data-index") == "5"
    assert pressed("ArrowRight") == 6
    assert pressed("ArrowLeft") == 5
    assert pressed("Home") == pressed("ArrowLeft") == 0
    assert pressed("End") == pressed("ArrowRight") == len(TOKENS) - 1
    last = spans.nth(len(TOKENS) - 1).bounding_box()
    above = spans.nth(pressed("ArrowUp")).bounding_box()
    assert above["y"] < last["y"]
    assert pressed("ArrowDown") > int(len(TOKENS) / 2)
    known = [(at, one.gain) for at, one in enumerate(found) if one.word > 1]  # neither <unk> nor <eos>
    helped = [at for at, gain in known if gain > math.log(2)]
    assert len(helped) > 3
    pressed("Home")
    first, second, *_ = (at for at in helped if at > 0)
    assert [pressed("n"), pressed("N"), pressed("p")] == [first, second, first]
    spans.nth(5).click()
    spans.nth(5).click()  # releases it
    spans.nth(9).hover()
    assert tab.locator("#text span.chosen").get_attribute("data-index") == "9"


RANKS_IN_ONE_LINE = """
() => {
  const fits = (cell) => {
    const text = document.createRange();
    text.selectNodeContents(cell);
    const lines = new Set([...text.getClientRects()].map((box) => box.y));
    return lines.size <= 1 && cell.scrollWidth <= cell.clientWidth;
  };
  return [...document.querySelectorAll("td.rank")].every(fits);
}
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_the_panel_after_a_tap(pointer, opened, scheme):
    text, _ = made(pointer)
    tab = opened(text, width=390, has_touch=True, color_scheme=scheme)
    assert tab.evaluate("document.documentElement.scrollWidth") == 390
    panel = tab.locator("#panel")
    assert not panel.is_visible()
    for index in (0, len(TOKENS) - 1):
        word = tab.locator("#text span").nth(index)
        word.tap()
        tab.wait_for_timeout(50)
        box, own = panel.bounding_box(), word.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
        assert 300 < box["y"] < box["y"] + box["height"] <= 800
        assert 0 <= own["y"] < own["y"] + own["height"] <= box["y"]  # the word is not behind the panel
        assert tab.evaluate("document.documentElement.scrollWidth") == 390
    assert " back" in tab.locator("td.rank").last.text_content()
    assert tab.evaluate(RANKS_IN_ONE_LINE)
    tab.locator("#close").tap()
    assert not panel.is_visible()
    tab.locator("summary").tap()
    assert tab.locator("dl").is_visible()
    assert tab.evaluate("document.documentElement.scrollWidth") == 390


def test_a_model_without_a_pointer_has_a_page_too(lstm, opened):
    text, found = made(lstm)
    tab = opened(text)
    tab.locator("#text span").nth(3).hover()
    assert tab.locator("#panel h3").all_text_contents() == ["Most likely words"]
    shown = tab.locator("#panel").text_content() or ""
    assert "gate" not in shown
    assert f"{-torch.tensor(found[3].probability).log():.2f} nats" in shown
    assert tab.locator("dt", has_text="Gate").is_hidden()
