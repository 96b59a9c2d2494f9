"""Lets a package export names of its modules, and import each module when one of its names is first used."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path


def lazy_names(package: str, file: str) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return a `__getattr__`, a `__dir__` and an `__all__` for a package's `__init__`.

    The names are those that the file imports as `import name as name`, where type checkers and editors also
    find them, so there is no second list. The imports stand under `if TYPE_CHECKING:`, so a module is
    imported only when one of its names is first used. Reading the names takes less than a millisecond.
    """
    modules = {
        alias.name: str(node.module)
        for node in ast.walk(ast.parse(Path(file).read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name
    }

    def get(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name)
        value: object = getattr(importlib.import_module(modules[name]), name)
        setattr(sys.modules[package], name, value)  # later uses do not call this function
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules})

    # In this order: constants, classes, functions.
    public = sorted(
        {"__version__", *modules}, key=lambda name: (not name.isupper(), not name[0].isupper(), name)
    )
    return get, names, public
