"""CUDA graphs played on a CPU: work is recorded operator by operator, and replayed on the same memory.

What holds for a CUDA graph holds here: recording computes nothing that can be seen after it; numbers of
Python are frozen in; random numbers continue from replay to replay; to look at a number while recording is an
error. Tensors made while recording lie in memory that the next replay of any graph may use again: here they
are overwritten with NaN after each replay.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from ps_models.training.cuda_graphs import Work

Result = TypeVar("Result")


class Tape:
    """A `Recorder` of operators."""

    def __init__(self) -> None:
        self.replays = 0

    def run(self, work: Callable[[], Result]) -> Result:
        """Do work."""
        return work()

    def record(self, work: Work) -> Work:
        """The work's operators, which are not run yet."""
        recording = _Recording()
        random_numbers = torch.get_rng_state()
        try:
            with recording:
                work()
        finally:
            recording.undo()
            torch.set_rng_state(random_numbers)

        def replay() -> None:
            self.replays += 1
            recording.replay()

        return replay


class _Recording(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        # Whether gradients are kept, an operator, its arguments, and its results with the memory of each.
        self.calls: list[tuple[bool, Any, Any, Any, list[tuple[Tensor, int]]]] = []
        self._made: dict[int, Tensor] = {}  # one tensor of each memory, which keeps it
        self._before: dict[int, tuple[Tensor, Tensor]] = {}  # what was overwritten, and its content

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        given = _tensors((args, kwargs))
        if _waits(func, given):
            raise RuntimeError(f"{func} waits for the device, which is recording")
        if func._schema.is_mutable:
            self._save(given)
        result = func(*args, **kwargs)
        known = {_memory(tensor) for tensor in given}
        places = [(tensor, _memory(tensor)) for tensor in _tensors(result)]
        self._made.update((memory, tensor) for tensor, memory in places if memory not in known)
        if not func.is_view:  # a view stays one, whatever its memory holds
            self.calls.append((torch.is_grad_enabled(), func, args, kwargs, places))
        return result

    def _save(self, tensors: list[Tensor]) -> None:
        for tensor in tensors:
            if _memory(tensor) not in self._made and _memory(tensor) not in self._before:
                everything = _everything(tensor)
                self._before[_memory(tensor)] = (everything, everything.clone())

    def undo(self) -> None:
        """As before the recording, but what it made is there, and is nothing."""
        for tensor, before in self._before.values():
            tensor.copy_(before)
        self._before.clear()
        self._spoil()

    def replay(self) -> None:
        with torch._C._AutoDispatchBelowAutograd():  # where operators were recorded
            for grad_enabled, func, args, kwargs, places in self.calls:
                with torch.set_grad_enabled(grad_enabled):  # some operators keep more for gradients
                    made = func(*args, **kwargs)
                for (place, memory), tensor in zip(places, _tensors(made), strict=True):
                    if memory != _memory(tensor):
                        place.copy_(tensor)
        self._spoil()

    def _spoil(self) -> None:
        for tensor in self._made.values():
            _everything(tensor).fill_(255)


def _waits(func: Any, given: list[Tensor]) -> bool:
    """Whether what an operator gives, or its shape, is for the CPU to know."""
    if func.overloadpacket.__name__ in ("index", "index_put", "index_put_"):
        # By positions nobody waits, but where a mask is true must be found out.
        return any(tensor.dtype == torch.bool for tensor in given[1:])
    return bool({torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape} & set(func.tags))


def _everything(tensor: Tensor) -> Tensor:
    """All bytes of the memory that a tensor lies in; 255 in all of them is NaN, or -1."""
    return torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage())


def _memory(tensor: Tensor) -> int:
    return int(tensor.untyped_storage()._cdata)  # identifies it, also where it is empty


def _tensors(tree: Any) -> list[Tensor]:
    if isinstance(tree, Tensor):
        return [tree]
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)]
