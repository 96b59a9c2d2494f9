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
from lm_benchmarks.records import Result, append_record, known_results, portable
from wikitext_builder.dataset.load import load as load_dataset
from wikitext_builder.errors import ToolkitError, is_short_memory, without_secrets
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.tables import one_line


class MeasuringError(HarnessError):
    """Some models failed or violate an invariant; `results` has what was measured."""

    def __init__(self, message: str, results: list[Result]) -> None:
        super().__init__(message)
        self.results = results


LOG: Final = logging.getLogger(__name__)
PROTOCOL: Final = {field.name for field in fields(Protocol)}  # the other options are for loading models


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
        names: Labels of the models in tables, in order, each of one recipe; or none.
        resume: Reuse what `results` has already, measured by the same code with the same signature and
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
    known = known_results(path)
    batch = _Batch(named_models(specifications, names), path, known, resume, on_result, progress)
    has_train = "train" in load_dataset(Path(data)).files  # else the words of each split are its vocabulary
    groups = list[tuple[list[Protocol], Inputs]]()
    for alike in [protocols] if has_train else [[one] for one in protocols]:
        with batch.noting(", ".join(f"{name} on {alike[0].split}" for name in specifications)):
            groups.append((alike, make_inputs(data, alike[0].split, **opening)))
    for group in groups if protocols[0].check and len(specifications) * len(chosen) > 1 else ():
        batch.score_beginnings(*group)
    for group in groups:
        batch.measure(*group)
    _raise_failures(batch.failed, batch.found, len(specifications) * len(chosen))
    return batch.found


def named_models(specifications: Sequence[str], names: Sequence[str]) -> list[tuple[str, str]]:
    """Specifications with the names that the user gives them, "" for none."""
    if names and (len(names) != len(specifications) or not all(name.strip() for name in names)):
        raise HarnessError(
            f"{len(names)} names for {len(specifications)} models; expected --name once per model, in"
            " order, or no --name"
        )
    return list(zip(specifications, [one_line(name.strip()) for name in names] or repeat(""), strict=False))


@dataclass
class _Batch:
    """Models to measure, and what came of it so far: what fails takes no other result with it."""

    models: Sequence[tuple[str, str]]  # specifications and names
    path: Path | None
    known: Sequence[Result]  # of the file, before
    resume: bool  # whether these can stand for new ones
    on_result: Callable[[Result], None] | None
    progress: Progress
    found: list[Result] = field(default_factory=list)
    failed: list[tuple[str, Exception]] = field(default_factory=list)
    earlier: dict[tuple[str, str], Tensor | Exception] = field(default_factory=dict)  # scores of beginnings

    @contextmanager
    def noting(self, what: str) -> Iterator[None]:
        """Note the error of a measurement, so that the others continue."""
        try:
            yield
        except Exception as error:
            self.failed.append((what, error))

    def score_beginnings(self, protocols: Sequence[Protocol], inputs: Inputs) -> None:
        """Score the beginnings of the splits by models that can remember, before anything is measured."""
        for specification in (name for name, _ in self.models if can_remember(name)):
            keys = [(specification, protocol.split) for protocol in protocols]
            try:
                loaded = open_model(specification, inputs)
                self.earlier |= {
                    key: score_beginning(loaded, inputs, protocol)
                    for key, protocol in zip(keys, protocols, strict=True)
                }
            except Exception as error:
                self.earlier |= dict.fromkeys(keys, error)

    def measure(self, protocols: Sequence[Protocol], inputs: Inputs) -> None:
        """Measure all models on the splits."""
        for specification, name in self.models:
            shown = without_secrets(specification)
            for protocol in protocols:
                count, named = len(self.found), replace(protocol, specification=portable(specification))
                with self.noting(f"{shown} on {protocol.split}"):
                    # For each split anew: what a model remembers of one must not help it on another.
                    loaded = open_model(specification, inputs)
                    if name:  # a label: the signature says which model it is
                        self._expect_free(name, loaded.recipe or named.specification)
                        loaded = replace(loaded, name=name)
                    LOG.info("opened %s as %s: %s", shown, loaded.name, loaded.identity)
                    self._measure(loaded, inputs, named, self.earlier.get((specification, protocol.split)))
                if self.on_result is not None:
                    for result in self.found[count:]:
                        self.on_result(result)

    def _expect_free(self, name: str, recipe: str) -> None:
        """Refuse a name that another model has in the results."""
        labelled = (result for result in (*self.known, *self.found) if result.model == name)
        recipes = {result.recipe or result.specification for result in labelled}
        if others := recipes - {recipe}:
            raise HarnessError(
                f"--name {name}: the name of {min(others)} in these results; choose another one for {recipe}"
            )

    def _measure(
        self, loaded: LoadedModel, inputs: Inputs, protocol: Protocol, earlier: Tensor | Exception | None
    ) -> None:
        stored = self.known if self.resume else ()
        usable = [one for one in stored if _is_whole(one, loaded, inputs, protocol)]
        if isinstance(earlier, Exception):
            raise earlier
        options: dict[str, Any] = {"stored": usable, "progress": self.progress, "earlier": earlier}
        result = measure_loaded(loaded, inputs, protocol, **options)
        self.found.append(result)  # also if it cannot be written
        if any(result is one for one in usable):
            what = f"{loaded.name} on {protocol.split}"
            LOG.warning("%s: %s already has it; use --no-resume to measure it again", what, self.path)
        elif self.path is not None:
            append_record(self.path, result)
        if result.broken and not protocol.allow_broken:
            raise_if_broken(result.checks or {})


def _is_whole(result: Result, loaded: LoadedModel, inputs: Inputs, protocol: Protocol) -> bool:
    """Whether a stored result has all that a new one would have, if its signature is the same."""
    checked = result.checks is not None and not result.broken
    same_places = result.tried is None or result.tried.seed == inputs.seed
    return (
        result.model == loaded.name
        and result.versions == versions()
        and ((checked and same_places) or not protocol.check)
        and (bool(result.groups) or not protocol.groups or not result.total.tokens)
    )


def _raise_failures(failed: Sequence[tuple[str, Exception]], found: list[Result], count: int) -> None:
    """One error for all that failed; what failed alone is its own error."""
    if failed and count == 1:
        raise failed[0][1]
    if failed:
        whats = "\n".join(f"{name}: {_said(error)}" for name, error in failed)
        raise MeasuringError(
            f"{len(failed)} of {count} measurements failed; {len(found)} results were measured\n{whats}",
            found,
        ) from failed[0][1]


def _said(error: Exception) -> str:
    """An error in a list of several: with its traceback if it is not one that the user can mend."""
    if isinstance(error, ToolkitError) or is_short_memory(error):
        return str(error) or type(error).__name__
    return "".join(traceback.format_exception(error)).rstrip()


METRIC: Final = {PAPER: "perplexity", LM_EVAL: "lm-eval-word-perplexity"}  # whose number is a quotient


@dataclass(frozen=True, slots=True, kw_only=True)
class ByConvention:
    """A model's number by one convention, or why it has none."""

    convention: Convention
    number: float | None = None
    bits_per_byte: float | None = None  # of the file, see docs/which-perplexity.md
    result: Result | None = None
    why: str = ""  # there is no number


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
        results: A file of JSON lines to append each result to; what it has already is not measured again,
            except for users' code and programs, which can change.
        precision: `fp32`, `tf32` or `bf16`.
        command: The words of a command that measures this again, for the records.
        progress: Called with the number of tokens, pages or windows done.
        opening: Options for loading the model, as in `measure`: `device`, `dtype`, `attention`, `tokenizer`,
            `served_model`, `longest`.

    Returns:
        One entry per convention, in the order of CONVENTIONS; for those that do not fit the model or whose
        file is missing, it says why.

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
    stored = [one for one in known_results(path) if one.versions == now]
    line = shlex.join(map(portable, command))
    common = Protocol(split=split, precision=precision, check=False, groups=False)
    common = replace(common, specification=portable(model), command=line)
    cache = None if loaded.reader is None else ScoreCache(loaded.reader)
    found = [
        _measured(loaded, inputs, replace(common, convention=name), stored, path, progress, cache)
        for name in names
    ]
    if all(one.number is None for one in found):
        raise HarnessError(f"{model}: no convention fits. {found[0].why}")
    return found


def _measured(
    loaded: LoadedModel,
    inputs: Inputs,
    protocol: Protocol,
    stored: Sequence[Result],
    path: Path | None,
    progress: Progress,
    cache: ScoreCache | None,
) -> ByConvention:
    """The result that is stored already, or a new one, which is then stored."""
    convention, metric = REGISTRY[protocol.convention], METRIC.get(protocol.convention)
    try:
        result = measure_loaded(loaded, inputs, protocol, stored=stored, progress=progress, cache=cache)
    except UnreachableError:
        raise  # the other conventions cannot be measured either
    except HarnessError as error:
        return ByConvention(convention=convention, why=str(error))
    if path is not None and not any(result is known for known in stored):
        append_record(path, result)
    total = result.total
    if protocol.convention == PAPER:  # every token is scored, so it is the whole file
        total = msgspec.structs.replace(total, file_bytes=inputs.dataset.file(protocol.split).stat().st_size)
    return ByConvention(
        convention=convention,
        number=METRICS[metric].of(total) if metric else result.number,
        bits_per_byte=METRICS["bits-per-file-byte"].of(total),
        result=result,
    )
