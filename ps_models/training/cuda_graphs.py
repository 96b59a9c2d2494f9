"""Updates and scores as CUDA graphs: recorded once, then replayed, with one launch for thousands of kernels.

A replay repeats the same work on the same memory. So the state, and the tokens of each recorded shape of
chunk, stay in place and are overwritten; numbers that the work takes as constants, such as the learning rate,
are part of the key of a recording; and nothing in the work may wait for the GPU. Random numbers continue from
replay to replay as they would without graphs: torch registers a device's default generator with each graph.

Why it is done this way: docs/decisions/0013-cuda-graphs.md.
"""

from __future__ import annotations

import gc
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import torch
from torch import Tensor, nn

from ps_models.data.batching import Chunk
from ps_models.errors import ModelError
from ps_models.language_model import AnyState, LanguageModel, State, map_state, tensors_of
from ps_models.training.distributed import World

WARM_UP = 3  # updates of a shape in an epoch before it is recorded: they train, and initialise libraries
MOST = 32  # shapes that are recorded at once

Result = TypeVar("Result")
Work = Callable[[], object]
Step = Callable[[Chunk, Any, int], tuple[Tensor, Any]]  # chunk, state, targets → numbers, the state after


class Recorder(Protocol):
    """What records work and gives a function that repeats it."""

    def run(self, work: Callable[[], Result]) -> Result:
        """Do work in the way that is necessary before it is recorded."""
        ...

    def record(self, work: Work) -> Work:
        """Record work without doing it; returns a function that repeats it.

        Raises:
            RuntimeError: The work cannot be recorded.
        """
        ...


class CudaGraphs:
    """Records on a separate stream; all graphs share memory, which none of them needs between replays."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self._pool = torch.cuda.graph_pool_handle()
        self._keeps_pool: torch.cuda.CUDAGraph | None = None

    def run(self, work: Callable[[], Result]) -> Result:
        """Do work on the stream that records: handles and workspaces of libraries belong to a stream."""
        now = torch.cuda.current_stream(self._device)
        self._stream.wait_stream(now)
        with torch.cuda.stream(self._stream):
            result = work()
        now.wait_stream(self._stream)
        return result

    def record(self, work: Work) -> Work:
        """Record a graph of the work.

        Raises:
            RuntimeError: The work waits for the GPU, or uses what graphs do not support.
        """
        graph = torch.cuda.CUDAGraph()
        index = torch.cuda.current_device() if self._device.index is None else self._device.index
        generator = torch.cuda.default_generators[index]
        state = generator.clone_state()
        try:
            # Torch's own context does not leave its stream if the end of a recording fails.
            with (
                _no_garbage_collected(),
                torch.cuda.stream(self._stream),
                torch.cuda.graph(graph, pool=self._pool, stream=self._stream),
            ):
                work()
        except RuntimeError:
            generator.graphsafe_set_state(state)  # otherwise it would continue as if it were recorded
            self._give_up_pool(index)
            raise
        # A pool that no graph uses any longer cannot be used again: "use_count > 0 INTERNAL ASSERT FAILED",
        # vllm-project/vllm's pull request 53682. Updates are forgotten each epoch; this graph keeps the pool.
        self._keeps_pool = self._keeps_pool or graph
        return graph.replay

    def _give_up_pool(self, index: int) -> None:
        """Allow other recordings after one has failed.

        Before torch 2.12 the allocator continues as if it were recording: every later recording, and
        everything that empties its cache, would fail (pytorch/pytorch's pull request 180395).
        """
        with suppress(RuntimeError):  # it has ended
            torch._C._cuda_endAllocateToPool(index, self._pool)
        self._pool, self._keeps_pool = torch.cuda.graph_pool_handle(), None


@contextmanager
def _no_garbage_collected() -> Iterator[None]:
    """No old graph in a cycle may be destroyed while another is recorded: that breaks the recording.

    Seen from torch 2.9 on (pytorch/pytorch's pull request 161037). A `Training` and its recordings are a
    cycle.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class RecordedUpdates:
    """Updates whose state stays in one place of memory; those of frequent shapes are recorded.

    Chunks with shorter rows, and shapes that occur once per epoch, such as the first ones, are never
    recorded.

    Args:
        step: One update. It must not wait for the device.
        state: The state of the model; it stays in place, and is changed.
        recorder: Records updates.
    """

    def __init__(self, step: Step, state: AnyState, recorder: Recorder) -> None:
        self.state = map_state(Tensor.clone, state)
        self.refused: str | None = None  # why nothing is recorded any longer
        self.replays = 0  # the number of updates that were replayed
        self._step, self._recorder = step, recorder
        self._recorded: dict[Hashable, Callable[[Tensor], Tensor]] = {}
        self._seen: Counter[Hashable] = Counter()  # in this epoch
        self._frequent: set[Hashable] = set()  # in any epoch

    def __call__(self, chunk: Chunk, targets: int, constants: Hashable) -> Tensor:
        """One update.

        Args:
            chunk: On the device.
            targets: In the chunk over all processes.
            constants: What else the step takes as constant, such as the learning rate.

        Returns:
            The step's numbers, in memory that the next update does not use.
        """
        shape = (tuple(chunk.tokens.shape), chunk.scored, chunk.advance, targets)
        key = (shape, constants)
        if key not in self._recorded and self._worth(chunk, shape):
            self._record(key, chunk, targets)
            self._frequent.add(shape)
        self._seen[shape] += 1
        if key in self._recorded:
            self.replays += 1
            return self._recorded[key](chunk.tokens)
        return self._recorder.run(lambda: self._update(chunk, targets))

    def begin(self, state: AnyState) -> None:
        """Continue from this state and forget the recordings: each epoch has its own learning rate."""
        self._recorded.clear()
        self._seen.clear()
        copy_state(self.state, state)

    def _worth(self, chunk: Chunk, shape: Hashable) -> bool:
        if self.refused is not None or len(self._recorded) >= MOST or any(chunk.shorter):
            return False
        return self._seen[shape] >= (1 if shape in self._frequent else WARM_UP)

    def _update(self, chunk: Chunk, targets: int) -> Tensor:
        numbers, after = self._step(chunk, self.state, targets)
        copy_state(self.state, after)
        return numbers

    def _record(self, key: Hashable, chunk: Chunk, targets: int) -> None:
        fixed = replace(chunk, tokens=chunk.tokens.clone())
        numbers = torch.empty(2, dtype=torch.float64, device=chunk.tokens.device)

        def work() -> None:
            numbers.copy_(self._update(fixed, targets))

        again, self.refused = _recorded(self._recorder, work, "updates")
        if again is None:
            self._recorded.clear()  # their random numbers were those from before
            return

        def replay(tokens: Tensor) -> Tensor:
            fixed.tokens.copy_(tokens)
            again()
            return numbers.clone()

        self._recorded[key] = replay


class RecordedScores(Generic[State]):
    """A language model in evaluation mode that scores chunks of frequent shapes by replays.

    Its weights may change, but must stay at the same place in memory.

    Args:
        model: Its scores must not wait for the device.
        recorder: Records scores.
    """

    def __init__(self, model: LanguageModel[State], recorder: Recorder) -> None:
        self.refused: str | None = None
        self.replays = 0
        self._model, self._recorder = model, recorder
        self._recorded: dict[Hashable, Callable[[Tensor, State], tuple[Tensor, State]]] = {}
        self._seen: Counter[Hashable] = Counter()

    def initial_state(self, batch_size: int) -> State:
        """The initial state of the model."""
        return self._model.initial_state(batch_size)

    @torch.no_grad()
    def __call__(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Score tokens; see `LanguageModel`."""
        shape = tuple(tokens.shape)
        if shape in self._recorded:
            self.replays += 1
            return self._recorded[shape](tokens, state)
        result = self._recorder.run(lambda: self._model(tokens, state))
        self._seen[shape] += 1
        if self._seen[shape] >= WARM_UP and self.refused is None and len(self._recorded) < MOST:
            self._record(shape, tokens, state, result)
        return result

    def _record(self, shape: Hashable, tokens: Tensor, state: State, result: tuple[Tensor, State]) -> None:
        read, before = tokens.clone(), map_state(Tensor.clone, state)
        scores, after = result[0].clone(), map_state(Tensor.clone, result[1])

        def work() -> None:
            found, next_state = self._model(read, before)
            scores.copy_(found)
            copy_state(after, next_state)

        again, self.refused = _recorded(self._recorder, work, "scores")
        if again is None:
            return

        def replay(tokens: Tensor, state: State) -> tuple[Tensor, State]:
            read.copy_(tokens)
            copy_state(before, state)
            again()
            return scores.clone(), map_state(Tensor.clone, after)

        self._recorded[shape] = replay


def _recorded(recorder: Recorder, work: Work, what: str) -> tuple[Work | None, str | None]:
    """A function that repeats the work, or None and the reason; then there is a warning."""
    try:
        return recorder.record(work), None
    except RuntimeError as error:
        reason = reason_of(error)
        warnings.warn(f"CUDA graphs are off, {what} are launched kernel by kernel: {reason}", stacklevel=2)
        return None, reason


def reason_of(error: BaseException) -> str:
    """The first error, and where in the work it was raised; torch's last error only says that it failed."""
    while error.__context__ is not None:
        error = error.__context__
    package, frames = Path(__file__).parents[1], traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if package in Path(f.filename).parents and f.filename != __file__]
    where = f" ({Path(ours[-1].filename).relative_to(package)}:{ours[-1].lineno})" if ours else ""
    return "".join(str(error).splitlines()[:1] or [type(error).__name__]) + where


def copy_state(into: AnyState, state: AnyState) -> None:
    """Overwrite the tensors of a state with those of another state of the same shape."""
    for place, tensor in zip(tensors_of(into), tensors_of(state), strict=True):
        place.copy_(tensor)


def choose_recorder(wanted: bool, model: nn.Module, device: torch.device, world: World) -> Recorder | None:
    """CUDA graphs if they are wanted; None if updates are launched kernel by kernel.

    Args:
        wanted: Whether to use them. They are off by default because they have not run on a GPU yet.
        model: Its attribute `capturable` says that its loss and its scores never wait for the device.
        device: Where the model is.
        world: The processes of the run; several sum their gradients between kernels.

    Raises:
        ModelError: They are wanted and cannot be used.
    """
    if not wanted:
        return None
    missing = []
    if device.type != "cuda":
        missing.append(f"a GPU, not the device {device}")
    if world.size > 1:
        missing.append(f"one process, not {world.size}")
    if not getattr(model, "capturable", False):
        missing.append(f"a model that never waits for the GPU, which {type(model).__name__} does not claim")
    if missing:
        raise ModelError(f"CUDA graphs need {' and '.join(missing)}; train without --cuda-graphs")
    return CudaGraphs(device)
