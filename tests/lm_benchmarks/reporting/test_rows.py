"""The table of all rows: each link is to a preset that exists, no number is invented, the page is fresh."""

import csv
import io
import math
import re
import statistics

import lm_benchmarks as lb
import pytest
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.measuring.models import NAMES
from lm_benchmarks.record_versions import append_record
from lm_benchmarks.reporting.collect import tables_of
from lm_benchmarks.reporting.published import (
    FILES,
    OFFICIAL,
    PENN_TREEBANK,
    PUBLISHED,
    ROWS,
    TRAIN,
    WIKITEXT_2,
    is_trained_on,
    published_name,
)
from lm_benchmarks.reporting.rows import DATASETS, read_records, rows_csv, rows_page
from msgspec.structs import replace

from ps_models.configs import PRESETS
from ps_models.training.checkpoint import BEST
from tests.conftest import ROOT, data
from tests.lm_benchmarks.records.test_result import RESULT, signed
from tests.lm_benchmarks.reporting.test_page import result
from wikitext_builder.dataset.load import load as load_dataset
from wikitext_builder.hashing import file_sha256

RECORDS = ROOT / "benchmarks" / "results"
RECIPES = sorted(
    {
        recipe
        for row in ROWS
        for recipe in (row.small, row.full, *row.full_on.values(), *(one.recipe for one in row.own))
        if recipe
    }
)

FIELDS = {"vocab_size": 3, "zoneout_outputs": False}
TRAINED = replace(RESULT.trained[0], train_sha256=TRAIN["ptb"], model=FIELDS)


def measured(recipe, nats, split="test", **changes):
    found = replace(result("any", nats, split=split), recipe=recipe, **changes)
    fields = {"data": f"ptb+{FILES['ptb'][split]}", "vocabulary": OFFICIAL["ptb"]}
    fields |= {"model": f"{recipe}+{TRAIN['ptb']}"} if recipe in NAMES else {}
    return signed(found, **fields)


def cells(page, name, dataset=0):
    """Of the line of a row in the table of PTB (0) or WikiText-2 (1)."""
    lines = page.split("## WikiText-2")[dataset].splitlines()
    (line,) = [line for line in lines if line.startswith(f"| {name} |")]
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


@pytest.mark.parametrize("recipe", RECIPES)
def test_each_recipe_is_a_model_and_a_preset_that_exist(recipe):
    parts = recipe.removeprefix("mix:").removeprefix("mc:").removeprefix("cache:").split(",")
    for part in parts:
        model, _, preset = part.partition("/")
        assert part in NAMES or preset in PRESETS[model]


def test_each_row_of_the_paper_and_each_published_one_on_a_dataset_is_there_once():
    names = [row.name for row in ROWS]
    assert len(names) == len(set(names))
    assert {row.model for row in (*PENN_TREEBANK, *WIKITEXT_2)} <= set(names)
    assert {row.model for row in PUBLISHED if row.data in DATASETS} <= set(names)
    assert all(row.full for row in ROWS if row.one_size)


def test_cells_hold_what_was_measured_and_nothing_else():
    results = [
        measured("lstm/small", 5.0),
        measured("lstm/small", 5.2, split="valid"),
        measured("lstm/zaremba-medium", 4.0, checks={"future": "peeks"}),
        measured("cache:lstm/zoneout-small", 4.5),
        replace(measured("", 1.0), model="LSTM Gal medium"),  # somebody else's, of the same name
    ]
    page = rows_page(results)
    small, broken = "181.27 / 148.41", "– / 54.60 BROKEN"
    assert cells(page, "LSTM Zaremba medium") == ["86.2 / 82.7", small, broken, "not yet"]
    assert cells(page, "LSTM Zaremba large") == ["82.2 / 78.4", small, "not yet", "–"]
    assert cells(page, "LSTM Gal medium")[2] == "not yet"
    assert cells(page, "LSTM zoneout medium") == ["84.4 / 80.6", "not yet", "not yet", "not yet"]
    assert cells(page, "LSTM zoneout + neural cache") == ["–", "– / 90.02", "not yet", "not yet"]
    assert cells(page, "KN-5") == ["– / 141.2", "–", "not yet", "–"]


def test_our_own_training_of_the_published_size_says_how_it_differs():
    result = measured("lstm/medium-tied-sgd", 4.2, parameters=13_200_000)
    cell = cells(rows_page([result]), "LSTM zoneout medium")[3]
    assert cell.startswith("– / 66.69; 13.2 M; tied; ")
    assert "Also" not in cell


def test_the_best_of_our_own_trainings_on_valid_comes_first():
    name = "Pointer Sentinel-LSTM medium"
    recipes = ("pointer-sentinel-lstm/medium-tied", "pointer-sentinel-lstm/medium-tied-sgd")
    for one, other in (recipes, recipes[::-1]):
        results = [measured(one, 4.1, "valid"), measured(other, 4.3, "valid"), measured(other, 4.0, "test")]
        best, also = cells(rows_page(results), name)[3].split(". Also ")
        assert best.startswith("60.34 / –; ")
        assert also.startswith("73.70 / 54.60; ")
        assert ("AdamW" in best) == (one == recipes[0])


def test_several_seeds_of_a_recipe_are_one_number_with_their_spread():
    recipe = "lstm/zaremba-medium"

    def run(nats, seed, split):
        return signed(measured(recipe, nats, split), seed=seed)

    tests = [run(nats, seed, "test") for nats, seed in ((4.40, "1"), (4.42, "2"), (4.44, "3"), (4.38, "1"))]
    page = rows_page([*tests, run(4.5, "1", "valid")])
    geometric, deviation = (
        math.exp((4.38 + 4.42 + 4.44) / 3),
        statistics.stdev(map(math.exp, (4.38, 4.42, 4.44))),
    )
    cell = cells(page, "LSTM Zaremba medium")[2]
    assert cell == f"90.02 / {geometric:.2f} (3 seeds ± – / {deviation:.2f})"
    assert page.count(f"- {recipe} on ptb") == 3
    assert len(rows_csv(tests).splitlines()) == 1 + 3 + sum(
        len(row.perplexities)
        for row in PUBLISHED
        if row.data in FILES and row.model in {one.name for one in ROWS}
    )


def test_a_seed_that_diverged_has_no_spread():
    runs = [
        signed(measured("lstm/zaremba-medium", nats), seed=seed) for nats, seed in ((4.4, "1"), (2e3, "2"))
    ]
    assert cells(rows_page(runs), "LSTM Zaremba medium")[2] == "– / inf (2 seeds ± – / –)"


def trained_for(nats, seed, budget, best, split="test"):
    """A run that may train for `budget` epochs, whose best checkpoint is of epoch `best`."""
    training = {**TRAINED.training, "epochs": budget}
    trained = replace(TRAINED, settings=(f"epochs={budget}",), training=training, epochs=best)
    return signed(measured("lstm/small", nats, split, trained=(trained,)), seed=seed)


@pytest.mark.parametrize(
    ("runs", "shown"),
    [
        ([(5.0, "1", 4, 4), (5.2, "3", 4, 4), (6.0, "7", 1, 1)], f"{math.exp(5.1):.2f} (4 epochs, 2 seeds"),
        ([(6.0, "1", 20, 20), (5.0, "2", 40, 15)], f"{math.exp(5.0):.2f} (15 epochs"),  # what was allowed
    ],
)
def test_runs_of_other_budgets_are_no_seeds_of_a_recipe_and_the_longest_budget_counts(runs, shown):
    page = rows_page([trained_for(*run) for run in runs])
    assert cells(page, "LSTM Zaremba medium")[1].startswith(f"– / {shown}")


def test_valid_and_test_of_a_cell_are_of_one_budget():
    short, long = (trained_for(5.0, "1", budget, budget, "valid") for budget in (4, 40))
    test = trained_for(5.2, "1", 4, 4)
    assert cells(rows_page([short, test, long]), "LSTM Zaremba medium")[1] == "148.41 / – (40 epochs)"
    later = rows_page([long, trained_for(5.1, "1", 40, 40), short, test])  # the short run measured last
    assert cells(later, "LSTM Zaremba medium")[1] == "148.41 / 164.02 (40 epochs)"


def test_our_own_training_for_another_dataset_is_no_row_of_this_one():
    recipe = "lstm/medium-tied-wikitext-2-long"
    assert cells(rows_page([measured(recipe, 4.2)]), "LSTM zoneout medium")[3] == "not yet"
    row = next(row for row in ROWS if row.name == "LSTM zoneout medium")
    assert (row.recipe("wikitext-2", "own"), row.recipe("ptb", "own")) == (recipe, "lstm/medium-tied-sgd")


def test_how_long_a_small_size_was_trained_stands_beside_it():
    result = measured("lstm/small", 5.0)
    for epochs, shown in ((1, "1 epoch"), (4, "4 epochs")):
        page = rows_page([replace(result, trained=(replace(TRAINED, epochs=epochs),))])
        assert cells(page, "LSTM Zaremba medium")[1] == f"– / 148.41 ({shown})"


def test_the_official_files_are_those_that_are_said():
    for name, files in FILES.items():
        dataset = load_dataset(data(name))
        assert files == {split: file_sha256(dataset.file(split))[:8] for split in files}


def test_other_files_and_other_conventions_are_no_rows():
    one = measured("kn-5", 5.0)
    for field, value in (
        ("context", "article"),
        ("vocabulary", "99+ab"),
        ("data", "mine+ab"),
        ("data", "ptb+ab"),
        ("model", "kn-5+ab"),  # counted on another train file
    ):
        assert cells(rows_page([signed(one, **{field: value})]), "KN-5")[2] == "not yet"
    assert cells(rows_page([one]), "KN-5")[2] == "– / 148.41"


@pytest.mark.parametrize(
    ("changed", "shown"),
    [
        ({"settings": ("hidden_size=20",)}, "not yet"),
        ({"epochs": 0}, "not yet"),
        ({"train_sha256": "ab"}, "not yet"),
        ({"settings": ("epochs=4", "precision=bf16", "seed=3")}, "– / 148.41 (4 epochs)"),
    ],
)
def test_a_run_with_other_settings_or_text_or_without_an_epoch_is_no_row(changed, shown):
    one = measured("lstm/small", 5.0)
    trained = replace(TRAINED, **{"settings": (), "epochs": 4, **changed})
    assert cells(rows_page([replace(one, trained=(trained,))]), "LSTM Zaremba medium")[1] == shown


def test_a_small_size_has_no_published_number_beside_it_and_a_full_size_has():
    papers = [row for row in PUBLISHED if row.data == "ptb"]
    results = [
        replace(measured("lstm/small", 5.0), model="LSTM Zaremba medium"),
        measured("lstm/gal-large", 4.0),
    ]
    (table,) = tables_of(results, papers)
    found = {row.model: row.published for row in table.rows if row.results}
    assert found == {"LSTM Zaremba medium": {}, "any": {"valid": 77.9, "test": 75.2}}
    assert published_name("", "ptb") == ""


def test_a_model_of_another_train_file_has_no_published_number_beside_it():
    papers = [row for row in PUBLISHED if row.data == "ptb"]
    one = measured("kn-5", 5.0)
    other = signed(one, model="kn-5+ab")
    trained = replace(measured("lstm/gal-large", 4.0), trained=(replace(TRAINED, train_sha256="ab"),))
    for found, counts in ((one, True), (other, False), (trained, False)):
        (table,) = tables_of([found], papers)
        assert any(row.results and row.published for row in table.rows) == counts
    mixed = replace(other, recipe="mix:lstm/small,kn-5")
    assert (is_trained_on(mixed, "ab"), is_trained_on(mixed, TRAIN["ptb"])) == (True, False)


def test_a_run_of_a_preset_that_has_changed_is_no_row():
    """Four runs on PTB had `zoneout_outputs`, which their presets no longer have."""
    one = measured("lstm/small", 5.0)
    for found, shown in ((FIELDS, "– / 148.41 (4 epochs)"), ({**FIELDS, "layers": 7}, "not yet")):
        trained = replace(TRAINED, settings=(), epochs=4, model=found)
        assert cells(rows_page([replace(one, trained=(trained,))]), "LSTM Zaremba medium")[1] == shown


@pytest.mark.parametrize(
    ("settings", "epochs", "counts"),
    [
        ((), 3, True),
        (("precision=bf16", "seed=7"), 3, True),
        ((), 2, False),
        (("input_dropout=0.1",), 3, False),
        (("epochs=3", "precision=bf16"), 3, False),
    ],
)
def test_a_full_size_is_one_that_was_trained_as_published_to_the_end(settings, epochs, counts):
    curve = tuple(replace(TRAINED.curve[0], epoch=number + 1) for number in range(epochs))
    training = {"seed": 1, "epochs": 3, "patience": 0}
    recipe = "lstm/zoneout-medium"
    trained = replace(TRAINED, recipe=recipe, settings=settings, curve=curve, training=training, epochs=2)
    found = measured(recipe, 4.0, trained=(trained,))
    assert cells(rows_page([found]), "LSTM zoneout medium")[2] == (
        "– / 54.60 (2 epochs)" if counts else "not yet"
    )
    (table,) = tables_of([found], [row for row in PUBLISHED if row.data == "ptb"])
    assert any(row.results and row.published for row in table.rows) == counts


def test_the_page_is_made_of_the_records():
    page = (ROOT / "docs" / "rows.md").read_text(encoding="utf-8")
    assert page == rows_page(read_records(RECORDS)), (
        "docs/rows.md is stale: lm-benchmarks rows benchmarks/results --out docs/rows.md"
    )


def test_a_folder_without_results_is_an_error(tmp_path):
    with pytest.raises(HarnessError, match=r"no results; expected .*wikitext-2\.jsonl"):
        lb.rows(tmp_path, tmp_path / "rows.md")


def test_runs_that_the_table_leaves_out_are_named_with_the_reason(tmp_path, caplog):
    """They were dropped without a word, under a header about the page of this project."""
    setting = replace(TRAINED, settings=("hidden_size=9",))
    own = replace(measured("", 4.0), model="mine", specification="mine:model")
    results = [
        measured("kn-5", 5.0, "valid", specification="kn-5"),
        signed(measured("kn-5", 5.0, specification="kn-5"), context="article"),
        own,
        measured("lstm/small", 4.0, specification="runs/other", trained=(setting,)),
        measured("lstm/nobody", 4.0, specification="runs/nobody"),
        measured("lstm/small", 4.2, specification="runs/first"),
        measured("lstm/small", 4.1, specification="runs/second"),
        signed(measured("kn-5", 5.0, specification="kn-5"), data="mine+12345678"),
    ]
    for one in results:
        append_record(tmp_path / "ptb.jsonl", one)
    (tmp_path / "more.jsonl").write_text("", encoding="utf-8")
    (tmp_path / "lstm-small-seed1").mkdir()
    (tmp_path / "lstm-small-seed1" / BEST).touch()
    caplog.set_level("WARNING", logger="lm_benchmarks")
    page = lb.rows(tmp_path, tmp_path / "rows.md").read_text(encoding="utf-8")
    expected = {
        "kn-5 on ptb (test)": "in one pass, by words",
        "mine:model on ptb (test)": "not a model of ours",
        "runs/other on ptb (test)": "hidden_size",
        "runs/nobody on ptb (test)": "lstm/nobody has no row in the table of ptb",
        "runs/first on ptb (test)": "a later result",
        "kn-5 on mine (test)": "the table has ptb and wikitext-2",
    }
    lines = [line for line in page.partition("## Left out")[2].splitlines() if line.startswith("- ")]
    assert len(lines) == len(expected)
    for name, why in expected.items():
        (line,) = [one for one in lines if one.startswith(f"- {name}: ")]
        assert why in line.replace("\\", "")
        assert line.removeprefix("- ").replace("\\", "") in caplog.text
    assert "more.jsonl: only ptb.jsonl and wikitext-2.jsonl are read" in caplog.text
    assert "lstm-small-seed1: trained, and without a result" in caplog.text
    assert "benchmarks/results" not in page
    assert "Left out" not in rows_page(results[:1])


OURS = {  # rows of the README's second table, which say what was trained, and rows of the page
    "KN-5": "KN-5",
    "KN-5 + cache": "KN-5 + cache",
    "variational LSTM with Gal's settings, not tied": "LSTM Gal medium",
    "tied variational LSTM, our training": "LSTM zoneout medium",
    "the same with a neural cache": "LSTM zoneout + neural cache",
    "the same, trained like the pointer": "LSTM zoneout medium",
    "tied pointer sentinel-LSTM, our training": "Pointer Sentinel-LSTM medium",
}


def test_the_readme_shows_numbers_of_the_page():
    page = (ROOT / "docs" / "rows.md").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8").partition("| as the paper prints them |")[2]
    tables = [
        re.findall(r"^\| (.+?) \| (.+?) \| (.+?) \|$", one, re.MULTILINE) for one in readme.split("\n\n")[:2]
    ]
    published, (_, *ours) = tables  # the second one begins with its head
    assert len(published) == 5
    assert [name for name, *_ in ours] == [*OURS]
    for name, *numbers in published:
        for dataset, number in enumerate(numbers):
            assert number in ("–", cells(page, name, dataset)[0])
    for name, *numbers in ours:
        for dataset, number in enumerate(numbers):
            row = cells(page, OURS[name], dataset) if number != "–" else []
            shown = re.compile(rf"(?:^|Also ){re.escape(number)}")
            assert number == "–" or any(map(shown.search, row[1:])), (name, number)


def test_csv_has_the_same_numbers_not_rounded():
    results = [measured("lstm/small", 5.0), measured("lstm/zaremba-medium", 4.0, checks={"future": "peeks"})]
    lines = list(csv.DictReader(io.StringIO(rows_csv(results))))
    medium = {(line["split"], line["size"]): line for line in lines if line["model"] == "LSTM Zaremba medium"}
    assert float(medium["valid", "published"]["perplexity"]) == 86.2
    assert float(medium["test", "published"]["perplexity"]) == 82.7
    assert float(medium["test", "small"]["perplexity"]) == pytest.approx(math.exp(5.0), rel=1e-12)
    assert medium["test", "full"]["broken"] == "future"
    assert ("valid", "full") not in medium
    assert {line["data"] for line in lines} == set(DATASETS)
