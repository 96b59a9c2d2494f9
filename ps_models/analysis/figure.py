"""Pictures for a paper: a sentence with its window, or one prediction with its distributions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ps_models.analysis.passages import LONGEST_SENTENCE
from ps_models.analysis.predictions import Distribution, Prediction
from ps_models.analysis.sentence import draw_sentence
from ps_models.analysis.style import MIXTURE, POINTER, STYLE, VOCABULARY, picture_metadata
from ps_models.errors import ModelError
from wikitext_builder.dataset.vocabulary import Vocabulary

HEADING = 10  # how many of the words before the predicted one are in the title
LABELLED = 12  # how many words of the window are labelled, those with the most attention
SHOWN = 6  # words of a distribution


def save_picture(
    path: Path, predictions: Sequence[Prediction], vocabulary: Vocabulary, originals: Sequence[str] = ()
) -> None:
    """Draw predictions as PNG, SVG or PDF: one word with its distributions, or a sentence with its window.

    Args:
        path: The file; its ending gives the format.
        predictions: What is drawn: one, or those of a sentence.
        vocabulary: The words of the ids.
        originals: The words of the sentence before rare ones became `<unk>`, if they are known.

    Raises:
        ModelError: The ending is not one of FORMATS, or there are too many words.
    """
    metadata = picture_metadata(path)
    if not 1 <= len(predictions) <= LONGEST_SENTENCE:
        raise ModelError(
            f"--words {len(predictions)}: a picture has 1 to {LONGEST_SENTENCE} words, a page more"
        )
    with style.context(["default", STYLE], after_reset=True):
        if len(predictions) == 1:
            figure = _one_word(predictions[0], vocabulary)
        else:
            figure = draw_sentence(predictions, vocabulary, originals)
        figure.savefig(path, dpi=200, metadata=metadata)


def _one_word(prediction: Prediction, vocabulary: Vocabulary) -> Figure:
    """A panel for each distribution that there is, and one for the window if the pointer looks at it."""
    parts = {
        "vocabulary": (prediction.vocabulary, VOCABULARY),
        "pointer": (prediction.pointer if prediction.pointer and prediction.pointer.top else None, POINTER),
        "mixture": (prediction.mixture, MIXTURE),
    }
    shown = {name: (found, colour) for name, (found, colour) in parts.items() if found is not None}
    if prediction.vocabulary is None:
        shown = {"most likely words": (prediction.mixture, VOCABULARY)}
    has_window = bool(prediction.attention)
    figure = Figure(figsize=(max(3.4, 2.2 * len(shown)), 4.4 if has_window else 2.6), layout="constrained")
    before = " ".join(vocabulary.decode(prediction.window[-HEADING:]))
    rank = "impossible" if prediction.mixture.rank is None else f"rank {prediction.mixture.rank:,}"
    heading = f"{before} [{vocabulary.tokens[prediction.word]}]\np = {prediction.probability:.3g}, {rank}"
    if prediction.gate is not None:
        heading += f", gate g = {prediction.gate:.2f}, the pointer added {prediction.gain:+.2f} nats"
    figure.suptitle(heading, fontsize=9, parse_math=False)
    bottom: Any = figure
    if has_window:
        halves: Any = figure.subfigures(2, 1, height_ratios=(3, 2))
        top, bottom = halves
        _window(top.subplots(), prediction, vocabulary)
    panels = bottom.subplots(1, len(shown), squeeze=False, sharex=True)[0]
    for axes, (name, (found, colour)) in zip(panels, shown.items(), strict=True):
        _bars(axes, name, found, prediction.word, vocabulary, colour)

    return figure


def _window(axes: Axes, prediction: Prediction, vocabulary: Vocabulary) -> None:
    backs = [back for back, _ in prediction.attention]
    axes.bar([-back for back in backs], [share for _, share in prediction.attention], color=POINTER)
    axes.xaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 2.5, 5, 10], integer=True))
    axes.set_xlim(-len(prediction.window) - 1, 0)
    axes.set_ylim(0, 1.45 * max(0.05, prediction.attention[0][1]))
    axes.set_xlabel("place in the window")
    axes.set_ylabel("attention")
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


def _bars(
    axes: Axes, title: str, found: Distribution, true: int, vocabulary: Vocabulary, colour: str
) -> None:
    """The most likely words, and the true word below them if it is not one of them."""
    shown = list(found.top[:SHOWN])
    if true not in [word for word, _ in shown]:
        shown.append((true, found.probability))
    axes.barh(range(len(shown)), [share for _, share in shown], color=colour)
    names = [vocabulary.tokens[word] for word, _ in shown]
    if found.rank is not None and found.rank > SHOWN:
        names[-1] = f"{found.rank:,}. {names[-1]}"
    axes.set_yticks(range(len(shown)), names, parse_math=False)
    for label, (word, _) in zip(axes.get_yticklabels(), shown, strict=True):
        label.set_fontweight("bold" if word == true else "normal")
    axes.grid(visible=False, axis="y")
    axes.invert_yaxis()
    axes.set_title(title, fontsize=9)
