"""Published numbers against the tables in the paper's own source, and notes against what can be counted."""

import re
from collections import Counter

import pytest
from lm_benchmarks.reporting.published import LATER, PENN_TREEBANK, PUBLISHED, WIKITEXT_2, Published

from ps_models.models.lstm import LSTM, LSTMConfig
from ps_models.models.pointer_sentinel import PointerSentinelConfig, PointerSentinelLSTM
from tests.conftest import DATA


def rows_of_the_paper(label: str) -> list[list[str]]:
    """The cells of a table in the paper's LaTeX, without their marks."""
    path = DATA.parent / "design" / "paper-pointer-sentinel-mixture-models.tex"
    if not path.exists():
        pytest.skip("needs the LaTeX source of arXiv 1609.07843, which is not part of the project")
    tables = path.read_text(encoding="utf-8").split(r"\begin{table*}")
    (table,) = [table for table in tables if rf"\label{{{label}}}" in table]
    table = table.replace(r"\mathbf", "").replace(r"^\ddagger", "‡")
    rows = [row for row in table.split(r"\\") if row.count("&") == 3 and "Parameters" not in row]
    return [[re.sub(r"[${}]", "", cell).strip() for cell in row.split("&")] for row in rows]


def cells_of(row: Published) -> list[str]:
    return [row.parameters, *(str(row.perplexities.get(split, "-")) for split in ("valid", "test"))]


@pytest.mark.parametrize(
    ("label", "rows"), [("table:PTBresults", PENN_TREEBANK), ("table:WikiText2results", WIKITEXT_2)]
)
def test_rows_are_the_papers(label, rows):
    paper = rows_of_the_paper(label)
    assert [cells_of(row) for row in rows] == [
        [parameters, valid.split()[0], test.split()[0]] for _, parameters, valid, test in paper
    ]
    for row, (_, _, valid, test) in zip(rows, paper, strict=True):
        for cell in (valid, test):
            if r"\pm" in cell:
                assert f"± {cell.split()[-1]}" in row.note


def test_estimated_counts_say_so():
    assert all(("‡" in row.parameters) == ("is an estimate" in row.note) for row in PUBLISHED)


def test_each_row_has_a_source_and_stands_once():
    assert all(re.search(r"\(20\d\d\)|\(github\.com/", row.source) for row in PUBLISHED)
    assert max(Counter((row.model, row.data) for row in PUBLISHED).values()) == 1
    assert all(row.perplexities.keys() <= {"valid", "test"} and row.perplexities for row in PUBLISHED)
    assert {row.data for row in LATER} == {"ptb", "wikitext-2", "wikitext-103"}


@pytest.mark.parametrize(
    ("model", "size", "shown"),
    [
        (LSTM(LSTMConfig(vocab_size=2)), 650, "50.0 M"),
        (PointerSentinelLSTM(PointerSentinelConfig(vocab_size=2)), 650, "50.5 M"),
    ],
    ids=["lstm", "pointer-sentinel-lstm"],
)
def test_counts_of_parameters_that_notes_tell(model, size, shown):
    two_words = sum(parameter.numel() for parameter in model.parameters())
    untied = two_words + 33_276 * 2 * size  # an embedding and a row of the softmax per word
    assert f"{untied / 1e6:.1f} M" == shown
    tied = f"{(untied - 33_278 * size) / 1e6:.1f} M if tied"
    notes = [row.note for row in WIKITEXT_2]
    assert any(shown in note for note in notes)
    assert any(shown in note and tied in note for note in notes)
