"""Freed memory is kept for the next tensor, in a process of its own: the setting is for good."""

import platform
import subprocess
import sys

import pytest

SCRIPT = """
import resource
import torch
from ps_models.processor import use_processor

def pages_that_were_cleared():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(32):
        torch.ones(16 * 2**20)  # 64 MiB each, freed at once
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

ordinary = pages_that_were_cleared()
use_processor(threads=1)
print(ordinary, pages_that_were_cleared(), torch.get_num_threads())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be set to keep its memory")
def test_large_tensors_take_the_memory_of_those_before_them():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    ordinary, kept, threads = map(int, done.stdout.split())
    assert ordinary > 32 * 1000
    assert kept < ordinary / 2  # the first few find no place that fits them
    assert threads == 1
