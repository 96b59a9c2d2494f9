"""The HTML pages of all three programs: one look, hostile names are text, tables sort, none is over 1 MB."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import lm_benchmarks as lb
import pandas as pd
import pytest
import torch
from lm_benchmarks.conventions.rules import REGISTRY
from lm_benchmarks.measuring.measure import ByConvention
from lm_benchmarks.reporting.formats import HOVER_TEXTS
from lm_benchmarks.reporting.report import make_report, report_text

import wikitext_builder as wb
from ps_models.analysis.page import Explanation, page
from ps_models.analysis.predictions import predictions
from ps_models.errors import ModelError
from ps_models.models.pointer_sentinel import PointerSentinelConfig, PointerSentinelLSTM
from ps_models.signature import Signature
from tests.conftest import ROOT, data
from tests.lm_benchmarks.reporting.test_page import NASTY, PUBLISHED, RESULTS
from wikitext_builder.article import SPLITS
from wikitext_builder.dataset.vocabulary import Vocabulary
from wikitext_builder.stats import describe
from wikitext_builder.stats.portrait import COLUMNS
from wikitext_builder.webpages import MAX_PAGE_BYTES, render

VOCABULARY = Vocabulary(("<unk>", "<eos>", *(f"{NASTY}{n}" for n in range(600))))
FRAME = pd.DataFrame(
    [("a", "24M", "x"), ("b", "1,234", ""), ("c", "", "y"), ("d", "+2.5 [1, 3]", "x"), ("e", "best", "x")],
    columns=["model", "number", "word"],
)

CONTRAST = """
() => {
  const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const luminance = (colour) => parts(colour).slice(0, 3).map((c) => c / 255)
    .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const found = parts(getComputedStyle(at).backgroundColor);
      if (found.length === 3 || found[3] === 1) return getComputedStyle(at).backgroundColor;
    }
    return matchMedia("(prefers-color-scheme: dark)").matches ? "rgb(18, 18, 18)" : "rgb(255, 255, 255)";
  };
  return [...document.querySelectorAll("body *")]
    .filter((one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
    .filter((one) => one.getClientRects().length)
    .map((one) => {
      const [a, b] = [getComputedStyle(one).color, behind(one)].map(luminance).sort((x, y) => y - x);
      return [(a + 0.05) / (b + 0.05), `${one.tagName} ${one.className}`];
    });
}
"""
SCROLLING = "[...document.querySelectorAll('.wide')].filter(one => one.scrollWidth > one.clientWidth)"


def explanation(words: int) -> Explanation:
    """How an untrained model with a window of the usual size predicts long words."""
    torch.manual_seed(0)
    config = PointerSentinelConfig(vocab_size=len(VOCABULARY), hidden_size=8, window=100)
    tokens = torch.randint(len(VOCABULARY), (words,))
    found = list(predictions(PointerSentinelLSTM(config), tokens))
    return Explanation(
        data="d",
        split="test",
        start=0,
        predictions=found,
        vocabulary=VOCABULARY,
        signature=Signature(model="m"),
    )


def explained() -> str:
    one = explanation(60)
    return page(NASTY, NASTY, NASTY, one.predictions, VOCABULARY)


def described() -> str:
    columns = [(corpus, split) for corpus in (NASTY, "Penn Treebank") for split in SPLITS]
    curve = [(*one, "heaps.curve", n, n * 0.5, "types") for one in columns for n in (1000, 2000, 5000)]
    rows = [*((*one, "heaps.exponent", None, 0.5, "") for one in columns), *curve]
    return describe.page(pd.DataFrame(rows, columns=list(COLUMNS)), NASTY)


PAGES: dict[str, Callable[[], str]] = {
    "report": lambda: report_text(make_report(NASTY, RESULTS, published=PUBLISHED), ".html"),
    "conventions": lambda: lb.write_conventions(
        [ByConvention(convention=one, why=NASTY) for one in REGISTRY.values()], "html"
    ),
    "describe": described,
    "explain": explained,
}


@pytest.mark.parametrize("name", PAGES)
def test_all_pages_have_one_look_and_can_be_read(name: str, opened: Callable[..., Any]) -> None:
    text = PAGES[name]()
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    assert style == (ROOT / "wikitext_builder" / "webpages" / "page.css").read_text(encoding="utf-8")
    assert not re.search(r" style=|<img|<script>document", text)
    for width in (390, 1280):
        for scheme in ("light", "dark"):
            tab = opened(text, width=width, color_scheme=scheme)
            assert tab.title() != "taken"
            assert tab.evaluate("document.documentElement.scrollWidth") <= width
            assert width > 390 or tab.evaluate(SCROLLING) == []
            assert [(ratio, what) for ratio, what in tab.evaluate(CONTRAST) if ratio < 4.5] == []
            ground = tab.evaluate("getComputedStyle(document.body).backgroundColor")
            assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(30, 33, 41)"}[scheme]
    tab.emulate_media(media="print")
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    closed = tab.locator("details:not([open]) > :nth-child(2)")
    assert all(one.bounding_box()["height"] > 0 for one in closed.all())
    assert tab.pdf().startswith(b"%PDF")


def table_page(folder: Path, frame: pd.DataFrame = FRAME) -> str:
    body = '{% from "table.html" import table %}{% block body %}{{ table(frame) }}{% endblock %}'
    (folder / "t.html").write_text('{% extends "page.html" %}' + body)
    return render(folder / "t.html", title="T", frame=frame)


def column(tab: Any, place: int) -> list[str]:
    return [row.locator("th, td").nth(place).text_content() for row in tab.locator("tbody tr").all()]


def test_tables_sort_by_keys_and_clicks(opened: Callable[..., Any], tmp_path: Path) -> None:
    tab = opened(table_page(tmp_path))
    tab.keyboard.press("Tab")
    tab.keyboard.press("Tab")
    tab.keyboard.press("Tab")  # the table, its first heading, its second
    tab.keyboard.press("Enter")
    assert column(tab, 1) == ["+2.5 [1, 3]", "1,234", "24M", "best", ""]
    assert tab.locator("thead th").nth(1).get_attribute("aria-sort") == "ascending"
    tab.keyboard.press("Space")
    assert column(tab, 1) == ["best", "24M", "1,234", "+2.5 [1, 3]", ""]
    tab.locator("thead button").nth(2).click()
    assert column(tab, 2) == ["x", "x", "x", "y", ""]
    tab.emulate_media(media="print")
    assert tab.locator("button").first.evaluate("one => getComputedStyle(one).display") == "contents"
    plain = opened(table_page(tmp_path), java_script_enabled=False)
    assert plain.locator("button").count() == 0
    assert column(plain, 1) == list(FRAME["number"])


def test_a_table_that_scrolls_fades_where_it_goes_on(opened: Callable[..., Any], tmp_path: Path) -> None:
    from playwright.sync_api import expect  # its package is there if `opened` is

    wide = opened(table_page(tmp_path, pd.concat([FRAME] * 8, axis=1)), width=700)
    fits = opened(table_page(tmp_path), width=700)
    for tab, fades in ((wide, True), (fits, False)):
        box = tab.locator(".wide")
        assert (box.evaluate("one => getComputedStyle(one).maskImage") != "none") is fades
    wide.locator(".wide").evaluate("one => one.scrollTo(one.scrollWidth, 0)")
    expect(wide.locator(".wide")).to_have_css("mask-image", "none")


def test_a_cell_says_on_hover_what_it_rounds() -> None:
    (table,) = make_report("T", RESULTS, published=PUBLISHED).tables
    row = [row.model for row in table.rows].index("KN-5")
    place = list(table.frame.columns).index("perplexity test")
    exact = table.frame.attrs[HOVER_TEXTS][row, place]
    assert f"{float(exact):,.2f}" == table.frame.iat[row, place] != exact
    assert f'title="{exact}">' in report_text(make_report("T", RESULTS, published=PUBLISHED), ".html")


def test_a_page_of_too_many_words_says_how_many_fit(tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    found = explanation(900)
    with pytest.raises(ModelError, match=r"--words 900: a page has room for \d+ of them") as error:
        found.save(out)
    assert not out.exists()
    fit = int(re.findall(r"\d+", str(error.value))[-1])
    replace(found, predictions=found.predictions[:fit]).save(out)
    assert 0.8 * MAX_PAGE_BYTES < out.stat().st_size <= MAX_PAGE_BYTES


@pytest.mark.slow
def test_no_page_of_real_data_is_over_a_megabyte(tmp_path: Path) -> None:
    results = [ROOT / "benchmarks" / "results" / f"{name}.jsonl" for name in ("ptb", "wikitext-2")]
    lb.report(results, tmp_path / "report.html")
    wb.describe(data("wikitext-2"), out=tmp_path / "portrait.html")
    explanation(500).save(tmp_path / "explain.html")  # as many as without --words
    sizes = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    assert len(sizes) == 3
    assert max(sizes.values()) <= MAX_PAGE_BYTES, sizes
