"""A name from a measurement, a table or a signature finds its result; one of several models is refused."""

import re
from pathlib import Path

import pytest
from lm_benchmarks.measuring.compare import compare
from lm_benchmarks.measuring.ranking import compare_all
from lm_benchmarks.measuring.select import find_runs, last_of_models, runs_of_models, with_distinct_names
from lm_benchmarks.records import append_record, read_results
from lm_benchmarks.reporting.report import report
from msgspec.structs import replace

from ps_models.signature import Signature
from tests.conftest import ROOT
from tests.lm_benchmarks.results import RESULT, error_of, signed

FILE = Path("results.jsonl")


def measured(model, identity, specification="", split="test"):
    signature = Signature(data="ptb+1f", split=split, convention="paper", model=identity)
    return replace(RESULT, model=model, signature=signature, specification=specification)


RESULTS = [
    measured("KN-5", "kn-5+ab", "kn-5"),
    measured("KN-5", "kn-5+ab", "kn-5", split="valid"),
    measured("lstm small", "lstm+cd", "runs/model"),
    signed(measured("lstm small, MC", "lstm+cd", "mc:runs/model"), dropout_samples="10"),
    measured("lstm small", "lstm+ef", "other/last.safetensors"),
    measured("old", "old+12"),
]


def test_a_name_or_its_beginning_finds_its_result():
    names = {
        0: ("kn-5", "KN-5", "kn-5+ab", "kn"),
        2: ("runs/model", "runs"),
        3: ("mc:runs/model", "lstm small, MC"),
        4: ("other", "other/last.safetensors", "lstm+ef", "lstm small, lstm+ef"),
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


def test_datasets_of_one_name_are_chosen_by_their_signature():
    runs = [signed(measured("KN-5", f"kn-5+{data}"), data=f"ptb+{data}") for data in ("1f", "2e")]
    why = error_of(find_runs, runs, "KN-5", "test", FILE)
    assert "KN-5 on test fits several models: on ptb+1f, ptb+2e; choose a dataset with --data" in why
    assert [find_runs(runs, "KN-5", "test", FILE, f"ptb+{data}") for data in ("1f", "2e")] == [
        [run] for run in runs
    ]


def test_an_unknown_name_and_one_of_several_models_list_models():
    assert error_of(find_runs, RESULTS, "nobody", "test", FILE) == (
        "results.jsonl: no result of nobody on test; there are KN-5, lstm small, MC, lstm small, lstm+cd,"
        " lstm small, lstm+ef, old"
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


def test_a_name_is_a_label_and_seeds_with_labels_are_runs_of_one_recipe():
    labelled = replace(RESULTS[0], model="base")
    for name in ("KN-5", "base", "kn-5", "kn-5+ab"):
        assert len(find_runs([RESULTS[0], labelled], name, "test", FILE)) == 1
    assert last_of_models([RESULTS[0], labelled]) == [labelled]
    assert {one.model for one in with_distinct_names([RESULTS[0], labelled])} == {"base"}
    first, second = replace(run("1", "lstm+aa"), model="one"), replace(run("2", "lstm+bb"), model="two")
    assert runs_of_models([second, first]) == [[first, second]]
    assert find_runs([first, second], "lstm/gal-medium", "test", FILE) == [first, second]
    assert find_runs([first, second], "two", "test", FILE) == [second]


VARIANTS = [
    {"model": "lstm+ef"},
    {"cache": "100.1.0.2"},
    {"cache": "2000.1.0.2"},
    {"dropout_samples": "10"},
    {"dropout_samples": "20"},
    {"window": "512"},
    {"window": "1024"},
    {"windows": "512"},
    {"precision": "bf16"},
    {"seed": "2"},
    {"code": "12"},
    {"weights": "0.1_0.9"},
]


@pytest.mark.parametrize("variants", [VARIANTS, *([{}, one] for one in VARIANTS), VARIANTS[1:3]])
def test_each_name_that_an_error_suggests_finds_its_model(variants):
    """Facts of a model make it another one; texts, places and versions of software do not."""
    models = [signed(measured("lstm", "lstm+cd"), **fields) for fields in variants]
    assert last_of_models(models) == models
    names = re.findall(r"'([^']+)' \(", error_of(find_runs, models, "lstm", "test", FILE))
    assert [find_runs(models, name, "test", FILE) for name in names] == [[model] for model in models]
    assert len(set(names)) == len(models)
    for other in ({"torch": "3"}, {"version": "2"}, {"device": "cuda"}, {"split": "valid"}, {"data": "x+1"}):
        assert last_of_models([models[0], changed := signed(models[0], **other)]) == [changed]


def test_windows_that_a_convention_sets_make_no_other_model():
    paper, tool = (
        signed(measured("GPT", "gpt+1"), convention=convention, window=window)
        for convention, window in (("paper", "512"), ("lm-eval", "1024"))
    )
    assert find_runs([paper, tool], "GPT", "test", FILE) == [tool]
    assert {one.model for one in with_distinct_names([paper, tool])} == {"GPT"}


def test_models_of_several_datasets_are_chosen_by_data_in_the_records(tmp_path):
    paths = [tmp_path / name for name in ("both", "ptb", "wikitext-2")]
    for path in paths[1:]:
        for one in read_results(ROOT / "benchmarks" / "results" / f"{path.name}.jsonl"):
            if one.recipe in {"unigram", "kn-5", "kn-5+cache"}:
                append_record(path, one)
                append_record(paths[0], one)
    for name in ("KN-5", "kn", "KN-5 + cache"):
        why = error_of(compare, paths[0], name, "unigram")
        assert f"{name} on test fits several models: on ptb, wikitext-2; choose a dataset with --data" in why
    for path in paths[1:]:
        assert compare(paths[0], "KN-5", "unigram", data=path.name) == compare(path, "KN-5", "unigram")
        assert compare_all(paths[0], data=path.name) == compare_all(path)
    assert compare(paths[0], "kn-5+fcea", "unigram+fcea") == compare(paths[1], "KN-5", "unigram")
    pages = [report(path, path.with_suffix(".csv")).read_text(encoding="utf-8") for path in paths]
    both, ptb, wikitext = (page.splitlines() for page in pages)
    assert both == [*ptb, *wikitext[1:]]
