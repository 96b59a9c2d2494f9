"""Looking inside checkpoints: how words are predicted, and where one model beats another."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import torch

from ps_models.data.dataset import read_stream, read_texts
from ps_models.errors import ModelError
from ps_models.evaluation.evaluate import read_up_to, token_nats
from ps_models.evaluation.score import Score
from ps_models.evaluation.signature import Signature
from ps_models.experiment import checkpoint_signature, load_model, open_data
from ps_models.explanation.frequency import Bucket, Pointing, compare_by_frequency, pointing
from ps_models.explanation.predictions import Prediction, predictions
from ps_models.language_model import LanguageModel
from wikitext_builder.dataset.load import load as load_dataset
from wikitext_builder.dataset.vocabulary import Vocabulary


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """A stretch of a text, how each of its words was predicted, and what decided that."""

    predictions: list[Prediction]
    vocabulary: Vocabulary
    signature: Signature

    @property
    def score(self) -> Score:
        """Of the stretch."""
        chances = (prediction.probability for prediction in self.predictions)
        nats = sum(-math.log(chance) if chance else math.inf for chance in chances)
        return Score(nats, len(self.predictions))


def explain_checkpoint(
    path: Path,
    data: Path,
    *,
    split: str = "valid",
    start: int = 0,
    words: int = 500,
    device: str = "auto",
) -> Explanation:
    """How a checkpoint predicts a stretch of a part of a dataset, all that comes before being read.

    Raises:
        ModelError: Either is missing, damaged, or not for the other; or the text is not that long.
    """
    model, checkpoint = load_model(path, device)
    dataset = open_data(data, checkpoint)
    stream = read_stream(dataset, split, checkpoint.vocabulary)
    if not 0 <= start < len(stream):
        raise ModelError(f"{split} has {len(stream)} tokens; expected a start below that, not {start}")
    chosen = next(model.parameters()).device
    state = read_up_to(model, stream[:start], chosen)
    found = predictions(model, stream[start : start + words], state, device=chosen)
    signature = checkpoint_signature(checkpoint, dataset, split, "carried", "fp32")
    return Explanation(predictions=list(found), vocabulary=checkpoint.vocabulary, signature=signature)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two models on one text, by word frequency; what the second one's pointer did, if it has one."""

    buckets: list[Bucket]
    pointer: Pointing | None
    scores: tuple[Score, Score]
    signatures: tuple[Signature, Signature]


def compare_checkpoints(
    first: Path,
    second: Path,
    data: Path,
    *,
    split: str = "test",
    number: int = 10,
    equal: str = "types",
    device: str = "auto",
) -> Comparison:
    """The paper's figure: how two checkpoints differ on words of each frequency.

    Raises:
        ModelError: One is missing, damaged, or not for the data.
    """
    nats, scores, signatures = [], [], []
    pointer = None
    _check_train(data)
    for path in (first, second):
        model, checkpoint = load_model(path, device)
        dataset = open_data(data, checkpoint)
        chosen = next(model.parameters()).device
        texts = list(read_texts(dataset, split, checkpoint.vocabulary))
        found = [part for _, part in token_nats(cast("LanguageModel[Any]", model), texts, device=chosen)]
        nats.append(torch.cat(found))
        scores.append(Score(float(nats[-1].sum()), len(nats[-1]), sum(text.bytes for text in texts)))
        signatures.append(checkpoint_signature(checkpoint, dataset, split, "carried", "fp32"))
        tokens = torch.cat([text.tokens for text in texts])
        pointer = pointing(model, tokens, device=chosen)
    train = read_stream(dataset, "train", checkpoint.vocabulary)
    counts = torch.bincount(train, minlength=len(checkpoint.vocabulary))
    gates = None if pointer is None else pointer.gates
    buckets = compare_by_frequency(tokens, nats[0], nats[1], counts, number=number, equal=equal, gates=gates)
    return Comparison(
        buckets=buckets,
        pointer=pointer,
        scores=(scores[0], scores[1]),
        signatures=(signatures[0], signatures[1]),
    )


def _check_train(data: Path) -> None:
    dataset = load_dataset(data)
    if dataset.layout == "file":
        raise ModelError(f"{data}: a single file; expected a folder with train too, whose words are counted")
    dataset.file("train")


def comparison_fields(comparison: Comparison) -> dict[str, Any]:
    """A comparison as JSON."""
    pointer = comparison.pointer
    return {
        "buckets": [asdict(bucket) for bucket in comparison.buckets],
        "perplexities": [score.perplexity for score in comparison.scores],
        "signatures": [str(signature) for signature in comparison.signatures],
        "attention_by_words_back": None if pointer is None else (pointer.back / len(pointer.gates)).tolist(),
        "of_it_on_the_right_word": None if pointer is None else (pointer.right / len(pointer.gates)).tolist(),
    }
