"""Front doors: a package hands out names of its modules, and imports a module when its name is first used."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping


def lazy_names(
    package: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """A `__getattr__` and a `__dir__` for a package's `__init__`.

    Args:
        package: The `__name__` of the package.
        modules: The module of each name, such as `{"build": "wikitext_builder.building.build"}`.
    """

    def get(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name)
        value: object = getattr(importlib.import_module(modules[name]), name)
        setattr(sys.modules[package], name, value)  # later uses find it without this function
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules})

    return get, names
