"""Training by truncated back-propagation: one update, and all that is needed to go on from it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from ps_models.batching import Chunk, Rows, even_ends, random_ends
from ps_models.language_model import Penalised, map_state
from ps_models.optimizers import TrainingConfig, make_optimizer, scaled_learning_rate
from ps_models.processes import Processes
from ps_models.score import Score
from wikitext_builder.errors import BuilderError


@dataclass(frozen=True, kw_only=True)
class Position:
    """Where a run is."""

    update: int = 0  # done since the start
    chunk: int = 0  # done of this epoch
    nats: float = 0.0  # of this epoch's targets so far
    targets: int = 0
    seconds: float = 0.0  # spent in training, over all sessions
    losses: tuple[float, ...] = ()  # mean nats a token of valid, an epoch each

    @property
    def epoch(self) -> int:
        """Epochs done."""
        return len(self.losses)

    @property
    def best_perplexity(self) -> float:
        """Of valid; infinite before the first epoch has ended."""
        return Score(min(self.losses, default=math.inf), 1).perplexity


class ChunkLoss(nn.Module):
    """The nats of a chunk's targets, in one forward pass that DistributedDataParallel can wrap."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, chunk: Chunk, state: Any) -> tuple[Tensor, Tensor | float, Any]:  # noqa: ANN401 - each model has its own
        """Their sum, the model's penalty, and the state where the next chunk begins."""
        asked = chunk.tokens, state, chunk.scored, chunk.advance
        if isinstance(self.model, Penalised):
            nats, penalty, after = self.model.loss_and_penalty(*asked)
            return chunk.total(nats), penalty, after
        nats, after = self.model.loss(*asked)  # type: ignore[operator]
        return chunk.total(nats), 0.0, after


class Training:
    """A run in progress: model, optimizer, hidden state, position."""

    def __init__(
        self,
        model: nn.Module,
        rows: Rows,
        config: TrainingConfig,
        *,
        device: torch.device,
        processes: Processes,
    ) -> None:
        self.model, self.config, self.device, self.processes = model, config, device, processes
        self.batch_size = len(rows)
        self.rows = rows.of_rank(processes.rank, processes.count)
        self.all_rows = rows
        self.loss = processes.wrapped(ChunkLoss(model))
        self.optimizer = make_optimizer(model, config)
        self.position = Position()
        self.state = self._initial_state()
        if config.precision == "tf32":
            torch.set_float32_matmul_precision("high")

    def update(self, chunk: Chunk, targets: int) -> tuple[float, float]:
        """Train on a chunk.

        Args:
            chunk: This process's rows.
            targets: In the chunk over all processes.

        Returns:
            Summed nats of this process's targets, and the norm of the gradient before clipping.
        """
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.config.precision == "bf16"):
            nats, penalty, self.state = self.loss(self._moved(chunk), self.state)
        divisor = targets if self.config.loss == "token" else self.batch_size
        # DDP averages over processes: sums are to be multiplied by their count, means are not.
        (nats * (self.processes.count / divisor) + penalty * (targets / divisor)).backward()
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip or math.inf)
        if not math.isfinite(float(norm)):
            loss = float(nats.detach()) / max(1, chunk.targets)
            raise BuilderError(
                f"update {self.position.update + 1}: the gradient is {float(norm)}, the loss {loss:.3f};"
                " train again with a lower learning_rate or clip"
            )
        share = chunk.scored / self.config.stride if self.config.random_strides else 1.0
        with scaled_learning_rate(self.optimizer, share):
            self.optimizer.step()
        return float(nats.detach()), float(norm)

    def chunks(self) -> Iterator[tuple[Chunk, int]]:
        """What is left of the epoch, with the number of each chunk's targets over all processes."""
        config, position, length = self.config, self.position, self.rows.tokens.shape[1]
        if config.random_strides:
            ends = random_ends(length, config.stride, seed=config.seed, epoch=position.epoch)
        else:
            ends = even_ends(length, config.stride)
        own, every = (
            rows.chunks(ends=ends, lookback=config.lookback, start=position.chunk)
            for rows in (self.rows, self.all_rows)
        )
        for chunk, whole in zip(own, every, strict=True):
            yield chunk, whole.targets

    def next_epoch(self) -> None:
        """Go back to the start of the text."""
        self.position = replace(self.position, chunk=0, nats=0.0, targets=0)
        self.state = self._initial_state()

    def snapshot(self) -> dict[str, Any]:
        """All but the weights that a run needs to go on; the same on every process."""
        own = {"state": _tensors(self.state), "rng": torch.get_rng_state()}
        if self.device.type == "cuda":
            own["cuda_rng"] = torch.cuda.get_rng_state(self.device)
        return {
            "config": asdict(self.config),
            "position": asdict(self.position),
            "optimizer": self.optimizer.state_dict(),
            "processes": self.processes.gathered(own),
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Go back to where a snapshot was taken (the weights are loaded apart).

        Raises:
            BuilderError: It is of a run with other settings.
        """
        _same_settings(snapshot["config"], asdict(self.config))
        if len(snapshot["processes"]) != self.processes.count:
            raise BuilderError(
                f"the checkpoint is of a run with {len(snapshot['processes'])} processes, not"
                f" {self.processes.count}; go on with as many"
            )
        own = snapshot["processes"][self.processes.rank]
        self.optimizer.load_state_dict(snapshot["optimizer"])
        position = dict(snapshot["position"])
        self.position = Position(**{**position, "losses": tuple(position["losses"])})
        saved = iter(own["state"])
        self.state = map_state(lambda tensor: next(saved).to(tensor.device), self._initial_state())
        torch.set_rng_state(own["rng"])
        if self.device.type == "cuda":
            torch.cuda.set_rng_state(own["cuda_rng"], self.device)

    def _initial_state(self) -> Any:  # noqa: ANN401 - each model has its own
        return self.model.initial_state(len(self.rows))  # type: ignore[operator]

    def _moved(self, chunk: Chunk) -> Chunk:
        return replace(
            chunk,
            tokens=chunk.tokens.to(self.device, non_blocking=True),
            shorter=chunk.shorter.to(self.device, non_blocking=True),
        )


def _tensors(state: Any) -> list[Tensor]:  # noqa: ANN401 - each model has its own
    """The tensors of a state, in the order of `map_state`."""
    tensors: list[Tensor] = []

    def keep(tensor: Tensor) -> Tensor:
        tensors.append(tensor.detach().cpu())
        return tensor

    map_state(keep, state)
    return tensors


def _same_settings(saved: dict[str, Any], wanted: dict[str, Any]) -> None:
    """A run may go on for more epochs; all else must be as it was."""
    saved = asdict(TrainingConfig()) | saved  # what is newer than the run was as by default
    differing = [
        name for name in wanted if name not in ("epochs", "patience") and saved[name] != wanted[name]
    ]
    if differing:
        changes = ", ".join(f"{name} {saved.get(name)} → {wanted[name]}" for name in differing)
        raise BuilderError(
            f"a run goes on with its own settings, but these were changed: {changes}; use another --out"
        )
