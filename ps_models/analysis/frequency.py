"""Makes the paper's analysis: what a pointer gains by word frequency, when it is used, how far it points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor, nn

from ps_models.analysis.figure import DPI, POINTER, STYLE, VOCABULARY
from ps_models.dataset import read_texts
from ps_models.errors import ModelError
from ps_models.language_model import LanguageModel
from ps_models.models.pointer_sentinel import PointerSentinel
from ps_models.scoring import evaluating, token_nats, train_counts
from ps_models.signature import Score, Signature
from ps_models.trained_model import Source, checkpoint_signature, loaded_model, open_data
from wikitext_builder.charts import expect_picture, write_picture
from wikitext_builder.dataset.load import SINGLE_FILE
from wikitext_builder.dataset.load import load as load_dataset

PREDICTIONS_AT_ONCE = 64  # bounds memory: (predictions x window) numbers
MAX_LABELS = 24  # of buckets under an axis


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """Words of similar frequency in train, and how two models predict them."""

    least: int  # the lowest count of its words in train
    most: int  # the highest
    types: int
    tokens: int  # of its words in the text that was predicted
    difference: float | None  # mean nats of the second model minus the first; negative: the second is better
    gate: float | None  # mean share of the softmax in the second; None without a pointer or without tokens

    @property
    def label(self) -> str:
        """The range of its words' counts, such as 4–5; buckets do not overlap."""
        return f"{self.least:,}" if self.least == self.most else f"{self.least:,}–{self.most:,}"


def buckets_of(counts: Tensor, number: int) -> Tensor:
    """Return the bucket of each word by its count in train; 0 has the most frequent words.

    Buckets have about equally many types, as in the paper's figure. Words of the same count are all in the
    bucket of the first of them, so a bucket can be empty.
    """
    if not 1 <= number <= len(counts):
        raise ModelError(f"{number} buckets of words: expected 1 to {len(counts)}")
    sorted_counts, order = torch.sort(counts, descending=True, stable=True)
    buckets = torch.arange(len(counts)) * number // len(counts)
    buckets = buckets[
        torch.searchsorted(-sorted_counts, -sorted_counts)
    ]  # of the first word of the same count
    return torch.empty_like(order).scatter_(0, order, buckets)


def compare_by_frequency(
    tokens: Tensor,
    first: Tensor,
    second: Tensor,
    counts: Tensor,
    *,
    number: int = 10,
    gates: Tensor | None = None,
) -> list[Bucket]:
    """Compare how two models predict words by frequency, the most frequent first; leave out empty buckets.

    `first` and `second` are -log p of each token of a text, (time,), by both models; `gates` is the softmax's
    share at each token, if the second model has a pointer. `number` is that of `buckets_of`.
    """
    bucket_of_word, result = buckets_of(counts, number), []
    for bucket in range(number):
        bucket_counts, in_bucket = counts[bucket_of_word == bucket], bucket_of_word[tokens] == bucket
        if not len(bucket_counts):
            continue
        token_count = int(in_bucket.sum())
        result.append(
            Bucket(
                least=int(bucket_counts.min()),
                most=int(bucket_counts.max()),
                types=len(bucket_counts),
                tokens=token_count,
                difference=float((second - first)[in_bucket].mean()) if token_count else None,
                gate=float(gates[in_bucket].mean()) if token_count and gates is not None else None,
            )
        )
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointing:
    """How a pointer was used at each token of a text, and how far back it pointed."""

    gates: Tensor  # float64, (time,): the share of the softmax
    back: Tensor  # float64, (window,): the sum of the attention to the word 1, 2, … back
    right: Tensor  # float64, (window,): the part of it on the true word

    @property
    def half(self) -> int:
        """The median distance of the attention, in words."""
        shares = self.back.cumsum(0) / self.back.sum()
        return int((shares < 0.5).sum()) + 1


def pointing(model: nn.Module, tokens: Tensor, *, device: torch.device | str = "cpu") -> Pointing | None:
    """Measure the pointer of a model over a text; None for a model without one."""
    if not isinstance(model, PointerSentinel):
        return None
    window = model.window
    gates, back, right = [], torch.zeros(window).double(), torch.zeros(window).double()
    with evaluating(model), torch.no_grad():
        state = model.initial_state(1)
        for chunk in torch.split(tokens.to(device), PREDICTIONS_AT_ONCE):
            inspection, state = model.inspect(chunk[None], state)
            attention = inspection.attention_BTW[0].double().cpu().flip(-1)
            hits = (inspection.words_BTW[0] == chunk[:, None]).cpu().flip(-1)
            gates.append(inspection.gate_BT[0].double().cpu())
            back += attention.sum(0)
            right += (attention * hits).sum(0)
    return Pointing(gates=torch.cat(gates), back=back, right=right)


def save_figure(
    path: Path, buckets: Sequence[Bucket], pointer: Pointing | None, names: tuple[str, str]
) -> None:
    """Draw the comparison: differences by bucket, and for a pointer its gate and how far back it points."""
    expect_picture(path, ModelError)
    write_picture(path, lambda: _figure(buckets, pointer, names), dpi=DPI, **STYLE)


def _figure(buckets: Sequence[Bucket], pointer: Pointing | None, names: tuple[str, str]) -> Figure:
    figure = Figure(figsize=(9 if pointer is not None else 4.5, 3.4), layout="constrained")
    columns = figure.subplots(1, 3 if pointer is not None else 1, squeeze=False)[0]
    _draw_differences(columns[0], buckets, names)
    if pointer is not None:
        _draw_bars(columns[1], buckets, [bucket.gate for bucket in buckets])
        columns[1].set_title(f"Gate of {names[1]}", fontsize=8, loc="left", parse_math=False)
        columns[1].set(ylabel="mean gate g", ylim=(0, 1))
        _draw_distances(columns[2], pointer)
    return figure


def _draw_differences(axes: Axes, buckets: Sequence[Bucket], names: tuple[str, str]) -> None:
    _draw_bars(axes, buckets, [bucket.difference for bucket in buckets])
    axes.set_title(
        f"{names[1]} minus {names[0]}\n↓ below 0: {names[1]} is better\n↑ above 0: {names[0]} is better",
        fontsize=8,
        loc="left",
        parse_math=False,
    )
    axes.set_ylabel("difference, nats per token")
    axes.axhline(0, color="black", linewidth=0.6)


def _draw_bars(axes: Axes, buckets: Sequence[Bucket], values: Sequence[float | None]) -> None:
    """Draw a bar for each bucket that has tokens; leave out labels where there is no room."""
    places = [place for place, value in enumerate(values) if value is not None]
    axes.bar(places, [value for value in values if value is not None], color=VOCABULARY)
    labels = [bucket.label for bucket in buckets]
    ticks = range(0, len(buckets), math.ceil(len(buckets) / MAX_LABELS))
    axes.set_xticks(ticks, [labels[tick] for tick in ticks], rotation=90, fontsize=7.5)
    axes.set_xlim(-0.6, len(buckets) - 0.4)
    axes.set_xlabel("count of the word in train")
    axes.grid(visible=False, axis="x")


def _draw_distances(axes: Axes, pointer: Pointing) -> None:
    total = len(pointer.gates)
    places = range(1, len(pointer.back) + 1)
    axes.plot(places, (pointer.back / total).tolist(), label="all attention", color=POINTER)
    right = [share or math.nan for share in (pointer.right / total).tolist()]  # 0 has no logarithm
    axes.plot(places, right, "--", label="on the true word", color=VOCABULARY)
    axes.set(
        yscale="log", xlim=(1, max(2, len(places))), ylabel="mean attention per place", xlabel="words back"
    )
    axes.set_title("Where its pointer looks", fontsize=8, loc="left")
    axes.legend(frameon=False)


@dataclass(frozen=True, kw_only=True)
class FrequencyComparison:
    """Two models on one text, by word frequency; with the second one's pointer, if it has one."""

    buckets: list[Bucket]
    pointer: Pointing | None
    scores: tuple[Score, Score]
    signatures: tuple[Signature, Signature]

    @property
    def names(self) -> tuple[str, str]:
        """The models' names, with the hashes of their weights if both have the same name."""
        first, second = (signature["model"] for signature in self.signatures)
        short = first.partition("+")[0], second.partition("+")[0]
        return short if short[0] != short[1] else (first, second)

    def fields(self) -> dict[str, Any]:
        """Return the comparison as JSON values."""
        pointer = self.pointer
        return {
            "first": self.names[0],
            "second": self.names[1],
            "difference_is": "nats per token, second minus first; negative: the second is better",
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
    figure: str | Path | None = None,
    device: str = "auto",
) -> FrequencyComparison:
    """Compare two trained models on words of each frequency in train, as in the paper's figure.

    >>> import ps_models as pm
    >>> comparison = pm.compare("runs/lstm", "runs/pointer", "data/wikitext-2")  # doctest: +SKIP
    >>> [bucket.difference for bucket in comparison.buckets]  # doctest: +SKIP

    Args:
        first: A checkpoint, a run's folder, or what `load` returned.
        second: The same for the other model.
        data: A dataset with a train file.
        split: train, valid or test.
        buckets: Maximum number of groups of words of similar frequency; equally frequent words stay together.
        figure: Also draw the comparison to this file: .png, .svg or .pdf.
        device: Where to load a checkpoint: auto, cpu, cuda or cuda:1.

    Raises:
        BuilderError: The dataset is missing or damaged.
        ModelError: A checkpoint is missing, damaged or not for the data; `figure` has an unknown ending.
    """
    if figure is not None:
        expect_picture(Path(figure), ModelError)
    nats, scores, signatures = [], [], []
    dataset = load_dataset(data)
    if dataset.layout == SINGLE_FILE:
        raise ModelError(f"{data}: a single file; expected a folder with a train file, to count its words")
    dataset.file("train")  # if it is missing, raise now, not after the models have read the text
    for source in (first, second):
        trained = loaded_model(source, device)
        dataset = open_data(data, trained.checkpoint)
        texts = list(read_texts(dataset, split, trained.vocabulary))
        scored = token_nats(cast("LanguageModel[Any]", trained.model), texts, device=trained.device)
        nats.append(torch.cat([text_nats for _, text_nats in scored]))
        scores.append(Score(float(nats[-1].sum()), len(nats[-1]), sum(text.bytes for text in texts)))
        signatures.append(checkpoint_signature(trained.checkpoint, dataset, split, "carried", "fp32"))
    tokens = torch.cat([text.tokens for text in texts])
    pointer = pointing(trained.model, tokens, device=trained.device)  # of the second model
    counts = train_counts(dataset, trained.vocabulary)
    assert counts is not None  # noqa: S101 - for mypy: there is a train file
    gates = None if pointer is None else pointer.gates
    comparison = FrequencyComparison(
        buckets=compare_by_frequency(tokens, nats[0], nats[1], counts, number=buckets, gates=gates),
        pointer=pointer,
        scores=(scores[0], scores[1]),
        signatures=(signatures[0], signatures[1]),
    )
    if figure is not None:
        save_figure(Path(figure), comparison.buckets, pointer, comparison.names)
    return comparison
