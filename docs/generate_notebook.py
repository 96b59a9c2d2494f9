"""Runs the cells of a notebook and stores what they print: `python docs/generate_notebook.py`.

A test runs them too and compares (`tests/test_notebook.py`). Cells only print and write files; they run in a
plain Python, without Jupyter and its thirty packages. Pictures are files that a cell of text shows.
"""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).resolve().parent / "examples" / "study.ipynb"
MARK = str(uuid.uuid4())  # ends the output of a cell


def program_of(notebook: dict[str, Any]) -> str:
    """A program that runs each cell of code, in order in one Python, with a mark after its output.

    Args:
        notebook: As JSON, format 4.
    """
    cells = [source_of(cell) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return "".join(f"exec({cell!r}, globals())\nprint({MARK!r}, end='')\n" for cell in cells)


def outputs_of(run: subprocess.CompletedProcess[str]) -> list[str]:
    """What each cell printed in a run of the program.

    Raises:
        ChildProcessError: A cell failed.
    """
    if run.returncode:
        raise ChildProcessError(f"a cell failed: {run.stderr[-2000:]}")
    return run.stdout.split(MARK)[:-1]


def source_of(cell: dict[str, Any]) -> str:
    """The text of a cell."""
    return "".join(cell["source"])


def with_outputs(notebook: dict[str, Any], outputs: list[str]) -> dict[str, Any]:
    """A notebook whose cells of code have these outputs, numbered in order."""
    remaining = iter(enumerate(outputs, start=1))
    cells = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            number, text = next(remaining)
            lines = text.splitlines(keepends=True)
            stream = {"name": "stdout", "output_type": "stream", "text": lines}
            cell = {**cell, "execution_count": number, "outputs": [stream] if lines else []}
        cells.append(cell)
    return {**notebook, "cells": cells}


def main() -> None:
    """Run the notebook in its own folder, where its pictures are stored too."""
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    run = subprocess.run(
        [sys.executable, "-"],
        cwd=NOTEBOOK.parent,
        input=program_of(notebook),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    made = with_outputs(notebook, outputs_of(run))
    NOTEBOOK.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
