"""Checks the invariants of language models, also of your own ones.

`LanguageModel` and `StreamModel` state them. Scores are compared with a tolerance in nats, which can be
smaller for a model in float64. An invariant is a function of a `Trial` that yields violations, and an entry
of a table at the end. The benchmarks check the same invariants on the text of a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import torch
from torch import Tensor, nn

from ps_models.language_model import LanguageModel, State, map_state, tensors_of

ROWS, LENGTH = 3, 12  # of the random texts
MAX_WORDS_PER_CALL: Final = 256  # that are scored as the next word
MAX_STATE_BYTES: Final = 2**28  # of their states, which are large with a cache
SUM_TOLERANCE: Final = 1e-3  # of sums of probabilities, which models of low precision compute in a high one
MAX_STANDARD_ERRORS: Final = 5  # of an estimated sum above 1; chance exceeds them once in 3 million times
COMPARED_WORDS: Final = 64  # words whose scores one by one are compared with those of `next_log_probs`
CAUSES: Final = {
    "sum": ". Usual causes: the model reads the word that it predicts, or its scores are of no log_softmax"
}
"""What to look for if a law is broken, after what was found."""


class BrokenLawError(AssertionError):
    """A model violates an invariant; the message says which, what was found and what was expected."""


@dataclass(kw_only=True)
class Trial:
    """A model, texts for it to read, and the ways in which checks vary them."""

    model: Any
    tokens: Tensor  # the texts, (rows, time)
    vocab_size: int  # their ids are below it
    tolerance: float  # nats that scores may differ by
    open_vocabulary: bool = False  # words outside the vocabulary also have probability
    sizes: Sequence[int] = (1, 5)  # of chunks
    calls: int = 64  # per size, at most: each reads all weights of the softmax
    times: Sequence[int] = range(1, LENGTH)  # from which on tokens change
    prefixes: Sequence[int] = (0, LENGTH)  # numbers of tokens before sums over words
    words: Tensor | None = None  # over which probabilities are summed; None: the whole vocabulary
    drawn: Tensor | None = None  # words drawn from the others, with replacement, to estimate their sum
    chances: Tensor | None = None  # of each of these words to be drawn
    texts: Sequence[Tensor] = ()  # read side by side; (): the rows of `tokens`
    estimates: list[tuple[float, float]] = field(default_factory=list)  # sums with their standard errors

    @cached_property
    def whole(self) -> Tensor:
        """The scores of the texts, each read at once, (rows, time)."""
        return self.scores(self.tokens)

    def call(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Call the model, and check that it returns a pair of scores and a state."""
        result = self.model(tokens, state)
        if not isinstance(result, (tuple, list)) or len(result) != 2 or not isinstance(result[0], Tensor):
            kinds = [type(item).__name__ for item in result] if isinstance(result, (tuple, list)) else []
            contents = f" of {', '.join(kinds)}" if kinds else ""
            raise BrokenLawError(
                f"a call returned a {type(result).__name__}{contents}; expected a"
                " tuple of the scores, a Tensor (batch, time), and the state after the last token"
            )
        scores, after = result
        return scores, after

    def scores(self, tokens: Tensor, chunk: int | None = None) -> Tensor:
        """Score texts, read in chunks, (rows, time)."""
        state, parts = self.model.initial_state(len(tokens)), []
        for part in torch.split(tokens, chunk or tokens.shape[1], dim=1):
            scores, state = self.call(part, state)
            parts.append(scores)
        return torch.cat(parts, dim=1)

    def after(self, prefix: Tensor) -> Any:  # noqa: ANN401 - each model has its own state
        """Return the state after a prefix of the texts."""
        state = self.model.initial_state(len(prefix))
        return self.call(prefix, state)[1] if prefix.shape[1] else state

    def next_scores(self, state: State, words: Tensor) -> Tensor:
        """Score each word as the next one after the state of a text, (words,)."""
        scores = []
        for part in torch.split(words, min(MAX_WORDS_PER_CALL, copies(state))):
            rows = map_state(lambda tensor: tensor.repeat_interleave(len(part), 0), state)  # noqa: B023
            scores.append(self.call(part[:, None], rows)[0][:, 0])
        return torch.cat(scores)

    def every_score(self, state: State) -> Tensor | None:
        """Return the scores of all words as the next one, if the model gives them in one call, else None."""
        try:
            scores: Tensor = self.model.next_log_probs(state)[0]
        except AttributeError as error:
            if error.name == "next_log_probs":  # the model lacks it, or a member of the mixture does
                return None
            raise
        shape, expected = tuple(scores.shape), (self.vocab_size,)
        if shape != expected and not self.open_vocabulary:  # or only some of its words are tried
            raise BrokenLawError(f"`next_log_probs` of one text has shape {shape}; expected {expected}")
        return scores if shape == expected else None

    def sum_breaks(self, scores: Tensor, after: int) -> str:
        """Return what is wrong with the sum of the probabilities of words; "" if nothing is."""
        total = float(scores.double().exp().sum())
        lowest = 1 if len(scores) == self.vocab_size and not self.open_vocabulary else 0
        if lowest - min(self.tolerance, SUM_TOLERANCE) <= total <= 1 + min(self.tolerance, SUM_TOLERANCE):
            return ""
        return f"the probabilities of {len(scores)} words sum to {total:.6f} after {after} tokens"

    def estimate(self, listed: Tensor, drawn: Tensor) -> tuple[float, float]:
        """The sum of the probabilities of all words without bias, and its standard error.

        The mean of p / q over the drawn words estimates the sum over all that could be drawn. The ratio is
        taken to vary by its mean or more, because a few words that were not drawn can be far from the others.
        """
        ratios = (drawn.double() - self.chances.log()).exp()  # type: ignore[union-attr] # words were drawn
        mean = float(ratios.mean())
        error = max(mean, float(ratios.std())) / len(ratios) ** 0.5
        return float(listed.double().exp().sum()) + mean, error

    def differ(self, found: Tensor, expected: Tensor, when: str) -> str:
        """Return how scores differ; "" if they do not."""
        if found.shape != expected.shape:
            return f"found shape {tuple(found.shape)}, expected {tuple(expected.shape)} {when}"
        differences = found.double() - expected.double()
        worst = float(differences.abs().max()) if found.numel() else 0.0
        return "" if worst <= self.tolerance else f"scores differ by up to {worst:.3g} nats {when}"


Law = Callable[[Trial], Iterator[str]]


def copies(state: object) -> int:
    """Return how many copies of a state fit into `MAX_STATE_BYTES`; at least one."""
    size = sum(tensor.numel() * tensor.element_size() for tensor in tensors_of(state))
    return max(1, MAX_STATE_BYTES // max(1, size))


def check_language_model(
    model: LanguageModel[State],
    vocab_size: int,
    *,
    open_vocabulary: bool = False,
    tolerance: float = 1e-4,
    seed: int = 1,
    device: torch.device | str = "cpu",
) -> None:
    """Check the invariants of `LanguageModel` on random texts.

    Args:
        model: A model in evaluation mode; in training mode dropout makes scores differ from call to call.
        vocab_size: The ids of the texts are below it.
        open_vocabulary: Words outside the vocabulary have probability too, so the others sum to less than 1.
        tolerance: How much scores may differ, in nats.
        seed: Seed of the random texts.
        device: Where the model is.

    Raises:
        BrokenLawError: The model violates an invariant.
    """
    trial = _random_texts(model, vocab_size, tolerance, seed, device)
    trial.open_vocabulary = open_vocabulary
    _raise_if_broken(LAWS, trial)


def check_trainable(
    model: LanguageModel[State],
    vocab_size: int,
    *,
    tolerance: float = 1e-4,
    seed: int = 1,
    device: torch.device | str = "cpu",
) -> None:
    """Check the training of a model on random texts: loss agrees with the scores, gradients are finite.

    The arguments are those of `check_language_model`; gradients are also computed in training mode.

    Raises:
        BrokenLawError: The model violates an invariant.
    """
    _raise_if_broken(TRAINING, _random_texts(model, vocab_size, tolerance, seed, device))


def _random_texts(
    model: object, vocab_size: int, tolerance: float, seed: int, device: torch.device | str
) -> Trial:
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(vocab_size, (ROWS, LENGTH), generator=generator).to(device)
    return Trial(model=model, tokens=tokens, vocab_size=vocab_size, tolerance=tolerance)


def _raise_if_broken(laws: Mapping[str, Law], trial: Trial) -> None:
    with torch.no_grad():
        for name, law in laws.items():
            for broken in filter(None, law(trial)):
                raise BrokenLawError(
                    f"{name}: {broken} (tolerance {trial.tolerance:g}){CAUSES.get(name, '')}"
                )


def state_law(trial: Trial) -> Iterator[str]:
    """The first dimension of each tensor of a state is the batch, at the start of texts and after tokens."""
    for rows in (2, 3):  # a single size could be the number of layers
        start = trial.model.initial_state(rows)
        yield _batch_first(start, rows, f"initial_state({rows}) returned")
        token = trial.tokens[:1, :1].repeat(rows, 1)
        yield _batch_first(trial.call(token, start)[1], rows, f"a call with {rows} texts returned")


def _batch_first(state: object, rows: int, call: str) -> str:
    """Return which tensor of a state has another shape; "" if none has."""
    try:
        map_state(lambda tensor: tensor, state)
    except TypeError as error:
        return f"{call} something else: {error}"
    for tensor in tensors_of(state):
        if tensor.shape[:1] != (rows,):
            return (
                f"{call} a tensor of shape {tuple(tensor.shape)}, expected ({rows}, …): the first dimension"
                " of each tensor of a state is the batch. If it is another one, as in torch.nn.GRU's (layers,"
                " batch, hidden), transpose(0, 1) the state before you return it, and again when you get it"
            )
    return ""


def _log_probabilities(trial: Trial) -> Iterator[str]:
    """Scores are finite log-probabilities, one for each token."""
    whole, shape = trial.whole, trial.tokens.shape
    if whole.shape != shape:
        yield f"found shape {tuple(whole.shape)}, expected {tuple(shape)}, one for each token"
    if not whole.isfinite().all():
        yield f"found {whole[~whole.isfinite()][0].item()}, expected finite numbers"
    if (highest := whole.max().item()) > trial.tolerance:
        yield f"found {highest}, expected log-probabilities, none above 0"


def _repeatable(trial: Trial) -> Iterator[str]:
    """The same tokens and state have exactly the same scores, and a call does not change the given state."""
    begin, end = trial.tokens[:, :5], trial.tokens[:, 5:]
    state = trial.after(begin)
    before = map_state(Tensor.clone, state)
    first, _ = trial.call(end, state)
    if not all(torch.equal(a, b) for a, b in zip(tensors_of(before), tensors_of(state), strict=True)):
        yield "tensors of the given state changed during a call, expected it unchanged; clone them"
    second, _ = trial.call(end, state)
    if not (torch.equal(first, second) and torch.equal(trial.scores(trial.tokens), trial.whole)):
        yield (
            "scores of the same tokens and state differ from call to call; a model with dropout must be in"
            " evaluation mode, and nothing may be remembered on the model"
        )


def chunks_law(trial: Trial) -> Iterator[str]:
    """Chunks of any size give the same scores."""
    for size in trial.sizes:
        end = size * trial.calls
        scores = trial.scores(trial.tokens[:, :end], size)
        yield trial.differ(scores, trial.whole[:, :end], f"in chunks of {size}")


def future_law(trial: Trial) -> Iterator[str]:
    """Later words do not change scores."""
    for time in trial.times:
        changed = trial.tokens.clone()
        changed[:, time:] = (changed[:, time:] + 1) % trial.vocab_size
        when = f"when words from token {time} on change"
        yield trial.differ(trial.scores(changed)[:, :time], trial.whole[:, :time], when)


def batch_law(trial: Trial) -> Iterator[str]:
    """A text scores the same alone and in a batch."""
    texts = trial.texts or list(trial.tokens)
    together = trial.scores(nn.utils.rnn.pad_sequence(list(texts), batch_first=True))
    for text, scores in zip(texts, together, strict=True):
        alone = trial.scores(text[None])[0]
        yield trial.differ(scores[: len(text)], alone, f"with {len(texts)} texts in a batch")


def sum_law(trial: Trial) -> Iterator[str]:
    """The probabilities of all words sum to one; with an open vocabulary, to at most one.

    The word that comes has the score that it has in the text. A model with `next_log_probs` gives all scores
    in one call; then only some words are also scored one by one.
    """
    device, size = trial.tokens.device, trial.vocab_size
    for length in trial.prefixes:
        prefix, comes = trial.tokens[:1, :length], trial.tokens[0, length : length + 1]
        state, after = trial.after(prefix), prefix.shape[1]
        every = trial.every_score(state)
        words = torch.arange(size, device=device) if trial.words is None else trial.words
        drawn = words[:0] if trial.drawn is None else trial.drawn
        if every is not None:
            order = torch.randperm(len(words), generator=torch.Generator().manual_seed(length))
            words, drawn = words[order[:COMPARED_WORDS].to(device)], drawn[:0]
        scores = trial.next_scores(state, torch.cat([comes, words, drawn]))
        alone, listed, others = torch.split(scores, [len(comes), len(words), len(drawn)])
        when = f"when the next word is scored alone after {after} tokens"
        yield trial.differ(alone, trial.whole[0, length : length + 1], when)
        if every is not None:
            yield trial.differ(
                every[torch.cat([comes, words])], scores, f"from `next_log_probs` after {after} tokens"
            )
        yield trial.sum_breaks(listed if every is None else every, after)
        if len(others):
            trial.estimates.append(trial.estimate(listed, others))
            yield excess(trial.estimates[-1:], f"after {after} tokens")


def excess(estimates: Sequence[tuple[float, float]], where: str) -> str:
    """What is wrong with the mean of independent estimates of sums; "" if chance explains it."""
    totals, errors = zip(*estimates, strict=True)
    total, error = sum(totals) / len(totals), sum(error**2 for error in errors) ** 0.5 / len(errors)
    if total <= 1 + SUM_TOLERANCE + MAX_STANDARD_ERRORS * error:
        return ""
    return f"the probabilities of all words sum to {total:.4f} {where}, estimated within {error:.1g}"


def memory_law(trial: Trial) -> Iterator[str]:
    """A text scores the same after other texts were scored."""
    first = trial.whole
    trial.scores(trial.tokens.flip(1))
    yield trial.differ(trial.scores(trial.tokens), first, "when the text is scored again")


def _loss(trial: Trial) -> Iterator[str]:
    """The loss of tokens is their nats, and returns the state after `advance` tokens."""
    model, tokens, scores = trial.model, trial.tokens, trial.whole
    for scored, advance in ((LENGTH, LENGTH), (1, 1), (4, 0), (5, 3)):
        nats, state = model.loss(tokens, model.initial_state(len(tokens)), scored=scored, advance=advance)
        yield trial.differ(nats, -scores[:, -scored:], f"in loss(scored={scored}) of the last tokens")
        rest = trial.call(tokens[:, advance:], state)[0] if advance < LENGTH else scores[:, LENGTH:]
        yield trial.differ(rest, scores[:, advance:], f"after loss(advance={advance})")


def _gradients(trial: Trial) -> Iterator[str]:
    """Gradients are finite, in training mode too."""
    model, tokens = trial.model, trial.tokens
    if not isinstance(model, nn.Module):
        raise TypeError(f"a trainable model is a torch module, but this is {type(model).__name__}")
    fresh = torch.arange(ROWS, device=tokens.device)[:, None] + torch.arange(LENGTH, device=tokens.device)
    texts = {
        "from the first token on": tokens[:, :1],
        "of a random text": tokens,
        "in which no word occurs twice": fresh % trial.vocab_size,
        "of one word only": torch.zeros_like(tokens),
    }
    was_training = model.training
    for training in (False, True):
        model.train(training)
        for where, text in texts.items():
            model.zero_grad()
            with torch.enable_grad():
                trial.model.loss(text, trial.model.initial_state(ROWS))[0].mean().backward()
            for name, parameter in model.named_parameters():
                if parameter.grad is not None and not parameter.grad.isfinite().all():
                    yield f"that of {name} is not finite {where}"
    model.zero_grad()
    model.train(was_training)


LAWS: Final[dict[str, Law]] = {
    "state": state_law,
    "scores": _log_probabilities,
    "repeats": _repeatable,
    "chunks": chunks_law,
    "future": future_law,
    "batch": batch_law,
    "sum": sum_law,
    "memory": memory_law,
}
TRAINING: Final[dict[str, Law]] = {"loss": _loss, "gradients": _gradients}
