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
from lm_benchmarks.choices import CONVENTIONS
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.measuring.passages import vocabulary_of
from lm_benchmarks.metrics import METRICS, Sums
from lm_benchmarks.records import Epoch, append_record, read_results
from lm_benchmarks.reporting.collect import tables_of
from lm_benchmarks.reporting.groups import groupings_of
from lm_benchmarks.reporting.published import OFFICIAL, TRAIN, Published
from lm_benchmarks.reporting.published import PUBLISHED as PAPERS
from lm_benchmarks.reporting.report import make_report, report_text
from lm_benchmarks.reporting.tables import value_of
from msgspec.structs import replace

from ps_models.data.dataset import vocabulary_hash
from tests.conftest import ROOT, data
from tests.lm_benchmarks.results import RESULT, result, signed
from wikitext_builder.dataset.load import load as load_dataset

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


@pytest.mark.parametrize("ending", ["md", "html"])
def test_a_title_that_is_no_utf_8_is_spelled_out(tmp_path, ending):
    append_record(tmp_path / "r.jsonl", RESULT)
    page = tmp_path / f"page.{ending}"
    page.write_text("old")
    lb.report(tmp_path / "r.jsonl", page, title=os.fsdecode(b"a\xff"))
    assert "udcff" in page.read_text(encoding="utf-8")
    (tmp_path / "link.csv").symlink_to(page)
    lb.report(tmp_path / "r.jsonl", tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
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


def test_a_vocabulary_with_no_number_of_words_is_shown_as_it_is():
    value = f"{'1' * 5000}+ab"
    page = report_text(make_report("t", [signed(RESULTS[0], vocabulary=value)]), ".html")
    assert value in page


def test_results_of_other_conventions_have_tables_of_their_own():
    other = RESULTS[0]
    assert len(tables_of([other, signed(other, context="article")])) == 2
    assert len(tables_of([other, replace(other, model="x")])) == 1


@pytest.mark.parametrize(
    ("field", "value"), [("context", "article"), ("vocabulary", "99+ab"), ("data", "wikitext-2+ab")]
)
def test_published_numbers_stand_only_beside_those_of_the_official_files(field, value):
    first = RESULTS[0]
    (table,) = tables_of([signed(first, **{field: value})], PUBLISHED)
    assert [row.published for row in table.rows] == [{}]
    (table,) = tables_of([first], PUBLISHED)
    assert len(table.rows) == 2


def test_the_official_files_have_the_vocabularies_that_are_said():
    for name, vocabulary in OFFICIAL.items():
        found = vocabulary_of(load_dataset(data(name)), "test")
        assert vocabulary == f"{len(found)}+{vocabulary_hash(found)[:8]}"


def test_no_word_becomes_markup(report):
    text = report_text(report, ".html")
    assert len(re.findall("<script", text)) == 1
    assert "<img" not in text
    assert not re.search(r"(src|href)\s*=\s*[\"']?http", text)
    assert " style=" not in text
    assert "default-src &#39;none&#39;" in text


def test_markdown_has_as_many_cells_in_each_row(report):
    text = report_text(report, ".md")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    counts = [len(re.findall(r"(?<!\\)\|", row)) for row in rows]
    assert set(counts[:7]) == {11}
    assert "<script" not in text
    assert "<img" not in text


def test_csv_has_a_line_per_model_and_split_and_whole_numbers(report):
    lines = list(csv.DictReader(io.StringIO(report_text(report, ".csv"))))
    found = {(line["model"], line["split"]): line for line in lines}
    assert len(found) == len(lines) == 7
    assert float(found["KN-5", "test"]["perplexity"]) == pytest.approx(math.exp(5.39), rel=1e-12)
    assert found["KN-5", "test"]["published"] == "220.1"
    assert found["Zoneout <LSTM>", "valid"]["perplexity"] == ""
    assert found["cheat", "test"]["invariants"] == "BROKEN: future"
    assert found[NASTY, "test"]["signature"] == str(RESULTS[2].signature)


def test_latex_is_escaped_and_has_as_many_cells_in_each_row(report):
    text = report_text(report, ".tex")
    assert "Invariants are kept if" in text
    body = text.split(r"\midrule")[1].split(r"\bottomrule")[0].strip().splitlines()
    assert all(len(re.findall(r"(?<!\\)&", row)) == 9 for row in body)
    assert r"\textless{}/script\textgreater{}" in text
    for line in text.splitlines():
        if not line.startswith("%"):
            assert not re.search(r"(?<!\\)[_#%]", line)


def test_a_name_in_latex_is_no_option_of_the_row_above():
    text = report_text(make_report("t", [result("[2] kn", 5.0), result("*uni", 6.0)]), ".tex")
    assert "\n{}[2] kn &" in text
    assert "\n{}*uni &" in text


@pytest.mark.slow
def test_latex_compiles_and_a_table_of_usual_names_fits_a_page(report, tmp_path):
    if not (program := shutil.which("pdflatex")):
        pytest.skip("needs pdflatex, of Debian's texlive-latex-base and texlive-latex-recommended")
    stored = read_results(ROOT / "benchmarks" / "results" / "wikitext-2.jsonl")
    reports = [report, *(make_report("Usual", stored, published=rows) for rows in ((), list(PAPERS)))]
    packages = r"\usepackage[T1]{fontenc}\usepackage[margin=2.5cm,a4paper]{geometry}"
    for made, style in product(reports, ("", "[twocolumn]")):
        text = report_text(made, ".tex")
        needed = re.match(r"% Needs (.*)", text)
        assert needed
        lines = [
            rf"\documentclass{style}{{article}}",
            packages,
            needed[1],
            r"\begin{document}",
            text,
            r"\end{document}",
        ]
        (tmp_path / "paper.tex").write_text("\n".join(lines), encoding="utf-8")
        command = [program, "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace")
        assert ended.returncode == 0, ended.stdout
        assert made is report or "too wide) in paragraph" not in ended.stdout
        assert made is report or "All measured models keep the invariants" in text


def test_groups_say_their_units_and_which_say_little(report):
    for text in (report_text(report, ".html"), report_text(report, ".md")):
        assert "The numbers are nats per token; lower is better." in text
        assert "Groups of fewer than 500 tokens say little and are not drawn." in text
        assert "Error bars: two standard errors" in text
    text = report_text(report, ".html")
    assert re.findall(r'<tr class="few">\s*<th scope="row">([^<]+)', text) == ["1-9"]
    (frequency,) = groupings_of(report.tables[0])
    assert re.findall(r">(1-9|&lt;unk&gt;)</text>", frequency.chart) == ["&lt;unk&gt;"]
    assert text.count('class="error"') == 2  # KN-5 and the unchecked one in the group <unk>


@pytest.mark.parametrize("name", ["tokens", "frequency", "model", "words"])
def test_a_model_can_be_called_like_a_column(name):
    """It replaced the column, or left the table with too few."""
    (table,) = make_report("Names", [result("KN-5", 5.0), result(name, 4.8)]).tables
    (frequency,) = groupings_of(table)
    assert list(frequency.frame.columns) == ["frequency", "tokens", name, "KN-5"]
    assert frequency.frame.iloc[0].tolist() == ["1-9", "100", "7.2000", "7.5000"]
    assert table.frame["model"].tolist() == [name, "KN-5"]


@pytest.mark.parametrize(
    ("ending", "options", "named"),
    [
        ("md", {"data": "mine"}, "--data"),
        ("csv", {"title": "Mine", "logs": ["run"]}, "--log, --title"),
        ("tex", {"title": "Mine"}, "--title"),
    ],
)
def test_what_a_report_would_not_show_is_refused(tmp_path, ending, options, named):
    append_record(tmp_path / "a.jsonl", result("KN-5", 5.0))
    with pytest.raises(HarnessError, match=f"^{named}: a report in .{ending} does not show it; leave"):
        lb.report(tmp_path / "a.jsonl", tmp_path / f"a.{ending}", **options)


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "light"), (390, "dark")])
def test_it_is_read_wide_and_narrow(report, opened, width, scheme):
    tab = opened(report_text(report, ".html"), width=width, color_scheme=scheme)
    assert tab.locator("img").count() == 0
    assert tab.locator("h1").text_content() == f"Title {NASTY}"
    assert tab.locator("thead button").count() == tab.locator("thead th").count()  # each column sorts
    first = tab.locator("tbody th").first.bounding_box()
    assert 70 < first["width"] < 400
    shown = tab.locator(".cards tbody tr", has_text="KN-5").locator("td", has_text="244.69").bounding_box()
    assert 0 <= shown["x"] < shown["x"] + shown["width"] <= width  # the number, without scrolling
    charts = tab.locator("svg").all()
    assert len(charts) == 2  # groups of words, and training
    for chart in charts:
        box = chart.bounding_box()
        assert box["width"] > 300
        assert box["height"] > 150
    bars = tab.locator("svg .bar path").all()
    assert {bar.evaluate("bar => getComputedStyle(bar).fill") for bar in bars} >= {"rgb(0, 114, 178)"}


def test_a_broken_model_is_seen(report, opened):
    tab = opened(report_text(report, ".html"))
    row = tab.locator("tr.broken")
    assert row.count() == 1
    assert "BROKEN: future" in row.text_content()
    tab.locator("summary", has_text="cheat").click()
    assert "scores differ" in tab.locator("details[open]").text_content()


def test_runs_with_several_seeds_are_told_apart_in_tables_and_curves():
    (how,) = RESULT.trained
    curve = (Epoch(epoch=1, updates=9, train_perplexity=99.0, valid_perplexity=90.0, seconds=1.0),)
    runs = []
    for seed in ("1", "2"):
        one = signed(result("lstm", 4.0 + int(seed) / 10), model=f"lstm+{seed}", seed=seed)
        trained = replace(how, training={**how.training, "seed": int(seed)}, curve=curve)
        runs.append(replace(one, trained=(trained,)))
    report = make_report("Seeds", [*runs, result("KN-5", 5.0)])
    (table,) = report.tables
    assert [row.model for row in table.rows] == ["lstm, seed 1", "lstm, seed 2", "KN-5"]
    training = dict(report.charts)["Training"]
    assert all(f"{how.recipe}, seed {seed}" in training for seed in (1, 2))
    alone = make_report("One", [runs[0]])
    elsewhere = replace(runs[0].trained[0], data="another")
    both = make_report("Two datasets", [runs[0], replace(runs[0], trained=(elsewhere,))])
    assert all(f"{how.recipe} on {data}" in dict(both.charts)["Training"] for data in (how.data, "another"))
    assert [row.model for row in alone.tables[0].rows] == ["lstm"]
    assert "seed" not in dict(alone.charts)["Training"]
    rates = [replace(runs[0].trained[0], settings=(f"learning_rate={rate}",)) for rate in (1, 2)]
    slower = make_report("Two rates", [replace(runs[0], trained=(one,)) for one in rates])
    training = dict(slower.charts)["Training"]
    assert all(f"{how.recipe}, learning_rate={rate}" in training for rate in (1, 2))


def test_models_of_one_name_are_told_apart_in_tables_and_charts():
    """Two trainings with the same settings, as with and without a change of the code."""
    pairs = (("lstm+aaaa", 4.0), ("lstm+bbbb", 4.6))
    runs = [signed(result("lstm small", nats), model=identity) for identity, nats in pairs]
    report = make_report("Twice", [*runs, result("KN-5", 5.0)])
    names = ["lstm small, lstm+aaaa", "lstm small, lstm+bbbb", "KN-5"]
    assert [row.model for row in report.tables[0].rows] == names
    (grouping,) = groupings_of(report.tables[0])
    assert next(iter(grouping.models)) == names[0]
    assert set(grouping.models) == set(names)


def test_windows_of_two_lengths_are_two_rows():
    runs = []
    for windows, number in (("512", 16.4), ("1024", 19.4)):
        one = result("GPT-2", 4.0, articles=(Sums(nats=9.0, pieces=3),), groups=(), number=number)
        fields = {"context": "window", "vocabulary": "none", "windows": windows}
        runs.append(signed(one, **fields, convention=CONVENTIONS["gptq"]))
    infinite = replace(runs[0], model="infinite", number=None)  # as JSON holds it
    made = make_report("Windows", [*runs, infinite, result("KN-5", 5.0)])
    table = made.tables[0]
    assert {row.model: row.results["test"].number for row in table.rows} == {
        "GPT-2, windows of 512": 16.4,
        "GPT-2, windows of 1024": 19.4,
        "infinite": None,
    }
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
    assert "difference" not in of_windows  # the windows of two tokenizers are not the same passages
    assert "Intervals" not in of_windows
    assert "{difference}" in of_words


@pytest.mark.parametrize(
    ("field", "values"), [("precision", ("fp32", "bf16")), ("dropout_samples", ("10", "64"))]
)
def test_another_arithmetic_is_another_row(field, values):
    """Also if one was measured on valid, and the other on test."""
    pairs = zip(values, ("valid", "test"), strict=True)
    runs = [signed(result("lstm", 4.0, split=split), **{field: value}) for value, split in pairs]
    (table,) = make_report("Two", runs).tables
    assert [len(row.results) for row in table.rows] == [1, 1]


def test_a_model_of_somebody_with_a_published_name_has_a_row_of_its_own():
    (table,) = tables_of([result("Zoneout <LSTM>", 4.0)], PUBLISHED)
    assert [(len(row.results), row.published) for row in table.rows if row.model == "Zoneout <LSTM>"] == [
        (1, {}),
        (0, {"test": 100.9, "valid": 108.7}),
    ]


def test_a_number_that_no_float_holds_is_not_compared():
    (table,) = make_report("t", [result("huge", 800.0), result("cheat", 1.0, checks={"sum": "x"})]).tables
    assert {row.model: row.difference for row in table.rows} == {"huge": "", "cheat": ""}


def test_a_name_is_no_formula_and_turns_no_text():
    made = make_report("Foreign", [result("=HYPERLINK(1)", 4.5), result("a\u202eb", 5.0)])
    rows = list(csv.DictReader(io.StringIO(report_text(made, ".csv"))))
    assert [row["model"] for row in rows] == ["'=HYPERLINK(1)", "a\\u202eb"]
    for form in (".html", ".md", ".tex"):
        assert "\u202e" not in report_text(made, form)


def test_control_characters_of_names_are_spelled_out():
    made = make_report("t\r", [replace(result("a\rb\x1b[2J\x00\nc", 5.0), checks={"sum\x07": "too much"})])
    for text in (report_text(made, ".md"), report_text(made, ".tex")):
        assert all(character.isprintable() or character == "\n" for character in text)
        assert "a b" in text
    rows = list(csv.DictReader(io.StringIO(report_text(made, ".csv"), newline="")))
    assert [row["model"] for row in rows] == ["a\\rb\\x1b[2J\\x00\nc"]
