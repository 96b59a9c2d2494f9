"""Spot-checks the invariants of `LanguageModel` on the text that a model is measured on.

A model violates them if it looks at later words, if its probabilities sum to more than one, if it remembers
earlier calls, or if its scores change with chunks and batches. Its perplexity is then meaningless, and often
good. `ps_models.invariants` defines them. Checking them on the beginning of the text proves little, because a
model can break them later. So `Watched` keeps a random sample of the calls of the whole run, and
`Checks.of_places` repeats them in other ways. `run_samples` does the same for subword models.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

from lm_benchmarks.choices import BEGINNING, CHECKED, CHUNK, EXACT
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.measuring.loaded_model import LoadedModel, users_line, users_trace
from lm_benchmarks.measuring.models import make_inputs, open_model
from lm_benchmarks.measuring.passages import read_passages
from lm_benchmarks.measuring.run_samples import FEW, PLACES, Call, Trials, Watched
from lm_benchmarks.records import Tried
from ps_models.data.dataset import Text
from ps_models.devices import autocast
from ps_models.evaluation.evaluate import evaluating, token_nats
from ps_models.invariants import LAWS as INVARIANTS
from ps_models.invariants import BrokenLawError as BrokenLaw
from ps_models.invariants import Law, Trial, check_language_model, chunks_law, future_law, state_law
from ps_models.language_model import map_state
from wikitext_builder.errors import ToolkitError, is_short_memory
from wikitext_builder.progress import Progress, no_progress

PREFIX: Final = 20  # tokens before the word over which probabilities are summed
EXACT_TOLERANCE: Final = 1e-3  # nats that scores may differ by in a high precision,
TOLERANCES: Final = {"fp32": EXACT_TOLERANCE, "tf32": 1e-2, "bf16": 1e-1}  # and at most, by precision
MARGIN: Final = 10.0  # the largest of thousands of differences, against the root mean square of the rounding
STRETCH: Final = 32  # tokens that are scored again after a place,
CALLS: Final = 4  # in so many calls at most
STEP: Final = CHUNK // 2  # tokens per call of a reading for the laws alone: a place costs those before it
WHOLE: Final = 3  # sums over the whole vocabulary beyond the budget; one if it has more words than the budget
FEWEST: Final = 32  # words of such a sum, whatever that costs, if the model does not read again
SAMPLED: Final = 16  # words whose scores must be those of `next_log_probs`


class Findings(dict[str, str]):
    """What violates each invariant; "" if nothing does."""

    def __init__(self, beginning: Tensor, tolerance: float) -> None:
        super().__init__()
        self.beginning = beginning  # tokens at the start of the text that all laws are tried on, (1, time)
        self.first: Tensor | None = None  # their scores by the model as it was opened; None: an error
        self.tolerance = tolerance  # nats that scores may differ by
        self.tried: Tried | None = None  # where else the laws were tried
        self.traces: tuple[str, ...] = ()  # tracebacks of exceptions in code of the user's


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
        progress: Called with the name of each invariant, then with the share of the text and the places done.
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
    stream = torch.cat([passage.text.tokens for passage in passages])[:tokens]
    return Checks(loaded, device=inputs.device, seed=inputs.seed, progress=progress).of_text(stream)


@dataclass(frozen=True)
class Checks:
    """Checks the invariants of a loaded model."""

    loaded: LoadedModel
    _: KW_ONLY
    device: torch.device | str = "cpu"
    precision: str = "fp32"
    seed: int = 1  # of the places
    progress: Progress = no_progress

    @property
    def largest_tolerance(self) -> float:
        """Nats that scores may differ by, at most: more if the model's own numbers are not in float32."""
        return TOLERANCES[self.precision] if self._has_exact_weights else max(TOLERANCES.values())

    @property
    def _has_exact_weights(self) -> bool:
        return self.loaded.facts.get("dtype", "float32") in EXACT

    def of_fresh(self, stream: Tensor) -> Findings:
        """Score the beginning of a text, (time,), before anything else, and measure what rounding does.

        Whoever looks ahead does so in any precision, so what a model gives in fp32 shows the rounding alone.
        Weights of a low precision have no such twin: then the largest tolerance holds.
        """
        findings = Findings(stream[None, :BEGINNING].to(self.device), EXACT_TOLERANCE)
        trial = self._trial(findings)
        with evaluating(self.loaded.model), torch.no_grad():
            try:
                findings.first = trial.whole
                if not self._has_exact_weights:
                    findings.tolerance = self.largest_tolerance
                elif self.precision != "fp32":
                    with autocast(torch.device(self.device), "fp32"):
                        rounding = (trial.scores(trial.tokens) - trial.whole).double().pow(2).mean().sqrt()
                    measured = max(EXACT_TOLERANCE, MARGIN * float(rounding))
                    findings.tolerance = min(self.largest_tolerance, measured)
            except Exception as error:
                _raised(error)  # if the model is the cause, the laws find it again
        return findings

    def _trial(self, findings: Findings) -> Trial:
        """A trial of the beginning, read whole."""
        return Trial(
            model=self.loaded.model,
            tokens=findings.beginning,
            vocab_size=len(self.loaded.vocabulary),
            tolerance=findings.tolerance,
            open_vocabulary=self.loaded.open_vocabulary,
        )

    def watched(self) -> Watched:
        """The model, which keeps a sample of its calls."""
        return Watched(self.loaded.model, seed=self.seed, reread=self.loaded.reread)

    def of_text(self, stream: Tensor) -> Findings:
        """Check the beginning of a text, (time,), and if nothing is found, random places of it."""
        findings, watched = self.of_beginning(self.of_fresh(stream)), self.watched()
        if any(findings.values()):
            return findings
        texts = [Text(part, 0) for part in torch.split(stream, STEP)]
        try:
            with evaluating(self.loaded.model):
                for done, _ in enumerate(token_nats(watched, texts, device=self.device), start=1):
                    self.progress("read", min(done * STEP, len(stream)), len(stream), "")
        except Exception as error:
            findings["contract"] = _raised(error)
            findings.traces = _distinct((users_trace(error),))
            return findings
        return self.of_places(watched, findings)

    def of_beginning(self, findings: Findings) -> Findings:
        """Add violations on the beginning to findings."""
        errors, traces, size = dict[str, str](), list[str](), len(self.loaded.vocabulary)
        text = findings.beginning[0]
        for number, (name, law) in enumerate(LAWS.items()):
            self.progress("check", number, len(LAWS), name)
            trial = self._trial(findings)
            trial.sizes = (1, 7, 64)
            trial.times = sorted({1, 2, len(text) // 2, len(text) - 1})
            trial.prefixes = (0, PREFIX)
            trial.summed = min(size, FEW) if trial.open_vocabulary else size
            trial.texts = torch.split(text, 50)
            with evaluating(self.loaded.model), torch.no_grad():
                try:
                    findings[name] = next(filter(None, law(trial)), "")
                except Exception as error:
                    raised = _raised(error)
                    findings[name] = f"fails as in {errors[raised]}" if raised in errors else raised
                    if raised not in errors:
                        traces.append(users_trace(error))
                    errors.setdefault(raised, name)
        self.progress("check", len(LAWS), len(LAWS), "")
        findings.traces = _distinct(traces)
        return findings

    def of_places(self, watched: Watched, findings: Findings) -> Findings:
        """Add violations at random places of a watched run to findings."""
        loaded, calls = self.loaded, watched.calls()
        trials = Trials(run=watched.tokens, seed=self.seed, tolerance=findings.tolerance)
        with evaluating(loaded.model), torch.no_grad():
            for number in range(PLACES if calls else 0):
                self.progress("check places", number, PLACES)
                call = calls[number % len(calls)]
                if trials.can_afford(4 * (call.first + min(call.depth, loaded.reread))):
                    _try_place(trials, loaded, call)
        self.progress("check places", PLACES, PLACES)
        found = trials.findings()
        for law, broken in findings.items():
            findings[law] = broken or found.get(law, "")
        findings["memory"] = findings["memory"] or self._remembered(findings, watched.tokens)
        inexact = self.largest_tolerance > EXACT_TOLERANCE
        findings.traces = _distinct((*findings.traces, *trials.traces))
        findings.tried = trials.tried(tolerance=findings.tolerance if inexact else None)
        return findings

    def _remembered(self, findings: Findings, read: int) -> str:
        """How scores of the beginning differ, after a run, from those of the model as it was opened."""
        trial = self._trial(findings)
        with evaluating(self.loaded.model), torch.no_grad():
            try:
                when = f"when the text is scored again after {read:,} tokens"
                return "" if findings.first is None else trial.differ(trial.whole, findings.first, when)
            except Exception as error:
                return _raised(error)


def _try_place(trials: Trials, loaded: LoadedModel, call: Call) -> None:
    """Repeat a call of the run from a random place in it."""
    row = trials.draw(len(call.tokens))
    tokens = call.tokens[row : row + 1]
    written = tokens[0].nonzero()  # texts that are shorter than their neighbours are filled with zeros
    end = int(written[-1]) + 1 if len(written) else 0
    at = trials.draw(min(end, call.first))
    if end == 0:
        return
    stop = min(end, at + STRETCH)
    begin = Trial(
        model=loaded.model,
        tokens=tokens[:, :stop],
        vocab_size=len(loaded.vocabulary),
        tolerance=trials.tolerance,
        open_vocabulary=loaded.open_vocabulary,
        state=map_state(lambda tensor: tensor[row : row + 1], call.state),
        known=call.scores[row : row + 1, :stop],
        depth=call.depth,
        reread=loaded.reread,
    )
    trials.begin_place()
    trials.deepest = max(trials.deepest, call.depth + at)
    place, law = begin, "sum"
    try:
        state = begin.after(tokens[:, :at])
        place = replace(
            begin,
            tokens=tokens[:, at:stop],
            state=state,
            known=call.scores[row : row + 1, at:stop],
            depth=call.depth + at,
            spent=0,
            texts=[tokens[:, :stop]],
        )
        _try_sum(trials, place, at)
        law = "chunks"
        length = place.tokens.shape[1]
        small = max(1, length // 2) if place.reread else 1  # tokens per chunk, in every second case
        size = small if trials.draw(2) else small + trials.draw(length)
        place.sizes, place.calls = (size,), CALLS
        place.moved.clear()
        trials.note(law, *chunks_law(place))
        trials.move(law, *place.moved)
        law = "future"
        begin.changed = _drawn_change(trials, begin, at)
        trials.note(law, *future_law(begin))
        trials.move(law, *begin.moved)
    except Exception as error:
        trials.note(law, _raised(error))
        trials.traces[users_trace(error)] = None
    trials.spent += begin.spent + (place.spent if place is not begin else 0)


def _raised(error: Exception) -> str:
    """What a model raised and where, in one line: it can be anyone's code, so that is a finding.

    Raises:
        Exception: The error itself, if no law is the cause: a program that died, or too little memory.
    """
    if isinstance(error, ToolkitError) or is_short_memory(error):
        raise error
    broken = isinstance(error, BrokenLaw)  # its message says all
    said = (str(error) if broken else f"{type(error).__name__}: {error}").replace("\n", " ")[:300]
    return f"{said} ({place})" if (place := users_line(error)) else said


def _distinct(traces: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, traces)))


def _try_sum(trials: Trials, place: Trial, at: int) -> None:
    """The probabilities of all words sum to one, and the word of the text has the score of the run."""
    word = place.tokens[0, 0]
    every = place.every_score(place.state)
    if every is not None:
        count = 1 if place.reread else SAMPLED
        words = torch.randint(place.vocab_size, (count,), generator=trials.generator).to(word.device)
        words = torch.cat([word[None], words])
        scores = place.next_scores(place.state, words)
        trials.note(
            "sum", place.differ(every[words], scores, f"from `next_log_probs` after {place.depth} tokens")
        )
    else:
        every = scores = place.next_scores(place.state, _affordable(trials, place, at))
    when = f"alone, at token {place.depth} with no later word"
    trials.note("chunks", place.differ(scores[:1], place.whole[:, 0], when))
    broken = place.sum_breaks(every, place.depth)
    trials.note_sum(len(every), whole=len(every) == place.vocab_size, broken=broken)


def _affordable(trials: Trials, place: Trial, at: int) -> Tensor:
    """The words to sum over: the word of the text first; all if the budget allows, or if none were so far."""
    size, reread = place.vocab_size, place.reread
    cost = 1 + min(place.depth, reread)
    left = trials.limit / PLACES - (3 * at + 2 * place.tokens.shape[1])
    every = torch.arange(size, device=place.tokens.device)
    word = place.tokens[0, :1]
    affordable = size * cost <= max(left, FEW)
    if affordable or (trials.whole < (WHOLE if size <= trials.limit else 1) and not reread):
        trials.budget += 0 if affordable else size
        return torch.cat([word, every[every != word]])
    count = int(min(FEW, max(2 if reread else FEWEST, left / cost)))
    near = torch.isin(every, place.texts[0])  # what a cache finds likely; frequent words come first
    some = torch.cat([every[near][: count // 2], every[~near][:count]])
    return torch.cat([word, some[some != word]])[:count]


def _drawn_change(trials: Trials, begin: Trial, at: int) -> tuple[Tensor, int]:
    """Other words after a place, or another word."""
    other = begin.tokens.clone()
    end = other.shape[1]
    time = min(at + 1, end - 1)
    shift = torch.randint(1, max(2, begin.vocab_size), (1, end - time), generator=trials.generator)
    if trials.draw(2):
        shift[:, 1:] = 0  # only one word changes
    other[:, time:] = (other[:, time:] + shift.to(other.device)) % begin.vocab_size
    return other, time


def _contract(trial: Trial) -> Iterator[str]:
    """All invariants, on random texts of frequent words; another entry checks the sums over all words."""
    if other := next(filter(None, state_law(trial)), ""):
        raise HarnessError(f"state: {other}. docs/own-model.md shows a GRU")
    check_language_model(
        trial.model,
        min(trial.vocab_size, FEW),
        open_vocabulary=True,
        tolerance=trial.tolerance,
        device=trial.tokens.device,
    )
    yield ""


LAWS: Final[dict[str, Law]] = {
    "contract": _contract,
    **{name: INVARIANTS[name] for name in ("sum", "chunks", "batch", "future", "memory")},
}


def raise_if_broken(findings: Mapping[str, str], hint: str = "", *, listed: bool = False) -> None:
    """Refuse a model that violates an invariant, with the tracebacks of the user's own code.

    Args:
        findings: What `check` returned.
        hint: What the user can do.
        listed: The user has read the findings already.

    Raises:
        HarnessError: The model violates an invariant.
    """
    if broken := [f"; {law}: {found}" for law, found in findings.items() if found]:
        end = f". {hint}" if hint else ""
        traces = "".join(f"\n{trace}" for trace in getattr(findings, "traces", ()))
        violated = f"the model violates {len(broken)} of {len(findings)} invariants"
        raise HarnessError(f"{violated}{'' if listed else ''.join(broken)}{end}{traces}")
