"""The page of all rows: cells hold what was measured, and what is in none is named with the reason."""

import re

from lm_benchmarks.records import read_results
from msgspec.structs import replace
from rows import DATASETS, rows_page

from ps_models.models.interpolation import GRID
from tests.conftest import ROOT
from tests.lm_benchmarks.reporting.test_published import TRAINED, measured
from tests.lm_benchmarks.results import signed


def cells(page, name):
    """Of the row in the table of PTB, without its name."""
    (line,) = re.findall(rf"^\| {re.escape(name)} \| (.*) \|$", page.split("## WikiText-2")[0], re.MULTILINE)
    return line.split(" | ")


def test_cells_hold_what_was_measured_and_nothing_else():
    other = replace(TRAINED, settings=("hidden_size=9",))
    own = replace(measured("", 1.0), model="LSTM Gal medium", specification="mine:model")
    results = [
        measured("lstm/small", 5.5, specification="runs/first"),
        measured("lstm/small", 5.0),
        measured("lstm/small", 5.2, split="valid"),
        measured("lstm/zaremba-medium", 4.0, checks={"future": "peeks"}),
        measured("cache:lstm/zoneout-small", 4.5),
        *(signed(measured("kn-5", nats), seed=seed) for nats, seed in ((5.0, "1"), (5.2, "2"))),
        own,
        measured("lstm/small", 4.0, specification="runs/other", trained=(other,)),
        signed(measured("kn-5", 5.0, specification="kn-5"), context="article"),
    ]
    page = rows_page(results)
    small, broken = "181.27 / 148.41", "– / 54.60 BROKEN"
    assert cells(page, "LSTM Zaremba medium") == ["86.2 / 82.7", small, broken, "not yet"]
    assert cells(page, "LSTM Zaremba large") == ["82.2 / 78.4", small, "not yet", "–"]
    assert cells(page, "LSTM Gal medium")[2] == "not yet"
    assert cells(page, "LSTM zoneout medium") == ["84.4 / 80.6", "not yet", "not yet", "not yet"]
    assert cells(page, "LSTM zoneout + neural cache") == ["–", "– / 90.02", "not yet", "not yet"]
    assert cells(page, "KN-5")[2] == "– / 164.02 (2 seeds ± – / 23.23)"
    assert page.partition("## Left out")[2].splitlines()[4:] == [
        "- runs/first on ptb (test): its recipe has no row, or another run stands in its place",
        "- mine:model on ptb (test): it is not a model of ours: the table shows recipes of rows.toml",
        "- runs/other on ptb (test): its settings are not those of the preset: hidden\\_size",
        "- kn-5 on ptb (test): it is not the official file, with its vocabulary, read as papers do",
    ]


def test_the_page_of_our_records_has_our_numbers():
    results = [one for data in DATASETS for one in read_results(ROOT / f"benchmarks/results/{data}.jsonl")]
    page = rows_page(results)
    assert page == (ROOT / "docs" / "rows.md").read_text(encoding="utf-8"), (
        "docs/rows.md is stale: python benchmarks/rows.py benchmarks/results docs/rows.md"
    )
    assert cells(page, "KN-5") == ["– / 141.2", "–", "148.01 / 141.19", "–"]
    assert cells(page, "Pointer Sentinel-LSTM medium")[3].startswith("65.36 / 64.43 (28 epochs, 3 seeds ± ")
    readme = (ROOT / "README.md").read_text(encoding="utf-8").partition("| | PTB: ours |")[2]
    numbers = set(re.findall(r"\d+\.\d+", readme.partition("\n\n")[0]))
    assert len(numbers) > 20
    assert {number for number in numbers if number not in page} == set()


def test_records_of_caches_are_the_choice_of_the_grid_of_the_code():
    """A grid that grows after a test number was seen has chosen by it."""
    tuned = {f"{one.window}.{one.decay:g}" for one in GRID}
    records = [one for data in DATASETS for one in read_results(ROOT / f"benchmarks/results/{data}.jsonl")]
    chosen = {one.signature["cache"].rpartition(".0.")[0] for one in records if one.recipe == "kn-5+cache"}
    assert chosen == {"2000.0.99", "2000.0.995"} <= tuned
