"""The processes of a run: one, or those that torchrun started, each with its own rows and device."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


@dataclass(frozen=True, kw_only=True)
class Processes:
    """This process among those of a run."""

    rank: int = 0
    count: int = 1

    def wrapped(self, loss: nn.Module) -> nn.Module:
        """A loss whose gradients are averaged over the processes."""
        if self.count == 1:
            return loss
        return DistributedDataParallel(loss, gradient_as_bucket_view=True, broadcast_buffers=False)

    def summed(self, values: Sequence[float]) -> list[float]:
        """Each number summed over the processes."""
        if self.count == 1:
            return list(values)
        tensor = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(tensor)
        return [float(value) for value in tensor.tolist()]

    def first(self, value: float) -> float:
        """The first process's number, so that all decide alike."""
        return self.summed([value if self.rank == 0 else 0.0])[0]

    def gathered(self, own: Any) -> list[Any]:  # noqa: ANN401 - any tree of tensors
        """What each process has, in the order of ranks."""
        if self.count == 1:
            return [own]
        everyone: list[Any] = [None] * self.count
        dist.all_gather_object(everyone, own)
        return everyone


ONE_PROCESS = Processes()


@contextmanager
def torchrun_processes(environment: Mapping[str, str] = os.environ) -> Iterator[Processes]:
    """The processes that torchrun started; one where it did not start this one."""
    count = int(environment.get("WORLD_SIZE", "1"))
    if count == 1:
        yield ONE_PROCESS
        return
    # Tensors of a CPU are exchanged too: numbers to agree on, and all of a run on a CPU beside GPUs.
    dist.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")
    try:
        yield Processes(rank=dist.get_rank(), count=count)
        dist.barrier()  # no one closes its connections while another still reads from them
    finally:
        dist.destroy_process_group()
