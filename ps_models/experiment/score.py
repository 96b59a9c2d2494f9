"""How well a trained model predicts a text that is given in Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from ps_models.data.dataset import text_of_lines
from ps_models.errors import ModelError
from ps_models.evaluation.evaluate import token_nats
from ps_models.evaluation.score import Score
from ps_models.experiment.load import Source, opened
from ps_models.language_model import LanguageModel


@dataclass(frozen=True, kw_only=True)
class TextScore:
    """The log-probability of each token of a text.

    Attributes:
        tokens: As the model reads them: `<unk>` for words that are not in its vocabulary, `<eos>` at the end
            of each line.
        log_probs: Natural logarithms, one per token.
        score: Their sum; scores of disjoint texts add up.
    """

    tokens: tuple[str, ...]
    log_probs: tuple[float, ...]
    score: Score

    @property
    def perplexity(self) -> float:
        """The perplexity of the whole text."""
        return self.score.perplexity


def score(model: Source, text: str, *, device: str = "auto") -> TextScore:
    """Score a text with a trained model; nothing comes before its first token.

    >>> import ps_models as pm
    >>> found = pm.score("runs/lstm", "the cat sat")  # doctest: +SKIP
    >>> found.tokens, found.perplexity  # doctest: +SKIP

    Args:
        model: A checkpoint, the folder of a run, or what `load` returned.
        text: Tokens separated by spaces, in lines; `wikitext_builder.tokenize` makes tokens of raw text.
        device: Where a checkpoint is loaded: auto, cpu, cuda or cuda:1.

    Raises:
        ModelError: The text is empty, or the checkpoint is missing or damaged.
    """
    if not text.strip():
        raise ModelError("`text`: it has no tokens; expected words separated by spaces")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ModelError(f"`text`: {error}; expected text that UTF-8 can hold") from error
    trained = opened(model, device)
    lines = tuple(" ".join(line.split()) for line in text.removesuffix("\n").split("\n"))
    read = text_of_lines(lines, trained.vocabulary)
    ((_, nats),) = token_nats(cast("LanguageModel[Any]", trained.model), [read], device=trained.device)
    return TextScore(
        tokens=tuple(trained.vocabulary.decode(read.tokens.tolist())),
        log_probs=tuple((-nats).tolist()),
        score=Score(float(nats.sum()), len(nats), read.bytes),
    )
