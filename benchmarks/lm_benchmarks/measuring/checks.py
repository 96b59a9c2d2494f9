"""Checks the invariants of `LanguageModel` on the text that a model is measured on.

A model violates them if it looks at later words, if its probabilities sum to more than one, if it remembers
earlier calls, or if its scores change with chunks and batches. Its perplexity is then meaningless, and often
good. `ps_models.invariants` defines them.

All are checked on the beginning of the text before the run. Because a model can violate them later, they are
also checked after the run, at tokens chosen at random, in chunks that are read with the context that they had
in the run; their scores must be those of the run. Probabilities are also summed where the model was most
certain. For subword models, random windows are checked: there the model is a language model whose state is
what it has read of the window.
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
from lm_benchmarks.choices import BEGINNING_TOKENS, CHECK_TOKENS, CHUNK_TOKENS, EXACT_DTYPES, HarnessError
from lm_benchmarks.conventions import Window
from lm_benchmarks.measuring.loaded_model import (
    CERTAIN_PLACES,
    RANDOM_PLACES,
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
from lm_benchmarks.records import CheckedPlaces
from ps_models.dataset import Text
from ps_models.invariants import CAUSES, BrokenLawError, Law, Trial, check_language_model, excess
from ps_models.invariants import LAWS as ALL_INVARIANTS
from ps_models.scoring import evaluating, token_nats
from wikitext_builder.errors import ToolkitError, is_short_memory
from wikitext_builder.progress import Progress, no_progress

TOLERANCES: Final = {"fp32": 1e-3, "tf32": 1e-2, "bf16": 1e-1}  # nats by which scores may differ
PREFIX_TOKENS: Final = 20  # before the sums of probabilities at the beginning
FREQUENT_WORDS: Final = 512  # they make up random texts
PLACE_TOKENS: Final = CHUNK_TOKENS  # read at a place
CALLS_PER_PLACE: Final = 12  # about
CHUNK_CALLS: Final = 4  # of these, calls with a part of the text
# If calls read earlier text again, checks may cost this share of the run's predictions, or MIN_BUDGET tokens.
MAX_COST_SHARE: Final = 0.5
MIN_BUDGET: Final = (RANDOM_PLACES + 2 * CERTAIN_PLACES) * CALLS_PER_PLACE * PLACE_TOKENS
MAX_SUMMED_WORDS: Final = 1_200  # in a sum of probabilities; fewer if each word reads earlier text again
ALWAYS_SUMMED_WORDS: Final = 10  # the most frequent words
PIECES_PER_TOLERANCE: Final = 10  # their scores together may differ by the tolerance


def _contract(trial: Trial) -> Iterator[str]:
    """Check all invariants on random texts of frequent words; another entry checks sums over all words."""
    if broken := next(filter(None, ALL_INVARIANTS["state"](trial)), ""):
        raise HarnessError(f"state: {broken}. docs/own-model.md shows a GRU")
    check_language_model(
        trial.model,
        min(trial.vocab_size, FREQUENT_WORDS),
        open_vocabulary=True,
        tolerance=trial.tolerance,
        device=trial.tokens.device,
    )
    yield ""


TEXT_INVARIANTS: Final = ("sum", "chunks", "batch", "future")
INVARIANTS: Final[dict[str, Law]] = {"contract": _contract} | {
    name: ALL_INVARIANTS[name] for name in (*TEXT_INVARIANTS, "memory")
}


class Findings(dict[str, str]):
    """The violations by invariant; "" if it is satisfied."""

    def __init__(self) -> None:
        super().__init__(dict.fromkeys(INVARIANTS, ""))
        self.tried: CheckedPlaces | None = None  # where the invariants were checked after the run
        self.traces: dict[str, None] = {}  # tracebacks of exceptions in the user's code
        self._raised: dict[str, str] = {}  # exceptions, and the invariant that first raised them

    def check(self, name: str, invariant: Callable[[], Iterable[str]], where: str = "") -> None:
        """Note the first violation of an invariant, or the exception that the model raises."""
        try:
            violation = next(filter(None, invariant()), "")
        except Exception as error:
            violation = _raised(error)
            if trace := users_trace(error):
                self.traces[trace] = None
            first_invariant = self._raised.setdefault(violation, name)
            violation = violation if first_invariant == name else f"fails as in {first_invariant}"
        if violation and not self[name]:
            self[name] = violation + where


def check(
    model: str,
    data: str | Path,
    *,
    split: str = "test",
    tokens: int = CHECK_TOKENS,
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
        The violations by invariant, "" if it is satisfied; and where invariants were checked.

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
        """Nats by which scores may differ: more if the model's weights are not float32."""
        is_exact = self.loaded.facts.get("dtype", "float32") in EXACT_DTYPES
        return TOLERANCES[self.precision] if is_exact else max(TOLERANCES.values())

    def of_texts(self, texts: Sequence[Text]) -> Findings:
        """Check the beginning of texts and, without a violation, read them and check random places."""
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
        findings, text = Findings(), stream[:BEGINNING_TOKENS].to(self.device)
        size = len(self.loaded.vocabulary)
        frequent = torch.arange(min(size, FREQUENT_WORDS)).to(self.device)
        for number, (name, invariant) in enumerate(INVARIANTS.items()):
            self.progress("check", number, len(INVARIANTS), name)
            trial = Trial(
                model=self.loaded.model,
                tokens=text[None],
                vocab_size=size,
                tolerance=self.tolerance,
                open_vocabulary=self.loaded.open_vocabulary,
                sizes=(1, 7, 64),
                times=sorted({1, 2, len(text) // 2, len(text) - 1}),
                prefixes=(0, PREFIX_TOKENS),
                words=frequent if self.loaded.open_vocabulary else None,
                texts=torch.split(text, 50),
            )
            with evaluating(self.loaded.model), torch.no_grad():
                findings.check(name, partial(invariant, trial))
        self.progress("check", len(INVARIANTS), len(INVARIANTS), "")
        return findings

    def watched(self, texts: Sequence[Text], context: str) -> WatchedModel:
        """Wrap the model so that it samples the places for `of_run`.

        If a model reads earlier text again in each call, late tokens are expensive and are skipped.
        """
        tokens = [text.tokens for text in texts]
        streams = [torch.cat(tokens)] if context == "carried" else tokens
        deepest = self._budget(sum(map(len, tokens))) // (2 * CALLS_PER_PLACE) - PLACE_TOKENS
        if self.loaded.reread <= deepest:
            deepest = sys.maxsize
        return WatchedModel(self.loaded.model, streams, deepest=deepest, seed=self.seed)

    def _budget(self, tokens: int) -> int:
        """Return how many tokens of a run may be read again."""
        reread = self.loaded.reread / CHUNK_TOKENS if self.loaded.reader is not None else 0
        return max(MIN_BUDGET, int(MAX_COST_SHARE * tokens * (1 + reread)))

    def of_run(self, findings: Findings, watched: WatchedModel, nats: Sequence[Tensor]) -> Findings:
        """Add violations at places of a run; `nats` are the run's -log p of its texts."""
        loaded, generator, estimates = self.loaded, np.random.default_rng(self.seed), []
        scores = nats if len(nats) == len(watched.streams) else [torch.cat(list(nats))]
        read = sum(map(len, nats))
        places, budget, checked = watched.places, self._budget(read), [0, 0]
        for number, place in enumerate(places):
            self.progress("check places", number, len(places))
            depth = min(place.token, loaded.reread)
            if (cost := CALLS_PER_PLACE * (PLACE_TOKENS + depth)) > budget:
                continue
            budget -= cost
            checked[place.is_random] += 1
            begin = place.token - (place.token - place.read) % PLACE_TOKENS
            tokens = watched.streams[place.stream][place.read : begin + PLACE_TOKENS].to(self.device)
            between, chunk = tokens.tensor_split([begin - place.read])
            trial = self._trial(
                Continued(loaded.model, place.state, between),
                chunk,
                len(loaded.vocabulary),
                generator,
                after=place.token - begin,
                summed=MAX_SUMMED_WORDS // (1 + depth),
                is_open=loaded.open_vocabulary,
            )
            expected = -scores[place.stream][begin : begin + PLACE_TOKENS].to(self.device)
            when = f"when they are scored again after {read:,} tokens"
            score_again = partial(_scores_as_in_run, trial, expected, when)
            article = f" of article {place.stream + 1}" if len(watched.streams) > 1 else ""
            invariants = TEXT_INVARIANTS if place.is_random else ("sum",)
            self._check(findings, trial, score_again, f", at token {place.token + 1:,}{article}", invariants)
            estimates += trial.estimates
        self.progress("check places", len(places), len(places))
        if estimates:
            findings.check("sum", lambda: [excess(estimates, f"at {len(estimates)} places on average")])
        counts = {"surest": checked[False], "places": checked[True], "certain": watched.certain}
        findings.tried = CheckedPlaces(seed=self.seed, unit="chunks", **counts)
        return findings

    def of_windows(self, watched: WatchedReader) -> Findings:
        """Return the violations in random windows of a run."""
        reader, generator, findings = watched.reader, np.random.default_rng(self.seed), Findings()
        target_pieces = dict.fromkeys(piece for _, window, _ in watched.sample for piece in window.targets)
        budget, checked_windows = max(MIN_BUDGET, MAX_COST_SHARE * watched.pieces), 0
        for number, window, nats in watched.sample:
            budget -= CALLS_PER_PLACE * len(window.inputs)
            if budget < 0 and checked_windows:
                break
            targets = window.targets[-PLACE_TOKENS:]
            inputs = window.inputs[: len(window.inputs) - len(targets) + 1]
            next_scores = reader.next_log_probs_of(inputs)
            pieces = list(target_pieces) if next_scores is None else list(range(len(next_scores)))
            index_of_piece = {piece: place for place, piece in enumerate(pieces)}
            trial = self._trial(
                WindowModel(reader, pieces, inputs),
                torch.tensor([index_of_piece[piece] for piece in targets]),
                len(pieces),
                generator,
                after=int(generator.integers(len(targets))),
                summed=MAX_SUMMED_WORDS // (1 + len(window.inputs)),
                is_open=next_scores is None,
            )
            tolerance = self.tolerance * max(1.0, len(window.targets) / PIECES_PER_TOLERANCE)
            score_again = partial(_window_as_in_run, reader, window, nats, tolerance)
            self._check(findings, trial, score_again, f", in window {number + 1}")
            checked_windows += 1
        findings.tried = CheckedPlaces(seed=self.seed, places=checked_windows, unit="windows")
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
        """Make a trial of a text, (time,), cut at random places.

        Probabilities are summed after `after` tokens, over at most `summed` words. If there are more words,
        half of the summed ones are sampled from the rest by Zipf's law, 1 / rank: a vocabulary has frequent
        words first.
        """
        length, words, drawn, chances = len(tokens), None, None, None
        if summed < size:
            half = summed // 2 if summed >= FREQUENT_WORDS else summed
            frequent = range(min(half, size))
            likely = dict.fromkeys(
                [int(tokens[after]), *frequent[:ALWAYS_SUMMED_WORDS], *tokens.tolist(), *frequent]
            )
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
            calls=CHUNK_CALLS,
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
        score_again: Callable[[], Iterable[str]],
        where: str,
        invariants: Iterable[str] = TEXT_INVARIANTS,
    ) -> None:
        with evaluating(self.loaded.model), torch.no_grad():
            findings.check("memory", score_again, where)
            for name in invariants:
                findings.check(name, partial(ALL_INVARIANTS[name], trial), where)
            findings.check("contract", partial(ALL_INVARIANTS["scores"], trial), where)


def _scores_as_in_run(trial: Trial, expected: Tensor, when: str) -> Iterator[str]:
    """Check that the scores of a text are those of the run."""
    yield trial.differ(trial.whole[0], expected, when)


def _window_as_in_run(reader: PieceModel, window: Window, nats: float, tolerance: float) -> Iterator[str]:
    """Check that the score of a window is that of the run."""
    (nats_alone,) = reader.window_nats([window])
    if not abs(nats_alone - nats) <= tolerance:
        yield f"{len(window.targets)} pieces need {nats:.6g} nats in the run, and {nats_alone:.6g} alone"


def _raised(error: Exception) -> str:
    """Describe what a model raised and where, in one line. Its code can be anyone's, so that is a finding.

    Raises:
        Exception: The error itself, if no invariant caused it: a program that died, or too little memory.
    """
    if isinstance(error, ToolkitError) or is_short_memory(error):
        raise error
    is_violation = isinstance(error, BrokenLawError)  # its message is complete
    text = (str(error) if is_violation else f"{type(error).__name__}: {error}").replace("\n", " ")[:300]
    return f"{text} ({place})" if (place := users_line(error)) else text


def raise_if_broken(findings: Mapping[str, str], hint: str = "", *, listed: bool = False) -> None:
    """Reject a model that violates an invariant, with the tracebacks of the user's code.

    Args:
        findings: What `check` returned.
        hint: Advice for the user.
        listed: True if the findings were already printed.

    Raises:
        HarnessError: The model violates an invariant.
    """
    broken = {invariant: violation for invariant, violation in findings.items() if violation}
    if not listed and broken.get("contract", "").partition(":")[0] in broken:
        del broken["contract"]  # the same violation, on random texts
    if broken:
        causes = "".join(CAUSES.get(invariant, "") for invariant in broken) + (f". {hint}" if hint else "")
        traces = "".join(f"\n{trace}" for trace in getattr(findings, "traces", ()))
        violated = f"the model violates {len(broken)} of {len(findings)} invariants"
        listing = "".join(f"; {name}: {violation}" for name, violation in broken.items())
        raise HarnessError(f"{violated}{'' if listed else listing}{causes}{traces}")
