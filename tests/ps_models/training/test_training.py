"""Training: resumed runs equal undisturbed ones, also after a kill; several processes equal one."""

import json
import math
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner

import ps_models as pm
from ps_models.analysis.predictions import predictions
from ps_models.cli import commands
from ps_models.dataset import Text, random_ends, read_stream
from ps_models.devices import autocast, best_precision, use_products
from ps_models.errors import ModelError
from ps_models.scoring import score_texts
from ps_models.signature import Score
from ps_models.training.checkpoint import BEST, LAST, read_checkpoint, save_checkpoint
from ps_models.training.logs import EPOCHS, UPDATES, RunLog
from ps_models.training.loop import RunLimits, StoppedError
from tests.command import Completed, environment, small_files
from tests.conftest import hear_control_c
from tests.ps_models.tiny import (
    QUIET,
    SETTINGS,
    assert_resumes,
    losses,
    make_dataset,
    settings_of,
    stopped,
    train,
)
from wikitext_builder.dataset.load import load as load_dataset

MODELS = ("lstm", "pointer-sentinel-lstm")
LIMIT = 120.0  # seconds until a process counts as one that hangs


@pytest.fixture(scope="module")
def tiny_dataset(tmp_path_factory):
    return make_dataset(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def short_dataset(tiny_dataset, tmp_path_factory):
    """A dataset whose train is as short as its valid, for runs of many updates per word."""
    folder = shutil.copytree(tiny_dataset, tmp_path_factory.mktemp("short") / "tiny")
    shutil.copy(folder / "wiki.valid.tokens", folder / "wiki.train.tokens")
    return folder


@pytest.fixture(scope="module")
def finished(tiny_dataset, tmp_path_factory):
    """An LSTM that was trained to its end."""
    out = tmp_path_factory.mktemp("finished")
    train(tiny_dataset, out, *SETTINGS)
    return out


@pytest.fixture
def run(finished, tmp_path):
    """The same, in a folder that a test may change."""
    return shutil.copytree(finished, tmp_path / "run")


AWD = ("embedding_size=6", "random_strides=yes", "loss=token")
NO_DROPOUT = ("type_dropout=0", "weight_dropout=0", *QUIET[:-1])
MUON = ("optimizer=muon", "learning_rate=0.01", "weight_decay=0.1", "micro_batch=3", "ema=0.9")
OPTIMIZED = ("hidden_size=4", "epochs=5", "stride=20", "patience=0")
AVERAGED = ("averaging_interval=1", "epochs=6", "patience=0", "learning_rate=20")
RESUMED = {  # a model, its settings, and where its run is stopped; below 0, updates before its end
    "not tied": ("lstm", ("optimizer=adamw", "learning_rate=0.01", "tied=no"), (1, 13, 25, 39)),
    "pointer": (MODELS[1], ("optimizer=adamw", "learning_rate=0.01", "tied=no"), (1, 13, 25, 39)),
    "pointer loss": (MODELS[1], ("pointer_loss=0.5", "micro_batch=3", "sampled=5"), (5, -3)),
    "sampled": ("lstm", ("optimizer=adamw", "learning_rate=0.01", "sampled=5"), (1, 13, 25, 39)),
    "random lengths": ("awd-lstm", (*AWD, *AVERAGED), (7, 45, 80)),
    "cosine": ("lstm", ("schedule=cosine", "warmup=3"), (5, -3)),
    "ema": ("lstm", ("ema=0.9", "optimizer=adamw", "weight_decay=0.1"), (5, -3)),
    "decay of all": ("lstm", ("decayed=all", "optimizer=adamw", "weight_decay=0.1"), (5, -3)),
    "parts of a batch": ("lstm", ("micro_batch=3", "layer_dropout=0.2"), (5, -3)),
    "precision": ("lstm", ("precision=auto",), (5, -3)),
    "muon": (MODELS[1], (*MUON, "schedule=cosine", "warmup=3", "layer_dropout=0.2"), (5, -3)),
    "sgd": ("lstm", (*OPTIMIZED, "optimizer=sgd", "averaging_interval=1", "learning_rate=9"), (4, -3)),
    "rmsprop": ("lstm", (*OPTIMIZED, "optimizer=rmsprop", "momentum=0.5", "centered=yes"), (4, -3)),
    **{
        name: ("lstm", (*OPTIMIZED, f"optimizer={name}", "learning_rate=0.01"), (4, -3))
        for name in ("adamw", "NAdam", "adafactor", "rprop")
    },
}


@pytest.mark.parametrize(("model", "settings", "stops"), RESUMED.values(), ids=RESUMED)
def test_a_stopped_run_resumes_to_the_same_result(tiny_dataset, tmp_path, model, settings, stops):
    """Also where averages of the weights have begun, and with options that torch's class has."""
    last = assert_resumes(model, tiny_dataset, tmp_path, settings_of(model, *settings), *stops)
    training = last.training or {}
    assert (training["averaged"] > 0) is any(name.startswith(("averaging", "ema")) for name in settings)
    if model == "awd-lstm":
        assert 45 < training["position"]["update"] - training["averaged"] < 80  # when averaging began


EVALUATED = {
    "lstm, short strides": ("lstm", ("stride=3", "bptt=9", "loss=token")),
    "lstm, one stride": ("lstm", ("stride=5000", "bptt=2", "loss=token")),
    **{
        f"pointer, {stride}": (MODELS[1], (f"stride={stride}", f"bptt={bptt}", "loss=token"))
        for stride, bptt in [(1, 4), (7, 1), (10, 10)]
    },
    "pointer loss": (MODELS[1], ("stride=3", "bptt=9", "loss=token", "pointer_loss=50")),
    "random lengths": ("awd-lstm", (*AWD, *NO_DROPOUT, "activation=50", "stride=6", "bptt=1")),
}


@pytest.mark.parametrize(("model", "settings"), EVALUATED.values(), ids=EVALUATED)
def test_without_learning_an_epoch_is_an_evaluation_of_train(short_dataset, tmp_path, model, settings):
    """Its loss is of nats alone, without a penalty, and each token counts once, whatever the stride."""
    quiet = QUIET if model != "awd-lstm" else ()
    chosen = (*settings_of(model, *quiet), "batch_size=1", "learning_rate=0", "epochs=1", *settings)
    train(short_dataset, tmp_path / "out", *chosen, model=model)
    scored = pm.evaluate(tmp_path / "out", short_dataset, split="train", device="cpu").score
    row = (tmp_path / "out" / EPOCHS).read_text().splitlines()[1]
    assert float(row.split(",")[2]) == pytest.approx(scored.perplexity, rel=1e-5)
    stride = int(next(setting for setting in settings if setting.startswith("stride=")).split("=")[1])
    random_strides = len(random_ends(scored.tokens, stride, seed=1, epoch=0))
    updates = random_strides if model == "awd-lstm" else -(-scored.tokens // stride)
    assert len(losses(tmp_path / "out")) == updates


def command(model: str, dataset: Path, out: Path, settings: tuple[str, ...], *more: str) -> list[str]:
    options = [part for setting in settings for part in ("--set", setting)]
    return ["train", model, str(dataset), "--out", str(out), "--device", "cpu", *options, *more]


def started(number: int, place: Path, arguments: list[str]) -> list[subprocess.Popen[str]]:
    """The command in processes that know of each other as torchrun's do.

    They are new ones: a copy of a process that has threads may wait forever for a lock that one of them had.
    """
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": str(number)}
    shared |= {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    words = [sys.executable, "-m", "ps_models", "--threads", "1", *arguments]
    return [
        subprocess.Popen(
            words,
            cwd=place,
            env=environment(**shared, RANK=str(rank)),
            encoding="utf-8",
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=hear_control_c,
        )
        for rank in range(number)
    ]


def ended(processes: list[subprocess.Popen[str]]) -> list[Completed]:
    """The processes at their end; where one has none, the test fails with what they said until then."""
    results: list[Completed] = []
    for process in processes:
        try:
            printed = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            for hanging in processes:
                hanging.kill()
            pytest.fail(f"has no end: {[hanging.communicate() for hanging in processes]}")
        results.append(Completed(process.args, process.returncode, *printed))
    return results


def hit(number: int, out: Path, updates: int, processes: list[subprocess.Popen[str]]) -> list[Completed]:
    """The processes at their end, after a signal once the run has logged so many updates."""
    end = time.monotonic() + LIMIT
    while not (out / UPDATES).exists() or (out / UPDATES).read_text().count("\n") < updates:
        if time.monotonic() > end or any(process.poll() is not None for process in processes):
            break  # what they said then is in the results
        time.sleep(0.001)
    for process in processes:
        process.send_signal(number)
    return ended(processes)


@pytest.mark.slow
def test_a_killed_run_resumes_to_the_same_result(tiny_dataset, tmp_path):
    model = "pointer-sentinel-lstm"
    settings = settings_of(model, "epochs=6", "averaging_interval=1", "learning_rate=9")
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    train(tiny_dataset, whole, *settings, model=model)
    often = command(model, tiny_dataset, killed, settings, "--save-minutes", "0")
    for updates in (20, 110):
        (done,) = hit(signal.SIGKILL, killed, updates, started(1, tmp_path, often))
        assert done.returncode == -signal.SIGKILL, done.stderr
    last = CliRunner().invoke(
        commands, command(model, tiny_dataset, killed, settings), catch_exceptions=False
    )
    assert re.search(r"^train: .*, resuming after update \d+$", last.stderr, re.MULTILINE)
    assert losses(killed) == losses(whole)
    assert read_checkpoint(killed).digest == read_checkpoint(whole).digest


@pytest.mark.parametrize("number", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_ctrl_c_saves_and_says_how_to_resume(tiny_dataset, tmp_path, number):
    out = tmp_path / "out"
    arguments = command("lstm", tiny_dataset, out, settings_of("lstm", "epochs=64", "patience=0"))
    done = hit(signal.SIGINT, out, 3, started(number, tmp_path, arguments))
    assert [process.returncode for process in done] == [1] * number, done
    assert "everything is saved" in done[0].stderr
    assert "`ps-models train` resumes it" in done[0].stderr
    assert [process.stderr for process in done[1:]] == [""] * (number - 1)
    assert read_checkpoint(out / LAST, training=True).training is not None
    before = losses(out)
    ended(started(number, tmp_path, [*arguments, "--max-updates", str(len(before) + 5)]))
    assert losses(out)[: len(before)] == before
    assert len(losses(out)) == len(before) + 5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "more"),
    [
        ("awd-lstm", (*AWD, *NO_DROPOUT, "batch_size=5")),  # three rows and two, of other lengths
        # Three passes per update in one process, and two in the other.
        ("lstm", (*QUIET, "batch_size=5", "micro_batch=1", "schedule=cosine", "warmup=3", "ema=0.5")),
        ("pointer-sentinel-lstm", (*QUIET, "batch_size=5", "micro_batch=1", "pointer_loss=0.5")),
        ("pointer-sentinel-lstm", (*QUIET, *MUON, "batch_size=5")),
    ],
)
def test_two_processes_train_as_one_with_the_same_rows(tiny_dataset, tmp_path, model, more):
    settings = settings_of(model, *more, "loss=token")
    train(tiny_dataset, tmp_path / "one", *settings, model=model)
    arguments = command(model, tiny_dataset, tmp_path / "two", settings)
    first, second = ended(started(2, tmp_path, arguments))
    assert first.returncode == second.returncode == 0, second.stderr[-4000:]
    assert len(first.stdout.splitlines()) == 1
    assert (second.stdout, second.stderr) == ("", "")
    one, two = losses(tmp_path / "one"), losses(tmp_path / "two")
    assert [update for update, _ in one] == [update for update, _ in two]
    torch.testing.assert_close([loss for _, loss in one], [loss for _, loss in two], rtol=1e-5, atol=1e-5)
    weights = [read_checkpoint(tmp_path / name).weights for name in ("one", "two")]
    # Muon makes a step of normal size also of directions whose gradient is only rounding.
    torch.testing.assert_close(*weights, rtol=1e-4, atol=0.005 if "optimizer=muon" in more else 1e-5)
    assert read_checkpoint(tmp_path / "two").sessions[-1].endswith(", 2 processes")
    valid = [read_checkpoint(tmp_path / name).facts["valid_perplexity"] for name in ("one", "two")]
    assert valid[0] == pytest.approx(valid[1], rel=1e-4)  # of the same rows


@pytest.mark.parametrize(("at_its_end", "update"), [(False, 31), (True, 32)])  # an epoch is 31 updates
def test_a_validation_that_is_stopped_is_kept_if_it_has_a_result(
    tiny_dataset, tmp_path, monkeypatch, at_its_end, update
):
    asked = False
    monkeypatch.setattr("ps_models.training.loop.CHUNK_TOKENS", 16)

    def stop(stage, done, total, note=""):
        nonlocal asked
        if stage == "valid" and not asked and (done == total) is at_its_end:
            asked = True
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(StoppedError, match=f"after update {update};"):
        train(tiny_dataset, tmp_path, *SETTINGS, progress=stop)
    assert asked
    assert ("\n1," in (tmp_path / "epochs.csv").read_text()) is at_its_end


def test_the_pointer_loss_is_in_the_checkpoint_and_decides_its_weights(tiny_dataset, tmp_path):
    signatures = []
    for weight in ("0", "0.5"):
        chosen = settings_of(MODELS[1], f"pointer_loss={weight}", "epochs=1")
        train(tiny_dataset, tmp_path / weight, *chosen, model=MODELS[1])
        assert read_checkpoint(tmp_path / weight).config["pointer_loss"] == float(weight)
        signatures.append(pm.evaluate(tmp_path / weight, tiny_dataset, device="cpu").signature)
    assert signatures[0]["model"] != signatures[1]["model"]


def test_a_finished_run_says_so_and_stays_as_it_is(tiny_dataset, run):
    files = {path.name: path.read_bytes() for path in run.iterdir()}
    times = [(run / name).stat().st_mtime_ns for name in (LAST, BEST)]
    again = train(tiny_dataset, run, *SETTINGS)
    assert (again.trained_before, again.epochs) == (True, 2)
    assert {path.name: path.read_bytes() for path in run.iterdir()} == files
    assert [(run / name).stat().st_mtime_ns for name in (LAST, BEST)] == times
    options = [part for setting in SETTINGS for part in ("--set", setting)]
    done = CliRunner().invoke(commands, ["train", "lstm", str(tiny_dataset), "--out", str(run), *options])
    assert done.stdout.startswith(f"{run}: already trained: 2 epochs, ")


def test_a_run_that_ends_before_all_epochs_says_why(tiny_dataset, tmp_path):
    settings = (*SETTINGS, "epochs=9", "patience=2", "learning_rate=0")
    arguments = command("lstm", tiny_dataset, tmp_path, settings)
    done = CliRunner().invoke(commands, arguments, catch_exceptions=False)
    assert done.stdout.startswith(f"{tmp_path}: 3 epochs (none of the last 2 was better), ")


@pytest.mark.slow
def test_tensorboard_can_read_all_updates_and_epochs(tiny_dataset, tmp_path):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    arguments = command("lstm", tiny_dataset, tmp_path / "out", SETTINGS, "--log-to", "tensorboard")
    CliRunner().invoke(commands, arguments, catch_exceptions=False)
    events = accumulator.EventAccumulator(str(tmp_path / "out" / "tensorboard"))
    events.Reload()
    found = [(event.step, event.value) for event in events.Scalars("update/loss")]
    assert found == [(update, pytest.approx(loss, rel=1e-6)) for update, loss in losses(tmp_path / "out")]
    assert [event.step for event in events.Scalars("epoch/valid_perplexity")] == [1, 2]


def test_a_tracker_that_is_missing_is_told(tiny_dataset, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(ModelError, match="install the package tensorboard, or train without it"):
        train(tiny_dataset, tmp_path / "out", *SETTINGS, log_to=("tensorboard",))


def test_logs_and_updates_have_the_rate_of_the_schedule(tiny_dataset, tmp_path):
    train(tiny_dataset, tmp_path / "out", *settings_of("lstm", "schedule=cosine", "warmup=2"))
    lines = map(json.loads, (tmp_path / "out" / UPDATES).read_text().splitlines())
    rates = [line["learning_rate"] for line in lines]
    first = 0.5 * 0.5  # half of it in the first update of the warm-up
    assert rates[0] == pytest.approx(first)
    assert max(rates) == rates[1] <= 0.5
    assert all(one > other for one, other in pairwise(rates[1:]))
    assert rates[-1] < 0.01


def test_the_average_of_weights_is_what_is_kept_as_the_best(tiny_dataset, tmp_path):
    settings = settings_of(
        "lstm", *QUIET, "optimizer=adamw", "learning_rate=0.02", "epochs=1", "batch_size=1", "stride=25"
    )
    train(tiny_dataset, tmp_path / "out", *settings, "ema=0.5")
    train(tiny_dataset, tmp_path / "plain", *settings)
    best, last, plain = (
        read_checkpoint(tmp_path / path) for path in (f"out/{BEST}", f"out/{LAST}", f"plain/{LAST}")
    )
    assert last.digest == plain.digest
    assert best.digest != last.digest
    assert pm.evaluate(tmp_path / "out", tiny_dataset, split="valid", device="cpu").score.perplexity == (
        pytest.approx(best.facts["valid_perplexity"], rel=1e-6)
    )


def test_the_best_epoch_is_chosen_by_rows_of_valid(tiny_dataset, tmp_path):
    """As many as an update has, each without context before it."""
    train(tiny_dataset, tmp_path, *SETTINGS, "epochs=1")
    trained, dataset = pm.load(tmp_path, device="cpu"), load_dataset(tiny_dataset)
    model: Any = trained.model
    stream = read_stream(dataset, "valid", trained.vocabulary)
    rows = [score_texts(model, [Text(row, 0)])[0] for row in stream.tensor_split(4)]
    by_rows = read_checkpoint(tmp_path).facts["valid_perplexity"]
    assert by_rows == pytest.approx(sum(rows, Score()).perplexity, rel=1e-5)
    in_one_row = pm.evaluate(trained, tiny_dataset, split="valid").score.perplexity
    assert by_rows != pytest.approx(in_one_row, rel=1e-4)


def test_a_run_that_diverges_says_so_and_keeps_the_best_weights(tiny_dataset, tmp_path, caplog):
    train(tiny_dataset, tmp_path / "out", *settings_of("lstm", "epochs=1", "learning_rate=0"))
    assert "worse than uniform guessing" not in caplog.text
    train(tiny_dataset, tmp_path / "bad", *settings_of("lstm", "epochs=1", "learning_rate=90", "clip=0"))
    assert "worse than uniform guessing" in caplog.text
    with pytest.raises(ModelError, match=r"the loss on valid is .*, expected a finite perplexity"):
        train(tiny_dataset, tmp_path / "worse", *settings_of("lstm", "learning_rate=1e5"))
    assert not (tmp_path / "worse" / BEST).exists()
    with pytest.raises(ModelError, match="lower learning_rate or clip"):
        train(tiny_dataset, tmp_path / "worst", *settings_of("lstm", "learning_rate=3e38", "clip=0"))


@pytest.mark.parametrize("precision", ["tf32", "bf16"])
def test_each_precision_trains(tiny_dataset, tmp_path, precision):
    settings = settings_of(MODELS[1], f"precision={precision}", "epochs=1", "stride=20")
    train(tiny_dataset, tmp_path, *settings, model=MODELS[1])
    assert {tensor.dtype for tensor in read_checkpoint(tmp_path).weights.values()} == {torch.float32}
    torch.set_float32_matmul_precision("highest")


def test_a_run_past_its_limit_stops_at_once(tiny_dataset, tmp_path):
    for limits, last in (({"max_seconds": 0}, 1), ({"max_updates": 20}, 20), ({"max_updates": 5}, 20)):
        with pytest.raises(StoppedError, match=f"after update {last};"):
            train(tiny_dataset, tmp_path, *SETTINGS, limits=pm.RunLimits(**limits))


def test_a_resumed_run_keeps_the_precision_that_was_chosen_for_it(tiny_dataset, tmp_path, monkeypatch):
    stopped(tiny_dataset, tmp_path / "out", 3, *settings_of("lstm", "precision=auto"))
    found = read_checkpoint(tmp_path / "out" / LAST).settings["precision"]
    assert found == best_precision(torch.device("cpu"))
    other = {"fp32": "bf16", "bf16": "fp32"}[found]
    monkeypatch.setattr("ps_models.training_run.best_precision", lambda _: other)
    train(tiny_dataset, tmp_path / "out", *settings_of("lstm", "precision=auto"))
    assert read_checkpoint(tmp_path / "out" / LAST).settings["precision"] == found


def test_fp32_is_fp32_whatever_was_set_before():
    backends: Any = torch.backends
    cudnn = backends.cudnn
    backends.fp32_precision = "tf32"
    try:
        for precision in ("fp32", "bf16"):
            use_products(precision)
            found = cudnn.conv.fp32_precision, cudnn.rnn.fp32_precision
            assert (*found, torch.get_float32_matmul_precision()) == ("ieee", "ieee", "highest")
    finally:
        backends.fp32_precision = "none"


def test_training_learns_and_the_best_checkpoint_says_so(tiny_dataset, tmp_path):
    settings = settings_of("lstm", *QUIET, "epochs=6", "optimizer=adamw", "learning_rate=0.02")
    run = train(tiny_dataset, tmp_path / "out", *settings)
    assert run.perplexity < 20  # of about 50 words
    assert read_checkpoint(tmp_path / "out").facts["valid_perplexity"] == run.perplexity
    in_one_row = pm.evaluate(tmp_path / "out", tiny_dataset, split="valid", device="cpu").score.perplexity
    assert in_one_row == pytest.approx(run.perplexity, rel=0.02)


def test_a_run_that_would_have_ended_before_is_not_resumed(tiny_dataset, tmp_path):
    """Its weights are of more epochs than the settings have."""
    out, settings = tmp_path / "out", (*SETTINGS, "epochs=4", "patience=0")
    train(tiny_dataset, out, *settings)
    with pytest.raises(
        ModelError, match=r"epochs=2, .* would have ended after epoch 2, but epoch 4 has begun"
    ):
        train(tiny_dataset, out, *settings, "epochs=2")
    assert train(tiny_dataset, out, *settings).trained_before


def test_a_run_with_other_settings_is_not_resumed(tiny_dataset, finished, tmp_path):
    cosine = settings_of("lstm", "schedule=cosine")  # it has no more epochs
    stopped(tiny_dataset, tmp_path, 3, *cosine)
    for out, settings, message in (
        (finished, (*SETTINGS, "clip=2"), r"other settings \(clip 1\.0 → 2\.0\)"),
        (finished, (*SETTINGS, "decay=0.9"), r"other settings \(decay 0\.5 → 0\.9\)"),
        (finished, (*SETTINGS, "hidden_size=9"), "hidden_size 8 → 9"),
        (tmp_path, (*cosine, "epochs=3"), r"other settings \(epochs 2 → 3\)"),
        (tmp_path, (*cosine, "schedule=constant"), r"other settings \(schedule .* → constant"),
    ):
        with pytest.raises(ModelError, match=message):
            train(tiny_dataset, out, *settings)


@pytest.mark.parametrize(
    ("split", "change", "message"),
    [
        ("train", lambda text: text.replace("= Article 1 =", "= 1 Article ="), "sha256 of train .*same data"),
        ("valid", lambda text: text + text, "sha256 of valid .*use the same data"),
        ("train", lambda text: text + " one more \n", "vocabulary"),
    ],
)
def test_a_run_with_another_text_is_not_resumed(tiny_dataset, finished, tmp_path, split, change, message):
    other = shutil.copytree(tiny_dataset, tmp_path / "other")
    path = other / f"wiki.{split}.tokens"
    path.write_text(change(path.read_text()))
    with pytest.raises(ModelError, match=message):
        train(other, finished, *SETTINGS, "epochs=3")


def test_a_checkpoint_says_by_which_code_each_session_trained_it(tiny_dataset, tmp_path, monkeypatch):
    settings = settings_of("lstm", *QUIET)
    for stop, code in [(3, "abc"), (5, "abc"), (8, "def")]:
        monkeypatch.setattr("ps_models.training.loop.code_hash", lambda _, code=code: code)
        stopped(tiny_dataset, tmp_path / "out", stop, *settings)
    one, two = read_checkpoint(tmp_path / "out" / LAST).sessions
    assert re.fullmatch(r"wikitext-builder \S+ abc, torch \S+, cpu \(.*threads\)", one)
    assert two == one.replace("abc", "def")


def other_states(change: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[Any], None]:
    """Changes each tensor of the hidden state."""

    def of(saved: Any) -> None:
        saved["processes"][0]["state"] = [change(one) for one in saved["processes"][0]["state"]]

    return of


FORGED: tuple[Any, ...] = (
    *({name: None} for name in ("config", "position", "optimizers", "processes", "logs")),
    {"position": {"update": 3}},
    {"position": {"losses": (), "wings": 2}},
    {"optimizers": [{"state": {}}]},
    {"optimizers": []},
    {"processes": [{}]},
    {"processes": [{"state": [], "rng": torch.get_rng_state()}]},
    {"processes": 1},
    {"logs": {}},
    {"logs": {"updates.jsonl": -1, "epochs.csv": 0}},
    *(
        lambda saved, field=field: saved["position"].update(field)
        for field in ({"update": -1}, {"chunk": 1.0}, {"nats": "1"}, {"losses": (math.nan,)})
    ),
    lambda saved: saved["processes"][0]["state"].pop(),
    other_states(torch.Tensor.double),
    other_states(lambda one: one[:1]),
    {"averages": [torch.zeros(1)]},
    {"averaged": -1},
)


@pytest.fixture(scope="module")
def stopped_run(tiny_dataset, tmp_path_factory):
    """A checkpoint of a run that can be resumed."""
    out = tmp_path_factory.mktemp("stopped")
    stopped(tiny_dataset, out, 3, *SETTINGS)
    return read_checkpoint(out / LAST, training=True)


@pytest.mark.parametrize("changed", FORGED)
def test_a_checkpoint_whose_training_part_is_not_whole_is_refused(
    tiny_dataset, stopped_run, tmp_path, changed
):
    saved = replace(stopped_run, training=deepcopy(stopped_run.training))
    training: dict[str, Any] = {**(saved.training or {}), **(changed if isinstance(changed, dict) else {})}
    if callable(changed):
        changed(training)
    training = {name: value for name, value in training.items() if value is not None}
    save_checkpoint(tmp_path / LAST, replace(saved, training=training))
    message = r"this version cannot resume the checkpoint .*, or train again with another --out$"
    with pytest.raises(ModelError, match=message):
        train(tiny_dataset, tmp_path, *SETTINGS)


def test_two_runs_do_not_write_into_one_folder(tiny_dataset, run):
    log = RunLog(run, lengths={UPDATES: 10**6, EPOCHS: 10**6})
    with pytest.raises(ModelError, match="another process"):
        train(tiny_dataset, run, *SETTINGS)
    log.close()
    assert train(tiny_dataset, run, *SETTINGS).trained_before
    assert train(tiny_dataset, run, *SETTINGS, "epochs=3").epochs == 3  # a finished run, for more epochs


def test_a_full_disk_is_an_error_and_the_run_can_be_resumed(tiny_dataset, tmp_path):
    log = RunLog(tmp_path)
    with small_files(20):
        for write, first in ((log.update, "update"), (log.epoch, "epoch")):
            with pytest.raises(
                ModelError, match=r"(jsonl|csv): cannot be written .*run the same command to resume"
            ):
                write({first: 1, "a_long_name": 0.123456789})
        with pytest.raises(ModelError, match="cannot be written"):  # what was left to write
            log.close()
    train(tiny_dataset, tmp_path, *SETTINGS)
    assert [update for update, _ in losses(tmp_path)] == list(range(1, losses(tmp_path)[-1][0] + 1))


def test_weights_that_are_nan_after_an_epoch_are_not_the_best(tiny_dataset, tmp_path):
    one_update = ("epochs=4", "stride=5000", "bptt=1", "schedule=decay-after")
    settings = settings_of("lstm", *QUIET, *one_update, "decay_after=1", "decay=1e38", "clip=0")
    with pytest.raises(ModelError, match=r"epoch 2: the loss on valid is nan, expected a finite perplexity"):
        train(tiny_dataset, tmp_path, *settings)
    best = read_checkpoint(tmp_path / BEST)
    assert best.facts["epoch"] == 1
    assert all(weight.isfinite().all() for weight in best.weights.values())


def test_a_folder_whose_name_is_not_utf_8_can_be_trained_on_and_resumed(tiny_dataset, tmp_path):
    """As Linux allows it: a name is bytes."""
    dataset = shutil.copytree(tiny_dataset, tmp_path / os.fsdecode(b"donn\xe9es"))
    for trained_before in (False, True):
        found = train(dataset, tmp_path / "out", *SETTINGS, "epochs=1", "stride=20")
        assert found.trained_before is trained_before
    signature = pm.evaluate(tmp_path / "out", dataset, split="test", device="cpu").signature
    assert signature["data"].startswith("donn-es+")


def test_what_is_no_parameter_or_has_another_shape_is_loaded_after_a_training(tiny_dataset, tmp_path):
    """The depth of a highway network is a dimension of one tensor; topics are a buffer."""
    short = ("hidden_size=4", "epochs=1", "batch_size=4", "stride=6", "bptt=4")
    for model, more in (("rhn", ("depth=10",)), ("rnn-lda", ("topics=3", "lda_passes=3"))):
        train(tiny_dataset, tmp_path / model, *short, *more, model=model)
        assert pm.evaluate(tmp_path / model, tiny_dataset, split="test", device="cpu").score.perplexity > 1
    loaded: Any = pm.load(tmp_path / "rnn-lda", device="cpu").model
    assert loaded.log_topics_VK.abs().max() > 0
    torch.testing.assert_close(loaded.log_topics_VK.logsumexp(dim=1), torch.zeros(len(loaded.log_topics_VK)))


def test_what_a_precision_asks_for_ends_with_the_evaluation(tiny_dataset, finished):
    trained = pm.load(finished, device="cpu")
    pm.evaluate(trained, tiny_dataset, split="test", precision="tf32")
    assert torch.get_float32_matmul_precision() == "highest"
    assert not torch.backends.cudnn.allow_tf32
    with autocast(torch.device("cpu"), "tf32"):
        with autocast(torch.device("cpu"), "fp32"):
            inner = torch.get_float32_matmul_precision()
        assert (inner, torch.get_float32_matmul_precision()) == ("highest", "high")
    with pytest.raises(ModelError, match="--precision fp16: expected fp32, tf32, bf16"):
        pm.evaluate(trained, tiny_dataset, split="test", precision="fp16")


def test_a_caller_who_trains_between_words_has_gradients(finished):
    trained = pm.load(finished, device="cpu")
    drawn, told = iter(pm.generate(trained, words=3)), predictions(trained.model, torch.tensor([1, 2, 3]))
    assert next(drawn)
    assert torch.is_grad_enabled()
    assert next(told)
    assert torch.is_grad_enabled()
    with torch.no_grad():
        next(iter(trained.model.parameters())).fill_(torch.nan)
    with pytest.raises(ModelError, match="probabilities are NaN"):
        list(pm.generate(trained, words=1))


def test_a_run_that_may_take_less_time_than_a_validation_comes_to_its_end(tiny_dataset, tmp_path):
    settings = (*SETTINGS, "epochs=1", "stride=50", "bptt=1")
    for _ in range(100):
        with suppress(StoppedError):
            train(tiny_dataset, tmp_path / "out", *settings, limits=RunLimits(max_seconds=0))
            break
    else:
        pytest.fail("never ends")
    assert train(tiny_dataset, tmp_path / "out", *settings).trained_before


def test_a_best_checkpoint_without_its_run_is_not_replaced(tiny_dataset, run):
    (run / LAST).unlink()
    files = {path.name: path.read_bytes() for path in run.iterdir()}
    with pytest.raises(ModelError, match=f"has {BEST}, .* but no {LAST} to resume from; .* another --out"):
        train(tiny_dataset, run, "batch_size=4", model="rnn")
    assert {path.name: path.read_bytes() for path in run.iterdir()} == files


@pytest.mark.parametrize("name", [UPDATES, EPOCHS])
def test_a_file_or_link_of_others_is_no_log(tmp_path, name):
    precious, run = tmp_path / "precious", tmp_path / "run"
    precious.write_text("mine")
    run.mkdir()
    (run / name).symlink_to(precious)
    for _ in range(2):
        with pytest.raises(ModelError, match=f"{name}: is a link or not a training log"):
            RunLog(run)
        assert (run / name).read_text() == "mine"
        (run / name).unlink()
        shutil.copy(precious, run / name)
    assert precious.read_text() == "mine"
