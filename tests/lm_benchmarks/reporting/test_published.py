"""Published numbers against the tables in the paper's own source, and notes against what can be counted."""

import re
from collections import Counter

import pytest
from lm_benchmarks.measuring.models import NAMES
from lm_benchmarks.measuring.passages import vocabulary_of
from lm_benchmarks.reporting.collect import tables_of
from lm_benchmarks.reporting.published import (
    FILES,
    LATER,
    OFFICIAL,
    PENN_TREEBANK,
    PUBLISHED,
    ROWS,
    TRAIN,
    WIKITEXT_2,
    Published,
    is_trained_on,
    published_name,
)
from msgspec.structs import replace

from ps_models.configs import PRESETS
from ps_models.dataset import vocabulary_hash
from tests.conftest import DATA, data
from tests.lm_benchmarks.results import RESULT, result, signed
from wikitext_builder.dataset.load import load as load_dataset
from wikitext_builder.files import file_sha256


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


def test_each_row_has_a_source_and_stands_once():
    assert all(re.search(r"\(20\d\d\)|\(github\.com/", row.source) for row in PUBLISHED)
    assert all(("‡" in row.parameters) == ("is an estimate" in row.note) for row in PUBLISHED)
    assert max(Counter((row.model, row.data) for row in PUBLISHED).values()) == 1
    assert all(row.perplexities.keys() <= {"valid", "test"} and row.perplexities for row in PUBLISHED)
    assert {row.data for row in LATER} == {"ptb", "wikitext-2", "wikitext-103"}


RECIPES = {
    recipe
    for row in ROWS
    for recipe in (
        row.small,
        row.full,
        *row.full_on.values(),
        *(training.recipe for training in row.own_trainings),
    )
    if recipe
}
TRAINED = replace(RESULT.trained[0], train_sha256=TRAIN["ptb"])
PAPERS = [row for row in PUBLISHED if row.data == "ptb"]


def measured(recipe, nats, split="test", **changes):
    """A result on the official file of Penn Treebank."""
    fields = {"data": f"ptb+{FILES['ptb'][split]}", "vocabulary": OFFICIAL["ptb"]}
    fields |= {"model": f"{recipe}+{TRAIN['ptb']}"} if recipe in NAMES else {}
    return signed(replace(result("any", nats, split=split), recipe=recipe, **changes), **fields)


def test_each_recipe_is_a_model_and_a_preset_that_exist():
    parts = {part for recipe in RECIPES for part in re.sub("^(mix|mc|cache):", "", recipe).split(",")}
    presets = {f"{model}/{preset}" for model, names in PRESETS.items() for preset in names}
    assert parts <= presets | set(NAMES)


def test_each_row_of_the_paper_and_each_published_one_on_a_dataset_is_there_once():
    names = [row.name for row in ROWS]
    assert len(names) == len(set(names))
    assert {row.model for row in (*PENN_TREEBANK, *WIKITEXT_2)} <= set(names)
    assert {row.model for row in PUBLISHED if row.data in FILES} <= set(names)
    assert all(row.full for row in ROWS if row.one_size)


def test_the_official_files_are_those_that_are_said():
    for name, files in FILES.items():
        dataset = load_dataset(data(name))
        assert files == {split: file_sha256(dataset.file(split))[:8] for split in files}
        words = vocabulary_of(dataset, "test")
        assert OFFICIAL[name] == f"{len(words)}+{vocabulary_hash(words)[:8]}"


def test_a_small_size_has_no_published_number_beside_it_and_a_full_size_has():
    results = [
        replace(measured("lstm/small", 5.0), model="LSTM Zaremba medium"),
        signed(measured("lstm/gal-large", 4.0), model="lstm+cd"),
    ]
    (table,) = tables_of(results, PAPERS)
    found = {row.model: row.published for row in table.rows if row.results}
    assert found == {"LSTM Zaremba medium": {}, "any": {"valid": 77.9, "test": 75.2}}
    assert published_name("", "ptb") == ""


def test_a_model_of_another_train_file_has_no_published_number_beside_it():
    one = measured("kn-5", 5.0)
    other = signed(one, model="kn-5+ab")
    trained = replace(measured("lstm/gal-large", 4.0), trained=(replace(TRAINED, train_sha256="ab"),))
    for found, counts in ((one, True), (other, False), (trained, False)):
        (table,) = tables_of([found], PAPERS)
        assert any(row.results and row.published for row in table.rows) == counts
    mixed = replace(other, recipe="mix:lstm/small,kn-5")
    assert (is_trained_on(mixed, "ab"), is_trained_on(mixed, TRAIN["ptb"])) == (True, False)


def test_a_full_size_is_one_that_was_trained_as_published_to_the_end():
    training, recipe = {"seed": 1, "epochs": 3, "patience": 0}, "lstm/zoneout-medium"
    faults = []
    for settings, epochs, counts in (
        ((), 3, True),
        (("precision=bf16", "seed=7"), 3, True),
        ((), 2, False),
        (("input_dropout=0.1",), 3, False),
        (("epochs=3", "precision=bf16"), 3, False),
    ):
        curve = tuple(replace(TRAINED.curve[0], epoch=number + 1) for number in range(epochs))
        fields = {"recipe": recipe, "settings": settings, "curve": curve, "training": training, "epochs": 2}
        (table,) = tables_of([measured(recipe, 4.0, trained=(replace(TRAINED, **fields),))], PAPERS)
        if any(row.results and row.published for row in table.rows) != counts:
            faults.append((settings, epochs))
    assert faults == []
