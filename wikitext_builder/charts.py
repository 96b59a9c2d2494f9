"""Charts by matplotlib, as SVG in a page or as a file.

A page has a strict content policy, so its charts have no style attribute: styles become attributes of their
own. Text and axes have the colour of the page's text, so that they can be read on dark and on light. The same
data give the same bytes with the same version of matplotlib: no date, a fixed salt for the ids of an SVG,
matplotlib's own default style. matplotlib is imported where it is used, because its import is slow.
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
PICTURES: Final[dict[str, dict[str, None]]] = {  # by ending: what is left out of a file
    ".png": {"Software": None},
    ".svg": {"Date": None, "Creator": None},
    ".pdf": {"CreationDate": None, "ModDate": None},
}
ENDINGS: Final = " or ".join(", ".join(PICTURES).rsplit(", ", 1))  # for help
FONT: Final = 12.5  # size of text in the page, in units of the drawing
INK: Final = "#010203"  # stands for the colour of the page's text
INLINE: Final[dict[str, Any]] = {
    **STYLE,
    "svg.fonttype": "none",
    "font.size": FONT + 1,  # room for a browser's font, which can be wider
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
HEIGHT, LEGEND = 4.2, 0.26  # inches, of the axes and of a line of the legend
LONGEST_NAME: Final = 48  # characters in a legend
HIGHEST: Final = 1e150  # a value beyond has no place: its axis would reach to infinity
LOWEST: Final = 1 / HIGHEST  # of what has a logarithm
DASHES: Final = ("-", (0, (4, 2)), (0, (1, 1.5)))  # of curves of one colour
MARKS: Final = "osD"  # of their points, in the same way
MARKED: Final = 6  # curves of no more points show them

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Bar:
    """A value, and how far its error bar goes from it, up and down."""

    value: float
    error: float | None = None  # None: no error bar


class Chart(str):
    """A chart as SVG for a page; "" if there is nothing to show."""

    __slots__ = ("figure",)
    figure: Callable[[], Figure]  # draws it again

    def save(self, path: Path) -> Path:
        """Write it to a file, as PNG, SVG or PDF by its ending."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return write_picture(path, self.figure, **INLINE)


def line_chart(
    title: str,
    curves: Mapping[str, Points],
    *,
    x_label: str,
    y_label: str,
    log_x: bool = False,
    log_y: bool = False,
    alike: int = 1,
) -> Chart:
    """SVG of curves over a common axis; "" if there is nothing to show. A screen reader says the title.

    Points without a logarithm are left out on logarithmic axes. Each `alike` successive curves share a colour
    and differ in their dashes, such as data and its fit.
    """
    shown = {
        name: [(x, y) for x, y in points if _can_show(x, log=log_x) and _can_show(y, log=log_y)]
        for name, points in curves.items()
    }
    points = [point for curve in shown.values() for point in curve]
    if not points:
        return Chart()

    def draw(axes: Axes) -> None:
        for number, (name, curve) in enumerate(shown.items()):
            again, color = divmod(number // alike, len(COLORS))
            look = (again + number % alike) % len(DASHES)
            axes.plot(
                *zip(*curve, strict=True) if curve else ([], []),
                color=COLORS[color],
                linestyle=DASHES[look],
                linewidth=2,
                marker=MARKS[look] if len(curve) <= MARKED else "",
                markersize=5,
                label=legend_name(name),
                gid="curve",
            )
        axes.set(xlabel=x_label, ylabel=y_label)
        axes.set(xscale="log" if log_x else "linear", yscale="log" if log_y else "linear")
        _set_ticks(axes.xaxis, [x for x, _ in points], log=log_x)
        _set_ticks(axes.yaxis, [y for _, y in points], log=log_y)

    return _inline(title, list(shown), draw, [name for name, curve in shown.items() if curve])


def bar_chart(
    title: str,
    labels: Sequence[str],
    series: Mapping[str, Sequence[Bar | None]],
    *,
    y_label: str,
    baseline: str = "",
) -> Chart:
    """SVG of bars for each label, from zero; "" if there is nothing to show. None leaves a gap.

    `baseline` says what zero is. A browser shows the number of a bar when one points at it, and the title
    elsewhere; a screen reader says it.
    """
    if not any(_has_place(bar) for row in series.values() for bar in row):
        return Chart()

    titles: list[str] = []

    def draw(axes: Axes) -> None:
        width = 0.8 / len(series)
        for number, (name, row) in enumerate(series.items()):
            look: dict[str, Any] = {"width": width, "align": "edge", "color": COLORS[number % len(COLORS)]}
            axes.bar([0], [0], label=legend_name(name), **look)  # for the legend
            for place, bar in enumerate(row):
                if bar is None or not _has_place(bar):
                    continue
                left = place + (number - len(series) / 2) * width
                axes.bar([left], [bar.value], **look)[0].set_gid("bar")
                titles.append(f"{name}, {labels[place]}: {bar.value:+.4f}")
                if bar.error is not None:
                    ends = axes.errorbar(
                        left + width / 2, bar.value, bar.error, fmt="none", ecolor=INK, capsize=2
                    )
                    ends.lines[2][0].set_gid("error")
        zero = f"0: {legend_name(baseline)}" if baseline else None
        axes.axhline(0, color=INK, linewidth=1, label=zero)
        axes.set_xticks(range(len(labels)), list(map(legend_name, labels)), rotation=25, ha="right")
        axes.set(xlim=(-0.5, len(labels) - 0.5), ylabel=y_label)
        axes.grid(visible=False, axis="x")
        _set_ticks(axes.yaxis, [], log=False)

    return _inline(title, [*([baseline] if baseline else []), *series], draw, titles)


def _inline(title: str, names: Sequence[str], draw: Callable[[Axes], None], titles: Sequence[str]) -> Chart:
    """What is drawn, with a legend of names, as SVG for a page.

    `titles` are what a browser shows when one points at a curve or bar.
    """
    from matplotlib import style
    from matplotlib.figure import Figure

    def figure() -> Figure:
        drawing = Figure(figsize=(7.2, HEIGHT + LEGEND * len(names)), layout="constrained")
        draw(axes := drawing.subplots())
        axes.legend(bbox_to_anchor=(0, 1))
        return drawing

    with style.context(["default", INLINE], after_reset=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # letters that the font lacks: the browser has other fonts
        buffer = io.StringIO()
        figure().savefig(buffer, format="svg", transparent=True, metadata=NO_METADATA)
    chart = Chart(_for_page(buffer.getvalue(), title, titles))
    chart.figure = figure
    return chart


def _for_page(svg: str, title: str, titles: Sequence[str]) -> str:
    """An SVG as an element of a page: no style attributes, no ids that two charts share."""
    (box,) = re.findall(r'viewBox="[^"]+"', svg[: svg.index("<g ")])
    body = svg[svg.index("<g ") :]
    body = re.sub(r'(<[a-z][^<>]*) style="([^"]*)"', lambda found: found[1] + _attributes(found[2]), body)
    body = re.sub(r'<g id="([a-z]+)[^"]*">', r'<g class="\1">', body).replace(INK, "currentColor")
    body, *parts = re.split(r'(?<=<g class="curve">)|(?<=<g class="bar">)', body)
    body += "".join(f"{_title(name)}{part}" for name, part in zip(titles, parts, strict=True))
    return (
        f'<svg {box} role="img" aria-label="{html.escape(title)}" font-size="{FONT}" fill="currentColor"'
        f' stroke-linejoin="round" xmlns:xlink="http://www.w3.org/1999/xlink">{_title(title)}{body}'
    ).rstrip()


def _title(text: str) -> str:
    """What a browser shows when one points at something in an SVG."""
    return f"<title>{html.escape(one_line(text))}</title>"


def _attributes(style: str) -> str:
    pairs = (one.partition(": ") for one in style.split("; "))
    return "".join(f' {name}="{value}"' for name, _, value in pairs if not name.startswith("font"))


def legend_name(name: str) -> str:
    """A name in a legend: on one line, without its middle if it is long, because names differ at their ends.

    matplotlib would hide one that begins with `_`.
    """
    short, half = one_line(name), LONGEST_NAME // 2
    if len(short) > LONGEST_NAME:
        short = f"{short[:half]}…{short[1 - half :]}"
    return f"\u200b{short}" if short.startswith("_") else short


def _can_show(value: float, *, log: bool) -> bool:
    return abs(value) < HIGHEST and (value > LOWEST or not log)


def _has_place(bar: Bar | None) -> bool:
    return bar is not None and _can_show(abs(bar.value) + (bar.error or 0.0), log=False)


def _set_ticks(axis: Axis, values: Sequence[float], *, log: bool) -> None:
    """Ticks at round numbers with short labels; whole numbers have no half between them."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

    axis.set_minor_locator(NullLocator())
    if log and (span := max(values) / min(values)) > 10:
        axis.set_major_locator(LogLocator(subs=(1,) if span > 100 else (1, 2, 5)))
    else:
        axis.set_major_locator(
            MaxNLocator(6, steps=[1, 2, 5, 10], integer=all(x == round(x) for x in values) and bool(values))
        )
    axis.set_major_formatter(lambda value, _: _number(value))


def _number(value: float) -> str:
    """The short label of a tick.

    >>> _number(0.30000000000000004), _number(800.0), _number(20000.0), _number(3e6), _number(1e-05)
    ('0.3', '800', '20k', '3M', '1e-05')
    """
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.6g}{letter}"
    return f"{value:.6g}"


# --- files


def expect_picture(path: Path, error: type[ToolkitError]) -> None:
    """Refuse a file whose ending is of no picture that can be written: before hours of measuring.

    Raises:
        ToolkitError: It is; `error` is its class.
    """
    if path.suffix.lower() not in PICTURES:
        raise error(f"{path}: expected a name that ends in {', '.join(PICTURES)}")


def write_picture(path: Path, draw: Callable[[], Figure], *, dpi: int = 150, **look: object) -> Path:
    """Write a figure that is drawn in our style with a `look` on top of it, after `expect_picture`."""
    from matplotlib import style

    with style.context(["default", {**STYLE, **look}], after_reset=True):
        draw().savefig(path, dpi=dpi, metadata=PICTURES[path.suffix.lower()])
    return path
