"""Draws a picture for a paper: a sentence and the window before it, with the facts that the page shows."""

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

from ps_models.analysis.predictions import HELP_LEVELS, MAX_SENTENCE_TOKENS, SURPRISE_LEVELS, Prediction
from ps_models.errors import ModelError
from wikitext_builder.charts import expect_picture, write_picture
from wikitext_builder.dataset.vocabulary import EOS, UNK, Vocabulary

DPI: Final = 200
STYLE: Final[dict[str, Any]] = {"svg.fonttype": "none", "font.size": 8.5}
PAGE_INCHES = 6.5  # the width of a page's text
POINTS_PER_INCH = 72
LETTER_POINTS, LINE_POINTS, SPACE_POINTS = 8.0, 17.0, 3.5
MAX_BAR_POINTS = 6.0  # of the bar under a word that gets all attention
MAX_WORD_CHARACTERS = 40
GREY = "#595959"
VOCABULARY, POINTER = "#0072B2", "#D55E00"
HELP = ("#ffffff", "#d9f0d3", "#a6dba0", "#5aae61")  # by HELP_LEVELS; the same as on the page
HARM = ("#ffffff", "#e7d4e8", "#c2a5cf", "#a886bd")
SURPRISE = ("#ffffff", "#fdf0d5", "#fdd49e", "#fc9f5b")  # by SURPRISE_LEVELS


class PlacedWord(NamedTuple):
    """A word of the text block, in points from its top left corner."""

    text: str
    left: float
    width: float
    line: int

    @property
    def base(self) -> float:
        """The base line of its letters, in points from the top."""
        return (self.line + 1) * LINE_POINTS - 4


def save_picture(
    path: Path, predictions: Sequence[Prediction], vocabulary: Vocabulary, originals: Sequence[str] = ()
) -> None:
    """Draw a sentence with its window as PNG, SVG or PDF; see `draw_sentence`."""
    expect_picture(path, ModelError)
    if not 1 <= len(predictions) <= MAX_SENTENCE_TOKENS:
        raise ModelError(
            f"--words {len(predictions)}: a picture shows 1 to {MAX_SENTENCE_TOKENS} words; a page shows more"
        )
    write_picture(path, lambda: draw_sentence(predictions, vocabulary, originals), dpi=DPI, **STYLE)


def level_of(gain: float) -> int:
    """Return the step of colour, -3 to 3, by HELP_LEVELS.

    >>> level_of(0.0), level_of(math.log(2)), level_of(-9.0)
    (0, 2, -3)
    """
    step = sum(abs(gain) >= math.log(level) for level in HELP_LEVELS)
    return step if gain > 0 else -step


def colour_of(prediction: Prediction) -> str:
    """Return the colour of what the pointer added to a word; without a pointer, of the model's surprise."""
    if prediction.gain is None:
        nats = -math.log(prediction.probability) if prediction.probability else math.inf
        return SURPRISE[sum(nats >= level for level in SURPRISE_LEVELS)]
    return (HELP if prediction.gain > 0 else HARM)[abs(level_of(prediction.gain))]


def draw_sentence(
    predictions: Sequence[Prediction], vocabulary: Vocabulary, originals: Sequence[str] = ()
) -> Figure:
    """Draw the words of the window, then the sentence's words in their colours; unknown words have none.

    A box marks the known word to which the pointer added most, and bars show its attention. `originals` are
    the words of window and sentence before rare ones became `<unk>`, or none.
    """
    window = predictions[0].window
    words = originals or vocabulary.decode([*window, *(prediction.word for prediction in predictions)])
    placed = _place_words(words)
    height = (placed[-1].line + 1) * LINE_POINTS + 36
    figure = Figure(figsize=(PAGE_INCHES, height / POINTS_PER_INCH))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, PAGE_INCHES * POINTS_PER_INCH), ylim=(height, 0))
    axes.set_axis_off()
    for word in placed[: len(window)]:
        axes.text(word.left, word.base, word.text, fontsize=LETTER_POINTS, color=GREY, parse_math=False)
    unknown = vocabulary.encode([UNK])
    for word, prediction in zip(placed[len(window) :], predictions, strict=True):
        is_known = prediction.word not in unknown
        if is_known:
            _add_box(axes, word, 1, color=colour_of(prediction), lw=0)
        style = "normal" if is_known else "italic"
        axes.text(word.left, word.base, word.text, fontsize=LETTER_POINTS, fontstyle=style, parse_math=False)
    key = "Italics, white: <unk> to the model."
    if predictions[0].gain is None:
        odds = ", ".join(f"{math.exp(nats):,.0f}" for nats in SURPRISE_LEVELS)
        key = f"Orange: a probability of at most one in {odds}. {key}"
    else:
        steps = ", ".join(f"{level:g}" for level in HELP_LEVELS)
        key = f"Green: with the pointer at least {steps} times as likely; violet: as many times less. {key}"
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
    axes.text(SPACE_POINTS, placed[-1].base + 22, key, fontsize=7, color=GREY, parse_math=False)
    return figure


def _place_words(words: Sequence[str]) -> list[PlacedWord]:
    placed, left, line = list[PlacedWord](), SPACE_POINTS, 0
    for word in words:
        text = (
            "¶"
            if word == EOS
            else word
            if len(word) <= MAX_WORD_CHARACTERS
            else f"{word[: MAX_WORD_CHARACTERS - 1]}…"
        )
        width: float = text_to_path.get_text_width_height_descent(
            text, FontProperties(size=LETTER_POINTS), False
        )[0]
        if left + width > PAGE_INCHES * POINTS_PER_INCH - SPACE_POINTS:
            left, line = SPACE_POINTS, line + 1
        placed.append(PlacedWord(text, left, width, line))
        left += width + SPACE_POINTS
    return placed


def _draw_attention(axes: Axes, placed: Sequence[PlacedWord], place: int, prediction: Prediction) -> None:
    """Draw a box around a word, and a bar under each word that the pointer looked at."""
    _add_box(axes, placed[place], 1.5, fill=False, lw=1)
    total = sum(share for _, share in prediction.attention)
    for back, share in prediction.attention:
        word = placed[place - back]
        size = (word.width, 0.3 + MAX_BAR_POINTS * share / total)
        axes.add_patch(Rectangle((word.left, word.base + 3.5), *size, color=POINTER, lw=0))


def _add_box(axes: Axes, word: PlacedWord, margin: float, **style: Any) -> None:
    corner = word.left - margin, word.base - LETTER_POINTS
    axes.add_patch(Rectangle(corner, word.width + 2 * margin, LETTER_POINTS + 3, **style))
