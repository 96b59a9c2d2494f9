"""Two commands at once, in real processes of which one is held in its middle: who waits, and who refuses."""

import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import wikitext_builder as wb
from tests.command import done, refused, start
from tests.dumps import export_xml, numbered_page, page_xml, revision_xml
from tests.wikitext_builder.datasets import digests, sizes

PAGES = 12_000  # so many that an import takes longer than a look at its store


@dataclass
class Held:
    """A process that stands still."""

    process: subprocess.Popen[str]

    def end(self) -> str:
        """Let it go on; returns what it printed."""
        self.process.send_signal(signal.SIGCONT)
        out, err = self.process.communicate(timeout=240)
        assert self.process.returncode == 0, err
        return out


def hold_when(condition: Callable[[], bool], *arguments: object) -> Held:
    """Start a command, and stop it for a while as soon as a condition holds."""
    process = start(*arguments)
    deadline = time.monotonic() + 120
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.001)
    process.send_signal(signal.SIGSTOP)
    assert process.poll() is None
    return Held(process)


def test_of_two_builds_with_one_out_the_second_refuses(small: Path, tmp_path: Path) -> None:
    out, lock = tmp_path / "data", tmp_path / ".data.partial" / "lock"
    words = ("build", "demo", "--store", small / "pages.store", "--out", out, "--workers", 1)
    # Later than at the lock: SQLite gives up on a store that a process was stopped in the middle of opening.
    first = hold_when(lambda: any(lock.parent.glob("*/shards/*")), *words)
    for seed in ((), ("--seed", "other")):
        message = refused(*words, *seed)
        assert f"{lock.parent}: another build is running there; wait for it" in message
    assert first.end().startswith(f"{out}: built")
    assert digests(out) == digests(small / "demo")
    assert "already built" in done(*words)


def test_an_import_waits_for_no_build_and_a_build_takes_what_was_there_when_it_began(tmp_path: Path) -> None:
    dump, store, out = tmp_path / "dump.xml", tmp_path / "pages.store", tmp_path / "data"
    pages = [numbered_page(n, f"Words number {n} stand here.") for n in range(1, PAGES + 1)]
    dump.write_bytes(export_xml([page_xml(one, revision_xml(one)) for one in pages]))

    def some() -> bool:
        with suppress(sqlite3.Error), closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as opened:
            return bool(opened.execute("SELECT count(*) FROM revisions").fetchone()[0])
        return False

    held = hold_when(some, "import", dump, "--store", store, "--all")
    words = ("build", "demo", "--store", store, "--out", out, "--workers", 1, "--min-count", 1)
    done(*words)  # while the import stands still, perhaps in a transaction
    found = sum(sizes(out).values())
    assert 0 < found < PAGES
    lines = wb.lock(store).splitlines()
    assert f"{PAGES:,} new" in held.end()
    assert "another dataset" in refused(*words)
    (tmp_path / "then.lock").write_text("\n".join(lines) + "\n", encoding="utf-8")
    again = ("build", "demo", "--store", store, "--lock", tmp_path / "then.lock", "--workers", 1)
    done(*again, "--out", tmp_path / "again", "--min-count", 1)
    assert digests(tmp_path / "again") == digests(out)
