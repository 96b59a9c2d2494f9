"""Training by truncated back-propagation: one update, and all that a resumed run needs.

The words for the processes of a run are those of torch.distributed: the world is all processes, a rank is the
number of one of them.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from typing import Annotated, Any, cast

import msgspec
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

from ps_models.data.dataset import Chunk, Rows, even_ends, random_ends
from ps_models.devices import use_products
from ps_models.errors import ModelError
from ps_models.evaluation.signature import Score
from ps_models.hyperparameters import (
    UPDATE_SCHEDULES,
    TrainingConfig,
    finished,
    learning_rate,
    update_factor,
)
from ps_models.language_model import AnyState, Penalised, join_states, map_state, tensors_of
from ps_models.training.optimizers import (
    averaged_weights,
    load_optimizer,
    make_optimizer,
    set_learning_rate,
)


@dataclass(frozen=True, kw_only=True)
class DistributedContext:
    """The processes of a run, and which of them this one is."""

    rank: int = 0
    size: int = 1

    def wrapped(self, loss: nn.Module) -> nn.Module:
        """A loss whose gradients are averaged over the processes."""
        if self.size == 1:
            return loss
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


BLOCK = 1024  # numbers whose squares are summed in float32
Whole = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Amount = Annotated[float, msgspec.Meta(ge=0)]  # or infinite, but not NaN


@dataclass(frozen=True, kw_only=True)
class Position:
    """Where a run is."""

    update: Whole = 0  # updates done since the start
    chunk: Whole = 0  # chunks done in this epoch
    nats: Amount = 0.0  # of this epoch so far
    targets: Whole = 0  # of this epoch so far
    seconds: Amount = 0.0  # spent in training, over all sessions
    losses: tuple[Amount, ...] = ()  # mean nats per token of valid, one per epoch

    @property
    def epoch(self) -> int:
        """The number of epochs done."""
        return len(self.losses)

    @property
    def begun(self) -> int:
        """The number of epochs that have begun."""
        return self.epoch + (self.chunk > 0)

    @property
    def best_perplexity(self) -> float:
        """The best perplexity of valid; infinite before the first epoch has ended."""
        return Score(min(self.losses, default=math.inf), 1).perplexity


class ChunkLoss(nn.Module):
    """The nats of a chunk's targets, in one forward pass that DistributedDataParallel can wrap."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, chunk: Chunk, state: AnyState) -> tuple[Tensor, Tensor | float, AnyState]:
        """The sum of the nats, the model's penalty, and the state where the next chunk begins."""
        asked = chunk.tokens, state, chunk.scored, chunk.advance
        if isinstance(self.model, Penalised):
            nats, penalty, after = self.model.loss_and_penalty(*asked)
            return chunk.total(nats), penalty, after
        nats, after = self.model.loss(*asked)  # type: ignore[operator]
        return chunk.total(nats), 0.0, after


def recompute_layers(model: nn.Module) -> None:
    """Let the layers keep only their inputs for the gradient, and compute the rest again: in less memory.

    Layers are what stands in a `nn.ModuleList`. Numbers stay the same (Chen et al. 2016, arXiv 1604.06174).
    """
    if not all(getattr(one, "layers_can_recompute", True) for one in model.modules()):
        raise ModelError("recompute=yes: the weights of its layers differ in each call; train without it")
    layers = {layer for lists in model.modules() if isinstance(lists, nn.ModuleList) for layer in lists}
    if not layers:
        raise ModelError(f"recompute=yes: {type(model).__name__} has no layers in a torch.nn.ModuleList")
    for layer in layers:
        layer.forward = partial(checkpoint, layer.forward, use_reentrant=False)


class Training:
    """A run in progress: model, optimizer, hidden state, position."""

    def __init__(
        self,
        model: nn.Module,
        rows: Rows,
        config: TrainingConfig,
        *,
        device: torch.device,
        world: DistributedContext,
        compiled: bool = False,
    ) -> None:
        self.model, self.config, self.device, self.world = model, config, device, world
        self.batch_size = len(rows)
        self.rows = rows.of_rank(world.rank, world.size).to(device)
        self.all_rows = rows
        if config.recompute:
            recompute_layers(model)
        self.loss = world.wrapped(ChunkLoss(model))
        self.optimizer = make_optimizer(model, config)
        weights = (weight for weight in model.parameters() if weight.requires_grad and config.ema)
        self.ema = {weight: weight.detach().clone() for weight in weights}
        self.position = Position()
        self.state = self._initial_state()
        self.compiled = self._compiled() if compiled else None
        use_products(config.precision)

    @property
    def waits(self) -> bool:
        """Whether numbers are read at once, because a CPU has them."""
        return self.device.type == "cpu"

    def update(self, chunk: Chunk, targets: int) -> Tensor:
        """Train on a chunk of this process's rows, without waiting for the device.

        `targets` are those of all processes. Returns two numbers for `read`, on the device and possibly not
        computed yet: the summed nats of this process's targets, and the gradient's norm before clipping.
        """
        self.optimizer.zero_grad(set_to_none=True)
        divisor = targets if self.config.loss == "token" else self.batch_size
        sums, states = [], []
        for rows, part in chunk.parts(self.config.micro_batch):
            with torch.autocast(self.device.type, torch.bfloat16, enabled=self.config.precision == "bf16"):
                nats, penalty, state = self._loss(part, _rows_of(self.state, rows))
            share = len(part.tokens) / self.batch_size
            # DDP averages over processes, so sums must be multiplied by their number; a penalty is a mean.
            sums_of_all = self.world.size / divisor
            loss: Any = nats * sums_of_all + penalty * (share * targets * sums_of_all)
            loss.backward()
            sums.append(nats.detach())
            states.append(state)
        self.state = join_states(states) if len(states) > 1 else states[0]
        norm = gradient_norm(self.model.parameters())
        nn.utils.clip_grads_with_norm_(self.model.parameters(), self.config.clip or math.inf, norm)
        share = chunk.scored / self.config.stride if self.config.random_strides else 1.0
        rate = self.optimizer.param_groups[0]["lr"]
        set_learning_rate(self.optimizer, rate * share)
        self.optimizer.step()
        set_learning_rate(self.optimizer, rate)
        if self.ema:
            torch._foreach_lerp_([*self.ema.values()], [*self.ema], 1 - self.config.ema)
        return torch.stack([sum(sums[1:], sums[0]), norm]).double()

    @property
    def averages(self) -> dict[nn.Parameter, Tensor]:
        """What replaces the weights at evaluation; empty if nothing is averaged."""
        return averaged_weights(self.optimizer) or self.ema

    def read(self, updates: Sequence[tuple[Tensor, int]]) -> list[tuple[float, float]]:
        """The numbers of the updates since `position`, each given with its targets; waits for the device."""
        found = torch.stack([numbers for numbers, _ in updates]).tolist()
        for index, ((nats, norm), (_, targets)) in enumerate(zip(found, updates, strict=True), 1):
            if not math.isfinite(norm):
                loss = nats * self.world.size / max(1, targets)
                raise ModelError(
                    f"update {self.position.update + index}: the gradient is {norm}, the loss {loss:.3f};"
                    " train again with a lower learning_rate or clip"
                )
        return [(nats, norm) for nats, norm in found]

    def chunks(self) -> Iterator[tuple[Chunk, int]]:
        """The rest of the epoch, with the number of each chunk's targets over all processes."""
        config, position, length = self.config, self.position, self.rows.tokens.shape[1]
        if config.random_strides:
            ends = random_ends(length, config.stride, seed=config.seed, epoch=position.epoch)
        else:
            ends = even_ends(length, config.stride)
        where: Any = {"ends": ends, "lookback": config.lookback, "start": position.chunk}
        for chunk, whole in zip(self.rows.chunks(**where), self.all_rows.chunks(**where), strict=True):
            yield chunk, whole.targets

    def next_epoch(self) -> None:
        """Go back to the start of the text."""
        self.position = replace(self.position, chunk=0, nats=0.0, targets=0)
        self.state = self._initial_state()

    def snapshot(self) -> dict[str, Any]:
        """All that a resumed run needs except the weights; the same on every process."""
        own = {
            "state": [tensor.detach().cpu().clone() for tensor in tensors_of(self.state)],
            "rng": torch.get_rng_state(),
        }
        if self.device.type == "cuda":
            own["cuda_rng"] = torch.cuda.get_rng_state(self.device)
        return {
            "config": asdict(self.config),
            "position": asdict(self.position),
            "optimizer": self.optimizer.state_dict(),
            "processes": self.world.gathered(own),
            **({"ema": [average.cpu() for average in self.ema.values()]} if self.ema else {}),
        }

    def restore(self, snapshot: Mapping[str, Any], words: int | None) -> None:
        """Go back to where a snapshot was taken; the weights are loaded separately.

        `words` is the size of the vocabulary; None: integers in the state of a user's model can be anything.
        """
        names = {field.name for field in fields(Position)}
        if snapshot["position"].keys() != names:
            raise ValueError(f"a position of {sorted(snapshot['position'])}, expected {sorted(names)}")
        position = msgspec.convert(snapshot["position"], Position)
        _same_settings(snapshot["config"], self.config, position)
        if len(snapshot["processes"]) != self.world.size:
            raise ModelError(
                f"the checkpoint is of a run with {len(snapshot['processes'])} processes, found"
                f" {self.world.size}; resume it with the same number"
            )
        own = snapshot["processes"][self.world.rank]
        for average, saved in zip(self.ema.values(), snapshot.get("ema", ()), strict=True):
            if saved.shape != average.shape:
                raise ValueError(f"an average of shape {tuple(saved.shape)}, expected {tuple(average.shape)}")
            average.copy_(saved)
        load_optimizer(self.optimizer, snapshot["optimizer"], self.config)
        self.position = position
        self.state = _state(own["state"], self._initial_state(), words)
        torch.set_rng_state(own["rng"])
        if self.device.type == "cuda" and "cuda_rng" in own:  # another device draws other numbers
            torch.cuda.set_rng_state(own["cuda_rng"], self.device)

    def _initial_state(self) -> AnyState:
        return self.model.initial_state(len(self.rows))  # type: ignore[operator]

    def _compiled(self) -> nn.Module:
        """The loss as torch compiles it, with its own CUDA graphs on a GPU; each length would be compiled."""
        if self.config.random_strides:
            raise ModelError(
                "--compile needs chunks of one length; train without it or without random_strides"
            )
        graphs = self.device.type == "cuda" and self.world.size == 1
        mode = "reduce-overhead" if graphs else "default"
        return cast("nn.Module", torch.compile(self.loss, mode=mode, dynamic=False))

    def _loss(self, chunk: Chunk, state: AnyState) -> tuple[Tensor, Tensor | float, AnyState]:
        """The numbers of `ChunkLoss`; compiled for the length that all chunks have but the first and last."""
        whole = chunk.scored == self.config.stride and not any(chunk.shorter)
        if self.compiled is None or not whole or chunk.advance != chunk.scored:
            found: tuple[Tensor, Tensor | float, AnyState] = self.loss(chunk, state)
            return found
        torch.compiler.cudagraph_mark_step_begin()  # type: ignore[no-untyped-call]
        try:
            nats, penalty, after = self.compiled(chunk, state)
        except torch._dynamo.exc.TorchDynamoException as error:
            reason = str(error).splitlines()[0]
            raise ModelError(
                f"this machine cannot compile the model ({reason}); train without --compile"
            ) from error
        # The next replay of a CUDA graph overwrites its results.
        return nats, penalty, map_state(Tensor.clone, after)


def gradient_norm(weights: Iterable[nn.Parameter]) -> Tensor:
    """The norm of all gradients, first of blocks.

    On a CPU torch adds all squares of a tensor to few sums in float32, which loses a thousandth of the norm
    of 21.6 million weights; clipping would lose as much.
    """
    norms = []
    for gradient in (weight.grad for weight in weights if weight.grad is not None):
        flat = gradient.reshape(-1)
        whole = len(flat) // BLOCK * BLOCK
        norms.append(torch.linalg.vector_norm(flat[:whole].view(-1, BLOCK), dim=1))
        norms.append(torch.linalg.vector_norm(flat[whole:])[None])
    norm: Tensor = torch.linalg.vector_norm(torch.cat(norms))
    return norm


def _rows_of(state: AnyState, rows: slice | None) -> AnyState:
    """The state of some rows; None: of all."""
    return state if rows is None else map_state(lambda tensor: tensor[rows], state)


def _state(saved: Sequence[Tensor], initial: AnyState, vocab_size: int | None) -> AnyState:
    """A saved hidden state, if it has the form of the initial one, and its ids are words."""
    first = tensors_of(initial)
    wanted = [(tensor.shape, tensor.dtype) for tensor in first]
    found = [(tensor.shape, tensor.dtype) for tensor in saved]
    if found != wanted or not all(tensor.layout == torch.strided for tensor in saved):
        raise ValueError(f"a hidden state of {found!r:.200}, expected {wanted!r:.200}")
    for ids, begin in zip(saved, first, strict=True):
        if ids.dtype != torch.int64 or vocab_size is None:
            continue
        least = begin.cpu().clamp(max=0)  # a window begins without words
        if ((ids < least) | (ids >= vocab_size)).any():
            raise ValueError(f"a hidden state with the ids {ids.min()} to {ids.max()} of {vocab_size} words")
    rest = iter(saved)
    return map_state(lambda tensor: next(rest).contiguous().to(tensor.device), initial)


def _same_settings(saved: Mapping[str, Any], wanted: TrainingConfig, position: Position) -> None:
    """A run can be resumed for more epochs, or by a schedule that would have given its learning rates.

    All other settings must be the same. The result is that of the wanted settings from the start of the run.
    """
    ended = next(
        (epoch for epoch in range(1, position.begun) if finished(wanted, position.losses[:epoch])), None
    )
    if ended is not None:
        raise ModelError(
            f"epochs={wanted.epochs}, patience={wanted.patience}: the run in --out would have ended after"
            f" epoch {ended}, but epoch {position.begun} has begun; give more of them, or use another --out"
        )
    names = [field.name for field in fields(wanted) if field.name not in ("epochs", "patience", "recompute")]
    # Fields newer than the run had their defaults.
    then = TrainingConfig.completed(saved)
    before = TrainingConfig(**{name: then[name] for name in names if name in then})
    epochs = [position.losses[:epoch] for epoch in range(position.begun)]
    in_updates = {before.schedule, wanted.schedule} & UPDATE_SCHEDULES.keys()
    if not in_updates and all(learning_rate(before, each) == learning_rate(wanted, each) for each in epochs):
        names = [name for name in names if name not in ("schedule", "decay", "decay_after")]
    if update_factor(wanted, 0, 0.0) != update_factor(wanted, 0, 1.0):  # the end of the epochs decides it
        names.append("epochs")
        before = replace(before, epochs=then["epochs"])
    differing = [name for name in names if getattr(before, name) != getattr(wanted, name)]
    if differing:
        changes = ", ".join(f"{name} {getattr(before, name)} → {getattr(wanted, name)}" for name in differing)
        raise ModelError(
            f"the run in --out has other settings ({changes}); give the same ones to resume it, or use"
            " another --out"
        )
