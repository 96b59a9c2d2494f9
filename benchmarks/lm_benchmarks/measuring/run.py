"""A model measured on a part of a dataset: a `Result`."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

import torch
from torch import Tensor

from lm_benchmarks.measuring.check import check_model
from lm_benchmarks.measuring.groups import Scored, groups_of
from lm_benchmarks.measuring.lm_eval import read_pages, untokenized
from lm_benchmarks.measuring.models import Inputs, Opened
from lm_benchmarks.measuring.passages import (
    CONVENTIONS,
    PAPER,
    Passage,
    page_tally,
    raw_file,
    read_passages,
    tally,
    train_counts,
)
from lm_benchmarks.metrics import Tally
from lm_benchmarks.records.result import Group, Result
from ps_models.data.dataset import vocabulary_hash
from ps_models.devices import autocast
from ps_models.evaluation.evaluate import token_nats
from ps_models.evaluation.signature import Signature, signature_value
from wikitext_builder.errors import BuilderError
from wikitext_builder.hashing import file_sha256
from wikitext_builder.progress import Progress, no_progress

PACKAGES: Final = ("torch", "numpy", "transformers", "tokenizers", "kenlm")  # whose versions may matter


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """How a model is measured."""

    split: str = "test"
    convention: str = PAPER
    context: str = "carried"  # what comes before an article: all articles before it, or nothing
    precision: str = "fp32"
    chunk: int = 256  # tokens at once; decides no number
    batch: int = 16  # articles at once where each begins anew; decides no number
    check: bool = True  # try the laws before
    groups: bool = True  # tell by frequency, place and so on
    command: str = ""  # what to run to measure it again


@dataclass(frozen=True, kw_only=True)
class _Measured:
    """What was found, and the fields of its signature that only the way of measuring knows."""

    tallies: Sequence[Tally]
    seconds: float
    data: Path
    fields: Mapping[str, str]
    groups: tuple[Group, ...] = ()
    checks: Mapping[str, str] | None = None


def measure(
    opened: Opened,
    inputs: Inputs,
    protocol: Protocol,
    *,
    clock: Callable[[], float],
    now: Callable[[], str],
    progress: Progress = no_progress,
) -> Result:
    """Measure a model.

    Args:
        opened: The model.
        inputs: The dataset, and where the model runs.
        protocol: How.
        clock: Seconds, of any beginning.
        now: The time as ISO 8601 in UTC.
        progress: Told how far it is.

    Raises:
        BuilderError: The part is missing, or the model fails.
    """
    plain = protocol.convention != PAPER and opened.text_nats is not None
    with _arithmetic(inputs.device, protocol.precision):
        found = (_pages if plain else _words)(opened, inputs, protocol, clock, progress)
    return Result(
        model=opened.name,
        signature=_signature(opened, inputs, protocol, found),
        articles=tuple(found.tallies),
        groups=found.groups,
        checks=found.checks,
        parameters=opened.parameters,
        seconds=found.seconds,
        device=device_name(inputs.device),
        versions=versions(),
        command=protocol.command,
        written=now(),
        recipe=opened.recipe,
        trained=opened.trained,
    )


def _words(
    opened: Opened, inputs: Inputs, protocol: Protocol, clock: Callable[[], float], progress: Progress
) -> _Measured:
    """Word by word, over the dataset's vocabulary."""
    context = protocol.context if protocol.convention == PAPER else "article"
    unit, passages = read_passages(
        inputs.dataset, protocol.split, opened.vocabulary, convention=protocol.convention, context=context
    )
    checks = None
    if protocol.check:
        stream = torch.cat([passage.text.tokens for passage in passages])
        checks = check_model(opened, stream, device=inputs.device, progress=progress)
    begin = clock()
    nats = list(_nats(opened, passages, inputs, protocol, context, progress))
    seconds = clock() - begin
    return _Measured(
        tallies=[
            tally(passage, found, opened.pieces(passage.text.tokens), opened.vocabulary)
            for passage, found in zip(passages, nats, strict=True)
        ],
        seconds=seconds,
        data=inputs.dataset.file(protocol.split),
        fields={
            "text": "tokens",
            "passage": unit,
            "context": context,
            "vocabulary": f"{len(opened.vocabulary)}+{vocabulary_hash(opened.vocabulary)[:8]}",
            "words": "open" if opened.open_vocabulary else "closed",
            "eos": "yes",
        },
        groups=_groups(opened, inputs, passages, nats, context, unit) if protocol.groups else (),
        checks=checks,
    )


def _nats(
    opened: Opened,
    passages: Sequence[Passage],
    inputs: Inputs,
    protocol: Protocol,
    context: str,
    progress: Progress,
) -> Iterator[Tensor]:
    """-log p of each token, a passage at a time."""
    done, total = 0, sum(len(passage.text.tokens) for passage in passages)
    scored = token_nats(
        opened.model,
        [passage.text for passage in passages],
        context=context,
        chunk=protocol.chunk,
        batch=protocol.batch,
        device=inputs.device,
    )
    for text, found in scored:
        _expect_scores(opened.name, found, len(text.tokens))
        done += len(found)
        progress("measure", done, total, opened.name)
        yield found


def _groups(
    opened: Opened,
    inputs: Inputs,
    passages: Sequence[Passage],
    nats: Sequence[Tensor],
    context: str,
    unit: str,
) -> tuple[Group, ...]:
    rows = [
        Scored(tokens=passage.text.tokens.tolist(), nats=found.tolist())
        for passage, found in zip(passages, nats, strict=True)
    ]
    counts = train_counts(inputs.dataset, opened.vocabulary)
    return groups_of(rows, opened.vocabulary, counts, context=context, articles=not unit.endswith("lines"))


def _pages(
    opened: Opened, inputs: Inputs, protocol: Protocol, clock: Callable[[], float], progress: Progress
) -> _Measured:
    """Page by page, as untokenized text: as lm-evaluation-harness does."""
    assert opened.text_nats is not None  # noqa: S101 - for mypy: measure() has looked
    path = raw_file(inputs.dataset, protocol.split)
    pages = list(read_pages(path))
    begin, tallies = clock(), []
    for number, page in enumerate(pages, start=1):
        nats, pieces = opened.text_nats(untokenized(page))
        tallies.append(page_tally(page, nats, pieces))
        progress("measure", number, len(pages), opened.name)
    fields = {
        "text": "untokenized",
        "passage": "page",
        "context": "article",
        "vocabulary": "none",
        "words": "open",
        "eos": "no",
    }
    return _Measured(tallies=tallies, seconds=clock() - begin, data=path, fields=fields)


def _signature(opened: Opened, inputs: Inputs, protocol: Protocol, found: _Measured) -> Signature:
    """All that decides the number, what the data are first."""
    return Signature(
        data=f"{signature_value(inputs.dataset.name)}+{file_sha256(found.data)[:8]}",
        split=protocol.split if inputs.dataset.layout != "file" else "file",
        convention=CONVENTIONS[protocol.convention],
        **found.fields,
        model=opened.identity,
        **{key: signature_value(str(value)) for key, value in opened.facts.items()},
        precision=protocol.precision,
        torch=signature_value(torch.__version__),
        version=version("wikitext-builder"),
    )


def _expect_scores(name: str, nats: Tensor, count: int) -> None:
    if nats.shape != (count,) or not nats.isfinite().all():
        worst = "" if nats.isfinite().all() else f", one of them {float(nats[~nats.isfinite()][0])}"
        raise BuilderError(
            f"{name}: {tuple(nats.shape)} scores for {count} tokens{worst}; expected a finite"
            " log-probability a token"
        )


def _arithmetic(device: torch.device, precision: str) -> AbstractContextManager[object]:
    return nullcontext() if precision == "fp32" else autocast(device, precision)


def device_name(device: torch.device) -> str:
    """What computes, for records."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{device.type} ({platform.machine()}, {torch.get_num_threads()} threads)"


def versions() -> dict[str, str]:
    """Of Python, of ourselves and of what else may decide a digit."""
    found = {"python": platform.python_version(), "wikitext-builder": version("wikitext-builder")}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
