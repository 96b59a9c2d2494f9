"""Results go to a file and come back as they were; what is none is refused; how checkpoints were trained."""

import fcntl
import json
import math
import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import asdict as fields_of
from functools import reduce

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lm_benchmarks.choices import HarnessError
from lm_benchmarks.metrics import COUNTS, Sums
from lm_benchmarks.records import (
    Epoch,
    append_record,
    from_json,
    losses_of,
    read_curve,
    read_results,
    to_line,
    training_of,
)
from msgspec.structs import asdict, replace

from ps_models.configs import make_configs
from ps_models.training.checkpoint import BEST, Checkpoint
from tests.command import small_files
from tests.conftest import ROOT
from tests.lm_benchmarks.results import RESULT
from wikitext_builder.dataset.vocabulary import Vocabulary

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


DAMAGE: list[tuple[str, object, str]] = [  # place, value, what the error says
    ("colour", "red", "Object contains unknown field `colour`"),
    ("articles.0.characters", 3, "unknown field `characters` - at `$.articles[0]`"),
    ("tried.colour", "red", "unknown field `colour` - at `$.tried`"),
    ("trained.0.curve.0.colour", "red", "unknown field `colour` - at `$.trained[0].curve[0]`"),
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
    ("trained.0.seconds", 1e300, "seconds"),
    ("trained.0.curve.0.seconds", -1, "seconds"),
    ("trained.0.training.epochs", 0, "training: Expected `int` >= 1 - at `$.epochs`"),
    ("checks", ["sum"], "checks"),
    ("versions", {"python": 3}, "Expected `str`, got `int` - at `$.versions[...]`"),
]


def test_damaged_records_are_refused_with_their_line(tmp_path):
    path, faults = tmp_path / "results.jsonl", list[object]()
    for place, value, message in DAMAGE:
        record = json.loads(to_line(RESULT))
        *way, last = place.split(".")
        reduce(lambda at, step: at[int(step) if step.isdigit() else step], way, record)[last] = value
        path.write_text(f"{to_line(RESULT)}\n{json.dumps(record)}\n")
        try:
            faults.append((place, value, read_results(path)))
        except HarnessError as error:
            if "line 2: " not in str(error) or message not in str(error):
                faults.append((place, value, str(error)))
    assert faults == []


def test_files_that_hold_no_results_are_refused(tmp_path):
    for number, content in enumerate(("", "{", "[]\n", "NaN\n", "[" * 100_000, "\n")):
        path = tmp_path / f"{number}.jsonl"
        path.write_text(content)
        with pytest.raises(HarnessError, match=f"{number}.jsonl(: holds no|, line 1: .* expected a) result"):
            read_results(path)
    with pytest.raises(HarnessError, match="expected a file"):
        append_record(tmp_path, RESULT)


def test_not_a_number_is_never_written():
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_line(replace(RESULT, seconds=math.nan))
    for number in ("NaN", "-Infinity", "1e999"):
        with pytest.raises(ValueError, match=r"malformed|invalid|out of range"):
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


def test_processes_at_once_tear_no_line(tmp_path):
    path = tmp_path / "results.jsonl"
    results = [replace(RESULT, model=f"{n}", articles=RESULT.articles * 200) for n in range(12)]
    assert len(to_line(results[0])) > 65536  # more than a pipe's atom
    with ProcessPoolExecutor(3, multiprocessing.get_context("fork")) as pool:
        list(pool.map(append_record, [path] * 12, results))
    assert sorted(result.model for result in read_results(path)) == sorted(f"{n}" for n in range(12))


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


def test_every_kept_record_is_read():
    for path in (ROOT / "benchmarks" / "results").glob("*.jsonl"):
        lines = path.read_text(encoding="utf-8").splitlines()
        if path.name in ("build.jsonl", "load.jsonl"):  # of benchmarks/speed
            assert all(json.loads(line)["seconds"] > 0 for line in lines)
        else:
            assert len(read_results(path)) == len(lines)


WORDS = Vocabulary(("<unk>", "<eos>", "the"))


def checkpoint(preset="small", settings=(), **facts):
    """As `train` leaves one, without its weights."""
    config, training = make_configs("lstm", preset, dict(settings), len(WORDS))
    made = {"preset": preset, "settings": settings, "training": fields_of(training), "data": "ptb"}
    stored = json.loads(json.dumps(fields_of(config)))
    return Checkpoint(model="lstm", config=stored, weights={}, vocabulary=WORDS, facts=made | facts)


def test_a_training_has_its_preset_and_what_was_set_besides(tmp_path):
    (tmp_path / BEST).touch()  # only its place is needed: the log would be beside it
    given = {"tied": True, "hidden_size": 201, "seed": 2}
    sessions = ["wikitext-builder 0.1.0 abc, 2 processes"]
    how = training_of(checkpoint(settings=given, epoch=3, sessions=sessions), tmp_path, 100)
    assert (how.recipe, how.settings) == ("lstm/small", ("tied=yes", "hidden_size=201", "seed=2"))
    options = "--preset small --set tied=yes --set hidden_size=201 --set seed=2 --out RUN"
    assert how.command == f"torchrun --nproc-per-node 2 -m ps_models train lstm ptb {options}"
    assert how.changes == {"tied=yes", "hidden_size=201"}
    assert (how.training["seed"], how.model["hidden_size"], how.tokens) == (2, 201, 300)
    assert how.sessions == tuple(sessions)
    assert from_json(to_line(replace(RESULT, trained=(how,)))).trained == (how,)
    plain = training_of(checkpoint(preset=None), tmp_path, None)
    assert (plain.recipe, plain.settings, plain.seconds) == ("lstm", (), None)
    assert plain.command == "ps-models train lstm ptb --out RUN"


def test_a_log_with_impossible_numbers_is_an_error(tmp_path):
    head = "epoch,updates,train_perplexity,valid_perplexity,training_seconds\n"
    for line in (
        "1,1,2.0,3.0,1e300",  # too long
        "1,1,2.0,3.0,nan",
        "1,1,2.0,3.0,-1",  # before the start
        f"1{'0' * 400},1,2.0,3.0,1",  # too many
        f'1,1,2.0,3.0,"{"x" * 140_000}',  # a field without an end
    ):
        (tmp_path / "epochs.csv").write_text(head + line + "\n")
        with pytest.raises(HarnessError, match="expected the log of a run"):
            read_curve(tmp_path)


def test_a_perplexity_that_is_none_is_no_loss():
    curve = [
        Epoch(epoch=1, updates=1, train_perplexity=None, valid_perplexity=value, seconds=1.0)
        for value in (math.e, None, 0.0, -3.0)
    ]
    assert losses_of(curve) == [1.0, math.inf, math.inf, math.inf]
