"""Whether a model can be believed: the laws of `LanguageModel`, tried on the text that it is measured on.

A model that looks at the words to come, gives all words together more than one, remembers between calls, or
whose number changes with chunks and batches, has a perplexity that means nothing, and often a good one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import torch
from torch import Tensor

from lm_benchmarks.measuring.models import Opened
from ps_models.contract import check_language_model
from ps_models.data.dataset import Text
from ps_models.evaluation.evaluate import evaluating, token_nats
from ps_models.language_model import LanguageModel, map_state
from wikitext_builder.errors import BuilderError
from wikitext_builder.progress import Progress, no_progress

LENGTH: Final = 320  # tokens of the text that laws are tried on
PREFIX: Final = 20  # tokens before the word over which probabilities are summed
FEW: Final = 512  # words that are enough where a sum is only bounded from above
GROUP: Final = 256  # words scored at once, …
STATE: Final = 2**28  # … or fewer: bytes of their states together, of which a cache has many
TOLERANCE: Final = 1e-3  # nats that scores in float32 may differ by

Model = LanguageModel[Any]


def check_model(
    opened: Opened,
    stream: Tensor,
    *,
    device: torch.device | str = "cpu",
    tolerance: float = TOLERANCE,
    progress: Progress = no_progress,
) -> dict[str, str]:
    """By law, what broke it, or "" where it is kept.

    Args:
        opened: The model.
        stream: The text that it is measured on, (time,); its beginning is used.
        device: Where the model is.
        tolerance: Nats that scores may differ by.
        progress: Told of each law.
    """
    findings = {}
    for number, (law, broken_by) in enumerate(LAWS.items()):
        progress("check", number, len(LAWS), law)
        with evaluating(opened.model), torch.no_grad():
            try:
                findings[law] = broken_by(opened, stream[:LENGTH], device, tolerance)
            # A model is anybody's code: whatever it raises while it is tried is what is found.
            except Exception as error:
                findings[law] = f"{type(error).__name__}: {error}".replace("\n", " ")[:300]
    progress("check", len(LAWS), len(LAWS), "")
    return findings


def _contract(opened: Opened, _stream: Tensor, device: torch.device | str, tolerance: float) -> str:
    """The laws of ps_models.contract on random texts of frequent words; sums are tried on their own."""
    check_language_model(
        opened.model,
        min(len(opened.vocabulary), FEW),
        open_vocabulary=True,
        tolerance=tolerance,
        device=device,
    )
    return ""


def _sum(opened: Opened, stream: Tensor, device: torch.device | str, tolerance: float) -> str:
    """All words together have probability one; at most one where others have some too."""
    size = len(opened.vocabulary)
    words = torch.arange(min(size, FEW) if opened.open_vocabulary else size, device=device)
    for prefix in (stream[:0], stream[:PREFIX]):
        state = opened.model.initial_state(1)
        if len(prefix):
            _, state = opened.model(prefix[None].to(device), state)
        group = min(GROUP, max(1, STATE // max(1, _bytes(state))))
        total = sum(_sum_of(opened.model, state, part) for part in torch.split(words, group))
        if total > 1 + tolerance or (total < 1 - tolerance and not opened.open_vocabulary):
            return f"{len(words)} words have {total:.6f} together after {len(prefix)} tokens"
    return ""


def _sum_of(model: Model, state: object, words: Tensor) -> float:
    rows = map_state(lambda tensor: tensor.repeat_interleave(len(words), 0), state)
    scores, _ = model(words[:, None], rows)
    return float(scores.double().exp().sum())


def _bytes(state: object) -> int:
    """Of all tensors of a state."""
    sizes = []

    def note(tensor: Tensor) -> Tensor:
        sizes.append(tensor.numel() * tensor.element_size())
        return tensor

    map_state(note, state)
    return sum(sizes)


def _chunks(opened: Opened, stream: Tensor, device: torch.device | str, tolerance: float) -> str:
    """Chunks of any size give the same scores."""
    whole = _scored(opened.model, [stream], device)
    for size in (1, 7, 64):
        parts = _scored(opened.model, [stream], device, chunk=size)
        if said := _differ(parts, whole, tolerance, f"in chunks of {size}"):
            return said
    return ""


def _batch(opened: Opened, stream: Tensor, device: torch.device | str, tolerance: float) -> str:
    """Texts score alone as they do side by side."""
    texts = torch.split(stream, 50)
    alone = _scored(opened.model, texts, device, context="article", batch=1)
    together = _scored(opened.model, texts, device, context="article", batch=len(texts))
    return _differ(together, alone, tolerance, f"with {len(texts)} texts side by side")


def _future(opened: Opened, stream: Tensor, device: torch.device | str, tolerance: float) -> str:
    """Words to come do not change scores."""
    whole = _scored(opened.model, [stream], device)
    for time in sorted({1, 2, len(stream) // 2, len(stream) - 1}):
        other = stream.clone()
        other[time:] = (other[time:] + 1) % len(opened.vocabulary)
        scores = _scored(opened.model, [other], device)
        if said := _differ(scores[:time], whole[:time], tolerance, f"when words from {time} on are others"):
            return said
    return ""


def _memory(opened: Opened, stream: Tensor, device: torch.device | str, tolerance: float) -> str:
    """A text scores the same when it, and others, were scored before."""
    first = _scored(opened.model, [stream], device)
    _scored(opened.model, [stream.flip(0)], device)
    again = _scored(opened.model, [stream], device)
    return _differ(again, first, tolerance, "when the text was scored before")


LAWS: Final[dict[str, Callable[[Opened, Tensor, torch.device | str, float], str]]] = {
    "contract": _contract,
    "sum": _sum,
    "chunks": _chunks,
    "batch": _batch,
    "future": _future,
    "memory": _memory,
}


def _scored(
    model: Model,
    texts: Sequence[Tensor],
    device: torch.device | str,
    **options: Any,  # noqa: ANN401 - those of token_nats
) -> Tensor:
    options = {"chunk": LENGTH, **options}
    found = token_nats(model, [Text(text, 0) for text in texts], device=device, **options)
    return torch.cat([nats for _, nats in found])


def _differ(found: Tensor, expected: Tensor, tolerance: float, when: str) -> str:
    worst = float((found - expected).abs().max()) if len(found) else 0.0
    return "" if worst <= tolerance else f"scores differ by up to {worst:.3g} nats {when}"


def raise_if_broken(findings: dict[str, str]) -> None:
    """Refuse a model that breaks a law.

    Raises:
        BuilderError: It breaks one.
    """
    broken = [f"{law}: {found}" for law, found in findings.items() if found]
    if broken:
        raise BuilderError(f"the model breaks {len(broken)} of {len(findings)} laws; {'; '.join(broken)}")
