"""Front doors: a package hands out names of its modules, and imports a module when its name is first used."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path


def lazy_names(package: str, file: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Make `__getattr__` and `__dir__` for a package's `__init__`.

    They serve the names that the file imports under `if TYPE_CHECKING:`, so that there is no second list to
    keep. Reading them takes less than a millisecond.

    Args:
        package: The `__name__` of the package.
        file: Its `__file__`.
    """
    modules = {
        alias.name: str(node.module)
        for block in ast.parse(Path(file).read_text(encoding="utf-8")).body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    def get(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name)
        value: object = getattr(importlib.import_module(modules[name]), name)
        setattr(sys.modules[package], name, value)  # later uses find it without this function
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules})

    return get, names
