"""How the commands use a processor: its threads, and its memory."""

from __future__ import annotations

import ctypes
import sys

import torch

# Of mallopt(3), from glibc's malloc.h.
M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4
MOST = 2**31 - 1


def use_processor(threads: int | None = None) -> None:
    """Settings of the whole process, for a command to make as it starts.

    Args:
        threads: Of torch's operators; None: torch decides.
    """
    if threads is not None:
        torch.set_num_threads(threads)
    keep_freed_memory()


def keep_freed_memory() -> bool:
    """Let large tensors take the memory of those before them; whether that could be done.

    glibc gives each of 32 MB or more pages of its own and returns them when it is freed, and the kernel
    clears others for the next one: a tenth of the time of an update of the medium models. Elsewhere nothing
    changes.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    return mallopt is not None and bool(mallopt(M_MMAP_MAX, 0)) and bool(mallopt(M_TRIM_THRESHOLD, MOST))
