"""The whole way on real input: from a dump to a dataset, on the real command line."""

import os
import re
import signal
import time
from pathlib import Path

import pytest
from extraction_eval.measure import count_residue

from tests.cases import each
from tests.command import done, run, start
from tests.conftest import data
from tests.wikitext_builder.datasets import articles, digests, verified

REMOVED = {"References", "See also", "External links", "Further reading", "Notes", "Bibliography"}


def test_the_sample_becomes_a_dataset_without_markup(sample: Path) -> None:
    verified(sample / "demo")
    assert len(articles(sample / "demo")) == 28
    assert (sample / "demo" / "rejected.jsonl").read_bytes() == b""
    lines = [line for article in articles(sample / "demo").values() for line in article]
    assert not [line for line in lines if [*count_residue(line)]]
    headings = {line.strip("= ") for line in lines if line.startswith("= =")}
    assert headings
    assert not headings & REMOVED


@each("commands", "sentence, title", "sentences of the sample")
def test_a_reader_finds_the_sentences_of_the_sample(sample: Path, sentence: str, title: str) -> None:
    """A build that drops or garbles templates does not give them."""
    assert sentence in "\n".join(articles(sample / "demo")[title.replace("-", " @-@ ")])


def memory_of_tree(pid: int) -> int:
    """Bytes that a process and its descendants hold, shared pages counted once."""
    found, total = [pid], 0
    for one in found:
        try:
            found += [int(child) for child in Path(f"/proc/{one}/task/{one}/children").read_text().split()]
            lines = Path(f"/proc/{one}/smaps_rollup").read_text().splitlines()
        except OSError:  # it has ended meanwhile
            continue
        total += 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total


@pytest.mark.slow
def test_all_shared_pages_are_built_with_two_workers_and_a_killed_build_resumes(tmp_path: Path) -> None:
    dumps, store = sorted(data("pages").glob("pages-*.xml.bz2")), tmp_path / "pages.store"
    done("import", "--all", "--store", store, *dumps)
    recipe = ("build", "wikitext-103", "--store", store, "--workers", 2, "--out")
    process = start(*recipe, tmp_path / "whole")
    peak = 0
    while process.poll() is None:
        peak = max(peak, memory_of_tree(process.pid))
        time.sleep(0.2)
    assert process.stderr is not None
    assert process.returncode == 0, process.stderr.read()
    verified(tmp_path / "whole")
    assert peak < 800 * 2**20
    lines = [line for article in articles(tmp_path / "whole").values() for line in article]
    tags = [line for line in lines if re.search(r"\{\{|\[\[|<ref\b", line)]
    assert len(tags) <= len(lines) // 10_000, tags[:20]  # an article about markup may contain it

    process = start(*recipe, tmp_path / "killed")
    assert process.stderr is not None
    while not process.stderr.readline().startswith("count"):
        assert process.poll() is None
    os.killpg(process.pid, signal.SIGKILL)  # with its workers
    process.wait()
    assert not (tmp_path / "killed").exists()
    assert "shards are already done" in run(*recipe, tmp_path / "killed").stderr
    assert digests(tmp_path / "killed") == digests(tmp_path / "whole")
    assert not list(tmp_path.glob(".*"))
