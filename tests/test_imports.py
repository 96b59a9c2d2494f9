"""Imports go one way, the data side needs no torch, and nobody imports the command line."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ALLOWED = {  # package: what of ours it may import
    "wikitext_builder": {"wikitext_builder"},
    "ps_models": {"wikitext_builder", "ps_models"},
    "benchmarks": {"wikitext_builder", "ps_models", "benchmarks"},
}
MODULES = [path for package in ALLOWED for path in sorted((ROOT / package).rglob("*.py"))]


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import hides where it leads"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_command_line(path: Path) -> bool:
    return "cli" in path.relative_to(ROOT).with_suffix("").parts


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_one_way(path: Path) -> None:
    package = path.relative_to(ROOT).parts[0]
    names = list(imported(path))
    ours = {name.split(".")[0] for name in names} & ALLOWED.keys()
    assert ours <= ALLOWED[package]
    if package == "wikitext_builder":
        assert not {name.split(".")[0] for name in names} & {"torch", "safetensors"}
    if not is_command_line(path) and path.name != "__main__.py":
        assert not [name for name in names if "cli" in name.split(".") and name.split(".")[0] in ALLOWED]


def test_the_whole_data_side_runs_without_torch() -> None:
    modules = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in MODULES
        if path.is_relative_to(ROOT / "wikitext_builder")
    ]
    code = f"import sys; sys.modules['torch'] = None; [__import__(name) for name in {modules!r}]"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
