"""How trained models predict a text: word by word, and two models compared by word frequency."""

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
from ps_models.experiment.evaluate import checkpoint_signature
from ps_models.experiment.load import Source, open_data, opened
from ps_models.explanation.figure import FORMATS as PICTURES
from ps_models.explanation.figure import save_picture
from ps_models.explanation.frequency import Bucket, Pointing, compare_by_frequency, pointing, save_figure
from ps_models.explanation.page import page
from ps_models.explanation.predictions import Prediction, predictions
from ps_models.language_model import LanguageModel
from wikitext_builder.dataset.load import FILE
from wikitext_builder.dataset.load import load as load_dataset
from wikitext_builder.dataset.vocabulary import Vocabulary

PAGES = (".html", ".htm")


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """How each word of a stretch of text was predicted, and the signature: all that decides it."""

    data: str  # the name of the dataset
    split: str
    start: int  # the first token, counted from 0
    predictions: list[Prediction]
    vocabulary: Vocabulary
    signature: Signature

    @property
    def score(self) -> Score:
        """The score of the stretch."""
        chances = (prediction.probability for prediction in self.predictions)
        nats = sum(-math.log(chance) if chance else math.inf for chance in chances)
        return Score(nats, len(self.predictions))

    def save(self, path: str | Path) -> None:
        """Write a page to browse (.html), or a picture of the first prediction (.png, .svg, .pdf).

        Raises:
            ModelError: The path has another ending.
        """
        path = Path(path)
        _check_ending(path)
        if path.suffix.lower() in PICTURES:
            save_picture(path, self.predictions[0], self.vocabulary)
            return
        title = f"{self.signature['model']} on {self.data}, {self.split}"
        summary = (
            f"{len(self.predictions)} words from number {self.start}, perplexity {self.score.perplexity:.1f}"
        )
        text = page(title, f"{summary}. {self.signature}", self.predictions, self.vocabulary)
        path.write_text(text, encoding="utf-8")


def explain(
    model: Source,
    data: str | Path,
    *,
    out: str | Path | None = None,
    split: str = "valid",
    start: int = 0,
    words: int = 500,
    device: str = "auto",
) -> Explanation:
    """Show how a trained model predicts each word of a stretch of text.

    >>> import ps_models as pm
    >>> found = pm.explain("runs/pointer", "data/wikitext-2", out="page.html")  # doctest: +SKIP
    >>> found.predictions[0].gate  # doctest: +SKIP

    Args:
        model: A checkpoint, the folder of a run, or what `load` returned.
        data: The dataset.
        out: Also write a page or a picture there; see `Explanation.save`.
        split: train, valid or test.
        start: The first token of the split, counted from 0; the model reads all tokens before it.
        words: How many words.
        device: Where a checkpoint is loaded: auto, cpu, cuda or cuda:1.

    Raises:
        ModelError: The checkpoint is missing, damaged or not for the data; the text is shorter than `start`;
            `out` has an unknown ending.
    """
    if out is not None:
        _check_ending(Path(out))
    trained = opened(model, device)
    dataset = open_data(data, trained.checkpoint)
    stream = read_stream(dataset, split, trained.vocabulary)
    if not 0 <= start < len(stream):
        raise ModelError(f"`start={start}`: {split} has {len(stream)} tokens; expected a start below that")
    state = read_up_to(trained.model, stream[:start], trained.device)
    found = Explanation(
        data=dataset.name,
        split=split,
        start=start,
        predictions=list(
            predictions(trained.model, stream[start : start + words], state, device=trained.device)
        ),
        vocabulary=trained.vocabulary,
        signature=checkpoint_signature(trained.checkpoint, dataset, split, "carried", "fp32"),
    )
    if out is not None:
        found.save(out)
    return found


@dataclass(frozen=True, kw_only=True)
class FrequencyComparison:
    """Two models on one text, by word frequency; and what the second one's pointer did, if it has one."""

    buckets: list[Bucket]
    pointer: Pointing | None
    scores: tuple[Score, Score]
    signatures: tuple[Signature, Signature]

    def fields(self) -> dict[str, Any]:
        """The comparison as values of JSON."""
        pointer = self.pointer
        return {
            "buckets": [asdict(bucket) for bucket in self.buckets],
            "perplexities": [score.perplexity for score in self.scores],
            "signatures": [str(signature) for signature in self.signatures],
            "attention_by_words_back": pointer and (pointer.back / len(pointer.gates)).tolist(),
            "of_it_on_the_right_word": pointer and (pointer.right / len(pointer.gates)).tolist(),
        }


def compare(
    first: Source,
    second: Source,
    data: str | Path,
    *,
    split: str = "test",
    buckets: int = 10,
    equal: str = "types",
    figure: str | Path | None = None,
    device: str = "auto",
) -> FrequencyComparison:
    """Compare two trained models on words of each frequency in train, as in the paper's figure.

    >>> import ps_models as pm
    >>> found = pm.compare("runs/lstm", "runs/pointer", "data/wikitext-2")  # doctest: +SKIP
    >>> [bucket.difference for bucket in found.buckets]  # doctest: +SKIP

    Args:
        first: A checkpoint, the folder of a run, or what `load` returned.
        second: The same for the other model.
        data: A dataset with a train file.
        split: train, valid or test.
        buckets: How many groups of words of similar frequency.
        equal: What the groups have equal numbers of: `types` or `tokens`.
        figure: Also draw the comparison there: .png, .svg or .pdf.
        device: Where a checkpoint is loaded: auto, cpu, cuda or cuda:1.

    Raises:
        ModelError: A checkpoint is missing, damaged or not for the data.
    """
    nats, scores, signatures = [], [], []
    pointer = None
    _check_train(Path(data))
    for source in (first, second):
        trained = opened(source, device)
        dataset = open_data(data, trained.checkpoint)
        texts = list(read_texts(dataset, split, trained.vocabulary))
        scored = token_nats(cast("LanguageModel[Any]", trained.model), texts, device=trained.device)
        nats.append(torch.cat([part for _, part in scored]))
        scores.append(Score(float(nats[-1].sum()), len(nats[-1]), sum(text.bytes for text in texts)))
        signatures.append(checkpoint_signature(trained.checkpoint, dataset, split, "carried", "fp32"))
        tokens = torch.cat([text.tokens for text in texts])
        pointer = pointing(trained.model, tokens, device=trained.device)
    train = read_stream(dataset, "train", trained.vocabulary)
    counts = torch.bincount(train, minlength=len(trained.vocabulary))
    gates = None if pointer is None else pointer.gates
    found = compare_by_frequency(tokens, nats[0], nats[1], counts, number=buckets, equal=equal, gates=gates)
    if figure is not None:
        save_figure(Path(figure), found, pointer)
    return FrequencyComparison(
        buckets=found,
        pointer=pointer,
        scores=(scores[0], scores[1]),
        signatures=(signatures[0], signatures[1]),
    )


def _check_train(data: Path) -> None:
    dataset = load_dataset(data)
    if dataset.layout == FILE:
        raise ModelError(f"{data}: a single file; expected a folder with train, whose words are counted")
    dataset.file("train")


def _check_ending(out: Path) -> None:
    if out.suffix.lower() not in (*PAGES, *PICTURES):
        raise ModelError(f"{out}: expected a name that ends in {', '.join((*PAGES, *PICTURES))}")
