"""Updates and scores as CUDA graphs: recorded once, then replayed, one launch for thousands of kernels.

A replay repeats the same work on the same memory. So the state and, of each recorded shape of chunk, its
tokens stay where they are and are filled in place; numbers that the work takes as constants, such as the
learning rate, belong to what it is recorded for; and nothing in it may wait for the GPU. Random numbers go on
from replay to replay as they would without: torch registers a device's default generator with each graph.

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
from ps_models.language_model import LanguageModel, State, map_state, tensors_of
from ps_models.training.distributed import Processes

WARM_UP = 3  # updates of a shape in an epoch before it is recorded; they set libraries up, and all train
MOST = 32  # shapes that are recorded

Result = TypeVar("Result")
Work = Callable[[], object]
Step = Callable[[Chunk, Any, int], tuple[Tensor, Any]]  # chunk, state, targets → numbers, the state after


class Recorder(Protocol):
    """How work is recorded."""

    def run(self, work: Callable[[], Result]) -> Result:
        """Do work as it must be done before it is recorded."""
        ...

    def record(self, work: Work) -> Work:
        """What repeats the work, which is not done now.

        Raises:
            RuntimeError: It cannot be recorded.
        """
        ...


class CudaGraphs:
    """Records on a stream of its own; all graphs share memory, which none of them needs between replays."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self._pool = torch.cuda.graph_pool_handle()
        self._keeps_pool: torch.cuda.CUDAGraph | None = None

    def run(self, work: Callable[[], Result]) -> Result:
        """On the stream that records: handles and workspaces of libraries belong to a stream."""
        now = torch.cuda.current_stream(self._device)
        self._stream.wait_stream(now)
        with torch.cuda.stream(self._stream):
            result = work()
        now.wait_stream(self._stream)
        return result

    def record(self, work: Work) -> Work:
        """A graph of the work.

        Raises:
            RuntimeError: It waits for the GPU, or uses what graphs know nothing of.
        """
        graph = torch.cuda.CUDAGraph()
        index = torch.cuda.current_device() if self._device.index is None else self._device.index
        generator = torch.cuda.default_generators[index]
        state = generator.clone_state()
        try:
            # Torch's own context does not leave its stream where the end of a recording is refused.
            with (
                _no_garbage_collected(),
                torch.cuda.stream(self._stream),
                torch.cuda.graph(graph, pool=self._pool, stream=self._stream),
            ):
                work()
        except RuntimeError:
            generator.graphsafe_set_state(state)  # else it would go on as if it were recorded
            self._give_up_pool(index)
            raise
        # A pool that no graph uses any more cannot be used again: "use_count > 0 INTERNAL ASSERT FAILED",
        # vllm-project/vllm's pull request 53682. Updates are forgotten each epoch; this one keeps it.
        self._keeps_pool = self._keeps_pool or graph
        return graph.replay

    def _give_up_pool(self, index: int) -> None:
        """Let others be recorded after one was refused.

        Before torch 2.12 the allocator goes on as if it were recording: every later recording, and all that
        empties its cache, would fail (pytorch/pytorch's pull request 180395).
        """
        with suppress(RuntimeError):  # it did end
            torch._C._cuda_endAllocateToPool(index, self._pool)
        self._pool, self._keeps_pool = torch.cuda.graph_pool_handle(), None


@contextmanager
def _no_garbage_collected() -> Iterator[None]:
    """An old graph in a cycle must not be destroyed while another is recorded, which that would spoil.

    Seen from torch 2.9 on (pytorch/pytorch's pull request 161037). A `Training` and its records are a cycle.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class RecordedUpdates:
    """Updates in one place of memory, those of frequent shapes recorded.

    Chunks with shorter rows, and shapes that come once an epoch, such as the first ones, are never recorded.

    Args:
        step: One update. It must not wait for the device.
        state: Of the model; it stays where it is, and is changed.
        recorder: How.
    """

    def __init__(self, step: Step, state: Any, recorder: Recorder) -> None:  # noqa: ANN401 - each model has its own
        self.state = map_state(Tensor.clone, state)
        self.refused: str | None = None  # why nothing is recorded any more
        self.replays = 0  # updates that were replayed
        self._step, self._recorder = step, recorder
        self._recorded: dict[Hashable, Callable[[Tensor], Tensor]] = {}
        self._seen: Counter[Hashable] = Counter()  # of this epoch
        self._frequent: set[Hashable] = set()  # of any epoch

    def __call__(self, chunk: Chunk, targets: int, constants: Hashable) -> Tensor:
        """One update.

        Args:
            chunk: On the device.
            targets: In the chunk over all processes.
            constants: What else the step takes as given, such as the learning rate.

        Returns:
            The step's numbers; the next update does not change them.
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

    def begin(self, state: Any) -> None:  # noqa: ANN401 - each model has its own
        """Go on from this state; what was recorded is forgotten: an epoch has a learning rate of its own."""
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
            self._recorded.clear()  # their random numbers were those of before
            return

        def replay(tokens: Tensor) -> Tensor:
            fixed.tokens.copy_(tokens)
            again()
            return numbers.clone()

        self._recorded[key] = replay


class RecordedScores(Generic[State]):
    """A language model in evaluation mode that scores chunks of frequent shapes by replays.

    Its weights may change, but must stay where they are.

    Args:
        model: Its scores must not wait for the device.
        recorder: How.
    """

    def __init__(self, model: LanguageModel[State], recorder: Recorder) -> None:
        self.refused: str | None = None
        self.replays = 0
        self._model, self._recorder = model, recorder
        self._recorded: dict[Hashable, Callable[[Tensor, State], tuple[Tensor, State]]] = {}
        self._seen: Counter[Hashable] = Counter()

    def initial_state(self, batch_size: int) -> State:
        """The model's."""
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
    """What repeats the work, or why there is nothing, which is told."""
    try:
        return recorder.record(work), None
    except RuntimeError as error:
        reason = reason_of(error)
        warnings.warn(f"CUDA graphs are off, {what} are launched kernel by kernel: {reason}", stacklevel=2)
        return None, reason


def reason_of(error: BaseException) -> str:
    """What was refused first, and where in the work: torch says last only that the recording was spoiled."""
    while error.__context__ is not None:
        error = error.__context__
    package, frames = Path(__file__).parents[1], traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if package in Path(f.filename).parents and f.filename != __file__]
    where = f" ({Path(ours[-1].filename).relative_to(package)}:{ours[-1].lineno})" if ours else ""
    return "".join(str(error).splitlines()[:1] or [type(error).__name__]) + where


def copy_state(into: Any, state: Any) -> None:  # noqa: ANN401 - each model has its own
    """Fill the tensors of a state with those of another of its shape."""
    for place, tensor in zip(tensors_of(into), tensors_of(state), strict=True):
        place.copy_(tensor)


def choose_recorder(
    wanted: bool, model: nn.Module, device: torch.device, processes: Processes
) -> Recorder | None:
    """CUDA graphs if they are wanted; None if updates are launched kernel by kernel.

    Args:
        wanted: Whether to use them. It is a choice to make: they have not run on a GPU yet.
        model: Says by its `capturable` whether its loss and its scores never wait for the device.
        device: Where it is.
        processes: Those of the run: several sum their gradients between kernels.

    Raises:
        ModelError: They are wanted and cannot be.
    """
    if not wanted:
        return None
    missing = []
    if device.type != "cuda":
        missing.append(f"a GPU, not the device {device}")
    if processes.count > 1:
        missing.append(f"one process, not {processes.count}")
    if not getattr(model, "capturable", False):
        missing.append(f"a model that never waits for it, which {type(model).__name__} does not claim")
    if missing:
        raise ModelError(f"CUDA graphs need {' and '.join(missing)}; train without them")
    return CudaGraphs(device)
