"""Fuzzes the readers of foreign bytes, guided by coverage where atheris is installed and sees the reader.

    python -m tests.fuzz.run --minutes 60               # all targets, an hour together
    python -m tests.fuzz.run wikitext html --minutes 1  # some targets

Prints for each target how many inputs were tried, how many branches of our code they reached, and for a
finding the input. Then the results of the kept inputs must be the same in two processes with other hash
seeds. Inputs that reached something new are kept in the folder `build/fuzz`, where the next run begins. The
exit status is 1 if there is a finding.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import click

from tests.conftest import ROOT
from tests.fuzz import file_targets, model_targets, native_targets, page_targets
from tests.fuzz.mutate import fuzz
from tests.fuzz.target import Target

# What is fuzzed: each reader of foreign bytes, with its documented errors and the laws of its result.
TARGETS: dict[str, Target] = {
    **page_targets.TARGETS,
    **file_targets.TARGETS,
    **model_targets.TARGETS,
    **native_targets.TARGETS,
}
KEPT = ROOT / "build" / "fuzz"
HASH_SEEDS = ("1", "2")


def folders(name: str) -> list[Path]:
    """The folders of the inputs of a target: those that were kept, and the seeds."""
    corpus, seeds = KEPT / name, KEPT / f"{name}.seeds"
    for folder in (corpus, seeds):
        folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(TARGETS[name].seeds):
        (seeds / str(number)).write_bytes(seed)
    return [corpus, seeds]


def child(what: str, name: str, *words: object, hash_seed: str = "random") -> tuple[int, str]:
    """Let another process do something with a target; returns its status and what it printed."""
    command = [sys.executable, "-m", "tests.fuzz.child", what, name, *map(str, words)]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, errors="replace", check=False
    )
    return done.returncode, done.stdout + done.stderr


def guided(name: str, seconds: float) -> bool:
    """Fuzz a target with atheris in a process of its own; returns True if it found something."""
    options = [f"-max_total_time={round(seconds)}", f"-max_len={TARGETS[name].longest}", "-timeout=20"]
    options += ["-rss_limit_mb=4096", f"-artifact_prefix={KEPT}/{name}.finding-", "-print_final_stats=1"]
    places = folders(name)
    if TARGETS[name].words:
        words = KEPT / f"{name}.words"
        escaped = ["".join(f"\\x{byte:02x}" for byte in word) for word in TARGETS[name].words]
        words.write_text("".join(f'"{word}"\n' for word in escaped))
        options.append(f"-dict={words}")
    status, log = child("guided", name, *options, *places)
    tried, branches = re.findall(r"number_of_executed_units: (\d+)", log), re.findall(r"cov: (\d+)", log)
    click.echo(f"{name:<13} {('?', *tried)[-1]:>10} inputs, {('?', *branches)[-1]} branches")
    found = status != 0 or not branches  # without branches libFuzzer mutates nothing but an empty input
    if found:
        click.echo("\n".join(log.splitlines()[-40:]))
    return found


def unguided(name: str, seconds: float) -> bool:
    """Fuzz a target with mutations of its seeds; returns True if it found something."""
    ends = time.monotonic() + seconds
    native_targets.ENDED.clear()
    tried, finding = fuzz(TARGETS[name], seed=int(time.time()), keep_on=lambda _: time.monotonic() < ends)
    ended = "".join(f"; {count:,} {how}" for how, count in native_targets.ENDED.most_common())
    click.echo(f"{name:<13} {tried:>10,} inputs, without coverage{ended}")
    if finding is not None:
        click.echo(finding)
    return finding is not None


def depends_on_hashes(name: str) -> bool:
    """Returns True, and prints where, if the results of the kept inputs differ between hash seeds."""
    ended = [child("hashes", name, *folders(name), hash_seed=hash_seed) for hash_seed in HASH_SEEDS]
    first, second = (printed.splitlines() for _, printed in ended)
    differing = [line for line in first if line not in second]
    wrong = any(status for status, _ in ended) or first != second
    click.echo(f"{name:<13} {len(first)} results twice, {len(differing)} differ")
    if wrong:
        click.echo("\n".join(differing or [*first[-5:], *second[-5:]]))
    return wrong


def main() -> int:
    """Run the chosen targets one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("targets", nargs="*", choices=[*TARGETS, []], default=[])
    parser.add_argument("--minutes", type=float, default=60.0, help="in all, without the second results")
    options = parser.parse_args()
    targets = options.targets or list(TARGETS)
    seconds = options.minutes * 60 / len(targets)
    # What another process reads shows no branches here.
    seen = {name for name in targets if find_spec("atheris") and name not in native_targets.TARGETS}
    findings = [name for name in targets if (guided if name in seen else unguided)(name, seconds)]
    findings += [name for name in targets if depends_on_hashes(name)]
    click.echo(f"{len(targets)} targets, findings in: {', '.join(findings) or 'none'}")
    return int(bool(findings))


if __name__ == "__main__":
    sys.exit(main())
