"""Text that a model generates, one word at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import torch

from ps_models.errors import ModelError
from ps_models.evaluation.evaluate import each_evaluating
from ps_models.language_model import Generative, State
from wikitext_builder.dataset.vocabulary import UNK, Vocabulary


def draw_words(
    model: Generative[State],
    vocabulary: Vocabulary,
    *,
    generator: torch.Generator,
    prompt: Sequence[str] = (),
    words: int = 100,
    temperature: float = 1.0,
    unknown: bool = True,
    device: torch.device | str = "cpu",
) -> Iterator[str]:
    """Draw words one after the other, each from the model's probabilities of the next word.

    Args:
        model: The model.
        vocabulary: Its words.
        generator: Draws on the CPU: the same seed gives the same words.
        prompt: Tokens that come before.
        words: How many words to draw.
        temperature: 1: the probabilities of the model; lower: likely words even more often; 0: always the
            likeliest word.
        unknown: Whether `<unk>` may be drawn.
        device: Where the model is.

    Raises:
        ModelError: The temperature is negative, infinite or not a number; or the model's probabilities are.
    """
    if not 0 <= temperature < math.inf:
        raise ModelError(f"--temperature {temperature}: expected 0 or more, and finite")

    def drawn() -> Iterator[str]:
        with torch.no_grad():
            state = model.initial_state(1)
            if prompt:
                _, state = model(torch.tensor([vocabulary.encode(prompt)], device=device), state)
        for _ in range(words):
            with torch.no_grad():  # not around `yield`: the caller may train
                log_probs = model.next_log_probs(state)[0].double().cpu()
                if not unknown and UNK in vocabulary:
                    log_probs[vocabulary.ids[UNK]] = -torch.inf
                word = _draw(log_probs, temperature, generator)
                _, state = model(torch.tensor([[word]], device=device), state)
            yield vocabulary.tokens[word]

    yield from each_evaluating(model, drawn())


def _draw(log_probs: torch.Tensor, temperature: float, generator: torch.Generator) -> int:
    if log_probs.isnan().any():
        raise ModelError("the model's probabilities are not numbers; its weights are damaged")
    if temperature == 0:
        return int(log_probs.argmax())
    below = log_probs - log_probs.max()  # otherwise a low temperature makes all of them infinite
    return int(torch.multinomial((below / temperature).softmax(dim=-1), 1, generator=generator))
