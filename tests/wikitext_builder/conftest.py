"""Stores and datasets that many tests read, made once."""

from pathlib import Path

import pytest

from tests.command import done
from tests.wikitext_builder.datasets import PAGES, built, store_of
from wikitext_builder.sample import SAMPLE_DUMP


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the store of the bundled sample, and the dataset that `build demo` makes of it."""
    folder = tmp_path_factory.mktemp("sample")
    done("import", SAMPLE_DUMP, "--store", folder / "pages.store")
    done("build", "demo", "--store", folder / "pages.store", "--out", folder / "demo", "--workers", 1)
    return folder


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the store of `PAGES`, and the dataset that one undisturbed process makes of it."""
    folder = tmp_path_factory.mktemp("small")
    built(store_of(folder / "pages.store", PAGES), folder / "demo")
    return folder
