"""A run: epochs, validation, checkpoints, logs; it can be stopped at any update and gone on with."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import torch
from torch import Tensor, nn

from ps_models.data.batching import to_rows
from ps_models.data.dataset import Text
from ps_models.errors import ModelError
from ps_models.evaluation.evaluate import evaluate, evaluating
from ps_models.evaluation.score import Score
from ps_models.training.checkpoint import BEST, LAST, Checkpoint, load_weights, save_checkpoint, weights_of
from ps_models.training.config import TrainingConfig
from ps_models.training.cuda_graphs import Recorder
from ps_models.training.distributed import ONE_PROCESS, Processes
from ps_models.training.logs import Events, RunLog
from ps_models.training.optimizers import averaged_weights, set_learning_rate, start_averaging
from ps_models.training.schedules import finished, learning_rate
from ps_models.training.update import Position, Training
from wikitext_builder.progress import Progress, no_progress

SAVE_SECONDS = 300.0  # between two checkpoints within an epoch
READ_UPDATES, READ_SECONDS = 64, 0.5  # a GPU is waited for no more often, to see what its updates gave


class StoppedError(ModelError):
    """The user stopped the run; all is saved."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """What to train on, and what the checkpoints say of it."""

    stream: Tensor  # train
    valid: Sequence[Text]
    describe: Checkpoint  # model, config, vocabulary and facts; its weights are not looked at


@dataclass(frozen=True, kw_only=True)
class Pace:
    """When a run saves, logs and stops; nothing of it changes what is learned."""

    save_seconds: float = SAVE_SECONDS  # between two checkpoints within an epoch
    log_every: int = 1  # updates a line of the log
    max_updates: int | None = None  # stop after so many in all, saved, as if the user had said so
    max_seconds: float | None = None  # the same after so many from now on, at the end of an update


def train(
    model: nn.Module,
    task: Task,
    config: TrainingConfig,
    out: Path,
    *,
    resume: Checkpoint | None = None,
    device: torch.device | str = "cpu",
    processes: Processes = ONE_PROCESS,
    progress: Progress = no_progress,
    events: Events | None = None,
    clock: Callable[[], float] = time.monotonic,
    pace: Pace = Pace(),
    recorder: Recorder | None = None,
) -> Position:
    """Train a model and keep its last and its best checkpoint in a folder.

    Args:
        model: On its device already, its weights as they are to begin with.
        task: The text.
        config: How.
        out: The folder; the logs go there too.
        resume: Go on from here instead: the run's last checkpoint, read with `training=True`.
        device: Where the model is.
        processes: What other processes take part.
        progress: Told how many tokens of all epochs are done.
        events: TensorBoard's writer or the like.
        clock: Seconds, for rates and for when to save.
        pace: When to save, log and stop.
        recorder: Records updates and replays them; see `choose_recorder`.

    Returns:
        Where it ended.

    Raises:
        StoppedError: The user stopped it (Ctrl-C, SIGTERM); it can be gone on with.
        ModelError: The loss is no number any more, or `resume` is of another run.
    """
    rows = to_rows(task.stream, config.batch_size)
    run = Training(model, rows, config, device=torch.device(device), processes=processes, recorder=recorder)
    lengths = None
    if resume is not None and resume.training is not None:
        load_weights(model, resume.weights)
        run.restore(resume.training)
        lengths = resume.training["logs"]
    with ExitStack() as stack:
        log = None
        if processes.rank == 0:
            log = RunLog(out, lengths=lengths, events=events)
            stack.callback(log.close)
        asked_to_stop = stack.enter_context(_stop_signals())
        ends = math.inf if pace.max_seconds is None else clock() + pace.max_seconds
        session = _Session(run, task, out, log, progress, clock, pace, ends, asked_to_stop)
        session.run_all()
    return run.position


@dataclass
class _Session:
    """One sitting of a run: what is around the updates."""

    run: Training
    task: Task
    out: Path
    log: RunLog | None  # None but in the first process
    progress: Progress
    clock: Callable[[], float]
    pace: Pace
    ends: float  # by the clock
    asked_to_stop: Callable[[], bool]
    unread: list[tuple[Tensor, int]] = field(default_factory=list)  # updates after the run's position
    last_read: float = 0.0
    last_save: float = 0.0

    def run_all(self) -> None:
        """Train epoch after epoch until the schedule ends."""
        run = self.run
        while not finished(run.config, run.position.losses):
            self._train_epoch()
            self._save(LAST)  # before validation, which may be interrupted
            self._end_epoch()
        self._save(LAST)

    def _train_epoch(self) -> None:
        run = self.run
        run.model.train()
        set_learning_rate(run.optimizer, learning_rate(run.config, run.position.losses))
        self.last_read = self.last_save = self.clock()
        for chunk, targets in run.chunks():
            self.unread.append((run.update(chunk, targets), targets))
            self._after_update()
        if self.unread:
            self._read()

    def _after_update(self) -> None:
        run, now = self.run, self.clock()
        stop = self._must_stop() or self._updates_are_done()
        due = now - self.last_save >= self.pace.save_seconds
        late = len(self.unread) >= READ_UPDATES or now - self.last_read >= READ_SECONDS
        if not (run.waits or stop or due or late):
            return
        stop_votes, due_votes = self._read(float(stop), float(due and self.log is not None))
        if stop_votes:
            self._save(LAST)
            self._stop()
        if due_votes:
            self._save(LAST)
            self.last_save = self.clock()

    def _read(self, *votes: float) -> list[float]:
        """See what the updates gave, and go on to after them; the sums of the votes over all processes."""
        found = self.run.read(self.unread)
        nats, norms = zip(*found, strict=True)
        seconds = (self.clock() - self.last_read) / len(found)
        summed = self.run.processes.summed([*nats, *votes])
        for total, norm, (_, targets) in zip(summed, norms, self.unread, strict=False):
            self._advance(total, targets, norm, seconds)
        self.unread.clear()
        self.last_read = self.clock()
        return summed[len(found) :]

    def _updates_are_done(self) -> bool:
        most = self.pace.max_updates
        return most is not None and self.run.position.update + len(self.unread) >= most

    def _must_stop(self) -> bool:
        return self.asked_to_stop() or self.clock() >= self.ends

    def _advance(self, nats: float, targets: int, norm: float, seconds: float) -> None:
        run, position = self.run, self.run.position
        run.position = position = replace(
            position,
            update=position.update + 1,
            chunk=position.chunk + 1,
            nats=position.nats + nats,
            targets=position.targets + targets,
            seconds=position.seconds + seconds,
        )
        rate = run.optimizer.param_groups[0]["lr"]
        if self.log is not None and position.update % self.pace.log_every == 0:
            self.log.update(
                {
                    "update": position.update,
                    "epoch": position.epoch + 1,
                    "loss": nats / targets,
                    "gradient_norm": norm,
                    "learning_rate": rate,
                    "tokens_per_second": targets / max(seconds, 1e-9),
                }
            )
        mean = position.nats / position.targets
        note = f"epoch {position.epoch + 1} loss {mean:.3f} perplexity {_perplexity(mean):.1f} rate {rate:g}"
        if position.losses:
            note += f" valid {_perplexity(position.losses[-1]):.1f}"
        an_epoch = run.all_rows.targets  # one bar for all epochs, so that it tells the time that is left
        self.progress(
            "train", position.epoch * an_epoch + position.targets, run.config.epochs * an_epoch, note
        )

    def _end_epoch(self) -> None:
        run, position = self.run, self.run.position
        averages = averaged_weights(run.optimizer)
        with _swapped(averages), evaluating(run.model):
            score = sum(
                evaluate(run.scores, self.task.valid, device=run.device, progress=self._validating), Score()
            )
            loss = run.processes.first(score.nats / score.tokens)
            if math.isnan(loss):
                raise ModelError(
                    f"epoch {position.epoch + 1}: the loss of valid is no number;"
                    " train again with a lower learning_rate or clip"
                )
            best = not loss >= min(position.losses, default=math.inf)
            run.position = replace(position, losses=(*position.losses, loss))
            if best:
                self._save(BEST)
        if self.log is not None:
            self.log.epoch(
                {
                    "epoch": run.position.epoch,
                    "updates": position.update,
                    "train_perplexity": _perplexity(position.nats / position.targets),
                    "valid_perplexity": _perplexity(loss),
                    "learning_rate": run.optimizer.param_groups[0]["lr"],
                    "training_seconds": round(position.seconds, 3),
                }
            )
        start_averaging(run.optimizer, run.position.losses, run.config)
        run.next_epoch()

    def _validating(self, stage: str, done: int, total: int | None, note: str = "") -> None:
        del stage, total
        tokens = sum(len(text.tokens) for text in self.task.valid)
        self.progress("valid", done, tokens, note)
        if self._must_stop() and self.run.processes.count == 1:
            self._stop()

    def _save(self, name: str) -> None:
        run = self.run
        training = None if name == BEST else run.snapshot()
        if self.log is None:
            return
        if training is not None:
            training["logs"] = self.log.lengths()
        facts = {
            **self.task.describe.facts,
            "epoch": run.position.epoch,
            "update": run.position.update,
            "valid_perplexity": _perplexity(min(run.position.losses, default=math.inf)),
            "training": asdict(run.config),
        }
        save_checkpoint(
            self.out / name,
            replace(self.task.describe, weights=weights_of(run.model), facts=facts, training=training),
        )

    def _stop(self) -> None:
        raise StoppedError(
            f"stopped after update {self.run.position.update}; all is saved in {self.out / LAST}."
            " Run the same command with --resume to go on"
        )


@contextmanager
def _stop_signals() -> Iterator[Callable[[], bool]]:
    """Ctrl-C and SIGTERM are remembered until the update is done; a second one ends the process as usual."""
    seen: list[int] = []

    def remember(number: int, frame: object) -> None:
        del frame
        seen.append(number)
        signal.signal(number, before[signal.Signals(number)])

    numbers = (signal.SIGINT, signal.SIGTERM)
    try:
        before = {number: signal.signal(number, remember) for number in numbers}
    except ValueError:  # not in the main thread: then signals are the caller's
        yield lambda: False
        return
    try:
        yield lambda: bool(seen)
    finally:
        for number in numbers:
            signal.signal(number, before[number])


@contextmanager
def _swapped(averages: dict[nn.Parameter, Tensor]) -> Iterator[None]:
    """The averages stand in for the weights."""
    kept = {parameter: parameter.detach().clone() for parameter in averages}
    for parameter, average in averages.items():
        parameter.data.copy_(average)
    try:
        yield
    finally:
        for parameter, weight in kept.items():
            parameter.data.copy_(weight)


def _perplexity(mean: float) -> float:
    return Score(mean, 1).perplexity
