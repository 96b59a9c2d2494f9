"""What `tests.fuzz.run` does with one target in a process of its own.

python -m tests.fuzz.child guided NAME OPTION...   # fuzzes with atheris, with options of libFuzzer
python -m tests.fuzz.child hashes NAME FOLDER...   # prints a hash of the result of each input
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from tests.fuzz.target import outcome, target_of

INPUTS = 300  # of a target, at most


def guide(name: str, options: list[str]) -> None:
    """Fuzz a target with atheris, which ends the process."""
    import atheris  # not in the extras: only this function needs it

    with atheris.instrument_imports(include=["wikitext_builder", "ps_models", "lm_benchmarks"]):
        target = target_of(name)
    atheris.Setup([sys.argv[0], *options], lambda content: outcome(target, bytes(content)))
    atheris.Fuzz()


def print_hashes(name: str, folders: list[str]) -> None:
    """Print a hash of each result, of inputs that are spread over all if there are many."""
    target = target_of(name)
    paths = sorted(path for folder in folders for path in Path(folder).iterdir())
    for path in paths[:: len(paths) // INPUTS + 1]:
        try:
            result = outcome(target, path.read_bytes())
        except Exception as error:  # counted by the fuzzer, not here
            result = type(error).__name__
        sys.stdout.write(f"{path.name} {hashlib.sha256(result.encode()).hexdigest()}\n")


if __name__ == "__main__":
    {"guided": guide, "hashes": print_hashes}[sys.argv[1]](sys.argv[2], sys.argv[3:])
