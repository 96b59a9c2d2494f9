"""How the commands use a processor: its threads, its memory, and the signals that stop a long run.

The threads of a product wait for each other. A recurrent model makes many small products one after the
other: its threads wait longer than they work, and far longer if another program has one of the cores. The
preset tiny was then eight times slower with two threads than with one. So `fitted_threads` takes few threads
for small work. How busy the machine is does not count, on purpose: sums depend on the number of threads in
their last bits, and a run must not depend on what else runs. On a busy machine use `--threads 1`, or
`taskset`: torch counts only the cores that it gives.
"""

from __future__ import annotations

import ctypes
import logging
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ps_models.errors import needed_packages

LOG = logging.getLogger(__name__)

# Parameters of mallopt(3), from glibc's malloc.h.
M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4
MOST = 2**31 - 1
# Multiplications per thread in one step of time: 2 ms of a core, at 25 billion a second. A thread that has to
# wait for a core waits for a slice of the scheduler, about 3 ms; a step should be as long. The number is
# careful on purpose. On an idle machine of two cores, a second thread would give `small` (75 million) 1.5
# times the speed. If another training has that core, it takes the speed to a half, or to a fortieth if that
# training goes first (docs/notes.md). benchmarks/speed/threads.py measures it.
WORK = 50_000_000

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # signals that stop a run, which saves first

_given = False  # whether the user chose the number of threads


def use_processor(threads: int | None = None) -> None:
    """Set threads and memory for the whole process; a command does this when it starts.

    Without a number of threads, `fitted_threads` decides for each model.
    """
    global _given
    _given = threads is not None
    if threads is not None:
        with needed_packages():
            import torch

        torch.set_num_threads(threads)
    keep_freed_memory()


def threads_for(weights: int, rows: int, most: int) -> int:
    """Return how many threads a model is worth: one for each `WORK` multiplications of a step of time.

    Each token takes about as many as the model has weights; `rows` are texts that are read side by side.

    >>> threads_for(250_000, 16, 8), threads_for(20_000_000, 20, 4), threads_for(20_000_000, 20, 64)
    (1, 4, 8)
    """
    return max(1, min(most, weights * rows // WORK))


@contextmanager
def fitted_threads(model: object, rows: int = 1) -> Iterator[None]:
    """Compute with as many threads as a model with this many rows benefits from; not with more than before.

    Nothing changes if the user chose the number, or if the model does not read word by word.
    """
    import torch

    from ps_models.language_model import reads_word_by_word

    before = threads = torch.get_num_threads()
    if not _given and isinstance(model, torch.nn.Module) and reads_word_by_word(model):
        weights = sum(one.numel() for one in model.parameters())
        threads = threads_for(weights, rows, before)
    if threads != before:
        LOG.info("%d of %d threads, because the model is small", threads, before)
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def keep_freed_memory() -> bool:
    """Let large tensors use the memory of freed ones again; returns whether this is possible here.

    glibc gives each tensor of 32 MB or more its own pages and returns them to the kernel when it is freed,
    and the kernel clears other pages for the next one: a tenth of the time of an update of the medium models.
    On other systems nothing changes.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    return mallopt is not None and bool(mallopt(M_MMAP_MAX, 0)) and bool(mallopt(M_TRIM_THRESHOLD, MOST))


@contextmanager
def stop_signals() -> Iterator[Callable[[], bool]]:
    """Ctrl-C, SIGTERM and SIGHUP wait until the update is done; a second one ends the process as usual."""
    seen: list[int] = []

    def remember(number: int, frame: object) -> None:
        del frame
        seen.append(number)
        signal.signal(number, before[signal.Signals(number)])

    try:
        before = {number: signal.signal(number, remember) for number in STOPPING}
    except ValueError:  # not in the main thread, where only the caller can handle signals
        yield lambda: False
        return
    try:
        yield lambda: bool(seen)
    finally:
        for number in STOPPING:
            signal.signal(number, before[number])
