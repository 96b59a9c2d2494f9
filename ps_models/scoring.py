"""How well a model predicts texts, and words of each frequency.

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

from ps_models.dataset import Text
from ps_models.errors import ModelError
from ps_models.language_model import AnyState, LanguageModel, State
from ps_models.processor import fitted_threads
from ps_models.signature import CONTEXTS, Score
from wikitext_builder.dataset.load import FILE, Dataset
from wikitext_builder.dataset.manifest import read_tokens
from wikitext_builder.dataset.vocabulary import EOS, UNK, Vocabulary
from wikitext_builder.progress import Progress, no_progress

Item = TypeVar("Item")
CHUNK = 256  # tokens per call; limits memory (chunk x vocabulary), does not change any number


def score_texts(
    model: LanguageModel[State],
    texts: Iterable[Text],
    *,
    context: str = "carried",
    chunk: int = CHUNK,
    batch: int = 16,
    device: torch.device | str = "cpu",
    progress: Progress = no_progress,
    total: int | None = None,
) -> list[Score]:
    """The scores of texts, in order; their sum is the score of all.

    The context is `carried`, one pass over all articles, as in the paper; or `article`: each starts without.
    The sizes of `chunk` (tokens per call) and `batch` (articles per call) do not change the numbers.
    `progress` gets the number of tokens that are done, within texts too if context is carried.
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


def token_nats(
    model: LanguageModel[State],
    texts: Iterable[Text],
    *,
    context: str = "carried",
    chunk: int = CHUNK,
    batch: int = 16,
    device: torch.device | str = "cpu",
    reading: Callable[[int], None] | None = None,
) -> Iterator[tuple[Text, Tensor]]:
    """Each text with -log p of each of its tokens, in float64 on the CPU; see `score_texts`.

    If context is carried, `reading` is called within a long text, with how many of its tokens were read.
    """
    if context not in CONTEXTS:
        raise ModelError(f"--context: found {context!r}, expected {' or '.join(CONTEXTS)}")
    if context == "carried":
        yield from each_evaluating(model, _carried(model, texts, chunk, device, reading))
    else:
        yield from each_evaluating(model, _each_alone(model, texts, chunk, batch, device))


@contextmanager
def evaluating(model: object) -> Iterator[None]:
    """Evaluation mode, in which nothing is dropped; afterwards the model is in the mode that it was in.

    As few threads as one row is worth, see `fitted_threads`.
    """
    with fitted_threads(model), _evaluation_mode(model):
        yield


def each_evaluating(model: object, items: Iterator[Item]) -> Iterator[Item]:
    """Items that are each computed as in `evaluating`; in between, the caller may train the model."""
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
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)


def _carried(
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


def _each_alone(
    model: LanguageModel[State], texts: Iterable[Text], chunk: int, batch: int, device: torch.device | str
) -> Iterator[tuple[Text, Tensor]]:
    remaining = iter(texts)
    while group := list(islice(remaining, batch)):
        with torch.no_grad():
            rows = _padded(model, group, chunk, device)
        for place, text in enumerate(group):
            yield text, rows[place, : len(text.tokens)]


def _padded(
    model: LanguageModel[State], group: Sequence[Text], chunk: int, device: torch.device | str
) -> Tensor:
    """-log p of texts side by side, (texts, time); numbers past the end of a shorter text have no meaning."""
    tokens = torch.nn.utils.rnn.pad_sequence([text.tokens for text in group], batch_first=True)
    state = model.initial_state(len(group))
    parts = []
    for columns in torch.split(tokens, chunk, dim=1):
        log_probs, state = model(columns.to(device), state)
        parts.append(-log_probs.double().cpu())
    return torch.cat(parts, dim=1)


def read_up_to(model: nn.Module, tokens: Tensor, device: torch.device | str = "cpu") -> AnyState:
    """The state of a model, of one row, after it has read a text from its start."""
    with evaluating(model), torch.no_grad():
        state = model.initial_state(1)  # type: ignore[operator]
        for chunk in torch.split(tokens, CHUNK) if len(tokens) else ():
            _, state = model(chunk[None].to(device), state)
    return state


def train_counts(dataset: Dataset, vocabulary: Vocabulary) -> Tensor | None:
    """The count of each word in train, (vocabulary,); None if there is no train file."""
    if dataset.layout == FILE or "train" not in dataset.files:
        return None
    total = torch.zeros(len(vocabulary), dtype=torch.int64)
    for word, count in Counter(read_tokens(dataset.file("train"))).items():
        total[vocabulary.ids.get(word, 0)] += count
    return total


def span(number: int) -> str:
    """The decade of a number.

    >>> span(0), span(7), span(1234)
    ('0', '1-9', '1,000-9,999')
    """
    if not number:
        return "0"
    low: int = 10 ** (len(str(number)) - 1)
    return f"{low:,}-{10 * low - 1:,}"


def decades(vocabulary: Vocabulary, counts: Tensor) -> list[str]:
    """The group of each word by the decade of its count; `<unk>` and `<eos>` are groups of their own."""
    pairs = zip(vocabulary.tokens, counts.tolist(), strict=True)
    return [word if word in (UNK, EOS) else span(count) for word, count in pairs]
