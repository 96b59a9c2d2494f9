"""The notebook of docs/examples/: its cells run, and print what is stored in it.

Numbers may differ a little: extraction may improve, and a trained model's differ between processors. If they
differ more, on purpose: `python docs/generate_notebook.py`.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.documents import DOCS, docs_module, run_python

NOTEBOOK = DOCS / "examples" / "study.ipynb"
NUMBER = re.compile(r"[+-]?\d[\d,]*(?:\.\d+)?")
CLOSE = 0.05  # of a number


def stored() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    return found


def outputs_of(notebook: dict[str, Any], folder: Path) -> list[str]:
    """What the cells print, in a copy of this process that has imported torch."""
    generator = docs_module("generate_notebook")
    found: list[str] = generator.outputs_of(run_python(generator.program_of(notebook), folder))
    return found


def text_of(cell: dict[str, Any]) -> str:
    return "".join(line for output in cell["outputs"] for line in output["text"])


def assert_same(found: str, expected: str) -> None:
    """The same text, with numbers that are close."""
    assert " ".join(NUMBER.sub("#", found).split()) == " ".join(NUMBER.sub("#", expected).split())
    for one, other in zip(NUMBER.findall(found), NUMBER.findall(expected), strict=True):
        close = pytest.approx(float(other.replace(",", "")), rel=CLOSE, abs=CLOSE)
        assert float(one.replace(",", "")) == close, (found, expected)


@pytest.mark.slow
def test_the_cells_print_what_is_stored(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the notebook trains models")
    cells = [cell for cell in stored()["cells"] if cell["cell_type"] == "code"]
    outputs = outputs_of(stored(), tmp_path)
    assert len(outputs) == len(cells)
    for printed, cell in zip(outputs, cells, strict=True):
        assert_same(printed, text_of(cell))
    pictures = {path.name for path in NOTEBOOK.parent.glob("*.svg")}
    assert {path.name for path in tmp_path.iterdir()} == pictures
    for name in pictures:
        found, expected = (
            re.findall("<text[^>]*>([^<]*)</text>", (folder / name).read_text(encoding="utf-8"))
            for folder in (tmp_path, NOTEBOOK.parent)
        )
        assert len(found) > 5
        assert_same("\n".join(found), "\n".join(expected))


def test_the_comparison_finds_what_differs() -> None:
    assert_same("a 1.00  b\n3,000", "a 1.04 b 3,010\n")
    for wrong in ("a 1.20 b 3", "a 1.00 b 4", "a 1.00 c 3", "a 1.00 b 3 4"):
        with pytest.raises(AssertionError):
            assert_same(wrong, "a 1.04 b 3")


def test_a_cell_that_fails_is_an_error(tmp_path: Path) -> None:
    notebook = {"cells": [{"cell_type": "code", "source": ["print(1)\n", "raise ValueError('no')"]}]}
    with pytest.raises(ChildProcessError, match="ValueError: no"):
        outputs_of(notebook, tmp_path)


def test_it_is_as_jupyter_writes_it() -> None:
    """What nbformat's schema asks of notebooks of version 4.5."""
    notebook = stored()
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    numbers = [cell["execution_count"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert numbers == list(range(1, len(numbers) + 1))
    for link in re.findall(r"\]\(([^)]+)\)", "".join("".join(cell["source"]) for cell in notebook["cells"])):
        assert (NOTEBOOK.parent / link).exists(), link
