"""What `check_device` says of this processor, and of devices that are wrong on purpose."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import torch
from click.testing import CliRunner
from torch.utils._python_dispatch import TorchDispatchMode

from ps_models.cli import commands
from ps_models.experiment import check_device as room
from ps_models.experiment.check_device import DeviceChecks, check_device
from ps_models.training.cuda_graphs import Recorder, Work
from tests.ps_models.tape import Tape


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Smaller than on a user's machine, where kernels of real sizes are tried."""
    for name, size in {"WORDS": 50, "BATCH": 4, "STRIDE": 8, "UPDATES": 8}.items():
        monkeypatch.setattr(room, name, size)
    sizes = ("hidden_size=16", "batch_size=4", "stride=8", "bptt=8")
    monkeypatch.setattr(room, "SETTINGS", (*room.SETTINGS, *sizes))


class Wrong(TorchDispatchMode):
    """A device whose products of one type are too large by a tenth; float64 is right."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.dtype = dtype

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if func.overloadpacket.__name__ in ("mm", "addmm", "addmm_") and result.dtype == self.dtype:
            result.mul_(1.1)
        return result


class Forgetful(Tape):
    """A recorder whose replays do nothing."""

    def record(self, work: Work) -> Work:
        super().record(work)
        return lambda: None


class Refusing(Tape):
    """A recorder that cannot record."""

    def record(self, work: Work) -> Work:
        raise RuntimeError("operation not permitted when stream is capturing")


def found(recorder: Callable[[], Recorder] | None = None) -> DeviceChecks:
    return check_device("cpu", recorder=recorder and (lambda device: recorder()))


def test_this_processor_is_right_and_the_same_each_time():
    first = found()
    assert first.usable
    assert first.verdict == (
        "safe: fp32, bf16; not tried, needs a GPU: tf32, fp32 with CUDA graphs, tf32 with CUDA graphs,"
        " bf16 with CUDA graphs"
    )
    assert [one.difference for one in found().checks] == [one.difference for one in first.checks]
    assert {one.model for one in first.checks} == {"lstm", "pointer-sentinel-lstm"}


def test_right_graphs_are_safe():
    with_graphs = found(Tape)
    assert with_graphs.verdict.startswith(
        "safe: fp32, bf16, fp32 with CUDA graphs, bf16 with CUDA graphs; not"
    )
    assert {one.difference for one in with_graphs.checks if "graphs" in one.way} == {0.0, None}


@pytest.mark.parametrize(("dtype", "way"), [(torch.float32, "fp32"), (torch.bfloat16, "bf16")])
def test_wrong_products_are_seen(dtype: torch.dtype, way: str):
    with Wrong(dtype):
        wrong = found()
    assert f"not safe: {way}" in wrong.verdict
    assert wrong.usable == (way != "fp32")


@pytest.mark.parametrize(
    ("recorder", "reason"), [(Forgetful, ""), (Refusing, "operation not permitted when stream is capturing")]
)
def test_wrong_graphs_are_seen(recorder: type[Tape], reason: str):
    wrong = found(recorder)
    assert "not safe: fp32 with CUDA graphs, bf16 with CUDA graphs" in wrong.verdict
    assert {one.failed for one in wrong.checks if one.way == "fp32 with CUDA graphs"} == {reason}
    assert wrong.usable  # without graphs


def test_the_command_prints_a_line_and_has_a_status():
    result = CliRunner().invoke(commands, ["check-device", "--device", "cpu"])
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1] == found().verdict
    with Wrong(torch.float32):
        result = CliRunner().invoke(commands, ["check-device", "--device", "cpu", "--json"])
    assert result.exit_code == 1
    assert "not safe: fp32" in json.loads(result.stdout)["verdict"]
