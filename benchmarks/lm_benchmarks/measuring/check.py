"""Tries the laws of `LanguageModel` on the text that a model is measured on.

A model breaks them if it looks at later words, if its probabilities sum to more than one, if it remembers
earlier calls, or if its scores change with chunks and batches. Its perplexity then means nothing, and is
often a good one. All laws are tried on the beginning of the text. Sums, chunks and the future are also tried
at random places of the whole run, see `lm_benchmarks.measuring.places`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

from lm_benchmarks.choices import BEGINNING, CHECKED, CHUNK, EXACT
from lm_benchmarks.errors import HarnessError
from lm_benchmarks.measuring.loaded_model import LoadedModel
from lm_benchmarks.measuring.models import make_inputs, open_model
from lm_benchmarks.measuring.passages import read_passages
from lm_benchmarks.measuring.places import GROUP, STATE, Watched, bytes_of, try_places
from lm_benchmarks.measuring.trials import FEW
from lm_benchmarks.records.result import Tried
from ps_models.data.dataset import Text
from ps_models.evaluation.evaluate import evaluating, token_nats
from ps_models.invariants import check_language_model
from ps_models.language_model import LanguageModel, map_state
from wikitext_builder.errors import ToolkitError, is_short_memory
from wikitext_builder.progress import Progress, no_progress

PREFIX: Final = 20  # tokens before the word over which probabilities are summed
TOLERANCES: Final = {"fp32": 1e-3, "tf32": 1e-2, "bf16": 1e-1}  # nats that scores may differ by

Model = LanguageModel[Any]


class Findings(dict[str, str]):
    """By law, what breaks it; "" if the model keeps it. `tried` says where the laws were tried."""

    tried: Tried | None = None


def check(
    model: str,
    data: str | Path,
    *,
    split: str = "test",
    tokens: int = CHECKED,
    progress: Progress = no_progress,
    **opening: Any,
) -> Findings:
    """Try whether a model keeps the laws of a language model.

    Args:
        model: Its specification, as in `measure`.
        data: The dataset: a folder, or a file of tokens.
        split: The split that the model reads.
        tokens: How many tokens the model reads, from the beginning of the split. `measure` tries the laws in
            the whole split.
        progress: Receives the name of each law, then how much of the text is read, and how many places tried.
        opening: What opening the model needs, as in `measure`: `device`, `seed`, `window` and so on.

    Returns:
        By law, what breaks it, "" if the model keeps it; and where the laws were tried.

    Raises:
        HarnessError: The model is missing, does not fit the dataset, or its program fails.
    """
    if tokens < 1:
        raise HarnessError(f"--tokens {tokens}: laws need a text; expected 1 or more")
    inputs = make_inputs(data, split, **opening)
    loaded = open_model(model, inputs)
    _, passages = read_passages(inputs.dataset, split, loaded.vocabulary)
    stream = torch.cat([passage.text.tokens for passage in passages])[:tokens]
    tolerance = tolerance_of(loaded, "fp32")
    return check_model(
        loaded, stream, device=inputs.device, tolerance=tolerance, seed=inputs.seed, progress=progress
    )


def check_model(
    loaded: LoadedModel,
    stream: Tensor,
    *,
    device: torch.device | str = "cpu",
    tolerance: float = TOLERANCES["fp32"],
    seed: int = 1,
    progress: Progress = no_progress,
) -> Findings:
    """Try the laws on a model that is open: on the beginning of a text, then at random places of all of it.

    Args:
        loaded: The model.
        stream: The text, (time,).
        device: Of the model.
        tolerance: Nats that scores may differ by.
        seed: Of the places.
        progress: Receives the name of each law, then how much of the text is read, and how many places tried.

    Returns:
        By law, what breaks it, "" if the model keeps it; and where the laws were tried.

    Raises:
        ToolkitError: The program of an adapter fails.
    """
    findings = check_beginning(loaded, stream, device=device, tolerance=tolerance, progress=progress)
    watched = Watched(loaded.model, seed=seed, reread=loaded.reread)
    progress("read", 0, len(stream), "")
    try:
        scored = token_nats(watched, [Text(part, 0) for part in torch.split(stream, CHUNK)], device=device)
        with evaluating(loaded.model):
            for done, _ in enumerate(scored, start=1):
                progress("read", min(done * CHUNK, len(stream)), len(stream), "")
    except ToolkitError:
        raise
    except Exception as error:
        if is_short_memory(error):
            raise
        findings["contract"] = findings["contract"] or _raised(error)
        return findings
    return check_places(loaded, watched, findings, tolerance=tolerance, seed=seed, progress=progress)


def tolerance_of(loaded: LoadedModel, precision: str) -> float:
    """Nats that scores of a model may differ by: more if its own numbers are not in float32."""
    exact = loaded.facts.get("dtype", "float32") in EXACT
    return TOLERANCES[precision] if exact else max(TOLERANCES.values())


def check_beginning(
    loaded: LoadedModel,
    stream: Tensor,
    *,
    device: torch.device | str = "cpu",
    tolerance: float = TOLERANCES["fp32"],
    progress: Progress = no_progress,
) -> Findings:
    """Try the laws on the beginning of a text; see `check_model`."""
    findings, errors = Findings(), dict[str, str]()
    for number, (law, broken_by) in enumerate(LAWS.items()):
        progress("check", number, len(LAWS), law)
        with evaluating(loaded.model), torch.no_grad():
            try:
                findings[law] = broken_by(loaded, stream[:BEGINNING], device, tolerance)
            except ToolkitError:  # of an adapter whose program has ended, for example: no law is the cause
                raise
            # A model can be anyone's code: what it raises here is a finding.
            except Exception as error:
                if is_short_memory(error):
                    raise
                raised = _raised(error)
                findings[law] = f"fails as in {errors[raised]}" if raised in errors else raised
                errors.setdefault(raised, law)
    progress("check", len(LAWS), len(LAWS), "")
    return findings


def check_places(
    loaded: LoadedModel,
    watched: Watched,
    findings: Findings,
    *,
    tolerance: float,
    seed: int,
    progress: Progress = no_progress,
) -> Findings:
    """Add to findings what breaks the laws at random places of a run; see `check_model`.

    Args:
        loaded: The model.
        watched: The same model, after the run.
        findings: What was found at the beginning.
        tolerance: Nats that scores may differ by.
        seed: Of the places.
        progress: Receives the number of places.
    """
    with evaluating(loaded.model), torch.no_grad():
        found, tried = try_places(
            watched,
            loaded.model,
            len(loaded.vocabulary),
            open_vocabulary=loaded.open_vocabulary,
            reread=loaded.reread,
            tolerance=tolerance,
            seed=seed,
            progress=progress,
        )
    both = Findings({law: findings[law] or found.get(law, "") for law in findings})
    both.tried = tried
    return both


def _raised(error: Exception) -> str:
    """An exception in one line."""
    return f"{type(error).__name__}: {error}".replace("\n", " ")[:300]


def _contract(loaded: LoadedModel, _stream: Tensor, device: torch.device | str, tolerance: float) -> str:
    """The laws of ps_models.invariants, on random texts of frequent words. `_sum` tries the sums."""
    check_language_model(
        loaded.model,
        min(len(loaded.vocabulary), FEW),
        open_vocabulary=True,
        tolerance=tolerance,
        device=device,
    )
    return ""


def _sum(loaded: LoadedModel, stream: Tensor, device: torch.device | str, tolerance: float) -> str:
    """The probabilities of all words sum to one; with an open vocabulary, to at most one."""
    size = len(loaded.vocabulary)
    words = torch.arange(min(size, FEW) if loaded.open_vocabulary else size, device=device)
    for prefix in (stream[:0], stream[:PREFIX]):
        state = loaded.model.initial_state(1)
        if len(prefix):
            _, state = loaded.model(prefix[None].to(device), state)
        group = min(GROUP, max(1, STATE // max(1, bytes_of(state))))
        total = sum(_sum_of(loaded.model, state, part) for part in torch.split(words, group))
        if total > 1 + tolerance or (total < 1 - tolerance and not loaded.open_vocabulary):
            return f"the probabilities of {len(words)} words sum to {total:.6f} after {len(prefix)} tokens"
    return ""


def _sum_of(model: Model, state: object, words: Tensor) -> float:
    rows = map_state(lambda tensor: tensor.repeat_interleave(len(words), 0), state)
    scores, _ = model(words[:, None], rows)
    return float(scores.double().exp().sum())


def _chunks(loaded: LoadedModel, stream: Tensor, device: torch.device | str, tolerance: float) -> str:
    """Chunks of any size give the same scores."""
    whole = _scored(loaded.model, [stream], device)
    for size in (1, 7, 64):
        parts = _scored(loaded.model, [stream], device, chunk=size)
        if said := _differ(parts, whole, tolerance, f"in chunks of {size}"):
            return said
    return ""


def _batch(loaded: LoadedModel, stream: Tensor, device: torch.device | str, tolerance: float) -> str:
    """A text scores the same alone and in a batch."""
    texts = torch.split(stream, 50)
    alone = _scored(loaded.model, texts, device, context="article", batch=1)
    together = _scored(loaded.model, texts, device, context="article", batch=len(texts))
    return _differ(together, alone, tolerance, f"with {len(texts)} texts in a batch")


def _future(loaded: LoadedModel, stream: Tensor, device: torch.device | str, tolerance: float) -> str:
    """Later words do not change scores."""
    whole = _scored(loaded.model, [stream], device)
    for time in sorted({1, 2, len(stream) // 2, len(stream) - 1}):
        other = stream.clone()
        other[time:] = (other[time:] + 1) % len(loaded.vocabulary)
        scores = _scored(loaded.model, [other], device)
        if said := _differ(scores[:time], whole[:time], tolerance, f"when words from {time} on change"):
            return said
    return ""


def _memory(loaded: LoadedModel, stream: Tensor, device: torch.device | str, tolerance: float) -> str:
    """A text scores the same after it and others were scored."""
    first = _scored(loaded.model, [stream], device)
    _scored(loaded.model, [stream.flip(0)], device)
    again = _scored(loaded.model, [stream], device)
    return _differ(again, first, tolerance, "when the text is scored again")


LAWS: Final[dict[str, Callable[[LoadedModel, Tensor, torch.device | str, float], str]]] = {
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
    **options: Any,
) -> Tensor:
    options = {"chunk": BEGINNING, **options}
    found = token_nats(model, [Text(text, 0) for text in texts], device=device, **options)
    return torch.cat([nats for _, nats in found])


def _differ(found: Tensor, expected: Tensor, tolerance: float, when: str) -> str:
    worst = float((found - expected).abs().max()) if len(found) else 0.0
    return "" if worst <= tolerance else f"scores differ by up to {worst:.3g} nats {when}"


def raise_if_broken(findings: Mapping[str, str], hint: str = "") -> None:
    """Refuse a model that breaks a law.

    Args:
        findings: What `check` returned.
        hint: What the user can do.

    Raises:
        HarnessError: The model breaks a law.
    """
    if any(findings.values()):
        raise broken_error(findings, hint)


def broken_error(findings: Mapping[str, str], hint: str = "") -> HarnessError:
    """The error of a model that breaks laws; see `raise_if_broken`."""
    broken = [f"{law}: {found}" for law, found in findings.items() if found]
    end = f". {hint}" if hint else ""
    return HarnessError(f"the model breaks {len(broken)} of {len(findings)} laws; {'; '.join(broken)}{end}")
