"""The commands of a table: which, in what order; a shell runs them, and again until nothing is left."""

import os
import subprocess
import sys
from pathlib import Path

import lm_benchmarks as lb
import pytest
from lm_benchmarks.choices import SIZES, HarnessError
from lm_benchmarks.records import read_results
from lm_benchmarks.reporting.published import TRAINED_MODEL, recipes_of

from ps_models.configs import PRESETS
from tests.command import environment
from tests.ps_models.tiny import settings_of


@pytest.mark.parametrize("table", ["ptb", "wikitext-2"])
@pytest.mark.parametrize("size", SIZES)
def test_recipes_are_of_presets_and_an_unknown_row_is_answered_by_the_rows(table, size):
    recipes = recipes_of(table, size)
    trained = [one.split("/") for recipe in recipes for one in TRAINED_MODEL.findall(recipe)]
    assert [(model, preset) for model, preset in trained if preset not in PRESETS[model]] == []
    with pytest.raises(HarnessError, match="LSTM Nobody: no such row") as error:
        recipes_of(table, size, ("LSTM Nobody",))
    _, *offered = str(error.value).split("\n  ")  # names have commas, so they stand on lines of their own
    assert recipes_of(table, size, offered) == recipes
    assert {"KN-5", "KN-5 + cache"} <= set(offered)  # what only counts has one size


def test_rows_keep_the_order_in_which_they_were_asked_for():
    faults = []
    for table, size, names, recipes in (
        ("ptb", "full", ("KN-5", "lstm/gal-medium"), ["kn-5", "lstm/gal-medium"]),
        ("ptb", "small", ("charcnn", "RNN"), ["char-cnn/small", "rnn/elman"]),
        ("wikitext-2", "small", ("CharCNN",), ["char-cnn/small"]),  # published on the other table only
        # Our own training stands for the published one where there is one.
        ("ptb", "own", ("LSTM Gal large", "LSTM Gal medium"), ["lstm/gal-large", "lstm/gal-medium-short"]),
        ("wikitext-2", "own", ("LSTM zoneout medium",), ["lstm/medium-tied-wikitext-2-long"]),
    ):
        if (made := recipes_of(table, size, names)) != recipes:
            faults.append((table, size, names, made))
    assert faults == []
    assert "char-cnn/small" not in recipes_of("wikitext-2", "small")


def test_a_model_is_trained_once_and_each_row_measured():
    rows = ["KN-5", "LSTM Gal medium", "LSTM Gal medium, MC"]
    lines = lb.reproduce(
        "ptb", "my ptb", "runs", size="small", rows=rows, seeds=(1, 2), settings=["epochs=3"]
    )
    measure, ends = "lm-benchmarks run", "--data 'my ptb' --results runs/ptb.jsonl"
    train = "ps-models train lstm 'my ptb' --preset gal-small --out"
    assert lines == [
        f"{measure} kn-5 {ends} --split=valid --split=test",
        f"{train} runs/lstm-gal-small-seed1 --set=epochs=3 --set=seed=1",
        f"{measure} runs/lstm-gal-small-seed1 {ends} --seed 1 --split=valid --split=test",
        f"{train} runs/lstm-gal-small-seed2 --set=epochs=3 --set=seed=2",
        f"{measure} runs/lstm-gal-small-seed2 {ends} --seed 2 --split=valid --split=test",
        f"{measure} mc:runs/lstm-gal-small-seed1 {ends} --seed 1 --split=valid --split=test",
        f"{measure} mc:runs/lstm-gal-small-seed2 {ends} --seed 2 --split=valid --split=test",
    ]


def test_what_would_end_wrong_is_refused():
    with pytest.raises(HarnessError, match="use --seed"):
        lb.reproduce("ptb", "ptb", "runs", settings=["seed=5"])
    with pytest.raises(HarnessError, match="a comma or colon separates"):
        lb.reproduce("ptb", "ptb", "a,b")


@pytest.mark.slow
def test_a_shell_runs_the_commands_and_again_without_work(data, tmp_path):
    settings = settings_of("lstm", "epochs=2")
    lines = lb.reproduce("ptb", data, tmp_path, size="small", rows=["LSTM Zaremba medium"], settings=settings)
    there = environment(PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    for _ in range(2):
        subprocess.run(["sh", "-e"], input="\n".join(lines), text=True, check=True, env=there)
        results = read_results(tmp_path / "ptb.jsonl")
        assert [(one.recipe, one.signature["split"]) for one in results] == [
            ("lstm/small", "valid"),
            ("lstm/small", "test"),
        ]
