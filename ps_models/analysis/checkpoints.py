"""How trained models predict a text: word by word, and two models compared by word frequency."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, cast

import torch

from ps_models.analysis.figure import save_picture
from ps_models.analysis.frequency import Bucket, Pointing, compare_by_frequency, pointing, save_figure
from ps_models.analysis.page import MOST_WORDS, page
from ps_models.analysis.passages import BEST, best_start, gains, passage_end
from ps_models.analysis.predictions import Prediction, predictions
from ps_models.analysis.style import FORMATS as PICTURES
from ps_models.analysis.style import picture_metadata
from ps_models.data.dataset import read_stream, read_texts
from ps_models.errors import ModelError
from ps_models.evaluation.evaluate import Score, read_up_to, token_nats
from ps_models.evaluation.signature import Signature
from ps_models.language_model import LanguageModel
from ps_models.trained_model import Source, checkpoint_signature, open_data, opened
from wikitext_builder.dataset.files import read_tokens
from wikitext_builder.dataset.load import FILE, Dataset
from wikitext_builder.dataset.load import load as load_dataset
from wikitext_builder.dataset.vocabulary import EOS, UNK, Vocabulary
from wikitext_builder.errors import BuilderError
from wikitext_builder.progress import Progress, no_progress

PAGES = (".html", ".htm")
WORDS = 500  # of a page, if nothing is said


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """How each word of a stretch of text was predicted, and the signature: all that decides it."""

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
        """The score of the stretch."""
        return _score(prediction.probability for prediction in self.predictions)

    @property
    def vocabulary_score(self) -> Score | None:
        """The score by the softmax alone, that is with g = 1; None for a model without a pointer."""
        parts = [prediction.vocabulary for prediction in self.predictions]
        return _score(part.probability for part in parts if part) if all(parts) else None

    def save(self, path: str | Path) -> None:
        """Write a page to browse (.html), or a picture (.png, .svg, .pdf): of one word or of a sentence.

        Raises:
            ModelError: The path has another ending, or there are too many words.
        """
        path = Path(path)
        _check_ending(path)
        if path.suffix.lower() in PICTURES:
            save_picture(path, self.predictions, self.vocabulary, self.originals)
            return
        if len(self.predictions) > MOST_WORDS:
            raise ModelError(f"--words {len(self.predictions)}: a page has at most {MOST_WORDS:,}")
        model = self.signature["model"].partition("+")[0]
        stretch = f"{len(self.predictions):,} words from number {self.start:,}"
        summary = f"{stretch}: perplexity {self.score.perplexity:.1f}"
        if self.vocabulary_score is not None:
            summary += f", and {self.vocabulary_score.perplexity:.1f} by its vocabulary part alone"
        text = page(
            f"How {model} predicts {self.data}, {self.split}",
            f"{summary}.",
            str(self.signature),
            self.predictions,
            self.vocabulary,
            self.originals,
        )
        path.write_text(text, encoding="utf-8")


def _score(probabilities: Iterable[float]) -> Score:
    nats = [-math.log(chance) if chance else math.inf for chance in probabilities]
    return Score(sum(nats), len(nats))


def _length(words: int | None, out: str | Path | None) -> int | None:
    """How many words are explained; None: up to the end of the sentence."""
    if words is not None and words < 1:
        raise ModelError(f"--words {words}: expected 1 or more")
    is_picture = out is not None and Path(out).suffix.lower() in PICTURES
    return words or (None if is_picture else WORDS)


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
    """Show how a trained model predicts each word of a stretch of text.

    >>> import ps_models as pm
    >>> found = pm.explain("runs/pointer", "data/wikitext-2", out="page.html", start="best")  # doctest: +SKIP
    >>> found.predictions[0].gain  # doctest: +SKIP

    Args:
        model: A checkpoint, the folder of a run, or what `load` returned.
        data: The dataset.
        out: Also write a page or a picture there; see `Explanation.save`.
        split: train, valid or test.
        start: The first token of the split, counted from 0; the model reads all tokens before it. `best`: the
            passage in which the pointer added most to known words; the model then reads the whole split.
        words: How many words; None: 500, and for a picture up to the end of the sentence.
        device: Where a checkpoint is loaded: auto, cpu, cuda or cuda:1.
        progress: Called while the best passage is looked for.

    Raises:
        ModelError: The checkpoint is missing, damaged or not for the data; the text is shorter than `start`;
            `out` has an unknown ending; `start` is `best` and the model has no pointer.
    """
    if out is not None:
        _check_ending(Path(out))
    length = _length(words, out)
    trained = opened(model, device)
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


@dataclass(frozen=True, kw_only=True)
class FrequencyComparison:
    """Two models on one text, by word frequency; and what the second one's pointer did, if it has one."""

    buckets: list[Bucket]
    pointer: Pointing | None
    scores: tuple[Score, Score]
    signatures: tuple[Signature, Signature]

    @property
    def names(self) -> tuple[str, str]:
        """The models' names, with the hashes of their weights if they are two of a kind."""
        first, second = (signature["model"] for signature in self.signatures)
        short = first.partition("+")[0], second.partition("+")[0]
        return short if short[0] != short[1] else (first, second)

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
        ModelError: A checkpoint is missing, damaged or not for the data; `figure` has an unknown ending.
    """
    if figure is not None:
        picture_metadata(Path(figure))
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
    pointer = pointing(trained.model, tokens, device=trained.device)  # of the second
    train = read_stream(dataset, "train", trained.vocabulary)
    counts = torch.bincount(train, minlength=len(trained.vocabulary))
    gates = None if pointer is None else pointer.gates
    found = compare_by_frequency(tokens, nats[0], nats[1], counts, number=buckets, equal=equal, gates=gates)
    comparison = FrequencyComparison(
        buckets=found,
        pointer=pointer,
        scores=(scores[0], scores[1]),
        signatures=(signatures[0], signatures[1]),
    )
    if figure is not None:
        save_figure(Path(figure), found, pointer, comparison.names)
    return comparison


def _check_train(data: Path) -> None:
    dataset = load_dataset(data)
    if dataset.layout == FILE:
        raise ModelError(f"{data}: a single file; expected a folder with train, whose words are counted")
    dataset.file("train")


def _check_ending(out: Path) -> None:
    if out.suffix.lower() not in (*PAGES, *PICTURES):
        raise ModelError(f"{out}: expected a name that ends in {', '.join((*PAGES, *PICTURES))}")
