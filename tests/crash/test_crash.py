"""Kills, full disks and unreadable files, at each call: the same command again gives the same result.

A library is preloaded that counts the calls below a folder (writes, renames, syncs, removals; or reads) and
kills the program, or fails, at one of them. The variable CRASH_POINTS says how many of them are tried for
each program: a number, spread over the whole run, or `all` (`make crash`).
"""

import csv
import hashlib
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.mediawiki.test_hostile_answers import ANSWERS, HostileWiki
from tests.mediawiki.test_impostors import server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(24 * 3600)]

SAMPLE = ROOT / "wikitext_builder" / "sample" / "sample.xml"
POINTS = os.environ.get("CRASH_POINTS", "4")
SIGKILL_STATUS = -9
FAULTS = {  # the variables that make them, and the words of an error that names its reason
    "kill": ({}, ""),
    "ENOSPC": ({"CRASH_HOW": "ENOSPC"}, "No space left|disk (is|may be) full"),
    "unreadable": ({"CRASH_READS": "1"}, "Input/output error|disk I/O error|its disk cannot be read"),
}


@dataclass(frozen=True, kw_only=True)
class Program:
    """A command, and what must be the same at its end."""

    words: Sequence[str]  # {here}: the folder, {api}: a wiki
    prepare: Callable[[Path], object]
    result: Callable[[Path], object]


def nothing(folder: Path) -> None:
    """The command starts from an empty folder."""


def with_sample(folder: Path) -> None:
    """The export lies in the folder, so that reads of it are counted."""
    shutil.copy(SAMPLE, folder)


def store_content(folder: Path) -> list[str]:
    """All that a store holds, without the order in which it came."""
    with sqlite3.connect(f"file:{folder / 'a.store'}?mode=ro", uri=True) as store:
        return sorted(store.iterdump())


def tree(folder: Path) -> dict[str, str]:
    """The hash of each file, also of those that should not be there."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and ".store" not in path.name)
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def trained(folder: Path) -> object:
    """The weights, and the curve without its seconds."""
    from safetensors.torch import load_file

    weights = {
        name: tensor.tolist() for name, tensor in load_file(folder / "run" / "best.safetensors").items()
    }
    with (folder / "run" / "epochs.csv").open() as file:
        curve = [{k: v for k, v in row.items() if k != "training_seconds"} for row in csv.DictReader(file)]
    lines = (folder / "run" / "updates.jsonl").read_text().splitlines()
    return (
        weights,
        curve,
        [line.split('"tokens_per_second"')[0] for line in lines],
        sorted(path.name for path in (folder / "run").iterdir()),
    )


def with_store(folder: Path) -> None:
    command = ["wikitext_builder", "import", str(SAMPLE), "--store", str(folder / "a.store")]
    assert run(command, folder).returncode == 0


def with_dataset(folder: Path) -> None:
    with_store(folder)
    command = ["wikitext_builder", "build", "demo", "--store", str(folder / "a.store"), "--workers", "1"]
    assert run([*command, "--out", str(folder / "data")], folder).returncode == 0
    (folder / "a.store").unlink()


PROGRAMS = {
    "import": Program(
        words=("wikitext_builder", "import", "{here}/sample.xml", "--store", "{here}/a.store"),
        prepare=with_sample,
        result=store_content,
    ),
    "fetch": Program(
        words=("wikitext_builder", "fetch", "--api", "{api}", "--store", "{here}/a.store", "--rendered"),
        prepare=nothing,
        result=store_content,
    ),
    "build": Program(
        words=(
            *("wikitext_builder", "build", "demo", "--store", "{here}/a.store", "--out", "{here}/data"),
            *("--workers", "1"),
        ),
        prepare=with_store,
        result=tree,
    ),
    "train": Program(
        words=(
            *(
                "ps_models",
                "--threads",
                "1",
                "train",
                "lstm",
                "{here}/data",
                "--out",
                "{here}/run",
                "--resume",
            ),
            *("--preset", "tiny", "--set", "epochs=2", "--set", "hidden_size=4", "--save-minutes", "0.005"),
        ),
        prepare=with_dataset,
        result=trained,
    ),
}


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that is preloaded."""
    if sys.platform != "linux" or not (compiler := shutil.which("cc")):
        pytest.skip("needs Linux and a C compiler, to count the calls of a program")
    library = tmp_path_factory.mktemp("shim") / "shim.so"
    source = Path(__file__).with_name("shim.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
    return library


@pytest.fixture(scope="module")
def api() -> Iterator[str]:
    wiki = HostileWiki()
    wiki.answers = {kind: answer for kind, answer in ANSWERS.items() if kind != "error"}
    with server(wiki) as address:
        yield address


def run(words: Sequence[str], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join((str(ROOT), str(ROOT / "benchmarks")))
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", **variables}
    command = [sys.executable, "-m", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def chosen(count: int) -> list[int]:
    """Points of a run, from 1: all of them, or some that are spread over it."""
    if POINTS == "all":
        return list(range(1, count + 1))
    wanted = min(int(POINTS), count)
    return sorted({round(1 + (count - 1) * number / max(1, wanted - 1)) for number in range(wanted)})


@pytest.mark.parametrize("how", FAULTS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_command_again_gives_the_same_result(
    name: str, how: str, shim: Path, api: str, tmp_path: Path
) -> None:
    program, ready, here = PROGRAMS[name], tmp_path / "ready", tmp_path / "here"
    ready.mkdir()
    program.prepare(ready)
    words = [word.format(here=here, api=api) for word in program.words]
    preloaded = {"LD_PRELOAD": str(shim), "CRASH_UNDER": f"{here}/", **FAULTS[how][0]}

    def afresh() -> None:
        shutil.rmtree(here, ignore_errors=True)
        shutil.copytree(ready, here)

    afresh()
    log = tmp_path / "calls.log"
    assert run(words, tmp_path, **preloaded, CRASH_LOG=str(log)).returncode == 0
    wanted, calls = program.result(here), log.read_text().splitlines()
    assert len(calls) > 20
    wrong = []
    for number in chosen(len(calls)):
        afresh()
        first = run(words, tmp_path, **preloaded, CRASH_AT=str(number))
        again = run(words, tmp_path)
        fault = fault_of(how, first, again)
        if not fault and program.result(here) != wanted:
            fault = "another result"
        if fault:
            wrong.append(f"{calls[number - 1]}: {fault}")
    assert not wrong, "\n".join([f"{len(wrong)} of {len(chosen(len(calls)))} points", *wrong])


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_clock_that_jumps_changes_nothing(name: str, shim: Path, api: str, tmp_path: Path) -> None:
    program, results = PROGRAMS[name], []
    for clock in ({}, {"LD_PRELOAD": str(shim), "CRASH_CLOCK": "1"}):
        here = tmp_path / ("jumps" if clock else "runs")
        here.mkdir()
        program.prepare(here)
        words = [word.format(here=here, api=api) for word in program.words]
        assert run(words, tmp_path, **clock).returncode == 0
        results.append(program.result(here))
    assert results[0] == results[1]


def fault_of(
    how: str, first: subprocess.CompletedProcess[str], again: subprocess.CompletedProcess[str]
) -> str:
    """What is wrong with a run that was stopped and with the one after it; empty if nothing is."""
    if how == "kill" and first.returncode != SIGKILL_STATUS:
        return f"was not killed, status {first.returncode}"
    if how != "kill":
        said = first.stderr.strip().splitlines()[-1:] or [""]
        if "Traceback" in first.stderr:
            return f"a traceback: {said[0]}"
        if first.returncode not in (0, 1):
            return f"status {first.returncode}: {said[0]}"
        if first.returncode and not re.search(FAULTS[how][1], first.stderr):
            return f"an error without its reason: {said[0]}"
    if again.returncode:
        return f"the next run fails: {again.stderr.strip()[-300:]}"
    return ""
