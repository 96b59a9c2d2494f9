"""How the time of extraction grows: pieces of markup repeated in pairs, at two sizes.

    python -m tests.fuzz.growth              # all pairs at 128 and 512 KiB: half an hour
    python -m tests.fuzz.growth nowiki ref   # the pairs with a piece that contains one of these

Lists each wikitext that takes over `SLOW` seconds of the processor at the limit of 4 MiB, or whose time grows
faster than its length to the power of `STEEP`; the exit status is then 1. Also lists the steepest in the end.
"""

import contextlib
import gc
import math
import sys
import time
from collections.abc import Iterator
from itertools import product

from tests.wikitext_builder.extraction.pages import page
from wikitext_builder.errors import RejectedError
from wikitext_builder.extraction.page import extract

# \0 stands for a name that differs each time.
ATOMS = [
    "{{", "}}", "[[", "]]", "[", "|", "=", "''", "* ", "\n", " ", "<", ">", '"', "<ref>", "<ref name=",
    "<!--", "<!-<!---->-", "{|\n", "|}\n", "<nowiki", "<nowiki<!---->/>", "<math<!---->/>",
    "<x\0 class=thumb>", "<x\0 style='display:none'>", "<div class=thumb>", "</div>", "<b ", "class=",
    "[http://a ", "&amp;", "{{convert|\0|", "{{convert|10|km}}", "{{hlist|", "{{#switch:a|", "[[File:a|",
    "{{cn}}", "$", "(", "e\u0301",
]  # fmt: skip
FRAMES = {"plain": ("", ""), "nowiki": ("<nowiki>", "</nowiki>"), "ends": ("", "</nowiki></math>}}]]")}
SMALL, LARGE = 1 << 17, 1 << 19  # characters
LONGEST = 4_190_000  # characters, with a frame and combining marks below 4 MiB
SLOW = 5.0  # seconds
STEEP = 1.35
REPEATS = 3  # of what is steep
STEEPEST = 10  # printed in any case
LETTERS = str.maketrans("0123456789", "abcdefghij")
LEAST = 0.25  # seconds: below, the clock is too coarse for an exponent


def seconds(wikitext: str) -> float:
    """The processor's time for one page, read or rejected."""
    started = time.process_time()
    with contextlib.suppress(RejectedError):
        extract(page(wikitext))
    return time.process_time() - started


def repeated(atoms: str, length: int) -> str:
    """The atoms repeated up to a length, with a new name in each copy."""
    copies = length // len(atoms) + 1
    if "\0" not in atoms:
        return (atoms * copies)[:length]
    names = (str(number).translate(LETTERS) for number in range(copies))
    return "".join(atoms.replace("\0", name) for name in names)[:length]


def pages(first: str, second: str, length: int) -> Iterator[tuple[str, str]]:
    """The wikitexts of a pair, with names for them."""
    for frame, (before, after) in FRAMES.items():
        if first <= second:
            yield f"mixed, {frame}", before + repeated(first + second, length) + after
        yield f"run, {frame}", before + first + repeated(second, length) + after


def exponent_of(small: str, large: str) -> float:
    """How the time grows: as the length to the power of this.

    What is steep is measured again, because other programs disturb. Python's collector of garbage is off: its
    time grows as the page does, but in steps, which the exponent of two sizes would count.
    """
    time_of_small = time_of_large = math.inf
    gc.disable()
    for _ in range(REPEATS):
        time_of_small = min(time_of_small, seconds(small))
        time_of_large = min(time_of_large, seconds(large))
        exponent = math.log(time_of_large / max(time_of_small, 1e-9), LARGE / SMALL)
        if exponent <= STEEP:
            break
    gc.enable()
    return exponent


def main(words: list[str]) -> int:
    """Measure the pairs and write those that stand out; returns the exit status."""
    found, measured = 0, list[tuple[float, str]]()
    for first, second in product(ATOMS, repeat=2):
        if words and not any(word in first or word in second for word in words):
            continue
        sizes = (pages(first, second, length) for length in (SMALL, LARGE, LONGEST))
        for (name, small), (_, large), (_, longest) in zip(*sizes, strict=True):
            if (taken := seconds(large)) < LEAST:
                continue
            exponent = exponent_of(small, large)
            measured.append((exponent, f"{name:13} {first!r} {second!r}"))
            if exponent <= STEEP and taken * LONGEST / LARGE > SLOW:
                taken = seconds(longest)
            if taken > SLOW or exponent > STEEP:
                found += 1
                sys.stdout.write(f"{taken:6.2f} s {exponent:+.2f} {name:13} {first!r} {second!r}\n")
                sys.stdout.flush()
    for exponent, what in sorted(measured)[-STEEPEST:]:
        sys.stdout.write(f"         {exponent:+.2f} {what}\n")
    sys.stdout.write(f"{found} of {len(measured)} stand out\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
