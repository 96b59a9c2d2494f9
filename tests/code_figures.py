"""Prints how long modules and functions are and what is exempt from checks: `make figures`."""

from __future__ import annotations

import ast
import re
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("wikitext_builder", "ps_models", "benchmarks")
EXEMPT = {  # kind: how its comment begins
    "noqa": re.compile("# noqa"),
    "noqa, whole modules": re.compile("# ruff: noqa"),
    "type: ignore": re.compile("# type: ignore"),
}


@dataclass(frozen=True)
class Figures:
    """Figures of a set of modules; lengths in lines with names, sorted."""

    modules: list[tuple[int, str]]
    functions: list[tuple[int, str]]
    undocumented: list[str]
    exempt: dict[str, int]

    @classmethod
    def of(cls, paths: list[Path]) -> Figures:
        """Reads the modules at `paths`."""
        texts = {path: path.read_text(encoding="utf-8") for path in paths}
        return cls(
            modules=sorted((len(text.splitlines()), name_of(path)) for path, text in texts.items()),
            functions=sorted(found for path, text in texts.items() for found in _functions(path, text)),
            undocumented=[name for path in paths for name, text in documented_in(path) if not text],
            exempt={
                kind: sum(len(mark.findall(text)) for text in texts.values()) for kind, mark in EXEMPT.items()
            },
        )

    def table(self) -> str:
        """The figures, one per line."""
        lines = [
            f"modules               {len(self.modules)}",
            f"lines per module      {_spread(self.modules)}",
            f"functions             {len(self.functions)}",
            f"lines per function    {_spread(self.functions)}",
            f"undocumented names    {len(self.undocumented)}",
            *(f"{kind:<21} {count}" for kind, count in self.exempt.items()),
        ]
        return "\n".join(lines + [f"  {name}" for name in self.undocumented])


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


def modules(folder: Path) -> list[Path]:
    """The modules in a folder and below it."""
    return sorted(folder.rglob("*.py"))


def name_of(path: Path) -> str:
    """A path as it is in the repository."""
    return path.relative_to(ROOT).as_posix()


def _functions(path: Path, text: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield (node.end_lineno or node.lineno) - node.lineno + 1, f"{name_of(path)}: {node.name}"


def _spread(found: list[tuple[int, str]]) -> str:
    """Median, ninth decile, and maximum with its name."""
    lengths = [length for length, _ in found]
    p90, (longest, name) = lengths[int(len(lengths) * 0.9)], found[-1]
    return f"median {statistics.median(lengths):.0f}, p90 {p90}, max {longest} ({name})"


if __name__ == "__main__":
    found = Figures.of([path for folder in FOLDERS for path in modules(ROOT / folder)])
    sys.stdout.write(found.table() + "\n")
