"""Stored measurements: a number with all that decided it, and how each checkpoint in it was trained.

A record has enough to train a checkpoint again. The module imports torch only to read one, so that `compare`
and `report` start at once.
"""

from __future__ import annotations

import csv
import math
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final

import msgspec

from lm_benchmarks.choices import BEGINNING, MUST_AGREE, PAPER
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.metrics import METRICS, Sums
from lm_benchmarks.record_versions import Int63, Record, finite, has_lines, of_line, read_lines
from ps_models.errors import ModelError
from ps_models.evaluation.signature import Signature
from ps_models.hyperparameters import TrainingConfig, finished
from ps_models.training.logs import EPOCHS

if TYPE_CHECKING:
    from ps_models.configs import ModelKind
    from ps_models.training.checkpoint import Checkpoint

ENDS: Final = ("epochs", "patience")  # settings
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e12)]


class Epoch(Record, frozen=True, kw_only=True):
    """A line of the log of a training run."""

    epoch: Int63
    updates: Int63
    train_perplexity: float | None  # None: infinite or NaN
    valid_perplexity: float | None
    seconds: Seconds  # spent in updates, since the start


class Trained(Record, frozen=True, kw_only=True):
    """A checkpoint: its preset, what differs from the preset, and how long the training took."""

    ADDED: ClassVar = frozenset({"sessions"})
    recipe: str  # model/preset
    command: str  # trains it again, given the dataset
    settings: tuple[str, ...]  # key=value, what differs from the preset
    model: Mapping[str, Any]  # configuration
    training: Mapping[str, Any]  # configuration, the seed too
    data: str
    train_sha256: str
    epochs: Int63  # up to this checkpoint
    updates: Int63
    tokens: Int63 | None  # tokens of train times epochs; None: the train file is not there
    seconds: Seconds | None  # of training; None: the folder has no log
    curve: tuple[Epoch, ...] = ()  # of the whole run, which may continue after this checkpoint
    sessions: tuple[str, ...] = ()  # by which code and device, in order

    def __post_init__(self) -> None:
        whole = {f"training.{name}": self.training.get(name, 0) for name in (*ENDS, "seed")}
        for name, found in {**whole, "model.vocab_size": self.model.get("vocab_size", 0)}.items():
            if not isinstance(found, int) or isinstance(found, bool):
                raise ValueError(f"{name} is {found!r:.40}, not a whole number")  # noqa: TRY004 - bad content
        if not isinstance(self.training.get("optimizer_options", {}), Mapping):
            raise ValueError("training.optimizer_options are no settings")  # noqa: TRY004 - bad content
        try:
            _ = self.ends
        except ModelError as error:
            raise ValueError(f"training.{error}") from error

    @property
    def processes(self) -> int:
        """How many processes trained it in the last session; they score validation in other pieces."""
        return processes_of(self.sessions)

    @property
    def is_finished(self) -> bool:
        """Returns True if the run came to the end of its settings; else it was stopped before."""
        return finished(self.ends, losses_of(self.curve))

    @property
    def ends(self) -> TrainingConfig:
        """A configuration that ends when this training does."""
        return TrainingConfig(**{key: self.training[key] for key in ENDS if key in self.training})


def processes_of(sessions: Sequence[str]) -> int:
    """The number of processes in the last session."""
    found = re.search(r", (\d{1,9}) processes$", sessions[-1]) if sessions else None
    return int(found[1]) if found else 1


def losses_of(curve: Iterable[Epoch]) -> list[float]:
    """Validation losses by epoch, in nats per token; infinite where there is no perplexity."""
    perplexities = (epoch.valid_perplexity for epoch in curve)
    return [math.log(one) if one is not None and one > 0 else math.inf for one in perplexities]


def decisive_settings(settings: Iterable[str]) -> frozenset[str]:
    """The settings that make a run another one than its preset; precision and seed may differ."""
    return frozenset(one for one in settings if one.partition("=")[0] not in {"precision", "seed"})


def read_curve(folder: Path) -> tuple[Epoch, ...]:
    """The epochs of a training run; none if its folder has no log."""
    path = folder / EPOCHS
    if not path.is_file():
        return ()
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return tuple(
                msgspec.convert(  # a log is a file as any other: numbers in it can be too large
                    {
                        "epoch": int(row["epoch"]),
                        "updates": int(row["updates"]),
                        "train_perplexity": finite(float(row["train_perplexity"])),
                        "valid_perplexity": finite(float(row["valid_perplexity"])),
                        "seconds": float(row["training_seconds"]),
                    },
                    Epoch,
                )
                for row in csv.DictReader(file)
            )
    except (OSError, KeyError, ValueError, TypeError, csv.Error) as error:
        raise HarnessError(f"{path}: {error!r}; expected the log of a run of `ps-models train`") from error


def training_of(
    checkpoint: Checkpoint, path: Path, train_tokens: int | None, kind: ModelKind | None = None
) -> Trained:
    """How a checkpoint was trained, of so many tokens if known. The log is in the folder of `path`.

    `kind` is its model, if it is not one of ours.
    """
    from ps_models.configs import completed_fields
    from ps_models.training.checkpoint import checkpoint_file

    facts = checkpoint.facts
    model = kind or checkpoint.model
    preset, settings = _preset_and_settings(checkpoint, model)
    data = str(facts.get("data", "DATA"))
    curve = read_curve(checkpoint_file(path).parent)
    epochs, updates = int(facts.get("epoch", 0)), int(facts.get("update", 0))
    own = [line for line in curve if line.updates <= updates]
    line = ["ps-models", "train", checkpoint.model, data]
    line += ["--preset", preset] if preset else []
    portable = ("precision=auto" if one == "precision=bf16" else one for one in settings)
    line += [part for setting in portable for part in ("--set", setting)]
    if (processes := processes_of(checkpoint.sessions)) > 1:
        line += ["--processes", str(processes)]
    return Trained(
        recipe=f"{checkpoint.model}/{preset}" if preset else checkpoint.model,
        command=shlex.join([*line, "--out", "RUN"]),
        settings=settings,
        model=completed_fields(model, checkpoint.config),
        training=checkpoint.settings,
        data=data,
        train_sha256=str(facts.get("train_sha256", "")),
        epochs=epochs,
        updates=updates,
        tokens=None if train_tokens is None else epochs * train_tokens,
        seconds=own[-1].seconds if own else None,
        curve=curve,
        sessions=checkpoint.sessions,
    )


def _preset_and_settings(
    checkpoint: Checkpoint, model: str | ModelKind
) -> tuple[str | None, tuple[str, ...]]:
    """The preset of a run, and what differs from it.

    Settings given one by one can be those of another preset: then it is a run of that one.
    """
    from ps_models.configs import kind_of

    named, presets = checkpoint.facts.get("preset"), kind_of(model).presets
    preset = named if named in presets else None  # its file is not there: what differs from the defaults
    fields = checkpoint.config, checkpoint.settings
    settings = settings_of(model, preset, *fields)
    if decisive_settings(settings):
        for other in presets:
            same = settings_of(model, other, *fields)
            if not decisive_settings(same):
                return other, same
    return preset, settings


def settings_of(
    model: str | ModelKind, preset: str | None, config: Mapping[str, Any], training: Mapping[str, Any]
) -> tuple[str, ...]:
    """In what two configurations differ from a preset, as `key=value`; all if the preset cannot be made."""
    from ps_models.configs import NOT_SET, completed_fields, make_configs

    found = {**completed_fields(model, config), **training}
    options = found.pop("optimizer_options", {})  # each is a setting too
    try:
        configs = make_configs(model, preset, (), found.get("vocab_size", 0))
        wanted = {**asdict(configs[0]), **asdict(configs[1]), **configs[1].optimizer_options}
    except ModelError:  # of another version
        wanted = {key: None for key in found if key not in NOT_SET}
    wanted |= {key: wanted.get(key) for key in options}
    found |= options
    return tuple(
        f"{key}={_setting(found[key])}"
        for key, value in wanted.items()
        if key in found and found[key] != (list(value) if isinstance(value, tuple) else value)
    )


def _setting(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


class TokenGroup(Record, frozen=True, kw_only=True):
    """Tokens of a text that have something in common, and how a model predicted them."""

    ADDED: ClassVar = frozenset({"parts"})
    by: str  # a name in GROUPINGS
    label: str
    tokens: Int63
    nats: float
    # (tokens, nats) in each of PARTS consecutive parts of the text, for error bars.
    parts: tuple[tuple[Int63, float], ...] = ()


class Tried(Record, frozen=True, kw_only=True):
    """How many random places of a run were tested for violated invariants."""

    ADDED: ClassVar = frozenset({"unit", "tolerance"})
    seed: Int63
    tokens: Int63  # of the run
    places: Int63  # at each: a sum, a stretch scored again, and a changed future
    whole: Int63  # places whose sum is over the whole vocabulary
    fewest: Int63 | None  # words of the smallest other sum; None: there is no other
    deepest: Int63  # tokens before the deepest place
    predictions: Int63  # that the trials cost
    unit: str = "tokens"  # of the run; pieces: windows were tried, and nothing at the beginning
    tolerance: float | None = None  # nats that a score may differ by, for a low precision; None: 0.001

    @property
    def hidden(self) -> float:
        """The fraction of positions at which violations are not ruled out, with a confidence of 95%."""
        return float(1 - 0.05 ** (1 / self.places)) if self.places else 1.0

    def __str__(self) -> str:
        """Where the invariants were checked, and what is not ruled out, in a few sentences."""
        sums, excess = f"{self.whole} of the sums over the whole vocabulary", ""
        if self.fewest is not None:
            words = "words" if self.unit == "tokens" else "pieces"
            sums += f", the others over {self.fewest} {words} or more"
            where = f", except at {self.whole} of the places" if self.whole else ""
            excess = f" an excess that shows only in the sum over all {words}{where};"
        differ = "" if self.tolerance is None else f"; scores may differ by {self.tolerance:.2g} nats"
        beginning = f"on the first {min(BEGINNING, self.tokens)} tokens and " if self.unit == "tokens" else ""
        return (
            f"Invariants were checked {beginning}at {self.places} random places (seed {self.seed}) of"
            f" {self.tokens:,} {self.unit}, the deepest after {self.deepest:,}; {sums};"
            f" {self.predictions:,} predictions{differ}. Not ruled out: violations at under"
            f" {self.hidden:.1%} of positions (with a confidence of 95%) or after the deepest of"
            f" these;{excess} a model that recognises that it is being tested."
        )


LEAST_BITS: Final = 0.5
"""Bits per byte of English text that no published model goes below unless it has read the text.

The best results of this project have 1.11 on Penn Treebank and WikiText-2. Llama 2 of 7 billion weights,
which has probably read Wikipedia, has 0.59 on WikiText-2 (docs/which-perplexity.md).
"""


class Result(Record, frozen=True, kw_only=True):
    """How a model predicted a text, and what is needed to measure it again."""

    ADDED: ClassVar = frozenset({"tried", "specification", "number", "titles", "flops_per_token"})
    model: str  # its name in tables
    recipe: str = ""  # which model of ours it is, see lm_benchmarks.reporting.rows; "": not ours
    signature: Signature
    articles: tuple[Sums, ...]
    groups: tuple[TokenGroup, ...] = ()
    checks: Mapping[str, str] | None = None  # by law, what breaks it, or "" if it is kept; None: not tried
    parameters: Int63 | None = None
    seconds: float = 0.0
    device: str = "unknown"
    versions: Mapping[str, str] = msgspec.field(default_factory=dict)
    command: str = ""
    written: str = ""  # ISO 8601, UTC
    trained: tuple[Trained, ...] = ()  # how each checkpoint in it was trained
    tried: Tried | None = None  # None: invariants were checked only at the beginning, or not at all
    specification: str = ""  # what the user called the model, without this machine's folders
    number: float | None = None
    titles: tuple[str, ...] = ()  # of the articles, where the dataset has them
    flops_per_token: float | None = None  # of matrix products, as torch counts them; None: not counted

    @property
    def data(self) -> tuple[str, str]:
        """The name of the dataset, and the beginning of the hash of the file that was scored."""
        name, _, file = self.signature["data"].rpartition("+")
        return name, file

    @property
    def total(self) -> Sums:
        """The sums over the whole text."""
        return sum(self.articles, Sums())

    @property
    def warning(self) -> str:
        """Why the number is implausible; "" if it is not."""
        bits = METRICS["bits-per-byte"].of(self.total)
        if bits is None or bits >= LEAST_BITS or self.signature.get("split") == "train":
            return ""
        return (
            f"WARNING: {bits:.2f} bits per byte is less than any published model needs for English text that"
            f" it has not read ({LEAST_BITS} or more). Has the model read this text, does it look ahead, do"
            " its probabilities sum to more than one, or is this no usual text?"
        )

    @property
    def as_presets(self) -> bool:
        """True if each of its checkpoints was trained as its preset says, or nothing was trained."""
        # Precision and seed may differ.
        return all(one.is_finished and not decisive_settings(one.settings) for one in self.trained)

    @property
    def decisive_settings(self) -> tuple[frozenset[str], ...]:
        """The settings in which each of its checkpoints differs from its preset."""
        return tuple(decisive_settings(one.settings) for one in self.trained)

    @property
    def broken(self) -> tuple[str, ...]:
        """The invariants that the model violates."""
        return tuple(law for law, found in (self.checks or {}).items() if found)


def warnings_of(results: Iterable[Result]) -> list[str]:
    """The warnings of results, with the names of the models."""
    return [f"{one.model}, {one.signature['split']}: {one.warning}" for one in results if one.warning]


def from_json(line: str) -> Result:
    """The result of a line."""
    result = of_line(line, Result, "a result")
    unsound = [number for number, article in enumerate(result.articles, start=1) if not article.is_sound]
    if missing := [name for name in (*MUST_AGREE, "model") if name not in result.signature]:
        raise ValueError(f"a signature without {', '.join(missing)}")
    if any(
        count < 0 for group in result.groups for count in (group.tokens, *(part[0] for part in group.parts))
    ):
        raise ValueError("a group has counts below zero")
    total = result.total
    if not math.isfinite(total.nats):
        raise ValueError(f"the nats of all articles sum to {total.nats}")
    if unsound or not result.articles:
        raise ValueError(f"article {unsound[0]} has counts below zero" if unsound else "no article")
    if result.titles and len(result.titles) != len(result.articles):
        raise ValueError(f"{len(result.titles)} titles of {len(result.articles)} articles")
    if not total.tokens and (result.groups or result.signature["convention"] == PAPER):
        raise ValueError("no token")
    return result


def read_results(path: str | Path) -> list[Result]:
    """Read the results in a file, in order.

    Raises:
        HarnessError: The file cannot be read, or a line is not a result.
    """
    return read_lines(Path(path), from_json, writer="lm-benchmarks run")


def known_results(path: Path | None) -> list[Result]:
    """The results of a file; none if there is none, or if its writer was killed at once."""
    return read_results(path) if path is not None and has_lines(path) else []
