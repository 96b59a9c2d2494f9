"""What `tests.fuzz.run` does with one target in a process of its own.

    python -m tests.fuzz.child guided NAME OPTION...   # fuzzes with atheris, with options of libFuzzer
    python -m tests.fuzz.child hashes NAME FOLDER...   # prints a hash of the result of each input
    python -m tests.fuzz.child growth NAME FOLDER...   # prints the steepest exponents of time and memory

Laws over the inputs that a fuzzer kept: the same results with other hash seeds; linear time and memory.

Growth: a piece of an input is repeated until the input has `SMALL` and then `LARGE` bytes. The exponent is
the logarithm of the ratio of the times, to the base of the ratio of the lengths: 1 is linear, 2 quadratic.
Memory is what Python counts, without that of libraries in C.
"""

from __future__ import annotations

import hashlib
import math
import random
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from tests.fuzz.target import Target, outcome, target_of

INPUTS = 300  # of a target, at most
SMALL, LARGE = 1 << 14, 1 << 16  # bytes
LEAST_SECONDS, LEAST_BYTES = 0.02, 1 << 20  # below, an exponent would be noise
SECONDS = 10.0  # for all inputs of a target


def inputs_of(folders: Iterable[str]) -> Iterator[bytes]:
    """The inputs in some folders, spread over all of them if there are many."""
    paths = sorted(path for folder in folders for path in Path(folder).iterdir())
    yield from (path.read_bytes() for path in paths[:: len(paths) // INPUTS + 1])


def result_of(target: Target, content: bytes) -> str:
    """What comes of an input; the kind of the error, if it is a finding."""
    try:
        return outcome(target, content)
    except Exception as error:  # counted by the fuzzer, not here
        return type(error).__name__


def seconds(target: Target, content: bytes) -> float:
    """The processor's time for an input, the shortest of three."""
    taken = []
    for _ in range(3):
        started = time.process_time()
        result_of(target, content)
        taken.append(time.process_time() - started)
    return min(taken)


def peak(target: Target, content: bytes) -> float:
    """The most bytes that Python holds for an input."""
    tracemalloc.start()
    result_of(target, content)
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return float(found)


def longer(content: bytes, begin: int, end: int, length: int) -> bytes:
    """An input with a piece repeated up to a length."""
    copies = max(1, (length - len(content)) // (end - begin))
    return content[:begin] + content[begin:end] * copies + content[end:]


def steepest(target: Target, contents: Iterable[bytes]) -> dict[str, tuple[float, float, bytes]]:
    """The largest exponents of time and memory, what the larger input took, and the repeated piece."""
    generator, ends = random.Random(1), time.monotonic() + SECONDS
    kinds: dict[str, tuple[Callable[[Target, bytes], float], float]] = {
        "time": (seconds, LEAST_SECONDS),
        "memory": (peak, LEAST_BYTES),
    }
    found = dict.fromkeys(kinds, (0.0, 0.0, b""))
    shuffled = [content for content in contents if len(content) > 1]
    generator.shuffle(shuffled)
    for content in shuffled:
        begin = generator.randrange(len(content))
        end = min(len(content), begin + generator.randrange(1, 64))
        small, large = (longer(content, begin, end, length) for length in (SMALL, LARGE))
        for kind, (measure, least) in kinds.items():
            if time.monotonic() > ends:
                return found
            most = measure(target, large)
            if most > least:
                exponent = math.log(most / max(measure(target, small), 1e-9), len(large) / len(small))
                found[kind] = max(found[kind], (exponent, most, content[begin:end]))
    return found


def guide(name: str, options: list[str]) -> None:
    """Fuzz a target with atheris, which ends the process."""
    import atheris  # not in the extras: only this function needs it

    with atheris.instrument_imports(include=["wikitext_builder", "ps_models", "lm_benchmarks"]):
        target = target_of(name)
    atheris.Setup([sys.argv[0], *options], lambda content: outcome(target, bytes(content)))
    atheris.Fuzz()


def main(what: str, name: str, words: list[str]) -> None:
    """Fuzz, or print the hashes of the results, or the exponents."""
    if what == "guided":
        guide(name, words)
    elif what == "hashes":
        for content in inputs_of(words):
            result = hashlib.sha256(result_of(target_of(name), content).encode()).hexdigest()
            sys.stdout.write(f"{hashlib.sha256(content).hexdigest()[:12]} {result[:12]}\n")
    else:
        for kind, (exponent, most, piece) in steepest(target_of(name), inputs_of(words)).items():
            sys.stdout.write(f"{kind} {exponent:.2f} {most:.3g} {piece!r}\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
