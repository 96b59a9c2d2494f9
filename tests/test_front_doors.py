"""`import` of each package: without what is heavy, and every name is there and says what it is."""

import importlib
import inspect

import pytest

from tests.command import python

PACKAGES = ("wikitext_builder", "ps_models", "lm_benchmarks")
HEAVY = {
    *("torch", "safetensors", "pandas", "lxml", "matplotlib", "numpy", "pyarrow", "requests"),
    *("rich", "click"),
}
SHOWN_BY = HEAVY - {"rich", "click"}
LOADED = "{work}; import sys; print(*{{name.split('.')[0] for name in sys.modules}})"
HELP = "from ps_models.cli import commands; commands([{argument!r}], standalone_mode=False)"
WORK = {
    **{package: (f"import {package}", HEAVY) for package in PACKAGES},
    "help": (HELP.format(argument="--help"), SHOWN_BY),
    "version": (HELP.format(argument="--version"), SHOWN_BY),
}


@pytest.mark.parametrize(("work", "heavy"), WORK.values(), ids=WORK)
def test_imports_help_and_version_are_light(work: str, heavy: set[str]) -> None:
    done = python(LOADED.format(work=work))
    assert done.returncode == 0, done.stderr
    assert not heavy & set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("package", PACKAGES)
def test_every_name_is_there_and_documented(package: str) -> None:
    module = importlib.import_module(package)
    assert set(module.__all__) <= set(dir(module))
    values = {name: getattr(module, name) for name in module.__all__ if name != "__version__"}
    faults = [name for name, value in values.items() if not inspect.getdoc(value) or inspect.ismodule(value)]
    assert faults == []
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'trian'"):
        _ = module.trian
