"""The processes of a run; as in torch.distributed, all are the world, and the number of one is its rank.

torchrun starts them. Each trains on rows of its own, and they average their gradients.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


@dataclass(frozen=True, kw_only=True)
class DistributedContext:
    """The processes of a run, and which of them this one is."""

    rank: int = 0
    size: int = 1

    def wrapped(self, loss: nn.Module) -> nn.Module:
        """A loss whose gradients are averaged over the processes."""
        if self.size == 1:
            return loss
        with warnings.catch_warnings():  # newer versions of torch have a second name for an option
            warnings.simplefilter("ignore", FutureWarning)
            return DistributedDataParallel(loss, gradient_as_bucket_view=True, broadcast_buffers=False)

    def summed(self, values: Sequence[float]) -> list[float]:
        """The sums of each number over the processes."""
        if self.size == 1:
            return list(values)
        tensor = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(tensor)
        return [float(value) for value in tensor.tolist()]

    def gathered(self, own: Any) -> list[Any]:  # noqa: ANN401 - any tree of tensors
        """What each process gives, in the order of ranks."""
        if self.size == 1:
            return [own]
        everyone: list[Any] = [None] * self.size
        dist.all_gather_object(everyone, own)
        return everyone


ONE_PROCESS = DistributedContext()


def not_averaged(loss: nn.Module) -> AbstractContextManager[None]:
    """While gradients only add up: before an averaged pass each process may make any number of these."""
    return loss.no_sync() if isinstance(loss, DistributedDataParallel) else nullcontext()


@contextmanager
def torchrun_context() -> Iterator[DistributedContext]:
    """The processes that torchrun started; only this one if torchrun did not start it."""
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        yield ONE_PROCESS
        return
    # Processes also exchange tensors of the CPU: numbers to agree on, or all tensors of a run on the CPU.
    dist.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")
    try:
        yield DistributedContext(rank=dist.get_rank(), size=size)
        dist.barrier()  # no process closes its connections while another one still reads from them
    finally:
        dist.destroy_process_group()
