"""Checks the invariants of `LanguageModel` on the text that a model is measured on.

A model violates them if it looks at later words, if its probabilities sum to more than one, if it remembers
earlier calls, or if its scores change with chunks and batches. Its perplexity is then meaningless, and often
good. `ps_models.invariants` defines them.

All are checked on the beginning of the text before the run. A model can break them later. So after the run
they are checked at tokens chosen at random, in chunks that are read with the context that they had in the
run; their scores must be those of the run. Probabilities are also summed where the model was most certain.
Random windows of a subword model are checked too: in each, the model is a language model whose state is what
it has read of the window.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from lm_benchmarks.adapters.piece_model import PieceModel
from lm_benchmarks.choices import BEGINNING, CHECKED, CHUNK, EXACT, HarnessError
from lm_benchmarks.conventions import Window
from lm_benchmarks.measuring.loaded_model import (
    PLACES,
    SUREST,
    Continued,
    LoadedModel,
    Model,
    WatchedModel,
    WatchedReader,
    WindowModel,
    users_line,
    users_trace,
)
from lm_benchmarks.measuring.models import make_inputs, open_model
from lm_benchmarks.measuring.passages import read_passages
from lm_benchmarks.records import Tried
from ps_models.dataset import Text
from ps_models.invariants import CAUSES, BrokenLawError, Law, Trial, check_language_model, excess
from ps_models.invariants import LAWS as INVARIANTS
from ps_models.scoring import evaluating, token_nats
from wikitext_builder.errors import ToolkitError, is_short_memory
from wikitext_builder.progress import Progress, no_progress

TOLERANCES: Final = {"fp32": 1e-3, "tf32": 1e-2, "bf16": 1e-1}  # nats that scores may differ by
PREFIX: Final = 20  # tokens before the word over which probabilities are summed at the beginning
FEW: Final = 512  # frequent words of which random texts are made
LENGTH: Final = CHUNK  # tokens that are read of each
CALLS: Final = 12  # of a model for each, about
CHUNKS: Final = 4  # of these with a part of the text
SHARE: Final = 0.5  # of the predictions of the run that this may cost if calls read earlier text again,
FLOOR: Final = (PLACES + 2 * SUREST) * CALLS * LENGTH  # or this many
SUMMED: Final = 1_200  # words of a sum of probabilities, or fewer if each reads earlier text again
COMMON: Final = 10  # the most frequent words: they are in each sum
TOGETHER: Final = 10  # pieces whose scores may together differ by the tolerance


def _contract(trial: Trial) -> Iterator[str]:
    """All invariants, on random texts of frequent words; another entry checks the sums over all words."""
    if broken := next(filter(None, INVARIANTS["state"](trial)), ""):
        raise HarnessError(f"state: {broken}. docs/own-model.md shows a GRU")
    check_language_model(
        trial.model,
        min(trial.vocab_size, FEW),
        open_vocabulary=True,
        tolerance=trial.tolerance,
        device=trial.tokens.device,
    )
    yield ""


OF_TEXTS: Final = ("sum", "chunks", "batch", "future")
LAWS: Final[dict[str, Law]] = {"contract": _contract} | {
    name: INVARIANTS[name] for name in (*OF_TEXTS, "memory")
}


class Findings(dict[str, str]):
    """What violates each invariant; "" if nothing does."""

    def __init__(self) -> None:
        super().__init__(dict.fromkeys(LAWS, ""))
        self.tried: Tried | None = None  # where the invariants were checked after the run
        self.traces: dict[str, None] = {}  # tracebacks of exceptions in code of the user's
        self._raised: dict[str, str] = {}  # what was raised, and in which law first

    def check(self, name: str, law: Callable[[], Iterable[str]], where: str = "") -> None:
        """Note the first violation of a law, or what the model raises."""
        try:
            broken = next(filter(None, law()), "")
        except Exception as error:
            broken = _raised(error)
            if trace := users_trace(error):
                self.traces[trace] = None
            first = self._raised.setdefault(broken, name)
            broken = broken if first == name else f"fails as in {first}"
        if broken and not self[name]:
            self[name] = broken + where


def check(
    model: str,
    data: str | Path,
    *,
    split: str = "test",
    tokens: int = CHECKED,
    progress: Progress = no_progress,
    **opening: Any,
) -> Findings:
    """Check the invariants of a language model.

    Args:
        model: Its specification, as in `measure`.
        data: The dataset: a folder, or a file of tokens.
        split: The split that the model reads.
        tokens: Number of tokens that the model reads, from the beginning of the split; `measure` checks the
            whole split.
        progress: Called with the name of each invariant, then with the share of the text and the places.
        opening: Options for loading the model, as in `measure`: `device`, `seed`, `window` and so on.

    Returns:
        What violates each invariant, "" if nothing does; and where they were checked.

    Raises:
        BuilderError: The dataset is missing or damaged.
        HarnessError: The model is missing, does not fit the dataset, or its program fails.
    """
    if tokens < 1:
        raise HarnessError(f"--tokens {tokens}: invariants need a text; expected 1 or more")
    inputs = make_inputs(data, split, **opening)
    loaded = open_model(model, inputs)
    _, passages = read_passages(inputs.dataset, split, loaded.vocabulary)
    starts = accumulate((len(passage.text.tokens) for passage in passages), initial=0)
    texts = [
        Text(passage.text.tokens[: tokens - start], 0)
        for passage, start in zip(passages, starts, strict=False)
        if start < tokens
    ]
    return Checks(loaded, device=inputs.device, seed=inputs.seed, progress=progress).of_texts(texts)


@dataclass(frozen=True)
class Checks:
    """Checks the invariants of a loaded model."""

    loaded: LoadedModel
    device: torch.device | str = "cpu"
    precision: str = "fp32"
    seed: int = 1  # of the tokens or windows
    progress: Progress = no_progress

    @property
    def tolerance(self) -> float:
        """Nats that scores may differ by: more if the model's own numbers are not in float32."""
        is_exact = self.loaded.facts.get("dtype", "float32") in EXACT
        return TOLERANCES[self.precision] if is_exact else max(TOLERANCES.values())

    def of_texts(self, texts: Sequence[Text]) -> Findings:
        """Check the beginning of some texts, and if nothing is found, read them and check random ones."""
        findings = self.of_beginning(torch.cat([text.tokens for text in texts]))
        if any(findings.values()):
            return findings
        watched, nats, done = self.watched(texts, "carried"), list[Tensor](), 0
        total = sum(len(text.tokens) for text in texts)

        def read() -> Iterator[str]:
            nonlocal done
            for text, scores in token_nats(watched, texts, device=self.device):
                nats.append(scores)
                done += len(text.tokens)
                self.progress("read", done, total, "")
            yield ""

        findings.check("contract", read)
        return findings if any(findings.values()) else self.of_run(findings, watched, nats)

    def of_beginning(self, stream: Tensor) -> Findings:
        """Check all invariants on the beginning of a text, (time,)."""
        findings, text = Findings(), stream[:BEGINNING].to(self.device)
        size = len(self.loaded.vocabulary)
        for number, (name, law) in enumerate(LAWS.items()):
            self.progress("check", number, len(LAWS), name)
            trial = Trial(
                model=self.loaded.model,
                tokens=text[None],
                vocab_size=size,
                tolerance=self.tolerance,
                open_vocabulary=self.loaded.open_vocabulary,
                sizes=(1, 7, 64),
                times=sorted({1, 2, len(text) // 2, len(text) - 1}),
                prefixes=(0, PREFIX),
                words=torch.arange(min(size, FEW)).to(self.device) if self.loaded.open_vocabulary else None,
                texts=torch.split(text, 50),
            )
            with evaluating(self.loaded.model), torch.no_grad():
                findings.check(name, partial(law, trial))
        self.progress("check", len(LAWS), len(LAWS), "")
        return findings

    def watched(self, texts: Sequence[Text], context: str) -> WatchedModel:
        """The model, which keeps the places for `of_run`.

        A model that reads earlier text again in each call makes late tokens expensive: they are left out.
        """
        tokens = [text.tokens for text in texts]
        streams = [torch.cat(tokens)] if context == "carried" else tokens
        deepest = self._budget(sum(map(len, tokens))) // (2 * CALLS) - LENGTH
        if self.loaded.reread <= deepest:
            deepest = sys.maxsize
        return WatchedModel(self.loaded.model, streams, deepest=deepest, seed=self.seed)

    def _budget(self, tokens: int) -> int:
        """How many tokens of a run may be read again."""
        reread = self.loaded.reread / CHUNK if self.loaded.reader is not None else 0
        return max(FLOOR, int(SHARE * tokens * (1 + reread)))

    def of_run(self, findings: Findings, watched: WatchedModel, nats: Sequence[Tensor]) -> Findings:
        """Add violations at places of a run, which gave -log p of its texts."""
        loaded, generator, estimates = self.loaded, np.random.default_rng(self.seed), []
        scores = nats if len(nats) == len(watched.streams) else [torch.cat(list(nats))]
        read = sum(map(len, nats))
        places, budget, tried = watched.places, self._budget(read), [0, 0]
        for done, place in enumerate(places):
            self.progress("check places", done, len(places))
            depth = min(place.token, loaded.reread)
            if (cost := CALLS * (LENGTH + depth)) > budget:
                continue
            budget -= cost
            tried[place.is_random] += 1
            begin = place.token - (place.token - place.read) % LENGTH
            tokens = watched.streams[place.stream][place.read : begin + LENGTH].to(self.device)
            between, chunk = tokens.tensor_split([begin - place.read])
            trial = self._trial(
                Continued(loaded.model, place.state, between),
                chunk,
                len(loaded.vocabulary),
                generator,
                after=place.token - begin,
                summed=SUMMED // (1 + depth),
                is_open=loaded.open_vocabulary,
            )
            expected = -scores[place.stream][begin : begin + LENGTH].to(self.device)
            again = partial(_again, trial, expected, f"when they are scored again after {read:,} tokens")
            article = f" of article {place.stream + 1}" if len(watched.streams) > 1 else ""
            laws = OF_TEXTS if place.is_random else ("sum",)
            self._check(findings, trial, again, f", at token {place.token + 1:,}{article}", laws)
            estimates += trial.estimates
        self.progress("check places", len(places), len(places))
        if estimates:
            findings.check("sum", lambda: [excess(estimates, f"at {len(estimates)} places on average")])
        counts = {"surest": tried[False], "places": tried[True], "certain": watched.certain}
        findings.tried = Tried(seed=self.seed, unit="chunks", **counts)
        return findings

    def of_windows(self, watched: WatchedReader) -> Findings:
        """What violates invariants in windows of a run, chosen at random."""
        reader, generator, findings = watched.reader, np.random.default_rng(self.seed), Findings()
        seen = dict.fromkeys(piece for _, window, _ in watched.sample for piece in window.targets)
        budget, tried = max(FLOOR, SHARE * watched.pieces), 0
        for number, window, nats in watched.sample:
            budget -= CALLS * len(window.inputs)
            if budget < 0 and tried:
                break
            targets = window.targets[-LENGTH:]
            inputs = window.inputs[: len(window.inputs) - len(targets) + 1]
            every = reader.next_log_probs_of(inputs)
            pieces = list(seen) if every is None else list(range(len(every)))
            places = {piece: place for place, piece in enumerate(pieces)}
            trial = self._trial(
                WindowModel(reader, pieces, inputs),
                torch.tensor([places[piece] for piece in targets]),
                len(pieces),
                generator,
                after=int(generator.integers(len(targets))),
                summed=SUMMED // (1 + len(window.inputs)),
                is_open=every is None,
            )
            tolerance = self.tolerance * max(1.0, len(window.targets) / TOGETHER)
            again = partial(_alone, reader, window, nats, tolerance)
            self._check(findings, trial, again, f", in window {number + 1}")
            tried += 1
        findings.tried = Tried(seed=self.seed, places=tried, unit="windows")
        return findings

    def _trial(
        self,
        model: Model,
        tokens: Tensor,
        size: int,
        generator: np.random.Generator,
        *,
        after: int,
        summed: int,
        is_open: bool,
    ) -> Trial:
        """A trial of one text, (time,), cut at random places.

        Probabilities are summed after some tokens: over all words, or so many. Of these, half are then drawn
        from the rest with chances by Zipf's law, 1 / rank: frequent words come first in a vocabulary.
        """
        length, words, drawn, chances = len(tokens), None, None, None
        if summed < size:
            half = summed // 2 if summed >= FEW else summed
            frequent = range(min(half, size))
            likely = dict.fromkeys([int(tokens[after]), *frequent[:COMMON], *tokens.tolist(), *frequent])
            words = torch.tensor(list(likely)[: max(2, half)])
            if half < summed:
                zipf = (1 / torch.arange(1, size + 1).double()).index_fill(0, words, 0.0)
                zipf /= zipf.sum()
                drawn = torch.from_numpy(generator.choice(size, half, p=zipf.numpy()))
                drawn, chances = drawn.to(tokens.device), zipf[drawn].to(tokens.device)
            words = words.to(tokens.device)
        return Trial(
            model=model,
            tokens=tokens[None],
            vocab_size=size,
            tolerance=self.tolerance,
            open_vocabulary=is_open,
            sizes=(int(generator.integers(1, max(1, length // 2) + 1)),),
            calls=CHUNKS,
            times=(int(generator.integers(1, length)),) if length > 1 else (),
            prefixes=(after,),
            words=words,
            drawn=drawn,
            chances=chances,
            texts=(tokens, tokens[: length // 2 + 1]),
        )

    def _check(
        self,
        findings: Findings,
        trial: Trial,
        again: Callable[[], Iterable[str]],
        where: str,
        laws: Iterable[str] = OF_TEXTS,
    ) -> None:
        with evaluating(self.loaded.model), torch.no_grad():
            findings.check("memory", again, where)
            for name in laws:
                findings.check(name, partial(INVARIANTS[name], trial), where)
            findings.check("contract", partial(INVARIANTS["scores"], trial), where)


def _again(trial: Trial, expected: Tensor, when: str) -> Iterator[str]:
    """The scores of a text are those of the run."""
    yield trial.differ(trial.whole[0], expected, when)


def _alone(reader: PieceModel, window: Window, nats: float, tolerance: float) -> Iterator[str]:
    """The score of a window is that of the run."""
    (found,) = reader.window_nats([window])
    if not abs(found - nats) <= tolerance:
        yield f"{len(window.targets)} pieces need {nats:.6g} nats in the run, and {found:.6g} alone"


def _raised(error: Exception) -> str:
    """What a model raised and where, in one line: it can be anyone's code, so that is a finding.

    Raises:
        Exception: The error itself, if no law is the cause: a program that died, or too little memory.
    """
    if isinstance(error, ToolkitError) or is_short_memory(error):
        raise error
    is_broken = isinstance(error, BrokenLawError)  # its message says all
    text = (str(error) if is_broken else f"{type(error).__name__}: {error}").replace("\n", " ")[:300]
    return f"{text} ({place})" if (place := users_line(error)) else text


def raise_if_broken(findings: Mapping[str, str], hint: str = "", *, listed: bool = False) -> None:
    """Refuse a model that violates an invariant, with the tracebacks of the user's own code.

    Args:
        findings: What `check` returned.
        hint: What the user can do.
        listed: The user has read the findings already.

    Raises:
        HarnessError: The model violates an invariant.
    """
    broken = {law: found for law, found in findings.items() if found}
    if not listed and broken.get("contract", "").partition(":")[0] in broken:
        del broken["contract"]  # the same one, on random texts
    if broken:
        end = "".join(CAUSES.get(law, "") for law in broken) + (f". {hint}" if hint else "")
        traces = "".join(f"\n{trace}" for trace in getattr(findings, "traces", ()))
        violated = f"the model violates {len(broken)} of {len(findings)} invariants"
        shown = "" if listed else "".join(f"; {law}: {found}" for law, found in broken.items())
        raise HarnessError(f"{violated}{shown}{end}{traces}")
