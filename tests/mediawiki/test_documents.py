"""Examples of the documents that need Wikipedia run against the real MediaWiki of this machine.

`fetch` asks that wiki, and `build` makes splits of a few articles, because the wiki is small; all else is as
the documents have it.
"""

from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.documents import commands, fences, run
from tests.mediawiki.wiki import Wiki

pytestmark = pytest.mark.slow

ELSEWHERE = "dump"  # in commands about a dump of all of Wikipedia
FEW = "--train-articles 9 --valid-articles 3 --test-articles 3 --workers 1"


@pytest.mark.parametrize("name", ["README.md", "docs/tutorial.md"])
def test_examples_of_the_network_run_in_order(wiki: Wiki, tmp_path: Path, name: str) -> None:
    network = [fence for fence in fences(ROOT / name) if fence.note == "network"]
    done = []
    for command in [command for fence in network for command, _ in commands(fence)]:
        if ELSEWHERE in command:
            continue
        verb = command.split()[1]
        changed = command + {"fetch": f" --api {wiki.api}", "build": f" {FEW}"}.get(verb, "")
        found = run(changed, tmp_path)
        assert found.returncode == 0, f"{changed}\n{found.stderr}"
        done.append(verb)
    assert done[0] == "fetch"
    assert "build" in done
    assert len(list(tmp_path.glob("*/manifest.json"))) == done.count("build")
