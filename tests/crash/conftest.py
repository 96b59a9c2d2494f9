"""A process that starts programs, and a wiki."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.crash.harness import Bench, Starter, compiled
from tests.crash.programs import PROGRAMS, prepared, wiki

Ready = Callable[[str], Path]  # the folder in which a program can start
MakeBench = Callable[[str, str], Bench]  # of a program and a fault


@pytest.fixture(scope="session")
def library() -> Iterator[Path]:
    with compiled() as found:
        if found is None:
            pytest.skip("needs Linux and a C compiler, to count the calls of a program")
        yield found


@pytest.fixture(scope="session")
def starter(library: Path) -> Iterator[Starter]:
    with Starter(library) as found:
        yield found


@pytest.fixture(scope="session")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Ready:
    return partial(prepared, folder=tmp_path_factory.mktemp("ready"))


@pytest.fixture(scope="module")
def api() -> Iterator[str]:
    with wiki() as address:
        yield address


@pytest.fixture
def bench(starter: Starter, ready: Ready, api: str, tmp_path: Path) -> MakeBench:
    def made(name: str, how: str) -> Bench:
        return Bench(
            program=PROGRAMS[name], how=how, ready=ready(name), folder=tmp_path, starter=starter, api=api
        )

    return made
