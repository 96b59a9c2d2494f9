"""A table from plan to records: killed at random and resumed, it ends with the records of a quiet run."""

import json
import random
import signal
import subprocess
import sys
import time

import lm_benchmarks as lb
import pytest
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.records import read_results
from lm_benchmarks.reproducing.queue import locked

from tests.ps_models.tiny import settings_of
from wikitext_builder.progress import no_progress

ROWS = ("LSTM Zaremba medium", "LSTM Gal medium, MC")
TIMES = {"seconds", "written", "tried", "command"}
SETTINGS = settings_of("lstm", "epochs=40", "patience=0")


def command(data, out, rows=ROWS):
    named = [part for row in rows for part in ("--rows", row)]
    chosen = [part for setting in SETTINGS for part in ("--set", setting)]
    words = ["--threads", "1", "reproduce", "--table", "ptb", "--data", str(data), "--out", str(out)]
    sizes = ["--size", "small", "--workers", "2"]
    return [sys.executable, "-m", "lm_benchmarks", *words, *named, *chosen, *sizes]


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


def logged(folder):
    """How much the trainings have logged."""
    return sum(path.stat().st_size for path in folder.glob("*/updates.jsonl"))


def test_what_is_measured_is_not_measured_again(data, tmp_path):
    lb.measure("kn-5", data, splits="valid", results=tmp_path / "ptb.jsonl")
    for _ in range(2):
        (row,) = lb.reproduce("ptb", data, tmp_path, rows=["KN-5", "kn-5"]).rows  # once, and by its recipe
        assert row.done
    assert [one.signature["split"] for one in read_results(tmp_path / "ptb.jsonl")] == ["valid", "test"]


def test_a_page_of_somebody_else_is_not_replaced(data, tmp_path):
    (tmp_path / "report.html").write_text("mine")
    with pytest.raises(HarnessError, match=r"report\.html: is not of this command"):
        lb.reproduce("ptb", data, tmp_path, rows=["KN-5"], dry_run=True)
    assert (tmp_path / "report.html").read_text() == "mine"


@pytest.mark.parametrize(("context", "done"), [("article", False), ("carried", True)])
def test_a_result_that_is_counted_in_another_way_is_no_row(data, tmp_path, context, done):
    lb.measure("kn-5", data, splits=["valid", "test"], context=context, results=tmp_path / "ptb.jsonl")
    found = lb.reproduce("ptb", data, tmp_path, rows=["KN-5"], dry_run=True)
    assert [row.done for row in found.rows] == [done]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_stopped_and_killed_at_random_it_ends_with_the_records_of_a_quiet_run(data, tmp_path):
    subprocess.run(command(data, tmp_path / "quiet"), check=True)
    generator, unfinished, killed = random.Random(5), 0, tmp_path / "killed"
    killed.mkdir()
    for number in (signal.SIGKILL, signal.SIGINT, signal.SIGKILL):
        with locked(killed / "queue.lock", no_progress):  # the children of the one before have ended
            before = logged(killed)
        process = subprocess.Popen(command(data, killed), stderr=subprocess.PIPE, text=True)
        while process.poll() is None and logged(killed) <= before:
            time.sleep(0.1)
        time.sleep(generator.uniform(0, 2))
        unfinished += process.poll() is None
        process.send_signal(number)
        _, said = process.communicate()
        assert number == signal.SIGKILL or "Everything is saved: run the same command to resume" in said, said
    assert unfinished >= 2
    both = [subprocess.Popen(command(data, killed)) for _ in range(2)]  # one waits for the other
    assert [one.wait() for one in both] == [0, 0]
    assert records(killed) == records(tmp_path / "quiet")
    assert len(records(tmp_path / "quiet")) == 4
    assert len(read_results(killed / "ptb.jsonl")) == 4  # each measured once
    page = (killed / "report.html").read_text()
    assert "2 of 2 rows are done" in page
    assert 'http-equiv="refresh"' not in page


@pytest.mark.slow
def test_children_of_a_killed_queue_save_and_end(data, tmp_path):
    process = subprocess.Popen(command(data, tmp_path, ROWS[:1]))
    log = tmp_path / "lstm-small-seed1" / "updates.jsonl"
    while not (log.exists() and log.stat().st_size):
        assert process.poll() is None
        time.sleep(0.1)
    assert 'http-equiv="refresh"' in (tmp_path / "report.html").read_text()
    process.kill()
    process.wait()
    with locked(tmp_path / "queue.lock", no_progress):  # ends when the child has
        assert (tmp_path / "lstm-small-seed1" / "last.safetensors").exists()
