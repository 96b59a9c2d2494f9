"""How the commands use a processor: its threads and its memory."""

from __future__ import annotations

import ctypes
import sys

# Parameters of mallopt(3), from glibc's malloc.h.
M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4
MOST = 2**31 - 1


def use_processor(threads: int | None = None) -> None:
    """Set threads and memory for the whole process; a command does this when it starts.

    Args:
        threads: The threads of torch's operators; None: torch decides.
    """
    if threads is not None:
        import torch

        torch.set_num_threads(threads)
    keep_freed_memory()


def keep_freed_memory() -> bool:
    """Let large tensors use the memory of freed ones again; returns whether this is possible here.

    glibc gives each tensor of 32 MB or more its own pages and returns them to the kernel when it is freed,
    and the kernel clears other pages for the next one: a tenth of the time of an update of the medium models.
    On other systems nothing changes.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    return mallopt is not None and bool(mallopt(M_MMAP_MAX, 0)) and bool(mallopt(M_TRIM_THRESHOLD, MOST))
