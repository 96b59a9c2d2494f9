"""A picture of one prediction for a paper: the window with its attention, the gate, the likeliest words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ps_models.errors import ModelError
from ps_models.explanation.predictions import Prediction, Shares
from wikitext_builder.dataset.vocabulary import Vocabulary

FORMATS = (".png", ".svg", ".pdf")
POINTER, SOFTMAX = "#c26a00", "#2a78d6"
HEADING = 12  # how many of the words before the predicted one are in the title
LABELLED = 12  # how many words of the window are labelled, those with the most attention
STYLE: Any = {"svg.hashsalt": "ps-models", "svg.fonttype": "none", "font.size": 9.0}


def save_picture(path: Path, prediction: Prediction, vocabulary: Vocabulary) -> None:
    """Draw a prediction as PNG, SVG or PDF.

    Args:
        path: The file; its ending gives the format.
        prediction: What is drawn.
        vocabulary: The words of the ids.

    Raises:
        ModelError: The ending is not one of FORMATS.
    """
    if path.suffix.lower() not in FORMATS:
        raise ModelError(f"{path}: expected a name that ends in {', '.join(FORMATS)}")
    with mpl.rc_context(STYLE):
        figure = _drawn(prediction, vocabulary)
        figure.savefig(path, dpi=200, metadata={"Date": None} if path.suffix.lower() == ".svg" else None)


def _drawn(prediction: Prediction, vocabulary: Vocabulary) -> Figure:
    before = " ".join(vocabulary.decode(prediction.window[-HEADING:]))
    word = vocabulary.tokens[prediction.word]
    heading = f"{before} [{word}]   p = {prediction.probability:.3g}".strip()
    if prediction.gate is None:
        figure = Figure(figsize=(4, 2.6), layout="constrained")
        figure.suptitle(heading, fontsize=9, parse_math=False)
        _bars(figure.subplots(), "most likely", prediction.mixture, prediction.word, vocabulary, SOFTMAX)
        return figure
    figure = Figure(figsize=(9, 4.6), layout="constrained")
    figure.suptitle(heading, fontsize=9, parse_math=False)
    halves: Any = figure.subfigures(2, 1, height_ratios=(3, 2))
    top, bottom = halves
    _window(top.subplots(), prediction, vocabulary)
    gate, vocab, pointer, mixture = bottom.subplots(1, 4, width_ratios=(1, 3, 3, 3))
    _gate(gate, prediction.gate)
    _bars(vocab, "softmax", prediction.vocabulary, prediction.word, vocabulary, SOFTMAX)
    _bars(pointer, "pointer", prediction.pointer, prediction.word, vocabulary, POINTER)
    _bars(mixture, "mixture", prediction.mixture, prediction.word, vocabulary, "#555555")
    return figure


def _window(axes: Axes, prediction: Prediction, vocabulary: Vocabulary) -> None:
    backs = [back for back, _ in prediction.attention]
    axes.bar([-back for back in backs], [share for _, share in prediction.attention], color=POINTER)
    axes.xaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 2.5, 5, 10], integer=True))
    axes.set_xlim(-len(prediction.window) - 1, 0)
    axes.set_ylim(0, 1.45 * max((share for _, share in prediction.attention), default=1.0))
    axes.set_xlabel("place in the window")
    axes.set_ylabel("attention")
    axes.spines[["top", "right"]].set_visible(False)
    for back, share in prediction.attention[:LABELLED]:
        axes.text(
            -back,
            share,
            " " + vocabulary.tokens[prediction.window[-back]],
            rotation=60,
            ha="left",
            va="bottom",
            rotation_mode="anchor",
            fontweight="bold" if prediction.window[-back] == prediction.word else "normal",
            parse_math=False,
        )


def _gate(axes: Axes, gate: float) -> None:
    axes.bar([0], [gate], color=SOFTMAX, width=1)
    axes.bar([0], [1 - gate], bottom=[gate], color=POINTER, width=1)
    axes.set_ylim(0, 1)
    axes.set_xticks([])
    axes.set_title(f"g = {gate:.2f}", fontsize=9)


def _bars(
    axes: Axes,
    title: str,
    shares: Shares,
    right: int,
    vocabulary: Vocabulary,
    colour: str,
) -> None:
    shown = shares[:6]
    axes.barh(range(len(shown)), [share for _, share in shown], color=colour)
    axes.set_yticks(range(len(shown)))
    labels = axes.set_yticklabels([vocabulary.tokens[word] for word, _ in shown], parse_math=False)
    for label, (word, _) in zip(labels, shown, strict=True):
        label.set_fontweight("bold" if word == right else "normal")
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(title, fontsize=9)
