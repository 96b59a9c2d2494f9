"""A picture for a paper: a sentence with the window before it, drawn from what the page shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Rectangle
from matplotlib.textpath import text_to_path

from ps_models.analysis.predictions import HELP_LEVELS, LONGEST_SENTENCE, SURPRISE_LEVELS, Prediction
from ps_models.errors import ModelError
from wikitext_builder.charts import expect_picture, write_picture
from wikitext_builder.dataset.vocabulary import EOS, UNK, Vocabulary

DPI: Final = 200
LOOK: Final[dict[str, Any]] = {"svg.fonttype": "none", "font.size": 8.5}
WIDTH = 6.5  # inches: the text of a page
POINTS = 72  # per inch
SIZE, LINE, GAP = 8.0, 17.0, 3.5  # of the text in points: letters, lines, spaces
THICKEST = 6.0  # points of the bar under a word that has all attention
LONGEST = 40  # characters of a word
QUIET = "#595959"
VOCABULARY, POINTER = "#0072B2", "#D55E00"
HELP = ("#ffffff", "#d9f0d3", "#a6dba0", "#5aae61")  # by HELP_LEVELS; the same as in explain.css
HARM = ("#ffffff", "#e7d4e8", "#c2a5cf", "#a886bd")
SURPRISE = ("#ffffff", "#fdf0d5", "#fdd49e", "#fc9f5b")  # by SURPRISE_LEVELS


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


def save_picture(
    path: Path, predictions: Sequence[Prediction], vocabulary: Vocabulary, originals: Sequence[str] = ()
) -> None:
    """Draw a sentence with its window as PNG, SVG or PDF; see `draw_sentence`."""
    expect_picture(path, ModelError)
    if not 1 <= len(predictions) <= LONGEST_SENTENCE:
        raise ModelError(
            f"--words {len(predictions)}: a picture shows 1 to {LONGEST_SENTENCE} words; a page can show more"
        )
    write_picture(path, lambda: draw_sentence(predictions, vocabulary, originals), dpi=DPI, **LOOK)


def level_of(gain: float) -> int:
    """The step of colour: -3 to 3, by HELP_LEVELS.

    >>> level_of(0.0), level_of(math.log(2)), level_of(-9.0)
    (0, 2, -3)
    """
    step = sum(abs(gain) >= math.log(level) for level in HELP_LEVELS)
    return step if gain > 0 else -step


def colour_of(prediction: Prediction) -> str:
    """What the pointer added to a word; without a pointer, how surprised the model was."""
    if prediction.gain is None:
        nats = -math.log(prediction.probability) if prediction.probability else math.inf
        return SURPRISE[sum(nats >= level for level in SURPRISE_LEVELS)]
    return (HELP if prediction.gain > 0 else HARM)[abs(level_of(prediction.gain))]


def draw_sentence(
    predictions: Sequence[Prediction], vocabulary: Vocabulary, originals: Sequence[str] = ()
) -> Figure:
    """Words in their colours after the words of the window; unknown words have no colour.

    The attention is that of the known word to which the pointer added most, in a box. `originals` are the
    words of window and sentence before rare ones became `<unk>`, or none.
    """
    window = predictions[0].window
    words = originals or vocabulary.decode([*window, *(prediction.word for prediction in predictions)])
    placed = _placed(words)
    height = (placed[-1].line + 1) * LINE + 36
    figure = Figure(figsize=(WIDTH, height / POINTS))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, WIDTH * POINTS), ylim=(height, 0))
    axes.set_axis_off()
    for word in placed[: len(window)]:
        axes.text(word.left, word.base, word.text, fontsize=SIZE, color=QUIET, parse_math=False)
    unknown = vocabulary.encode([UNK])
    for word, prediction in zip(placed[len(window) :], predictions, strict=True):
        known = prediction.word not in unknown
        if known:
            _add_box(axes, word, 1, color=colour_of(prediction), lw=0)
        style = "normal" if known else "italic"
        axes.text(word.left, word.base, word.text, fontsize=SIZE, fontstyle=style, parse_math=False)
    key = "Italics, white: <unk> to the model."
    if predictions[0].gain is None:
        odds = ", ".join(f"{math.exp(nats):,.0f}" for nats in SURPRISE_LEVELS)
        key = f"Orange: a probability of at most one in {odds}. {key}"
    else:
        steps = ", ".join(f"{level:g}" for level in HELP_LEVELS)
        key = f"Green: with the pointer at least {steps} times as likely; violet: divided by as much. {key}"
    helped = [
        (prediction.gain, len(window) + place)
        for place, prediction in enumerate(predictions)
        if prediction.gain is not None and prediction.attention and prediction.word not in unknown
        if vocabulary.tokens[prediction.word] != EOS
    ]
    if helped:
        _, place = max(helped)
        boxed = predictions[place - len(window)]
        _draw_attention(axes, placed, place, boxed)
        key += f"\nGrey: the window. Bars: attention for the word in the box, gate {boxed.gate:.2f}."
    axes.text(GAP, placed[-1].base + 22, key, fontsize=7, color=QUIET, parse_math=False)
    return figure


def _placed(words: Sequence[str]) -> list[Placed]:
    placed, left, line = list[Placed](), GAP, 0
    for word in words:
        text = "¶" if word == EOS else word if len(word) <= LONGEST else f"{word[: LONGEST - 1]}…"
        width: float = text_to_path.get_text_width_height_descent(text, FontProperties(size=SIZE), False)[0]
        if left + width > WIDTH * POINTS - GAP:
            left, line = GAP, line + 1
        placed.append(Placed(text, left, width, line))
        left += width + GAP
    return placed


def _draw_attention(axes: Axes, placed: Sequence[Placed], place: int, prediction: Prediction) -> None:
    """A box around a word, and a bar under each word that the pointer looked at."""
    _add_box(axes, placed[place], 1.5, fill=False, lw=1)
    pointed = sum(share for _, share in prediction.attention)
    for back, share in prediction.attention:
        seen = placed[place - back]
        size = (seen.width, 0.3 + THICKEST * share / pointed)
        axes.add_patch(Rectangle((seen.left, seen.base + 3.5), *size, color=POINTER, lw=0))


def _add_box(axes: Axes, word: Placed, margin: float, **look: Any) -> None:
    corner = word.left - margin, word.base - SIZE
    axes.add_patch(Rectangle(corner, word.width + 2 * margin, SIZE + 3, **look))
