"""Draws charts with matplotlib, as SVG inside a page or as a picture file.

The content policy of our pages forbids style attributes, so each style of a chart becomes an attribute with
its name. Text and axes have the colour of the page's text, so that they are legible on dark and on light. The
same data give the same bytes with the same version of matplotlib: no date, a fixed salt for the ids of an
SVG, matplotlib's default style. matplotlib is imported where it is used, because its import is slow.
"""

from __future__ import annotations

import html
import io
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from wikitext_builder.errors import ToolkitError
from wikitext_builder.tables import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

STYLE: Final = {
    "svg.hashsalt": "wikitext-builder",
    "pdf.fonttype": 42,  # TrueType: publishers refuse matplotlib's own default, Type 3
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e5e5e5",
    "axes.axisbelow": True,
}
COLORS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")  # Okabe and Ito 2008
PICTURES: Final[dict[str, dict[str, None]]] = {  # by ending: metadata that a file leaves out
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
    ".pdf": {"CreationDate": None, "ModDate": None},
}
PICTURE_ENDINGS: Final = " or ".join(", ".join(PICTURES).rsplit(", ", 1))  # for `--help`
FONT_SIZE: Final = 12.5  # size of text in the page, in the drawing's units
INK: Final = "#010203"  # stands for the colour of the page's text
PAGE_STYLE: Final[dict[str, Any]] = {
    **STYLE,
    "svg.fonttype": "none",
    "font.size": FONT_SIZE + 1,  # leaves room for a browser's font, which can be wider
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK),
    "grid.color": INK,
    "grid.alpha": 0.15,
    "legend.frameon": False,
    "legend.loc": "lower left",
    "legend.borderaxespad": 0,
    "legend.labelspacing": 0.25,
}
NO_METADATA: Final = dict.fromkeys(("Date", "Creator", "Format", "Type"))
AXES_INCHES, LEGEND_LINE_INCHES = 4.2, 0.26  # inches: the axes, and each line of the legend
MAX_LABEL_CHARACTERS: Final = 48  # characters in a legend
MAX_VALUE: Final = 1e150  # greater values are not drawn: the axis would reach infinity
MIN_LOGARITHMIC: Final = 1 / MAX_VALUE  # the least value on a logarithmic axis
DASHES: Final = ("-", (0, (4, 2)), (0, (1, 1.5)))  # styles of curves that share a colour
MARKERS: Final = "osD"  # markers of their points, in the same order
MAX_MARKED_POINTS: Final = 6  # a curve with at most this many points marks them

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Bar:
    """A value, and the length of its error bar, up and down from the value."""

    value: float
    error: float | None = None  # None: no error bar


class Chart(str):
    """A chart as SVG for a page; "" if there is nothing to show."""

    __slots__ = ("figure",)
    figure: Callable[[], Figure]  # draws the chart again, for a file

    def save(self, path: Path) -> Path:
        """Write the chart to a file: PNG, SVG or PDF, by the file's ending."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return write_picture(path, self.figure, **PAGE_STYLE)


def line_chart(
    title: str,
    curves: Mapping[str, Points],
    *,
    x_label: str,
    y_label: str,
    log_x: bool = False,
    log_y: bool = False,
    curves_per_color: int = 1,
) -> Chart:
    """Draw curves over a common axis, as SVG; "" if there is nothing to show. Screen readers read the title.

    Logarithmic axes leave out points without a logarithm. `curves_per_color` successive curves share a colour
    and differ in their dashes, such as data and its fit.
    """
    drawn = {
        name: [(x, y) for x, y in points if _can_show(x, log=log_x) and _can_show(y, log=log_y)]
        for name, points in curves.items()
    }
    points = [point for curve in drawn.values() for point in curve]
    if not points:
        return Chart()

    def draw(axes: Axes) -> None:
        for number, (name, curve) in enumerate(drawn.items()):
            cycle, color = divmod(number // curves_per_color, len(COLORS))
            dashes = (cycle + number % curves_per_color) % len(DASHES)
            axes.plot(
                *zip(*curve, strict=True) if curve else ([], []),
                color=COLORS[color],
                linestyle=DASHES[dashes],
                linewidth=2,
                marker=MARKERS[dashes] if len(curve) <= MAX_MARKED_POINTS else "",
                markersize=5,
                label=_legend_label(name),
                gid="curve",
            )
        axes.set(xlabel=x_label, ylabel=y_label)
        axes.set(xscale="log" if log_x else "linear", yscale="log" if log_y else "linear")
        _set_ticks(axes.xaxis, [x for x, _ in points], log=log_x)
        _set_ticks(axes.yaxis, [y for _, y in points], log=log_y)

    return _inline(title, list(drawn), draw, [name for name, curve in drawn.items() if curve])


def bar_chart(
    title: str,
    labels: Sequence[str],
    series: Mapping[str, Sequence[Bar | None]],
    *,
    y_label: str,
    baseline: str = "",
) -> Chart:
    """Draw bars from zero for each label, as SVG; "" if there is nothing to show. None leaves a gap.

    `baseline` names what zero stands for. Pointing at a bar shows its number, elsewhere the title; a screen
    reader reads the title.
    """
    if not any(_is_drawn(bar) for bars in series.values() for bar in bars):
        return Chart()

    titles: list[str] = []

    def draw(axes: Axes) -> None:
        width = 0.8 / len(series)
        for number, (name, bars) in enumerate(series.items()):
            look: dict[str, Any] = {"width": width, "align": "edge", "color": COLORS[number % len(COLORS)]}
            axes.bar([0], [0], label=_legend_label(name), **look)  # for the legend
            for place, bar in enumerate(bars):
                if bar is None or not _is_drawn(bar):
                    continue
                left = place + (number - len(series) / 2) * width
                axes.bar([left], [bar.value], **look)[0].set_gid("bar")
                titles.append(f"{name}, {labels[place]}: {bar.value:+.4f}")
                if bar.error is not None:
                    error_bar = axes.errorbar(
                        left + width / 2, bar.value, bar.error, fmt="none", ecolor=INK, capsize=2
                    )
                    error_bar.lines[2][0].set_gid("error")
        zero = f"0: {_legend_label(baseline)}" if baseline else None
        axes.axhline(0, color=INK, linewidth=1, label=zero)
        axes.set_xticks(range(len(labels)), list(map(_legend_label, labels)), rotation=25, ha="right")
        axes.set(xlim=(-0.5, len(labels) - 0.5), ylabel=y_label)
        axes.grid(visible=False, axis="x")
        _set_ticks(axes.yaxis, [], log=False)

    return _inline(title, [*([baseline] if baseline else []), *series], draw, titles)


def _inline(title: str, names: Sequence[str], draw: Callable[[Axes], None], titles: Sequence[str]) -> Chart:
    """Return a drawing with a legend of names, as SVG for a page.

    A browser shows an entry of `titles` when the pointer is over its curve or bar.
    """
    from matplotlib import style
    from matplotlib.figure import Figure

    def figure() -> Figure:
        drawing = Figure(figsize=(7.2, AXES_INCHES + LEGEND_LINE_INCHES * len(names)), layout="constrained")
        draw(axes := drawing.subplots())
        axes.legend(bbox_to_anchor=(0, 1))
        return drawing

    with style.context(["default", PAGE_STYLE], after_reset=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # letters absent from matplotlib's font: the browser has more fonts
        buffer = io.StringIO()
        figure().savefig(buffer, format="svg", transparent=True, metadata=NO_METADATA)
    chart = Chart(_for_page(buffer.getvalue(), title, titles))
    chart.figure = figure
    return chart


def _for_page(svg: str, title: str, titles: Sequence[str]) -> str:
    """Return an SVG as an element of a page: no style attributes, no ids that two charts could share."""
    (box,) = re.findall(r'viewBox="[^"]+"', svg[: svg.index("<g ")])
    body = svg[svg.index("<g ") :]
    body = re.sub(r'(<[a-z][^<>]*) style="([^"]*)"', lambda match: match[1] + _attributes(match[2]), body)
    body = re.sub(r'<g id="([a-z]+)[^"]*">', r'<g class="\1">', body).replace(INK, "currentColor")
    body, *parts = re.split(r'(?<=<g class="curve">)|(?<=<g class="bar">)', body)
    body += "".join(f"{_title(name)}{part}" for name, part in zip(titles, parts, strict=True))
    return (
        f'<svg {box} role="img" aria-label="{html.escape(title)}" font-size="{FONT_SIZE}" fill="currentColor"'
        f' stroke-linejoin="round" xmlns:xlink="http://www.w3.org/1999/xlink">{_title(title)}{body}'
    ).rstrip()


def _title(text: str) -> str:
    """Return the text that a browser shows when the pointer is over an SVG element."""
    return f"<title>{html.escape(one_line(text))}</title>"


def _attributes(style: str) -> str:
    declarations = (declaration.partition(": ") for declaration in style.split("; "))
    return "".join(f' {name}="{value}"' for name, _, value in declarations if not name.startswith("font"))


def _legend_label(name: str) -> str:
    """Return a name as one line for a legend; a long name loses its middle, as names differ at their ends.

    matplotlib would hide a label that begins with `_`.
    """
    short, half = one_line(name), MAX_LABEL_CHARACTERS // 2
    if len(short) > MAX_LABEL_CHARACTERS:
        short = f"{short[:half]}…{short[1 - half :]}"
    return f"\u200b{short}" if short.startswith("_") else short


def _can_show(value: float, *, log: bool) -> bool:
    return abs(value) < MAX_VALUE and (value > MIN_LOGARITHMIC or not log)


def _is_drawn(bar: Bar | None) -> bool:
    return bar is not None and _can_show(abs(bar.value) + (bar.error or 0.0), log=False)


def _set_ticks(axis: Axis, values: Sequence[float], *, log: bool) -> None:
    """Set ticks at round numbers with short labels; between whole numbers there are no halves."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

    axis.set_minor_locator(NullLocator())
    if log and (span := max(values) / min(values)) > 10:
        axis.set_major_locator(LogLocator(subs=(1,) if span > 100 else (1, 2, 5)))
    else:
        axis.set_major_locator(
            MaxNLocator(6, steps=[1, 2, 5, 10], integer=all(x == round(x) for x in values) and bool(values))
        )
    axis.set_major_formatter(lambda value, _: _tick_label(value))


def _tick_label(value: float) -> str:
    """Return the short label of a tick.

    >>> [_tick_label(value) for value in (0.30000000000000004, 800.0, 20000.0, 3e6, 1e-05)]
    ['0.3', '800', '20k', '3M', '1e-05']
    """
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.6g}{letter}"
    return f"{value:.6g}"


# --- files


def expect_picture(path: Path, error: type[ToolkitError]) -> None:
    """Refuse a file name whose ending is not that of a picture, before hours of measuring.

    Raises:
        ToolkitError: The ending is not in `PICTURES`; the error has the class `error`.
    """
    if path.suffix.lower() not in PICTURES:
        raise error(f"{path}: expected a name that ends in {', '.join(PICTURES)}")


def write_picture(path: Path, draw: Callable[[], Figure], *, dpi: int = 150, **look: object) -> Path:
    """Write a figure in our style, which `look` extends; `expect_picture` has checked the path."""
    from matplotlib import style

    with style.context(["default", {**STYLE, **look}], after_reset=True):
        draw().savefig(path, dpi=dpi, metadata=PICTURES[path.suffix.lower()])
    return path
