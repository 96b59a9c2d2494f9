"""Text that a trained model generates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import torch

from ps_models.errors import ModelError
from ps_models.evaluation.generate import draw_words
from ps_models.experiment.load import Source, opened
from ps_models.language_model import Generative


def generate(
    model: Source,
    *,
    words: int = 100,
    prompt: str = "",
    temperature: float = 1.0,
    seed: int = 1,
    unknown: bool = True,
    device: str = "auto",
) -> Iterator[str]:
    """Draw words from a trained model, one after the other; `<eos>` ends a line.

    >>> import ps_models as pm
    >>> " ".join(pm.generate("runs/lstm", words=4, prompt="the cat"))  # doctest: +SKIP

    Args:
        model: A checkpoint, the folder of a run, or what `load` returned.
        words: How many words to draw.
        prompt: Tokens that come before, separated by spaces.
        temperature: 1: the probabilities of the model; lower: likely words even more often; 0: always the
            likeliest word.
        seed: The same seed gives the same words.
        unknown: Whether `<unk>` may be drawn.
        device: Where a checkpoint is loaded: auto, cpu, cuda or cuda:1.

    Raises:
        ModelError: The checkpoint is missing or damaged, or the temperature is not a number from 0 on.
    """
    if words < 0:
        raise ModelError(f"--words {words}: expected 0 or more")
    trained = opened(model, device)
    return draw_words(
        cast("Generative[Any]", trained.model),
        trained.vocabulary,
        generator=torch.Generator().manual_seed(seed),
        prompt=prompt.split(),
        words=words,
        temperature=temperature,
        unknown=unknown,
        device=trained.device,
    )
