"""The plan of a table, and what a folder says about its rows."""

import math

import lm_benchmarks as lb
import pytest
from lm_benchmarks.choices import SIZES
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.record_versions import append_record
from lm_benchmarks.records import read_curve
from lm_benchmarks.reporting.published import ROWS, TRAINED
from lm_benchmarks.reproducing.reproduce import Conditions, plan, settings_text
from msgspec.structs import replace

from ps_models.configs import PRESETS
from tests.lm_benchmarks.records.test_result import RESULT, signed

ROW, RUN = "mix:rnn-lda/small,kn-5+cache", "rnn-lda-small-seed1"  # the row of these tests, its training


@pytest.mark.parametrize("table", ["ptb", "wikitext-2"])
@pytest.mark.parametrize("size", SIZES)
def test_a_plan_has_models_with_presets_and_an_unknown_row_is_answered_by_its_rows(table, size):
    for _, recipe, _ in plan(table, size):
        models = TRAINED.findall(recipe)
        assert len(models) <= 1  # a row has one folder of a training
        assert all(preset in PRESETS[model] for model, preset in (one.split("/") for one in models))
    with pytest.raises(HarnessError, match="LSTM Nobody: no such row") as error:
        plan(table, size, names=("LSTM Nobody",))
    _, *offered = str(error.value).split("\n  ")  # names have commas, so they stand on lines of their own
    assert offered == list(dict.fromkeys(name for name, _, _ in plan(table, size)))
    assert [name for name, _, _ in plan(table, size, names=offered)] == offered
    assert {"KN-5", "KN-5 + cache"} <= set(offered)  # what only counts has one size
    assert any("," in row.name for row in ROWS)


@pytest.mark.parametrize(
    ("table", "size", "names", "recipes"),
    [
        ("ptb", "full", ("KN-5", "lstm/gal-medium"), ["kn-5", "lstm/gal-medium"]),
        ("ptb", "small", ("charcnn", "RNN"), ["char-cnn/small", "rnn/elman"]),
        ("wikitext-2", "small", ("CharCNN",), ["char-cnn/small"]),  # published on the other table only
        # Our own training stands for the published one where there is one.
        ("ptb", "own", ("LSTM Gal large", "LSTM Gal medium"), ["lstm/gal-large", "lstm/gal-medium-short"]),
    ],
)
def test_rows_keep_the_order_in_which_they_were_asked_for(table, size, names, recipes):
    found = plan(table, size, names=names, seeds=(1, 2, 2))
    assert [(recipe, seed) for _, recipe, seed in found] == [
        (recipe, seed) for recipe in recipes for seed in ((1, 2) if "/" in recipe else (1,))
    ]  # what is not trained has one row, whatever the seeds
    assert "CharCNN" not in [name for name, _, _ in plan("wikitext-2", size)]


@pytest.mark.parametrize(
    ("out", "options", "said"),
    [
        ("runs", {"settings": ("seed=5",)}, "use --seed"),
        ("a,b", {}, "a comma or colon separates"),
        ("a:b", {}, "a comma or colon separates"),
        ("runs", {"hours": math.nan}, "expected 0 or more"),
    ],
)
def test_what_would_end_wrong_is_refused_before_any_training(tmp_path, out, options, said):
    with pytest.raises(HarnessError, match=said):
        lb.reproduce("ptb", tmp_path / "no data", tmp_path / out, **options)
    assert not (tmp_path / out).exists()


def planned(data, folder, rows=(ROW,), **options):
    """A dry run."""
    settings = ("epochs=2", "patience=0")
    options = {"size": "small", "rows": rows, "settings": settings, "dry_run": True, **options}
    return lb.reproduce("ptb", data, folder, **options)


def train(folder, epochs=2, each=1800):
    """What a training leaves."""
    (folder / RUN).mkdir(exist_ok=True)
    (folder / RUN / "best.safetensors").touch()
    lines = [f"{epoch},{epoch},8.0,{10 - epoch},{epoch * each}\n" for epoch in range(1, epochs + 1)]
    head = "epoch,updates,train_perplexity,valid_perplexity,training_seconds\n"
    (folder / RUN / "epochs.csv").write_text(head + "".join(lines))


def measure(data, folder, split, **changes):
    """What a measurement leaves."""
    signature = signed(RESULT, data=f"tiny+{planned(data, folder).hashes[split][:8]}", split=split).signature
    trained = (replace(RESULT.trained[0], curve=read_curve(folder / RUN)),)
    place = f"mix:../old place/{RUN},kn-5+cache"  # the folder was moved since
    kept = {"signature": signature, "specification": place, "trained": trained, "checks": {"future": ""}}
    append_record(folder / "ptb.jsonl", replace(RESULT, **{**kept, **changes}))


def said(found):
    """The state and the time left of the only row, and the name of its next command."""
    (line,), (row,) = found.frame.to_dict("records"), found.rows
    return line["state"], line["time left"], found.command(row)[0]


def test_a_row_waits_is_trained_is_measured_and_is_done(data, tmp_path):
    found, measuring = planned(data, tmp_path), "measure-mix-rnn-lda-small-kn-5-cache-seed1"
    assert said(found) == ("waits: 0 of 2 epochs", "unknown", RUN)
    (tmp_path / "ptb.jsonl").touch()  # what a measurement leaves that is killed at once
    train(tmp_path, epochs=1, each=1e12)
    assert said(found)[1] == "unknown"  # no time has so many hours
    train(tmp_path, epochs=1)
    assert said(found) == ("stopped: 1 of 2 epochs, valid 9.00 so far", "0:30:00", RUN)
    for state in ("training: 1 of 2 epochs, valid 9.00 so far", "failed: it is full"):
        found.states[RUN] = state.replace("training: 1 of 2 epochs, valid 9.00 so far", "running")
        assert said(found) == (state, "0:30:00", RUN)
    train(tmp_path)
    assert said(found) == ("trained, not measured", "0:00:00", measuring)
    assert f"mix:{tmp_path}/{RUN},kn-5+cache" in found.command(found.rows[0])[1]
    found.states[measuring] = "failed: no memory"
    assert said(found) == ("failed: no memory", "0:00:00", measuring)
    for split in ("test", "valid"):
        assert not found.rows[0].done
        measure(data, tmp_path, split)
    assert said(found)[:2] == ("done", "0:00:00")
    (row,) = found.fields()["rows"]
    assert (row["done"], row["epochs"], row["best_valid"]) == (True, 2, 8.0)
    assert list(row["perplexity"]) == ["valid", "test"]
    train(tmp_path, epochs=3)  # of another run
    assert not found.rows[0].done


@pytest.mark.parametrize(
    ("changes", "done"),
    [
        ({}, True),
        ({"checks": {"future": "peeks"}}, False),
        ({"signature": signed(RESULT, split="test", data="tiny+1f").signature}, False),
        ({"specification": f"mix:runs/{RUN}2,kn-5+cache"}, False),
        ({"trained": ()}, False),
    ],
)
def test_a_result_that_breaks_a_law_or_is_of_something_else_is_measured_again(data, tmp_path, changes, done):
    train(tmp_path)
    measure(data, tmp_path, "valid")
    measure(data, tmp_path, "test", **changes)
    assert planned(data, tmp_path).rows[0].done == done


def test_a_dry_run_writes_nothing(data, tmp_path):
    found = planned(data, tmp_path / "runs", rows=("KN-5", ROW), seeds=(1, 2))
    assert found.text.count("waits") == 3
    assert found.summary.startswith("0 of 3 rows are done. These are not the official files")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    "changed", [{}, {"table": "wikitext-2"}, {"train": "x"}, {"settings": "epochs=3 patience=0"}]
)
def test_a_folder_is_of_one_table_one_dataset_and_one_set_of_settings(data, tmp_path, changed):
    first = {"table": "ptb", "settings": "patience=0 epochs=2", **planned(data, tmp_path).hashes}  # any order
    append_record(tmp_path / "conditions.jsonl", Conditions(**{**first, **changed}))
    for name, value in changed.items():
        with pytest.raises(HarnessError, match=rf"of other conditions \({name} '{value}' → '[^']*'\); "):
            planned(data, tmp_path)
    if not changed:
        planned(data, tmp_path)
        (tmp_path / "conditions.jsonl").write_text("{}\n")
        with pytest.raises(HarnessError, match="line 1: not conditions of format 1"):
            planned(data, tmp_path)


def test_the_order_of_settings_is_no_condition_and_the_last_one_counts():
    given = ["decay=0.5", "epochs=9", "sizes=1, 2", "epochs=2"]
    assert settings_text(given) == settings_text(["epochs=2 decay=0.5 sizes=1, 2"])
    assert settings_text(given) != settings_text(given[:2])
