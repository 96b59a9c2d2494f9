"""Where a model runs, and in which arithmetic."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import torch

from ps_models.errors import ModelError
from ps_models.hyperparameters import PRECISIONS


def choose_device(name: str, rank: int = 0) -> torch.device:
    """A device as torch names it; `auto`: a GPU if there is one, else the CPU.

    Of several processes each takes a GPU of its own, by its rank.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        if device.type == "cuda" and torch.cuda.is_available():
            if ":" not in name:
                device = torch.device("cuda", rank % max(1, torch.cuda.device_count()))
            torch.cuda.set_device(device)
        torch.zeros(1, device=device).item()  # a device without numbers, such as meta, fails here
    except (RuntimeError, AssertionError) as error:
        raise ModelError(f"device {name}: {str(error).splitlines()[0]}; use cpu") from error
    return device


def device_name(device: torch.device) -> str:
    """The name of a device, for records: with its number of threads if it is a CPU."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{device.type} ({platform.machine()}, {torch.get_num_threads()} threads)"


@contextmanager
def autocast(device: torch.device, precision: str) -> Iterator[None]:
    """The arithmetic that a precision names, as a context; after it, products are as they were before."""
    if precision not in PRECISIONS:
        raise ModelError(f"--precision {precision}: expected {', '.join(PRECISIONS)}")
    cudnn: Any = torch.backends.cudnn
    before = torch.get_float32_matmul_precision(), cudnn.conv.fp32_precision, cudnn.rnn.fp32_precision
    use_products(precision)
    try:
        with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16"):
            yield
    finally:
        torch.set_float32_matmul_precision(before[0])
        cudnn.allow_tf32 = before[1] == "tf32"
        cudnn.conv.fp32_precision, cudnn.rnn.fp32_precision = before[1:]


def use_products(precision: str) -> None:
    """Round float32 products on a GPU to TF32 only if the precision is tf32; by default cuDNN would do it.

    Not under bf16: what autocast leaves in float32, such as the pointer's scores, must stay exact. cuDNN's
    convolutions and recurrences have their own switches, which follow `torch.backends.fp32_precision` if
    unset.
    """
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    cudnn: Any = torch.backends.cudnn
    cudnn.allow_tf32 = precision == "tf32"
    cudnn.conv.fp32_precision = cudnn.rnn.fp32_precision = "tf32" if precision == "tf32" else "ieee"


def best_precision(device: torch.device) -> Literal["bf16", "fp32"]:
    """bf16 if a device computes it in hardware, else fp32."""
    if device.type == "cuda":
        has = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        cpu: Any = torch.cpu
        has = device.type == "cpu" and (cpu._is_avx512_bf16_supported() or cpu._is_amx_tile_supported())
    return "bf16" if has else "fp32"
