"""The window's curve against a loop that follows its definition; plots are the same bytes each time."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import ROOT
from wikitext_builder.errors import BuilderError
from wikitext_builder.stats.plots import (
    ZIPF_POINTS,
    _figure,
    _set_window_axis,
    draw_window,
    draw_zipf,
    plot_window,
    plot_zipf,
    spaced_ranks,
    window_coverage,
)

COUNTS = {f"w{rank}": 10_000 // rank for rank in range(1, 3000)}
CURVES = {"A": ([0.1, 0.2, 0.3], [0.05, 0.1, 0.2]), "B": ([0.2, 0.3, 0.35], [0.3, 0.4, 0.5])}


def naive_coverage(tokens: list[str], longest: int, without: tuple[str, ...]) -> list[float]:
    asked = [t for t, token in enumerate(tokens) if token not in without]
    if not asked:
        return [0.0] * longest
    return [
        sum(tokens[t] in tokens[max(0, t - window) : t] for t in asked) / len(asked)
        for window in range(1, longest + 1)
    ]


@given(st.lists(st.sampled_from(["a", "b", "c", "<unk>", "<eos>"]), max_size=40), st.integers(1, 12))
@pytest.mark.parametrize("without", [(), ("<unk>", "<eos>")])
def test_window_coverage_equals_its_definition(
    without: tuple[str, ...], tokens: list[str], longest: int
) -> None:
    assert window_coverage(iter(tokens), longest, without=without) == naive_coverage(tokens, longest, without)


def draw(folder: Path) -> None:
    for suffix, magic in ((".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")):
        draw_zipf({"A": Counter(COUNTS), "B": list(range(500))}, folder / f"zipf{suffix}")
        draw_window(CURVES, folder / f"window{suffix}")
        for path in folder.glob(f"*{suffix}"):
            assert path.read_bytes().startswith(magic)
            assert not re.search(rb"<dc:date>|/CreationDate|/ModDate|/Subtype /Type3", path.read_bytes())


def test_plots_are_the_same_bytes_in_another_process(tmp_path: Path) -> None:
    folders = [tmp_path / "here", tmp_path / "there"]
    for folder in folders:
        folder.mkdir()
    draw(folders[0])
    program = (
        "import sys, wikitext_builder.stats.plots, wikitext_builder.stats.statistics\n"
        "assert not {'matplotlib', 'pandas'} & set(sys.modules)\n"  # until something is drawn
        "from tests.wikitext_builder.stats.test_plots import *\n"
        "draw(Path(sys.argv[1]))\n"
    )
    subprocess.run([sys.executable, "-c", program, str(folders[1])], check=True, cwd=ROOT)
    first, second = ({path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders)
    assert len(first) == 6
    assert first == second
    draw_zipf({"A": Counter(COUNTS) + Counter({"w1": 10**6})}, tmp_path / "zipf.svg")
    assert (tmp_path / "zipf.svg").read_bytes() != first["zipf.svg"]


@pytest.mark.parametrize("longest", [3, 100, 2000])
def test_labels_of_panels_beside_each_other_do_not_touch(tmp_path: Path, longest: int) -> None:
    with _figure(tmp_path / "window.svg", ["A", "B", "C"], overlay=False) as panels:
        for axes in panels:
            _set_window_axis(axes, longest)
    labels = [label for axes in panels for label in axes.get_xticklabels() if label.get_text()]
    boxes = sorted((label.get_window_extent().x0, label.get_window_extent().x1) for label in labels)
    assert len(boxes) >= 9
    assert "0" not in {label.get_text() for label in labels}
    assert all(right - left > 8 for (_, left), (right, _) in pairwise(boxes))


@pytest.mark.parametrize("overlay", [False, True])
def test_datasets_of_one_title_are_all_drawn(tmp_path: Path, overlay: bool) -> None:
    folders = [tmp_path / name / "wikitext-2" for name in ("2016", "today")]
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / "wiki.train.tokens").write_text("a b a <unk>\n" * 200, encoding="utf-8")
    for plot in (plot_zipf, plot_window):
        drawn = plot(*folders, out=tmp_path / "both.svg", overlay=overlay).read_text(encoding="utf-8")
        panels = drawn.count('<g id="axes_')
        assert panels == (1 if overlay else 2)
        for name in ("2016/wikitext-2", "today/wikitext-2"):
            assert name in drawn  # matplotlib writes each text as a comment above its glyphs


def test_a_dollar_sign_in_a_name_begins_no_formula(tmp_path: Path) -> None:
    (tmp_path / "wiki.train.tokens").write_text(" a b a \n", encoding="utf-8")
    draw_zipf({"a $x_$ b": COUNTS}, tmp_path / "out.svg")
    assert "a $x_$ b" in (tmp_path / "out.svg").read_text("utf-8").replace("\\", "")


@pytest.mark.parametrize(
    ("drawn", "data", "name", "words"),
    [
        (draw_zipf, {"A": COUNTS}, "zipf.gif", r"gif: expected a name that ends in \.png, \.svg, \.pdf"),
        (draw_zipf, {"A": []}, "zipf.png", "A: no words"),
        (draw_zipf, {}, "zipf.png", "no corpus"),
        (draw_window, {"A": ([], [])}, "window.png", "a curve is empty"),
    ],
)
def test_what_cannot_be_plotted_is_said(
    tmp_path: Path, drawn: Callable[..., Path], data: dict[str, Any], name: str, words: str
) -> None:
    with pytest.raises(BuilderError, match=words):
        drawn(data, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@given(st.integers(1, 10**6))
def test_spaced_ranks_hold_the_first_and_the_last(last: int) -> None:
    ranks = spaced_ranks(last)
    assert ranks[0] == 1
    assert ranks[-1] == last
    assert ranks == sorted(set(ranks))
    assert len(ranks) <= ZIPF_POINTS
