"""Results go to a file and come back as they were; what is not one is refused."""

import fcntl
import json
import multiprocessing
import resource
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.metrics import COUNTS, METRICS, Sums
from lm_benchmarks.records.result import (
    Result,
    TokenGroup,
    Tried,
    append_result,
    from_json,
    read_results,
    to_json,
)
from lm_benchmarks.records.trained import Epoch, Trained

from ps_models.evaluation.signature import Signature

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
HUGE = [asdict(Sums(nats=1e308, tokens=1))] * 2
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
@settings(max_examples=50, deadline=None)
def test_to_json_and_back(result):
    line = to_json(result)
    assert "\n" not in line
    assert from_json(line) == result


@given(st.lists(articles, min_size=1, max_size=5))
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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda record: record.pop("seconds"), "no field 'seconds'"),
        (lambda record: record.update(colour="red"), "unknown field 'colour'"),
        (lambda record: record.update(format=99), "format 1"),
        (lambda record: record.update(signature="nothing at all"), "signature"),
        (lambda record: record.update(parameters="many"), "parameters"),
        (lambda record: record.update(parameters=True), "parameters"),
        (lambda record: record.update(parameters=10**400), "parameters has more than 63 bits"),
        (lambda record: record["articles"][0].update(pieces=10**400), "pieces has more than 63 bits"),
        (lambda record: record["articles"][0].update(nats=10**400), "nats has more than 63 bits"),
        (lambda record: record.update(model="\ud800"), "surrogates not allowed"),
        (lambda record: record.update(signature="self:1|data:x"), "a signature without split, convention"),
        (lambda record: record.update(articles=[]), "no article"),
        (lambda record: record["articles"][0].pop("eos"), "sums has no field 'eos'"),
        (lambda record: record["articles"][1].update(tokens=1.5), "tokens is 1.5"),
        (lambda record: record["articles"][1].update(tokens=-3), "article 2 has counts below zero"),
        (lambda record: record["groups"][0].update(label=7), "label"),
        (lambda record: record["groups"][0].update(tokens=-1), "a group has counts below zero"),
        (lambda record: record["groups"][0].update(parts=[[-1, 2.0]]), "a group has counts below zero"),
        (lambda record: record["trained"][0]["training"].update(seed=[1]), "seed"),
        (lambda record: record["trained"][0]["training"].update(epochs="x"), "epochs"),
        (lambda record: record["trained"][0]["training"].update(epochs=0), "training.epochs=0: expected 1"),
        (lambda record: [one.update(tokens=0, eos=0) for one in record["articles"]], "no token"),
        (lambda record: record["articles"].extend(HUGE), "the nats of all articles sum to inf"),
        (lambda record: record.update(checks=["sum"]), "checks"),
        (lambda record: record.update(versions={"python": 3}), "versions.python"),
    ],
)
def test_damaged_records_are_refused_with_their_line(tmp_path, change, message):
    path = tmp_path / "results.jsonl"
    append_result(path, RESULT)
    record = json.loads(to_json(RESULT))
    change(record)
    with path.open("a") as file:
        file.write(json.dumps(record) + "\n")
    with pytest.raises(HarnessError, match=rf"line 2: .*{message}"):
        read_results(path)


@pytest.mark.parametrize("content", ["", "{", "[]\n", "NaN\n", "[" * 100_000, "\n"])
def test_files_that_hold_no_results_are_refused(tmp_path, content):
    path = tmp_path / "results.jsonl"
    path.write_text(content)
    with pytest.raises(HarnessError, match="result"):
        read_results(path)


def test_not_a_number_is_never_written():
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_json(replace(RESULT, seconds=float("nan")))
    for number in ("NaN", "-Infinity", "1e999"):
        with pytest.raises(ValueError, match=f"the number {number}, not a finite one"):
            from_json(to_json(RESULT).replace("0.25", number))


def test_a_torn_line_is_not_written_on(tmp_path):
    path = tmp_path / "results.jsonl"
    append_result(path, RESULT)
    path.write_text(path.read_text()[:-20])
    with pytest.raises(HarnessError, match="incomplete"):
        append_result(path, RESULT)
    with pytest.raises(HarnessError, match="line 1"):
        read_results(path)


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(HarnessError, match="expected a file"):
        append_result(tmp_path, RESULT)


def append_many(path, name):
    for number in range(4):
        append_result(path, replace(RESULT, model=f"{name} {number}", articles=RESULT.articles * 500))


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
    assert len(to_json(replace(RESULT, articles=RESULT.articles * 500))) > 65536  # more than a pipe's atom


def test_a_reader_waits_until_the_last_line_is_whole(tmp_path):
    path = tmp_path / "results.jsonl"
    append_result(path, RESULT)
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


def append_on_a_full_disk(path):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
    try:
        append_result(path, replace(RESULT, articles=RESULT.articles * 50))
    except HarnessError:
        raise SystemExit(3) from None


def test_a_full_disk_leaves_what_was_there(tmp_path):
    path = tmp_path / "results.jsonl"
    append_result(path, RESULT)
    before = path.read_bytes()
    assert len(before) < 2000
    process = multiprocessing.get_context("fork").Process(target=append_on_a_full_disk, args=(path,))
    process.start()
    process.join()
    assert process.exitcode == 3
    assert path.read_bytes() == before
