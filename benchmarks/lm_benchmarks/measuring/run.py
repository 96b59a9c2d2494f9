"""Measures a loaded model on a split."""

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
from lm_benchmarks.choices import BATCH_ARTICLES, BEGINNING_TOKENS, CHUNK_TOKENS, LM_EVAL, PAPER, HarnessError
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
    context: str = "carried"  # all earlier articles precede an article; with `article`, nothing does
    precision: str = "fp32"  # or tf32, bf16
    chunk: int = CHUNK_TOKENS  # tokens per call of a model; does not change the numbers
    batch: int = BATCH_ARTICLES  # per call, if articles start without context; does not change the numbers
    check: bool = True  # check invariants: on the beginning of the text, then at random places of the run
    allow_broken: bool = False  # True: also measure a model that violates an invariant
    groups: bool = True  # also sum the nats by word frequency and position
    specification: str = ""  # the argument that named the model
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


Fields = dict[str, Any]  # fields of a `Result` that follow from the scores of a split


@dataclass(frozen=True, kw_only=True)
class _Plan:
    """How a convention reads a split, with all that the signature needs before anything is scored."""

    data: Path
    fields: Mapping[str, str]
    score: Callable[[], Fields]
    unused: frozenset[str] = frozenset()  # facts of the model that do not matter here
    facts: Mapping[str, object] = field(default_factory=dict)  # facts with different values here


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
    """Measure a loaded model; `cache` has window scores that other conventions share.

    `earlier` are the scores that `score_beginning` gave before other splits were measured. If `stored`
    results have its signature, the last of these is returned and nothing is measured, except for users' code
    and programs, which can change.
    """
    run = _Run(loaded, inputs, protocol, progress, cache)
    with autocast(inputs.device, protocol.precision), user_code(loaded.user_source), evaluating(loaded.model):
        plan = run.plan()
        signature = run.signature(plan)
        for result in reversed(stored if loaded.is_identified else ()):
            if result.signature == signature:
                return result
        remembered = Findings() if earlier is None else run.remembered(earlier)
        if not protocol.allow_broken:
            raise_if_broken(remembered, "--allow-broken measures it anyway")
        fields = plan.score()
        device = device_name(inputs.device)  # with the threads of this model
    if remembered["memory"]:
        fields["checks"]["memory"] = remembered["memory"]
    if not all(article.is_sound for article in fields["articles"]):
        raise HarnessError(f"{loaded.name}: a score is infinite or NaN; expected finite log-probabilities")
    return Result(
        model=loaded.name,
        signature=signature,
        parameters=loaded.parameters,
        device=device,
        versions=versions(),
        command=protocol.command,
        written=datetime.now(UTC).isoformat(timespec="seconds"),
        recipe=loaded.recipe,
        trained=loaded.trained,
        specification=protocol.specification,
        **fields,
    )


def score_beginning(loaded: LoadedModel, inputs: Inputs, protocol: Protocol) -> Tensor:
    """Score the beginning of a split, which any loaded model can score."""
    with autocast(inputs.device, protocol.precision), user_code(loaded.user_source), evaluating(loaded.model):
        text = next(read_texts(inputs.dataset, protocol.split, loaded.vocabulary))
        beginning = Text(text.tokens[:BEGINNING_TOKENS], 0)
        ((_, nats),) = token_nats(loaded.model, [beginning], device=inputs.device)
    return -nats


@dataclass(frozen=True)
class _Run:
    """A measurement: the model, its inputs, and the protocol."""

    loaded: LoadedModel
    inputs: Inputs
    protocol: Protocol
    progress: Progress
    cache: ScoreCache | None = None  # scores of windows that other conventions have read

    def plan(self) -> _Plan:
        if self.protocol.convention not in (PAPER, LM_EVAL):
            return self._windows()
        if self.protocol.convention == LM_EVAL and self.loaded.reader is not None:
            return self._pages()
        return self._words()

    def signature(self, plan: _Plan) -> Signature:
        """Return all that decides the number, first the data."""
        inputs, facts = self.inputs, {**self.loaded.facts, **plan.facts}.items()
        return Signature(
            data=hashed_name(inputs.dataset.name, plan.data),
            split=self.protocol.split if inputs.dataset.layout != "file" else "file",
            convention=CONVENTIONS[self.protocol.convention],
            **plan.fields,
            model=self.loaded.identity,
            **{key: signature_value(str(value)) for key, value in facts if key not in plan.unused},
            precision=self.protocol.precision,
            torch=signature_value(torch.__version__),
            version=version("wikitext-builder"),
        )

    def remembered(self, earlier: Tensor) -> Findings:
        """Compare scores of the beginning with earlier ones of another copy of the model."""
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

    def _words(self) -> _Plan:
        """Read word by word, over the dataset's vocabulary."""
        loaded, protocol, dataset = self.loaded, self.protocol, self.inputs.dataset
        context = protocol.context if protocol.convention == PAPER else "article"
        read = partial(
            read_passages, dataset, protocol.split, convention=protocol.convention, context=context
        )
        unit, passages = read(loaded.vocabulary)
        whole = passages if loaded.words is None else read(loaded.words)[1]
        stream = torch.cat([passage.text.tokens for passage in passages])
        return _Plan(
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
        """Return the sums of all passages, with invariants checked before and after the run.

        `whole` are the same passages in the words of the dataset, which the model's vocabulary may lack.
        """
        loaded, checks, findings = self.loaded, self._checks, None
        stream = torch.cat([passage.text.tokens for passage in passages])
        missing = loaded.missing(stream, torch.cat([passage.text.tokens for passage in whole]))
        if missing:
            LOG.warning("%s, %s, %s: %s", loaded.name, self.inputs.dataset.name, self.protocol.split, missing)
        if self.protocol.check:
            findings = checks.of_beginning(stream)
            if not self.protocol.allow_broken:
                raise_if_broken(findings, "--allow-broken measures it anyway")
        texts = [passage.text for passage in passages]
        watched = checks.watched(texts, context)
        start = time.monotonic()
        with evaluating(loaded.model):
            model = watched if self.protocol.check else loaded.model
            nats = list(self._nats(model, passages, len(stream), context))
        seconds = time.monotonic() - start
        if findings is not None:
            findings = checks.of_run(findings, watched, nats)
        words, groups = loaded.words or loaded.vocabulary, tuple[TokenGroup, ...]()
        if self.protocol.groups:
            tokens_of = [passage.text.tokens.tolist() for passage in whole]
            rows = list(zip(tokens_of, (scores.tolist() for scores in nats), strict=True))
            counts = train_counts(self.inputs.dataset, words)
            articles = not unit.endswith("lines")
            groups = groups_of(rows, words, counts, articles=articles)
        return {
            "articles": tuple(
                sums_of(text.text, scores, words, pieces=loaded.pieces(tokens), page=text.page, read=tokens)
                for text, tokens, scores in zip(
                    whole, (passage.text.tokens for passage in passages), nats, strict=True
                )
            ),
            "seconds": seconds,
            "groups": groups,
            "checks": findings,
            "tried": None if findings is None else findings.tried,
            "titles": _titles(passage.title for passage in passages),
            "missing": missing,
        }

    def _nats(
        self, model: LanguageModel[Any], passages: Sequence[Passage], total: int, context: str
    ) -> Iterator[Tensor]:
        """Yield -log p of the tokens, passage by passage."""
        done, chunk, batch = 0, self.protocol.chunk, self.protocol.batch
        texts, device = [passage.text for passage in passages], self.inputs.device
        for text, nats in token_nats(model, texts, context=context, chunk=chunk, batch=batch, device=device):
            _expect_scores(self.loaded.name, nats, len(text.tokens))
            done += len(nats)
            self.progress("measure", done, total, self.loaded.name)
            yield nats

    def _pages(self) -> _Plan:
        """Read page by page, as plain text, as lm-evaluation-harness does."""
        assert self.loaded.reader is not None  # noqa: S101 - for mypy: the caller has looked
        # The tool's window is as long as the model allows, even if our default window is shorter.
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

        return _Plan(
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

    def _windows(self) -> _Plan:
        """Read in windows of pieces, as the tool of a convention does."""
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

        return _Plan(
            data=path,
            fields=window_fields(convention, loaded.reader, **lengths),
            score=partial(self._score_windows, read),
            unused=frozenset({"window", "stride"}),
            facts=loaded.reader.facts_of_texts(
                text.text for text in convention.rule.prepare(read_text(path))
            ),
        )

    def _score_windows(self, read: Callable[[Reader], tuple[tuple[Sums, ...], float | None]]) -> Fields:
        """Return the sums of a subword model, and the invariants that it violates in windows of the run."""
        reader, findings, cache = self.loaded.reader, None, self.cache
        assert reader is not None  # noqa: S101 - for mypy: the caller has looked
        watched = WatchedReader(reader, seed=self.inputs.seed)
        start, shared = time.monotonic(), cache.shared if cache else 0
        articles, number = read(watched if self.protocol.check else cache or reader)
        seconds = time.monotonic() - start
        # Cached scores say nothing about the model's speed.
        if cache and cache.shared != shared:
            seconds = 0.0
        if self.protocol.check:
            findings = self._checks.of_windows(watched)
        return {
            "articles": articles,
            "seconds": seconds,
            "checks": findings,
            "tried": None if findings is None else findings.tried,
            "number": None if number is None else finite(number),
        }


def _tokenizer_facts(model: object, stream: Tensor) -> dict[str, Any]:
    """Return what a model's tokenizer does to a text; for a mixture, the largest values of its members."""
    largest: dict[str, Any] = model.facts(stream) if isinstance(model, PieceModel) else {}
    for member in model.models if isinstance(model, Interpolation) else ():
        facts = _tokenizer_facts(member, stream)
        largest |= {key: max(value, largest.get(key, value)) for key, value in facts.items()}
    return largest


def _titles(titles: Iterable[str]) -> tuple[str, ...]:
    """Return the titles of articles; none if no article has a title."""
    listed = tuple(titles)
    return listed if any(listed) else ()


def _expect_scores(name: str, nats: Tensor, count: int) -> None:
    if nats.shape != (count,) or not nats.isfinite().all():
        worst = "" if nats.isfinite().all() else f", one of them {float(nats[~nats.isfinite()][0])}"
        raise HarnessError(
            f"{name}: {tuple(nats.shape)} scores for {count} tokens{worst}; expected a finite"
            " log-probability per token"
        )


def versions() -> dict[str, str]:
    """Return versions of Python, this project (with a hash of its code) and packages that decide digits."""
    numbers = {"python": platform.python_version(), "wikitext-builder": version("wikitext-builder")}
    for package in PACKAGES:
        try:
            numbers[package] = version(package)
        except PackageNotFoundError:
            continue
    return numbers | {"code": code_hash("ps_models", "lm_benchmarks")}
