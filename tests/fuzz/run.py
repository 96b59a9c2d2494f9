"""Fuzzes the readers of foreign bytes, guided by coverage where atheris is installed.

    python -m tests.fuzz.run --minutes 60               # all targets, an hour together
    python -m tests.fuzz.run wikitext html --minutes 1  # some targets

Prints for each target how many inputs were tried, and for a finding the input, made smaller. Inputs that
reached something new are kept in the folder `build/fuzz`, where the next run begins. The exit status is 1 if
there is a finding.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

from tests.fuzz.mutate import fuzz
from tests.fuzz.targets import TARGETS

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "build" / "fuzz"
LONGEST = 4_096  # bytes of an input


def say(text: str) -> None:
    """Print at once: a run takes an hour."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def guided(name: str, seconds: float) -> bool:
    """Fuzz a target with atheris in a process of its own; returns True if it found something."""
    corpus, seeds, words = KEPT / name, KEPT / f"{name}.seeds", KEPT / f"{name}.words"
    for folder in (corpus, seeds):
        folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(TARGETS[name].seeds):
        (seeds / str(number)).write_bytes(seed)
    escaped = ("".join(f"\\x{byte:02x}" for byte in word) for word in TARGETS[name].words)
    words.write_text("".join(f'"{word}"\n' for word in escaped))
    options = [
        f"-max_total_time={round(seconds)}",
        f"-max_len={LONGEST}",
        "-timeout=20",
        "-rss_limit_mb=4096",
    ]
    options += [f"-dict={words}", f"-artifact_prefix={KEPT}/{name}.finding-", "-print_final_stats=1"]
    command = [sys.executable, "-m", "tests.fuzz.guided", name, *options, str(corpus), str(seeds)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace", check=False)
    log = done.stdout + done.stderr
    tried = re.search(r"number_of_executed_units: (\d+)", log)
    covered = re.findall(r"cov: (\d+)", log)
    say(
        f"{name:<12} {int(tried[1]) if tried else 0:>10,} inputs, {covered[-1] if covered else '?'} branches,"
        f" {len(list(corpus.iterdir()))} kept"
    )
    if done.returncode:
        say("\n".join(log.splitlines()[-40:]))
    return done.returncode != 0


def unguided(name: str, seconds: float) -> bool:
    """Fuzz a target with mutations of its seeds; returns True if it found something."""
    ends = time.monotonic() + seconds
    tried, finding = fuzz(TARGETS[name], seed=int(time.time()), keep_on=lambda _: time.monotonic() < ends)
    say(f"{name:<12} {tried:>10,} inputs, without coverage (pip install atheris)")
    if finding is not None:
        say(finding)
    return finding is not None


def main() -> int:
    """Run the chosen targets one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("targets", nargs="*", choices=[*TARGETS, []], default=list(TARGETS))
    parser.add_argument("--minutes", type=float, default=60.0, help="in all")
    options = parser.parse_args()
    KEPT.mkdir(parents=True, exist_ok=True)
    run = guided if find_spec("atheris") else unguided
    seconds = options.minutes * 60 / len(options.targets)
    findings = [name for name in options.targets if run(name, seconds)]
    return int(bool(findings))


if __name__ == "__main__":
    sys.exit(main())
