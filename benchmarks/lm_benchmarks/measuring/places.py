"""Tries the laws of `LanguageModel` at random places of a whole run.

The beginning of a text proves little: a model can keep the laws there and break them later. `Watched` stands
between a run and its model and keeps a random sample of the calls. `try_places` then repeats them in other
ways: with no later word, in chunks of other sizes that start elsewhere, with other words later, and over the
whole vocabulary. Each repetition must give the scores of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor

from lm_benchmarks.measuring.trials import FEW, PLACES, Trials, budget_of
from lm_benchmarks.records.result import Tried
from ps_models.language_model import LanguageModel, map_state
from wikitext_builder.errors import ToolkitError
from wikitext_builder.progress import Progress, no_progress

STRETCH: Final = 32  # tokens that are scored again after a place
WHOLE: Final = 3  # sums over the whole vocabulary beyond the budget; one if it has more words than the budget
FEWEST: Final = 32  # words of such a sum, whatever that costs, if the model does not read again
SAMPLED: Final = 16  # words whose scores must be those of `next_log_probs`
GROUP: Final = 256  # words per call, or fewer:
STATE: Final = 2**28  # bytes of all their states, which are large with a cache

Model = LanguageModel[Any]
State = Any  # each model has its own
Findings = dict[str, str]  # by law, what breaks it


@dataclass(slots=True)
class _Call:
    """A call of the run, with the call that continues it if there is one."""

    depth: int  # tokens of the text before it
    tokens: Tensor  # (batch, time)
    state: State
    scores: Tensor  # (batch, time)
    first: int  # how many of the tokens are of the call itself


class Watched:
    """A model that scores as the one it stands for, and keeps a random sample of the calls.

    A call is kept with a probability that is proportional to its tokens, and to the inverse of what it costs
    to come back to it.
    """

    def __init__(self, model: Model, *, seed: int, reread: int = 0) -> None:
        """Watch a model.

        Args:
            model: Is called as it is.
            seed: Of the sample.
            reread: As in `LoadedModel`.
        """
        self.tokens = 0  # of all calls
        self._model = model
        self._generator = torch.Generator().manual_seed(seed)
        self._reread = reread
        self._kept: list[tuple[float, int, _Call]] = []
        self._calls = 0
        self._depth = 0
        self._most = PLACES
        self._last: tuple[Any, _Call | None] = (None, None)

    def initial_state(self, batch_size: int) -> State:
        """The start of `batch_size` texts."""
        self._depth = 0
        return self._model.initial_state(batch_size)

    def __call__(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Score tokens; see `LanguageModel`."""
        scores, after = self._model(tokens, state)
        before, call = self._last
        if call is not None and state is before:  # the sample also has what comes after a call
            call.tokens = torch.cat([call.tokens, tokens], dim=1)
            call.scores = torch.cat([call.scores, scores.detach()], dim=1)
        self._last = after, self._keep(_Call(self._depth, tokens, state, scores.detach(), tokens.shape[1]))
        self._calls += 1
        self.tokens += tokens.numel()
        self._depth += tokens.shape[1]
        return scores, after

    def calls(self) -> list[_Call]:
        """The sample, in random order."""
        return [call for _, _, call in sorted(self._kept, key=lambda kept: -kept[0])]

    def _keep(self, call: _Call) -> _Call | None:
        """Weighted reservoir sampling: the calls with the largest keys (Efraimidis and Spirakis 2006)."""
        self._most = min(self._most, max(1, STATE // max(1, bytes_of(call.state))))
        cost = 1 + min(call.depth, self._reread) / max(1, call.tokens.shape[1])
        key = float(torch.rand((), generator=self._generator)) ** (cost / max(1, call.tokens.numel()))
        entry = (key, self._calls, call)
        self._kept = sorted([*self._kept, entry], reverse=True, key=lambda kept: kept[:2])[: self._most]
        return call if any(kept is entry for kept in self._kept) else None


@dataclass(frozen=True, slots=True)
class _Place:
    """A place in one text of a call: tokens and scores (1, time) from the call's start, and its state."""

    depth: int  # tokens of the text before the call
    at: int  # tokens of the call before the place
    tokens: Tensor
    state: State
    scores: Tensor

    @property
    def token(self) -> int:
        """The tokens of the text before the place."""
        return self.depth + self.at


@dataclass(slots=True, kw_only=True)
class _Trials(Trials):
    """Trials of a model of words. The budget excludes `least_whole` sums over the whole vocabulary."""

    model: Model
    size: int  # of the vocabulary
    open_vocabulary: bool
    reread: int
    least_whole: int
    share: float  # of the budget, for a place

    def call(self, tokens: Tensor, state: State, depth: int) -> tuple[Tensor, State]:
        """Call the model, and count what it costs: some models read the text before the tokens again."""
        self.spent += tokens.numel() + len(tokens) * min(depth, self.reread)
        return self.model(tokens, state)

    def expect(self, law: str, found: Tensor, expected: Tensor, when: str) -> None:
        """Note a law as broken where scores differ."""
        worst = float((found.double() - expected.double()).abs().max()) if found.numel() else 0.0
        if not worst <= self.tolerance:
            self.note(law, f"scores differ by up to {worst:.3g} nats {when}")


def try_places(
    watched: Watched,
    model: Model,
    size: int,
    *,
    open_vocabulary: bool = False,
    reread: int = 0,
    tolerance: float = 1e-3,
    seed: int = 1,
    progress: Progress = no_progress,
) -> tuple[Findings, Tried]:
    """Try the laws at random places of a run.

    Args:
        watched: The model of the run.
        model: The model itself.
        size: Of its vocabulary.
        open_vocabulary: Its words may sum to less than one.
        reread: As in `LoadedModel`.
        tolerance: Nats that scores may differ by.
        seed: Of the places.
        progress: Receives the number of places.

    Returns:
        By law, what breaks it; and what was tried.
    """
    budget = budget_of(watched.tokens)
    trials = _Trials(
        model=model,
        size=size,
        open_vocabulary=open_vocabulary,
        reread=reread,
        tolerance=tolerance,
        budget=budget,
        least_whole=WHOLE if size <= budget else 1,
        share=budget / PLACES,
        seed=seed,
    )
    calls = watched.calls()
    for number in range(PLACES if calls else 0):
        progress("check places", number, PLACES)
        call = calls[number % len(calls)]
        least = 4 * (call.first + min(call.depth, reread))
        if trials.places and trials.spent + least > trials.budget:
            continue
        _try_place(trials, call)
    progress("check places", PLACES, PLACES)
    return trials.findings(), trials.tried(watched.tokens)


def _try_place(trials: _Trials, call: _Call) -> None:
    """Repeat a call of the run from a random place in it."""
    place = _place(trials, call)
    if place is None:
        return
    trials.places += 1
    trials.deepest = max(trials.deepest, place.token)
    tried: tuple[tuple[str, Callable[[_Trials, _Place, Any], None]], ...] = (
        ("sum", _sum_at),
        ("chunks", _stretch_at),
        ("future", _future_at),
    )
    state = place.state
    for law, trial in tried:
        try:
            if law == "sum" and place.at:
                _, state = trials.call(place.tokens[:, : place.at], state, place.depth)
            trial(trials, place, state)
        except ToolkitError:
            raise
        # A model can be anyone's code: what it raises here is a finding.
        except Exception as error:
            trials.note(law, f"{type(error).__name__}: {error}".replace("\n", " ")[:300])
            return


def _place(trials: _Trials, call: _Call) -> _Place | None:
    """A random place of a call; None if the row that was drawn is only the filling after a text's end."""
    row = trials.draw(len(call.tokens))
    tokens = call.tokens[row : row + 1]
    written = tokens[0].nonzero()  # texts that are shorter than their neighbours are filled with zeros
    end = int(written[-1]) + 1 if len(written) else 0
    at = trials.draw(min(end, call.first))
    if end == 0:
        return None
    stop = min(end, at + STRETCH)
    state = map_state(lambda tensor: tensor[row : row + 1], call.state)
    return _Place(call.depth, at, tokens[:, :stop], state, call.scores[row : row + 1, :stop])


def _sum_at(trials: _Trials, place: _Place, state: State) -> None:
    """The probabilities of all words sum to one, and the word of the text has the score of the run."""
    word = place.tokens[0, place.at]
    every = _next_log_probs(trials, state)
    if every is not None:
        count = 1 if trials.reread else SAMPLED
        words = torch.randint(trials.size, (count,), generator=trials.generator).to(word.device)
        words = torch.cat([word[None], words])
        scores = torch.cat(list(_scores_of(trials, place, state, words)))
        trials.expect("sum", every[words], scores, f"from `next_log_probs` after {place.token} tokens")
    else:
        words = _affordable(trials, place)
        scores = torch.cat(list(_scores_of(trials, place, state, words)))
        every = scores
    trials.expect(
        "chunks", scores[:1], place.scores[:, place.at], f"alone, at token {place.token} with no later word"
    )
    if len(every) == trials.size:
        trials.whole += 1
    else:
        trials.fewest = min(len(every), trials.fewest or len(every))
    total, tolerance = float(every.double().exp().sum()), trials.tolerance
    low = len(every) == trials.size and not trials.open_vocabulary
    if not total <= 1 + tolerance or (low and total < 1 - tolerance):
        trials.note(
            "sum", f"the probabilities of {len(every)} words sum to {total:.6f} after {place.token} tokens"
        )


def _next_log_probs(trials: _Trials, state: State) -> Tensor | None:
    """The scores of all words in one call, from a model that can give them."""
    if not hasattr(trials.model, "next_log_probs"):
        return None
    try:
        found: Tensor = trials.model.next_log_probs(state)[0]
    except AttributeError:  # a mixture with a member that cannot
        return None
    trials.spent += 1
    return found if found.shape == (trials.size,) else None


def _affordable(trials: _Trials, place: _Place) -> Tensor:
    """The words to sum over: the word of the text first; all if the budget allows, or if none were so far."""
    cost = 1 + min(place.token, trials.reread)
    left = trials.share - (place.at + 2 * len(place.tokens[0]))
    every = torch.arange(trials.size, device=place.tokens.device)
    word = place.tokens[0, place.at : place.at + 1]
    affordable = trials.size * cost <= max(left, FEW)
    if affordable or (trials.whole < trials.least_whole and not trials.reread):
        trials.budget += 0 if affordable else trials.size
        return torch.cat([word, every[every != word]])
    count = int(min(FEW, max(2 if trials.reread else FEWEST, left / cost)))
    near = torch.isin(every, place.tokens)  # what a cache finds likely; frequent words come first
    some = torch.cat([every[near][: count // 2], every[~near][:count]])
    return torch.cat([word, some[some != word]])[:count]


def _scores_of(trials: _Trials, place: _Place, state: State, words: Tensor) -> Iterator[Tensor]:
    """The score of each word as the next one, (words,), in groups."""
    group = min(GROUP, max(1, STATE // max(1, bytes_of(state))))
    for part in torch.split(words, group):
        rows = _repeated(state, len(part))
        scores, _ = trials.call(part[:, None], rows, place.token)
        yield scores[:, 0]


def _repeated(state: State, count: int) -> State:
    """The state of one text, for several copies of it."""
    return map_state(lambda tensor: tensor.repeat_interleave(count, 0), state)


def _stretch_at(trials: _Trials, place: _Place, state: State) -> None:
    """The tokens after the place have the scores of the run, in chunks of another size from another start."""
    tokens = place.tokens[:, place.at :]
    length = tokens.shape[1]
    small = max(1, length // 2) if trials.reread else 1
    size = small if trials.draw(2) else small + trials.draw(length)
    parts, depth = [], place.token
    for chunk in torch.split(tokens, size, dim=1):
        scores, state = trials.call(chunk, state, depth)
        parts.append(scores)
        depth += chunk.shape[1]
    found, expected = torch.cat(parts, dim=1), place.scores[:, place.at :]
    trials.expect("chunks", found, expected, f"from token {place.token} on in chunks of {size}")


def _future_at(trials: _Trials, place: _Place, _state: State) -> None:
    """Words after the place do not change the scores before it."""
    other = place.tokens.clone()
    end = other.shape[1]
    begin = min(place.at + 1, end - 1)
    shift = torch.randint(1, max(2, trials.size), (1, end - begin), generator=trials.generator)
    if trials.draw(2):
        shift[:, 1:] = 0  # only one word changes
    other[:, begin:] = (other[:, begin:] + shift.to(other.device)) % trials.size
    scores, _ = trials.call(other, place.state, place.depth)
    when = f"when words from token {place.depth + begin} on change"
    trials.expect("future", scores[:, :begin], place.scores[:, :begin], when)


def bytes_of(state: object) -> int:
    """The size of all tensors of a state."""
    sizes = []

    def note(tensor: Tensor) -> Tensor:
        sizes.append(tensor.numel() * tensor.element_size())
        return tensor

    map_state(note, state)
    return sum(sizes)
