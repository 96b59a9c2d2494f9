"""The report in a real Chromium, wide and narrow: text is text, tables sort, nothing is loaded."""

import csv
import io
import math
import os
import re
import shutil
import subprocess
from itertools import product

import lm_benchmarks as lb
import pytest
from lm_benchmarks.conventions.rules import CONVENTIONS
from lm_benchmarks.metrics import METRICS, Sums
from lm_benchmarks.records import Epoch, append_record, read_results
from lm_benchmarks.reporting.collect import groupings_of, tables_of
from lm_benchmarks.reporting.published import PUBLISHED as PAPERS
from lm_benchmarks.reporting.published import TRAIN, Published
from lm_benchmarks.reporting.report import make_report, report_text
from lm_benchmarks.reporting.tables import value_of
from msgspec.structs import replace

from tests.conftest import ROOT
from tests.lm_benchmarks.results import RESULT, result, signed

NASTY = "</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">|_*&"


def counted(nats, split="test"):
    """KN-5 of the official train file, which has a published number."""
    one = replace(result("KN-5", nats, split=split), recipe="kn-5")
    return signed(one, model=f"kn-5+{TRAIN['wikitext-2']}")


RESULTS = [
    counted(5.4),
    counted(5.5, split="valid"),
    result(NASTY, 4.5),
    result("cheat", 1.0, checks={"sum": "", "future": f"scores differ {NASTY}"}),
    result("unchecked", 10.2, checks=None),
    replace(counted(5.39), written="later"),
]
PUBLISHED = [
    Published(model="KN-5", data="wikitext-2", perplexities={"test": 220.1}, source="A & B (2016)"),
    Published(
        model="Zoneout <LSTM>", data="wikitext-2", perplexities={"test": 100.9, "valid": 108.7}, note="n"
    ),
    Published(model="other", data="ptb", perplexities={"test": 1.0}),
]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    run = tmp_path_factory.mktemp(f"run {'<b>'}")
    (run / "epochs.csv").write_text(
        "epoch,updates,train_perplexity,valid_perplexity,training_seconds\n"
        "1,9,inf,300.5,1\n2,18,250,210.25,2\n3,27,170,180,3\n"
    )
    return make_report(f"Title {NASTY}", RESULTS, published=PUBLISHED, logs=[run])


def test_a_title_that_is_no_utf_8_is_spelled_out(tmp_path):
    results, page, link = tmp_path / "r.jsonl", tmp_path / "page.html", tmp_path / "link.csv"
    append_record(results, RESULT)
    page.write_text("old")
    lb.report(results, page, title=os.fsdecode(b"a\xff"))
    assert "udcff" in page.read_text(encoding="utf-8")
    link.symlink_to(page)
    lb.report(results, link)
    assert link.is_symlink()
    assert page.read_text(encoding="utf-8").startswith("data,")
    assert not list(tmp_path.glob("*.part"))


def test_rows_are_ordered_joined_with_the_papers_and_marked(report):
    (table,) = report.tables
    assert [row.model for row in table.rows] == [NASTY, "Zoneout <LSTM>", "KN-5", "unchecked", "cheat"]
    rows = {row.model: row for row in table.rows}
    assert rows["KN-5"].published == {"test": 220.1}
    assert rows["KN-5"].results["test"].written == "later"  # measured twice: the last one counts
    assert rows["cheat"].invariants == "BROKEN: future"
    assert rows["unchecked"].invariants == "not tried"
    assert rows[NASTY].invariants == "kept"
    assert rows[NASTY].difference == "best"  # the cheat is none to compare with
    assert rows["KN-5"].difference.startswith("+")
    assert table.splits == ("valid", "test")


def test_no_word_becomes_markup_and_each_row_has_as_many_cells(report):
    page, markdown, latex = (report_text(report, ending) for ending in (".html", ".md", ".tex"))
    assert len(re.findall("<script", page)) == 1
    assert not re.search(r"<img| style=|(src|href)\s*=\s*[\"']?http", page)
    assert "default-src &#39;none&#39;" in page
    rows = [line for line in markdown.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows[:7]} == {11}
    assert not re.search("<script|<img", markdown)
    assert "Invariants are kept if" in latex
    body = latex.split(r"\midrule")[1].split(r"\bottomrule")[0].strip().splitlines()
    assert {len(re.findall(r"(?<!\\)&", row)) for row in body} == {9}
    assert r"\textless{}/script\textgreater{}" in latex
    marked = [line for line in latex.splitlines() if re.search(r"(?<!\\)[_#%]", line)]
    assert [line for line in marked if not line.startswith("%")] == []


def test_csv_has_a_line_per_model_and_split_and_whole_numbers(report):
    lines = list(csv.DictReader(io.StringIO(report_text(report, ".csv"))))
    found = {(line["model"], line["split"]): line for line in lines}
    assert len(found) == len(lines) == 7
    assert float(found["KN-5", "test"]["perplexity"]) == pytest.approx(math.exp(5.39), rel=1e-12)
    assert found["KN-5", "test"]["published"] == "220.1"
    assert found["Zoneout <LSTM>", "valid"]["perplexity"] == ""
    assert found["cheat", "test"]["invariants"] == "BROKEN: future"
    assert found[NASTY, "test"]["signature"] == str(RESULTS[2].signature)


@pytest.mark.slow
def test_latex_compiles_and_a_table_of_usual_names_fits_a_page(report, tmp_path):
    if not (program := shutil.which("pdflatex")):
        pytest.skip("needs pdflatex, of Debian's texlive-latex-base and texlive-latex-recommended")
    stored = read_results(ROOT / "benchmarks" / "results" / "wikitext-2.jsonl")
    usual = [report_text(make_report("Usual", stored, published=rows), ".tex") for rows in ((), list(PAPERS))]
    assert all("All measured models satisfy the invariants" in text for text in usual)
    packages = r"\usepackage[T1]{fontenc}\usepackage[margin=2.5cm,a4paper]{geometry}"
    command = [program, "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    for text, style in product((report_text(report, ".tex"), *usual), ("", "[twocolumn]")):
        needed = text.partition("% Needs ")[2].splitlines()[0]
        head = rf"\documentclass{style}{{article}}{packages}{needed}\begin{{document}}"
        (tmp_path / "paper.tex").write_text(f"{head}\n{text}\n\\end{{document}}\n", encoding="utf-8")
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace")
        assert ended.returncode == 0, ended.stdout
        assert text not in usual or "too wide) in paragraph" not in ended.stdout


def test_groups_say_their_units_and_which_are_not_drawn(report):
    for text in (report_text(report, ".html"), report_text(report, ".md")):
        assert "The numbers are nats per token; lower is better." in text
        assert "Groups of fewer than 500 tokens are not drawn." in text
        assert "Error bars: two standard errors" in text
    text = report_text(report, ".html")
    assert re.findall(r'<tr class="few">\s*<th scope="row">([^<]+)', text) == ["1-9"]
    (frequency,) = groupings_of(report.tables[0])
    assert re.findall(r">(1-9|&lt;unk&gt;)</text>", frequency.chart) == ["&lt;unk&gt;"]
    assert text.count('class="error"') == 2  # KN-5 and the unchecked one in the group <unk>


def test_a_model_can_be_called_like_a_column():
    """It replaced the column, or left the table with too few."""
    for name in ("tokens", "frequency", "model", "words"):
        (table,) = make_report("Names", [result("KN-5", 5.0), result(name, 4.8)]).tables
        (frequency,) = groupings_of(table)
        assert list(frequency.frame.columns) == ["frequency", "tokens", name, "KN-5"]
        assert frequency.frame.iloc[0].tolist() == ["1-9", "100", "7.2000", "7.5000"]
        assert table.frame["model"].tolist() == [name, "KN-5"]


@pytest.mark.parametrize("width", [1280, 390])
def test_it_is_read_wide_and_narrow(report, opened, width):
    tab = opened(report_text(report, ".html"), width=width)
    assert tab.locator("h1").text_content() == f"Title {NASTY}"
    assert tab.locator("thead button").count() == tab.locator("thead th").count()  # each column sorts
    assert 70 < tab.locator("tbody th").first.bounding_box()["width"] < 400
    shown = tab.locator(".cards tbody tr", has_text="KN-5").locator("td", has_text="244.69").bounding_box()
    assert 0 <= shown["x"] < shown["x"] + shown["width"] <= width  # the number, without scrolling
    boxes = [chart.bounding_box() for chart in tab.locator("svg").all()]
    assert len(boxes) == 2  # groups of words, and training
    assert all(box["width"] > 300 and box["height"] > 150 for box in boxes)
    bars = tab.locator("svg .bar path").all()
    assert {bar.evaluate("bar => getComputedStyle(bar).fill") for bar in bars} >= {"rgb(0, 114, 178)"}
    (broken,) = tab.locator("tr.broken").all()
    assert "BROKEN: future" in broken.text_content()
    tab.locator("summary", has_text="cheat").click()
    assert "scores differ" in tab.locator("details[open]").text_content()


def test_windows_of_two_lengths_are_two_rows():
    fields = {"context": "window", "vocabulary": "none", "convention": CONVENTIONS["gptq"]}
    runs = [
        signed(
            result("GPT-2", 4.0, articles=(Sums(nats=9.0, pieces=3),), groups=(), number=number),
            **fields,
            windows=windows,
        )
        for windows, number in (("512", 16.4), ("1024", 19.4))
    ]
    infinite = replace(signed(runs[0], model="infinite"), model="infinite", number=None)  # as JSON holds it
    made = make_report("Windows", [*runs, infinite, result("KN-5", 5.0)])
    table = made.tables[0]
    numbers = {"GPT-2, windows of 512": 16.4, "GPT-2, windows of 1024": 19.4, "infinite": None}
    assert {row.model: row.results["test"].number for row in table.rows} == numbers
    assert {row.difference for row in table.rows} == {""}
    assert value_of(table.rows[2], "test", "piece-perplexity") is None  # no other number in its place
    lines = list(csv.DictReader(io.StringIO(report_text(made, ".csv"))))
    assert [line["number"] for line in lines] == ["16.4", "19.4", "", ""]
    perplexity = METRICS["piece-perplexity"].of(runs[0].total)
    assert [float(line["piece-perplexity"]) for line in lines[:3]] == [perplexity] * 3
    of_windows, of_words, signatures = re.split(r"\\end{table\*?}", report_text(made, ".tex"))
    assert signatures.count("% GPT-2, windows of") == 2
    assert signatures.count("|convention:gptq") == 3
    assert "convention:gptq" not in of_windows + of_words
    # The windows of two tokenizers are not the same passages.
    assert not re.search("difference|Intervals", of_windows)
    assert "{difference}" in of_words


def test_a_model_of_somebody_with_a_published_name_has_a_row_of_its_own():
    (table,) = tables_of([result("Zoneout <LSTM>", 4.0)], PUBLISHED)
    rows = [(len(row.results), row.published) for row in table.rows if row.model == "Zoneout <LSTM>"]
    assert rows == [(1, {}), (0, {"test": 100.9, "valid": 108.7})]


def test_a_number_that_no_float_holds_is_not_compared():
    (table,) = make_report("t", [result("huge", 800.0), result("cheat", 1.0, checks={"sum": "x"})]).tables
    assert {row.model: row.difference for row in table.rows} == {"huge": "", "cheat": ""}


@pytest.mark.parametrize(
    ("field", "values", "names"),
    [
        ("seed", ("1", "2"), ("lstm, seed 1", "lstm, seed 2")),
        ("model", ("lstm+aaaa", "lstm+bbbb"), ("lstm, lstm+aaaa", "lstm, lstm+bbbb")),
        ("precision", ("fp32", "bf16"), ("lstm, fp32", "lstm, bf16")),
        ("dropout_samples", ("10", "64"), ("lstm, masks 10", "lstm, masks 64")),
    ],
)
@pytest.mark.parametrize("splits", [("test", "test"), ("valid", "test")])
def test_models_of_one_name_are_told_apart(field, values, names, splits):
    """In tables and in groups of words, also if one was measured on valid, and the other on test."""
    runs = [
        signed(result("lstm", nats, split=split), **{field: value})
        for value, split, nats in zip(values, splits, (4.0, 4.2), strict=True)
    ]
    report = make_report("Two", [*runs, result("KN-5", 5.0)])
    (table,) = report.tables
    assert {row.model for row in table.rows} == {*names, "KN-5"}
    (grouping,) = groupings_of(table)
    assert set(grouping.models) == {*names, "KN-5"} - ({names[0]} if splits[0] == "valid" else set())
    assert [row.model for row in make_report("One", runs[:1]).tables[0].rows] == ["lstm"]


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ([{"training": {"seed": 1}}, {"training": {"seed": 2}}], [", seed 1", ", seed 2"]),
        ([{"data": "one"}, {"data": "two"}], [" on one", " on two"]),
        ([{"settings": ("learning_rate=1",)}, {"settings": ()}], [", learning_rate=1", ", as it is"]),
        ([{}], [""]),
    ],
)
def test_curves_of_one_recipe_say_in_what_they_differ(changes, names):
    curve = (Epoch(epoch=1, updates=9, train_perplexity=99.0, valid_perplexity=90.0, seconds=1.0),)
    (how,) = RESULT.trained
    runs = [replace(how, **{"settings": (), "curve": curve, **change}) for change in changes]
    charts = dict(make_report("Curves", [result("lstm", 4.0, trained=tuple(runs))]).charts)
    drawn = re.findall(r'<g class="curve"><title>([^<]*)', charts["Training"])
    assert drawn == [f"{how.recipe}{name}" for name in names]


def test_what_a_table_shares_and_published_numbers_stand_only_beside_the_official_files():
    first, odd = RESULTS[0], f"{'1' * 5000}+ab"  # no number of words: it is shown as it is
    others = ({"context": "article"}, {"vocabulary": odd}, {"data": "wikitext-2+ab"}, {"model": "x"})
    tables = [len(tables_of([first, signed(first, **other)])) for other in others]
    assert tables == [2, 2, 2, 1]
    rows = [tables_of([signed(first, **other)], PUBLISHED)[0].rows for other in others[:3]]
    assert [[row.published for row in each] for each in rows] == [[{}]] * 3
    assert len(tables_of([first], PUBLISHED)[0].rows) == 2
    assert odd in report_text(make_report("t", [signed(first, vocabulary=odd)]), ".html")


def test_hostile_names_are_text_in_each_format():
    names = ["=HYPERLINK(1)", "a\u202eb", "[2] kn", "*uni", "a\rb\x1b[2J\x00\nc"]
    made = make_report("t\r", [replace(result(name, 5.0), checks={"sum\x07": "x"}) for name in names])
    rows = list(csv.DictReader(io.StringIO(report_text(made, ".csv"), newline="")))
    shown = ["'=HYPERLINK(1)", "a\\u202eb", "[2] kn", "*uni", "a\\rb\\x1b[2J\\x00\nc"]
    assert {row["model"] for row in rows} == set(shown)
    for form in (".md", ".tex"):
        text = report_text(made, form)
        assert all(character.isprintable() or character == "\n" for character in text)
        assert "a b" in text
    assert "\u202e" not in report_text(made, ".html")
    for name in ("[2] kn", "*uni"):  # no option of the row above
        assert f"\n{{}}{name} &" in text
