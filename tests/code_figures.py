"""Prints how large the house is and what is exempt from checks: `make figures`."""

from __future__ import annotations

import ast
import io
import re
import statistics
import sys
import tokenize
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
PACKAGES = ("wikitext_builder", "ps_models", "benchmarks/lm_benchmarks", "tests")


@dataclass(frozen=True)
class Size:
    """How large a set of modules is. Lines are physical lines."""

    lines: int
    code: int  # lines without blank ones, comments on lines of their own, and docstrings
    modules: int
    median: int
    longest: int
    imports: int
    comments: int  # on lines of their own
    trailing: int  # comments at the end of a line

    @classmethod
    def of(cls, paths: list[Path]) -> Size:
        """Measures modules."""
        parts = [_size(path.read_text(encoding="utf-8")) for path in paths]
        lengths = sorted(part["lines"] for part in parts)
        total = {key: sum(part[key] for part in parts) for key in parts[0]}
        return cls(modules=len(parts), median=int(statistics.median(lengths)), longest=lengths[-1], **total)

    def row(self, name: str) -> str:
        """One line of the table."""
        alone, every = (100 * n / self.lines for n in (self.comments, self.comments + self.trailing))
        share = f"{alone:.1f}, {every:.1f}"
        return (
            f"{name:<33}{self.lines:>8,}{self.code:>9,}{self.modules:>9}{self.median:>8}{self.longest:>9}"
            f"{self.imports:>9,}{100 * self.imports / self.lines:>6.1f}{share:>12}"
        )


# Of commit ac565b8, 24 November 2026: each step of making the house smaller can be held against it.
BEFORE = {
    "wikitext_builder": Size(27557, 19371, 195, 119, 398, 2032, 183, 833),
    "ps_models": Size(10315, 6825, 89, 101, 361, 816, 55, 538),
    "benchmarks/lm_benchmarks": Size(12064, 8446, 93, 109, 381, 1135, 10, 407),
    "tests": Size(34324, 26812, 247, 107, 698, 2650, 142, 509),
}


def _size(text: str) -> dict[str, int]:
    tree, lines = ast.parse(text), text.splitlines()
    imports: set[int] = set()
    docstrings: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if ast.get_docstring(node) is not None:
            first = node.body[0]
            docstrings.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    comments = [t for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type == tokenize.COMMENT]
    alone = {t.start[0] for t in comments if t.line.lstrip().startswith("#")}
    blank = {number for number, line in enumerate(lines, 1) if not line.strip()}
    return {
        "lines": len(lines),
        "code": len(lines) - len(blank | alone | docstrings),
        "imports": len(imports),
        "comments": len(alone),
        "trailing": len(comments) - len(alone),
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


def sizes() -> str:
    """The size of each package and of the tests, beside the one before; without data files."""
    head = f"{'':<33}{'lines':>8}{'code':>9}{'modules':>9}{'median':>8}{'longest':>9}{'imports':>9}{'%':>6}"
    rows = [f"{head}{'comments %':>12}"]
    for package in PACKAGES:
        rows.append(Size.of(modules(ROOT / package)).row(package))
        if package in BEFORE:
            rows.append(BEFORE[package].row("  before"))
    rows.append("code: without blank lines, comment lines, docstrings; comments: alone on a line, all")
    return "\n".join(rows)


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
    sys.stdout.write(f"{sizes()}\n\n{found.table()}\n")
