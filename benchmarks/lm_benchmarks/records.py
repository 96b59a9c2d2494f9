"""Stored measurements: a number with everything that decided it, and how its checkpoints were trained.

A file of results has a JSON object per line, is only appended to, and is read whole or rejected. A record is
enough to train a checkpoint again; its texts are portable, and have one line. The module imports torch only
to read a checkpoint, so that `compare` and `report` start at once.
"""

from __future__ import annotations

import csv
import fcntl
import json
import math
import os
import re
import shlex
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec

from lm_benchmarks.choices import BEGINNING_TOKENS, CHARACTERS_LOST, MUST_AGREE, PAPER, HarnessError
from lm_benchmarks.metrics import METRICS, Int63, Record, Sums
from ps_models.hyperparameters import TrainingConfig, finished
from ps_models.signature import Signature
from ps_models.training.logs import EPOCHS
from wikitext_builder.dataset.vocabulary import UNK
from wikitext_builder.errors import without_secrets

if TYPE_CHECKING:
    from ps_models.training.checkpoint import Checkpoint

FORMAT: Final = 1
END_SETTINGS: Final = ("epochs", "patience")  # settings that decide when a training ends
Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e12)]


class Epoch(Record, frozen=True, kw_only=True):
    """A line of the log of a training run."""

    epoch: Int63
    updates: Int63
    train_perplexity: float | None  # None: infinite or NaN
    valid_perplexity: float | None
    seconds: Seconds  # spent in updates, since the start


class Trained(Record, frozen=True, kw_only=True):
    """A checkpoint: its preset, other settings, and how long the training took."""

    recipe: str  # model/preset
    command: str  # trains it again, given the dataset
    settings: tuple[str, ...]  # key=value, given besides the preset
    model: Mapping[str, Any]  # configuration
    training: Mapping[str, Any]  # configuration, the seed too
    data: str
    train_sha256: str
    epochs: Int63  # up to this checkpoint
    updates: Int63
    tokens: Int63 | None  # tokens of train times epochs; None: the train file is missing
    seconds: Seconds | None  # of training; None: the folder has no log
    curve: tuple[Epoch, ...] = ()  # the epochs of the whole run, which may continue after this checkpoint
    sessions: tuple[str, ...] = ()  # code and device of each session, in order

    def __post_init__(self) -> None:
        try:
            self._config()
        except msgspec.ValidationError as error:
            raise ValueError(f"training: {error}") from error

    def _config(self) -> TrainingConfig:
        """Return the settings that decide when the run ends."""
        names = self.training.keys() & {*END_SETTINGS, "seed"}
        return msgspec.convert({name: self.training[name] for name in names}, TrainingConfig)

    @property
    def processes(self) -> int:
        """The number of processes of the last session, which also divided the validation text among them."""
        match = re.search(r", (\d{1,9}) processes$", self.sessions[-1]) if self.sessions else None
        return int(match[1]) if match else 1

    @property
    def is_finished(self) -> bool:
        """True if the run reached the end that its settings define; False if it was stopped earlier."""
        return finished(self._config(), losses_of(self.curve))

    @property
    def changes(self) -> frozenset[str]:
        """The settings that differ from the preset, except precision and seed."""
        return frozenset(
            line for line in self.settings if line.partition("=")[0] not in {"precision", "seed"}
        )


def losses_of(curve: Iterable[Epoch]) -> list[float]:
    """Return validation losses by epoch, in nats per token; infinite where the perplexity is missing."""
    perplexities = (epoch.valid_perplexity for epoch in curve)
    return [math.log(value) if value is not None and value > 0 else math.inf for value in perplexities]


def read_curve(folder: Path) -> tuple[Epoch, ...]:
    """Return the epochs of a training run; none if its folder has no log."""
    path = folder / EPOCHS
    if not path.is_file():
        return ()
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return tuple(
                msgspec.convert(  # it also rejects numbers that are too large
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


def training_of(checkpoint: Checkpoint, path: Path, train_tokens: int | None) -> Trained:
    """Return how a checkpoint was trained, with the log in its folder. `train_tokens` None: unknown."""
    from ps_models.training.checkpoint import checkpoint_file

    facts = checkpoint.facts
    preset, settings, data = facts.get("preset"), facts.get("settings"), str(facts.get("data", "DATA"))
    curve = read_curve(checkpoint_file(path).parent)
    epochs, updates = int(facts.get("epoch", 0)), int(facts.get("update", 0))
    until = [line for line in curve if line.updates <= updates]
    trained = Trained(
        recipe=f"{checkpoint.model}/{preset}" if preset else checkpoint.model,
        command="",
        settings=_texts(settings) if isinstance(settings, Mapping) else (),
        model=checkpoint.config,
        training=checkpoint.settings,
        data=data,
        train_sha256=str(facts.get("train_sha256", "")),
        epochs=epochs,
        updates=updates,
        tokens=None if train_tokens is None else epochs * train_tokens,
        seconds=until[-1].seconds if until else None,
        curve=curve,
        sessions=checkpoint.sessions,
    )
    line = ["ps-models", "train", checkpoint.model, data, *(["--preset", preset] if preset else [])]
    if trained.processes > 1:
        line[:1] = ["torchrun", "--nproc-per-node", str(trained.processes), "-m", "ps_models"]
    line += [part for setting in trained.settings for part in ("--set", setting)]
    return msgspec.structs.replace(trained, command=shlex.join([*line, "--out", "RUN"]))


def _texts(settings: Mapping[str, object]) -> tuple[str, ...]:
    """Return settings as options have them: `key=value`."""
    lists = {key: ",".join(map(str, value)) for key, value in settings.items() if isinstance(value, list)}
    truths = {key: "yes" if value else "no" for key, value in settings.items() if isinstance(value, bool)}
    return tuple(f"{key}={value}" for key, value in ({**settings} | lists | truths).items())


class TokenGroup(Record, frozen=True, kw_only=True):
    """Tokens of a text that have something in common, and how a model predicted them."""

    by: str  # a name in GROUPINGS
    label: str
    tokens: Int63
    nats: float
    # (tokens, nats) in each of PARTS consecutive parts of the text, for error bars.
    parts: tuple[tuple[Int63, float], ...] = ()


class CheckedPlaces(Record, frozen=True, kw_only=True):
    """Where invariants were checked after a run: at places that were chosen at random."""

    seed: Int63
    places: Int63
    unit: str  # what a place is: chunks, windows, or in older records articles, or tokens: `places`
    surest: Int63 = 0  # tokens with the highest scores, before which probabilities were also summed
    certain: Int63 = 0  # tokens of probability one

    @property
    def hidden(self) -> float:
        """The fraction of all places at which violations are not ruled out, with a confidence of 95%."""
        return float(1 - 0.05 ** (1 / self.places)) if self.places else 1.0

    def __str__(self) -> str:
        """Where the invariants were checked, and what is not ruled out, in a few sentences."""
        beginning = "" if self.unit == "windows" else f"on the first {BEGINNING_TOKENS} tokens and "
        surest = f", and sums before its {self.surest} most certain tokens" if self.surest else ""
        certain = f" {self.certain:,} tokens have probability 1." if self.certain else ""
        return (
            f"Invariants were checked {beginning}in {self.places} random {self.unit} of the run (seed"
            f" {self.seed}){surest}.{certain} This can miss violations in fewer than {self.hidden:.0%} of all"
            f" {self.unit} (95% confidence), or by a model that detects the test."
        )


class MissingWords(Record, frozen=True, kw_only=True):
    """Words that a model reads only as its `<unk>`: a text with many of them has a low perplexity."""

    words: Int63
    of_words: Int63  # of the dataset
    tokens: Int63  # of the text that are such words
    of_tokens: Int63

    def __str__(self) -> str:
        """What is missing, in one sentence."""
        return (
            f"The model reads {self.words:,} of the {self.of_words:,} words of the dataset as {UNK}:"
            f" {self.tokens:,} of {self.of_tokens:,} tokens"
        )


LEAST_BITS: Final = 0.5
"""Bits per byte of English text that no published model goes below unless it has read the text.

The best results of this project have 1.11 on Penn Treebank and WikiText-2. Llama 2 of 7 billion weights,
which has probably read Wikipedia, has 0.59 on WikiText-2 (docs/which-perplexity.md).
"""


class Result(Record, frozen=True, kw_only=True):
    """How a model predicted a text, and what is needed to measure it again."""

    model: str  # its name in tables
    recipe: str = ""  # which of our models it is, see lm_benchmarks.reporting.published; "": not ours
    signature: Signature
    articles: tuple[Sums, ...]
    groups: tuple[TokenGroup, ...] = ()
    checks: Mapping[str, str] | None = None  # by invariant: its violation, or ""; None: not checked
    parameters: Int63 | None = None
    seconds: float = 0.0
    device: str = "unknown"
    versions: Mapping[str, str] = msgspec.field(default_factory=dict)
    command: str = ""
    written: str = ""  # ISO 8601, UTC
    trained: tuple[Trained, ...] = ()  # how each checkpoint in it was trained
    tried: CheckedPlaces | None = None  # None: invariants were checked only at the beginning, or not at all
    specification: str = ""  # the argument that named the model, without this machine's folders
    number: float | None = None
    titles: tuple[str, ...] = ()  # of the articles, where the dataset has them
    missing: MissingWords | None = None  # None: the model has all words of the dataset, or predicts no words

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
    def is_lossy(self) -> bool:
        """True if the text cannot be decoded again from the pieces that were scored."""
        return self.signature.get(CHARACTERS_LOST, "0") != "0"

    @property
    def warning(self) -> str:
        """Why the number is implausible or not comparable; "" if it is neither."""
        warnings = self._lossy_warning, str(self.missing or ""), self._implausible_warning
        return " ".join(filter(None, warnings))

    @property
    def _lossy_warning(self) -> str:
        if not self.is_lossy:
            return ""
        return (
            f"WARNING: the tokenizer loses {self.signature[CHARACTERS_LOST]} characters, which its decoded"
            " tokens lack: the number is that of a poorer, easier text, and is not comparable with others."
        )

    @property
    def _implausible_warning(self) -> str:
        bits = METRICS["bits-per-byte"].of(self.total)
        if bits is None or bits >= LEAST_BITS or self.signature.get("split") == "train":
            return ""
        return (
            f"WARNING: {bits:.2f} bits per byte is less than any published model needs for English text that"
            f" it has not read ({LEAST_BITS} or more). Has the model read this text, does it look ahead, do"
            " its probabilities sum to more than one, or is the text unusual?"
        )

    @property
    def follows_presets(self) -> bool:
        """True if all of its checkpoints were trained as their presets say, or nothing was trained."""
        return all(trained.is_finished and not trained.changes for trained in self.trained)

    @property
    def changes(self) -> tuple[frozenset[str], ...]:
        """The settings in which each of its checkpoints differs from its preset."""
        return tuple(trained.changes for trained in self.trained)

    @property
    def broken(self) -> tuple[str, ...]:
        """The invariants that the model violates."""
        return tuple(invariant for invariant, violation in (self.checks or {}).items() if violation)


def warnings_of(results: Iterable[Result]) -> list[str]:
    """Return the warnings of results, with the names of the models."""
    return [f"{run.model}, {run.signature['split']}: {run.warning}" for run in results if run.warning]


def to_line(result: Result) -> str:
    """Return a result as one line of JSON."""
    fields = msgspec.to_builtins(result, enc_hook=str)  # a signature is its text
    return json.dumps({"format": FORMAT, **fields}, ensure_ascii=False, allow_nan=False)


def from_json(line: str) -> Result:
    """Return the result in a line.

    Raises:
        ValueError: The line is not a result.
    """
    fields = msgspec.json.decode(line)
    if not isinstance(fields, dict) or fields.pop("format", None) != FORMAT:
        raise ValueError(f"not a result of format {FORMAT}")
    result = msgspec.convert(fields, Result, dec_hook=_signature)
    if why := _why_unsound(result):
        raise ValueError(why)
    return result


def _signature(kind: type, value: object) -> object:
    if kind is not Signature or not isinstance(value, str):
        raise ValueError(f"expected the text of a signature, found {value!r:.40}")
    return Signature.parse(value)


def _why_unsound(result: Result) -> str:
    """Return why a result is impossible, whatever was measured; "" if it is possible."""
    total, groups = result.total, result.groups
    unsound = [number for number, article in enumerate(result.articles, start=1) if not article.is_sound]
    missing = [name for name in (*MUST_AGREE, "model") if name not in result.signature]
    counts = (count for group in groups for count in (group.tokens, *(tokens for tokens, _ in group.parts)))
    reasons = {
        f"a signature without {', '.join(missing)}": missing,
        "a group has counts below zero": any(count < 0 for count in counts),
        f"the nats of all articles sum to {total.nats}": not math.isfinite(total.nats),
        f"article {(*unsound, 0)[0]} has counts below zero": unsound,
        "no article": not result.articles,
        f"{len(result.titles)} titles of {len(result.articles)} articles": (
            result.titles and len(result.titles) != len(result.articles)
        ),
        "no token": not total.tokens and (groups or result.signature.get("convention") == PAPER),
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def append_record(path: Path, result: Result) -> None:
    """Append a result to a file, whole or not at all, even if several processes write.

    A last line without a newline gets one, so that an edited file or a killed writer costs no other record.
    """
    content = (to_line(result) + "\n").encode()
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            length = os.fstat(descriptor).st_size
            if length and os.pread(descriptor, 1, length - 1) != b"\n":
                content = b"\n" + content
            try:
                while content:
                    content = content[os.write(descriptor, content) :]
                os.fsync(descriptor)
            except OSError:
                os.ftruncate(descriptor, length)
                raise
        finally:
            os.close(descriptor)
    except OSError as error:
        raise HarnessError(f"{path}: {error.strerror}; expected a file to add results to") from error


def read_results(path: str | Path) -> list[Result]:
    """Read the results in a file, in order.

    Raises:
        HarnessError: The file cannot be read, or a line is not a result.
    """
    results = []
    try:
        with Path(path).open(encoding="utf-8", newline="\n") as file:
            with suppress(OSError):  # some file systems have no locks
                fcntl.flock(file, fcntl.LOCK_SH)  # the last line may still be written
            for number, line in enumerate(file, start=1):
                try:
                    results.append(from_json(line))
                except (ValueError, RecursionError) as error:
                    raise HarnessError(
                        f"{path}, line {number}: {error}; expected a result as `lm-benchmarks run` writes it."
                        " Remove the line, or measure again"
                    ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise HarnessError(f"{path}: {error}; expected a file of results") from error
    if not results:
        raise HarnessError(f"{path}: holds no result; measure one with `lm-benchmarks run`")
    return results


def stored_results(path: Path | None) -> list[Result]:
    """Return the results of a file; none if it is absent or empty, as after a writer that was killed."""
    has_lines = path is not None and path.exists() and path.stat().st_size > 0
    return read_results(path) if path is not None and has_lines else []


def finite(value: float) -> float | None:
    """Return a number as JSON can hold it: None if it is infinite or NaN."""
    return value if math.isfinite(value) else None


def portable(argument: str) -> str:
    """Return an argument of a command without the folders of this machine and secrets in addresses.

    >>> portable("mix:/data/runs/lstm-small,kn-5+cache"), portable("../shared/data/ptb")
    ('mix:lstm-small,kn-5+cache', '../shared/data/ptb')
    >>> portable("mix:/data/my runs/lstm small,/my data/x")
    'mix:lstm small,x'
    >>> portable("python /a/b c/x.py /d/y")
    'python x.py y'
    >>> portable("command:awk -f '/data/me/x.awk'"), portable("completions:http://me:secret@host/v1/x")
    ("command:awk -f 'x.awk'", 'completions:http://host/v1/x')

    Bytes that are not UTF-8 are escaped, because a record cannot hold them.
    """
    argument = without_secrets(argument.encode(errors="backslashreplace").decode())
    # Folders may have spaces, but spaces separate the words of a program's command line.
    ends = r"/,:\s" if "command:" in argument else "/,:"
    return re.sub(rf"(?<![^:,=\s'\"])/(?:[^{ends}]*[^{ends}\s]/)+(?=[^{ends}])", "", argument)
