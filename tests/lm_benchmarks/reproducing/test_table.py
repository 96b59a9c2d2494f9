"""The plan of a table: which trainings a row needs, and what is measured of them."""

import dataclasses
import math
from pathlib import Path
from types import MappingProxyType

import lm_benchmarks as lb
import pytest
from lm_benchmarks.choices import SIZES
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.records.trained import Epoch
from lm_benchmarks.reporting.published import ROWS
from lm_benchmarks.reproducing.reproduce import Reproduction
from lm_benchmarks.reproducing.table import Table, Texts, Training, new_row, plan, row_results
from msgspec.structs import replace

from ps_models.configs import PRESETS
from tests.lm_benchmarks.records.test_result import RESULT, signed


def test_a_row_around_a_model_needs_its_training():
    job = new_row("", "mix:rnn-lda/mikolov,kn-5+cache", seed=3)
    assert job.trainings == (Training(recipe="rnn-lda/mikolov", seed=3),)
    assert job.specification(Path("runs")) == "mix:runs/rnn-lda-mikolov-seed3,kn-5+cache"


@pytest.mark.parametrize("table", ["ptb", "wikitext-2"])
@pytest.mark.parametrize("size", SIZES)
def test_each_training_of_a_plan_is_a_model_and_a_preset(table, size):
    jobs = plan(table, size)
    assert jobs
    for job in jobs:
        for training in job.trainings:
            model, preset = training.recipe.split("/")
            assert preset in PRESETS[model]


def test_our_own_training_stands_for_the_published_one_where_there_is_one():
    own = {job.row: job.recipe for job in plan("ptb", "own")}
    full = {job.row: job.recipe for job in plan("ptb", "full")}
    assert own["Pointer Sentinel-LSTM medium"] == "pointer-sentinel-lstm/medium-tied-sgd"
    assert full["Pointer Sentinel-LSTM medium"] == "pointer-sentinel-lstm/medium-k1"
    assert own["LSTM Gal medium"] == "lstm/gal-medium-short"
    assert own["LSTM Gal large"] == full["LSTM Gal large"] == "lstm/gal-large"


@pytest.mark.parametrize(
    ("size", "names", "expected"),
    [
        # What is not trained has one row, whatever the seeds.
        (
            "full",
            ("KN-5", "lstm/gal-medium"),
            [("KN-5", 1), ("LSTM Gal medium", 1), ("LSTM Gal medium", 2)],
        ),
        ("small", ("charcnn", "RNN"), [("CharCNN", 1), ("CharCNN", 2), ("RNN", 1), ("RNN", 2)]),
    ],
)
def test_rows_keep_the_order_in_which_they_were_asked_for(size, names, expected):
    rows = plan("ptb", size, names=names, seeds=(1, 2, 2))
    assert [(row.row, row.seed) for row in rows] == expected


@pytest.mark.parametrize("table", ["ptb", "wikitext-2"])
@pytest.mark.parametrize("size", SIZES)
def test_an_unknown_row_is_answered_by_the_rows_that_the_table_has_at_that_size(table, size):
    """Names have commas, so they stand on lines of their own."""
    with pytest.raises(HarnessError, match="LSTM Nobody: no such row") as error:
        plan(table, size, names=("LSTM Nobody",))
    _, *offered = str(error.value).split("\n  ")
    assert offered == list(dict.fromkeys(row.row for row in plan(table, size)))
    assert [row.row for row in plan(table, size, names=offered)] == offered
    assert any("," in name for name in (row.name for row in ROWS))


@pytest.mark.parametrize("size", SIZES)
def test_what_only_counts_has_one_size(size):
    (row,) = plan("ptb", size, names=("KN-5",))
    assert (row.row, row.recipe, row.trainings) == ("KN-5", "kn-5", ())
    assert {"KN-5", "KN-5 + cache"} <= {row.row for row in plan("ptb", size)}


def test_results_of_other_files_are_not_those_of_a_row():
    job = new_row("", "kn-5", seed=1)
    one = replace(RESULT, specification="kn-5", trained=())
    here, elsewhere = (signed(one, data=data) for data in ("ptb+1f", "ptb+2e"))
    assert row_results(job, [here, elsewhere], {"test": "1f"}) == (here,)
    assert row_results(job, [elsewhere], {"test": "1f"}) == ()


def test_results_of_a_row_stay_its_results_when_the_folder_is_moved():
    job = new_row("", "mix:rnn-lda/small,kn-5+cache", seed=1)
    curve = (Epoch(epoch=1, updates=9, train_perplexity=8.0, valid_perplexity=9.0, seconds=0.5),)
    (training,) = job.trainings
    job = dataclasses.replace(job, trainings=(dataclasses.replace(training, curve=curve),))
    one = replace(
        RESULT,
        specification="mix:../old place/rnn-lda-small-seed1,kn-5+cache",
        trained=(replace(RESULT.trained[0], curve=curve),),
    )
    files = {"test": "1f"}
    assert row_results(job, [one], files) == (one,)
    longer = dataclasses.replace(training, curve=(*curve, replace(curve[0], epoch=2)))
    assert row_results(dataclasses.replace(job, trainings=(longer,)), [one], files) == ()
    other = replace(one, specification="mix:runs/rnn-lda-small-seed12,kn-5+cache")
    assert row_results(job, [other], files) == ()


@pytest.mark.parametrize(
    ("out", "options", "said"),
    [
        ("runs", {"settings": ("seed=5",)}, "use --seed"),
        ("a,b", {}, "a comma separates"),
        ("a:b", {}, "a colon separates"),
        ("runs", {"hours": math.nan}, "expected 0 or more"),
    ],
)
def test_what_would_end_wrong_is_refused_before_any_training(tmp_path, out, options, said):
    with pytest.raises(HarnessError, match=said):
        lb.reproduce("ptb", tmp_path / "no data", tmp_path / out, **options)
    assert not (tmp_path / out).exists()


def state_of(row, failed=MappingProxyType({})):
    """What a table says of its only row."""
    texts = Texts(train=9, valid=9, vocabulary=9, official=False, hashes={})
    table = Table(
        name="ptb",
        data=Path(),
        folder=Path(),
        texts=texts,
        planned=(row,),
        settings=(),
        workers=1,
        threads=1,
    )
    return Reproduction(table=table, rows=(row,), failed=failed).frame["state"][0]


def test_a_measurement_that_failed_is_no_row_that_waits():
    row = new_row("", "kn-5", seed=1)
    assert state_of(row) == "waits"
    assert state_of(row, {row.measuring: "it is full"}) == "failed: it is full"


def test_a_row_that_breaks_a_law_is_measured_again():
    job = new_row("", "kn-5", seed=1)
    one, other = (replace(signed(RESULT, split=split), checks={"future": ""}) for split in ("valid", "test"))
    assert dataclasses.replace(job, results=(one, other)).done
    row = dataclasses.replace(job, results=(one, replace(other, checks={"future": "peeks"})))
    assert not row.done
    assert row.unmeasured == ("test",)  # what is measured is not measured again
    assert state_of(row) == "breaks: future"


def test_a_table_has_no_rows_that_are_published_on_another_dataset_only():
    rows = [job.row for job in plan("wikitext-2", "own")]
    assert rows[:5] == [
        "KN-5",
        "KN-5 + cache",
        "LSTM Gal medium",
        "LSTM zoneout medium",
        "Pointer Sentinel-LSTM medium",
    ]
    assert "CharCNN" not in rows
    assert [job.recipe for job in plan("wikitext-2", "small", names=("CharCNN",))] == ["char-cnn/small"]
    assert "CharCNN" in [job.row for job in plan("ptb", "own")]
