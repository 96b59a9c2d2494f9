"""Imports go one way, rooms form no circle, datasets need no torch, only a command line imports another."""

import ast
import graphlib
import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command import NO_TORCH
from tests.conftest import ROOT

FOLDERS = {  # package: its folder
    "wikitext_builder": ROOT / "wikitext_builder",
    "ps_models": ROOT / "ps_models",
    "lm_benchmarks": ROOT / "benchmarks" / "lm_benchmarks",
}
ALLOWED = {  # package: what of ours it may import
    "wikitext_builder": {"wikitext_builder"},
    "ps_models": {"wikitext_builder", "ps_models"},
    "lm_benchmarks": {"wikitext_builder", "ps_models", "lm_benchmarks"},
}
MODULES = {
    ".".join((package, *path.relative_to(folder).with_suffix("").parts)).removesuffix(".__init__"): path
    for package, folder in FOLDERS.items()
    for path in sorted(folder.rglob("*.py"))
}


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import hides where it leads"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_command_line(module: str) -> bool:
    return "cli" in module.split(".")


def room(name: str) -> str:
    """The room of a module, or of a name in it; a file beside the rooms is a room of its own."""
    return ".".join(name.split(".")[:2])


def test_imports_go_one_way() -> None:
    faults = []
    for module, path in MODULES.items():
        package = module.split(".")[0]
        forbidden = ALLOWED.keys() - ALLOWED[package]
        if package == "wikitext_builder":
            forbidden |= {"torch", "safetensors"}
        may_call = is_command_line(module) or module.endswith(".__main__")
        for name in imported(path):
            first = name.split(".")[0]
            if first in forbidden or (is_command_line(name) and first in ALLOWED and not may_call):
                faults.append(f"{module} imports {name}")
    assert faults == []


@pytest.mark.parametrize("package", FOLDERS)
def test_rooms_form_no_circle(package: str) -> None:
    rooms: dict[str, set[str]] = {}
    for module, path in MODULES.items():
        if module != package and module.startswith(f"{package}."):
            needed = {room(name) for name in imported(path) if name.startswith(f"{package}.")}
            rooms.setdefault(room(module), set()).update(needed - {room(module)})
    assert len(rooms) > 5
    graphlib.TopologicalSorter(rooms).prepare()  # raises CycleError, which names the rooms


@pytest.mark.parametrize("package", FOLDERS)
def test_no_room_has_the_name_of_a_function_of_the_front_door(package: str) -> None:
    """The import of a room `overlap` would put itself in the place of `wikitext_builder.overlap`."""
    rooms = {room(module).removeprefix(f"{package}.") for module in MODULES if module.startswith(package)}
    assert not rooms & set(importlib.import_module(package).__all__)


def test_the_whole_data_side_runs_without_torch() -> None:
    modules = [module for module in MODULES if module.startswith("wikitext_builder")]
    code = f"{NO_TORCH}[__import__(name) for name in {modules!r}]"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
