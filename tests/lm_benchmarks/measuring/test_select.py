"""A name from a measurement, a table or a signature finds its result; one of several models is refused."""

from pathlib import Path

import pytest
from lm_benchmarks.choices import HarnessError
from lm_benchmarks.measuring.select import find_runs, last_of_models, runs_of_models
from lm_benchmarks.records import Result
from msgspec.structs import replace

from ps_models.signature import Signature
from tests.lm_benchmarks.results import RESULT, signed

FILE = Path("results.jsonl")


def measured(model, identity, specification="", split="test"):
    signature = Signature(split=split, model=identity)
    return replace(RESULT, model=model, signature=signature, specification=specification)


RESULTS = [
    measured("KN-5", "kn-5+ab", "kn-5"),
    measured("KN-5", "kn-5+ab", "kn-5", split="valid"),
    measured("lstm small", "lstm+cd", "runs/model"),
    measured("lstm small, MC", "lstm+cd", "mc:runs/model"),
    measured("lstm small", "lstm+ef", "other/last.safetensors"),
    measured("old", "old+12"),
]


def found(name: str) -> Result:
    (one,) = find_runs(RESULTS, name, "test", FILE)
    return one


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("kn-5", 0),
        ("KN-5", 0),
        ("kn-5+ab", 0),
        ("kn", 0),
        ("runs/model", 2),
        ("runs", 2),
        ("mc:runs/model", 3),
        ("lstm small, MC", 3),
        ("other", 4),
        ("other/last.safetensors", 4),
        ("lstm+ef", 4),
        ("ol", 5),
    ],
)
def test_a_name_or_its_beginning_finds_its_result(name, place):
    assert found(name) is RESULTS[place]


def test_the_last_result_of_a_model_counts():
    again = replace(RESULTS[0], seconds=9.0)
    assert find_runs([*RESULTS, again], "kn-5", "test", FILE) == [again]
    assert find_runs(RESULTS, "kn-5", "valid", FILE) == [RESULTS[1]]


def test_a_dataset_chooses_among_results_of_one_model():
    ptb, wikitext = (signed(RESULTS[0], data=f"{name}+1f") for name in ("ptb", "wikitext-2"))
    for data, chosen in (("", wikitext), ("ptb", ptb), ("data/ptb/", ptb), ("wikitext-2", wikitext)):
        assert find_runs([ptb, wikitext], "kn-5", "test", FILE, data) == [chosen]
    with pytest.raises(HarnessError, match="no result of kn-5 on test of wikitext-103; there are none"):
        find_runs([ptb, wikitext], "kn-5", "test", FILE, "wikitext-103")


@pytest.mark.parametrize("name", ["lstm small", "lstm+cd", "ls"])
def test_a_name_of_several_models_lists_them(name):
    with pytest.raises(
        HarnessError, match=rf"{name.replace('+', '.')} on test fits several models: .*lstm\+cd"
    ):
        found(name)


def test_an_unknown_name_lists_the_models():
    with pytest.raises(HarnessError) as raised:
        found("nobody")
    assert str(raised.value) == (
        "results.jsonl: no result of nobody on test; there are KN-5, lstm small, lstm small, MC, old"
    )


def test_a_result_on_a_file_is_of_every_split():
    alone = measured("new", "new+1", split="file")
    assert find_runs([*RESULTS, alone], "new", "valid", FILE) == [alone]


def run(
    seed,
    identity,
    recipe="lstm/gal-medium",
    *,
    settings=(),
    precision="fp32",
    train="ab",
    epochs=1,
    trained_in="fp32",
    width=8,
    code="12",
    masks="20",
):
    training = {"epochs": epochs, "patience": 0, "precision": trained_in, "seed": int(seed[:9])}
    trained = replace(RESULT.trained[0], settings=(*settings, f"seed={seed}"), training=training)
    trained = replace(trained, model={"width": width})
    one = replace(measured("lstm gal-medium", identity), recipe=recipe)
    one = replace(one, trained=(replace(trained, train_sha256=train),))
    return signed(one, seed=seed, precision=precision, code=code, dropout_samples=masks)


def test_runs_of_one_recipe_with_several_seeds_are_all_found_by_its_name():
    runs = [run("10", "lstm+cc"), run("2", "lstm+aa"), run("10", "lstm+cc")]
    assert find_runs(runs, "lstm gal-medium", "test", FILE) == [runs[1], runs[2]]
    assert find_runs(runs, "lstm+cc", "test", FILE) == [runs[2]]


@pytest.mark.parametrize(
    "other",
    [
        run("1", "lstm+bb"),
        run("2", "lstm+bb", recipe="lstm/medium"),
        run("2", "lstm+bb", recipe=""),
        run("2", "lstm+bb", settings=("output_dropout=0.9",)),
        run("9" * 5_000, "lstm+bb", settings=("epochs=1",)),
        run("2", "lstm+bb", precision="bf16"),
        run("2", "lstm+bb", train="cd"),
        run("2", "lstm+bb", epochs=2),  # stopped after one
        run("2", "lstm+bb", trained_in="bf16"),
        run("2", "lstm+bb", width=16),  # which no settings say, if the presets are gone
        run("2", "lstm+bb", code="34"),
        run("2", "lstm+bb", masks="2"),
    ],
)
def test_models_that_differ_in_more_than_their_seed_are_several(other):
    with pytest.raises(HarnessError, match="fits several models"):
        find_runs([run("1", "lstm+aa"), other], "lstm gal-medium", "test", FILE)


def test_a_model_that_was_measured_again_is_one_model():
    first, second, again = run("1", "lstm+aa"), run("2", "lstm+bb"), replace(run("1", "lstm+aa"), seconds=2.0)
    assert runs_of_models([second, first, again]) == [[again, second]]  # by their seeds
    other = run("3", "lstm+cc", recipe="")
    assert runs_of_models([first, second, other]) == [[first, second], [other]]
    wide = run("2", "lstm+bb", width=16)
    assert runs_of_models([first, wide]) == [[first], [wide]]
    apart = signed(again, context="article")
    assert last_of_models([first, apart]) == [apart]
    assert last_of_models([first, apart, again], fields=["context"]) == [again, apart]
