"""A picture of a sentence: its window, what the pointer added to each word, and where it looked for one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Rectangle
from matplotlib.textpath import text_to_path

from ps_models.analysis.predictions import HELP_LEVELS, Prediction
from ps_models.analysis.style import HARM, HELP, POINTER, VOCABULARY
from wikitext_builder.dataset.vocabulary import EOS, UNK, Vocabulary

WIDTH = 6.5  # inches: the text of a page
POINTS = 72  # per inch
SIZE, LINE, GAP = 8.0, 17.0, 3.5  # of the text in points: letters, lines, spaces
THICKEST = 6.0  # points of the bar under a word that has all attention
CHART = 1.9  # inches: height of the bars
LONGEST, LABEL = 40, 16  # characters of a word, in the text and under a bar
QUIET = "#595959"


class Placed(NamedTuple):
    """A word of the text block, in points from its top left corner."""

    text: str
    left: float
    width: float
    line: int

    @property
    def base(self) -> float:
        """Where its letters stand, in points from the top."""
        return (self.line + 1) * LINE - 4


def level_of(gain: float) -> int:
    """The step of colour: -3 to 3, by HELP_LEVELS.

    >>> level_of(0.0), level_of(math.log(2)), level_of(-9.0)
    (0, 2, -3)
    """
    step = sum(abs(gain) >= math.log(level) for level in HELP_LEVELS)
    return step if gain > 0 else -step


def draw_sentence(
    predictions: Sequence[Prediction], vocabulary: Vocabulary, originals: Sequence[str] = ()
) -> Figure:
    """The text with its window, above bars, one per word; no window for a model without a pointer.

    The attention is that of the known word to which the pointer added most. Unknown words have no colour.

    Args:
        predictions: Of the words of the sentence, two or more.
        vocabulary: The words of the ids.
        originals: The words of the first window and of the sentence before rare ones became `<unk>`, or none.
    """
    window = predictions[0].window
    words = originals or vocabulary.decode([*window, *(one.word for one in predictions)])
    unknown = [one.word in vocabulary.encode([UNK]) for one in predictions]
    placed = _placed(words)
    labels = [_shown(word, LABEL) for word in words[len(window) :]]
    top = (placed[-1].line + 1) * LINE / POINTS + 0.5
    bottom = 0.1 + max(_width(label, SIZE) for label in labels) / POINTS
    height = top + CHART + bottom
    figure = Figure(figsize=(WIDTH, height))
    text = figure.add_axes((0, 1 - top / height, 1, top / height))
    text.set(xlim=(0, WIDTH * POINTS), ylim=(top * POINTS, 0))
    text.set_axis_off()
    _draw_text(text, placed, len(window), predictions, unknown)
    chart = figure.add_axes((0.6 / WIDTH, bottom / height, 1 - 0.7 / WIDTH, CHART / height))
    _draw_bars(chart, predictions, labels, unknown)
    return figure


def _shown(word: str, longest: int) -> str:
    """A word as it is drawn; a very long one is cut."""
    return "¶" if word == EOS else word if len(word) <= longest else f"{word[: longest - 1]}…"


def _width(text: str, size: float) -> float:
    width: float = text_to_path.get_text_width_height_descent(text, FontProperties(size=size), False)[0]
    return width


def _placed(words: Sequence[str]) -> list[Placed]:
    found, left, line = list[Placed](), GAP, 0
    for word in words:
        shown = _shown(word, LONGEST)
        width = _width(shown, SIZE)
        if left + width > WIDTH * POINTS - GAP:
            left, line = GAP, line + 1
        found.append(Placed(shown, left, width, line))
        left += width + GAP
    return found


def _draw_text(
    axes: Axes,
    placed: Sequence[Placed],
    before: int,
    predictions: Sequence[Prediction],
    unknown: Sequence[bool],
) -> None:
    for word in placed[:before]:
        axes.text(word.left, word.base, word.text, fontsize=SIZE, color=QUIET, parse_math=False)
    for word, one, is_unknown in zip(placed[before:], predictions, unknown, strict=True):
        if one.gain is not None and not is_unknown:
            colour = (HELP if one.gain > 0 else HARM)[abs(level_of(one.gain))]
            axes.add_patch(
                Rectangle((word.left - 1, word.base - SIZE), word.width + 2, SIZE + 3, color=colour, lw=0)
            )
        kind = "italic" if is_unknown else "normal"
        axes.text(word.left, word.base, word.text, fontsize=SIZE, fontstyle=kind, parse_math=False)
    known = {
        place: one.gain
        for place, (one, is_unknown) in enumerate(zip(predictions, unknown, strict=True))
        if one.gain is not None and one.attention and not is_unknown and placed[before + place].text != "¶"
    }
    if not known:
        return
    chosen = max(known, key=known.__getitem__)
    box, one = placed[before + chosen], predictions[chosen]
    axes.add_patch(
        Rectangle((box.left - 1.5, box.base - SIZE - 0.5), box.width + 3, SIZE + 4, fill=False, lw=1)
    )
    pointed = sum(share for _, share in one.attention)
    for back, share in one.attention:
        word = placed[before + chosen - back]
        size = (word.width, 0.3 + THICKEST * share / pointed)
        axes.add_patch(Rectangle((word.left, word.base + 3.5), *size, color=POINTER, lw=0))
    steps = ", ".join(f"{level:g}" for level in HELP_LEVELS)
    key = (
        f"Green: with the pointer at least {steps} times as likely; violet: divided by as much."
        " Italics, white: <unk> to the model.\n"
        f"Grey: the window. Bars under words: attention for the word in the box, gate {one.gate:.2f}."
    )
    axes.text(GAP, placed[-1].base + 22, key, fontsize=7, color=QUIET, parse_math=False)


def _draw_bars(
    axes: Axes, predictions: Sequence[Prediction], labels: Sequence[str], unknown: Sequence[bool]
) -> None:
    gains = [one.gain for one in predictions if one.gain is not None]
    places = range(len(predictions))
    if gains:
        values = gains
        axes.set_ylabel(
            "added by the pointer, nats\n$\\ln\\,p(w) - \\ln\\,p_\\mathrm{vocab}(w)$", fontsize=7.5
        )
        colours = [HELP[3] if gain > 0 else HARM[3] for gain in gains]
    else:
        values = [-math.log(one.probability) if one.probability else math.nan for one in predictions]
        axes.set_ylabel("$-\\ln\\,p(w)$, nats")
        colours = [VOCABULARY] * len(values)
    shown = ["white" if one else colour for one, colour in zip(unknown, colours, strict=True)]
    axes.bar(places, values, color=shown, edgecolor="#444444", linewidth=0.4)
    axes.axhline(0, color="black", linewidth=0.6)
    axes.set_xticks(places, labels, rotation=90, fontsize=min(7.5, 300 / len(labels)), parse_math=False)
    axes.set_xlim(-0.6, len(predictions) - 0.4)
    axes.grid(visible=False, axis="x")
