"""Prints how large the project is and what is exempt from checks: `make figures`."""

from __future__ import annotations

import ast
import re
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("wikitext_builder", "ps_models", "benchmarks")
PACKAGES = ("wikitext_builder", "ps_models", "benchmarks/lm_benchmarks")
GENERATED = {ROOT / "docs" / "rows.md"}
EXEMPT = {  # kind: how its comment begins
    "noqa": re.compile("# noqa"),
    "noqa, whole modules": re.compile("# ruff: noqa"),
    "type: ignore": re.compile("# type: ignore"),
}


def modules(folder: Path) -> list[Path]:
    """The modules in a folder and below it."""
    return sorted(folder.rglob("*.py"))


def documents() -> list[Path]:
    """The Markdown files that are written by hand."""
    paths = [*ROOT.glob("*.md"), *(ROOT / ".github").rglob("*.md"), *(ROOT / "docs").rglob("*.md")]
    return sorted(set(paths) - GENERATED)


def name_of(path: Path) -> str:
    """A path as it is in the repository."""
    return path.relative_to(ROOT).as_posix()


def documented_in(path: Path) -> Iterator[tuple[str, str | None]]:
    """The public names of a module with their docstrings, the module itself first."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    file = name_of(path)
    yield file, ast.get_docstring(tree)
    todo: list[tuple[str, ast.stmt]] = [("", node) for node in reversed(tree.body)]
    while todo:
        before, node = todo.pop()
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if node.name.startswith("_"):
            continue
        yield f"{file}: {before}{node.name}", ast.get_docstring(node)
        if isinstance(node, ast.ClassDef):
            todo += [(f"{before}{node.name}.", inner) for inner in node.body]


def _function_lengths(path: Path, text: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield (node.end_lineno or node.lineno) - node.lineno + 1, f"{name_of(path)}: {node.name}"


def _spread(lengths: list[tuple[int, str]]) -> str:
    """Median, ninth decile, and maximum with its name."""
    numbers = [length for length, _ in lengths]
    p90, (longest, name) = numbers[int(len(numbers) * 0.9)], lengths[-1]
    return f"median {statistics.median(numbers):.0f}, p90 {p90}, max {longest} ({name})"


def sizes() -> str:
    """The lines of each package, of the tests and of the documents."""
    groups = {package: modules(ROOT / package) for package in PACKAGES}
    groups["the three packages"] = [path for paths in groups.values() for path in paths]
    groups |= {"tests": modules(ROOT / "tests"), "documents written by hand": documents()}
    rows = [f"{'':<27}{'lines':>8}{'files':>8}"]
    for name, paths in groups.items():
        lines = sum(path.read_text(encoding="utf-8").count("\n") for path in paths)
        rows.append(f"{name:<27}{lines:>8,}{len(paths):>8}")
    return "\n".join(rows)


def checks() -> str:
    """Lengths of modules and functions, undocumented names, and exemptions from checks, one per line."""
    paths = [path for folder in FOLDERS for path in modules(ROOT / folder)]
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    module_lengths = sorted((text.count("\n"), name_of(path)) for path, text in texts.items())
    lengths = sorted(length for path, text in texts.items() for length in _function_lengths(path, text))
    undocumented = [name for path in paths for name, docstring in documented_in(path) if not docstring]
    lines = [
        f"lines per module      {_spread(module_lengths)}",
        f"lines per function    {_spread(lengths)}",
        f"undocumented names    {len(undocumented)}",
    ]
    for kind, mark in EXEMPT.items():
        lines.append(f"{kind:<21} {sum(len(mark.findall(text)) for text in texts.values())}")
    return "\n".join(lines + [f"  {name}" for name in undocumented])


if __name__ == "__main__":
    sys.stdout.write(f"{sizes()}\n\n{checks()}\n")
