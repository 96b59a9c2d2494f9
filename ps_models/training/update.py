"""Trains by truncated back-propagation: updates, and the state that a resumed run needs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, fields, replace
from typing import Annotated, Any, cast

import msgspec
import torch
from torch import Tensor, nn

from ps_models.dataset import Chunk, Rows, even_ends, random_ends
from ps_models.devices import DistributedContext, not_averaged, use_products
from ps_models.errors import ModelError
from ps_models.hyperparameters import TrainingConfig, averaging_starts, finished
from ps_models.language_model import AnyState, join_states, map_state, tensors_of
from ps_models.signature import Score
from ps_models.training.optimizers import load_optimizer, make_optimizers, set_learning_rate

NORM_BLOCK = 1024  # numbers whose squares are summed in float32
Whole = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Amount = Annotated[float, msgspec.Meta(ge=0)]  # or infinite, but not NaN


@dataclass(frozen=True, kw_only=True)
class Position:
    """The position of a run."""

    update: Whole = 0  # updates done since the start
    chunk: Whole = 0  # chunks done in this epoch
    nats: Amount = 0.0  # in this epoch so far
    targets: Whole = 0  # in this epoch so far
    seconds: Amount = 0.0  # spent in training, over all sessions
    losses: tuple[Amount, ...] = ()  # mean nats per token of valid, one per epoch

    @property
    def epoch(self) -> int:
        """The number of epochs done."""
        return len(self.losses)

    @property
    def epochs_begun(self) -> int:
        """The number of epochs that have begun."""
        return self.epoch + (self.chunk > 0)

    @property
    def best_perplexity(self) -> float:
        """The best perplexity on valid; infinite before the first epoch has ended."""
        return Score(min(self.losses, default=math.inf), 1).perplexity


class ChunkLoss(nn.Module):
    """Computes the nats of a chunk's targets in a forward pass that DistributedDataParallel can wrap."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, chunk: Chunk, state: AnyState) -> tuple[Tensor, Tensor | float, AnyState]:
        """Return the sum of the nats, the model's penalty, and the state where the next chunk begins."""
        model: Any = self.model
        arguments = chunk.tokens, state, chunk.scored, chunk.advance
        if hasattr(model, "loss_and_penalty"):
            nats, penalty, after = model.loss_and_penalty(*arguments)
            return chunk.total(nats), penalty, after
        nats, after = model.loss(*arguments)
        return chunk.total(nats), 0.0, after


class Training:
    """A run in progress: model, optimizers, hidden state, position, and the average of the weights.

    Attributes:
        averages: The weights' averages, which replace them at evaluation; empty before averaging begins.
        averaged: The number of updates in the averages.
    """

    def __init__(
        self,
        model: nn.Module,
        rows: Rows,
        config: TrainingConfig,
        *,
        vocab_size: int,
        device: torch.device,
        world: DistributedContext,
        compiled: bool = False,
    ) -> None:
        self.model, self.config, self.device, self.world = model, config, device, world
        self.batch_size = len(rows)
        self.rows = rows.of_rank(world.rank, world.size).to(device)
        self.all_rows = rows
        self.loss = world.wrapped(ChunkLoss(model))
        self.optimizers = make_optimizers(model, config, vocab_size)
        self.averages: dict[nn.Parameter, Tensor] = self._copies() if config.ema else {}
        self.averaged = 0
        self.position = Position()
        self.state = self._initial_state()
        self.compiled = self._compiled() if compiled else None
        use_products(config.precision)

    @property
    def reads_at_once(self) -> bool:
        """True on a CPU, where numbers can be read without waiting."""
        return self.device.type == "cpu"

    @property
    def learning_rate(self) -> float:
        """The learning rate of the next update."""
        rate: float = self.optimizers[0].param_groups[0]["lr"]
        return rate

    def update(self, chunk: Chunk, targets: int) -> Tensor:
        """Train on a chunk of this process's rows, without waiting for the device.

        `targets` are those of all processes. Returns two numbers for `read`, on the device and possibly not
        computed yet: the summed nats of this process's targets, and the gradient's norm before clipping.
        """
        self.model.zero_grad(set_to_none=True)
        nats = self._add_gradients(chunk, targets)
        norm = gradient_norm(self.model.parameters())
        nn.utils.clip_grads_with_norm_(self.model.parameters(), self.config.clip or math.inf, norm)
        rate = self.learning_rate
        length = chunk.scored / self.config.stride if self.config.random_strides else 1.0
        set_learning_rate(self.optimizers, rate * length)
        for optimizer in self.optimizers:
            optimizer.step()
        set_learning_rate(self.optimizers, rate)
        if self.averages:
            self.averaged += 1
            share = 1 - self.config.ema if self.config.ema else 1 / self.averaged
            torch._foreach_lerp_([*self.averages.values()], [*self.averages], share)
        return torch.stack([nats, norm]).double()

    def _add_gradients(self, chunk: Chunk, targets: int) -> Tensor:
        """Compute the gradients of a chunk, in parts of `micro_batch` rows; return the sum of its nats."""
        divisor = targets if self.config.loss == "token" else self.batch_size
        # DDP averages over processes, so sums must be multiplied by their number.
        sum_weight = self.world.size / divisor
        sums, states = [], []
        parts = list(chunk.parts(self.config.micro_batch))
        for number, (rows, part) in enumerate(parts, 1):
            with nullcontext() if number == len(parts) else not_averaged(self.loss):
                with torch.autocast(
                    self.device.type, torch.bfloat16, enabled=self.config.precision == "bf16"
                ):
                    nats, penalty, state = self._loss(part, _rows_of(self.state, rows))
                if isinstance(penalty, Tensor) and penalty.dim() == 2:  # a number per token
                    penalty, penalty_weight = part.total(penalty), sum_weight
                else:  # a mean over tokens
                    penalty_weight = len(part.tokens) / self.batch_size * targets * sum_weight
                loss: Any = nats * sum_weight + penalty * penalty_weight
                loss.backward()
            sums.append(nats.detach())
            states.append(state)
        self.state = join_states(states) if len(states) > 1 else states[0]
        return sum(sums[1:], sums[0])

    def _copies(self) -> dict[nn.Parameter, Tensor]:
        trained = (weight for weight in self.model.parameters() if weight.requires_grad)
        return {weight: weight.detach().clone() for weight in trained}

    def read(self, updates: Sequence[tuple[Tensor, int]]) -> list[tuple[float, float]]:
        """Read the nats and norms of updates since `position`, given with their targets."""
        pairs = torch.stack([numbers for numbers, _ in updates]).tolist()
        for index, ((nats, norm), (_, targets)) in enumerate(zip(pairs, updates, strict=True), 1):
            if not math.isfinite(norm):
                loss = nats * self.world.size / max(1, targets)
                raise ModelError(
                    f"update {self.position.update + index}: the gradient is {norm}, the loss {loss:.3f};"
                    " train again with a lower learning_rate or clip"
                )
        return [(nats, norm) for nats, norm in pairs]

    def chunks(self) -> Iterator[tuple[Chunk, int]]:
        """Yield the remaining chunks of the epoch, each with the number of its targets over all processes."""
        config, position, length = self.config, self.position, self.rows.tokens.shape[1]
        if config.random_strides:
            ends = random_ends(length, config.stride, seed=config.seed, epoch=position.epoch)
        else:
            ends = even_ends(length, config.stride)
        places: Any = {"ends": ends, "lookback": config.lookback, "start": position.chunk}
        for chunk, of_all in zip(self.rows.chunks(**places), self.all_rows.chunks(**places), strict=True):
            yield chunk, of_all.targets

    def next_epoch(self) -> None:
        """Return to the start of the text; begin the mean of the weights if validation calls for it."""
        if not self.averages and averaging_starts(self.config, self.position.losses):
            self.averages = self._copies()
        self.position = replace(self.position, chunk=0, nats=0.0, targets=0)
        self.state = self._initial_state()

    def snapshot(self) -> dict[str, Any]:
        """Return the state that a resumed run needs besides the weights; the same on every process."""
        process = {
            "state": [tensor.detach().cpu().clone() for tensor in tensors_of(self.state)],
            "rng": torch.get_rng_state(),
        }
        if self.device.type == "cuda":
            process["cuda_rng"] = torch.cuda.get_rng_state(self.device)
        return {
            "config": asdict(self.config),
            "position": asdict(self.position),
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
            "processes": self.world.gathered(process),
            "averages": [average.cpu() for average in self.averages.values()],
            "averaged": self.averaged,
        }

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Return to the position of a snapshot; the weights are loaded separately."""
        _check_names(snapshot["position"], Position)
        position = msgspec.convert(snapshot["position"], Position)
        _check_settings(snapshot["config"], self.config, position)
        if len(snapshot["processes"]) != self.world.size:
            raise ModelError(
                f"found {self.world.size} processes, expected {len(snapshot['processes'])}, as in the run's"
                " checkpoint; resume it with the same number"
            )
        process = snapshot["processes"][self.world.rank]
        if snapshot["averages"]:
            self.averages = self._copies()
            for average, saved in zip(self.averages.values(), snapshot["averages"], strict=True):
                average.copy_(_same_form(saved, average))
        self.averaged = msgspec.convert(snapshot["averaged"], Whole)
        for optimizer, saved in zip(self.optimizers, snapshot["optimizers"], strict=True):
            load_optimizer(optimizer, saved, self.config)
        self.position = position
        initial = self._initial_state()
        pairs = zip(process["state"], tensors_of(initial), strict=True)
        saved_state = iter([_same_form(saved, begin) for saved, begin in pairs])
        self.state = map_state(lambda begin: next(saved_state).to(begin.device), initial)
        torch.set_rng_state(process["rng"])
        if self.device.type == "cuda" and "cuda_rng" in process:  # another device draws other numbers
            torch.cuda.set_rng_state(process["cuda_rng"], self.device)

    def _initial_state(self) -> AnyState:
        return self.model.initial_state(len(self.rows))  # type: ignore[operator]

    def _compiled(self) -> nn.Module:
        """Compile the loss, with CUDA graphs on a GPU; torch would compile it again for each length."""
        if self.config.random_strides:
            raise ModelError(
                "--compile needs chunks of equal length; train without it or without random_strides"
            )
        graphs = self.device.type == "cuda" and self.world.size == 1
        mode = "reduce-overhead" if graphs else "default"
        return cast("nn.Module", torch.compile(self.loss, mode=mode, dynamic=False))

    def _loss(self, chunk: Chunk, state: AnyState) -> tuple[Tensor, Tensor | float, AnyState]:
        """Do what `ChunkLoss` does, compiled for the length of all chunks except the first and the last."""
        is_full = chunk.scored == self.config.stride and not any(chunk.shorter)
        if self.compiled is None or not is_full or chunk.advance != chunk.scored:
            result: tuple[Tensor, Tensor | float, AnyState] = self.loss(chunk, state)
            return result
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
    """Return the norm of all gradients, from the norms of blocks.

    On a CPU torch adds all squares of a tensor to a few sums in float32, which loses a thousandth of the norm
    of 21.6 million weights; clipping would lose as much.
    """
    norms = []
    for gradient in (weight.grad for weight in weights if weight.grad is not None):
        flat = gradient.reshape(-1)
        end = len(flat) // NORM_BLOCK * NORM_BLOCK  # of the last full block
        norms.append(torch.linalg.vector_norm(flat[:end].view(-1, NORM_BLOCK), dim=1))
        norms.append(torch.linalg.vector_norm(flat[end:])[None])
    norm: Tensor = torch.linalg.vector_norm(torch.cat(norms))
    return norm


def _rows_of(state: AnyState, rows: slice | None) -> AnyState:
    """Return the state of a slice of rows; None: of all rows."""
    return state if rows is None else map_state(lambda tensor: tensor[rows], state)


def _same_form(saved: Tensor, wanted: Tensor) -> Tensor:
    """Return a saved tensor if it has the shape, type and layout of the wanted one."""
    form, expected = ((tensor.shape, tensor.dtype, tensor.layout) for tensor in (saved, wanted))
    if form != expected:
        raise ValueError(f"found a tensor of {form}, expected {expected}")
    return saved.contiguous()


def _check_names(saved: Mapping[str, Any], kind: type[Any]) -> None:
    if differing := saved.keys() ^ {field.name for field in fields(kind)}:
        raise ValueError(f"either it or this version has no {', '.join(sorted(differing))}")


def _check_settings(saved: Mapping[str, Any], wanted: TrainingConfig, position: Position) -> None:
    """Check that only the number of epochs and the patience differ from the saved settings."""
    ended = next(
        (epoch for epoch in range(1, position.epochs_begun) if finished(wanted, position.losses[:epoch])),
        None,
    )
    if ended is not None:
        raise ModelError(
            f"epochs={wanted.epochs}, patience={wanted.patience}: the run in --out would have ended after"
            f" epoch {ended}, but epoch {position.epochs_begun} has begun; give higher values, or use another"
            " --out"
        )
    _check_names(saved, TrainingConfig)
    old = msgspec.convert(saved, TrainingConfig)
    # With a cosine, the number of epochs decides the rate of each update.
    free = {"patience"} if wanted.schedule == "cosine" else {"epochs", "patience"}
    changes = [
        f"{field.name} {getattr(old, field.name)} → {getattr(wanted, field.name)}"
        for field in fields(wanted)
        if field.name not in free and getattr(old, field.name) != getattr(wanted, field.name)
    ]
    if changes:
        raise ModelError(
            f"the run in --out has other settings ({', '.join(changes)}); give the same ones to resume it, or"
            " use another --out"
        )
