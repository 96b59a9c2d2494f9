"""Measures one open model on a split."""

from __future__ import annotations

import logging
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

from lm_benchmarks.adapters.piece_model import WINDOW_WITHOUT_LIMIT, PieceModel, page_nats
from lm_benchmarks.choices import BATCH, BEGINNING, CHUNK, LM_EVAL, PAPER, HarnessError
from lm_benchmarks.conventions import RAW, Reader
from lm_benchmarks.conventions.rules import CONVENTIONS, REGISTRY
from lm_benchmarks.lm_eval import plain_text, raw_file, read_pages, read_text, title_of
from lm_benchmarks.measuring.checks import Checks, Findings, raise_if_broken
from lm_benchmarks.measuring.loaded_model import Inputs, LoadedModel, WatchedReader, user_code
from lm_benchmarks.measuring.passages import (
    Passage,
    ScoreCache,
    groups_of,
    measure_windows,
    read_passages,
    window_fields,
)
from lm_benchmarks.metrics import Sums, sums_of, sums_of_page
from lm_benchmarks.records import Result, TokenGroup, finite
from ps_models.dataset import Text, read_texts, vocabulary_hash
from ps_models.devices import autocast, device_name
from ps_models.language_model import LanguageModel
from ps_models.models.interpolation import Interpolation
from ps_models.scoring import evaluating, token_nats, train_counts
from ps_models.signature import CONTEXTS, Signature, hashed_name, signature_value
from wikitext_builder.files import code_hash
from wikitext_builder.progress import Progress, no_progress

LOG: Final = logging.getLogger(__name__)
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
        if self.convention not in CONVENTIONS:
            raise HarnessError(f"convention {self.convention!r}; expected {' or '.join(CONVENTIONS)}")
        if self.context not in CONTEXTS:
            raise HarnessError(f"context {self.context!r}; expected {' or '.join(CONTEXTS)}")
        if self.context != CONTEXTS[0] and self.convention != PAPER:
            raise HarnessError(f"context {self.context!r} with {self.convention}: only {PAPER} has a choice")


Fields = dict[str, Any]  # of a `Result`: what the scores of a split gave


@dataclass(frozen=True, kw_only=True)
class _Way:
    """How a convention reads a split: all that the signature needs, before anything is scored."""

    data: Path
    fields: Mapping[str, str]
    score: Callable[[], Fields]
    unused: frozenset[str] = frozenset()  # facts of the model that decide nothing here
    facts: Mapping[str, object] = field(default_factory=dict)  # or have other values here


def measure_loaded(
    loaded: LoadedModel,
    inputs: Inputs,
    protocol: Protocol,
    *,
    stored: Sequence[Result] = (),
    progress: Progress = no_progress,
    cache: ScoreCache | None = None,
    earlier: Tensor | None = None,
) -> Result:
    """Measure a loaded model; of one that reads windows, a `cache` has scores of other conventions.

    `earlier` are the scores that `score_beginning` gave before other splits were measured.
    If `stored` results have its signature, the last of these is returned, and nothing is measured, except for
    users' code and programs, which can change.
    """
    run = _Run(loaded, inputs, protocol, progress, cache)
    with autocast(inputs.device, protocol.precision), user_code(loaded.users), evaluating(loaded.model):
        way = run.way()
        signature = run.signature(way)
        for known in reversed(stored if loaded.is_identified else ()):
            if known.signature == signature:
                return known
        remembered = Findings() if earlier is None else run.remembered(earlier)
        if not protocol.allow_broken:
            raise_if_broken(remembered, "--allow-broken measures it anyway")
        found = way.score()
        where = device_name(inputs.device)  # with the threads of this model
    if remembered["memory"]:
        found["checks"]["memory"] = remembered["memory"]
    if not all(one.is_sound for one in found["articles"]):
        raise HarnessError(f"{loaded.name}: a score is infinite or NaN; expected finite log-probabilities")
    return Result(
        model=loaded.name,
        signature=signature,
        parameters=loaded.parameters,
        device=where,
        versions=versions(),
        command=protocol.command,
        written=datetime.now(UTC).isoformat(timespec="seconds"),
        recipe=loaded.recipe,
        trained=loaded.trained,
        specification=protocol.specification,
        **found,
    )


def score_beginning(loaded: LoadedModel, inputs: Inputs, protocol: Protocol) -> Tensor:
    """The scores of the beginning of a split, whose words any loaded model can score."""
    with autocast(inputs.device, protocol.precision), user_code(loaded.users), evaluating(loaded.model):
        text = next(read_texts(inputs.dataset, protocol.split, loaded.vocabulary))
        ((_, nats),) = token_nats(loaded.model, [Text(text.tokens[:BEGINNING], 0)], device=inputs.device)
    return -nats


@dataclass(frozen=True)
class _Run:
    """A measurement: of which model, on what, and how."""

    loaded: LoadedModel
    inputs: Inputs
    protocol: Protocol
    progress: Progress
    cache: ScoreCache | None = None  # of windows that other conventions have read

    def way(self) -> _Way:
        if self.protocol.convention not in (PAPER, LM_EVAL):
            return self._windows()
        if self.protocol.convention == LM_EVAL and self.loaded.reader is not None:
            return self._pages()
        return self._words()

    def signature(self, way: _Way) -> Signature:
        """All that decides the number, first the data."""
        inputs, facts = self.inputs, {**self.loaded.facts, **way.facts}.items()
        return Signature(
            data=hashed_name(inputs.dataset.name, way.data),
            split=self.protocol.split if inputs.dataset.layout != "file" else "file",
            convention=CONVENTIONS[self.protocol.convention],
            **way.fields,
            model=self.loaded.identity,
            **{key: signature_value(str(value)) for key, value in facts if key not in way.unused},
            precision=self.protocol.precision,
            torch=signature_value(torch.__version__),
            version=version("wikitext-builder"),
        )

    def remembered(self, earlier: Tensor) -> Findings:
        """How scores of the beginning differ from earlier ones, which another copy of the model gave."""
        worst = float((score_beginning(self.loaded, self.inputs, self.protocol) - earlier).abs().max())
        findings = Findings()
        if not worst <= self._checks.tolerance:
            findings["memory"] = f"scores of the beginning differ by {worst:.3g} nats since others were read"
        return findings

    @property
    def _checks(self) -> Checks:
        inputs, precision = self.inputs, self.protocol.precision
        return Checks(
            self.loaded, device=inputs.device, precision=precision, seed=inputs.seed, progress=self.progress
        )

    def _words(self) -> _Way:
        """Word by word, over the dataset's vocabulary."""
        loaded, protocol, dataset = self.loaded, self.protocol, self.inputs.dataset
        context = protocol.context if protocol.convention == PAPER else "article"
        read = partial(
            read_passages, dataset, protocol.split, convention=protocol.convention, context=context
        )
        unit, passages = read(loaded.vocabulary)
        whole = passages if loaded.words is None else read(loaded.words)[1]
        stream = torch.cat([passage.text.tokens for passage in passages])
        return _Way(
            data=dataset.file(protocol.split),
            fields={
                "text": "tokens",
                "passage": unit,
                "context": context,
                "vocabulary": f"{len(loaded.vocabulary)}+{vocabulary_hash(loaded.vocabulary)[:8]}",
                "words": "open" if loaded.open_vocabulary else "closed",
                "eos": "yes",
                **{key: str(value) for key, value in _tokenizer_facts(loaded.model, stream).items()},
            },
            score=partial(self._score_words, passages, whole, context, unit),
        )

    def _score_words(
        self, passages: Sequence[Passage], whole: Sequence[Passage], context: str, unit: str
    ) -> Fields:
        """The sums of all passages, with invariants checked before and after the run.

        `whole` are the same passages in the words of the dataset, of which the model may know only some.
        """
        loaded, laws, checks = self.loaded, self._checks, None
        stream = torch.cat([passage.text.tokens for passage in passages])
        missing = loaded.missing(stream, torch.cat([passage.text.tokens for passage in whole]))
        if missing:
            LOG.warning("%s, %s, %s: %s", loaded.name, self.inputs.dataset.name, self.protocol.split, missing)
        if self.protocol.check:
            checks = laws.of_beginning(stream)
            if not self.protocol.allow_broken:
                raise_if_broken(checks, "--allow-broken measures it anyway")
        texts = [passage.text for passage in passages]
        watched = laws.watched(texts, context)
        start = time.monotonic()
        with evaluating(loaded.model):
            model = watched if self.protocol.check else loaded.model
            nats = list(self._nats(model, passages, len(stream), context))
        seconds = time.monotonic() - start
        if checks is not None:
            checks = laws.of_run(checks, watched, nats)
        words, groups = loaded.words or loaded.vocabulary, tuple[TokenGroup, ...]()
        if self.protocol.groups:
            rows = [(one.text.tokens.tolist(), n.tolist()) for one, n in zip(whole, nats, strict=True)]
            counts = train_counts(self.inputs.dataset, words)
            articles = not unit.endswith("lines")
            groups = groups_of(rows, words, counts, articles=articles)
        return {
            "articles": tuple(
                sums_of(one.text, n, words, pieces=loaded.pieces(tokens), page=one.page, read=tokens)
                for one, tokens, n in zip(whole, (one.text.tokens for one in passages), nats, strict=True)
            ),
            "seconds": seconds,
            "groups": groups,
            "checks": checks,
            "tried": None if checks is None else checks.tried,
            "titles": _titles(one.title for one in passages),
            "missing": missing,
        }

    def _nats(
        self, model: LanguageModel[Any], passages: Sequence[Passage], total: int, context: str
    ) -> Iterator[Tensor]:
        """-log p of each token, passage by passage."""
        done, chunk, batch = 0, self.protocol.chunk, self.protocol.batch
        texts, device = [passage.text for passage in passages], self.inputs.device
        for text, found in token_nats(model, texts, context=context, chunk=chunk, batch=batch, device=device):
            _expect_scores(self.loaded.name, found, len(text.tokens))
            done += len(found)
            self.progress("measure", done, total, self.loaded.name)
            yield found

    def _pages(self) -> _Way:
        """Page by page, as plain text: as lm-evaluation-harness does."""
        assert self.loaded.reader is not None  # noqa: S101 - for mypy: the caller has looked
        # The tool's window is all that a model can read, also where ours is shorter by default.
        window = self.inputs.window or self.loaded.reader.longest or WINDOW_WITHOUT_LIMIT
        stride = self.inputs.stride
        if stride is not None and stride != window:
            raise HarnessError(
                f"--stride {stride} with --convention {self.protocol.convention}: its windows do not overlap;"
                " leave out the stride"
            )
        path = raw_file(self.inputs.dataset, self.protocol.split)

        def read(reader: Reader) -> tuple[tuple[Sums, ...], None]:
            pages, articles = list(read_pages(path)), list[Sums]()
            for number, page in enumerate(pages, start=1):
                nats, pieces = page_nats(reader, window, plain_text(page))
                articles.append(sums_of_page(page, nats, pieces=pieces))
                self.progress("measure pages", number, len(pages), self.loaded.name)
            return tuple(articles), None

        return _Way(
            data=path,
            fields={
                "text": "untokenized",
                "passage": "page",
                "context": "article",
                "vocabulary": "none",
                "words": "open",
                "eos": "no",
                "windows": "disjoint-backfilled",
            },
            score=lambda: {**self._score_windows(read), "titles": _titles(map(title_of, read_pages(path)))},
            unused=frozenset({"stride"}),
            facts={"window": window, **self.loaded.reader.facts_of_texts(map(plain_text, read_pages(path)))},
        )

    def _windows(self) -> _Way:
        """In windows of pieces: as the tool of a convention does."""
        loaded, convention = self.loaded, REGISTRY[self.protocol.convention]
        if loaded.reader is None or convention.rule is None:
            raise HarnessError(
                f"{loaded.name} predicts words; --convention {convention.name} scores subword tokens, so it"
                f" needs a model `transformers:…`, `gguf:…` or `completions:…`. For word-level models, use"
                f" {PAPER} or {LM_EVAL}"
            )
        path = self.inputs.dataset.file(self.protocol.split)
        if convention.file == RAW:
            path = raw_file(self.inputs.dataset, self.protocol.split)
        lengths = {"window": self.inputs.window, "stride": self.inputs.stride}

        def read(reader: Reader) -> tuple[tuple[Sums, ...], float]:
            return measure_windows(convention, reader, path, **lengths, progress=self.progress)

        return _Way(
            data=path,
            fields=window_fields(convention, loaded.reader, **lengths),
            score=partial(self._score_windows, read),
            unused=frozenset({"window", "stride"}),
            facts=loaded.reader.facts_of_texts(one.text for one in convention.rule.prepare(read_text(path))),
        )

    def _score_windows(self, read: Callable[[Reader], tuple[tuple[Sums, ...], float | None]]) -> Fields:
        """The sums of a subword model, and the invariants that it violates in windows of the run."""
        reader, checks, cache = self.loaded.reader, None, self.cache
        assert reader is not None  # noqa: S101 - for mypy: the caller has looked
        watched = WatchedReader(reader, seed=self.inputs.seed)
        start, shared = time.monotonic(), cache.shared if cache else 0
        articles, number = read(watched if self.protocol.check else cache or reader)
        seconds = time.monotonic() - start
        if cache and cache.shared != shared:  # scores that were read before say nothing of the model's speed
            seconds = 0.0
        if self.protocol.check:
            checks = self._checks.of_windows(watched)
        return {
            "articles": articles,
            "seconds": seconds,
            "checks": checks,
            "tried": None if checks is None else checks.tried,
            "number": None if number is None else finite(number),
        }


def _tokenizer_facts(model: object, stream: Tensor) -> dict[str, Any]:
    """What the tokenizer of a model does to a text; of the members of a mixture the largest values."""
    found: dict[str, Any] = model.facts(stream) if isinstance(model, PieceModel) else {}
    for member in model.models if isinstance(model, Interpolation) else ():
        facts = _tokenizer_facts(member, stream)
        found |= {key: max(value, found.get(key, value)) for key, value in facts.items()}
    return found


def _titles(titles: Iterable[str]) -> tuple[str, ...]:
    """The titles of articles; none if no article has one."""
    found = tuple(titles)
    return found if any(found) else ()


def _expect_scores(name: str, nats: Tensor, count: int) -> None:
    if nats.shape != (count,) or not nats.isfinite().all():
        worst = "" if nats.isfinite().all() else f", one of them {float(nats[~nats.isfinite()][0])}"
        raise HarnessError(
            f"{name}: {tuple(nats.shape)} scores for {count} tokens{worst}; expected a finite"
            " log-probability per token"
        )


def versions() -> dict[str, str]:
    """The versions of Python, of this project (with a hash of its code) and packages that decide digits."""
    found = {"python": platform.python_version(), "wikitext-builder": version("wikitext-builder")}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found | {"code": code_hash("ps_models", "lm_benchmarks")}
