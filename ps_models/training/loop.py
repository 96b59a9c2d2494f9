"""Runs a training: epochs, validation, checkpoints, logs; it can stop after any update and resume."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import torch
from torch import Tensor, nn

from ps_models.dataset import to_rows
from ps_models.devices import ONE_PROCESS, DistributedContext, device_name
from ps_models.errors import ModelError
from ps_models.hyperparameters import TrainingConfig, finished, learning_rate, update_factor
from ps_models.processor import fitted_threads, stop_signals
from ps_models.scoring import CHUNK_TOKENS, score_rows
from ps_models.signature import Score
from ps_models.training.checkpoint import (
    BEST,
    LAST,
    Checkpoint,
    load_weights,
    remove_unfinished,
    save_checkpoint,
    weights_of,
)
from ps_models.training.logs import LOGS, Events, RunLog
from ps_models.training.optimizers import set_learning_rate
from ps_models.training.update import Position, Training, Whole
from wikitext_builder import __version__
from wikitext_builder.files import code_hash
from wikitext_builder.progress import Progress, no_progress

LOG = logging.getLogger(__name__)
SAVE_SECONDS = 300.0  # between two checkpoints within an epoch
MAX_UNREAD_UPDATES, MAX_UNREAD_SECONDS = 64, 0.5  # until the program waits for a GPU to read its losses


class StoppedError(ModelError):
    """The run was stopped, and everything is saved."""


@dataclass(frozen=True, kw_only=True)
class TrainingData:
    """The texts of a run, and its checkpoints without weights.

    Attributes:
        template: Has model, config, vocabulary and facts of the run's checkpoints.
    """

    stream: Tensor  # int32 ids of train, (time,)
    valid: Tensor  # int32 ids of valid, (time,)
    template: Checkpoint

    def valid_rows(self, config: TrainingConfig) -> int:
        """Return in how many rows valid is read: as many as an update has, if it has as many tokens."""
        return min(config.batch_size, len(self.valid))


@dataclass(frozen=True, kw_only=True)
class RunLimits:
    """When a run saves, logs and stops; none of it changes what the model learns.

    Attributes:
        save_seconds: Time between checkpoints within an epoch.
        log_every: Updates per log line.
        max_updates: Save and stop after this many updates in all.
        max_seconds: Save and stop after this many seconds from now, at the end of an update.
    """

    save_seconds: float = SAVE_SECONDS
    log_every: int = 1
    max_updates: int | None = None
    max_seconds: float | None = None


def run_training(
    model: nn.Module,
    data: TrainingData,
    config: TrainingConfig,
    out: Path,
    *,
    resume: Checkpoint | None = None,
    device: torch.device | str = "cpu",
    world: DistributedContext = ONE_PROCESS,
    progress: Progress = no_progress,
    events: Events | None = None,
    limits: RunLimits = RunLimits(),
    compiled: bool = False,
) -> Position:
    """Train a model and keep its last and its best checkpoint in a folder; return where the run ended.

    The model is on its device, with the weights to start from; `resume` is the run's last checkpoint, read
    with `training=True`. `progress` gets the number of tokens, over all epochs. If the user (Ctrl-C, SIGTERM)
    or `limits` stop the run, it raises a StoppedError and can be resumed.
    """
    if resume is None and (out / BEST).exists():
        raise ModelError(
            f"{out}: has {BEST}, which a new run would replace, but no {LAST} to resume from; move it, or use"
            " another --out"
        )
    rows = to_rows(data.stream, config.batch_size)
    run = Training(
        *(model, rows, config),
        vocab_size=len(data.template.vocabulary),
        device=torch.device(device),
        world=world,
        compiled=compiled,
    )
    lengths = None
    if resume is not None and resume.training is not None:
        load_weights(model, resume.weights)
        lengths = _restored(run, resume.training)
    with ExitStack() as stack:
        log = None
        if world.rank == 0:
            log = RunLog(out, lengths=lengths, events=events)
            stack.callback(log.close)
            remove_unfinished(out)
        asked_to_stop = stack.enter_context(stop_signals())
        stack.enter_context(fitted_threads(model, len(run.rows)))
        deadline = math.inf if limits.max_seconds is None else time.monotonic() + limits.max_seconds
        sessions = _sessions(resume, run.device, world.size)
        session = _Session(run, data, out, log, progress, limits, deadline, asked_to_stop, sessions)
        session.run_all()
    return run.position


def _restored(run: Training, snapshot: Mapping[str, Any]) -> dict[str, int]:
    """Restore a run from a snapshot; return the lengths of the logs at that time."""
    try:
        run.restore(snapshot)
        return {name: msgspec.convert(snapshot["logs"][name], Whole) for name in LOGS}
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise ModelError(
            f"this version cannot resume the checkpoint ({error!r}), but its weights can be used; resume it"
            " with the version that wrote it, or train again with another --out"
        ) from error


def _sessions(resume: Checkpoint | None, device: torch.device, processes: int) -> tuple[str, ...]:
    """Return the code and device of each session; a session like the last one adds nothing."""
    code = f"wikitext-builder {__version__} {code_hash('ps_models')}"
    session = f"{code}, torch {torch.__version__}, {device_name(device)}"
    session += f", {processes} processes" if processes > 1 else ""  # each scores a part of validation
    earlier = () if resume is None else resume.sessions
    return earlier if earlier[-1:] == (session,) else (*earlier, session)


def _training_clock(device: torch.device) -> float:
    """Return seconds of training; on a CPU only those in which this process computes."""
    return time.process_time() / torch.get_num_threads() if device.type == "cpu" else time.monotonic()


@dataclass
class _Session:
    """Runs one session of a training: everything around the updates."""

    run: Training
    data: TrainingData
    out: Path
    log: RunLog | None  # None except in the first process
    progress: Progress
    limits: RunLimits
    deadline: float  # in seconds of time.monotonic
    asked_to_stop: Callable[[], bool]
    sessions: tuple[str, ...]  # code and device of each session so far, for the checkpoint
    # Updates after the run's position, each with its numbers on the device, its targets and learning rate.
    unread: list[tuple[Tensor, int, float]] = field(default_factory=list)
    last_read: float = 0.0  # in seconds of time.monotonic
    last_clock: float = 0.0  # in seconds of `_training_clock`
    last_save: float = 0.0

    def run_all(self) -> None:
        """Train epoch after epoch until the schedule ends."""
        run = self.run
        if finished(run.config, run.position.losses):
            return  # the files of an earlier session stay as they are
        if run.position.update:
            self._report(f"resuming after update {run.position.update}")
        if self._updates_are_done():
            self._save(LAST)  # its settings may have changed, such as the number of epochs
            self._stop()
        while not finished(run.config, run.position.losses):
            self._train_epoch()
            self._save(LAST)  # before validation, which can be interrupted
            self._end_epoch()
        self._save(LAST)

    def _train_epoch(self) -> None:
        run = self.run
        run.model.train()
        epoch_rate = learning_rate(run.config, run.position.losses)
        self.last_read = self.last_save = time.monotonic()
        self.last_clock = _training_clock(run.device)
        for chunk, targets in run.chunks():
            rate = epoch_rate * self._factor()
            set_learning_rate(run.optimizers, rate)
            self.unread.append((run.update(chunk, targets), targets, rate))
            self._after_update()
        if self.unread:
            self._read_updates()

    def _factor(self) -> float:
        """Return the factor of the next update's learning rate."""
        position, config = self.run.position, self.run.config
        trained = position.targets + sum(targets for _, targets, _ in self.unread)
        done = (position.epoch + trained / self.run.all_rows.targets) / config.epochs
        return update_factor(config, position.update + len(self.unread), done)

    def _after_update(self) -> None:
        run, now = self.run, time.monotonic()
        stop = self.asked_to_stop() or now >= self.deadline or self._updates_are_done()
        due = now - self.last_save >= self.limits.save_seconds
        late = len(self.unread) >= MAX_UNREAD_UPDATES or self._updates_are_done()
        if run.world.size == 1:  # several processes must read after the same update, not by their clocks
            late = late or stop or due or now - self.last_read >= MAX_UNREAD_SECONDS
        if not (run.reads_at_once or late):
            return
        stop_votes, due_votes = self._read_updates(float(stop), float(due and self.log is not None))
        if stop_votes:
            self._save(LAST)
            self._stop()
        if due_votes:
            self._save(LAST)
            self.last_save = time.monotonic()

    def _read_updates(self, *votes: float) -> list[float]:
        """Read the losses of the updates, advance the position, and sum the votes over all processes."""
        read = self.run.read([(numbers, targets) for numbers, targets, _ in self.unread])
        nats, norms = zip(*read, strict=True)
        seconds = (_training_clock(self.run.device) - self.last_clock) / len(read)
        pace = sum(targets for _, targets, _ in self.unread) / max(time.monotonic() - self.last_read, 1e-9)
        summed = self.run.world.summed([*nats, *votes])
        for total, norm, (_, targets, rate) in zip(summed, norms, self.unread, strict=False):
            numbers = {"gradient_norm": norm, "learning_rate": rate, "tokens_per_second": pace}
            self._advance(total, targets, numbers, seconds)
        self.unread.clear()
        self.last_read, self.last_clock = time.monotonic(), _training_clock(self.run.device)
        return summed[len(read) :]

    def _updates_are_done(self) -> bool:
        limit = self.limits.max_updates
        return limit is not None and self.run.position.update + len(self.unread) >= limit

    def _advance(self, nats: float, targets: int, numbers: Mapping[str, float], seconds: float) -> None:
        """Move the position past an update, log it and report the progress."""
        run, position = self.run, self.run.position
        run.position = position = replace(
            position,
            update=position.update + 1,
            chunk=position.chunk + 1,
            nats=position.nats + nats,
            targets=position.targets + targets,
            seconds=position.seconds + seconds,
        )
        if self.log is not None and position.update % self.limits.log_every == 0:
            place = {"update": position.update, "epoch": position.epoch + 1}
            self.log.update({**place, "loss": nats / targets, **numbers})
        mean = position.nats / position.targets
        note = f"epoch {position.epoch + 1} loss {mean:.3f} perplexity {_perplexity(mean):.1f}"
        note += f" rate {numbers['learning_rate']:.4g} gradient {numbers['gradient_norm']:.3g}"
        if position.losses:
            note += f" valid {_perplexity(position.losses[-1]):.1f}"
        self._report(note)

    def _report(self, note: str) -> None:
        position, epochs = self.run.position, self.run.config.epochs
        per_epoch = self.run.all_rows.targets  # one bar for all epochs, so that it shows the time left
        self.progress("train", position.epoch * per_epoch + position.targets, epochs * per_epoch, note)

    def _end_epoch(self) -> None:
        """Validate, keep the best weights, log, and go on to the next epoch."""
        run, position = self.run, self.run.position
        with _weights_replaced(run.averages):
            loss = self._validation_loss()
            run.position = replace(position, losses=(*position.losses, loss))
            if not position.losses or loss < min(position.losses):
                self._save(BEST)
        if self.log is not None:
            self.log.epoch(
                {
                    "epoch": run.position.epoch,
                    "updates": position.update,
                    "train_perplexity": _perplexity(position.nats / position.targets),
                    "valid_perplexity": _perplexity(loss),
                    "learning_rate": run.learning_rate,
                    "training_seconds": round(position.seconds, 3),
                }
            )
        run.next_epoch()

    def _validation_loss(self) -> float:
        """Score valid in rows, each by one of the processes; return the mean nats per token."""
        run, world, epoch = self.run, self.run.world, self.run.position.epoch + 1
        rows = to_rows(self.data.valid, self.data.valid_rows(run.config)).of_rank(world.rank, world.size)
        # As many tokens as a pass of training, so that memory suffices.
        pass_rows = run.config.micro_batch or run.config.batch_size
        call_tokens = max(CHUNK_TOKENS, pass_rows * (run.config.stride + run.config.lookback))
        score = score_rows(run.model, rows.to(run.device), call_tokens=call_tokens, progress=self._validating)
        nats, tokens = world.summed([score.nats, score.tokens])
        loss = nats / tokens
        if not math.isfinite(_perplexity(loss)):
            raise ModelError(
                f"epoch {epoch}: the loss on valid is {loss:.4g}, expected a finite perplexity; train again"
                " with a lower learning_rate or clip"
            )
        if loss > (uniform_loss := math.log(len(self.data.template.vocabulary))):
            LOG.warning(
                "epoch %d: the loss on valid is %.3f, worse than uniform guessing (%.3f);"
                " try a lower learning_rate or a warmup",
                *(epoch, loss, uniform_loss),
            )
        return loss

    def _validating(self, stage: str, done: int, total: int | None, note: str = "") -> None:
        self.progress(stage, done, total, note)
        # A limit of time or updates does not interrupt validation.
        if self.asked_to_stop() and done != total and self.run.world.size == 1:
            self._stop()

    def _save(self, name: str) -> None:
        run = self.run
        training = None if name == BEST else run.snapshot()
        if self.log is None:
            return
        if training is not None:
            training["logs"] = self.log.lengths()
        facts = {
            **self.data.template.facts,
            "epoch": run.position.epoch,
            "update": run.position.update,
            "valid_perplexity": run.position.best_perplexity,
            "training": asdict(run.config),
            "sessions": list(self.sessions),
        }
        save_checkpoint(
            self.out / name,
            replace(self.data.template, weights=weights_of(run.model), facts=facts, training=training),
        )
        LOG.info("saved %s after update %d", self.out / name, run.position.update)

    def _stop(self) -> None:
        raise StoppedError(
            f"stopped after update {self.run.position.update}; everything is saved in {self.out / LAST},"
            " and the same `ps-models train` resumes it"
        )


@contextmanager
def _weights_replaced(averages: dict[nn.Parameter, Tensor]) -> Iterator[None]:
    """Replace the weights by their averages inside the context."""
    weights = {parameter: parameter.detach().clone() for parameter in averages}
    for parameter, average in averages.items():
        parameter.data.copy_(average)
    try:
        yield
    finally:
        for parameter, weight in weights.items():
            parameter.data.copy_(weight)


def _perplexity(mean: float) -> float:
    return Score(mean, 1).perplexity
