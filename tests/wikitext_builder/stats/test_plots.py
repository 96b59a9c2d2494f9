"""The window's curve against a loop that follows its definition; plots are the same bytes each time."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import ROOT
from wikitext_builder.errors import BuilderError
from wikitext_builder.stats.plots import (
    ZIPF_POINTS,
    plot_window,
    plot_zipf,
    spaced_ranks,
    window_coverage,
)

TEXT = "\n".join(" ".join([f"w{rank}"] * (999 // rank)) for rank in range(1, 300)) + "\n"


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


def corpus(folder: Path, text: str = TEXT) -> Path:
    folder.mkdir(parents=True)
    (folder / "wiki.train.tokens").write_text(text, encoding="utf-8")
    return folder


def draw(folder: Path) -> None:
    corpora = [corpus(folder / "A"), corpus(folder / "B", "a b a <unk>\n" * 200)]
    for suffix, magic in ((".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")):
        for path in (
            plot_zipf(*corpora, out=folder / f"zipf{suffix}"),
            plot_window(*corpora, out=folder / f"window{suffix}"),
        ):
            assert path.read_bytes().startswith(magic)
            assert not re.search(rb"<dc:date>|/CreationDate|/ModDate|/Subtype /Type3", path.read_bytes())


def test_plots_are_the_same_bytes_in_another_process(tmp_path: Path) -> None:
    folders = [tmp_path / "here", tmp_path / "there"]
    draw(folders[0])
    program = (
        "import sys, wikitext_builder.stats.plots, wikitext_builder.stats.statistics\n"
        "assert not {'matplotlib', 'pandas'} & set(sys.modules)\n"  # until something is drawn
        "from tests.wikitext_builder.stats.test_plots import *\n"
        "draw(Path(sys.argv[1]))\n"
    )
    subprocess.run([sys.executable, "-c", program, str(folders[1])], check=True, cwd=ROOT)
    first, second = (
        {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} for folder in folders
    )
    assert len(first) == 6
    assert first == second
    corpora = [corpus(tmp_path / "A", f"w1 {TEXT}"), folders[0] / "B"]
    assert plot_zipf(*corpora, out=tmp_path / "zipf.svg").read_bytes() != first["zipf.svg"]


def test_datasets_of_one_title_are_all_drawn(tmp_path: Path) -> None:
    folders = [corpus(tmp_path / name / "wikitext-2") for name in ("2016", "today")]
    for plot in (plot_zipf, plot_window):
        drawn = plot(*folders, out=tmp_path / "both.svg").read_text(encoding="utf-8")
        for name in ("2016/wikitext-2", "today/wikitext-2"):
            assert f">{name}</text>" in drawn


def test_a_dollar_sign_in_a_name_begins_no_formula(tmp_path: Path) -> None:
    out = plot_zipf(corpus(tmp_path / "A"), names=["a $x_$ b"], out=tmp_path / "out.svg")
    assert ">a $x_$ b</text>" in out.read_text("utf-8")


def test_what_cannot_be_plotted_is_said(tmp_path: Path) -> None:
    some, empty = corpus(tmp_path / "A"), corpus(tmp_path / "B", "")
    with pytest.raises(BuilderError, match=r"gif: expected a name that ends in \.png, \.svg, \.pdf"):
        plot_zipf(some, out=tmp_path / "zipf.gif")
    with pytest.raises(BuilderError, match="B: no words to plot"):
        plot_zipf(some, empty, out=tmp_path / "zipf.png")
    with pytest.raises(BuilderError, match="B: no words to plot"):
        plot_window(some, empty, out=tmp_path / "window.png")
    with pytest.raises(BuilderError, match="--longest: 0; expected 1 or more"):
        plot_window(some, longest=0, out=tmp_path / "window.png")
    assert not list(tmp_path.glob("*.*"))


@given(st.integers(1, 10**6))
def test_spaced_ranks_hold_the_first_and_the_last(last: int) -> None:
    ranks = spaced_ranks(last)
    assert ranks[0] == 1
    assert ranks[-1] == last
    assert ranks == sorted(set(ranks))
    assert len(ranks) <= ZIPF_POINTS
