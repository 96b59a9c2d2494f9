"""Results go to a file and come back as they were, also of older versions; what is not one is refused."""

import fcntl
import json
import multiprocessing
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.metrics import COUNTS, METRICS, Metric, Sums
from lm_benchmarks.record_versions import append_record, of_line, to_line
from lm_benchmarks.records import (
    Epoch,
    Result,
    TokenGroup,
    Trained,
    Tried,
    from_json,
    read_results,
)
from msgspec.structs import asdict, fields, replace

from ps_models.evaluation.signature import Signature
from tests.command import small_files
from tests.conftest import ROOT

RESULT = Result(
    model="a <b> | model\nof 2 lines",
    signature=Signature(
        data="ptb+1f",
        split="test",
        convention="paper",
        passage="article",
        text="tokens",
        vocabulary="10+ab",
        eos="yes",
        context="carried",
        model="m",
    ),
    articles=(Sums(nats=12.5, eos_nats=0.5, tokens=4, eos=1, pieces=7, bytes=20, text_bytes=18),) * 3,
    groups=(
        TokenGroup(by="line", label="0", tokens=3, nats=2.0),
        TokenGroup(by="line", label="1-9", tokens=3, nats=2.5, parts=((1, 2.0), (2, 0.5))),
    ),
    checks={"future": "", "sum": "too much"},
    parameters=12,
    seconds=0.25,
    device="cpu",
    versions={"python": "3"},
    command="lm-benchmarks run 'x y'",
    written="2026-01-01T00:00:00+00:00",
    recipe="mix:lstm/small,kn-5",
    tried=Tried(seed=1, tokens=900, places=50, whole=1, fewest=7, deepest=880, predictions=225),
    trained=(
        Trained(
            recipe="lstm/small",
            command="ps-models train lstm ptb --preset small --out RUN",
            settings=("epochs=2",),
            model={"hidden_size": 2, "zoneout": 0.1},
            training={"seed": 1, "loss": "token"},
            data="ptb",
            train_sha256="ab",
            epochs=2,
            updates=7,
            tokens=None,
            seconds=1.5,
            curve=(Epoch(epoch=1, updates=4, train_perplexity=None, valid_perplexity=9.5, seconds=0.5),),
        ),
    ),
)


def signed(result, **fields):
    """A result with other fields in its signature."""
    return replace(result, signature=Signature(**{**result.signature, **fields}))


counts = st.fixed_dictionaries({name: st.integers(0, 10**9) for name in COUNTS})
articles = st.builds(
    lambda nats, numbers: Sums(
        nats=nats, **(numbers | {"tokens": numbers["eos"] + numbers["unknown"] + numbers["tokens"] + 1})
    ),
    st.floats(0, 1e12),
    counts,
)


@given(
    st.builds(replace, st.just(RESULT), model=st.text(), articles=st.lists(articles, min_size=1).map(tuple))
)
@settings(max_examples=20, deadline=None)
def test_to_json_and_back(result):
    line = to_line(result)
    assert "\n" not in line
    assert from_json(line) == result


@given(st.lists(articles, min_size=1, max_size=5))
@settings(max_examples=30)
def test_sums_add_up_and_each_metric_is_what_it_says(parts):
    total = sum(parts, Sums())
    assert total.tokens == sum(part.tokens for part in parts)
    assert total.score.nats == pytest.approx(sum(part.nats for part in parts))
    for metric in METRICS.values():
        value, (_, count) = metric.of(total), metric.quotient(total)
        assert (value is None) == (count == 0)


def test_broken_laws_are_named():
    assert RESULT.broken == ("sum",)
    assert replace(RESULT, checks=None).broken == ()


def inside(record, place):
    """What is at a place of a record, or of the JSON object of one."""
    for step in place.split(".") if place else ():
        if step.isdigit():
            record = record[int(step)]
        else:
            record = record[step] if isinstance(record, dict) else getattr(record, step)
    return record


@pytest.mark.parametrize("place", ["", "articles.0", "groups.0", "tried", "trained.0", "trained.0.curve.0"])
def test_only_fields_that_were_added_may_be_missing(place):
    """Older records lack them: they have their defaults."""
    kind = type(inside(RESULT, place))
    for field in fields(kind):
        older = json.loads(to_line(RESULT))
        del inside(older, place)[field.name]
        if field.name in kind.ADDED:
            found = inside(from_json(json.dumps(older)), place)
            assert getattr(found, field.name) == field.default
        else:
            with pytest.raises(ValueError, match=f"a {kind.__name__.lower()} has no field '{field.name}'"):
                from_json(json.dumps(older))


DAMAGE: list[tuple[str, object, str]] = [  # place, value, what the error says
    ("colour", "red", "unknown field 'colour'"),
    ("format", 99, "format 1"),
    ("signature", "nothing at all", "signature"),
    ("signature", "self:1|data:x", "a signature without split, convention"),
    ("parameters", "many", "Expected `int | null`, got `str` - at `$.parameters`"),
    ("parameters", True, "got `bool` - at `$.parameters`"),
    ("parameters", 10**400, "Expected `int` <= 9223372036854775807 - at `$.parameters`"),
    ("articles.0.pieces", 10**400, "Expected `int` <= 9223372036854775807 - at `$.articles[0].pieces`"),
    ("articles.0.nats", 10**400, "Number out of range - at `$.articles[0].nats`"),
    ("model", "\ud800", "surrogate"),
    ("articles", [], "no article"),
    ("articles.1.tokens", 1.5, "Expected `int`, got `float` - at `$.articles[1].tokens`"),
    ("articles.1.tokens", -3, "article 2 has counts below zero"),
    ("articles", [asdict(Sums(nats=1.0, pieces=1))], "no token"),
    ("articles", [asdict(Sums(nats=1e308, tokens=1))] * 2, "the nats of all articles sum to inf"),
    ("groups.0.label", 7, "label"),
    ("groups.0.tokens", -1, "a group has counts below zero"),
    ("groups.0.parts", [[-1, 2.0]], "a group has counts below zero"),
    ("groups.0.parts", [[1]], "Expected `array` of length 2"),
    ("trained.0.training.seed", [1], "seed"),
    ("trained.0.training.epochs", "x", "epochs"),
    ("trained.0.training.optimizer_options", None, "optimizer_options are no settings"),
    ("trained.0.model.vocab_size", None, "vocab_size is None"),
    ("trained.0.seconds", 1e300, "seconds"),
    ("trained.0.curve.0.seconds", -1, "seconds"),
    ("trained.0.training.epochs", 0, "training.epochs=0: expected 1"),
    ("checks", ["sum"], "checks"),
    ("versions", {"python": 3}, "Expected `str`, got `int` - at `$.versions[...]`"),
]


@pytest.mark.parametrize(("place", "value", "message"), DAMAGE)
def test_damaged_records_are_refused_with_their_line(tmp_path, place, value, message):
    path = tmp_path / "results.jsonl"
    append_record(path, RESULT)
    record = json.loads(to_line(RESULT))
    way, _, last = place.rpartition(".")
    inside(record, way)[last] = value
    with path.open("a") as file:
        file.write(json.dumps(record) + "\n")
    with pytest.raises(HarnessError, match=f"line 2: .*{re.escape(message)}"):
        read_results(path)


@pytest.mark.parametrize("content", ["", "{", "[]\n", "NaN\n", "[" * 100_000, "\n"])
def test_files_that_hold_no_results_are_refused(tmp_path, content):
    path = tmp_path / "results.jsonl"
    path.write_text(content)
    with pytest.raises(HarnessError, match="result"):
        read_results(path)


def test_not_a_number_is_never_written():
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_line(replace(RESULT, seconds=float("nan")))
    for number, message in (
        ("NaN", "malformed"),
        ("-Infinity", "malformed|invalid"),
        ("1e999", "out of range"),
    ):
        with pytest.raises(ValueError, match=message):
            from_json(to_line(RESULT).replace("0.25", number))


def test_a_line_without_an_end_takes_no_other_with_it(tmp_path):
    path = tmp_path / "results.jsonl"
    append_record(path, RESULT)
    path.write_text(path.read_text().rstrip("\n"))  # as an editor leaves it
    append_record(path, RESULT)
    assert read_results(path) == [RESULT] * 2
    path.write_text(path.read_text()[:-20])  # torn
    append_record(path, RESULT)
    with pytest.raises(HarnessError, match="line 2"):
        read_results(path)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(lines[0] + lines[2])
    assert read_results(path) == [RESULT] * 2


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(HarnessError, match="expected a file"):
        append_record(tmp_path, RESULT)


def append_many(path, name):
    for number in range(4):
        append_record(path, replace(RESULT, model=f"{name} {number}", articles=RESULT.articles * 200))


def test_processes_at_once_tear_no_line(tmp_path):
    path = tmp_path / "results.jsonl"
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=append_many, args=(path, name)) for name in "abc"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    models = [result.model for result in read_results(path)]
    assert sorted(models) == sorted(f"{name} {number}" for name in "abc" for number in range(4))
    assert len(to_line(replace(RESULT, articles=RESULT.articles * 200))) > 65536  # more than a pipe's atom


def test_a_reader_waits_until_the_last_line_is_whole(tmp_path):
    path = tmp_path / "results.jsonl"
    append_record(path, RESULT)
    line = path.read_bytes()
    with ThreadPoolExecutor() as pool, path.open("ab", buffering=0) as writer:
        fcntl.flock(writer, fcntl.LOCK_EX)
        writer.write(line[:-20])
        reading = pool.submit(read_results, path)
        with pytest.raises(TimeoutError):
            reading.result(timeout=0.2)
        writer.write(line[-20:])
        fcntl.flock(writer, fcntl.LOCK_UN)
        assert reading.result() == [RESULT] * 2


def test_a_full_disk_leaves_what_was_there(tmp_path):
    path = tmp_path / "results.jsonl"
    append_record(path, RESULT)
    before = path.read_bytes()
    assert len(before) < 2000
    with small_files(2000), pytest.raises(HarnessError, match="File too large"):
        append_record(path, replace(RESULT, articles=RESULT.articles * 50))
    assert path.read_bytes() == before


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


def test_a_new_field_is_read_with_its_default():
    for line in (CASES / "results.jsonl").read_text(encoding="utf-8").splitlines():
        found = of_line(line, NewerResult, "a result")
        assert found.reviewer == "nobody"
        assert {article.characters for article in found.articles} == {0}
        metric = Metric(label="c", numerator="n", denominator="d", nats=("nats",), count=("characters",))
        assert metric.of(found.articles[0]) is None  # it was not counted
        assert METRICS["perplexity"].of(found.articles[0]) is not None


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
