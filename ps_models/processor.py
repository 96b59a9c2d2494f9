"""Sets how the commands use a processor: its threads, its memory, and the signals that stop a long run.

The threads of a product wait for each other. A recurrent model computes many small products one after the
other: its threads wait longer than they work, and far longer if another program uses one of the cores. Then
the preset tiny was eight times slower with two threads than with one. So `fitted_threads` takes few threads
for small work. It deliberately ignores how busy the machine is: the last bits of sums depend on the number of
threads, and a run must not depend on other programs. On a busy machine use `--threads 1`, or `taskset`: torch
counts only the cores that taskset allows.
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
MALLOPT_MAX = 2**31 - 1
# Multiplications per thread in one step of time: 2 ms of a core, at 25 billion per second. A thread that has
# to wait for a core waits for a slice of the scheduler, about 3 ms; a step should be as long. The number is
# deliberately cautious. On an idle machine with two cores, a second thread would make `small` (75 million)
# 1.5 times faster. If another training uses that core, the speed halves, or drops to a fortieth if that
# training has priority (docs/notes.md).
THREAD_MULTIPLICATIONS = 50_000_000

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # signals that stop a run, which saves first

_threads_were_chosen = False  # by the user


def use_processor(threads: int | None = None) -> None:
    """Set threads and memory for the whole process; a command does this when it starts.

    Without a number of threads, `fitted_threads` decides for each model.
    """
    global _threads_were_chosen
    _threads_were_chosen = threads is not None
    if threads is not None:
        with needed_packages():
            import torch

        torch.set_num_threads(threads)
    keep_freed_memory()


def threads_for(weights: int, rows: int, limit: int) -> int:
    """Return how many threads suit a model: one per `THREAD_MULTIPLICATIONS` of a step of time.

    A token takes about as many multiplications as the model has weights; `rows` texts are read side by side.

    >>> threads_for(250_000, 16, 8), threads_for(20_000_000, 20, 4), threads_for(20_000_000, 20, 64)
    (1, 4, 8)
    """
    return max(1, min(limit, weights * rows // THREAD_MULTIPLICATIONS))


@contextmanager
def fitted_threads(model: object, rows: int = 1) -> Iterator[None]:
    """Compute with as many threads as suit a model with this many rows, but never with more than before.

    Nothing changes if the user chose the number, or if the model does not read word by word.
    """
    import torch

    from ps_models.language_model import reads_word_by_word

    old_threads = threads = torch.get_num_threads()
    if not _threads_were_chosen and isinstance(model, torch.nn.Module) and reads_word_by_word(model):
        weights = sum(parameter.numel() for parameter in model.parameters())
        threads = threads_for(weights, rows, old_threads)
    if threads != old_threads:
        LOG.info("%d of %d threads, because the model is small", threads, old_threads)
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(old_threads)


def keep_freed_memory() -> bool:
    """Let large tensors reuse the memory of freed ones; return True if this system allows it.

    glibc gives each tensor of 32 MB or more its own pages and returns them to the kernel when the tensor is
    freed, and the kernel clears pages for the next one: a tenth of the time of a medium model's update. On
    other systems nothing changes.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    return (
        mallopt is not None and bool(mallopt(M_MMAP_MAX, 0)) and bool(mallopt(M_TRIM_THRESHOLD, MALLOPT_MAX))
    )


@contextmanager
def stop_signals() -> Iterator[Callable[[], bool]]:
    """Let Ctrl-C, SIGTERM and SIGHUP wait until the update is done; a second signal ends the process."""
    received: list[int] = []

    def remember(number: int, frame: object) -> None:
        del frame
        received.append(number)
        signal.signal(number, old_handlers[signal.Signals(number)])

    try:
        old_handlers = {number: signal.signal(number, remember) for number in STOPPING}
    except ValueError:  # not in the main thread, where only the caller can handle signals
        yield lambda: False
        return
    try:
        yield lambda: bool(received)
    finally:
        for number in STOPPING:
            signal.signal(number, old_handlers[number])
