"""`import wikitext_builder as wb`: quick, nothing heavy, and every name is there and says what it is."""

import inspect
import subprocess
import sys

import pytest

import wikitext_builder as wb
from tests.command import environment

HEAVY = {"torch", "pandas", "lxml", "matplotlib", "numpy", "pyarrow", "requests", "rich", "click"}
MEASURE = (
    "import time; start = time.process_time(); import wikitext_builder; took = time.process_time() - start;"
    " import sys; print(took, *{name.split('.')[0] for name in sys.modules})"
)


def test_the_import_is_quick_and_light() -> None:
    seconds = []
    for _ in range(
        3
    ):  # the best one, of processor time: other work on the machine makes it slower, never faster
        done = subprocess.run(
            [sys.executable, "-c", MEASURE], env=environment(), capture_output=True, text=True, check=True
        )
        took, *modules = done.stdout.split()
        assert not HEAVY & set(modules)
        seconds.append(float(took))
    assert min(seconds) < 0.1


def test_every_name_is_there_and_documented() -> None:
    assert set(wb.__all__) <= set(dir(wb))
    assert all(inspect.getdoc(getattr(wb, name)) for name in wb.__all__ if name != "__version__")
    with pytest.raises(AttributeError, match="module 'wikitext_builder' has no attribute 'bild'"):
        _ = wb.bild  # type: ignore[attr-defined]
