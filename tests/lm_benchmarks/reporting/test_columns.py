"""What a reader of tables wants: the best first and bold, chosen columns, no hashes, nothing hidden."""

import csv
import html
import io
import re

import pytest
from lm_benchmarks.choices import HarnessError
from lm_benchmarks.cli import commands
from lm_benchmarks.metrics import Sums
from lm_benchmarks.records import TokenGroup, append_record
from lm_benchmarks.reporting.collect import arranged, groupings_of
from lm_benchmarks.reporting.published import FILES, OFFICIAL, Published
from lm_benchmarks.reporting.report import make_report, report_text, write_figures
from msgspec.structs import replace

from tests.command import invoke
from tests.lm_benchmarks.results import result, signed

MODELS = {"LSTM of a long name": 4.5, "KN-5": 5.4, "KN-5 + cache": 5.3, "unigram": 6.4, "same": 4.5000001}
LABELS = ("1-9", "10-99", "100-999", "1,000-9,999", "10,000-99,999", "<eos>", "<unk>")


def grouped(nats):
    return tuple(
        TokenGroup(by=by, label=label, tokens=1000, nats=1000 * (nats + place / 10))
        for by in ("frequency", "position")
        for place, label in enumerate(LABELS)
    )


@pytest.fixture(scope="module")
def report():
    results = [result(name, nats, split) for name, nats in MODELS.items() for split in ("valid", "test")]
    results = [replace(one, groups=grouped(MODELS[one.model])) for one in results]
    cheat = result("cheat", 1.0, checks={"sum": "1.3"})
    paper = Published(model="Paper", data="wikitext-2", perplexities={"test": 85.0})
    return make_report("Five", [*results, cheat], published=[paper])


BOLD = {
    ".md": r"\*\*([\d.,]+)\*\*",
    ".tex": r"\\textbf\{([\d.,]+)\}",
    ".html": r"<td[^>]*><b>([\d.,]+)</b></td>",
}


def test_the_best_is_first_and_bold(report):
    """Also what looks like it; not what breaks laws, nor the one published number of a column."""
    (table,) = report.tables
    assert [row.model for row in table.rows] == ORDERS[""]
    for ending, bold in BOLD.items():
        table_alone = re.split(r"By frequency|\\bottomrule", report_text(report, ending))[0]
        assert re.findall(bold, table_alone) == ["90.02", "90.02", "1.2984", "90.02", "90.02", "1.2984"]


def test_ranks_are_intervals_of_those_that_compare(report):
    """The numbers of two models differ by less than rounding; a cheat and a published number have no rank."""
    (table,) = report.tables
    ranks = ["", "1-2", "1-2", "3", "4", "5", ""]
    assert [row.ranks for row in table.rows] == list(table.frame["rank on test"]) == ranks
    assert set(table.numbers["rank"]) == set(ranks)
    few = [replace(one, articles=one.articles[:4]) for one in report.results]
    (unranked,) = make_report("Few", few).tables
    assert not any(row.ranks for row in unranked.rows)
    assert "rank on test" not in unranked.frame
    noted = [any(note.startswith("Rank: ") for note in one.notes) for one in (table, unranked)]
    assert noted == [True, False]


def test_the_best_of_each_group_is_bold(report):
    (frequency, _) = groupings_of(report.tables[0])
    assert sorted(frequency.frame.attrs["best"]) == [(row, place) for row in range(7) for place in (2, 3)]
    text = report_text(report, ".md").split("### By ")[1]
    assert text.count("**4.5000** | **4.5000** | 5.3000") == 1


def test_captions_have_no_hash_and_signatures_a_table(report):
    hashed = re.compile(f"{OFFICIAL['wikitext-2'].partition('+')[2]}|{FILES['wikitext-2']['test']}")
    (table,) = report.tables
    assert "vocabulary (33,278 words)" in table.caption
    assert not hashed.search(table.caption + table.title)
    for ending in BOLD:
        text = html.unescape(report_text(report, ending)).replace("\\|", "|")
        start = {".md": "| model | split | sig", ".tex": "% What decides", ".html": "<h2>Signatures"}
        before, _, after = text.partition(start[ending])
        assert not hashed.search(before.split("<body>")[-1])
        for one in report.results:
            assert str(one.signature) in after


def test_versions_of_a_split_are_counted():
    one, other = (signed(result("KN-5", 5.0), data=f"wikitext-2+{digits}") for digits in ("aaaa", "bbbb"))
    tables = make_report("Two", [one, replace(other, model="x")]).tables
    assert [table.title for table in tables] == ["wikitext-2, version 1", "wikitext-2, version 2"]
    assert [table.data for table in tables] == ["wikitext-2+aaaa", "wikitext-2+bbbb"]


def test_a_header_promises_an_interval_only_if_there_is_one(report):
    few = [
        replace(result(name, nats), articles=(Sums(nats=nats * 100, tokens=100, text_bytes=500),) * 3)
        for name, nats in MODELS.items()
    ]
    for made, promised in ((report, True), (make_report("Few", few), False)):
        (table,) = made.tables
        (head,) = [one for one in table.heads if one.startswith("difference")]
        assert ("[95 %]" in head) == promised
        cells = [cell for cell in table.frame[head] if cell.startswith("+")]
        assert len(cells) >= 3
        assert all(("[" in cell) == promised for cell in cells)
        assert ("Intervals" in report_text(made, ".tex")) == promised
        assert ("No interval: 3 passages: too few for an interval." in table.notes) == (not promised)


ORDERS = {
    "": ["Paper", "LSTM of a long name", "same", "KN-5 + cache", "KN-5", "unigram", "cheat"],
    "perplexity test": ["LSTM of a long name", "same", "KN-5 + cache", "KN-5", "unigram", "Paper", "cheat"],
    "-perplexity": ["unigram", "KN-5", "KN-5 + cache", "same", "LSTM of a long name", "Paper", "cheat"],
    "-rank": ["unigram", "KN-5", "KN-5 + cache", "LSTM of a long name", "same", "Paper", "cheat"],
    "difference": ["LSTM of a long name", "same", "KN-5 + cache", "KN-5", "unigram", "Paper", "cheat"],
    "model": ["KN-5", "KN-5 + cache", "LSTM of a long name", "Paper", "same", "unigram", "cheat"],
    "published": ["Paper", "LSTM of a long name", "same", "KN-5 + cache", "KN-5", "unigram", "cheat"],
}


def test_rows_are_sorted_by_a_column(report):
    """What has no value comes after what has one, and models that break laws last."""
    orders = {sort: [row.model for row in arranged(report.tables, sort=sort)[0].rows] for sort in ORDERS}
    assert orders == ORDERS


def test_a_model_of_another_split_is_sorted_by_its_parameters():
    results = [
        replace(result(name, 5.0, split=split), parameters=count)
        for name, split, count in (("A", "valid", 100), ("B", "test", 200), ("C", "test", 50))
    ]
    (table,) = arranged(make_report("t", results).tables, sort="parameters")
    assert [row.model for row in table.rows] == ["C", "A", "B"]


def test_columns_are_chosen_as_they_are_printed(report):
    bits = ["model", "bits per byte test", "perplexity valid", "perplexity test"]
    for wanted, columns in (
        (["perplexity test", "parameters"], ["model", "perplexity test", "parameters"]),
        (["bits", "perplexity"], bits),
        (["invariants", "model"], ["model", "invariants"]),
    ):
        assert list(arranged(report.tables, columns=wanted)[0].frame.columns) == columns
    (table,) = arranged(report.tables, columns=["perplexity", "split"], csv=True)
    assert list(table.numbers.columns) == ["model", "perplexity", "split"]


def test_an_unknown_column_is_refused_with_the_list(report):
    for options in ({"columns": ["perplexity", "bit"]}, {"sort": "-bit"}):
        with pytest.raises(HarnessError, match=r"no column 'bit'; there are: model; .*; invariants"):
            arranged(report.tables, **options)
    with pytest.raises(HarnessError, match=r"no column 'perplexity test'; there are: data; .*; perplexity; "):
        arranged(report.tables, columns=["perplexity test"], csv=True)


@pytest.mark.parametrize("width", [1280, 390])
def test_six_models_fit_without_hidden_columns(report, opened, width):
    six = [*report.results, result("a sixth model of a name that is rather long", 5.0, groups=grouped(5.0))]
    numbers = {"test": 180.25, "valid": 190.5}
    papers = [Published(model=f"Paper number {n}", data="wikitext-2", perplexities=numbers) for n in "ab"]
    tab = opened(report_text(make_report("Six", six, published=papers), ".html"), width=width)
    hides = "[...document.querySelectorAll('.wide, svg')].some(one => one.scrollWidth > one.clientWidth)"
    assert not tab.evaluate(hides)
    boxes = [box for cell in tab.locator("td").all() if (box := cell.bounding_box())]
    assert [box for box in boxes if not 0 <= box["x"] <= box["x"] + box["width"] <= width] == []


def test_each_chart_is_a_file_of_each_kind_with_the_same_bytes_again(report, tmp_path):
    chart = groupings_of(report.tables[0])[0].chart
    assert re.search(r"<svg [^>]*><title>nats per token above the best model, by frequency</title>", chart)
    assert "<title>KN-5, &lt;eos&gt;: +0.9000</title>" in chart
    files = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        write_figures(report, folder)
        files.append({path.name: path.read_bytes() for path in folder.iterdir()})
    stems = ["wikitext-2-by-frequency", "wikitext-2-by-position"]
    assert sorted(files[0]) == [f"{stem}{ending}" for stem in stems for ending in (".pdf", ".png", ".svg")]
    assert files[0] == files[1]
    assert b">0: LSTM of a long name</text>" in files[0]["wikitext-2-by-position.svg"]
    assert not re.search(rb"CreationDate|ModDate|Type3", files[0]["wikitext-2-by-position.pdf"])


def test_the_command_takes_columns_and_a_sort(report, tmp_path):
    for one in report.results:
        append_record(tmp_path / "results.jsonl", one)
    words = ["report", tmp_path / "results.jsonl", "--out", tmp_path / "out.csv", "--no-published"]
    words += ["--columns", "perplexity, split", "--sort", "-perplexity"]
    invoke(commands, *words)
    rows = list(csv.DictReader(io.StringIO((tmp_path / "out.csv").read_text())))
    assert list(rows[0]) == ["model", "perplexity", "split"]
    assert [row["model"] for row in rows[::2]][:2] == ["unigram", "KN-5"]
