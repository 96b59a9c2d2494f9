"""The laws that every language model obeys; you can check your own models with them.

`LanguageModel` and `Trainable` state the laws. Scores are compared with a tolerance in nats; for a model in
float64 it can be smaller.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ps_models.language_model import Generative, LanguageModel, State, Trainable, map_state, tensors_of

ROWS, LENGTH = 3, 12  # of the texts for the checks
GROUP = 256  # rows per call when every word of the vocabulary is scored


class BrokenLawError(AssertionError):
    """A model broke a law; the message says which one, what was found and what was expected."""


def check_language_model(
    model: LanguageModel[State],
    vocab_size: int,
    *,
    open_vocabulary: bool = False,
    tolerance: float = 1e-4,
    seed: int = 1,
    device: torch.device | str = "cpu",
) -> None:
    """Check the laws of `LanguageModel` on random texts.

    Args:
        model: A model in evaluation mode; in training mode dropout makes scores differ from call to call.
        vocab_size: The ids of the texts are below it.
        open_vocabulary: Words outside the vocabulary have probability too; the others sum to less than 1.
        tolerance: How much scores may differ, in nats.
        seed: Of the random texts.
        device: Where the model is.

    Raises:
        BrokenLawError: A law is broken.
    """
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(vocab_size, (ROWS, LENGTH), generator=generator).to(device)
    with torch.no_grad():
        whole, _ = model(tokens, model.initial_state(ROWS))
        _scores_are_log_probabilities(whole, tokens, tolerance)
        _scores_repeat_and_leave_the_state_alone(model, tokens, whole)
        _chunks_do_not_matter(model, tokens, whole, tolerance)
        _future_does_not_matter(model, tokens, whole, vocab_size, tolerance)
        _rows_do_not_matter_to_each_other(model, tokens, whole, tolerance)
        for length in (0, LENGTH):
            _sums_to_one(model, tokens[:1, :length], vocab_size, open_vocabulary, tolerance)


def check_trainable(
    model: Trainable[State],
    vocab_size: int,
    *,
    tolerance: float = 1e-4,
    seed: int = 1,
    device: torch.device | str = "cpu",
) -> None:
    """Check the laws of `Trainable` on random texts: the loss agrees with the scores, gradients are finite.

    Args:
        model: A module in evaluation mode; gradients are also computed in training mode.
        vocab_size: The ids of the texts are below it; at least 2.
        tolerance: How much scores may differ, in nats.
        seed: Of the random texts.
        device: Where the model is.

    Raises:
        BrokenLawError: A law is broken.
    """
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(vocab_size, (ROWS, LENGTH), generator=generator).to(device)
    with torch.no_grad():
        _loss_agrees_with_scores(model, tokens, tolerance)
    _gradients_are_finite(model, tokens, vocab_size)


def check_generative(
    model: Generative[State],
    vocab_size: int,
    *,
    tolerance: float = 1e-4,
    seed: int = 1,
    device: torch.device | str = "cpu",
) -> None:
    """Check that `next_log_probs` are the scores of all words.

    Raises:
        BrokenLawError: They are not.
    """
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(vocab_size, (1, LENGTH), generator=generator).to(device)
    with torch.no_grad():
        for length in (0, LENGTH):
            prefix = tokens[:, :length]
            state = _after(model, prefix)
            _expect_close(
                "next_log_probs are the scores of all words",
                model.next_log_probs(state)[0],
                _all_words(model, prefix, vocab_size),
                tolerance,
            )


def _scores_are_log_probabilities(whole: Tensor, tokens: Tensor, tolerance: float) -> None:
    law = "scores are log-probabilities, one for each token"
    if whole.shape != tokens.shape:
        raise BrokenLawError(f"{law}: found shape {tuple(whole.shape)}, expected {tuple(tokens.shape)}")
    if not whole.isfinite().all():
        raise BrokenLawError(f"{law}: found {whole[~whole.isfinite()][0].item()}, expected finite numbers")
    if (highest := whole.max().item()) > tolerance:
        raise BrokenLawError(f"{law}: found {highest}, expected none above 0")


def _scores_repeat_and_leave_the_state_alone(
    model: LanguageModel[State], tokens: Tensor, whole: Tensor
) -> None:
    _, state = model(tokens[:, :5], model.initial_state(ROWS))
    before = map_state(Tensor.clone, state)
    first, _ = model(tokens[:, 5:], state)
    if not all(torch.equal(a, b) for a, b in zip(tensors_of(before), tensors_of(state), strict=True)):
        raise BrokenLawError("the given state is unchanged: its tensors changed during a call; clone them")
    second, _ = model(tokens[:, 5:], state)
    again, _ = model(tokens, model.initial_state(ROWS))
    if not (torch.equal(first, second) and torch.equal(again, whole)):
        raise BrokenLawError(
            "the same tokens and state have the same scores: they differ from call to call; "
            "a model with dropout must be in evaluation mode, and nothing may be remembered on the model"
        )


def _chunks_do_not_matter(
    model: LanguageModel[State], tokens: Tensor, whole: Tensor, tolerance: float
) -> None:
    for size in (1, 5):
        state, parts = model.initial_state(ROWS), []
        for chunk in torch.split(tokens, size, dim=1):
            scores, state = model(chunk, state)
            parts.append(scores)
        _expect_close(f"chunks of {size} score as the whole", torch.cat(parts, dim=1), whole, tolerance)


def _future_does_not_matter(
    model: LanguageModel[State], tokens: Tensor, whole: Tensor, vocab_size: int, tolerance: float
) -> None:
    for time in range(1, LENGTH):
        other = tokens.clone()
        other[:, time:] = (other[:, time:] + 1) % vocab_size
        scores, _ = model(other, model.initial_state(ROWS))
        law = f"tokens from {time} on do not change the scores before them"
        _expect_close(law, scores[:, :time], whole[:, :time], tolerance)


def _rows_do_not_matter_to_each_other(
    model: LanguageModel[State], tokens: Tensor, whole: Tensor, tolerance: float
) -> None:
    for row in range(ROWS):
        scores, _ = model(tokens[row : row + 1], model.initial_state(1))
        _expect_close("a text alone scores as in a batch", scores, whole[row : row + 1], tolerance)


def _sums_to_one(
    model: LanguageModel[State], prefix: Tensor, vocab_size: int, open_vocabulary: bool, tolerance: float
) -> None:
    total = _all_words(model, prefix, vocab_size).double().exp().sum().item()
    if total > 1 + tolerance or (not open_vocabulary and total < 1 - tolerance):
        raise BrokenLawError(
            f"probabilities sum to one: those of all {vocab_size} words after {prefix.shape[1]} tokens "
            f"sum to {total:.6f}"
        )


def _loss_agrees_with_scores(model: Trainable[State], tokens: Tensor, tolerance: float) -> None:
    scores, _ = model(tokens, model.initial_state(ROWS))
    for scored, advance in ((LENGTH, LENGTH), (1, 1), (4, 0), (5, 3)):
        nats, state = model.loss(tokens, model.initial_state(ROWS), scored=scored, advance=advance)
        law = f"loss(scored={scored}) are the nats of the last tokens"
        _expect_close(law, nats, -scores[:, -scored:], tolerance)
        rest, _ = model(tokens[:, advance:], state) if advance < LENGTH else (scores[:, LENGTH:], state)
        law = f"loss(advance={advance}) continues from there"
        _expect_close(law, rest, scores[:, advance:], tolerance)


def _gradients_are_finite(trainable: Trainable[State], tokens: Tensor, vocab_size: int) -> None:
    if not isinstance(trainable, nn.Module):
        raise TypeError(f"a trainable model is a torch module, but this is {type(trainable).__name__}")
    model: Any = trainable
    was_training = model.training
    fresh = torch.arange(ROWS, device=tokens.device)[:, None] + torch.arange(LENGTH, device=tokens.device)
    texts = {
        "from the first token on": tokens[:, :1],
        "of a random text": tokens,
        "in which no word occurs twice": fresh % vocab_size,
        "of one word only": torch.zeros_like(tokens),
    }
    for training in (False, True):
        model.train(training)
        for where, text in texts.items():
            model.zero_grad()
            model.loss(text, model.initial_state(ROWS))[0].mean().backward()
            for name, parameter in model.named_parameters():
                if parameter.grad is not None and not parameter.grad.isfinite().all():
                    raise BrokenLawError(f"gradients are finite {where}: that of {name} is not")
    model.zero_grad()
    model.train(was_training)


def _all_words(model: LanguageModel[State], prefix: Tensor, vocab_size: int) -> Tensor:
    """The score of each word of the vocabulary after the prefix."""
    parts = []
    for words in torch.split(torch.arange(vocab_size, device=prefix.device), GROUP):
        state = _after(model, prefix.expand(len(words), -1))
        scores, _ = model(words[:, None], state)
        parts.append(scores[:, 0])
    return torch.cat(parts)


def _after(model: LanguageModel[State], prefix: Tensor) -> State:
    state = model.initial_state(len(prefix))
    return model(prefix, state)[1] if prefix.shape[1] else state


def _expect_close(law: str, found: Tensor, expected: Tensor, tolerance: float) -> None:
    if found.shape != expected.shape:
        raise BrokenLawError(f"{law}: found shape {tuple(found.shape)}, expected {tuple(expected.shape)}")
    if found.numel() and not ((worst := (found - expected).abs().max().item()) <= tolerance):
        raise BrokenLawError(f"{law}: they differ by up to {worst:.3g} nats, more than {tolerance:g}")
