"""Measures one model by the conventions of many tools, so that their numbers can be compared."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import msgspec
import torch

from lm_benchmarks.choices import CONVENTIONS, LM_EVAL, PAPER
from lm_benchmarks.conventions.convention import Convention
from lm_benchmarks.conventions.registry import REGISTRY
from lm_benchmarks.errors import HarnessError, StorageError, UnreachableError
from lm_benchmarks.measuring.loaded_model import Inputs, LoadedModel
from lm_benchmarks.measuring.models import make_inputs, open_model
from lm_benchmarks.measuring.run import Protocol, measure_loaded, signed_vocabulary
from lm_benchmarks.measuring.score_cache import cached_scores
from lm_benchmarks.measuring.windows import convention_file
from lm_benchmarks.metrics import METRICS
from lm_benchmarks.records.lines import append_record, has_lines, portable
from lm_benchmarks.records.result import Result, read_results
from ps_models.evaluation.signature import signature_value
from wikitext_builder.hashing import file_sha256
from wikitext_builder.progress import Progress, no_progress

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
        One entry per convention, in the order of CONVENTIONS, also for those that do not fit the model.

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
    result = _stored(loaded, inputs, protocol, stored)
    if result is None:
        try:
            result = measure_loaded(loaded, inputs, protocol, progress=progress)
        except (StorageError, UnreachableError):
            raise  # the scores so far stay on disk
        except HarnessError as error:
            return ByConvention(convention=REGISTRY[protocol.convention], why=str(error))
        if path is not None:
            append_record(path, result)
    return _by_convention(result, inputs, protocol)


def _stored(
    loaded: LoadedModel, inputs: Inputs, protocol: Protocol, stored: Sequence[Result]
) -> Result | None:
    """The last stored result that is the one to be measured; None: it must be measured."""
    if not loaded.is_identified:
        return None
    expected = _expected(loaded, inputs, protocol)
    known = [
        result
        for result in stored
        if expected.items() <= dict(result.signature).items()
        and result.signature.get("windows_every") == expected.get("windows_every")
        and (not loaded.server or result.specification == protocol.specification)
    ]
    return known[-1] if known else None


def _by_convention(result: Result, inputs: Inputs, protocol: Protocol) -> ByConvention:
    convention = REGISTRY[protocol.convention]
    metric = METRIC.get(protocol.convention)
    total = result.total
    if protocol.convention == PAPER:  # every token is scored, so it is the whole file
        total = msgspec.structs.replace(total, file_bytes=inputs.dataset.file(protocol.split).stat().st_size)
    return ByConvention(
        convention=convention,
        number=METRICS[metric].of(total) if metric else result.number,
        bits_per_byte=METRICS["bits-per-file-byte"].of(total),
        result=result,
    )


def _expected(loaded: LoadedModel, inputs: Inputs, protocol: Protocol) -> Mapping[str, str]:
    """What the signature of a result has if it is the one that would be measured."""
    convention = REGISTRY[protocol.convention]
    facts = dict(loaded.facts)
    fields = {}
    if protocol.convention == PAPER:
        fields = {"context": protocol.context, "vocabulary": signed_vocabulary(loaded.vocabulary)}
    if convention.rule is not None:
        facts.pop("stride", None)
    if convention.rule is not None and protocol.convention != LM_EVAL and loaded.reader is not None:
        facts.pop("window", None)
        lengths = convention.lengths(loaded.reader.longest, inputs.window, inputs.stride)
        fields["windows"] = str(lengths.window)
        if lengths.stride is not None:
            fields["windows_every"] = str(lengths.stride)
    if loaded.reader is None:  # a model of words
        path = inputs.dataset.file(protocol.split)
    else:
        path = convention_file(convention, inputs.dataset, protocol.split)
    return {
        "data": f"{signature_value(inputs.dataset.name)}+{file_sha256(path)[:8]}",
        "split": protocol.split if inputs.dataset.layout != "file" else "file",
        "convention": convention.signature,
        "model": loaded.identity,
        "precision": protocol.precision,
        "torch": signature_value(torch.__version__),
        "version": version("wikitext-builder"),
        **fields,
        **{key: signature_value(str(value)) for key, value in facts.items()},
    }
