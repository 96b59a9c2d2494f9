"""Measures models on the splits of a dataset, or one model by the conventions of many tools."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

import msgspec

from lm_benchmarks.choices import CONVENTIONS, LM_EVAL, PAPER
from lm_benchmarks.conventions.convention import Convention
from lm_benchmarks.conventions.rules import REGISTRY
from lm_benchmarks.errors import HarnessError, StorageError, UnreachableError
from lm_benchmarks.measuring.invariant_checks import broken_error
from lm_benchmarks.measuring.loaded_model import Inputs, LoadedModel
from lm_benchmarks.measuring.models import make_inputs, open_model
from lm_benchmarks.measuring.run import Protocol, measure_loaded
from lm_benchmarks.measuring.score_cache import cached_scores
from lm_benchmarks.metrics import METRICS
from lm_benchmarks.record_versions import append_record, has_lines, portable
from lm_benchmarks.records.result import Result, read_results
from wikitext_builder.dataset.load import load as load_dataset
from wikitext_builder.errors import ToolkitError
from wikitext_builder.progress import Progress, no_progress


class MeasuringError(HarnessError):
    """Some models failed or break a law.

    Attributes:
        results: What was measured.
    """

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
    command: Sequence[str] = (),
    on_result: Callable[[Result], None] | None = None,
    progress: Progress = no_progress,
    **options: Any,
) -> list[Result]:
    """Measure models on splits of a dataset.

    For example, `measure(["kn-5", "runs/lstm"], "ptb", splits=["valid", "test"])` returns four results.

    Args:
        models: Specifications: a name of ours, the path of a checkpoint, `KIND:what` or `module:function`;
            see `models`.
        data: The dataset: a folder, or a file of tokens.
        splits: `train`, `valid` or `test`.
        results: A file of JSON lines to which each result is appended. Scores of windows are kept beside it
            until then, so that a killed measurement resumes.
        command: The words of a command that measures this again, for the records.
        on_result: Receives each result as soon as it is measured.
        progress: Receives the number of tokens done.
        options: Fields of `Protocol`, which say how to measure, and options for loading models, see
            `lm_benchmarks.choices.OPTIONS`.

    Returns:
        A result per model and split.

    Raises:
        HarnessError: A model is missing, does not fit the dataset, fails, or breaks a law. The other models
            are measured first.
    """
    specifications = [models] if isinstance(models, str) else list(models)
    chosen = [splits] if isinstance(splits, str) else list(splits)
    if not specifications or not chosen:
        raise HarnessError("nothing to measure; expected one model and one split, or more")
    protocol: dict[str, Any] = {name: value for name, value in options.items() if name in PROTOCOL}
    opening: dict[str, Any] = {name: value for name, value in options.items() if name not in PROTOCOL}
    repeated = shlex.join(map(portable, command))
    protocols = [Protocol(split=split, command=repeated, **protocol) for split in chosen]
    found, failed = list[Result](), list[tuple[str, ToolkitError]]()
    has_train = "train" in load_dataset(Path(data)).files  # else the words of each split are its vocabulary
    for alike in [protocols] if has_train else [[one] for one in protocols]:
        inputs = make_inputs(data, alike[0].split, **opening)
        measured, missed = _measure_all(specifications, alike, inputs, results, on_result, progress)
        found, failed = found + measured, failed + missed
    _raise_failures(failed, found, len(specifications) * len(chosen))
    return found


def _measure_all(
    specifications: Sequence[str],
    protocols: Sequence[Protocol],
    inputs: Inputs,
    results: str | Path | None,
    on_result: Callable[[Result], None] | None,
    progress: Progress,
) -> tuple[list[Result], list[tuple[str, ToolkitError]]]:
    """The results, and the errors of what failed or breaks a law, by what was measured."""
    found: list[Result] = []
    failed: list[tuple[str, ToolkitError]] = []
    path = None if results is None else Path(results)
    for specification in specifications:
        try:
            loaded = open_model(specification, inputs)
            LOG.info("opened %s as %s: %s", specification, loaded.name, loaded.identity)
        except ToolkitError as error:
            failed.append((specification, error))
            continue
        for protocol in protocols:
            named = replace(protocol, specification=portable(specification))
            kept = path if named.convention != PAPER else None
            try:
                text = f"{named.split} {named.convention}"
                with cached_scores(loaded, inputs.dataset, kept, named.precision, text=text) as reading:
                    result = measure_loaded(reading, inputs, named, progress=progress)
                    if path is not None:
                        append_record(path, result)
            except ToolkitError as error:
                failed.append((f"{specification} on {protocol.split}", error))
                continue
            if on_result is not None:
                on_result(result)
            found.append(result)
            if result.broken and not protocol.allow_broken:
                failed.append((f"{specification} on {protocol.split}", broken_error(result.checks or {})))
    return found, failed


def _raise_failures(failed: Sequence[tuple[str, ToolkitError]], found: list[Result], count: int) -> None:
    """One error for all that failed; what failed alone is its own error."""
    if failed and count == 1:
        raise failed[0][1]
    if failed:
        whats = "\n".join(f"{name}: {error}" for name, error in failed)
        raise MeasuringError(
            f"{len(failed)} of {count} measurements failed; {len(found)} results were measured\n{whats}",
            found,
        ) from failed[0][1]


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

    Windows that several conventions share are read once. The laws of a language model are not tried:
    `measure` does that.

    Args:
        model: A specification, best of a model of pieces: `transformers:`, `gguf:` or `completions:`.
        data: The dataset: a folder with raw files, or a file.
        split: `train`, `valid` or `test`.
        conventions: Names in CONVENTIONS; all of them if there is none.
        results: A file of JSON lines. Each result is appended; what the file has already is not measured.
            Scores of windows are kept beside it until all is measured: a killed command resumes within a
            convention. Code and programs of the user's can change, so they are always measured again.
        precision: `fp32`, `tf32` or `bf16`.
        command: The words of a command that measures this again, for the records.
        progress: Receives the number of tokens, pages or windows done.
        opening: What opening the model needs, as in `measure`: `device`, `dtype`, `attention`, `tokenizer`,
            `served_model`, `longest`.

    Returns:
        One entry per convention, in the order of CONVENTIONS, also for those that do not fit the model
        or whose file is missing: they say why.

    Raises:
        HarnessError: The model cannot be loaded, or no convention fits it.
    """
    names = [name for name in CONVENTIONS if name in conventions or not conventions]
    if unknown := set(conventions) - set(names):
        raise HarnessError(f"convention {min(unknown)!r}; expected {', '.join(CONVENTIONS)}")
    inputs = make_inputs(data, split, **opening)
    loaded = open_model(model, inputs)
    path = None if results is None else Path(results)
    stored = read_results(path) if path is not None and has_lines(path) else []
    line = shlex.join(map(portable, command))
    common = Protocol(split=split, precision=precision, check=False, groups=False)
    common = replace(common, specification=portable(model), command=line)
    found = []
    with cached_scores(loaded, inputs.dataset, path, precision, text=split) as reading:
        for name in names:
            protocol = replace(common, convention=name)
            found.append(_measured(reading, inputs, protocol, stored, path, progress))
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
) -> ByConvention:
    """The result that is stored already, or a new one, which is then stored."""
    convention, metric = REGISTRY[protocol.convention], METRIC.get(protocol.convention)
    try:
        result = measure_loaded(loaded, inputs, protocol, stored=stored, progress=progress)
    except (StorageError, UnreachableError):
        raise  # the scores so far stay on disk
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
