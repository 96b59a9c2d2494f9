"""A name from a measurement, a table or a signature finds its result; one of several models is refused."""

from pathlib import Path

from lm_benchmarks.measuring.select import find_runs, last_of_models, runs_of_models
from msgspec.structs import replace

from ps_models.signature import Signature
from tests.lm_benchmarks.results import RESULT, error_of, signed

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


def test_a_name_or_its_beginning_finds_its_result():
    names = {
        0: ("kn-5", "KN-5", "kn-5+ab", "kn"),
        2: ("runs/model", "runs"),
        3: ("mc:runs/model", "lstm small, MC"),
        4: ("other", "other/last.safetensors", "lstm+ef"),
        5: ("ol",),
    }
    found = {place: [find_runs(RESULTS, name, "test", FILE) for name in names[place]] for place in names}
    assert found == {place: [[RESULTS[place]]] * len(names[place]) for place in names}


def test_the_last_result_of_a_model_counts_and_one_on_a_file_is_of_every_split():
    again, alone = replace(RESULTS[0], seconds=9.0), measured("new", "new+1", split="file")
    assert find_runs([*RESULTS, again], "kn-5", "test", FILE) == [again]
    assert find_runs(RESULTS, "kn-5", "valid", FILE) == [RESULTS[1]]
    assert find_runs([*RESULTS, alone], "new", "valid", FILE) == [alone]


def test_a_dataset_chooses_among_results_of_one_model():
    ptb, wikitext = (signed(RESULTS[0], data=f"{name}+1f") for name in ("ptb", "wikitext-2"))
    for data, chosen in (("", wikitext), ("ptb", ptb), ("data/ptb/", ptb), ("wikitext-2", wikitext)):
        assert find_runs([ptb, wikitext], "kn-5", "test", FILE, data) == [chosen]
    why = error_of(find_runs, [ptb, wikitext], "kn-5", "test", FILE, "wikitext-103")
    assert "no result of kn-5 on test of wikitext-103; there are none" in why


def test_an_unknown_name_and_one_of_several_models_list_models():
    assert error_of(find_runs, RESULTS, "nobody", "test", FILE) == (
        "results.jsonl: no result of nobody on test; there are KN-5, lstm small, lstm small, MC, old"
    )
    for name in ("lstm small", "lstm+cd", "ls"):
        _, several, listed = error_of(find_runs, RESULTS, name, "test", FILE).partition(
            f"{name} on test fits several models: "
        )
        assert several
        assert "lstm+cd" in listed


def run(
    seed,
    identity,
    recipe="lstm/gal-medium",
    *,
    settings=(),
    train="ab",
    epochs=1,
    trained_in="fp32",
    width=8,
    **fields,
):
    training = {"epochs": epochs, "patience": 0, "precision": trained_in, "seed": int(seed[:9])}
    trained = replace(RESULT.trained[0], settings=(*settings, f"seed={seed}"), training=training)
    trained = replace(trained, model={"width": width}, train_sha256=train)
    result = replace(measured("lstm gal-medium", identity), recipe=recipe, trained=(trained,))
    return signed(result, seed=seed, **{"precision": "fp32", "code": "12", "dropout_samples": "20", **fields})


def test_runs_of_one_recipe_with_several_seeds_are_all_found_by_its_name():
    runs = [run("10", "lstm+cc"), run("2", "lstm+aa"), run("10", "lstm+cc")]
    assert find_runs(runs, "lstm gal-medium", "test", FILE) == [runs[1], runs[2]]
    assert find_runs(runs, "lstm+cc", "test", FILE) == [runs[2]]


def test_models_that_differ_in_more_than_their_seed_are_several():
    others = (
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
        run("2", "lstm+bb", dropout_samples="2"),
    )
    why = [
        error_of(find_runs, [run("1", "lstm+aa"), other], "lstm gal-medium", "test", FILE) for other in others
    ]
    assert [place for place, text in enumerate(why) if "fits several models" not in text] == []


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
