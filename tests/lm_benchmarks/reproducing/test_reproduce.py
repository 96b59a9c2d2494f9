"""A table from plan to records: killed at random and resumed, it ends with the records of a quiet run."""

import json
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import Any

import lm_benchmarks as lb
import pytest
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.record_versions import append_record
from lm_benchmarks.records.result import read_results
from lm_benchmarks.reproducing import table
from lm_benchmarks.reproducing.queue import PROGRAMS, try_lock
from lm_benchmarks.reproducing.table import SPEEDS, Conditions, Speed, expect_conditions, settings_text
from msgspec.structs import replace

from tests.ps_models.tiny import settings_of

ROWS = ("KN-5", "LSTM Zaremba medium", "LSTM Gal medium, MC")
TIMES = {"seconds", "written", "tried", "command"}
SETTINGS = settings_of("lstm", "epochs=40", "patience=0")


def command(data, out, *more, rows=ROWS):
    named = [part for row in rows for part in ("--rows", row)]
    chosen = [part for setting in SETTINGS for part in ("--set", setting)]
    words = ["--threads", "1", "reproduce", "--table", "ptb", "--data", str(data), "--out", str(out)]
    return [sys.executable, "-m", "lm_benchmarks", *words, *named, *chosen, "--workers", "2", *more]


def with_known_speeds(folder):
    """A folder in which no speed is measured: each takes seconds."""
    folder.mkdir(exist_ok=True)
    for recipe in ("lstm/small", "lstm/gal-small"):
        kept = Speed(recipe=recipe, settings=settings_text(SETTINGS), threads=1, tokens_per_second=1e4)
        append_record(folder / SPEEDS, kept)
    return folder


def without_times(value):
    if isinstance(value, dict):
        return {key: without_times(one) for key, one in value.items() if key not in TIMES}
    return [without_times(one) for one in value] if isinstance(value, list) else value


def records(folder):
    """By model and split: what is in the records, without times."""
    lines = [json.loads(line) for line in (folder / "ptb.jsonl").read_text().splitlines()]
    return {
        (one["recipe"], one["signature"].split("split:")[1].split("|")[0]): without_times(one)
        for one in lines
    }


def test_a_dry_run_measures_speeds_and_trains_nothing(data, tmp_path, monkeypatch):
    monkeypatch.setattr(table, "SECONDS", 0.5)
    (tmp_path / "ptb.jsonl").touch()  # what a measurement leaves that is killed at once
    found = lb.reproduce(
        "ptb", data, tmp_path, size="small", rows=["LSTM Zaremba medium"], settings=SETTINGS, dry_run=True
    )
    (row,) = found.rows
    (training,) = row.trainings
    assert not row.done
    measured, texts = training.tokens_per_second or 0.0, found.table.texts
    assert measured > 0
    assert training.seconds_left == pytest.approx(40 * (texts.train + 0.4 * texts.valid) / measured)
    assert not (tmp_path / "lstm-small-seed1").exists()
    assert "not the official files" in found.summary


def test_a_speed_is_that_of_whole_chunks(data, tmp_path, monkeypatch):
    """With K = 1 the first L - 1 chunks are shorter: they are not part of the speed."""
    trained, reached = table._trained, []

    def noted(*asked):
        reached.append((asked[-1], trained(*asked)))
        return reached[-1][1]

    monkeypatch.setattr(table, "_trained", noted)
    monkeypatch.setattr(table, "SECONDS", 0.1)
    settings = [*SETTINGS, "stride=1", "bptt=20"]
    row_of: dict[str, Any] = {"size": "small", "rows": ["LSTM Zaremba medium"]}
    (row,) = lb.reproduce("ptb", data, tmp_path, settings=settings, dry_run=True, **row_of).rows
    (short, before), (_, after) = reached
    assert short.max_updates == 19
    assert before[0] == 19 * row.trainings[0].config.batch_size
    measured = (after[0] - before[0]) / (after[1] - before[1])
    assert row.trainings[0].tokens_per_second == pytest.approx(measured)


def test_a_folder_is_of_one_table_one_dataset_and_one_set_of_settings(data, tmp_path):
    first = Conditions(table="ptb", train="a", valid="b", test="c", settings="epochs=2")
    expect_conditions(tmp_path, first, keep=False)
    expect_conditions(tmp_path, replace(first, settings="epochs=3"), keep=True)  # nothing was kept before
    for changed in ({"train": "x"}, {"settings": "epochs=2"}, {"table": "wikitext-2"}):
        other = replace(first, **{"settings": "epochs=3", **changed})
        with pytest.raises(HarnessError, match=rf"of other conditions \({next(iter(changed))} .* → "):
            expect_conditions(tmp_path, other, keep=True)
    with pytest.raises(HarnessError, match=r"train 'a' → '.*', valid 'b' → '.*', test 'c' → '"):
        lb.reproduce("ptb", data, tmp_path, rows=["KN-5"], settings=["epochs=3"])
    (tmp_path / "conditions.jsonl").write_text("{}\n")
    with pytest.raises(HarnessError, match="line 1: not conditions of format 1"):
        expect_conditions(tmp_path, first, keep=False)


def test_the_order_of_settings_is_no_condition(tmp_path):
    first = Conditions(table="ptb", train="a", valid="b", test="c", settings="epochs=2 decay=0.5 sizes=1, 2")
    expect_conditions(tmp_path, first, keep=True)  # as older versions kept it
    given = ["decay=0.5", "epochs=9", "sizes=1, 2", "epochs=2"]  # the last one of a key counts
    expect_conditions(tmp_path, replace(first, settings=settings_text(given)), keep=True)
    with pytest.raises(HarnessError, match="of other conditions"):
        expect_conditions(tmp_path, replace(first, settings=settings_text(given[:2])), keep=True)


def test_a_split_that_is_measured_is_not_measured_again(data, tmp_path):
    lb.measure("kn-5", data, splits="valid", results=tmp_path / "ptb.jsonl")
    (row,) = lb.reproduce("ptb", data, tmp_path, rows=["KN-5"]).rows
    assert row.done
    assert [one.signature["split"] for one in read_results(tmp_path / "ptb.jsonl")] == ["valid", "test"]


@pytest.mark.parametrize(("context", "done"), [("article", False), ("carried", True)])
def test_a_result_that_is_counted_in_another_way_is_no_row(data, tmp_path, context, done):
    lb.measure("kn-5", data, splits=["valid", "test"], context=context, results=tmp_path / "ptb.jsonl")
    found = lb.reproduce("ptb", data, tmp_path, rows=["KN-5"], dry_run=True)
    assert [row.done for row in found.rows] == [done]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_killed_at_random_it_ends_with_the_records_of_a_quiet_run(data, tmp_path):
    sizes = ("--size", "small")
    rows = ROWS[1:]
    with_known_speeds(tmp_path / "killed")
    subprocess.run(command(data, with_known_speeds(tmp_path / "quiet"), *sizes, rows=rows), check=True)
    generator, killed = random.Random(5), 0
    for _ in range(3):
        process = subprocess.Popen(command(data, tmp_path / "killed", *sizes, rows=rows))
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=generator.uniform(2, 5))
        killed += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert killed >= 2
    subprocess.run(command(data, tmp_path / "killed", *sizes, rows=rows), check=True)
    assert records(tmp_path / "killed") == records(tmp_path / "quiet")
    assert len(records(tmp_path / "quiet")) == 4
    page = (tmp_path / "killed" / "report.html").read_text()
    assert "2 of 2 rows are done" in page


@pytest.mark.slow
def test_children_of_a_killed_queue_save_and_end(data, tmp_path):
    process = subprocess.Popen(command(data, with_known_speeds(tmp_path), "--size", "small", rows=ROWS[1:2]))
    log = tmp_path / "lstm-small-seed1" / "updates.jsonl"
    while not (log.exists() and log.stat().st_size):
        assert process.poll() is None
        time.sleep(0.1)
    process.kill()
    process.wait()
    with (tmp_path / "queue.lock").open("ab") as lock:
        ends = time.monotonic() + 60
        while not try_lock(lock):
            assert time.monotonic() < ends, "a child still runs"
            time.sleep(0.2)


def test_each_program_of_a_child_is_there():
    for module in PROGRAMS.values():
        assert hasattr(__import__(module, fromlist=["main"]), "main")
