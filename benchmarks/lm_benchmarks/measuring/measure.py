"""Measures models on the splits of a dataset, or one model by the conventions of many tools."""

from __future__ import annotations

import logging
import shlex
import traceback
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from itertools import repeat
from pathlib import Path
from typing import Any, Final

import msgspec
from torch import Tensor

from lm_benchmarks.choices import LM_EVAL, PAPER, HarnessError, UnreachableError
from lm_benchmarks.conventions import Convention
from lm_benchmarks.conventions.rules import CONVENTIONS, REGISTRY
from lm_benchmarks.measuring.checks import raise_if_broken
from lm_benchmarks.measuring.loaded_model import Inputs, LoadedModel
from lm_benchmarks.measuring.models import can_remember, make_inputs, open_model
from lm_benchmarks.measuring.passages import ScoreCache
from lm_benchmarks.measuring.run import Protocol, measure_loaded, score_beginning, versions
from lm_benchmarks.metrics import METRICS
from lm_benchmarks.records import Result, append_record, portable, stored_results
from wikitext_builder.dataset.load import load as load_dataset
from wikitext_builder.errors import ToolkitError, is_short_memory, without_secrets
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.tables import one_line


class MeasuringError(HarnessError):
    """Some models failed or violate an invariant; `results` has the other measurements."""

    def __init__(self, message: str, results: list[Result]) -> None:
        super().__init__(message)
        self.results = results


LOG: Final = logging.getLogger(__name__)
PROTOCOL: Final = {field.name for field in fields(Protocol)}  # other options load models


def measure(
    models: str | Sequence[str],
    data: str | Path,
    *,
    splits: str | Sequence[str] = "test",
    results: str | Path | None = None,
    names: Sequence[str] = (),
    resume: bool = True,
    command: Sequence[str] = (),
    on_result: Callable[[Result], None] | None = None,
    progress: Progress = no_progress,
    **options: Any,
) -> list[Result]:
    """Measure models on splits of a dataset.

    For example, `measure(["kn-5", "runs/lstm"], "ptb", splits=["valid", "test"])` returns four results.

    Args:
        models: Specifications: a built-in name, the path of a checkpoint, `KIND:what` or `module:function`;
            see `models`.
        data: The dataset: a folder, or a file of tokens.
        splits: `train`, `valid` or `test`.
        results: A file of JSON lines to append the results to.
        names: Labels of the models in tables, in order, each for one recipe; or none.
        resume: Reuse results in the file that were measured by the same code with the same signature and
            checks. Users' code and programs can change, so they are always measured.
        command: The words of a command that measures this again, for the records.
        on_result: Called with each result as soon as it is measured.
        progress: Called with the number of tokens done.
        options: Fields of `Protocol`, which say how to measure, and options for loading models, see
            `lm_benchmarks.choices.OPTIONS`.

    Returns:
        A result per model and split.

    Raises:
        BuilderError: The dataset is missing or damaged.
        HarnessError: A model is missing, does not fit the dataset, fails, or violates an invariant. The other
            models are measured first; `MeasuringError.results` has what was measured.
    """
    specifications = [models] if isinstance(models, str) else list(models)
    chosen = [splits] if isinstance(splits, str) else list(dict.fromkeys(splits))
    if not specifications or not chosen:
        raise HarnessError("nothing to measure; expected one model and one split, or more")
    protocol: dict[str, Any] = {name: value for name, value in options.items() if name in PROTOCOL}
    opening: dict[str, Any] = {name: value for name, value in options.items() if name not in PROTOCOL}
    repeated = shlex.join(map(portable, command))
    protocols = [Protocol(split=split, command=repeated, **protocol) for split in chosen]
    path = None if results is None else Path(results)
    stored = stored_results(path)
    batch = _Batch(named_models(specifications, names), path, stored, resume, on_result, progress)
    has_train = "train" in load_dataset(Path(data)).files  # else the words of each split are its vocabulary
    groups = list[tuple[list[Protocol], Inputs]]()
    for group_protocols in [protocols] if has_train else [[single] for single in protocols]:
        with batch.noting(", ".join(f"{name} on {group_protocols[0].split}" for name in specifications)):
            groups.append((group_protocols, make_inputs(data, group_protocols[0].split, **opening)))
    for group in groups if protocols[0].check and len(specifications) * len(chosen) > 1 else ():
        batch.score_beginnings(*group)
    for group in groups:
        batch.measure(*group)
    _raise_failures(batch.failed, batch.results, len(specifications) * len(chosen))
    return batch.results


def named_models(specifications: Sequence[str], names: Sequence[str]) -> list[tuple[str, str]]:
    """Return specifications with the user's names for them, "" for none."""
    if names and (len(names) != len(specifications) or not all(name.strip() for name in names)):
        raise HarnessError(
            f"{len(names)} names for {len(specifications)} models; expected --name once per model, in"
            " order, or no --name"
        )
    return list(zip(specifications, [one_line(name.strip()) for name in names] or repeat(""), strict=False))


@dataclass
class _Batch:
    """Models to measure, with results and failures so far; a failure does not affect other results."""

    models: Sequence[tuple[str, str]]  # specifications and names
    path: Path | None
    stored: Sequence[Result]  # results of the file, before the command
    resume: bool  # True: stored results are reused instead of being measured again
    on_result: Callable[[Result], None] | None
    progress: Progress
    results: list[Result] = field(default_factory=list)
    failed: list[tuple[str, Exception]] = field(default_factory=list)
    # Scores of beginnings, by specification and split.
    beginnings: dict[tuple[str, str], Tensor | Exception] = field(default_factory=dict)

    @contextmanager
    def noting(self, task: str) -> Iterator[None]:
        """Note the error of a measurement, so that other measurements continue."""
        try:
            yield
        except Exception as error:
            self.failed.append((task, error))

    def score_beginnings(self, protocols: Sequence[Protocol], inputs: Inputs) -> None:
        """Score the beginnings of the splits by models that can remember, before anything is measured."""
        for specification in (name for name, _ in self.models if can_remember(name)):
            keys = [(specification, protocol.split) for protocol in protocols]
            try:
                loaded = open_model(specification, inputs)
                self.beginnings |= {
                    key: score_beginning(loaded, inputs, protocol)
                    for key, protocol in zip(keys, protocols, strict=True)
                }
            except Exception as error:
                self.beginnings |= dict.fromkeys(keys, error)

    def measure(self, protocols: Sequence[Protocol], inputs: Inputs) -> None:
        """Measure all models on the splits."""
        for specification, name in self.models:
            public_name = without_secrets(specification)
            for protocol in protocols:
                count, named = len(self.results), replace(protocol, specification=portable(specification))
                with self.noting(f"{public_name} on {protocol.split}"):
                    # Opened again, so that what a model remembers of a split does not help it on another.
                    loaded = open_model(specification, inputs)
                    if name:
                        self._expect_free(name, loaded.recipe or named.specification)
                        loaded = replace(loaded, name=name)
                    LOG.info("opened %s as %s: %s", public_name, loaded.name, loaded.identity)
                    self._measure(loaded, inputs, named, self.beginnings.get((specification, protocol.split)))
                if self.on_result is not None:
                    for result in self.results[count:]:
                        self.on_result(result)

    def _expect_free(self, name: str, recipe: str) -> None:
        """Reject a name that another model has in the results."""
        labelled = (result for result in (*self.stored, *self.results) if result.model == name)
        recipes = {result.recipe or result.specification for result in labelled}
        if other_recipes := recipes - {recipe}:
            raise HarnessError(
                f"--name {name}: already the name of {min(other_recipes)} in these results;"
                f" choose another one for {recipe}"
            )

    def _measure(
        self, loaded: LoadedModel, inputs: Inputs, protocol: Protocol, earlier: Tensor | Exception | None
    ) -> None:
        stored = self.stored if self.resume else ()
        usable = [candidate for candidate in stored if _is_whole(candidate, loaded, inputs, protocol)]
        if isinstance(earlier, Exception):
            raise earlier
        result = measure_loaded(
            loaded, inputs, protocol, stored=usable, progress=self.progress, earlier=earlier
        )
        self.results.append(result)  # kept even if it cannot be written
        if any(result is candidate for candidate in usable):
            task = f"{loaded.name} on {protocol.split}"
            LOG.warning("%s: %s already has it; use --no-resume to measure it again", task, self.path)
        elif self.path is not None:
            append_record(self.path, result)
        if result.broken and not protocol.allow_broken:
            raise_if_broken(result.checks or {})


def _is_whole(result: Result, loaded: LoadedModel, inputs: Inputs, protocol: Protocol) -> bool:
    """Return True if a stored result with the same signature would have all that a new one has."""
    is_checked = result.checks is not None and not result.broken
    has_same_places = result.tried is None or result.tried.seed == inputs.seed
    return (
        result.model == loaded.name
        and result.versions == versions()
        and ((is_checked and has_same_places) or not protocol.check)
        and (bool(result.groups) or not protocol.groups or not result.total.tokens)
    )


def _raise_failures(failed: Sequence[tuple[str, Exception]], results: list[Result], count: int) -> None:
    """Raise one error for all failures; a single measurement raises its own error."""
    if failed and count == 1:
        raise failed[0][1]
    if failed:
        failures = "\n".join(f"{name}: {_error_text(error)}" for name, error in failed)
        raise MeasuringError(
            f"{len(failed)} of {count} measurements failed; {len(results)} results were measured\n{failures}",
            results,
        ) from failed[0][1]


def _error_text(error: Exception) -> str:
    """Describe an error in a list of several: with its traceback, unless the user can resolve it."""
    if isinstance(error, ToolkitError) or is_short_memory(error):
        return str(error) or type(error).__name__
    return "".join(traceback.format_exception(error)).rstrip()


METRIC: Final = {PAPER: "perplexity", LM_EVAL: "lm-eval-word-perplexity"}  # others have a number


@dataclass(frozen=True, slots=True, kw_only=True)
class ByConvention:
    """A model's number by a convention, or why there is none."""

    convention: Convention
    number: float | None = None
    bits_per_byte: float | None = None  # of the file, see docs/which-perplexity.md
    result: Result | None = None
    why: str = ""  # the reason, if there is no number


def measure_conventions(
    model: str,
    data: str | Path,
    *,
    split: str = "test",
    conventions: Collection[str] = (),
    results: str | Path | None = None,
    precision: str = "fp32",
    command: Sequence[str] = (),
    progress: Progress = no_progress,
    **opening: Any,
) -> list[ByConvention]:
    """Measure a model by the conventions of many tools.

    Windows that several conventions share are read once. Invariants are not checked: `measure` does that.

    Args:
        model: A specification, preferably of a subword model: `transformers:`, `gguf:` or `completions:`.
        data: The dataset: a folder with raw files, or a file.
        split: `train`, `valid` or `test`.
        conventions: Names in CONVENTIONS; empty: all.
        results: A file of JSON lines to append the results to; results already in it are not measured again,
            except for users' code and programs, which can change.
        precision: `fp32`, `tf32` or `bf16`.
        command: The words of a command that measures this again, for the records.
        progress: Called with the number of tokens, pages or windows done.
        opening: Options for loading the model, as in `measure`: `device`, `dtype`, `attention`, `tokenizer`,
            `served_model`, `longest`.

    Returns:
        One entry per convention, in the order of CONVENTIONS; if it does not fit the model or its file is
        missing, the entry says why.

    Raises:
        BuilderError: The dataset is missing or damaged.
        HarnessError: The model cannot be loaded, or no convention fits it.
    """
    names = [name for name in CONVENTIONS if name in conventions or not conventions]
    if unknown := set(conventions) - set(names):
        raise HarnessError(f"convention {min(unknown)!r}; expected {', '.join(CONVENTIONS)}")
    inputs = make_inputs(data, split, **opening)
    loaded = open_model(model, inputs)
    path = None if results is None else Path(results)
    now = versions()
    stored = [entry for entry in stored_results(path) if entry.versions == now]
    line = shlex.join(map(portable, command))
    common = Protocol(split=split, precision=precision, check=False, groups=False)
    common = replace(common, specification=portable(model), command=line)
    cache = None if loaded.reader is None else ScoreCache(loaded.reader)
    entries = [
        _measured(loaded, inputs, replace(common, convention=name), stored, path, progress, cache)
        for name in names
    ]
    if all(entry.number is None for entry in entries):
        raise HarnessError(f"{model}: no convention fits. {entries[0].why}")
    return entries


def _measured(
    loaded: LoadedModel,
    inputs: Inputs,
    protocol: Protocol,
    stored: Sequence[Result],
    path: Path | None,
    progress: Progress,
    cache: ScoreCache | None,
) -> ByConvention:
    """Return the stored result, or measure and store a new one."""
    convention, metric = REGISTRY[protocol.convention], METRIC.get(protocol.convention)
    try:
        result = measure_loaded(loaded, inputs, protocol, stored=stored, progress=progress, cache=cache)
    except UnreachableError:
        raise  # other conventions cannot be measured either
    except HarnessError as error:
        return ByConvention(convention=convention, why=str(error))
    if path is not None and not any(result is other for other in stored):
        append_record(path, result)
    total = result.total
    if protocol.convention == PAPER:  # every token is scored, so the whole file counts
        total = msgspec.structs.replace(total, file_bytes=inputs.dataset.file(protocol.split).stat().st_size)
    return ByConvention(
        convention=convention,
        number=METRICS[metric].of(total) if metric else result.number,
        bits_per_byte=METRICS["bits-per-file-byte"].of(total),
        result=result,
    )
