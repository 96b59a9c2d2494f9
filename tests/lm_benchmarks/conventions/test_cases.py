"""Numbers that the tools gave for a model that is the same everywhere; the case file says how."""

import pytest
from lm_benchmarks.adapters.transformers import load_causal_model
from lm_benchmarks.conventions.rules import REGISTRY
from lm_benchmarks.measuring.passages import measure_windows

from tests.cases import cases
from tests.lm_benchmarks.tiny_llama import write_folder
from wikitext_builder.dataset.vocabulary import EOS, UNK, Vocabulary
from wikitext_builder.progress import no_progress

CASES = cases("perplexities")


def label(case):
    return f"{case['convention']}-{case['marks']}-{case['window']}-{case['stride']}"


@pytest.fixture(scope="module")
def readers(tmp_path_factory):
    pytest.importorskip("transformers", reason="needs the package transformers")
    made = {}
    for marks in ("bos-added", "bos-not-added"):
        folder = write_folder(tmp_path_factory.mktemp("llama"), adds_bos=marks == "bos-added")
        made[marks] = load_causal_model(str(folder), Vocabulary((UNK, EOS, "the")))
    return made


def ours(readers, case, path):
    return measure_windows(
        REGISTRY[case["convention"]],
        readers[case["marks"]],
        path,
        window=case["window"],
        stride=case["stride"],
        progress=no_progress,
    )


@pytest.mark.parametrize("case", CASES, ids=label)
def test_it_is_the_number_that_the_tool_printed(readers, case, raw):
    found = ours(readers, case, raw(case["lines"]))
    assert found.number == pytest.approx(case["number"], abs=0.51 * 10 ** -case["digits"])
    if "nats" in case:
        assert sum(one.nats for one in found.articles) == pytest.approx(case["nats"], rel=1e-6)


def test_a_rule_that_is_slightly_different_has_another_number(readers, raw):
    for case in {(one["convention"], one["marks"]): one for one in CASES}.values():
        path = raw(case["lines"])
        stride = case["stride"] and case["stride"] - 1
        for other in ({"window": case["window"] - 2, "stride": stride}, {"marks": "bos-added"}):
            if case["marks"] == "bos-added" and "marks" in other:
                continue
            if "marks" in other and (case["stride"] or case["convention"] == "bits-per-byte"):
                continue  # the mark has no effect there, or is always added
            number = ours(readers, {**case, **other}, path).number
            assert number != pytest.approx(case["number"], abs=0.51 * 10 ** -case["digits"]), label(case)
