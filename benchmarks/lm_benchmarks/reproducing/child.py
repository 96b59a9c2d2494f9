"""Runs a command of this project as a child process that stops, and saves, when its parent ends.

    python -m lm_benchmarks.reproducing.child ps-models train lstm ptb --out run

The parent keeps the child's stdin open. When it closes it, or is killed, the child gets the signal of Ctrl-C.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from typing import Final

PROGRAMS: Final = {"ps-models": "ps_models.cli", "lm-benchmarks": "lm_benchmarks.cli"}


def _interrupt_when_stdin_ends() -> None:
    while os.read(0, 1 << 10):
        pass
    os.kill(os.getpid(), signal.SIGINT)


def _main() -> None:
    program = sys.argv[1]
    main: Callable[[], None] = import_module(PROGRAMS[program]).main
    # A shell's background command ignores Ctrl-C, and its children inherit that: they would never stop.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=_interrupt_when_stdin_ends, daemon=True).start()
    sys.argv = sys.argv[1:]  # records keep the command
    main()


if __name__ == "__main__":
    _main()
