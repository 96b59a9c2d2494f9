"""A process that starts programs, and a wiki."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.crash.harness import Bench, Starter, compiled, started
from tests.crash.programs import PROGRAMS, prepared, wiki

MakeBench = Callable[..., Bench]  # of a program and a fault


@pytest.fixture(scope="session")
def library() -> Iterator[Path]:
    with compiled() as found:
        if found is None:
            pytest.skip("needs Linux and a C compiler, to count the calls of a program")
        yield found


@pytest.fixture(scope="session")
def starter(library: Path) -> Iterator[Starter]:
    with started(library) as found:
        yield found


@pytest.fixture(scope="module")
def api() -> Iterator[str]:
    with wiki() as address:
        yield address


@pytest.fixture
def bench(starter: Starter, tmp_path_factory: pytest.TempPathFactory, api: str, tmp_path: Path) -> MakeBench:
    folder = tmp_path_factory.getbasetemp() / "ready"
    folder.mkdir(exist_ok=True)

    def made(name: str, how: str) -> Bench:
        ready = prepared(name, folder)
        return Bench(program=PROGRAMS[name], how=how, ready=ready, folder=tmp_path, starter=starter, api=api)

    return made
