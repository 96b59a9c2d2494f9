"""Pictures for a paper: a sentence with its window, or one prediction with its distributions."""

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

from ps_models.analysis.predictions import HELP_LEVELS, LONGEST_SENTENCE, Distribution, Prediction
from ps_models.errors import ModelError
from wikitext_builder.charts import expect_picture, write_picture
from wikitext_builder.dataset.vocabulary import EOS, UNK, Vocabulary

HEADING = 10  # how many of the words before the predicted one are in the title
SHOWN = 6  # words of a distribution, and places of a window
DPI: Final = 200
LOOK: Final[dict[str, Any]] = {"svg.fonttype": "none", "font.size": 8.5}


def save_picture(
    path: Path, predictions: Sequence[Prediction], vocabulary: Vocabulary, originals: Sequence[str] = ()
) -> None:
    """Draw predictions as PNG, SVG or PDF: one word with its distributions, or a sentence with its window.

    `originals` are the words of the sentence before rare ones became `<unk>`, if they are known.
    """
    expect_picture(path, ModelError)
    if not 1 <= len(predictions) <= LONGEST_SENTENCE:
        raise ModelError(
            f"--words {len(predictions)}: a picture shows 1 to {LONGEST_SENTENCE} words; a page can show more"
        )
    write_picture(path, lambda: _drawn(predictions, vocabulary, originals), dpi=DPI, **LOOK)


def _drawn(predictions: Sequence[Prediction], vocabulary: Vocabulary, originals: Sequence[str]) -> Figure:
    if len(predictions) == 1:
        return draw_word(predictions[0], vocabulary)
    return draw_sentence(predictions, vocabulary, originals)


def draw_word(prediction: Prediction, vocabulary: Vocabulary) -> Figure:
    """A panel for each distribution that there is, and one for the window if the pointer looks at it."""
    parts = {
        "vocabulary": (prediction.vocabulary, VOCABULARY),
        "pointer": (prediction.pointer if prediction.pointer and prediction.pointer.top else None, POINTER),
        "mixture": (prediction.mixture, MIXTURE),
    }
    panels = {
        title: (_likely(part, prediction.word, vocabulary), colour)
        for title, (part, colour) in parts.items()
        if part is not None
    }
    if prediction.attention:
        places = [(back, prediction.window[-back], share) for back, share in prediction.attention[:SHOWN]]
        rows = [(f"{vocabulary.tokens[word]} −{back}", share, word) for back, word, share in places]
        panels = {"attention, words back": (rows, POINTER)} | panels
    figure = Figure(figsize=(max(3.4, 2.2 * len(panels)), 2.6), layout="constrained")
    before = " ".join(vocabulary.decode(prediction.window[-HEADING:]))
    rank = "impossible" if prediction.mixture.rank is None else f"rank {prediction.mixture.rank:,}"
    heading = f"{before} [{vocabulary.tokens[prediction.word]}]\np = {prediction.probability:.3g}, {rank}"
    if prediction.gate is not None:
        heading += f", gate g = {prediction.gate:.2f}, the pointer added {prediction.gain:+.2f} nats"
    figure.suptitle(heading, fontsize=9, parse_math=False)
    columns = figure.subplots(1, len(panels), squeeze=False, sharex=True)[0]
    for axes, (title, (rows, colour)) in zip(columns, panels.items(), strict=True):
        _draw_shares(axes, title, rows, prediction.word, colour)
    return figure


def _likely(part: Distribution, true: int, vocabulary: Vocabulary) -> list[tuple[str, float, int]]:
    """The most likely words, and the true word below them if it is not one of them, with its rank."""
    rows = [(vocabulary.tokens[word], share, word) for word, share in part.top[:SHOWN]]
    if true not in [word for _, _, word in rows]:
        rank = "" if part.rank is None else f"{part.rank:,}. "
        rows.append((f"{rank}{vocabulary.tokens[true]}", part.probability, true))
    return rows


def _draw_shares(
    axes: Axes, title: str, rows: Sequence[tuple[str, float, int]], true: int, colour: str
) -> None:
    axes.barh(range(len(rows)), [share for _, share, _ in rows], color=colour)
    axes.set_yticks(range(len(rows)), [name for name, _, _ in rows], parse_math=False)
    for label, (_, _, word) in zip(axes.get_yticklabels(), rows, strict=True):
        label.set_fontweight("bold" if word == true else "normal")
    axes.grid(visible=False, axis="y")
    axes.invert_yaxis()
    axes.set_title(title, fontsize=9)


WIDTH = 6.5  # inches: the text of a page
POINTS = 72  # per inch
SIZE, LINE, GAP = 8.0, 17.0, 3.5  # of the text in points: letters, lines, spaces
THICKEST = 6.0  # points of the bar under a word that has all attention
CHART = 1.9  # inches: height of the bars
LONGEST, LABEL = 40, 16  # characters of a word, in the text and under a bar
QUIET = "#595959"
VOCABULARY, POINTER, MIXTURE = "#0072B2", "#D55E00", "#555555"
HELP = ("#ffffff", "#d9f0d3", "#a6dba0", "#5aae61")  # by HELP_LEVELS; the same as in explain.css
HARM = ("#ffffff", "#e7d4e8", "#c2a5cf", "#a886bd")


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
    `originals` are the words of window and sentence before rare ones became `<unk>`, or none.
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
    boxed, most = None, -math.inf  # the known word to which the pointer added most, and what it added
    for word, shown, is_unknown in zip(placed[before:], predictions, unknown, strict=True):
        if shown.gain is not None and not is_unknown:
            colour = (HELP if shown.gain > 0 else HARM)[abs(level_of(shown.gain))]
            _add_box(axes, word, 1, color=colour, lw=0)
            if shown.attention and word.text != "¶" and shown.gain > most:
                boxed, most = (word, shown), shown.gain
        style = "italic" if is_unknown else "normal"
        axes.text(word.left, word.base, word.text, fontsize=SIZE, fontstyle=style, parse_math=False)
    if boxed is None:
        return
    word, shown = boxed
    _add_box(axes, word, 1.5, fill=False, lw=1)
    pointed = sum(share for _, share in shown.attention)
    for back, share in shown.attention:
        seen = placed[placed.index(word) - back]
        size = (seen.width, 0.3 + THICKEST * share / pointed)
        axes.add_patch(Rectangle((seen.left, seen.base + 3.5), *size, color=POINTER, lw=0))
    steps = ", ".join(f"{level:g}" for level in HELP_LEVELS)
    key = (
        f"Green: with the pointer at least {steps} times as likely; violet: divided by as much."
        " Italics, white: <unk> to the model.\n"
        f"Grey: the window. Bars under words: attention for the word in the box, gate {shown.gate:.2f}."
    )
    axes.text(GAP, placed[-1].base + 22, key, fontsize=7, color=QUIET, parse_math=False)


def _add_box(axes: Axes, word: Placed, margin: float, **look: Any) -> None:
    corner = word.left - margin, word.base - SIZE
    axes.add_patch(Rectangle(corner, word.width + 2 * margin, SIZE + 3, **look))


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
