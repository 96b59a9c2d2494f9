"""Measures one open model on a split."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

from lm_benchmarks.adapters.piece_model import page_nats
from lm_benchmarks.choices import BATCH, CHUNK, CONVENTIONS, LM_EVAL, PAPER
from lm_benchmarks.conventions.registry import REGISTRY
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.lm_eval import plain_text, raw_file, read_pages
from lm_benchmarks.measuring.invariant_checks import (
    check_beginning,
    check_places,
    raise_if_broken,
    tolerance_of,
)
from lm_benchmarks.measuring.loaded_model import Inputs, LoadedModel, user_code
from lm_benchmarks.measuring.passages import (
    Passage,
    Scored,
    groups_of,
    read_passages,
    train_counts,
)
from lm_benchmarks.measuring.run_samples import Watched, WatchedReader, try_windows
from lm_benchmarks.measuring.score_cache import ScoreCache
from lm_benchmarks.measuring.windows import convention_file, measure_windows
from lm_benchmarks.metrics import Sums, sums_of, sums_of_page
from lm_benchmarks.records.lines import finite
from lm_benchmarks.records.result import Result, TokenGroup, Tried
from ps_models.data.dataset import vocabulary_hash
from ps_models.devices import autocast, device_name
from ps_models.evaluation.evaluate import evaluating, token_nats
from ps_models.evaluation.signature import CONTEXTS, Signature, signature_value
from ps_models.language_model import LanguageModel
from wikitext_builder.dataset.vocabulary import Vocabulary
from wikitext_builder.hashing import commit, file_sha256
from wikitext_builder.progress import Progress, no_progress

PACKAGES: Final = ("torch", "numpy", "transformers", "tokenizers", "kenlm")  # whose versions may matter


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """How a model is measured."""

    split: str = "test"
    convention: str = PAPER  # what is counted, and how: a name in CONVENTIONS
    context: str = "carried"  # what precedes an article: all articles before it, or with `article` nothing
    precision: str = "fp32"  # or tf32, bf16
    chunk: int = CHUNK  # tokens per call of a model; does not change the numbers
    batch: int = BATCH  # articles per call where each starts without context; does not change the numbers
    check: bool = True  # try the laws: on the beginning of the text, then at random places of the run
    allow_broken: bool = False  # measure a model that breaks a law too; else it is an error
    groups: bool = True  # also sum the nats by word frequency, position and so on
    specification: str = ""  # what the user called the model
    command: str = ""  # measures it again

    def __post_init__(self) -> None:
        if self.chunk < 1 or self.batch < 1:
            raise HarnessError(f"chunk {self.chunk}, batch {self.batch}; expected 1 or more of each")
        if self.context not in CONTEXTS:
            raise HarnessError(f"context {self.context!r}; expected {' or '.join(CONTEXTS)}")
        if self.context != CONTEXTS[0] and self.convention != PAPER:
            raise HarnessError(f"context {self.context!r} with {self.convention}: only {PAPER} has a choice")


@dataclass(frozen=True, kw_only=True)
class _Measured:
    """What was found, and the fields of its signature that only the way of measuring knows."""

    articles: Sequence[Sums]
    seconds: float
    data: Path
    fields: Mapping[str, str]
    groups: tuple[TokenGroup, ...] = ()
    checks: Mapping[str, str] | None = None
    tried: Tried | None = None
    number: float | None = None  # the tool's own
    unused: frozenset[str] = frozenset()  # facts of the model that decide nothing here


def measure_loaded(
    loaded: LoadedModel, inputs: Inputs, protocol: Protocol, *, progress: Progress = no_progress
) -> Result:
    """Measure a model that is open.

    Args:
        loaded: The model.
        inputs: The dataset, and the device of the model.
        protocol: How to measure.
        progress: Receives the number of tokens done.

    Raises:
        HarnessError: The split is missing, or the model fails.
    """
    if protocol.convention not in CONVENTIONS:
        raise HarnessError(f"convention {protocol.convention!r}; expected {' or '.join(CONVENTIONS)}")
    way = _words
    if protocol.convention not in (PAPER, LM_EVAL):
        way = _windows
    elif protocol.convention == LM_EVAL and loaded.reader is not None:
        way = _pages
    with autocast(inputs.device, protocol.precision), user_code(loaded.users), evaluating(loaded.model):
        found = way(loaded, inputs, protocol, progress)
        where = device_name(inputs.device)  # with the threads of this model
    if not all(one.is_sound for one in found.articles):
        raise HarnessError(f"{loaded.name}: a score is infinite or NaN; expected finite log-probabilities")
    return Result(
        model=loaded.name,
        signature=_signature(loaded, inputs, protocol, found),
        articles=tuple(found.articles),
        groups=found.groups,
        checks=found.checks,
        tried=found.tried,
        parameters=loaded.parameters,
        seconds=found.seconds,
        device=where,
        versions=versions(),
        command=protocol.command,
        written=written_now(),
        recipe=loaded.recipe,
        trained=loaded.trained,
        specification=protocol.specification,
        number=None if found.number is None else finite(found.number),
    )


def _words(loaded: LoadedModel, inputs: Inputs, protocol: Protocol, progress: Progress) -> _Measured:
    """Word by word, over the dataset's vocabulary."""
    context = protocol.context if protocol.convention == PAPER else "article"
    unit, passages = read_passages(
        inputs.dataset, protocol.split, loaded.vocabulary, convention=protocol.convention, context=context
    )
    stream = torch.cat([passage.text.tokens for passage in passages])
    tolerance = tolerance_of(loaded, protocol.precision)
    checks = None
    if protocol.check:
        checks = check_beginning(loaded, stream, device=inputs.device, tolerance=tolerance, progress=progress)
        if not protocol.allow_broken:
            raise_if_broken(checks, "--allow-broken measures it anyway")
    watched = Watched(loaded.model, seed=inputs.seed, reread=loaded.reread)
    start = time.monotonic()
    with evaluating(loaded.model):
        model = watched if protocol.check else loaded.model
        nats = list(_nats(loaded, model, passages, inputs, protocol, context, progress))
    seconds = time.monotonic() - start
    if checks is not None:
        checks = check_places(
            loaded, watched, checks, tolerance=tolerance, seed=inputs.seed, progress=progress
        )
    return _Measured(
        articles=[
            sums_of(
                passage.text,
                found,
                loaded.vocabulary,
                pieces=loaded.pieces(passage.text.tokens),
                page=passage.page,
            )
            for passage, found in zip(passages, nats, strict=True)
        ],
        seconds=seconds,
        data=inputs.dataset.file(protocol.split),
        fields={
            "text": "tokens",
            "passage": unit,
            "context": context,
            "vocabulary": signed_vocabulary(loaded.vocabulary),
            "words": "open" if loaded.open_vocabulary else "closed",
            "eos": "yes",
            **{key: str(value) for key, value in loaded.text_facts(stream).items()},
        },
        groups=_groups(loaded, inputs, passages, nats, context, unit) if protocol.groups else (),
        checks=checks,
        tried=None if checks is None else checks.tried,
    )


def _nats(
    loaded: LoadedModel,
    model: LanguageModel[Any],
    passages: Sequence[Passage],
    inputs: Inputs,
    protocol: Protocol,
    context: str,
    progress: Progress,
) -> Iterator[Tensor]:
    """-log p of each token, passage by passage."""
    done, total = 0, sum(len(passage.text.tokens) for passage in passages)
    scored = token_nats(
        model,
        [passage.text for passage in passages],
        context=context,
        chunk=protocol.chunk,
        batch=protocol.batch,
        device=inputs.device,
    )
    for text, found in scored:
        _expect_scores(loaded.name, found, len(text.tokens))
        done += len(found)
        progress("measure", done, total, loaded.name)
        yield found


def _groups(
    loaded: LoadedModel,
    inputs: Inputs,
    passages: Sequence[Passage],
    nats: Sequence[Tensor],
    context: str,
    unit: str,
) -> tuple[TokenGroup, ...]:
    rows = [
        Scored(tokens=passage.text.tokens.tolist(), nats=found.tolist())
        for passage, found in zip(passages, nats, strict=True)
    ]
    counts = train_counts(inputs.dataset, loaded.vocabulary)
    return groups_of(rows, loaded.vocabulary, counts, context=context, articles=not unit.endswith("lines"))


def _pages(loaded: LoadedModel, inputs: Inputs, protocol: Protocol, progress: Progress) -> _Measured:
    """Page by page, as plain text: as lm-evaluation-harness does."""
    assert loaded.reader is not None  # noqa: S101 - for mypy: measure_loaded has looked
    if inputs.stride is not None and inputs.stride != loaded.facts.get("window"):
        raise HarnessError(
            f"--stride {inputs.stride} with --convention {protocol.convention}: its windows do not overlap;"
            " leave out the stride"
        )
    path = raw_file(inputs.dataset, protocol.split)
    pages = list(read_pages(path))
    watched = WatchedReader(loaded.reader, seed=inputs.seed)
    reader, window = watched if protocol.check else loaded.reader, int(str(loaded.facts["window"]))
    start, articles = time.monotonic(), []
    for number, page in enumerate(pages, start=1):
        nats, pieces = page_nats(reader, window, plain_text(page))
        articles.append(sums_of_page(page, nats, pieces=pieces))
        progress("measure pages", number, len(pages), loaded.name)
    fields = {
        "text": "untokenized",
        "passage": "page",
        "context": "article",
        "vocabulary": "none",
        "words": "open",
        "eos": "no",
        "windows": "disjoint-backfilled",
    }
    seconds = time.monotonic() - start
    checks, tried = _window_laws(loaded, watched, inputs, protocol)
    return _Measured(
        articles=articles,
        seconds=seconds,
        data=path,
        fields=fields,
        checks=checks,
        tried=tried,
        unused=frozenset({"stride"}),
    )


def _window_laws(
    loaded: LoadedModel, watched: WatchedReader, inputs: Inputs, protocol: Protocol
) -> tuple[Mapping[str, str] | None, Tried | None]:
    """The laws that a model of pieces breaks at windows of its run, and what was tried."""
    if not protocol.check or loaded.reader is None:
        return None, None
    itself = loaded.reader.reader if isinstance(loaded.reader, ScoreCache) else loaded.reader
    return try_windows(watched, itself, tolerance=tolerance_of(loaded, protocol.precision), seed=inputs.seed)


def _windows(loaded: LoadedModel, inputs: Inputs, protocol: Protocol, progress: Progress) -> _Measured:
    """In windows of pieces: as the tool of a convention does."""
    convention = REGISTRY[protocol.convention]
    if loaded.reader is None:
        raise HarnessError(
            f"{loaded.name} predicts words; --convention {convention.name} scores pieces of words, so it"
            f" needs a model `transformers:…`, `gguf:…` or `completions:…`. For models of words there"
            f" are {PAPER} and {LM_EVAL}"
        )
    reader = loaded.reader
    watched = WatchedReader(reader, seed=inputs.seed)
    start = time.monotonic()
    found = measure_windows(
        convention,
        watched if protocol.check else reader,
        convention_file(convention, inputs.dataset, protocol.split),
        window=inputs.window,
        stride=inputs.stride,
        progress=progress,
    )
    seconds = time.monotonic() - start
    checks, tried = _window_laws(loaded, watched, inputs, protocol)
    return _Measured(
        articles=found.articles,
        seconds=seconds,
        data=found.data,
        fields=found.fields,
        checks=checks,
        tried=tried,
        number=found.number,
        unused=frozenset({"window", "stride"}),
    )


def signed_vocabulary(vocabulary: Vocabulary) -> str:
    """A vocabulary in signatures: its size and the beginning of its hash."""
    return f"{len(vocabulary)}+{vocabulary_hash(vocabulary)[:8]}"


def _signature(loaded: LoadedModel, inputs: Inputs, protocol: Protocol, found: _Measured) -> Signature:
    """All that decides the number, first the data."""
    return Signature(
        data=f"{signature_value(inputs.dataset.name)}+{file_sha256(found.data)[:8]}",
        split=protocol.split if inputs.dataset.layout != "file" else "file",
        convention=CONVENTIONS[protocol.convention],
        **found.fields,
        model=loaded.identity,
        **{
            key: signature_value(str(value)) for key, value in loaded.facts.items() if key not in found.unused
        },
        precision=protocol.precision,
        torch=signature_value(torch.__version__),
        version=version("wikitext-builder"),
    )


def _expect_scores(name: str, nats: Tensor, count: int) -> None:
    if nats.shape != (count,) or not nats.isfinite().all():
        worst = "" if nats.isfinite().all() else f", one of them {float(nats[~nats.isfinite()][0])}"
        raise HarnessError(
            f"{name}: {tuple(nats.shape)} scores for {count} tokens{worst}; expected a finite"
            " log-probability per token"
        )


def versions() -> dict[str, str]:
    """The versions of Python, of this project (its commit too) and of packages that may decide a digit."""
    found = {"python": platform.python_version(), "wikitext-builder": version("wikitext-builder")}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found | {"commit": code} if (code := commit()) else found


def written_now() -> str:
    """The time, ISO 8601 in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")
