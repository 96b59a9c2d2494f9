"""Explains how a trained model predicts a text word by word: as data, as a page to browse, or as a picture.

The page is one HTML file: point at a word to see how it was predicted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from ps_models.analysis.predictions import (
    BEST,
    HELP_LEVELS,
    SURPRISE_LEVELS,
    Distribution,
    Prediction,
    best_start,
    gains,
    passage_end,
    predictions,
)
from ps_models.dataset import read_stream
from ps_models.errors import ModelError
from ps_models.scoring import read_up_to
from ps_models.signature import Score, Signature
from ps_models.trained_model import Source, checkpoint_signature, loaded_model, open_data
from wikitext_builder.charts import PICTURES
from wikitext_builder.dataset.load import Dataset
from wikitext_builder.dataset.manifest import read_tokens
from wikitext_builder.dataset.vocabulary import EOS, UNK, Vocabulary
from wikitext_builder.errors import BuilderError
from wikitext_builder.progress import Progress, no_progress
from wikitext_builder.webpages import MAX_PAGE_BYTES, PAGE_ENDINGS, render

DIGITS = 4  # of a displayed probability


def page(
    title: str,
    summary: str,
    signature: str,
    predictions: Sequence[Prediction],
    vocabulary: Vocabulary,
    originals: Sequence[str] = (),
) -> str:
    """Return the HTML of the page. It loads nothing; its content security policy forbids that.

    `originals` are the words of the first window and of the text before rare ones became `<unk>`, or none.
    """
    return render(
        Path(__file__).with_name("explain.html"),
        kind="pointing" if any(prediction.gain is not None for prediction in predictions) else "plain",
        title=title,
        summary=summary,
        signature=signature,
        data=_data(predictions, vocabulary, originals),
    )


def _data(
    predictions: Sequence[Prediction], vocabulary: Vocabulary, originals: Sequence[str]
) -> dict[str, Any]:
    """Return the data of the page: each word once; predictions refer to words by their places in the list."""
    places: dict[int, int] = {}  # of words that the page shows

    def place(word: int) -> int:
        return places.setdefault(word, len(places))

    def distribution_data(distribution: Distribution | None) -> dict[str, Any] | None:
        if distribution is None:
            return None
        top = [[place(word), _rounded(share)] for word, share in distribution.top]
        return {"p": _rounded(distribution.probability), "rank": distribution.rank, "top": top}

    def word_data(words: Sequence[int], word_originals: Sequence[str]) -> list[dict[str, Any]]:
        return [
            {"word": place(word)} | ({"original": original} if original != vocabulary.tokens[word] else {})
            for word, original in zip(words, word_originals or vocabulary.decode(words), strict=True)
        ]

    entries = [
        {
            "mixture": distribution_data(prediction.mixture),
            "copied": [_rounded(share) for share in prediction.copied],
            "vocabulary": distribution_data(prediction.vocabulary),
            "pointer": distribution_data(prediction.pointer),
            "gate": _rounded(prediction.gate),
            "gain": _rounded(prediction.gain),
            "fromPointer": _rounded(prediction.from_pointer),
            "attention": [[back, _rounded(share)] for back, share in prediction.attention],
            "window": len(prediction.window),
        }
        for prediction in predictions
    ]
    # The windows of the first words also hold words before the passage.
    before = predictions[0].window
    words = word_data([prediction.word for prediction in predictions], originals[len(before) :])
    return {
        "before": word_data(before, originals[: len(before)]),
        "predictions": [word | entry for word, entry in zip(words, entries, strict=True)],
        "words": [vocabulary.tokens[word] for word in places],
        "types": len(vocabulary),
        "levels": {"factors": HELP_LEVELS, "nats": SURPRISE_LEVELS},
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{DIGITS}g}")


DEFAULT_WORDS = 500  # of a page


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """How each word of a passage was predicted, and the signature of everything that decides it."""

    data: str  # the name of the dataset
    split: str
    start: int  # the first token, counted from 0
    predictions: list[Prediction]
    vocabulary: Vocabulary
    signature: Signature
    # The words of the first window and of the passage before rare ones became `<unk>`; empty if unknown.
    originals: tuple[str, ...] = ()

    @property
    def score(self) -> Score:
        """The score of the passage."""
        return _score(prediction.probability for prediction in self.predictions)

    @property
    def vocabulary_score(self) -> Score | None:
        """The score of the softmax alone, that is, with g = 1; None for a model without a pointer."""
        distributions = [prediction.vocabulary for prediction in self.predictions]
        if not all(distributions):
            return None
        return _score(distribution.probability for distribution in distributions if distribution)

    def save(self, path: str | Path) -> None:
        """Write a page to browse (.html), or a picture (.png, .svg, .pdf) of one word or a sentence.

        Raises:
            ModelError: The path has another ending, or there are too many words.
        """
        path = Path(path)
        if _is_picture(path):
            from ps_models.analysis.figure import save_picture  # matplotlib, which a page does not need

            save_picture(path, self.predictions, self.vocabulary, self.originals)
            return
        model = self.signature["model"].partition("+")[0]
        passage = f"{len(self.predictions):,} words from number {self.start:,}"
        summary = f"{passage}: perplexity {self.score.perplexity:.1f}"
        if self.vocabulary_score is not None:
            summary += f", and {self.vocabulary_score.perplexity:.1f} by its vocabulary part alone"
        title, signature = f"How {model} predicts {self.data}, {self.split}", str(self.signature)
        text = page(title, f"{summary}.", signature, self.predictions, self.vocabulary, self.originals)
        if (size := len(text.encode())) > MAX_PAGE_BYTES:
            fitting = int(0.95 * len(self.predictions) * MAX_PAGE_BYTES / size)  # not all of a page is words
            raise ModelError(f"--words {len(self.predictions)}: a page has room for {fitting} of them")
        path.write_text(text, encoding="utf-8")


def _score(probabilities: Iterable[float]) -> Score:
    nats = [-math.log(probability) if probability else math.inf for probability in probabilities]
    return Score(sum(nats), len(nats))


def explain(
    model: Source,
    data: str | Path,
    *,
    out: str | Path | None = None,
    split: str = "valid",
    start: int | str = 0,
    words: int | None = None,
    device: str = "auto",
    progress: Progress = no_progress,
) -> Explanation:
    """Show how a trained model predicts each word of a passage.

    >>> import ps_models as pm
    >>> pm.explain("runs/pointer", "data/wikitext-2", start="best").predictions[0].gain  # doctest: +SKIP

    Args:
        model: A checkpoint, a run's folder, or what `load` returned.
        data: The dataset.
        out: Also write a page or a picture to this file; see `Explanation.save`.
        split: train, valid or test.
        start: Index of the first token, from 0; the model also reads all tokens before it. `best`: the
            passage in which the pointer added most to known words; the model then reads the whole split.
        words: Number of words; None: 500, or up to the end of the sentence for a picture.
        device: Where to load a checkpoint: auto, cpu, cuda or cuda:1.
        progress: Called during the search for the best passage.

    Raises:
        BuilderError: The dataset is missing or damaged.
        ModelError: The checkpoint is missing, damaged or not for the data; the text is shorter than `start`;
            `out` has an unknown ending; `start` is `best` and the model has no pointer.
    """
    if words is not None and words < 1:
        raise ModelError(f"--words {words}: expected 1 or more")
    default_words = None if out is not None and _is_picture(Path(out)) else DEFAULT_WORDS
    length = words or default_words  # None: up to the end of the sentence
    trained = loaded_model(model, device)
    dataset = open_data(data, trained.checkpoint)
    stream = read_stream(dataset, split, trained.vocabulary)
    if start == BEST:
        gained = gains(trained.model, stream, device=trained.device, progress=progress)
        start = best_start(stream, gained, trained.vocabulary, length)
    if not isinstance(start, int) or not 0 <= start < len(stream):
        raise ModelError(
            f"--start {start}: {split} has {len(stream)} tokens; expected a start below that, or {BEST}"
        )
    end = passage_end(stream, trained.vocabulary, start, length)
    state = read_up_to(trained.model, stream[:start], trained.device)
    predicted = list(predictions(trained.model, stream[start:end], state, device=trained.device))
    explanation = Explanation(
        data=dataset.name,
        split=split,
        start=start,
        predictions=predicted,
        vocabulary=trained.vocabulary,
        signature=checkpoint_signature(trained.checkpoint, dataset, split, "carried", "fp32"),
        originals=_originals(dataset, split, start, predicted, trained.vocabulary),
    )
    if out is not None:
        explanation.save(out)
    return explanation


def _originals(
    dataset: Dataset, split: str, start: int, predicted: Sequence[Prediction], vocabulary: Vocabulary
) -> tuple[str, ...]:
    """Return the words of the raw file; none if that is absent or has a different text."""
    try:
        raw = dataset.file(split, raw=True)
    except BuilderError:
        return ()
    window = predicted[0].window
    first = max(0, start - len(window))
    padding = (EOS,) * (len(window) - (start - first))  # at the start of a text the window begins with <eos>
    originals = (*padding, *islice(read_tokens(raw), first, start + len(predicted)))
    words = vocabulary.decode([*window, *(prediction.word for prediction in predicted)])
    pairs = zip(words, originals, strict=False)
    agree = len(originals) == len(words) and all(word in (original, UNK) for word, original in pairs)
    return originals if agree else ()


def _is_picture(out: Path) -> bool:
    if (ending := out.suffix.lower()) not in (*PAGE_ENDINGS, *PICTURES):
        raise ModelError(f"{out}: expected a name that ends in {', '.join((*PAGE_ENDINGS, *PICTURES))}")
    return ending in PICTURES
