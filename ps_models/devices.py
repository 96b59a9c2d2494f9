"""Chooses where a model runs, in which arithmetic, and in how many processes.

torchrun starts several processes. Each trains on different rows, and they average their gradients. As in
torch.distributed, all processes are the world, and the number of a process is its rank.
"""

from __future__ import annotations

import os
import platform
import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Literal

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from ps_models.errors import ModelError
from ps_models.hyperparameters import PRECISIONS


def choose_device(name: str, rank: int = 0) -> torch.device:
    """Return a device by torch's name for it; `auto` is a GPU if there is one, else the CPU.

    Several processes take different GPUs, by their rank.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        if device.type == "cuda" and torch.cuda.is_available():
            if ":" not in name:
                device = torch.device("cuda", rank % max(1, torch.cuda.device_count()))
            torch.cuda.set_device(device)
        torch.zeros(1, device=device).item()  # fails on a device without numbers, such as meta
    except (RuntimeError, AssertionError) as error:
        raise ModelError(f"device {name}: {str(error).splitlines()[0]}; use cpu") from error
    return device


def device_name(device: torch.device) -> str:
    """Return the name of a device, for records; for a CPU with its number of threads."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{device.type} ({platform.machine()}, {torch.get_num_threads()} threads)"


@contextmanager
def autocast(device: torch.device, precision: str) -> Iterator[None]:
    """Compute in a precision inside the context, and as before after it."""
    if precision not in PRECISIONS:
        raise ModelError(f"--precision {precision}: expected {', '.join(PRECISIONS)}")
    cudnn: Any = torch.backends.cudnn
    saved = torch.get_float32_matmul_precision(), cudnn.conv.fp32_precision, cudnn.rnn.fp32_precision
    use_products(precision)
    try:
        with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16"):
            yield
    finally:
        torch.set_float32_matmul_precision(saved[0])
        cudnn.allow_tf32 = saved[1] == "tf32"
        cudnn.conv.fp32_precision, cudnn.rnn.fp32_precision = saved[1:]


def use_products(precision: str) -> None:
    """Round float32 products on a GPU to TF32 only if the precision is tf32; cuDNN rounds them by default.

    They are not rounded under bf16: products that autocast leaves in float32, such as the pointer's scores,
    must stay exact. cuDNN's
    convolutions and recurrences have their own switches, which follow `torch.backends.fp32_precision` if
    unset.
    """
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    cudnn: Any = torch.backends.cudnn
    cudnn.allow_tf32 = precision == "tf32"
    cudnn.conv.fp32_precision = cudnn.rnn.fp32_precision = "tf32" if precision == "tf32" else "ieee"


def best_precision(device: torch.device) -> Literal["bf16", "fp32"]:
    """Return bf16 if a device computes it in hardware, else fp32."""
    if device.type == "cuda":
        has_bf16 = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        cpu: Any = torch.cpu
        has_bf16 = device.type == "cpu" and (cpu._is_avx512_bf16_supported() or cpu._is_amx_tile_supported())
    return "bf16" if has_bf16 else "fp32"


@dataclass(frozen=True, kw_only=True)
class DistributedContext:
    """The number of processes of a run, and the rank of this process."""

    rank: int = 0
    size: int = 1

    def wrapped(self, loss: nn.Module) -> nn.Module:
        """Wrap a loss so that its gradients are averaged over the processes."""
        if self.size == 1:
            return loss
        with warnings.catch_warnings():  # newer versions of torch have a second name for an option
            warnings.simplefilter("ignore", FutureWarning)
            return DistributedDataParallel(loss, gradient_as_bucket_view=True, broadcast_buffers=False)

    def summed(self, values: Sequence[float]) -> list[float]:
        """Sum each number over the processes."""
        if self.size == 1:
            return list(values)
        tensor = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(tensor)
        return [float(value) for value in tensor.tolist()]

    def gathered(self, value: Any) -> list[Any]:  # noqa: ANN401 - any tree of tensors
        """Return the values of all processes, in the order of ranks."""
        if self.size == 1:
            return [value]
        values: list[Any] = [None] * self.size
        dist.all_gather_object(values, value)
        return values


ONE_PROCESS = DistributedContext()


def not_averaged(loss: nn.Module) -> AbstractContextManager[None]:
    """Let gradients only add up inside the context: a process may do any number of such passes."""
    return loss.no_sync() if isinstance(loss, DistributedDataParallel) else nullcontext()


@contextmanager
def torchrun_context() -> Iterator[DistributedContext]:
    """Connect the processes that torchrun started; without torchrun there is only this one."""
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1:
        yield ONE_PROCESS
        return
    # gloo: processes also exchange tensors on the CPU, such as numbers to agree on.
    dist.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")
    try:
        yield DistributedContext(rank=dist.get_rank(), size=size)
        dist.barrier()  # no process may close its connections while another reads from them
    finally:
        dist.destroy_process_group()
