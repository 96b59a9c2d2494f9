"""How a trained model predicts a text, word by word: as data, as a page to browse, or as a picture.

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
from wikitext_builder.webpages import ENDINGS, LIMIT, render

DIGITS = 4  # of a probability that is shown


def page(
    title: str,
    summary: str,
    signature: str,
    predictions: Sequence[Prediction],
    vocabulary: Vocabulary,
    originals: Sequence[str] = (),
) -> str:
    """The HTML. It loads nothing, and its content security policy forbids it to.

    `originals` are the words of the first window and of the text before rare ones became `<unk>`, or none.
    """
    return render(
        Path(__file__).with_name("explain.html"),
        kind="pointing" if any(one.gain is not None for one in predictions) else "plain",
        title=title,
        summary=summary,
        signature=signature,
        data=_data(predictions, vocabulary, originals),
    )


def _data(
    predictions: Sequence[Prediction], vocabulary: Vocabulary, originals: Sequence[str]
) -> dict[str, Any]:
    """Each word once; predictions refer to words by their places."""
    used: dict[int, int] = {}

    def place(word: int) -> int:
        return used.setdefault(word, len(used))

    def part(found: Distribution | None) -> dict[str, Any] | None:
        if found is None:
            return None
        top = [[place(word), _short(share)] for word, share in found.top]
        return {"p": _short(found.probability), "rank": found.rank, "top": top}

    def named(words: Sequence[int], names: Sequence[str]) -> list[dict[str, Any]]:
        given = names or vocabulary.decode(words)
        return [
            {"word": place(word)} | ({"original": name} if name != vocabulary.tokens[word] else {})
            for word, name in zip(words, given, strict=True)
        ]

    entries = [
        {
            "mixture": part(prediction.mixture),
            "copied": [_short(share) for share in prediction.copied],
            "vocabulary": part(prediction.vocabulary),
            "pointer": part(prediction.pointer),
            "gate": _short(prediction.gate),
            "gain": _short(prediction.gain),
            "fromPointer": _short(prediction.from_pointer),
            "attention": [[back, _short(share)] for back, share in prediction.attention],
            "window": len(prediction.window),
        }
        for prediction in predictions
    ]
    # The windows of the first words also hold words from before the text that is shown.
    before = predictions[0].window
    own = named([prediction.word for prediction in predictions], originals[len(before) :])
    return {
        "before": named(before, originals[: len(before)]),
        "predictions": [name | entry for name, entry in zip(own, entries, strict=True)],
        "words": [vocabulary.tokens[word] for word in used],
        "types": len(vocabulary),
        "levels": {"factors": HELP_LEVELS, "nats": SURPRISE_LEVELS},
    }


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{DIGITS}g}")


WORDS = 500  # of a page, if nothing is said


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """How each word of a passage was predicted, and the signature of everything that decides it."""

    data: str  # the name of the dataset
    split: str
    start: int  # the first token, counted from 0
    predictions: list[Prediction]
    vocabulary: Vocabulary
    signature: Signature
    # The words of the first window and of the stretch before rare ones became `<unk>`; empty if not known.
    originals: tuple[str, ...] = ()

    @property
    def score(self) -> Score:
        """The score of the passage."""
        return _score(prediction.probability for prediction in self.predictions)

    @property
    def vocabulary_score(self) -> Score | None:
        """The score of the softmax alone, that is, with g = 1; None for a model without a pointer."""
        parts = [prediction.vocabulary for prediction in self.predictions]
        return _score(part.probability for part in parts if part) if all(parts) else None

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
        stretch = f"{len(self.predictions):,} words from number {self.start:,}"
        summary = f"{stretch}: perplexity {self.score.perplexity:.1f}"
        if self.vocabulary_score is not None:
            summary += f", and {self.vocabulary_score.perplexity:.1f} by its vocabulary part alone"
        title, signature = f"How {model} predicts {self.data}, {self.split}", str(self.signature)
        text = page(title, f"{summary}.", signature, self.predictions, self.vocabulary, self.originals)
        if (size := len(text.encode())) > LIMIT:
            fit = int(0.95 * len(self.predictions) * LIMIT / size)  # less: not all of a page is words
            raise ModelError(f"--words {len(self.predictions)}: a page has room for {fit} of them")
        path.write_text(text, encoding="utf-8")


def _score(probabilities: Iterable[float]) -> Score:
    nats = [-math.log(chance) if chance else math.inf for chance in probabilities]
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
    of_page = None if out is not None and _is_picture(Path(out)) else WORDS
    if words is not None and words < 1:
        raise ModelError(f"--words {words}: expected 1 or more")
    length = words or of_page  # None: up to the end of the sentence
    trained = loaded_model(model, device)
    dataset = open_data(data, trained.checkpoint)
    stream = read_stream(dataset, split, trained.vocabulary)
    if start == BEST:
        gained = gains(trained.model, stream, device=trained.device, progress=progress)
        start = best_start(stream, gained, trained.vocabulary, length)
    if not isinstance(start, int) or not 0 <= start < len(stream):
        expected = f"{split} has {len(stream)} tokens; expected a start below that, or {BEST}"
        raise ModelError(f"--start {start}: {expected}")
    end = passage_end(stream, trained.vocabulary, start, length)
    state = read_up_to(trained.model, stream[:start], trained.device)
    predicted = list(predictions(trained.model, stream[start:end], state, device=trained.device))
    found = Explanation(
        data=dataset.name,
        split=split,
        start=start,
        predictions=predicted,
        vocabulary=trained.vocabulary,
        signature=checkpoint_signature(trained.checkpoint, dataset, split, "carried", "fp32"),
        originals=_originals(dataset, split, start, predicted, trained.vocabulary),
    )
    if out is not None:
        found.save(out)
    return found


def _originals(
    dataset: Dataset, split: str, start: int, predicted: Sequence[Prediction], vocabulary: Vocabulary
) -> tuple[str, ...]:
    """The words of the raw file; none if there is no raw file, or one that is not of this text."""
    try:
        raw = dataset.file(split, raw=True)
    except BuilderError:
        return ()
    window = predicted[0].window
    first = max(0, start - len(window))
    begun = (EOS,) * (len(window) - (start - first))  # the window at the start of a text
    found = (*begun, *islice(read_tokens(raw), first, start + len(predicted)))
    own = vocabulary.decode([*window, *(one.word for one in predicted)])
    agree = len(found) == len(own) and all(a in (b, UNK) for a, b in zip(own, found, strict=True))
    return found if agree else ()


def _is_picture(out: Path) -> bool:
    if (ending := out.suffix.lower()) not in (*ENDINGS, *PICTURES):
        raise ModelError(f"{out}: expected a name that ends in {', '.join((*ENDINGS, *PICTURES))}")
    return ending in PICTURES
