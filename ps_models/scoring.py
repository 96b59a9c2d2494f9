"""Scores texts with a model, and groups words by their frequency in train.

Every token is scored once; the sizes of chunks and batches do not matter. Records group words by the decade
of their count in train.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TypeVar

import torch
from torch import Tensor, nn

from ps_models.dataset import Rows, Text, even_ends
from ps_models.errors import ModelError
from ps_models.language_model import AnyState, LanguageModel, State
from ps_models.processor import fitted_threads
from ps_models.signature import CONTEXTS, Score
from wikitext_builder.dataset.load import SINGLE_FILE, Dataset
from wikitext_builder.dataset.manifest import read_tokens
from wikitext_builder.dataset.vocabulary import EOS, UNK, Vocabulary
from wikitext_builder.progress import Progress, no_progress

Item = TypeVar("Item")
CHUNK_TOKENS = 256  # per call; bounds memory (tokens x vocabulary), changes no number


def score_texts(
    model: LanguageModel[State],
    texts: Iterable[Text],
    *,
    context: str = "carried",
    chunk: int = CHUNK_TOKENS,
    batch: int = 16,
    device: torch.device | str = "cpu",
    progress: Progress = no_progress,
    total: int | None = None,
) -> list[Score]:
    """Score texts, in order; the sum of the scores is that of all texts.

    The context is `carried`, one pass over all articles, as in the paper; or `article`, where each article
    starts without context. `chunk` (tokens per call) and `batch` (articles per call) do not change the
    numbers. `progress` gets the number of tokens done, within texts too if context is carried.
    """
    scores, total_score, done = [], Score(), 0

    def reading(tokens: int) -> None:
        note = f"perplexity {total_score.perplexity:.2f}" if done else ""
        progress("evaluate", done + tokens, total, note)

    scored = token_nats(
        model, texts, context=context, chunk=chunk, batch=batch, device=device, reading=reading
    )
    for text, nats in scored:
        scores.append(Score(float(nats.sum()), len(nats), text.bytes))
        total_score += scores[-1]
        done += len(nats)
        progress("evaluate", done, total, f"perplexity {total_score.perplexity:.2f}")
    return scores


def score_rows(model: nn.Module, rows: Rows, *, call_tokens: int, progress: Progress = no_progress) -> Score:
    """Score the rows of a text side by side, each without the context of the row before it.

    The rows are on the model's device, which is not waited for until the end. A call gets `call_tokens`
    tokens or fewer, which changes no number. Compared with one row, calls are as many times fewer as there
    are rows, and the perplexity is slightly higher.
    """
    length, done = max(1, call_tokens // len(rows)), 0
    nats = torch.zeros((), dtype=torch.float64, device=rows.tokens.device)
    chunks = rows.chunks(ends=even_ends(rows.tokens.shape[1], length), lookback=0)
    with fitted_threads(model, len(rows)), _evaluation_mode(model), torch.no_grad():
        state = model.initial_state(len(rows))  # type: ignore[operator]
        for chunk in chunks:
            log_probs, state = model(chunk.tokens, state)
            nats -= chunk.total(log_probs.double())
            done += chunk.targets
            progress("valid", done, rows.targets)
    return Score(float(nats), done)


def token_nats(
    model: LanguageModel[State],
    texts: Iterable[Text],
    *,
    context: str = "carried",
    chunk: int = CHUNK_TOKENS,
    batch: int = 16,
    device: torch.device | str = "cpu",
    reading: Callable[[int], None] | None = None,
) -> Iterator[tuple[Text, Tensor]]:
    """Yield each text with -log p of each of its tokens, in float64 on the CPU; see `score_texts`.

    If context is carried, `reading` is called within a long text, with the number of its tokens read so far.
    """
    if context not in CONTEXTS:
        raise ModelError(f"--context: found {context!r}, expected {' or '.join(CONTEXTS)}")
    if context == "carried":
        yield from lazily_evaluating(model, _nats_with_carried_context(model, texts, chunk, device, reading))
    else:
        yield from lazily_evaluating(model, _nats_without_context(model, texts, chunk, batch, device))


@contextmanager
def evaluating(model: object) -> Iterator[None]:
    """Put a model into evaluation mode, in which nothing is dropped, and back into its mode afterwards.

    Inside, torch uses the threads that suit one row, see `fitted_threads`.
    """
    with fitted_threads(model), _evaluation_mode(model):
        yield


def lazily_evaluating(model: object, items: Iterator[Item]) -> Iterator[Item]:
    """Yield items, each computed as in `evaluating`; between them the caller may train the model."""
    with fitted_threads(model):
        while True:
            with _evaluation_mode(model):
                try:
                    item = next(items)
                except StopIteration:
                    return
            yield item


@contextmanager
def _evaluation_mode(model: object) -> Iterator[None]:
    if not isinstance(model, nn.Module):
        yield
        return
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)


def _nats_with_carried_context(
    model: LanguageModel[State],
    texts: Iterable[Text],
    chunk: int,
    device: torch.device | str,
    reading: Callable[[int], None] | None,
) -> Iterator[tuple[Text, Tensor]]:
    state = model.initial_state(1)
    for text in texts:
        parts: list[Tensor] = []
        with torch.no_grad():
            for tokens in torch.split(text.tokens, chunk):
                if parts and reading is not None:
                    reading(len(parts) * chunk)
                log_probs, state = model(tokens[None].to(device), state)
                parts.append(-log_probs[0].double().cpu())
        yield text, torch.cat(parts)


def _nats_without_context(
    model: LanguageModel[State], texts: Iterable[Text], chunk: int, batch: int, device: torch.device | str
) -> Iterator[tuple[Text, Tensor]]:
    remaining = iter(texts)
    while group := list(islice(remaining, batch)):
        with torch.no_grad():
            rows = _padded_nats(model, group, chunk, device)
        for place, text in enumerate(group):
            yield text, rows[place, : len(text.tokens)]


def _padded_nats(
    model: LanguageModel[State], group: Sequence[Text], chunk: int, device: torch.device | str
) -> Tensor:
    """Return -log p of texts side by side, (texts, time); numbers past the end of a text are meaningless."""
    tokens = torch.nn.utils.rnn.pad_sequence([text.tokens for text in group], batch_first=True)
    state = model.initial_state(len(group))
    parts = []
    for columns in torch.split(tokens, chunk, dim=1):
        log_probs, state = model(columns.to(device), state)
        parts.append(-log_probs.double().cpu())
    return torch.cat(parts, dim=1)


def read_up_to(model: nn.Module, tokens: Tensor, device: torch.device | str = "cpu") -> AnyState:
    """Return the state of a model, of one row, after it has read a text from its start."""
    with evaluating(model), torch.no_grad():
        state = model.initial_state(1)  # type: ignore[operator]
        for chunk in torch.split(tokens, CHUNK_TOKENS) if len(tokens) else ():
            _, state = model(chunk[None].to(device), state)
    return state


def train_counts(dataset: Dataset, vocabulary: Vocabulary) -> Tensor | None:
    """Count each word in train, (vocabulary,); None if there is no train file."""
    if dataset.layout == SINGLE_FILE or "train" not in dataset.files:
        return None
    total = torch.zeros(len(vocabulary), dtype=torch.int64)
    for word, count in Counter(read_tokens(dataset.file("train"))).items():
        total[vocabulary.ids.get(word, 0)] += count
    return total


def span(number: int) -> str:
    """Return the decade of a number.

    >>> span(0), span(7), span(1234)
    ('0', '1-9', '1,000-9,999')
    """
    if not number:
        return "0"
    low: int = 10 ** (len(str(number)) - 1)
    return f"{low:,}-{10 * low - 1:,}"


def decades(vocabulary: Vocabulary, counts: Tensor) -> list[str]:
    """Return the group of each word, the decade of its count; `<unk>` and `<eos>` have their own groups."""
    pairs = zip(vocabulary.tokens, counts.tolist(), strict=True)
    return [word if word in (UNK, EOS) else span(count) for word, count in pairs]
