"""Charts as SVG in a page: no script and no style attribute, as a strict content policy demands.

Colours are presentation attributes. Text and axes have the colour of the page's text, so that they can be
read on dark and on light.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

COLORS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")  # Okabe and Ito 2008
WIDTH, HEIGHT = 560, 330
LEFT, RIGHT, BOTTOM = 66, 12, 46  # around the plot, in units of the drawing
LEGEND: Final = 18  # height of a line of the legend
PALE: Final = 0.35  # opacity of a bar that says little
LONGEST_NAME: Final = 48  # characters in a legend
HIGHEST: Final = 1e150  # a value beyond has no place: its axis would reach to infinity
LOWEST: Final = 1 / HIGHEST  # of what has a logarithm, and of differences
MARGIN: Final = 0.04  # of an axis, before the first value and after the last
DASHES: Final = ("", "8 4", "2 3")  # of curves, if there are more than colours
TICKS: Final = 6  # about, per linear axis

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Bar:
    """A value, and how far its error bar goes from it, up and down."""

    value: float
    error: float | None = None  # None: no error bar

    @property
    def low(self) -> float:
        """The lower end of the error bar."""
        return self.value - (self.error or 0.0)

    @property
    def high(self) -> float:
        """The upper end of the error bar."""
        return self.value + (self.error or 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """Maps a range of values to positions in the drawing."""

    low: float
    high: float
    begin: float  # position of `low`
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """The position of a value."""
        low, high, value = (
            (math.log10(x) for x in (self.low, self.high, value))
            if self.log
            else (self.low, self.high, value)
        )
        return self.begin + (self.end - self.begin) * (value - low) / (high - low)

    def ticks(self) -> list[float]:
        """Round values in the range."""
        if self.log:
            decades = range(math.ceil(math.log10(self.low)), math.floor(math.log10(self.high)) + 1)
            found = [10.0**decade for decade in decades]
            return found if len(found) > 1 else _round(self.low, self.high)
        return _round(self.low, self.high)


def line_chart(
    title: str,
    curves: Mapping[str, Points],
    *,
    x_label: str,
    y_label: str,
    log_x: bool = False,
    log_y: bool = False,
    x_ticks: Mapping[float, str] | None = None,
) -> str:
    """Curves over a common axis. Points without a logarithm are left out on logarithmic axes.

    Args:
        title: What a screen reader says for the drawing.
        curves: By name.
        x_label: Of the horizontal axis.
        y_label: Of the vertical axis.
        log_x: Whether the horizontal axis is logarithmic.
        log_y: Whether the vertical axis is.
        x_ticks: Labels of the horizontal axis by value; None: round numbers.
    """
    shown = {
        name: [(x, y) for x, y in points if _can_show(x, log=log_x) and _can_show(y, log=log_y)]
        for name, points in curves.items()
    }
    points = [point for curve in shown.values() for point in curve]
    if not points:
        return ""
    top = _top(shown)
    x_axis = _axis([x for x, _ in points], LEFT, WIDTH - RIGHT, log=log_x)
    y_axis = _axis([y for _, y in points], top + HEIGHT - BOTTOM, top, log=log_y)
    if x_ticks is None:
        whole = all(x == round(x) for x, _ in points)  # then half an epoch is no tick
        x_ticks = {tick: _number(tick) for tick in x_axis.ticks() if tick == round(tick) or not whole}
    drawn = [*_frame(x_axis, x_ticks, y_axis, x_label, y_label, top), *_legend(list(shown), lines=True)]
    for color, dashes, curve in zip(_colors(len(shown)), _dashes(len(shown)), shown.values(), strict=True):
        path = " ".join(f"{x_axis(x):.1f},{y_axis(y):.1f}" for x, y in curve)
        drawn.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"{dashes}/>')
        if len(curve) <= TICKS:
            drawn += [
                f'<circle cx="{x_axis(x):.1f}" cy="{y_axis(y):.1f}" r="3" fill="{color}"/>' for x, y in curve
            ]
    return _svg(title, top + HEIGHT, drawn)


def bar_chart(
    title: str,
    labels: Sequence[str],
    series: Mapping[str, Sequence[Bar | None]],
    *,
    y_label: str,
    pale: Sequence[bool] = (),
) -> str:
    """Bars for each label, from zero; None leaves a gap.

    Args:
        title: What a screen reader says for the drawing.
        labels: Of the groups of bars.
        series: A bar per label, by name.
        y_label: Of the vertical axis.
        pale: By label, whether its bars are pale, because they say little.
    """
    shown = {
        name: [bar if bar is not None and _has_place(bar) else None for bar in row]
        for name, row in series.items()
    }
    bars = [bar for row in shown.values() for bar in row if bar is not None]
    if not bars:
        return ""
    top, room = _top(series), 54  # the labels are slanted
    base = top + HEIGHT - room
    y_axis = _axis([0.0, *(end for bar in bars for end in (bar.low, bar.high))], base, top)
    step = (WIDTH - LEFT - RIGHT) / len(labels)
    width = 0.8 * step / len(series)
    drawn = [*_grid(y_axis), _text(14, (top + base) / 2, y_label, "middle", turn=-90), *_legend(list(series))]
    for place, label in enumerate(labels):
        middle = LEFT + (place + 0.5) * step
        drawn.append(_text(middle + 4, base + 14, label, "end", turn=-25))
        opacity = PALE if place < len(pale) and pale[place] else 1.0
        for number, (color, row) in enumerate(zip(_colors(len(series)), shown.values(), strict=True)):
            if (bar := row[place]) is not None:
                left = middle + (number - len(series) / 2) * width
                drawn += _drawn_bar(bar, y_axis, left, width, color, opacity)
    zero = f"{y_axis(0):.1f}"
    drawn.append(f'<path d="M{LEFT} {zero}H{WIDTH - RIGHT}" stroke="currentColor"/>')
    return _svg(title, top + HEIGHT + 12, drawn)


def _drawn_bar(bar: Bar, y_axis: Axis, left: float, width: float, color: str, opacity: float) -> list[str]:
    ends = sorted((y_axis(0), y_axis(bar.value)))
    size = f'width="{width:.1f}" height="{ends[1] - ends[0]:.1f}"'
    paint = f'fill="{color}"' + (f' opacity="{opacity:g}"' if opacity < 1 else "")
    drawn = [f'<rect x="{left:.1f}" y="{ends[0]:.1f}" {size} {paint}/>']
    if bar.error is not None:
        low, high, middle, arm = y_axis(bar.low), y_axis(bar.high), left + width / 2, min(3.0, width / 3)
        arms = f"M{middle - arm:.1f} {low:.1f}h{2 * arm:.1f}M{middle - arm:.1f} {high:.1f}h{2 * arm:.1f}"
        drawn.append(
            f'<path d="M{middle:.1f} {low:.1f}V{high:.1f}{arms}" class="error" stroke="currentColor"/>'
        )
    return drawn


def _frame(
    x_axis: Axis, ticks: Mapping[float, str], y_axis: Axis, x_label: str, y_label: str, top: float
) -> list[str]:
    base = top + HEIGHT - BOTTOM
    return [
        *_grid(y_axis),
        f'<path d="M{LEFT} {top}V{base:.1f}H{WIDTH - RIGHT}" fill="none" stroke="currentColor"/>',
        *(f'<path d="M{x_axis(tick):.1f} {base:.1f}v5" stroke="currentColor"/>' for tick in ticks),
        *(_text(x_axis(tick), base + 16, label, "middle") for tick, label in ticks.items()),
        _text((LEFT + WIDTH - RIGHT) / 2, top + HEIGHT - 8, x_label, "middle"),
        _text(14, (top + base) / 2, y_label, "middle", turn=-90),
    ]


def _grid(y_axis: Axis) -> list[str]:
    lines = []
    for tick in y_axis.ticks():
        y = y_axis(tick)
        lines.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="currentColor" opacity=".15"/>')
        lines.append(_text(LEFT - 6, y + 4, _number(tick), "end"))
    return lines


def _legend(names: Sequence[str], *, lines: bool = False) -> list[str]:
    drawn = []
    for number, (color, dashes, name) in enumerate(
        zip(_colors(len(names)), _dashes(len(names)), names, strict=True)
    ):
        y = LEGEND * number + 12
        sample = f'<rect x="{LEFT}" y="{y - 9}" width="12" height="12" fill="{color}"/>'
        line = f'<path d="M{LEFT} {y - 3}h22" fill="none" stroke="{color}" stroke-width="3"{dashes}/>'
        drawn.append(line if lines else sample)
        drawn.append(_text(LEFT + 28, y + 1, _cut(name), "start"))
    return drawn


def _svg(title: str, height: float, drawn: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:g}" role="img" aria-label="{html.escape(title)}"'
        f' font-size="12" fill="currentColor">{"".join(drawn)}</svg>'
    )


def _text(x: float, y: float, text: str, anchor: str, *, turn: float = 0) -> str:
    turned = f' transform="rotate({turn:g} {x:.1f} {y:.1f})"' if turn else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{turned}>{html.escape(text)}</text>'


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"


def _top(series: Mapping[str, object]) -> float:
    return LEGEND * len(series) + 10


def _colors(count: int) -> list[str]:
    return [COLORS[number % len(COLORS)] for number in range(count)]


def _dashes(count: int) -> list[str]:
    kinds = [DASHES[number // len(COLORS) % len(DASHES)] for number in range(count)]
    return [f' stroke-dasharray="{kind}"' if kind else "" for kind in kinds]


def _can_show(value: float, *, log: bool) -> bool:
    return abs(value) < HIGHEST and (value > LOWEST or not log)


def _has_place(bar: Bar) -> bool:
    return all(_can_show(end, log=False) for end in (bar.value, bar.low, bar.high))


def _axis(values: Sequence[float], begin: float, end: float, *, log: bool = False) -> Axis:
    low, high = min(values), max(values)
    least = 0.0 if log else LOWEST
    if math.isclose(low, high, abs_tol=least):  # a share of next to nothing would be no margin
        room = max(0.5, 1e-6 * abs(low))
        low, high = (low / 2, high * 2) if log else (low - room, high + room)
    elif log:
        factor = (high / low) ** MARGIN
        low, high = low / factor, high * factor
    else:
        margin = MARGIN * (high - low)
        low, high = low - (margin if low else 0), high + (margin if high else 0)
    return Axis(low=low, high=high, begin=begin, end=end, log=log)


def _round(low: float, high: float) -> list[float]:
    """About TICKS multiples of 1, 2 or 5 times a power of ten."""
    raw = (high - low) / TICKS
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw * 0.999)
    return [
        step * number for number in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    ]


def _number(value: float) -> str:
    """The short label of a tick.

    >>> _number(0.30000000000000004), _number(800.0), _number(20000.0), _number(3e6), _number(1e-05)
    ('0.3', '800', '20k', '3M', '1e-05')
    """
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.6g}{letter}"
    return f"{value:.6g}"
