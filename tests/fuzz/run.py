"""Fuzzes the readers of foreign bytes, guided by coverage where atheris is installed and sees the reader.

    python -m tests.fuzz.run --minutes 60               # all targets, an hour together
    python -m tests.fuzz.run wikitext html --minutes 1  # some targets

Prints for each target how many inputs were tried, how many branches of our code they reached (with what was
there before, and in the end), how many were kept, and for a finding the input. Then the laws over the kept
inputs, see `child.py`: the results in two processes with other hash seeds, and exponents of time and memory.
Inputs that reached something new are kept in the folder `build/fuzz`, where the next run begins. The exit
status is 1 if there is a finding.
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

from tests.fuzz import file_targets, model_targets, native_targets, page_targets
from tests.fuzz.mutate import fuzz
from tests.fuzz.target import Target

ROOT = Path(__file__).parents[2]
# What is fuzzed: each reader of foreign bytes, with its documented errors and the laws of its result.
TARGETS: dict[str, Target] = {
    **page_targets.TARGETS,
    **file_targets.TARGETS,
    **model_targets.TARGETS,
    **native_targets.TARGETS,
}
KEPT = ROOT / "build" / "fuzz"
HASH_SEEDS = ("1", "2")
STEEP = 1.4  # an exponent; one run of a busy machine is no exact measurement


def folders(name: str) -> list[Path]:
    """The folders of the inputs of a target: those that were kept, and the seeds."""
    found = [KEPT / name, KEPT / f"{name}.seeds"]
    for folder in found:
        folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(TARGETS[name].seeds):
        (found[1] / str(number)).write_bytes(seed)
    return found


def guided(name: str, seconds: float) -> bool:
    """Fuzz a target with atheris in a process of its own; returns True if it found something."""
    corpus, seeds = folders(name)
    words = KEPT / f"{name}.words"
    escaped = ["".join(f"\\x{byte:02x}" for byte in word) for word in TARGETS[name].words]
    words.write_text("".join(f'"{word}"\n' for word in escaped))
    options = [
        f"-max_total_time={round(seconds)}",
        f"-max_len={TARGETS[name].longest}",
        "-timeout=20",
        "-rss_limit_mb=4096",
        f"-artifact_prefix={KEPT}/{name}.finding-",
        "-print_final_stats=1",
    ]
    options += [f"-dict={words}"] if escaped else []
    command = [sys.executable, "-m", "tests.fuzz.child", "guided", name, *options, str(corpus), str(seeds)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace", check=False)
    log = done.stdout + done.stderr
    tried = re.search(r"number_of_executed_units: (\d+)", log)
    first, last = re.search(r"INITED cov: (\d+)", log), re.findall(r"cov: (\d+)", log)
    click.echo(
        f"{name:<13} {int(tried[1]) if tried else 0:>10,} inputs,"
        f" {first[1] if first else '?'} then {last[-1] if last else '?'} branches,"
        f" {len(list(corpus.iterdir()))} kept"
    )
    if done.returncode or not last:  # without branches libFuzzer mutates nothing but an empty input
        click.echo("\n".join([*done.stdout.splitlines()[-20:], *done.stderr.splitlines()[-20:]]))
    return done.returncode != 0 or not last


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


def lawless(name: str) -> bool:
    """Print how the laws of the kept inputs stand; returns True if one is broken."""
    inputs = [str(folder) for folder in folders(name)]

    def said(what: str, hash_seed: str) -> str:
        command = [sys.executable, "-m", "tests.fuzz.child", what, name, *inputs]
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        return done.stdout if done.returncode == 0 else done.stderr[-2_000:]

    first, second = (said("hashes", hash_seed).splitlines() for hash_seed in HASH_SEEDS)
    differing = [line for line, other in zip(first, second, strict=False) if line != other]
    growth = said("growth", HASH_SEEDS[0])
    exponents = [float(found) for found in re.findall(r"^(?:time|memory) ([0-9.]+)", growth, re.MULTILINE)]
    click.echo(
        f"{'':<13} {len(first)} results twice, {len(differing)} differ; {'; '.join(growth.splitlines())}"
    )
    wrong = len(first) != len(second) or differing or len(exponents) != 2 or max(exponents) > STEEP
    if wrong:
        click.echo(f"{'':<13} a broken law: {differing or [*first[-1:], *second[-1:], growth]}")
    return bool(wrong)


def main() -> int:
    """Run the chosen targets one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("targets", nargs="*", choices=[*TARGETS, []], default=[])
    parser.add_argument("--minutes", type=float, default=60.0, help="in all, without the laws")
    parser.add_argument("--no-laws", action="store_true", help="only search for inputs")
    options = parser.parse_args()
    targets = options.targets or list(TARGETS)
    seconds = options.minutes * 60 / len(targets)
    findings = []
    for name in targets:
        # What another process reads shows no branches here.
        seen = find_spec("atheris") and name not in native_targets.TARGETS
        if (guided if seen else unguided)(name, seconds):
            findings.append(name)
    if not options.no_laws:
        findings += [name for name in targets if lawless(name)]
    click.echo(f"{len(targets)} targets, findings in: {', '.join(findings) or 'none'}")
    return int(bool(findings))


if __name__ == "__main__":
    sys.exit(main())
