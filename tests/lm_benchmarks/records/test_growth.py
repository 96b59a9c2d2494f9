"""Records of today are read by a version that has more fields; those of a newer version say so."""

import json
from pathlib import Path
from typing import Any

import pytest
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.metrics import METRICS, Metric, Sums
from lm_benchmarks.records.lines import of_line
from lm_benchmarks.records.result import Result, read_results

from tests.conftest import ROOT

CASES = ROOT / "tests" / "cases" / "records"  # of the first format, as they were written; never change them
KEPT = ROOT / "benchmarks" / "results"


class NewerSums(Sums, frozen=True, kw_only=True):
    ADDED = Sums.ADDED | {"characters"}
    characters: int = 0


class NewerResult(Result, frozen=True, kw_only=True):
    ADDED = Result.ADDED | {"reviewer"}
    reviewer: str = "nobody"
    articles: tuple[NewerSums, ...]


def test_records_of_the_first_format_are_read():
    plain, cached = read_results(CASES / "results.jsonl")
    assert (plain.model, plain.recipe, plain.specification, plain.trained) == ("KN-5", "kn-5", "", ())
    assert plain.total.score.perplexity == pytest.approx(141.186, abs=0.001)
    assert [one.recipe for one in cached.trained] == ["lstm/zoneout-small"]


def nats_and_characters(sums: Any) -> tuple[float, int]:
    return sums.nats, sums.characters


def test_a_new_field_is_read_with_its_default():
    for line in (CASES / "results.jsonl").read_text(encoding="utf-8").splitlines():
        found = of_line(line, NewerResult, "a result")
        assert found.reviewer == "nobody"
        assert {article.characters for article in found.articles} == {0}
        metric = Metric(label="c", numerator="n", denominator="d", quotient=nats_and_characters)
        assert metric.of(found.articles[0]) is None  # it was not counted
        assert METRICS["perplexity"].of(found.articles[0]) is not None


def test_an_old_field_without_its_value_is_damage():
    record = json.loads((CASES / "results.jsonl").read_text(encoding="utf-8").splitlines()[0])
    del record["seconds"]
    with pytest.raises(ValueError, match="no field 'seconds'"):
        of_line(json.dumps(record), NewerResult, "a result")


def test_a_record_of_a_newer_version_says_which(tmp_path):
    record = json.loads((CASES / "results.jsonl").read_text(encoding="utf-8").splitlines()[0])
    record["articles"][0]["characters"] = 3
    record["versions"]["wikitext-builder"] = "9.9"
    path = tmp_path / "results.jsonl"
    path.write_text(json.dumps(record) + "\n")
    with pytest.raises(HarnessError, match=r"line 1: .* unknown field 'characters'; wikitext-builder 9\.9"):
        read_results(path)


@pytest.mark.parametrize("path", sorted(KEPT.glob("*.jsonl")), ids=lambda path: path.name)
def test_every_kept_record_is_read(path: Path):
    lines = path.read_text(encoding="utf-8").splitlines()
    if path.name in ("build.jsonl", "load.jsonl"):  # of benchmarks/speed
        assert all(json.loads(line)["seconds"] > 0 for line in lines)
    else:
        assert len(read_results(path)) == len(lines)
