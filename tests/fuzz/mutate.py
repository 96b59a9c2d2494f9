"""Mutations of seeds, without coverage: for machines without atheris, and for the short run of the tests."""

from __future__ import annotations

import random
import traceback
from collections.abc import Callable
from typing import Final

from tests.fuzz.target import Target, outcome

KINDS: Final = range(8)  # of changes
IN_PLACE: Final = (0, 1)  # those that move no byte


def fuzz(target: Target, *, seed: int, keep_on: Callable[[int], bool]) -> tuple[int, str | None]:
    """Try mutated seeds; returns how many, and the first finding with its input.

    Args:
        target: What is fuzzed.
        seed: The same seed gives the same inputs.
        keep_on: Is asked before each input, with the number of those before it.
    """
    generator, tried = random.Random(seed), 0
    while keep_on(tried):
        content = mutated(generator, target)
        tried += 1
        if (error := failure(target, content)) is not None:
            return tried, f"{content!r}\n{''.join(traceback.format_exception(error)[-6:])}"
    return tried, None


def failure(target: Target, content: bytes) -> Exception | None:
    """The error that a target raises for some bytes."""
    try:
        outcome(target, content)
    except Exception as error:  # any error is a finding
        return error
    return None


def mutated(generator: random.Random, target: Target) -> bytes:
    """A seed with some changes: bits, bytes, pieces of seeds and words of the target."""
    content = bytearray(generator.choice(target.seeds))
    kinds = IN_PLACE if target.has_offsets and generator.randrange(4) else KINDS
    for _ in range(generator.choice((1, 1, 2, 4, 8, 32))):
        at = generator.randrange(len(content) + 1)
        match generator.choice(kinds):
            case 0 if content:
                content[at % len(content)] ^= 1 << generator.randrange(8)
            case 1:
                end = min(len(content), at + generator.choice((1, 1, 2, 4, 8)))
                content[at:end] = bytes([generator.choice((0, 1, 127, 128, 255))]) * (end - at)
            case 2:
                content[at:at] = generator.randbytes(generator.randrange(1, 4))
            case 3:
                del content[at : at + generator.randrange(1, 20)]
            case 4:
                other = generator.choice(target.seeds)
                begin = generator.randrange(len(other) + 1)
                content[at:at] = other[begin : begin + generator.randrange(40)]
            case 5 if target.words:
                content[at:at] = generator.choice(target.words) * generator.choice((1, 1, 1, 2, 9))
            case 6:
                del content[at:]
            case _:
                begin = generator.randrange(len(content) + 1)
                content[at:at] = content[begin : begin + generator.randrange(60)]
    return bytes(content[: target.longest])
